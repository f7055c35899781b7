//! Descriptions that machines can read, made from the catalog alone: JSON Schema and TypeScript of every resource's
//! statements and rows. Equal catalogs give equal bytes.
//!
//! Hidden fields are in none of them. A masked field stands in rows, and in statements where some permission lifts its
//! mask; what nobody can use is left out.

pub mod json_schema;
mod names;
pub mod typescript;

use crate::catalog::{Catalog, Field, Mask, Relation, Resource};
use crate::types::{Scalar, Type};

pub use names::{Claims, upper_first};

/// The fields of a row.
pub fn shown(resource: &Resource) -> impl Iterator<Item = &Field> {
    resource.fields.iter().filter(|field| !field.hidden)
}

/// The fields a statement can name: all that are shown, but for masks that no permission lifts.
pub fn usable(resource: &Resource) -> impl Iterator<Item = &Field> {
    shown(resource).filter(|field| field.mask.as_ref().is_none_or(|(_, unmask)| unmask.is_some()))
}

/// Whether somebody can ask for one row by its key.
pub fn is_findable(resource: &Resource) -> bool {
    !resource.key.is_empty() && resource.key_fields().all(|key| usable(resource).any(|field| field.name == key.name))
}

/// What a field is in a statement, for a person.
fn use_of(resource: &Resource, field: &Field) -> String {
    let kind = kind_of(resource, field);
    match &field.mask {
        Some((_, Some(permission))) => format!("{kind}; using it takes the permission `{permission}`"),
        _ => kind,
    }
}

/// What a field is in a row, for a person.
fn sight_of(resource: &Resource, field: &Field) -> String {
    let kind = kind_of(resource, field);
    match &field.mask {
        Some((mask, Some(permission))) => format!("{kind}; masked (`{}`) without the permission `{permission}`", mask.name()),
        Some((mask, None)) => format!("{kind}; masked (`{}`) for everybody", mask.name()),
        None => kind,
    }
}

fn kind_of(resource: &Resource, field: &Field) -> String {
    let is_key = resource.key_fields().any(|key| key.name == field.name);
    let mut text = field.kind.name();
    if is_key {
        text.push_str(if resource.key.len() == 1 { ", the key" } else { ", part of the key" });
    }
    text
}

/// Where a relation leads, for a person.
fn way_of(catalog: &Catalog, relation: &Relation) -> String {
    let target = catalog.resource(relation.target);
    let way = format!("to {} `{}`", if relation.many { "many" } else { "one" }, target.full_name);
    match &target.permission {
        Some(permission) => format!("{way}; takes the permission `{permission}`"),
        None => way,
    }
}

/// What a resource is, for a person.
fn resource_of(resource: &Resource) -> String {
    match &resource.permission {
        Some(permission) => format!("`{}`; takes the permission `{permission}`", resource.full_name),
        None => format!("`{}`; public", resource.full_name),
    }
}

/// Whether a row may show null for this field.
fn shows_null(field: &Field) -> bool {
    let redacted = matches!(field.mask, Some((Mask::Redact, _)));
    // A float that is not finite is null, and so is what `redact` hides of anything that is no text.
    field.nullable || field.kind == Type::One(Scalar::Float) || (redacted && !field.masks_to_text())
}

/// Whether a row may show `***` in place of a value that is no free text.
fn shows_stars(field: &Field) -> bool {
    matches!(field.mask, Some((Mask::Redact, _))) && matches!(field.kind, Type::One(Scalar::Enum(_)))
}
