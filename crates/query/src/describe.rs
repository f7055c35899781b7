//! JSON Schema and TypeScript of statements, rows and writes. Equal catalogs give equal bytes. Hidden fields are left out, except those that
//! a payload may have; a masked field is in rows, and in statements if a permission removes the mask.

mod graphql_names;
pub mod json_schema;
mod names;
pub mod typescript;
mod write;

use std::fmt::Write;

use crate::catalog::{Bucket, Catalog, Derived, Field, FieldId, JsonPath, Mask, RelatedValue, Relation, Resource};
use crate::manifest::RelatedFunction;
use crate::types::{Scalar, Type};

pub use graphql_names::GraphqlNames;
pub use names::{UniqueNames, upper_first};
pub use write::{increments, needed_permission, payload_key, shown_version, value_rules, write_forms};

/// The fields of a row.
pub fn shown(resource: &Resource) -> impl Iterator<Item = &Field> {
    resource.fields.iter().filter(|field| !field.hidden)
}

/// The fields that a statement can name: shown fields, except those with a mask that no permission removes.
pub fn usable(resource: &Resource) -> impl Iterator<Item = &Field> {
    resource.fields.iter().filter(|field| is_usable(field))
}

fn is_usable(field: &Field) -> bool {
    !field.hidden && field.mask.as_ref().is_none_or(|(_, unmask)| unmask.is_some())
}

/// Whether some viewer can find a row by its key.
pub fn is_findable(resource: &Resource) -> bool {
    !resource.key.is_empty() && resource.key_fields().all(is_usable)
}

/// The comment on a field in a statement.
fn statement_field(catalog: &Catalog, resource: &Resource, field: &Field) -> String {
    let kind = type_and_origin(catalog, resource, field);
    match &field.mask {
        Some((_, Some(permission))) => format!("{kind}; to use it requires the permission `{permission}`"),
        _ => kind,
    }
}

/// The comment on a field in a row.
fn row_field(catalog: &Catalog, resource: &Resource, field: &Field) -> String {
    let kind = type_and_origin(catalog, resource, field);
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
pub fn origin(catalog: &Catalog, resource: &Resource, field: &Field) -> Option<String> {
    let mut text = match field.derived.as_ref()? {
        Derived::Unresolved => return None,
        Derived::Related(related) => of_related_rows(catalog, resource, related),
        Derived::JsonPath(JsonPath { of, path, .. }) => match name(resource, *of) {
            // The path is a part of what is hidden.
            None => "a value inside json".to_owned(),
            Some(source) => {
                let path: Vec<&str> = path.iter().map(|part| &**part).collect();
                format!("`{}` inside {source}", path.join("."))
            }
        },
        Derived::Bucket(Bucket { of, unit, zone, .. }) => {
            let is_date = field.kind == Type::One(Scalar::Date);
            let source = name(resource, *of).unwrap_or_else(|| format!("a {}", field.kind.name()));
            let zone = if is_date { String::new() } else { format!(" in {}", zone.as_deref().unwrap_or("UTC")) };
            format!("start of the {} of {source}{zone}", unit.as_str())
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

fn of_related_rows(catalog: &Catalog, resource: &Resource, related: &RelatedValue) -> String {
    let relation = &resource.relations[related.relation];
    let (rows, function) = (&relation.name, related.function.as_str());
    let condition = |text: &'static str| if related.filter.is_some() { text } else { "" };
    match (related.function, related.measured) {
        (RelatedFunction::Exists, _) => format!("whether `{rows}` has a row{}", condition(" that meets a condition")),
        (_, None) => format!("{function} of `{rows}`{}", condition(" that meet a condition")),
        (_, Some(measured)) => {
            let measured = &catalog.resource(relation.target).fields[measured];
            let source = if measured.hidden { format!("over `{rows}`") } else { format!("of `{rows}.{}`", measured.name) };
            format!("{function} {source}{}", condition(" that meet a condition"))
        }
    }
}

/// The name of the field that another is computed from, unless it is hidden.
fn name(resource: &Resource, of: FieldId) -> Option<String> {
    let source = &resource.fields[of];
    (!source.hidden).then(|| format!("`{}`", source.name))
}

fn type_and_origin(catalog: &Catalog, resource: &Resource, field: &Field) -> String {
    let kind = type_of(resource, field);
    match origin(catalog, resource, field) {
        Some(origin) => format!("{kind}, {origin}"),
        None => kind,
    }
}

fn type_of(resource: &Resource, field: &Field) -> String {
    let is_key = resource.key_fields().any(|key| key.name == field.name);
    let mut text = field.kind.name();
    if is_key {
        text.push_str(if resource.key.len() == 1 { ", the key" } else { ", part of the key" });
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
