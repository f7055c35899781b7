//! The resources, fields, operators and relations that the policy lets one caller use, for `/docs/resources.json`.

use std::collections::HashMap;

use query::catalog::{Catalog, FieldId, Relation, Resource, ResourceId};
use query::policy::{self, Viewer};
use query::types::{Scalar, Type};
use serde::Serialize;

use crate::query_service::explain;
use crate::query_service::operation::ReadOperation;

#[derive(Debug, Serialize)]
pub(super) struct VisibleResources<'c> {
    /// Whether the caller may see SQL.
    explain: bool,
    /// How many more resources need a permission that the caller lacks.
    withheld: usize,
    resources: Vec<DescribedResource<'c>>,
}

/// The fields of the GraphQL query, by resource and operation.
type QueryFields<'c> = HashMap<(ResourceId, &'static str), &'c str>;

#[derive(Debug, Serialize)]
struct DescribedResource<'c> {
    name: &'c str,
    context: &'c str,
    resource: &'c str,
    operations: Vec<DescribedOperation<'c>>,
    /// The fields of the key, if the caller may find a row by it.
    key: Vec<&'c str>,
    fields: Vec<DescribedField<'c>>,
    relations: Vec<DescribedRelation<'c>>,
}

#[derive(Debug, Serialize)]
struct DescribedOperation<'c> {
    name: &'static str,
    address: String,
    /// The field of the GraphQL query that answers the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    graphql: Option<&'c str>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "a wire type: each flag is a key of its own")]
struct DescribedField<'c> {
    name: &'c str,
    #[serde(rename = "type")]
    kind: &'static str,
    array: bool,
    nullable: bool,
    key: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<&'c str>>,
    /// Present if the value is masked for this caller; then it can only be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    mask: Option<&'static str>,
    operators: Vec<&'static str>,
    functions: Vec<&'static str>,
    sortable: bool,
    /// What a derived field is computed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    derived: Option<String>,
}

#[derive(Debug, Serialize)]
struct DescribedRelation<'c> {
    name: &'c str,
    many: bool,
    target: &'c str,
}

pub(super) fn visible<'c>((catalog, fields): (&'c Catalog, &QueryFields<'c>), viewer: &Viewer) -> VisibleResources<'c> {
    let all = catalog.resources().len();
    let entered = (0..all).filter_map(|id| Some((id, policy::authorize_read(catalog, id, viewer).ok()?.resource())));
    let resources: Vec<_> = entered.map(|(id, resource)| describe((catalog, fields), (id, resource), viewer)).collect();
    VisibleResources { explain: viewer.has_permission(explain::PERMISSION), withheld: all - resources.len(), resources }
}

fn describe<'c>(
    (catalog, graphql): (&'c Catalog, &QueryFields<'c>),
    (id, resource): (ResourceId, &'c Resource),
    viewer: &Viewer,
) -> DescribedResource<'c> {
    let found = viewer.sees_key(resource);
    let fields = resource.fields.iter().enumerate().filter(|(_, field)| viewer.knows(field));
    DescribedResource {
        name: &resource.full_name,
        context: &resource.context,
        resource: &resource.name,
        operations: operations((id, resource), graphql, viewer),
        key: if found { resource.key_fields().map(|field| field.name.as_str()).collect() } else { Vec::new() },
        fields: fields.map(|(id, _)| describe_field(resource, id, viewer)).collect(),
        relations: resource.relations.iter().filter_map(|relation| describe_relation(catalog, relation, viewer)).collect(),
    }
}

fn operations<'c>((id, resource): (ResourceId, &Resource), graphql: &QueryFields<'c>, viewer: &Viewer) -> Vec<DescribedOperation<'c>> {
    let base = resource.path();
    let answers = |operation: &ReadOperation| match operation {
        ReadOperation::FindById | ReadOperation::KeysetPaginate => viewer.sees_key(resource),
        ReadOperation::Explain => viewer.has_permission(explain::PERMISSION),
        _ => true,
    };
    let named = ReadOperation::ALL.into_iter().filter(answers);
    let described = |operation: ReadOperation| DescribedOperation {
        name: operation.name(),
        address: format!("{base}/{}", operation.path_end()),
        graphql: graphql.get(&(id, operation.name())).copied(),
    };
    named.map(described).collect()
}

fn describe_field<'c>(resource: &'c Resource, id: FieldId, viewer: &Viewer) -> DescribedField<'c> {
    let field = &resource.fields[id];
    let usable = viewer.sees_unmasked(field);
    let mask = field.mask.as_ref().filter(|_| !usable).map(|(mask, _)| mask.as_str());
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
        derived: query::describe::origin(resource, field),
    }
}

/// A relation, unless the caller may not read its target: then it is unknown.
fn describe_relation<'c>(catalog: &'c Catalog, relation: &'c Relation, viewer: &Viewer) -> Option<DescribedRelation<'c>> {
    let target = catalog.resource(relation.target);
    viewer.can_read(target).then_some(DescribedRelation { name: &relation.name, many: relation.many, target: &target.full_name })
}
