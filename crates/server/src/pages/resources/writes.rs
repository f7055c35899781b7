//! The writes that the policy lets one caller use on a resource: operations, and the fields of a payload with their rules.

use query::catalog::write_rules::{ValueRules, WriteOperation};
use query::catalog::{Catalog, Field, ResourceId};
use query::json::Json;
use query::json::build::compact;
use query::payload::WriteForm;
use query::policy::{self, Viewer};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::graphql::WriteFields;

use super::{DescribedOperation, TypeDescription};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DescribedWrites<'c> {
    operations: Vec<DescribedOperation<'c>>,
    /// The key of a row, if the caller may name rows by it.
    key: Vec<&'c str>,
    /// The field that an update may expect a value of, if the caller sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'c str>,
    /// How many rows an update or a delete by query may change.
    max_rows: u64,
    fields: Vec<DescribedPayloadField<'c>>,
}

#[derive(Debug, Serialize)]
struct DescribedPayloadField<'c> {
    name: &'c str,
    #[serde(flatten)]
    kind: TypeDescription<'c>,
    nullable: bool,
    /// The operations with a payload that may have the field.
    operations: Vec<&'static str>,
    /// Whether a new row needs it.
    required: bool,
    #[serde(flatten)]
    rules: DescribedRules,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DescribedRules {
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_items: Option<u64>,
}

/// The writes of a resource; `None` if the caller may use no operation.
pub(super) fn describe<'c>(
    (catalog, graphql): (&'c Catalog, &WriteFields<'c>),
    id: ResourceId,
    viewer: &Viewer,
) -> Option<DescribedWrites<'c>> {
    let resource = catalog.resource(id);
    let rules = resource.write_rules()?;
    let is_granted = |operation| policy::authorize_write(catalog, id, operation, viewer).is_ok();
    let has_key = viewer.sees_key(resource);
    let forms = WriteForm::ALL.into_iter().filter(|form| is_granted(form.operation()) && (has_key || !form.takes_id()));
    let operations: Vec<_> = forms
        .map(|form| DescribedOperation {
            name: name(form),
            address: format!("{}/{}", resource.path(), form.as_str()),
            graphql: graphql.get(&(id, form.as_str())).copied(),
        })
        .collect();
    if operations.is_empty() {
        return None;
    }
    let version = rules.version.map(|version| &resource.fields[version]);
    let version = version.filter(|field| viewer.can_read(resource) && viewer.knows(field) && viewer.sees_unmasked(field));
    let fields = resource.fields.iter().filter_map(|field| describe_field(field, viewer, is_granted)).collect();
    Some(DescribedWrites {
        operations,
        key: if has_key { resource.key_fields().map(|field| field.name.as_str()).collect() } else { Vec::new() },
        version: version.map(|field| field.name.as_str()),
        max_rows: rules.max_rows,
        fields,
    })
}

fn name(form: WriteForm) -> &'static str {
    match form {
        WriteForm::Create => "create",
        WriteForm::UpdateById => "updateById",
        WriteForm::Update => "update",
        WriteForm::DeleteById => "deleteById",
        WriteForm::Delete => "delete",
        WriteForm::RestoreById => "restoreById",
    }
}

fn describe_field<'c>(field: &'c Field, viewer: &Viewer, is_granted: impl Fn(WriteOperation) -> bool) -> Option<DescribedPayloadField<'c>> {
    let can_write = |operation: &WriteOperation| is_granted(*operation) && viewer.can_write(field, *operation);
    let operations: Vec<_> = WriteOperation::ALL.into_iter().filter(can_write).map(WriteOperation::as_str).collect();
    if operations.is_empty() {
        return None;
    }
    Some(DescribedPayloadField {
        name: &field.name,
        kind: TypeDescription::of(&field.kind),
        nullable: field.nullable,
        operations,
        required: field.is_required(),
        rules: describe_rules(&field.rules.values),
    })
}

fn describe_rules(rules: &ValueRules) -> DescribedRules {
    let raw = |json: &Json| RawValue::from_string(compact(json)).ok();
    DescribedRules {
        min: rules.min_json().and_then(raw),
        max: rules.max_json().and_then(raw),
        min_length: rules.min_length,
        max_length: rules.max_length,
        pattern: rules.pattern(),
        min_items: rules.min_items,
        max_items: rules.max_items,
    }
}
