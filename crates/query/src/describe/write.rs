//! What the descriptions of writes share: the forms of a resource, the fields of a payload, and the comments on them.

use crate::catalog::write_rules::WriteOperation;
use crate::catalog::{Field, FieldId, Resource};
use crate::json::build::compact;
use crate::manifest::OperationRight;
use crate::messages::counted;
use crate::payload::WriteForm;

use super::{is_findable, is_usable, type_of, usable};

/// The writes of a resource, as their paths end. A write by id needs a key to find a row by.
pub fn write_forms(resource: &Resource) -> impl Iterator<Item = WriteForm> {
    WriteForm::ALL.into_iter().filter(|form| resource.has_write(form.operation()) && (!form.takes_id() || is_findable(resource)))
}

/// The version of a row, which `ETag` holds, if some viewer sees it.
pub fn shown_version(resource: &Resource) -> Option<FieldId> {
    resource.write_rules()?.version.filter(|id| is_usable(&resource.fields[*id]))
}

/// The fields that a payload of this operation may have, hidden ones too.
pub(super) fn writable(resource: &Resource, operation: WriteOperation) -> impl Iterator<Item = (FieldId, &Field)> {
    resource.fields.iter().enumerate().filter(move |(_, field)| field.is_writable(operation))
}

/// Whether a new row needs the field in its payload.
pub(super) fn is_required(field: &Field) -> bool {
    field.is_required() && !field.has_preset(WriteOperation::Create)
}

/// The key of a row in a payload. `None` if no viewer sees a part of it plainly.
pub fn payload_key(resource: &Resource) -> Option<&[FieldId]> {
    resource.key_fields().all(is_usable).then_some(&resource.key)
}

/// The fields that an update can add to: numbers that some viewer sees plainly.
pub fn increments(resource: &Resource) -> impl Iterator<Item = (FieldId, &Field)> {
    writable(resource, WriteOperation::Update).filter(|(_, field)| field.is_number() && is_usable(field))
}

/// Whether the resource has derived fields, which choose no rows of a write.
pub(super) fn has_derived(resource: &Resource) -> bool {
    usable(resource).any(|field| field.derived.is_some())
}

/// The comment on a field in a payload.
pub(super) fn payload_field(resource: &Resource, field: &Field) -> String {
    let parts: Vec<String> = std::iter::once(type_of(resource, field)).chain(value_rules(field)).collect();
    let text = parts.join(", ");
    match &field.rules.permission {
        Some(permission) => format!("{text}; to write it requires the permission `{permission}`"),
        None => text,
    }
}

/// The bounds of a field's values, for a comment.
pub fn value_rules(field: &Field) -> impl Iterator<Item = String> {
    let rules = &field.rules.values;
    let rules = [
        rules.min_json().map(|min| format!("at least {}", compact(min))),
        rules.max_json().map(|max| format!("at most {}", compact(max))),
        rules.min_length.map(|count| format!("at least {}", counted(count, "character"))),
        rules.max_length.map(|count| format!("at most {}", counted(count, "character"))),
        rules.pattern().map(|pattern| format!("matches `{pattern}`")),
        rules.min_items.map(|count| format!("at least {}", counted(count, "item"))),
        rules.max_items.map(|count| format!("at most {}", counted(count, "item"))),
    ];
    rules.into_iter().flatten()
}

/// What a body does, in one line.
pub(super) fn form_comment(form: WriteForm, resource: &Resource) -> String {
    let name = &resource.full_name;
    let text = match form {
        WriteForm::Create => format!("Creates one row of `{name}`, or a list of rows"),
        WriteForm::UpdateById => format!("Changes the row of `{name}` with the key in the path"),
        WriteForm::Update => format!("Changes rows of `{name}`: those of `query`, or each row of a list by its key"),
        WriteForm::DeleteById => format!("Deletes the row of `{name}` with the key in the path"),
        WriteForm::Delete => format!("Deletes rows of `{name}`"),
        WriteForm::RestoreById => format!("Restores the deleted row of `{name}` with the key in the path"),
    };
    match needed_permission(resource, form.operation()) {
        Some(permission) => format!("{text}; requires the permission `{permission}`"),
        None => text,
    }
}

/// The permission of an operation.
pub fn needed_permission(resource: &Resource, operation: WriteOperation) -> Option<&str> {
    match resource.write_rules()?.right(operation)? {
        OperationRight::Permission(permission) => Some(permission),
        OperationRight::Everyone => None,
    }
}

/// The end of the name of a body.
pub(super) fn request_ending(form: WriteForm) -> &'static str {
    match form {
        WriteForm::Create => "CreateRequest",
        WriteForm::UpdateById => "UpdateByIdRequest",
        WriteForm::Update => "UpdateRequest",
        WriteForm::DeleteById => "DeleteByIdRequest",
        WriteForm::Delete => "DeleteRequest",
        WriteForm::RestoreById => "RestoreByIdRequest",
    }
}
