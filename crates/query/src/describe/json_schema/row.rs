//! The schema of a row: every field that is not hidden, and the loaded relations.

use crate::catalog::{Field, FieldId};
use crate::describe::{is_always_shown, relation_comment, resource_comment, row_field, shows_null, shows_stars};
use crate::json::Json;
use crate::object;
use crate::types::{Scalar, Type};

use super::{SchemaBuilder, closed, described, or_null};

/// Which fields a described row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowForm {
    /// All that are shown without a selection.
    Whole,
    /// Those that `fields` names.
    Partial,
}

impl RowForm {
    /// The end of the name of its definition.
    pub(super) fn ending(self) -> &'static str {
        match self {
            RowForm::Whole => "",
            RowForm::Partial => "PartialRow",
        }
    }
}

impl SchemaBuilder<'_> {
    pub(super) fn row(&self, form: RowForm) -> Json {
        let shown: Vec<(FieldId, &Field)> = self.resource.fields.iter().enumerate().filter(|(_, field)| !field.hidden).collect();
        let mut properties: Vec<(String, Json)> = Vec::with_capacity(shown.len() + self.resource.relations.len());
        for (id, field) in &shown {
            properties.push((field.name.clone(), described(self.field(*id, field), row_field(self.catalog, self.resource, field))));
        }
        for relation in &self.resource.relations {
            let target = self.target(relation, form.ending());
            let rows = if relation.many {
                object! { "type" => "array", "items" => target }
            } else {
                or_null(target)
            };
            let comment = format!("Only if loaded: {}", relation_comment(self.catalog, relation));
            properties.push((relation.name.clone(), described(rows, comment)));
        }
        let is_required = |(_, field): &&(FieldId, &Field)| form == RowForm::Whole && is_always_shown(field);
        let required: Vec<&str> = shown.iter().filter(is_required).map(|(_, field)| field.name.as_str()).collect();
        let about = match form {
            RowForm::Whole => "A row of",
            RowForm::Partial => "A row with the fields that the parameter `fields` names, of",
        };
        described(Json::Object(closed(properties, &required)), format!("{about} {}", resource_comment(self.resource)))
    }

    fn field(&self, id: FieldId, field: &Field) -> Json {
        let scalar = match field.kind.scalar() {
            Scalar::Enum(_) => self.shared(self.names.values(self.id, id)),
            other => shown_value(other),
        };
        let value = match &field.kind {
            Type::Array(Scalar::Json) => object! { "type" => "array", "items" => Json::Object(Vec::new()) },
            Type::Array(_) => object! { "type" => "array", "items" => or_null(scalar) },
            Type::One(_) if shows_stars(field) => object! { "anyOf" => [scalar, object! { "type" => "string", "const" => "***" }] },
            Type::One(_) => scalar,
        };
        // The schema of json accepts null already.
        if shows_null(field) && field.kind != Type::One(Scalar::Json) { or_null(value) } else { value }
    }
}

/// A value in an answer.
fn shown_value(scalar: &Scalar) -> Json {
    let text = |format: &str, pattern: &str| object! { "type" => "string", "format" => format, "pattern" => pattern };
    match scalar {
        Scalar::Bool => object! { "type" => "boolean" },
        Scalar::Int => object! { "type" => "integer", "minimum" => i64::from(i32::MIN), "maximum" => i64::from(i32::MAX) },
        Scalar::BigInt => object! { "type" => "integer", "minimum" => i64::MIN, "maximum" => i64::MAX },
        Scalar::Float => object! { "type" => "number" },
        Scalar::Decimal => object! { "type" => "string", "pattern" => "^-?[0-9]+(?:\\.[0-9]+)?$" },
        Scalar::Text | Scalar::ReadAsText | Scalar::Enum(_) => object! { "type" => "string" },
        Scalar::Uuid => text("uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"),
        Scalar::Date => text("date", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
        Scalar::Time => object! { "type" => "string", "pattern" => "^[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,6})?$" },
        Scalar::Timestamp => text("date-time", "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,6})?Z$"),
        Scalar::Json => object! {},
    }
}
