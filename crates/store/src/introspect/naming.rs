//! Makes names of a manifest from names of the database: camelCase, singular, valid, unique.

use std::collections::HashSet;
use std::fmt::Write;

use query::catalog::{CONNECTORS, OWN_CONTEXTS, kebab};
use query::parse::RESERVED;
use query::sql::Dialect;

const IRREGULAR: [(&str, &str); 20] = [
    ("people", "person"),
    ("children", "child"),
    ("statuses", "status"),
    ("bonuses", "bonus"),
    ("campuses", "campus"),
    ("viruses", "virus"),
    ("buses", "bus"),
    ("caches", "cache"),
    ("movies", "movie"),
    ("cookies", "cookie"),
    ("series", "series"),
    ("species", "species"),
    ("news", "news"),
    ("analyses", "analysis"),
    ("indices", "index"),
    ("data", "data"),
    ("metadata", "metadata"),
    ("staff", "staff"),
    ("information", "information"),
    ("equipment", "equipment"),
];

/// GraphQL types of no resource: those of every schema, and those of a hub. A test of the server compares them with this list.
pub const OWN_TYPES: [&str; 42] = [
    "JSON",
    "DateTime",
    "Date",
    "Time",
    "UUID",
    "Decimal",
    "BigInt",
    "ID",
    "Int",
    "Float",
    "String",
    "Boolean",
    "QueryStatementInput",
    "KeysetPagination",
    "Pagination",
    "Query",
    "Mutation",
    "Deleted",
    "Ended",
    "IamAccount",
    "IamAccountLink",
    "IamCreateAccountInput",
    "IamUpdateAccountInput",
    "IamSetAccountPasswordInput",
    "IamRole",
    "IamCreateRoleInput",
    "IamUpdateRoleInput",
    "IamPermission",
    "IamTenant",
    "IamCreateTenantInput",
    "IamUpdateTenantInput",
    "IamSession",
    "IamEvent",
    "OAuthClient",
    "OAuthClientSecret",
    "OAuthCreateClientInput",
    "OAuthUpdateClientInput",
    "HubApp",
    "HubCreateAppInput",
    "HubUpdateAppInput",
    "HubAppAccount",
    "HubCreateAppAccountInput",
];

/// A name in ASCII: `größe` → `groesse`, `цена` → `tsena`. Characters without a transliteration stay.
fn transliterated(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        match character {
            'ä' => out.push_str("ae"),
            'ö' => out.push_str("oe"),
            'ü' => out.push_str("ue"),
            'Ä' => out.push_str("Ae"),
            'Ö' => out.push_str("Oe"),
            'Ü' => out.push_str("Ue"),
            ascii if ascii.is_ascii() => out.push(ascii),
            other if other.is_alphanumeric() => match deunicode::deunicode_char(other) {
                // A word for one character, as in Chinese, ends with a blank.
                Some(text) => out.push_str(text.trim_end()),
                None => out.push(other),
            },
            other => out.push(other),
        }
    }
    out
}

/// A note on a name with characters that have no transliteration.
pub(super) fn lost_characters(what: &str, name: &str) -> Option<String> {
    let lost: String = transliterated(name).chars().filter(|character| !character.is_ascii()).collect();
    (!lost.is_empty()).then(|| format!("the name of {what} {name:?} has no transliteration of {lost:?}; choose a name for it"))
}

/// `order_items`, `OrderItems`, `ORDER ITEMS` → `orderItems`; empty when no letter or digit is left.
pub(super) fn camel(name: &str) -> String {
    let name = transliterated(name);
    let mut out = String::with_capacity(name.len() + 1);
    for word in name.split(|character: char| character.is_ascii() && !character.is_ascii_alphanumeric()) {
        let word: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        let word = if word.bytes().any(|byte| byte.is_ascii_lowercase()) { word } else { word.to_ascii_lowercase() };
        out.push_str(&if out.is_empty() { lower_start(&word) } else { capital(&word) });
    }
    if out.starts_with(|first: char| first.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

/// `OrderItem` → `orderItem`, `HTTPServer` → `httpServer`
fn lower_start(word: &str) -> String {
    let capitals = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let lowered =
        if capitals > 1 && capitals < word.len() && word.as_bytes()[capitals].is_ascii_lowercase() { capitals - 1 } else { capitals };
    format!("{}{}", word[..lowered].to_ascii_lowercase(), &word[lowered..])
}

pub(super) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_ascii_uppercase(), letters.as_str()))
}

fn lower(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_ascii_lowercase(), letters.as_str()))
}

pub(super) fn context(schema: &str) -> String {
    let name = camel(schema);
    match name.as_str() {
        "public" | "main" => "app".to_owned(),
        "" => "schema".to_owned(),
        name if OWN_CONTEXTS.contains(&name) => format!("{name}Data"),
        _ => name,
    }
}

/// The last word of a camelCase name in the singular.
fn singular(name: &str) -> String {
    for (many, one) in IRREGULAR {
        let capitalised = capital(many);
        if name == many {
            return one.to_owned();
        }
        if let Some(start) = name.strip_suffix(&capitalised) {
            return format!("{start}{}", capital(one));
        }
    }
    if let Some(stem) = name.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    if ["sses", "xes", "ches", "shes"].iter().any(|end| name.ends_with(end)) {
        return name[..name.len() - 2].to_owned();
    }
    match name.strip_suffix('s') {
        Some(stem) if !stem.is_empty() && !["ss", "us", "is"].iter().any(|end| name.ends_with(end)) => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// The last word of a camelCase name in the plural. A plural stays.
pub(super) fn plural(name: &str) -> String {
    if singular(name) != name {
        return name.to_owned();
    }
    for (many, one) in IRREGULAR {
        if name == one {
            return many.to_owned();
        }
        if let Some(start) = name.strip_suffix(&capital(one)) {
            return format!("{start}{}", capital(many));
        }
    }
    let before_y = name.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']) && !stem.is_empty());
    match before_y {
        Some(stem) => format!("{stem}ies"),
        None if ["s", "x", "ch", "sh"].iter().any(|end| name.ends_with(end)) => format!("{name}es"),
        None => format!("{name}s"),
    }
}

/// `customerId` → `customer`; none for other names.
pub(super) fn without_id(name: &str) -> Option<&str> {
    ["Uuid", "Id", "ID"].iter().find_map(|end| name.strip_suffix(end)).filter(|rest| !rest.is_empty())
}

/// A name for a field or relation that is no reserved word.
fn allowed(name: &str) -> String {
    if CONNECTORS.contains(&name) || RESERVED.contains(&name) { format!("{name}Value") } else { name.to_owned() }
}

/// The first of the candidates that is free, or the first of them with the first free number.
pub(super) fn free(candidates: &[String], is_taken: impl Fn(&str) -> bool) -> String {
    let names = || candidates.iter().map(|name| allowed(name));
    if let Some(name) = names().find(|name| !name.is_empty() && !is_taken(name)) {
        return name;
    }
    let base = names().find(|name| !name.is_empty()).unwrap_or_else(|| "name".to_owned());
    let mut number = 2_usize;
    loop {
        let name = format!("{base}{number}");
        if !is_taken(&name) {
            return name;
        }
        number += 1;
    }
}

/// The schema whose tables need no qualified name.
pub(super) fn usual_schema(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres | Dialect::Citus => "public",
        Dialect::Sqlite => "main",
    }
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            character if character.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(character));
            }
            character => out.push(character),
        }
    }
    out.push('"');
    out
}

/// The names that resources have taken: paths of REST, and types and queries of GraphQL, which `check` does not let two resources share.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<(String, String)>,
    paths: HashSet<(String, String)>,
    types: HashSet<String>,
    queries: HashSet<String>,
}

impl Names {
    pub(super) fn take(&mut self, context: &str, name: &str, plural: &str) {
        self.taken.insert((context.to_owned(), name.to_owned()));
        self.paths.insert((kebab(context), kebab(plural)));
        self.types.insert(type_name(context, name));
        self.queries.extend(queries_of_one(context, name));
        self.queries.extend(queries_of_many(context, plural));
    }

    pub(super) fn make(&mut self, context: &str, wished: &str) -> (String, String) {
        let plural = free(&[wished.to_owned()], |plural| {
            self.paths.contains(&(kebab(context), kebab(plural))) || self.asks(&queries_of_many(context, plural))
        });
        let name = free(&[singular(&plural)], |name| {
            let kind = type_name(context, name);
            self.taken.contains(&(context.to_owned(), name.to_owned()))
                || self.types.contains(&kind)
                || OWN_TYPES.contains(&kind.as_str())
                || self.asks(&queries_of_one(context, name))
        });
        self.take(context, &name, &plural);
        (name, plural)
    }

    fn asks(&self, queries: &[String]) -> bool {
        queries.iter().any(|query| self.queries.contains(query))
    }
}

fn type_name(context: &str, name: &str) -> String {
    capital(context) + &capital(name)
}

fn queries_of_many(context: &str, plural: &str) -> [String; 3] {
    ["Paginate", "KeysetPaginate", "Get"].map(|verb| format!("{}{verb}{}", lower(context), capital(plural)))
}

/// Includes queries by key, since a table may get a key later.
fn queries_of_one(context: &str, name: &str) -> [String; 2] {
    ["", "ById"].map(|end| format!("{}Find{}{end}", lower(context), capital(name)))
}
