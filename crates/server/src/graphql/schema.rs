//! Writes the GraphQL schema of a catalog in the schema definition language.

mod fields;
mod mutations;
mod writes;

use std::collections::HashMap;
use std::fmt::Write;

use query::catalog::{Catalog, Resource, ResourceId};
use query::describe::{is_findable, upper_first};
use query::manifest::{ManifestError, ManifestFault};

use crate::hub::ACCOUNT;
use crate::query_service::operation::ReadOperation;

use fields::{describe, object_field, relation_description};
pub(super) use mutations::{MutationField, WriteField};

/// The types of every schema. No field of an object is non-null: a group of an aggregation has none of them, a mask may leave nothing,
/// and an invalid value reads as null.
const PRELUDE: &str = include_str!("schema/prelude.graphql");

/// Type names that no resource can have.
const RESERVED: &str =
    "JSON DateTime Date Time UUID Decimal BigInt QueryStatementInput Pagination KeysetPagination Query ID Int Float String Boolean";

const ARGUMENTS: &str = "query: QueryStatementInput, constraint: QueryStatementInput";

/// The field that holds a group.
pub(super) const AGGREGATION: &str = "_aggregation";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryField {
    Paginate,
    KeysetPaginate,
    Get,
    Find,
    FindById,
    Me,
}

impl QueryField {
    /// The operation that answers the same over REST.
    pub(super) fn operation(self) -> Option<ReadOperation> {
        match self {
            QueryField::Paginate => Some(ReadOperation::Paginate),
            QueryField::KeysetPaginate => Some(ReadOperation::KeysetPaginate),
            QueryField::Get => Some(ReadOperation::List),
            QueryField::Find => Some(ReadOperation::Find),
            QueryField::FindById => Some(ReadOperation::FindById),
            QueryField::Me => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct DeclaredSchema {
    pub(super) sdl: String,
    pub(super) roots: HashMap<String, (ResourceId, QueryField)>,
    pub(super) mutations: HashMap<String, MutationField>,
    /// Declarations whose names GraphQL cannot use.
    pub(super) left_out: Vec<String>,
}

/// Writes the schema of a catalog: the same text for the same catalog. Names that clash are faults of the manifest.
pub(super) fn declare(catalog: &Catalog) -> Result<DeclaredSchema, ManifestError> {
    let mut mutations = mutations::declare(catalog);
    for (id, resource) in catalog.resources().iter().enumerate().filter(|(_, resource)| can_name(resource)) {
        writes::declare(&mut mutations, id, resource);
    }
    let mut writer = SchemaWriter {
        catalog,
        taken: &mutations.types,
        types: HashMap::new(),
        roots: HashMap::new(),
        left_out: Vec::new(),
        faults: Vec::new(),
    };
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
        // A type needs a field.
        sdl.push_str("  \"Always `peristyle`: no resource is declared.\"\n  _service: String!\n");
    }
    sdl.push_str("}\n");
    if !mutations.roots.is_empty() {
        sdl.push_str("\n\"Changes. Each is one transaction, and needs its permission.\"\ntype Mutation {\n");
        sdl.push_str(&mutations.roots);
        sdl.push_str("}\n");
    }
    sdl.push_str(&mutations.sdl);
    for id in &shown {
        writer.object(&mut sdl, *id);
    }
    let SchemaWriter { mut left_out, roots, mut faults, .. } = writer;
    faults.extend(mutations.faults);
    if !faults.is_empty() {
        return Err(ManifestError(faults));
    }
    left_out.sort();
    left_out.dedup();
    Ok(DeclaredSchema { sdl, roots, mutations: mutations.by_name, left_out })
}

struct SchemaWriter<'c> {
    catalog: &'c Catalog,
    /// Type names of the mutations.
    taken: &'c [String],
    types: HashMap<String, ResourceId>,
    roots: HashMap<String, (ResourceId, QueryField)>,
    left_out: Vec<String>,
    faults: Vec<ManifestFault>,
}

impl SchemaWriter<'_> {
    /// Whether GraphQL can name the resource. Two resources of one GraphQL name are a fault.
    fn admit(&mut self, id: ResourceId, resource: &Resource) -> bool {
        let name = type_name(resource);
        if !can_name(resource) {
            self.left_out.push(format!("resource `{}`", resource.full_name));
            return false;
        }
        let other = match self.types.get(&name) {
            Some(other) => format!("resource `{}`", self.catalog.resource(*other).full_name),
            None if RESERVED.split(' ').any(|reserved| reserved == name) || self.taken.contains(&name) => {
                "GraphQL's own type of that name".to_owned()
            }
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
                QueryField::Paginate,
                format!("({ARGUMENTS}): Pagination!"),
                format!("A page of `{full_name}`."),
            ),
            (format!("{context}Get{plural}"), QueryField::Get, format!("({ARGUMENTS}): [{kind}!]!"), format!("The rows of `{full_name}`.")),
            (
                format!("{context}Find{name}"),
                QueryField::Find,
                format!("({ARGUMENTS}): {kind}"),
                format!("The first row of `{full_name}`, or null."),
            ),
        ];
        if is_findable(resource) {
            fields.push((
                format!("{context}KeysetPaginate{plural}"),
                QueryField::KeysetPaginate,
                format!("({ARGUMENTS}): KeysetPagination!"),
                format!("A page of `{full_name}`, with the statement of the next page."),
            ));
            let keys: Vec<&str> = resource.key_fields().map(|field| field.name.as_str()).collect();
            let end = if keys.len() == 1 { String::new() } else { format!(" The key is written `{}`.", keys.join(",")) };
            fields.push((
                format!("{context}Find{name}ById"),
                QueryField::FindById,
                format!("(id: ID!, {ARGUMENTS}): {kind}"),
                format!("The row of `{full_name}` with this key, or null.{end}"),
            ));
        }
        if full_name == ACCOUNT {
            let description = "The account of the access token, with its roles and tenants.".to_owned();
            fields.push(("iamMeAccount".to_owned(), QueryField::Me, format!(": {kind}"), description));
        }
        for (field, query_field, signature, description) in fields {
            self.claim(&field, id, query_field);
            describe(sdl, "  ", &description);
            _ = writeln!(sdl, "  {field}{signature}");
        }
    }

    fn claim(&mut self, field: &str, id: ResourceId, query_field: QueryField) {
        if let Some((other, _)) = self.roots.insert(field.to_owned(), (id, query_field)) {
            let other = format!("resource `{}`", self.catalog.resource(other).full_name);
            self.clash(self.catalog.resource(id), &format!("query `{field}`"), &other);
        }
    }

    fn clash(&mut self, Resource { full_name, line, .. }: &Resource, what: &str, other: &str) {
        let message = format!("resource `{full_name}` and {other} are both the GraphQL {what}; rename one of them");
        self.faults.push(ManifestFault { line: *line, message });
    }

    fn object(&mut self, sdl: &mut String, id: ResourceId) {
        let resource = self.catalog.resource(id);
        sdl.push('\n');
        describe(sdl, "", &format!("A row of `{}`, or a group of its rows.", resource.full_name));
        _ = writeln!(sdl, "type {} {{", type_name(resource));
        for field in resource.fields.iter().filter(|field| !field.hidden) {
            if self.can_name(resource, &field.name) {
                object_field(sdl, self.catalog, resource, field);
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
        describe(sdl, "  ", "The group, if the statement aggregates; then every other field is null.");
        _ = writeln!(sdl, "  {AGGREGATION}: JSON\n}}");
    }

    fn can_name(&mut self, resource: &Resource, name: &str) -> bool {
        let is_usable = is_name(name) && name != AGGREGATION;
        if !is_usable {
            self.left_out.push(format!("`{name}` of resource `{}`", resource.full_name));
        }
        is_usable
    }
}

/// Whether GraphQL can use the names of the resource.
fn can_name(resource: &Resource) -> bool {
    [&resource.context, &resource.name, &resource.plural, &type_name(resource)].into_iter().all(|name| is_name(name))
}

/// `shop.customer` → `ShopCustomer`
pub(super) fn type_name(resource: &Resource) -> String {
    upper_first(&resource.context) + &upper_first(&resource.name)
}

fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + letters.as_str())
}

fn is_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_word) && !name.starts_with("__") && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use query::manifest::Manifest;

    use super::*;

    fn declared(manifest: &str) -> Result<DeclaredSchema, ManifestError> {
        let manifest = Manifest::read(manifest).expect("a manifest");
        declare(&Catalog::resolve(&manifest).expect("a catalog"))
    }

    const FIELDS: &str = "id = { type = \"int\", key = true }\n";

    #[test]
    fn two_resources_of_one_graphql_name_are_refused() {
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
    fn names_that_graphql_reserves_are_left_out() {
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
