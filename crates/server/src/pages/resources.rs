//! What one caller may ask, as the page wants it: resources, fields, operators and relations. What the caller may not
//! see is absent, by the same rules that a statement meets.

use query::catalog::{Catalog, FieldId, Relation, Resource};
use query::policy::{self, Viewer};
use query::types::{Scalar, Type};
use serde::Serialize;

use crate::query_service::explain;
use crate::query_service::operation::ReadOperation;

/// Everything that is visible to one caller.
#[derive(Debug, Serialize)]
pub(super) struct Visible<'c> {
    /// Whether the caller may see SQL.
    explain: bool,
    resources: Vec<Described<'c>>,
}

#[derive(Debug, Serialize)]
struct Described<'c> {
    /// `shop.customer`
    name: &'c str,
    context: &'c str,
    resource: &'c str,
    operations: Vec<Operation>,
    /// The fields of the key, where a row can be found by it.
    key: Vec<&'c str>,
    fields: Vec<DescribedField<'c>>,
    relations: Vec<DescribedRelation<'c>>,
}

#[derive(Debug, Serialize)]
struct Operation {
    name: &'static str,
    address: String,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "a wire type: each is a fact of its own, under its own name")]
struct DescribedField<'c> {
    name: &'c str,
    #[serde(rename = "type")]
    kind: &'static str,
    array: bool,
    nullable: bool,
    key: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<&'c str>>,
    /// Present while the value is masked for this caller, who then can show it and do nothing else with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mask: Option<&'static str>,
    operators: Vec<&'static str>,
    functions: Vec<&'static str>,
    sortable: bool,
}

#[derive(Debug, Serialize)]
struct DescribedRelation<'c> {
    name: &'c str,
    many: bool,
    target: &'c str,
}

/// Describes what this caller may see.
pub(super) fn visible<'c>(catalog: &'c Catalog, viewer: &Viewer) -> Visible<'c> {
    let entered = (0..catalog.resources().len()).filter_map(|id| policy::enter(catalog, id, viewer).ok());
    Visible {
        explain: viewer.holds(explain::PERMISSION),
        resources: entered.map(|entrance| describe(catalog, entrance.resource(), viewer)).collect(),
    }
}

fn describe<'c>(catalog: &'c Catalog, resource: &'c Resource, viewer: &Viewer) -> Described<'c> {
    let found = viewer.sees_key(resource);
    let fields = resource.fields.iter().enumerate().filter(|(_, field)| !field.hidden);
    Described {
        name: &resource.full_name,
        context: &resource.context,
        resource: &resource.name,
        operations: operations(resource, viewer),
        key: if found { resource.key_fields().map(|field| field.name.as_str()).collect() } else { Vec::new() },
        fields: fields.map(|(id, _)| describe_field(resource, id, viewer)).collect(),
        relations: resource.relations.iter().filter_map(|relation| describe_relation(catalog, relation, viewer)).collect(),
    }
}

/// The addresses that answer this caller.
fn operations(resource: &Resource, viewer: &Viewer) -> Vec<Operation> {
    let base = resource.address();
    let answers = |verb: &ReadOperation| match verb {
        ReadOperation::FindById => viewer.sees_key(resource),
        ReadOperation::Explain => viewer.holds(explain::PERMISSION),
        _ => true,
    };
    let named = ReadOperation::ALL.into_iter().filter(answers);
    named.map(|verb| Operation { name: verb.name(), address: format!("{base}/{}", verb.path_end()) }).collect()
}

fn describe_field<'c>(resource: &'c Resource, id: FieldId, viewer: &Viewer) -> DescribedField<'c> {
    let field = &resource.fields[id];
    let usable = viewer.sees_plainly(field);
    let mask = field.mask.as_ref().filter(|_| !usable).map(|(mask, _)| mask.name());
    let values = match field.kind.scalar() {
        Scalar::Enum(values) => Some(values.iter().map(|value| &**value).collect()),
        _ => None,
    };
    DescribedField {
        name: &field.name,
        kind: field.kind.scalar().name(),
        array: matches!(field.kind, Type::Array(_)),
        nullable: field.nullable,
        key: resource.key.contains(&id),
        values,
        mask,
        operators: if usable { field.kind.operators() } else { Vec::new() },
        functions: if usable { field.kind.functions() } else { Vec::new() },
        sortable: usable && field.kind.is_sortable(),
    }
}

/// A relation, unless its other side may not be read: then it is as unknown as one that does not exist.
fn describe_relation<'c>(catalog: &'c Catalog, relation: &'c Relation, viewer: &Viewer) -> Option<DescribedRelation<'c>> {
    let target = catalog.resource(relation.target);
    viewer.may_read(target).then_some(DescribedRelation { name: &relation.name, many: relation.many, target: &target.full_name })
}
