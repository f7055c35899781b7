//! Declares the writes of resources as mutations: their root fields, inputs and answers.

use std::fmt::Write;

use query::catalog::write_rules::WriteOperation;
use query::catalog::{Catalog, Field, Resource, ResourceId};
use query::describe::{GraphqlNames, needed_permission, payload_key, shown_version, value_rules, write_forms};
use query::payload::WriteForm;

use super::fields::{describe, field_type};
use super::is_name;
use super::mutations::{Mutations, WriteField};

const CHECKS: &str = "expect: JSON, constraint: QueryStatementInput, dryRun: Boolean";

/// Declares the writes of a resource, if it has any.
pub(super) fn declare(mutations: &mut Mutations, catalog: &Catalog, id: ResourceId) {
    let resource = catalog.resource(id);
    let Some(rules) = resource.write_rules() else { return };
    let (names, full_name) = (GraphqlNames::of(resource), &resource.full_name);
    let (kind, rows) = (names.row(), names.rows());
    let (create, update, increment) = (names.create_input(), names.update_input(), names.increment_input());
    let adds = if increments(resource).next().is_some() { format!("increment: {increment}, ") } else { String::new() };
    let has_create = input(mutations, (catalog, id), &create, WriteOperation::Create);
    let has_update = input(mutations, (catalog, id), &update, WriteOperation::Update);
    if rules.operations().any(|operation| operation == WriteOperation::Update) && !adds.is_empty() {
        increment_input(mutations, (catalog, id), &increment);
    }
    let create_type = if has_create { create } else { "JSON".to_owned() };
    let update_type = if has_update { update } else { "JSON".to_owned() };
    let fields = [
        (names.create(), WriteForm::Create, false, format!("(payload: {create_type}!, dryRun: Boolean): {kind}"), "Creates a row"),
        (names.create_list(), WriteForm::Create, true, format!("(payload: [{create_type}!]!, dryRun: Boolean): {rows}"), "Creates rows"),
        (
            names.update_by_id(),
            WriteForm::UpdateById,
            false,
            format!("(payload: {update_type}!, {adds}{CHECKS}): {kind}"),
            "Changes the row with the key in `payload`",
        ),
        (
            names.update_list(),
            WriteForm::Update,
            true,
            format!("(payload: [{update_type}!], {adds}query: QueryStatementInput, all: Boolean, {CHECKS}): {rows}"),
            "Changes the rows of `query`; without it, each row of `payload` by its key",
        ),
        (names.delete_by_id(), WriteForm::DeleteById, false, format!("(id: ID!, {CHECKS}): {kind}"), "Deletes the row with this key"),
        (
            names.delete_list(),
            WriteForm::Delete,
            true,
            format!("(query: QueryStatementInput, all: Boolean, {CHECKS}): {rows}"),
            "Deletes the rows of `query`",
        ),
        (
            names.restore_by_id(),
            WriteForm::RestoreById,
            false,
            format!("(id: ID!, dryRun: Boolean): {kind}"),
            "Restores the deleted row with this key",
        ),
    ];
    let mut has_rows = false;
    for (name, form, is_list, signature, what) in fields {
        if !write_forms(resource).any(|other| other == form) {
            continue;
        }
        has_rows |= is_list;
        let needed =
            needed_permission(resource, form.operation()).map_or_else(String::new, |name| format!("; needs the permission `{name}`"));
        describe(&mut mutations.roots, "  ", &format!("{what}: `{full_name}`{needed}."));
        _ = writeln!(mutations.roots, "  {name}{signature}");
        mutations.claim(catalog, name, WriteField { resource: id, form, is_list });
    }
    if has_rows {
        mutations.add_type(catalog, id, &rows);
        describe(&mut mutations.sdl, "", &format!("How many rows of `{full_name}` a mutation changed, and the rows."));
        _ = writeln!(mutations.sdl, "type {rows} {{\n  count: Int!\n  rows: [{kind}!]!\n}}");
    }
}

/// The numbers that an update may add to.
fn increments(resource: &Resource) -> impl Iterator<Item = &Field> {
    query::describe::increments(resource).map(|(_, field)| field).filter(|field| is_name(&field.name))
}

/// Declares the payload of an operation. False if it has no field: a type needs one.
fn input(mutations: &mut Mutations, (catalog, id): (&Catalog, ResourceId), name: &str, operation: WriteOperation) -> bool {
    let resource = catalog.resource(id);
    if !resource.has_write(operation) {
        return false;
    }
    let is_update = operation == WriteOperation::Update;
    let key = payload_key(resource).filter(|_| is_update).unwrap_or_default();
    let version = shown_version(resource).filter(|_| is_update);
    let mut members = String::new();
    for (place, field) in resource.fields.iter().enumerate() {
        let about = match () {
            () if !is_name(&field.name) => continue,
            () if key.contains(&place) => "The key of the row.".to_owned(),
            () if version == Some(place) => "The version that the row must have.".to_owned(),
            () if field.is_writable(operation) => field_description(field),
            () => continue,
        };
        describe(&mut members, "  ", &about);
        let end = if operation == WriteOperation::Create && field.is_required() { "!" } else { "" };
        _ = writeln!(members, "  {}: {}{end}", field.name, field_type(&field.kind));
    }
    if members.is_empty() {
        return false;
    }
    mutations.add_type(catalog, id, name);
    let name_of_resource = &resource.full_name;
    let about = if is_update {
        format!("Changes to a row of `{name_of_resource}`. Null empties a field, and an absent field stays as it is.")
    } else {
        format!("A new row of `{name_of_resource}`. Null is NULL, and an absent field gets the default of the database.")
    };
    describe(&mut mutations.sdl, "", &about);
    _ = writeln!(mutations.sdl, "input {name} {{\n{members}}}");
    true
}

fn increment_input(mutations: &mut Mutations, (catalog, id): (&Catalog, ResourceId), name: &str) {
    let resource = catalog.resource(id);
    mutations.add_type(catalog, id, name);
    describe(&mut mutations.sdl, "", &format!("Numbers to add to fields of `{}`.", resource.full_name));
    _ = writeln!(mutations.sdl, "input {name} {{");
    for field in increments(resource) {
        _ = writeln!(mutations.sdl, "  {}: {}", field.name, field_type(&field.kind));
    }
    mutations.sdl.push_str("}\n");
}

fn field_description(field: &Field) -> String {
    let mut parts = vec![format!("`{}`", field.kind.name())];
    if !field.nullable {
        parts.push("never null".to_owned());
    }
    if let query::types::Scalar::Enum(values) = field.kind.scalar() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        parts.push(format!("one of {}", values.join(", ")));
    }
    parts.extend(value_rules(field));
    if let Some(permission) = &field.rules.permission {
        parts.push(format!("needs the permission `{permission}`"));
    }
    parts.join(", ") + "."
}
