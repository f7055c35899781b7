//! The catalog as a GraphQL schema, written in the schema definition language.

mod members;
mod mutations;

use std::collections::HashMap;
use std::fmt::Write;

use query::catalog::{Catalog, Resource, ResourceId};
use query::describe::{is_findable, upper_first};
use query::manifest::{ManifestError, ManifestFault};

use crate::hub::ACCOUNT;
use crate::operations::Operation;

use members::{describe, object_field, relation_description};

/// What every schema has, whatever the catalog declares. No field of an object is non-null: a group of an aggregation has
/// none of them, a mask may leave nothing, and a stored value that does not fit its type reads as null.
const PRELUDE: &str = r#""Any JSON value."
scalar JSON @specifiedBy(url: "https://www.rfc-editor.org/rfc/rfc8259")
"An instant, in UTC: `2024-05-01T10:00:00.25Z`."
scalar DateTime @specifiedBy(url: "https://www.rfc-editor.org/rfc/rfc3339")
"A day: `2024-05-01`."
scalar Date @specifiedBy(url: "https://www.rfc-editor.org/rfc/rfc3339#section-5.6")
"A time of day: `06:30:00`."
scalar Time @specifiedBy(url: "https://www.rfc-editor.org/rfc/rfc3339#section-5.6")
"A UUID in lower case."
scalar UUID @specifiedBy(url: "https://www.rfc-editor.org/rfc/rfc9562")
"An exact decimal number, as a text: `\"19.99\"`."
scalar Decimal @specifiedBy(url: "https://www.w3.org/TR/xmlschema11-2/#decimal")
"A whole number of 64 bits, as a JSON number."
scalar BigInt @specifiedBy(url: "https://www.w3.org/TR/xmlschema11-2/#long")

"A Query Statement. Every key may be left out or be null."
input QueryStatementInput {
  "Which rows are returned."
  where: JSON
  "Which related rows are loaded with them."
  relations: JSON
  "How they are sorted: a list of `{field, dir}`."
  order: JSON
  "Groups instead of rows: `{fields, groupBy}`."
  aggregation: JSON
  "At most so many rows."
  limit: Int
  "So many rows are passed over first."
  offset: Int
}

"A page of rows."
type Pagination {
  "How many rows match, whatever `limit` and `offset` say."
  total: Int!
  "How many rows are in this page."
  count: Int!
  "The rows of this page."
  rows: [JSON]!
}
"#;

/// Names of types that no resource can have.
const TAKEN: [&str; 15] = [
    "JSON",
    "DateTime",
    "Date",
    "Time",
    "UUID",
    "Decimal",
    "BigInt",
    "QueryStatementInput",
    "Pagination",
    "Query",
    "ID",
    "Int",
    "Float",
    "String",
    "Boolean",
];

const ARGUMENTS: &str = "query: QueryStatementInput, constraint: QueryStatementInput";

/// The field that holds a group.
pub(super) const AGGREGATION: &str = "_aggregation";

/// What a field of the root asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Paginate,
    Get,
    Find,
    FindById,
    /// The caller's own account.
    Me,
}

/// A schema, and what its root fields stand for.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) sdl: String,
    pub(super) roots: HashMap<String, (ResourceId, Question)>,
    /// The operations of administration, where there is a hub.
    pub(super) mutations: HashMap<String, &'static Operation>,
    /// What the manifest declares and GraphQL cannot name.
    pub(super) left_out: Vec<String>,
}

/// Writes the schema of a catalog, the same text for the same catalog. Names that clash are faults of the manifest.
pub(super) fn declare(catalog: &Catalog) -> Result<Declared, ManifestError> {
    let mutations = mutations::declare(catalog);
    let mut writer =
        Writer { catalog, taken: &mutations.types, types: HashMap::new(), roots: HashMap::new(), left_out: Vec::new(), faults: Vec::new() };
    let mut shown = Vec::new();
    for (id, resource) in catalog.resources().iter().enumerate() {
        if writer.admit(id, resource) {
            shown.push(id);
        }
    }
    let mut sdl = PRELUDE.to_owned();
    sdl.push_str("\ntype Query {\n");
    for id in &shown {
        writer.root_fields(&mut sdl, *id);
    }
    if shown.is_empty() {
        // A type needs a field, and a process without resources is still asked whether it is there.
        sdl.push_str("  \"Always `peristyle`: no resource is declared.\"\n  _service: String!\n");
    }
    sdl.push_str("}\n");
    sdl.push_str(&mutations.sdl);
    for id in &shown {
        writer.object(&mut sdl, *id);
    }
    let Writer { mut left_out, roots, faults, .. } = writer;
    if !faults.is_empty() {
        return Err(ManifestError(faults));
    }
    left_out.sort();
    left_out.dedup();
    Ok(Declared { sdl, roots, mutations: mutations.by_name, left_out })
}

struct Writer<'c> {
    catalog: &'c Catalog,
    /// Names of types beside those that every schema has.
    taken: &'c [String],
    types: HashMap<String, ResourceId>,
    roots: HashMap<String, (ResourceId, Question)>,
    left_out: Vec<String>,
    faults: Vec<ManifestFault>,
}

impl Writer<'_> {
    /// Whether GraphQL can name the resource; two that it would name alike are a fault.
    fn admit(&mut self, id: ResourceId, resource: &Resource) -> bool {
        let name = type_name(resource);
        if ![&resource.context, &resource.name, &resource.plural].into_iter().all(|name| is_name(name)) || !is_name(&name) {
            self.left_out.push(format!("resource `{}`", resource.full_name));
            return false;
        }
        let other = match self.types.get(&name) {
            Some(other) => format!("resource `{}`", self.catalog.resource(*other).full_name),
            None if TAKEN.contains(&name.as_str()) || self.taken.contains(&name) => "GraphQL's own type of that name".to_owned(),
            None => {
                self.types.insert(name, id);
                return true;
            }
        };
        self.clash(resource, &format!("type `{name}`"), &other);
        false
    }

    fn root_fields(&mut self, sdl: &mut String, id: ResourceId) {
        let resource = self.catalog.resource(id);
        let Resource { full_name, plural, name, .. } = resource;
        let (context, kind) = (lower_first(&resource.context), type_name(resource));
        let (name, plural) = (upper_first(name), upper_first(plural));
        let mut fields = vec![
            (
                format!("{context}Paginate{plural}"),
                Question::Paginate,
                format!("({ARGUMENTS}): Pagination!"),
                format!("A page of `{full_name}`."),
            ),
            (format!("{context}Get{plural}"), Question::Get, format!("({ARGUMENTS}): [{kind}!]!"), format!("The rows of `{full_name}`.")),
            (
                format!("{context}Find{name}"),
                Question::Find,
                format!("({ARGUMENTS}): {kind}"),
                format!("The first row of `{full_name}`, or null."),
            ),
        ];
        if is_findable(resource) {
            let keys: Vec<&str> = resource.key_fields().map(|field| field.name.as_str()).collect();
            let end = if keys.len() == 1 { String::new() } else { format!(" The key is written `{}`.", keys.join(",")) };
            fields.push((
                format!("{context}Find{name}ById"),
                Question::FindById,
                format!("(id: ID!, {ARGUMENTS}): {kind}"),
                format!("The row of `{full_name}` with this key, or null.{end}"),
            ));
        }
        if full_name == ACCOUNT {
            let description = "The account of the token that asks, with its roles and tenants.".to_owned();
            fields.push(("iamMeAccount".to_owned(), Question::Me, format!(": {kind}"), description));
        }
        for (field, question, signature, description) in fields {
            self.claim(&field, id, question);
            describe(sdl, "  ", &description);
            _ = writeln!(sdl, "  {field}{signature}");
        }
    }

    fn claim(&mut self, field: &str, id: ResourceId, question: Question) {
        if let Some((other, _)) = self.roots.insert(field.to_owned(), (id, question)) {
            let other = format!("resource `{}`", self.catalog.resource(other).full_name);
            self.clash(self.catalog.resource(id), &format!("query `{field}`"), &other);
        }
    }

    fn clash(&mut self, Resource { full_name, line, .. }: &Resource, what: &str, other: &str) {
        let message = format!("resource `{full_name}` would be the GraphQL {what}, as {other} is; rename one of them");
        self.faults.push(ManifestFault { line: *line, message });
    }

    fn object(&mut self, sdl: &mut String, id: ResourceId) {
        let resource = self.catalog.resource(id);
        sdl.push('\n');
        describe(sdl, "", &format!("A row of `{}`, or a group of its rows.", resource.full_name));
        _ = writeln!(sdl, "type {} {{", type_name(resource));
        for field in resource.fields.iter().filter(|field| !field.hidden) {
            if self.can_name(resource, &field.name) {
                object_field(sdl, resource, field);
            }
        }
        for relation in &resource.relations {
            let target = type_name(self.catalog.resource(relation.target));
            if self.types.get(&target) == Some(&relation.target) && self.can_name(resource, &relation.name) {
                describe(sdl, "  ", &relation_description(relation, self.catalog.resource(relation.target)));
                let kind = if relation.many { format!("[{target}!]") } else { target };
                _ = writeln!(sdl, "  {}: {kind}", relation.name);
            }
        }
        describe(sdl, "  ", "The group, when the statement aggregates; every other field is null then.");
        _ = writeln!(sdl, "  {AGGREGATION}: JSON\n}}");
    }

    fn can_name(&mut self, resource: &Resource, name: &str) -> bool {
        let good = is_name(name) && name != AGGREGATION;
        if !good {
            self.left_out.push(format!("`{name}` of resource `{}`", resource.full_name));
        }
        good
    }
}

/// `shop.customer` → `ShopCustomer`
pub(super) fn type_name(resource: &Resource) -> String {
    upper_first(&resource.context) + &upper_first(&resource.name)
}

fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + letters.as_str())
}

/// What GraphQL takes for a name and does not keep for itself.
fn is_name(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(word) && !name.starts_with("__") && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use query::manifest::Manifest;

    use super::*;

    fn declared(manifest: &str) -> Result<Declared, ManifestError> {
        let manifest = Manifest::read(manifest).expect("a manifest");
        declare(&Catalog::resolve(&manifest).expect("a catalog"))
    }

    const FIELDS: &str = "id = { type = \"int\", key = true }\n";

    #[test]
    fn two_resources_of_one_name_are_told_apart_or_refused() {
        // contract G1.8
        let both = format!("[resource.a.bC.fields]\n{FIELDS}[resource.aB.c.fields]\n{FIELDS}");
        let message = declared(&both).expect_err("one type").to_string();
        for word in ["`a.bC`", "`aB.c`", "`ABC`"] {
            assert!(message.contains(word), "{message}");
        }
        let message = declared(&format!("[resource.date.time.fields]\n{FIELDS}")).expect_err("a scalar's name").to_string();
        assert!(message.contains("`date.time`") && message.contains("`DateTime`"), "{message}");
        let queries = format!("[resource.a.fooById]\n[resource.a.fooById.fields]\n{FIELDS}[resource.a.foo.fields]\n{FIELDS}");
        let message = declared(&queries).expect_err("one query").to_string();
        assert!(message.contains("`aFindFooById`") && message.contains("`a.foo`") && message.contains("`a.fooById`"), "{message}");
    }

    #[test]
    fn what_graphql_cannot_name_is_left_out() {
        // contract G1.8
        let manifest = format!(
            "[resource.a.b.fields]\n{FIELDS}__x = \"text\"\n_aggregation = \"int\"\nfine = \"text\"\n[resource.a.__z.fields]\n{FIELDS}\n[resource.a.b.relations]\nz = {{ many = \"a.__z\", on = {{ id = \"id\" }} }}\n"
        );
        let declared = declared(&manifest).expect("a schema");
        assert_eq!(declared.left_out, ["`__x` of resource `a.b`", "`_aggregation` of resource `a.b`", "resource `a.__z`"]);
        assert!(declared.sdl.contains("  fine: String\n") && !declared.sdl.contains("__"));
        apollo_compiler::Schema::parse_and_validate(declared.sdl, "schema").expect("a valid schema");
    }

    #[test]
    fn a_catalog_without_resources_is_a_valid_schema() {
        // contract G1.8
        let declared = declare(&Catalog::default()).expect("a schema");
        apollo_compiler::Schema::parse_and_validate(declared.sdl, "schema").expect("a valid schema");
    }
}
