//! Writes the fields of an object type with their descriptions.

use std::fmt::Write;

use query::catalog::{Catalog, Field, Mask, Relation, Resource};
use query::json::write_text;
use query::types::{Scalar, Type};

/// The fields of a hub record, whose names GraphQL can all use.
pub(super) fn object_fields(sdl: &mut String, catalog: &Catalog, resource: &Resource) {
    for field in resource.fields.iter().filter(|field| !field.hidden) {
        object_field(sdl, catalog, resource, field);
    }
}

pub(super) fn object_field(sdl: &mut String, catalog: &Catalog, resource: &Resource, field: &Field) {
    describe(sdl, "  ", &field_description(catalog, resource, field));
    _ = writeln!(sdl, "  {}: {}", field.name, field_type(&field.kind));
}

fn field_description(catalog: &Catalog, resource: &Resource, field: &Field) -> String {
    let mut text = format!("`{}`", field.kind.name());
    if resource.key_fields().any(|key| key.name == field.name) {
        text.push_str(", part of the key");
    }
    if let Some(origin) = query::describe::origin(catalog, resource, field) {
        _ = write!(text, ", {origin}");
    } else if !field.nullable {
        text.push_str(", set in every row");
    }
    if let Scalar::Enum(values) = field.kind.scalar() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        _ = write!(text, ", one of {}", values.join(", "));
    }
    if let Some((mask, unmask)) = &field.mask {
        text.push_str(match mask {
            Mask::Email => "; masked to its first letter and domain",
            Mask::Last4 => "; masked to its last four characters",
            Mask::Redact => "; masked entirely",
        });
        match unmask {
            Some(permission) => _ = write!(text, " without the permission `{permission}`"),
            None => text.push_str(" for everyone"),
        }
    }
    text.push('.');
    text
}

pub(super) fn relation_description(relation: &Relation, target: &Resource) -> String {
    let (what, end) = if relation.many { ("Rows", "narrows, orders and limits them") } else { ("The row", "narrows it") };
    format!("{what} of `{}`; `relations` of the statement {end}.", target.full_name)
}

/// Key fields keep their own type: `ID` would turn a number into a string, and REST answers the number.
pub(super) fn field_type(kind: &Type) -> String {
    let scalar = match kind.scalar() {
        Scalar::Bool => "Boolean",
        Scalar::Int => "Int",
        Scalar::BigInt => "BigInt",
        Scalar::Float => "Float",
        Scalar::Decimal => "Decimal",
        // The values of an enum may be any string, those of a GraphQL enum only names; the description lists them.
        Scalar::Text | Scalar::ReadAsText | Scalar::Enum(_) => "String",
        Scalar::Uuid => "UUID",
        Scalar::Date => "Date",
        Scalar::Time => "Time",
        Scalar::Timestamp => "DateTime",
        Scalar::Json => "JSON",
    };
    match kind {
        Type::One(_) => scalar.to_owned(),
        Type::Array(_) => format!("[{scalar}]"),
    }
}

pub(super) fn describe(sdl: &mut String, indent: &str, text: &str) {
    let mut quoted = Vec::new();
    write_text(&mut quoted, text);
    _ = writeln!(sdl, "{indent}{}", String::from_utf8_lossy(&quoted));
}
