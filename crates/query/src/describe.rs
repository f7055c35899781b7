//! JSON Schema and TypeScript of statements, rows and writes. Equal catalogs give equal bytes. Hidden fields are left out, except those that
//! a payload may have; a masked field is in rows, and in statements if a permission removes the mask.

pub mod json_schema;
mod names;
pub mod typescript;
mod write;

use std::fmt::Write;

use crate::catalog::{Bucket, Catalog, Derived, Field, FieldId, JsonPath, Mask, RelatedValue, Relation, Resource};
use crate::manifest::RelatedFunction;
use crate::types::{Scalar, Type};

pub use names::{UniqueNames, upper_first};
pub use write::{shown_version, write_forms};

/// The fields of a row.
pub fn shown(resource: &Resource) -> impl Iterator<Item = &Field> {
    resource.fields.iter().filter(|field| !field.hidden)
}

/// The fields that a statement can name: shown fields, except those with a mask that no permission removes.
pub fn usable(resource: &Resource) -> impl Iterator<Item = &Field> {
    shown(resource).filter(|field| field.mask.as_ref().is_none_or(|(_, unmask)| unmask.is_some()))
}

/// Whether some viewer can find a row by its key.
pub fn is_findable(resource: &Resource) -> bool {
    !resource.key.is_empty() && resource.key_fields().all(|key| usable(resource).any(|field| field.name == key.name))
}

/// The comment on a field in a statement.
fn statement_field(resource: &Resource, field: &Field) -> String {
    let kind = type_of(resource, field);
    match &field.mask {
        Some((_, Some(permission))) => format!("{kind}; to use it requires the permission `{permission}`"),
        _ => kind,
    }
}

/// The comment on a field in a row.
fn row_field(resource: &Resource, field: &Field) -> String {
    let kind = type_of(resource, field);
    match &field.mask {
        Some((mask, Some(permission))) => format!("{kind}; masked (`{}`) without the permission `{permission}`", mask.as_str()),
        Some((mask, None)) => format!("{kind}; always masked (`{}`)", mask.as_str()),
        None => kind,
    }
}

/// Whether every row shows the field, unless a selection leaves it out.
pub fn is_always_shown(field: &Field) -> bool {
    field.eager && field.requires.is_empty()
}

/// What a derived field is computed from, and when it is shown.
pub fn origin(resource: &Resource, field: &Field) -> Option<String> {
    let name = |id: FieldId| &resource.fields[id].name;
    let mut text = match field.derived.as_ref()? {
        Derived::Unresolved => return None,
        Derived::Related(RelatedValue { function: RelatedFunction::Exists, of, .. }) => format!("whether `{of}` has a row"),
        Derived::Related(RelatedValue { function, of, filter, .. }) => {
            format!("{} of `{of}`{}", function.as_str(), if filter.is_some() { " that meet a condition" } else { "" })
        }
        Derived::JsonPath(JsonPath { of, path, .. }) => {
            let path: Vec<&str> = path.iter().map(|part| &**part).collect();
            format!("`{}` inside `{}`", path.join("."), name(*of))
        }
        Derived::Bucket(Bucket { of, unit, zone, .. }) => {
            format!("start of the {} of `{}` in {}", unit.as_str(), name(*of), zone.as_deref().unwrap_or("UTC"))
        }
    };
    if !field.requires.is_empty() {
        let permissions: Vec<String> = field.requires.iter().map(|permission| format!("`{permission}`")).collect();
        let noun = if permissions.len() == 1 { "permission" } else { "permissions" };
        _ = write!(text, "; requires the {noun} {}", permissions.join(", "));
    }
    if !field.eager {
        text.push_str("; shown only if it is named");
    }
    Some(text)
}

fn type_of(resource: &Resource, field: &Field) -> String {
    let is_key = resource.key_fields().any(|key| key.name == field.name);
    let mut text = field.kind.name();
    if is_key {
        text.push_str(if resource.key.len() == 1 { ", the key" } else { ", part of the key" });
    }
    if let Some(origin) = origin(resource, field) {
        text.push_str(", ");
        text.push_str(&origin);
    }
    text
}

fn relation_comment(catalog: &Catalog, relation: &Relation) -> String {
    let target = catalog.resource(relation.target);
    let comment = format!("to {} `{}`", if relation.many { "many" } else { "one" }, target.full_name);
    match &target.permission {
        Some(permission) => format!("{comment}; requires the permission `{permission}`"),
        None => comment,
    }
}

fn resource_comment(resource: &Resource) -> String {
    match &resource.permission {
        Some(permission) => format!("`{}`; requires the permission `{permission}`", resource.full_name),
        None => format!("`{}`; public", resource.full_name),
    }
}

/// Whether a row may show null for this field.
fn shows_null(field: &Field) -> bool {
    let redacted = matches!(field.mask, Some((Mask::Redact, _)));
    // A float that is not finite is null, and so is a redacted value of any type but text and enum.
    field.nullable || field.kind == Type::One(Scalar::Float) || (redacted && !field.masks_to_text())
}

/// Whether a row may show `***` instead of a value of an enum.
fn shows_stars(field: &Field) -> bool {
    matches!(field.mask, Some((Mask::Redact, _))) && matches!(field.kind, Type::One(Scalar::Enum(_)))
}
