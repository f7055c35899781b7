//! The schemas of values and operators of each type. They use patterns, because validators may ignore `format`.

use crate::catalog::FieldId;
use crate::json::Json;
use crate::object;
use crate::parse::MAX_LIMIT;
use crate::plan::MAX_VALUES;
use crate::types::{Scalar, TYPE_NAMES, Type};

use super::{SchemaBuilder, closed, described, one_of, or_null, reference};
use crate::describe::upper_first;
use crate::json::build::texts;

const UUID: &str = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";
/// A real day of the years 0001 to 9999, without look-around, which not every engine supports.
const DAY: &str = "(?:(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])\
    |(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))\
    |(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)";
const CLOCK: &str = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";
const ZONE: &str = "(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)";
/// A string without U+0000.
const TEXT: &str = "^[^\\u0000]*$";
/// A string without U+0000 and without a lone backslash at the end.
const LIKE: &str = "^(?:[^\\\\\\u0000]|\\\\[^\\u0000])*$";
const ALIAS: &str = "^[A-Za-z_][A-Za-z0-9_]{0,62}$";
/// Up to 300 digits on either side of the point. A pattern cannot bound the exponent.
const DECIMAL: &str = "^[+-]?(?:0*[0-9]{1,300}(?:\\.[0-9]{1,300})?|0+\\.0+|[0-9]+(?:\\.[0-9]+)?[eE][+-]?[0-9]+)$";
/// Nineteen digits from 1000000000000000000 to 9223372036854775807.
const NINETEEN: &str = "[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14}|92233[0-6][0-9]{13}\
    |922337[01][0-9]{12}|92233720[0-2][0-9]{10}|922337203[0-5][0-9]{9}|9223372036[0-7][0-9]{8}|92233720368[0-4][0-9]{7}\
    |922337203685[0-3][0-9]{6}|9223372036854[0-6][0-9]{5}|92233720368547[0-6][0-9]{4}|922337203685477[0-4][0-9]{3}\
    |9223372036854775[0-7][0-9]{2}|922337203685477580[0-7]";

fn whole(min: i64, max: i64) -> Json {
    object! { "type" => "integer", "minimum" => min, "maximum" => max }
}

fn text(pattern: impl Into<String>) -> Json {
    object! { "type" => "string", "pattern" => pattern.into() }
}

fn big_integer() -> String {
    format!(
        "^(?:[+-]?0*(?:[0-9]{{1,18}}|{NINETEEN})(?:\\.0{{1,300}})?|-0*9223372036854775808(?:\\.0{{1,300}})?|[+-]?0+\\.0+|[+-]?[0-9]+(?:\\.[0-9]+)?[eE][+-]?[0-9]+)$"
    )
}

/// A number of at most 300 digits before the point, the bound of decimals and of numbers in json.
fn bounded_number() -> Vec<(String, Json)> {
    let bound = |text: &str| Json::Number(text.into());
    vec![
        ("type".to_owned(), Json::from("number")),
        ("exclusiveMinimum".to_owned(), bound("-1e300")),
        ("exclusiveMaximum".to_owned(), bound("1e300")),
    ]
}

/// The definitions that all resources share: values, operators of each type, and parts of a statement.
pub(super) fn shared(place: &str) -> Vec<(String, Json)> {
    let number = Json::Object(bounded_number());
    let timestamp = format!("^{DAY}(?:[Tt ]{CLOCK}(?:\\.[0-9]{{1,9}})?{ZONE}?)?$");
    let values: [(&str, Json, &str); 12] = [
        ("IntValue", whole(i64::from(i32::MIN), i64::from(i32::MAX)), "A whole number of 32 bits"),
        (
            "BigIntValue",
            object! { "anyOf" => [whole(i64::MIN, i64::MAX), text(big_integer())] },
            "A whole number of 64 bits, or the same as a string",
        ),
        ("FloatValue", object! { "type" => "number" }, "A number a double can hold"),
        (
            "DecimalValue",
            object! { "anyOf" => [number.clone(), text(DECIMAL)] },
            "A number of at most 300 digits on either side of the point, or the same as a string, which keeps every digit",
        ),
        ("TextValue", text(TEXT), "A string without U+0000"),
        ("TextPattern", text(LIKE), "`%` matches any characters, `_` matches one, and a backslash escapes the next character"),
        ("UuidValue", text(UUID), "A UUID"),
        ("DateValue", text(format!("^{DAY}$")), "YYYY-MM-DD"),
        ("TimeValue", text(format!("^{CLOCK}(?:\\.[0-9]{{1,6}})?$")), "HH:MM:SS with up to six decimals"),
        ("TimestampValue", text(timestamp), "RFC 3339; no offset means UTC, and a plain date its midnight in UTC"),
        (
            "JsonScalar",
            object! { "anyOf" => [number, text(TEXT), object! { "type" => "boolean" }] },
            "A string, a number or a boolean, compared as JSON values",
        ),
        ("Direction", object! { "enum" => texts(["asc", "desc"]) }, "`asc` when left out; NULL is last ascending, first descending"),
    ];
    let mut entries: Vec<(String, Json)> =
        values.into_iter().map(|(name, schema, description)| (name.to_owned(), described(schema, description))).collect();
    let limit = whole(0, MAX_LIMIT as i64);
    entries.push(("Limit".to_owned(), described(limit, "The maximum number of rows; in a relation node, for each parent")));
    entries.push((
        "Offset".to_owned(),
        described(object! { "type" => "integer", "minimum" => 0 }, "The number of rows to skip; in a relation node, for each parent"),
    ));
    let group = object! {
        "type" => "object",
        "description" => "A group of an aggregation: the entries of groupBy under their names, and a key for each measure",
        "additionalProperties" => object! { "type" => texts(["string", "number", "boolean", "null"]) },
    };
    entries.push(("Group".to_owned(), group));
    for name in TYPE_NAMES {
        let Some(scalar) = Scalar::from_name(name).filter(|scalar| !matches!(scalar, Scalar::Enum(_))) else { continue };
        let value = scalar_value(place, &scalar);
        entries.push((operators_name(&Type::One(scalar.clone())), operators(place, &Type::One(scalar.clone()), &value)));
        entries.push((operators_name(&Type::Array(scalar.clone())), operators(place, &Type::Array(scalar), &value)));
    }
    let read_as_text = Type::One(Scalar::ReadAsText);
    entries.push((operators_name(&read_as_text), operators(place, &read_as_text, &scalar_value(place, read_as_text.scalar()))));
    entries
}

fn operators_name(kind: &Type) -> String {
    if *kind == Type::One(Scalar::ReadAsText) {
        return "ForeignTextOperators".to_owned();
    }
    let array = if matches!(kind, Type::Array(_)) { "Array" } else { "" };
    format!("{}{array}Operators", upper_first(kind.scalar().name()))
}

/// A value of this type in a statement; an enum has a definition of its own.
pub(super) fn scalar_value(place: &str, scalar: &Scalar) -> Json {
    let name = match scalar {
        Scalar::Bool => return object! { "type" => "boolean" },
        Scalar::Int => "IntValue",
        Scalar::BigInt => "BigIntValue",
        Scalar::Float => "FloatValue",
        Scalar::Decimal => "DecimalValue",
        Scalar::Text | Scalar::ReadAsText | Scalar::Enum(_) => "TextValue",
        Scalar::Uuid => "UuidValue",
        Scalar::Date => "DateValue",
        Scalar::Time => "TimeValue",
        Scalar::Timestamp => "TimestampValue",
        Scalar::Json => "JsonScalar",
    };
    reference(place, name)
}

/// The operators of a type, each with the schema of its value.
fn operators(place: &str, kind: &Type, value: &Json) -> Json {
    let list = |min: Option<i64>, max: i64| {
        let mut entries = vec![("type".to_owned(), Json::from("array")), ("items".to_owned(), or_null(value.clone()))];
        entries.extend(min.map(|min| ("minItems".to_owned(), Json::from(min))));
        entries.push(("maxItems".to_owned(), Json::from(max)));
        Json::Object(entries)
    };
    let max = MAX_VALUES as i64;
    let takes = |operator: &str| match operator {
        "in" => described(list(None, max), "Equals one of these"),
        "notIn" => described(list(None, max), "Equals none of these"),
        "between" => described(list(Some(2), 2), "[min, max], both included"),
        "isNull" => described(object! { "type" => "boolean" }, "Is NULL, or is not"),
        "iLike" => described(reference(place, "TextPattern"), "Matches the pattern, ignoring case"),
        "contains" => described(one_or_list(value, list(None, max)), "Contains all of these"),
        "overlap" => described(one_or_list(value, list(None, max)), "Contains at least one of these"),
        _ => or_null(value.clone()),
    };
    let properties = kind.operators().into_iter().map(|operator| (operator.to_owned(), takes(operator))).collect();
    let mut entries = closed(properties, &[]);
    entries.push(("minProperties".to_owned(), Json::from(1)));
    Json::Object(entries)
}

fn one_or_list(value: &Json, list: Json) -> Json {
    object! { "anyOf" => [value.clone(), object! { "type" => "null" }, list] }
}

/// Any JSON but null, as a json field stores it.
pub(super) fn json_value(place: &str) -> Json {
    let inner = || or_null(reference(place, "JsonValue"));
    let nested = object! {
        "items" => inner(),
        "propertyNames" => object! { "pattern" => TEXT },
        "additionalProperties" => inner(),
    };
    let kinds = [
        object! { "type" => "boolean" },
        Json::Object(bounded_number()),
        text(TEXT),
        object! { "type" => "array", "items" => object! {} },
        object! { "type" => "object", "additionalProperties" => true },
    ];
    // Twice `not`, because client generators fail on a type that contains itself, and do not look there.
    let schema = object! { "anyOf" => kinds, "not" => object! { "not" => nested } };
    described(schema, "Any JSON but null, without U+0000")
}

pub(super) fn alias() -> Json {
    object! {
        "type" => "string",
        "pattern" => ALIAS,
        "not" => object! { "enum" => texts(crate::parse::RESERVED) },
        "description" => "The key of the result",
    }
}

impl SchemaBuilder<'_> {
    /// The values and operators of this resource's enums.
    pub(super) fn enums(&self, entries: &mut Vec<(String, Json)>) {
        for (id, field) in self.resource.fields.iter().enumerate().filter(|(_, field)| !field.hidden) {
            if let Scalar::Enum(values) = field.kind.scalar() {
                let name = self.names.values(self.id, id);
                let schema = described(
                    one_of(&values.iter().map(ToString::to_string).collect::<Vec<_>>()),
                    format!("`{}` of `{}`", field.name, self.resource.full_name),
                );
                entries.push((name.to_owned(), schema));
                entries.push((format!("{name}Operators"), operators(self.place, &field.kind, &self.shared(name))));
            }
        }
    }

    pub(super) fn operators(&self, id: FieldId) -> Json {
        let kind = &self.resource.fields[id].kind;
        match kind.scalar() {
            Scalar::Enum(_) => self.shared(&format!("{}Operators", self.names.values(self.id, id))),
            _ => self.shared(&operators_name(kind)),
        }
    }
}
