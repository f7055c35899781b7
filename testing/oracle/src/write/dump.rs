//! The whole state of all tables as plain values, from the oracle and from a database.

use crate::calendar;
use crate::cell::Cell;
use crate::decimal::Decimal;
use crate::schema::{Field, Kind};
use crate::world::World;
use serde_json::Value;
use std::collections::BTreeMap;

/// The rows of each resource, sorted; the cells in the order of the fields.
pub type State = BTreeMap<String, Vec<Vec<Value>>>;

/// The state of the oracle.
pub fn state(world: &World) -> State {
    let rows = |name: &str| {
        let resource = world.schema.resource(name);
        let shown = |row: &Vec<Cell>| resource.fields.iter().zip(row).map(|(field, cell)| plain(&cell.show(field.kind))).collect();
        sorted(world.rows(name).iter().map(shown).collect())
    };
    world.schema.resources().map(|resource| (resource.name.clone(), rows(&resource.name))).collect()
}

/// The cells of rows that a database gave as strings, sorted.
pub fn cells(fields: &[Field], rows: &[Vec<Option<String>>]) -> Vec<Vec<Value>> {
    let cell =
        |(field, raw): (&Field, &Option<String>)| plain(&raw.as_ref().map_or(Value::Null, |raw| stored(field, raw).show(field.kind)));
    sorted(rows.iter().map(|row| fields.iter().zip(row).map(cell).collect()).collect())
}

fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows.sort_by_cached_key(|row| Value::from(row.clone()).to_string());
    rows
}

fn stored(field: &Field, raw: &str) -> Cell {
    if !field.array {
        return scalar(field.kind, raw);
    }
    let items: Vec<Value> = serde_json::from_str(raw).unwrap_or_else(|_| panic!("{} holds no array: {raw}", field.name));
    let item = |item: &Value| match item {
        Value::Null => Cell::Null,
        Value::String(text) => scalar(field.kind, text),
        other => scalar(field.kind, &other.to_string()),
    };
    Cell::List(items.iter().map(item).collect())
}

fn scalar(kind: Kind, raw: &str) -> Cell {
    let unfit = || panic!("no {kind:?}: {raw:?}");
    match kind {
        Kind::Bool => Cell::Bool(matches!(raw, "true" | "1")),
        Kind::Int | Kind::Bigint => raw.parse().map_or_else(|_| unfit(), Cell::Whole),
        Kind::Float => raw.parse().map_or_else(|_| unfit(), Cell::Float),
        Kind::Decimal => Decimal::parse(raw).map_or_else(unfit, Cell::Decimal),
        Kind::Text | Kind::Enum | Kind::Uuid | Kind::Date => Cell::Text(raw.to_owned()),
        Kind::Time => calendar::time(raw).map_or_else(unfit, Cell::Text),
        Kind::Timestamp => {
            let has_zone = raw.ends_with('Z') || raw.ends_with("+00:00");
            let text = if has_zone { raw.to_owned() } else { format!("{raw}Z") };
            calendar::timestamp(&text).map_or_else(unfit, Cell::Text)
        }
        Kind::Json => serde_json::from_str(raw).map_or_else(|_| unfit(), Cell::Json),
    }
}

/// The same value with whole floats written as whole numbers, and object keys in one order.
pub(super) fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => Value::from(float as i64),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(object) => {
            let mut entries: Vec<(String, Value)> = object.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
            entries.sort_by(|(left, _), (right, _)| left.cmp(right));
            entries.into_iter().collect()
        }
        other => other.clone(),
    }
}
