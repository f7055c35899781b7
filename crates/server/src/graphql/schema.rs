//! Writes the GraphQL schema of a catalog in the schema definition language.

mod fields;
mod mutations;
mod writes;

use std::collections::HashMap;
use std::fmt::Write;

use query::catalog::{Catalog, Resource, ResourceId};
use query::describe::{GraphqlNames, is_findable};
use query::manifest::{ManifestError, ManifestFault};

use crate::hub::ACCOUNT;
use crate::query_service::operation::ReadOperation;

use fields::{describe, object_field, relation_description};
use mutations::TypeOwner;
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
    for id in (0..catalog.resources().len()).filter(|id| can_name(catalog.resource(*id))) {
        writes::declare(&mut mutations, catalog, id);
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
    faults.sort_by_key(|fault| fault.line);
    if !faults.is_empty() {
        return Err(ManifestError(faults));
    }
    left_out.sort();
    left_out.dedup();
    Ok(DeclaredSchema { sdl, roots, mutations: mutations.by_name, left_out })
}

struct SchemaWriter<'c> {
    catalog: &'c Catalog,
    /// The types of the mutations, and what each belongs to.
    taken: &'c HashMap<String, TypeOwner>,
    types: HashMap<String, ResourceId>,
    roots: HashMap<String, (ResourceId, QueryField)>,
    left_out: Vec<String>,
    faults: Vec<ManifestFault>,
}

impl SchemaWriter<'_> {
    /// Whether GraphQL can name the resource. Two resources of one GraphQL name are a fault.
    fn admit(&mut self, id: ResourceId, resource: &Resource) -> bool {
        let name = GraphqlNames::of(resource).row();
        if !can_name(resource) {
            self.left_out.push(format!("resource `{}`", resource.full_name));
            return false;
        }
        let other = match self.types.get(&name) {
            Some(other) => TypeOwner::Resource(*other),
            None if RESERVED.split(' ').any(|reserved| reserved == name) => TypeOwner::Graphql,
            None => {
                if let Some(owner) = self.taken.get(&name) {
                    *owner
                } else {
                    self.types.insert(name, id);
                    return true;
                }
            }
        };
        self.faults.push(clash(self.catalog, resource, &format!("type `{name}`"), other));
        false
    }

    fn root_fields(&mut self, sdl: &mut String, id: ResourceId) {
        let resource = self.catalog.resource(id);
        let (full_name, names) = (&resource.full_name, GraphqlNames::of(resource));
        let kind = names.row();
        let mut fields = vec![
            (names.paginate(), QueryField::Paginate, format!("({ARGUMENTS}): Pagination!"), format!("A page of `{full_name}`.")),
            (names.get(), QueryField::Get, format!("({ARGUMENTS}): [{kind}!]!"), format!("The rows of `{full_name}`.")),
            (names.find(), QueryField::Find, format!("({ARGUMENTS}): {kind}"), format!("The first row of `{full_name}`, or null.")),
        ];
        if is_findable(resource) {
            fields.push((
                names.keyset_paginate(),
                QueryField::KeysetPaginate,
                format!("({ARGUMENTS}): KeysetPagination!"),
                format!("A page of `{full_name}`, with the statement of the next page."),
            ));
            let keys: Vec<&str> = resource.key_fields().map(|field| field.name.as_str()).collect();
            let end = if keys.len() == 1 { String::new() } else { format!(" The key is written `{}`.", keys.join(",")) };
            fields.push((
                names.find_by_id(),
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
            let (resource, what) = (self.catalog.resource(id), format!("query `{field}`"));
            self.faults.push(clash(self.catalog, resource, &what, TypeOwner::Resource(other)));
        }
    }

    fn object(&mut self, sdl: &mut String, id: ResourceId) {
        let resource = self.catalog.resource(id);
        sdl.push('\n');
        let needed = resource.permission.as_deref().map_or_else(String::new, |name| format!(" To read it needs the permission `{name}`."));
        describe(sdl, "", &format!("A row of `{}`, or a group of its rows.{needed}", resource.full_name));
        _ = writeln!(sdl, "type {} {{", GraphqlNames::of(resource).row());
        for field in resource.fields.iter().filter(|field| !field.hidden) {
            if self.can_name(resource, &field.name) {
                object_field(sdl, self.catalog, resource, field);
            }
        }
        for relation in &resource.relations {
            let target = GraphqlNames::of(self.catalog.resource(relation.target)).row();
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
    let kind = GraphqlNames::of(resource).row();
    [&resource.context, &resource.name, &resource.plural, &kind].into_iter().all(|name| is_name(name))
}

/// A name that a resource and another, or GraphQL itself, would both have.
fn clash(catalog: &Catalog, Resource { full_name, line, .. }: &Resource, what: &str, other: TypeOwner) -> ManifestFault {
    let message = match other {
        TypeOwner::Resource(other) => {
            let other = &catalog.resource(other).full_name;
            format!("resource `{full_name}` and resource `{other}` are both the GraphQL {what}; rename one of them")
        }
        TypeOwner::Graphql => {
            format!("resource `{full_name}` would be the GraphQL {what}, which the schema has already; rename the resource")
        }
    };
    ManifestFault { line: *line, message }
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

    const FIELDS: &str = "id = { type = \"int\", key = true, write = \"create\" }\n";

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

    const WRITES: &str = "create = \"a.create\"\nupdate = \"a.update\"\ndelete = \"a.delete\"\n";

    #[test]
    fn a_resource_with_one_name_for_one_row_and_for_many_has_both_mutations() {
        // contract W3.12
        for (name, plural) in [("staff", "staff"), ("Staff", "staff")] {
            let manifest = format!(
                "[resource.app.{name}]\nplural = \"{plural}\"\n[resource.app.{name}.write]\n{WRITES}[resource.app.{name}.fields]\n{FIELDS}"
            );
            let declared = declared(&manifest).expect("a schema");
            for field in ["Staff(", "StaffRows("]
                .map(|end| format!("  appCreate{end}"))
                .into_iter()
                .chain(["UpdateStaffById(", "UpdateStaffRows(", "DeleteStaffById(", "DeleteStaffRows("].map(|end| format!("  app{end}")))
            {
                assert_eq!(declared.sdl.matches(&field).count(), 1, "{field}: {}", declared.sdl);
            }
            apollo_compiler::Schema::parse_and_validate(declared.sdl, "schema").expect("a valid schema");
        }
        let plain = format!("[resource.app.order.write]\n{WRITES}[resource.app.order.fields]\n{FIELDS}");
        let sdl = declared(&plain).expect("a schema").sdl;
        assert!(sdl.contains("  appCreateOrders(") && !sdl.contains("OrdersRows("), "{sdl}");
    }

    #[test]
    fn a_clash_of_mutations_names_both_resources() {
        // contract G1.8
        let resource = |name: &str, plural: &str| {
            format!(
                "[resource.app.{name}]\nplural = \"{plural}\"\n[resource.app.{name}.write]\n{WRITES}[resource.app.{name}.fields]\n{FIELDS}"
            )
        };
        let message = declared(&(resource("user", "users") + &resource("user2", "user"))).expect_err("one mutation").to_string();
        for word in ["`app.user`", "`app.user2`", "mutation `appCreateUser`", "manifest:9: "] {
            assert!(message.contains(word), "{message}");
        }
        let inputs = resource("order", "orders") + &resource("orderCreateInput", "orderCreateInputs");
        let message = declared(&inputs).expect_err("one type").to_string();
        for word in ["`app.order`", "`app.orderCreateInput`", "type `AppOrderCreateInput`"] {
            assert!(message.contains(word), "{message}");
        }
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
