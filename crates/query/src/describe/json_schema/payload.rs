//! The schemas of the rows of a payload, with the value rules of each field.

use crate::catalog::write_rules::{Bound, WriteOperation};
use crate::catalog::{Field, FieldId};
use crate::describe::write::{increments, is_required, payload_field, payload_key, shown_version, writable};
use crate::json::Json;
use crate::json::build::{compact, entries};
use crate::object;
use crate::types::{Scalar, Type};
use crate::value::Value;

use super::pattern::portable;
use super::value::scalar_value;
use super::{SchemaBuilder, closed, described, one_of, or_null};

/// What the key of a row says in a payload.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PayloadKey {
    Absent,
    Optional,
    Required,
}

impl SchemaBuilder<'_> {
    /// The rows of the payloads of both operations, and the numbers of `increment`.
    pub(super) fn payloads(&self, definitions: &mut Vec<(String, Json)>) {
        let mut add = |ending: &str, schema: Json| definitions.push((self.write_name(ending), schema));
        if self.resource.has_write(WriteOperation::Create) {
            add("CreateInput", self.new_row());
        }
        if self.resource.has_write(WriteOperation::Update) {
            add("UpdateInput", self.change(PayloadKey::Absent, "Changes to rows; an absent field stays as it is"));
            if payload_key(self.resource).is_some() {
                add("UpdateByIdInput", self.change(PayloadKey::Optional, "Changes to the row with the key in the path"));
                add("UpdateItemInput", self.change_by_key());
            }
            add("IncrementInput", self.increment());
        }
    }

    fn new_row(&self) -> Json {
        let fields: Vec<(FieldId, &Field)> = writable(self.resource, WriteOperation::Create).collect();
        let required: Vec<&str> = fields.iter().filter(|(_, field)| is_required(field)).map(|(_, field)| field.name.as_str()).collect();
        let properties = fields.iter().map(|(id, field)| self.written_property(*id, field)).collect();
        described(Json::Object(closed(properties, &required)), format!("A new row of `{}`", self.resource.full_name))
    }

    fn change(&self, key: PayloadKey, comment: &str) -> Json {
        Json::Object(self.change_members(key, comment))
    }

    fn change_members(&self, key: PayloadKey, comment: &str) -> Vec<(String, Json)> {
        let of_key = payload_key(self.resource).filter(|_| key != PayloadKey::Absent).unwrap_or_default();
        // A key and a version name what is there, which is never null.
        let stated = |id: FieldId, comment: String| {
            let field = &self.resource.fields[id];
            (field.name.clone(), described(self.stated(id, field), comment))
        };
        let of_row = |id: &FieldId| stated(*id, payload_field(self.resource, &self.resource.fields[*id]));
        let mut properties: Vec<(String, Json)> = of_key.iter().map(of_row).collect();
        properties.extend(writable(self.resource, WriteOperation::Update).map(|(id, field)| self.written_property(id, field)));
        properties.extend(shown_version(self.resource).map(|id| stated(id, "The version that the row must have".to_owned())));
        let names: Vec<&str> = of_key.iter().map(|id| self.resource.fields[*id].name.as_str()).collect();
        let mut members = closed(properties, if key == PayloadKey::Required { &names } else { &[] });
        members.push(("description".to_owned(), Json::from(comment)));
        members
    }

    fn change_by_key(&self) -> Json {
        let mut members = self.change_members(PayloadKey::Required, "Changes to the row with this key");
        members.push(("not".to_owned(), self.without_changes()));
        Json::Object(members)
    }

    /// An object that names a row and changes nothing.
    pub(super) fn without_changes(&self) -> Json {
        let of_row = payload_key(self.resource).unwrap_or_default().iter().copied().chain(shown_version(self.resource));
        let names: Vec<String> = of_row.map(|id| self.resource.fields[id].name.clone()).collect();
        object! { "propertyNames" => one_of(&names) }
    }

    fn increment(&self) -> Json {
        let property = |(_, field): (FieldId, &Field)| {
            (field.name.clone(), described(scalar_value(self.place, field.kind.scalar()), field.kind.name()))
        };
        let properties = increments(self.resource).map(property).collect();
        described(Json::Object(closed(properties, &[])), "Numbers to add to fields, negative ones to subtract")
    }

    fn written_property(&self, id: FieldId, field: &Field) -> (String, Json) {
        (field.name.clone(), described(self.written(id, field), payload_field(self.resource, field)))
    }

    /// A value of a payload, with its rules.
    fn written(&self, id: FieldId, field: &Field) -> Json {
        let value = self.stated(id, field);
        if field.nullable { or_null(value) } else { value }
    }

    /// The same without null.
    fn stated(&self, id: FieldId, field: &Field) -> Json {
        let scalar = match field.kind.scalar() {
            // The values of a hidden field have no definition of their own.
            Scalar::Enum(values) if field.hidden => one_of(&values.iter().map(ToString::to_string).collect::<Vec<_>>()),
            Scalar::Enum(_) => self.shared(self.names.values(self.id, id)),
            Scalar::Json => self.shared("JsonValue"),
            scalar => scalar_value(self.place, scalar),
        };
        let value = match &field.kind {
            Type::Array(_) => object! { "type" => "array", "items" => or_null(scalar) },
            Type::One(_) => scalar,
        };
        with_rules(value, field)
    }
}

fn with_rules(value: Json, field: &Field) -> Json {
    let rules = &field.rules.values;
    let count = |count: u64| Json::Number(count.to_string().into());
    let bound = |bound: &Option<Bound>| bound.as_ref().filter(|_| field.is_number()).map(number);
    let found = [
        ("minimum", bound(&rules.min)),
        ("maximum", bound(&rules.max)),
        ("minLength", rules.min_length.map(count)),
        ("maxLength", rules.max_length.map(count)),
        ("pattern", rules.pattern().and_then(|pattern| portable(&pattern)).map(Json::from)),
        ("minItems", rules.min_items.map(count)),
        ("maxItems", rules.max_items.map(count)),
    ];
    let mut members = entries(value);
    members.extend(found.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    Json::Object(members)
}

/// A manifest may write an exact number as a string.
fn number(bound: &Bound) -> Json {
    match &bound.value {
        Value::Int(number) => Json::from(*number),
        Value::Decimal(digits) => Json::Number(digits.as_str().into()),
        _ => Json::Number(compact(&bound.json).into()),
    }
}
