//! Makes names of a manifest from names of the database: camelCase, singular, valid, unique.

use std::collections::HashSet;
use std::fmt::Write;

use query::catalog::{CONNECTORS, OWN_CONTEXTS, kebab, snake};
use query::describe::GraphqlNames;
use query::parse::RESERVED;
use query::sql::Dialect;

const IRREGULAR: [(&str, &str); 33] = [
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
    ("gases", "gas"),
    ("quizzes", "quiz"),
    ("crises", "crisis"),
    ("theses", "thesis"),
    ("matrices", "matrix"),
    ("vertices", "vertex"),
    ("knives", "knife"),
    ("shelves", "shelf"),
    ("men", "man"),
    ("women", "woman"),
    ("sheep", "sheep"),
    ("fish", "fish"),
    ("media", "media"),
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

/// A letter or digit in ASCII: `ß` → `ss`, `ц` → `ts`. Empty if there is no such form.
fn transliterated(character: char) -> &'static str {
    match character {
        'ä' => "ae",
        'ö' => "oe",
        'ü' => "ue",
        'Ä' => "Ae",
        'Ö' => "Oe",
        'Ü' => "Ue",
        // A word for one character, as in Chinese, ends with a blank.
        other => deunicode::deunicode_char(other).map_or("", str::trim_end),
    }
}

/// Letters with a mark of their own, as macOS writes file names, as one character where it matters: `o` and U+0308 → `ö`. Other marks are
/// dropped, as transliteration does.
fn composed(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for character in name.chars() {
        match (out.chars().next_back(), character) {
            (Some(letter @ ('a' | 'o' | 'u' | 'A' | 'O' | 'U')), '\u{308}') => {
                out.pop();
                out.push(match letter {
                    'a' => 'ä',
                    'o' => 'ö',
                    'u' => 'ü',
                    'A' => 'Ä',
                    'O' => 'Ö',
                    _ => 'Ü',
                });
            }
            (Some(letter), '\u{300}'..='\u{36f}') if letter.is_alphabetic() => {}
            _ => out.push(character),
        }
    }
    out
}

/// The words of a name in ASCII. One in capitals only is in lower case.
fn words(name: &str) -> Vec<String> {
    let name = composed(name);
    let words = name.split(|character: char| character.is_ascii() && !character.is_ascii_alphanumeric());
    let in_ascii = |word: &str| -> String {
        let word = if word.chars().any(char::is_lowercase) { word.to_owned() } else { word.to_lowercase() };
        // A sign for a letter, such as an apostrophe for `ъ`, is left out.
        word.chars().flat_map(ascii_form).collect()
    };
    words.map(in_ascii).collect()
}

fn ascii_form(character: char) -> Vec<char> {
    match character {
        ascii if ascii.is_ascii() => vec![ascii],
        other if other.is_alphanumeric() => transliterated(other).chars().filter(char::is_ascii_alphanumeric).collect(),
        _ => Vec::new(),
    }
}

/// A note on a name with characters that have no transliteration. A sign that changes only how another is spoken has none, and is not missed
/// unless nothing else is left.
pub(super) fn lost_characters(what: &str, name: &str) -> Option<String> {
    let is_nothing_left = words(name).iter().all(String::is_empty);
    let is_lost = |character: &char| {
        let is_sign = || matches!(transliterated(*character), "'" | "`" | "\"");
        !character.is_ascii() && ascii_form(*character).is_empty() && (is_nothing_left || !is_sign())
    };
    let lost: String = composed(name).chars().filter(is_lost).collect();
    (!lost.is_empty()).then(|| format!("the name of {what} {name:?} has no transliteration of {lost:?}; choose a name for it"))
}

/// `order_items`, `OrderItems`, `ORDER ITEMS` → `orderItems`; empty when no letter or digit is left.
pub(super) fn camel(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 1);
    for word in words(name) {
        out.push_str(&if out.is_empty() { lower_start(&word) } else { capital(&word) });
    }
    if out.starts_with(|first: char| first.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

/// Whether a name needs no change but that to camelCase.
pub(super) fn is_plain(name: &str) -> bool {
    let camel = camel(name);
    camel == name || snake(&camel) == name
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
        if name == one || name.ends_with(&capital(one)) {
            return name.to_owned();
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

/// The names that resources have taken: paths of REST, and types and fields of GraphQL, which `check` does not let two resources share.
/// Those of writes count too, since a resource may get writes later.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<(String, String)>,
    paths: HashSet<(String, String)>,
    graphql: HashSet<String>,
}

impl Names {
    pub(super) fn take(&mut self, context: &str, name: &str, plural: &str) {
        let names = GraphqlNames::new(context, name, plural);
        self.taken.insert((context.to_owned(), name.to_owned()));
        self.paths.insert((kebab(context), kebab(plural)));
        self.graphql.extend(names.types().into_iter().chain(names.fields_of_one()).chain(names.fields_of_many()));
    }

    /// Chooses a name and a plural that are free: the wished plural and its singular, or both with the first number that makes them so.
    pub(super) fn make(&mut self, context: &str, wished: &str) -> (String, String) {
        let wished = allowed(wished);
        let numbered = |base: &str, number: usize| if number == 1 { base.to_owned() } else { format!("{base}{number}") };
        let mut number = 1;
        let (name, plural) = loop {
            let plural = numbered(&wished, number);
            let name = free(&[numbered(&singular(&wished), number)], |name| !self.is_free_for_one(context, name));
            if self.is_free_for_many(context, &name, &plural) {
                break (name, plural);
            }
            number += 1;
        };
        self.take(context, &name, &plural);
        (name, plural)
    }

    fn is_free_for_one(&self, context: &str, name: &str) -> bool {
        let names = GraphqlNames::new(context, name, "");
        !self.taken.contains(&(context.to_owned(), name.to_owned()))
            && names.types().iter().all(|kind| !self.graphql.contains(kind) && !OWN_TYPES.contains(&kind.as_str()))
            && names.fields_of_one().iter().all(|field| !self.graphql.contains(field))
    }

    fn is_free_for_many(&self, context: &str, name: &str, plural: &str) -> bool {
        let names = GraphqlNames::new(context, name, plural);
        !self.paths.contains(&(kebab(context), kebab(plural))) && names.fields_of_many().iter().all(|field| !self.graphql.contains(field))
    }
}
