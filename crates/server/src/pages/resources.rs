//! The resources, fields, operators, relations and writes that the policy lets one caller use, for `/docs/resources.json`.

mod writes;

use query::catalog::{Catalog, Derived, Field, FieldId, Relation, Resource, ResourceId};
use query::policy::{self, Viewer};
use query::types::{Scalar, Type};
use serde::Serialize;

use crate::caller::Caller;
use crate::graphql::{Engine, QueryFields, WriteFields};
use crate::query_service::explain;
use crate::query_service::operation::ReadOperation;

use writes::DescribedWrites;

#[derive(Debug, Serialize)]
pub(super) struct VisibleResources<'c> {
    /// Whether the caller may see SQL.
    explain: bool,
    /// How many more resources need a permission that the caller lacks.
    withheld: usize,
    /// The most rows of an answer, if there is a limit.
    #[serde(rename = "maxRows", skip_serializing_if = "Option::is_none")]
    max_rows: Option<u64>,
    resources: Vec<DescribedResource<'c>>,
}

/// The names of GraphQL's root fields.
struct RootNames<'c> {
    queries: QueryFields<'c>,
    writes: WriteFields<'c>,
}

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
    /// Present if the caller may write rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<DescribedWrites<'c>>,
}

#[derive(Debug, Serialize)]
struct DescribedOperation<'c> {
    name: &'static str,
    address: String,
    /// The field of the GraphQL query or mutation that does the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    graphql: Option<&'c str>,
}

/// The type of a field.
#[derive(Debug, Serialize)]
struct TypeDescription<'c> {
    #[serde(rename = "type")]
    name: &'static str,
    array: bool,
    /// The values of an enum.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<&'c str>>,
}

impl<'c> TypeDescription<'c> {
    fn of(kind: &'c Type) -> Self {
        let values = match kind.scalar() {
            Scalar::Enum(values) => Some(values.iter().map(|value| &**value).collect()),
            _ => None,
        };
        TypeDescription { name: kind.scalar().name(), array: matches!(kind, Type::Array(_)), values }
    }
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "members of a JSON object")]
struct DescribedField<'c> {
    name: &'c str,
    #[serde(flatten)]
    kind: TypeDescription<'c>,
    nullable: bool,
    key: bool,
    /// Present if the value is masked for this caller; then it can only be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    mask: Option<&'static str>,
    operators: Vec<&'static str>,
    functions: Vec<&'static str>,
    sortable: bool,
    /// What a derived field is computed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    derived: Option<String>,
    /// The period that a bucket is the start of.
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<&'static str>,
    /// Whether rows show the field without naming it.
    eager: bool,
}

#[derive(Debug, Serialize)]
struct DescribedRelation<'c> {
    name: &'c str,
    many: bool,
    target: &'c str,
}

pub(super) fn visible<'c>((catalog, engine): (&'c Catalog, &'c Engine), caller: &Caller) -> VisibleResources<'c> {
    let viewer = caller.viewer();
    let names = RootNames { queries: engine.query_fields(), writes: engine.write_fields() };
    let all = catalog.resources().len();
    let resources: Vec<_> = (0..all).filter_map(|id| describe((catalog, &names), id, caller)).collect();
    VisibleResources {
        explain: viewer.has_permission(explain::PERMISSION),
        withheld: all - resources.len(),
        max_rows: catalog.max_rows(),
        resources,
    }
}

/// A resource that the caller may read or write. Without the right to read it has no fields, relations and operations that read.
fn describe<'c>((catalog, names): (&'c Catalog, &RootNames<'c>), id: ResourceId, caller: &Caller) -> Option<DescribedResource<'c>> {
    let (resource, viewer) = (catalog.resource(id), caller.viewer());
    let can_read = policy::authorize_read(catalog, id, viewer).is_ok();
    let write = caller.may_write().ok().and_then(|()| writes::describe((catalog, &names.writes), id, viewer));
    if !can_read && write.is_none() {
        return None;
    }
    let found = can_read && viewer.sees_key(resource);
    let fields = resource.fields.iter().enumerate().filter(|(_, field)| can_read && viewer.knows(field));
    let relations = resource.relations.iter().filter(|_| can_read);
    Some(DescribedResource {
        name: &resource.full_name,
        context: &resource.context,
        resource: &resource.name,
        operations: if can_read { operations((id, resource), &names.queries, viewer) } else { Vec::new() },
        key: if found { resource.key_fields().map(|field| field.name.as_str()).collect() } else { Vec::new() },
        fields: fields.map(|(id, _)| describe_field(catalog, (resource, id), viewer)).collect(),
        relations: relations.filter_map(|relation| describe_relation(catalog, relation, viewer)).collect(),
        write,
    })
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

fn describe_field<'c>(catalog: &Catalog, (resource, id): (&'c Resource, FieldId), viewer: &Viewer) -> DescribedField<'c> {
    let field = &resource.fields[id];
    let usable = viewer.sees_unmasked(field);
    let mask = field.mask.as_ref().filter(|_| !usable).map(|(mask, _)| mask.as_str());
    DescribedField {
        name: &field.name,
        kind: TypeDescription::of(&field.kind),
        nullable: field.nullable,
        key: resource.key.contains(&id),
        mask,
        operators: if usable { field.kind.operators() } else { Vec::new() },
        functions: if usable { field.kind.functions() } else { Vec::new() },
        sortable: usable && field.kind.is_sortable(),
        derived: query::describe::origin(catalog, resource, field),
        bucket: bucket(field),
        eager: field.eager,
    }
}

fn bucket(field: &Field) -> Option<&'static str> {
    match &field.derived {
        Some(Derived::Bucket(bucket)) => Some(bucket.unit.as_str()),
        _ => None,
    }
}

/// A relation, unless the caller may not read its target: then it is unknown.
fn describe_relation<'c>(catalog: &'c Catalog, relation: &'c Relation, viewer: &Viewer) -> Option<DescribedRelation<'c>> {
    let target = catalog.resource(relation.target);
    viewer.can_read(target).then_some(DescribedRelation { name: &relation.name, many: relation.many, target: &target.full_name })
}
