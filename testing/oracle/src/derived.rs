//! The values of derived fields, computed for one viewer by loops over all rows.

use crate::aggregate;
use crate::calendar;
use crate::cell::Cell;
use crate::decimal::Decimal;
use crate::policy;
use crate::schema::{Derived, Field, Kind, Resource};
use crate::session::Session;
use crate::world::Row;
use serde_json::Value;

/// The value of a derived field in a row.
pub(crate) fn value<'a>(session: &Session<'a>, resource: &'a Resource, row: &Row, field: &'a Field, derived: &'a Derived) -> Cell {
    match derived {
        Derived::Related { function, relation, measured, filter } => {
            let relation = resource.relation(relation).expect("a relation");
            let target = session.resource(&relation.target);
            let filter = match filter.as_ref().map(|clause| policy::resolve_clause(session.world, session.viewer, target, clause)) {
                // The account lacks a variable: no row counts.
                Some(None) => return combined(function, Kind::Bigint, 0, Vec::new()),
                Some(resolved) => resolved,
                None => None,
            };
            let counts = |other: &&Row| filter.as_ref().is_none_or(|clause| session.meets(target, other, clause) == Some(true));
            let rows: Vec<&Row> = session.related(resource, row, relation).into_iter().filter(counts).collect();
            let Some(index) = measured.as_ref().map(|name| target.index(name)) else {
                return combined(function, Kind::Bigint, rows.len(), Vec::new());
            };
            let cells = rows.iter().map(|other| session.cell(target, other, index)).filter(|cell| !cell.is_null()).collect();
            combined(function, target.fields[index].kind, rows.len(), cells)
        }
        Derived::JsonPath { of, path } => match &row[resource.index(of)] {
            Cell::Json(json) => path.iter().try_fold(json, |json, part| member(json, part)).map_or(Cell::Null, |json| typed(field, json)),
            _ => Cell::Null,
        },
        Derived::Bucket { of, unit, zone } => match &row[resource.index(of)] {
            Cell::Text(text) if field.kind == Kind::Date => Cell::Text(calendar::date_bucket(text, unit)),
            Cell::Text(text) => Cell::Text(calendar::bucket(text, unit, zone.as_deref())),
            _ => Cell::Null,
        },
    }
}

fn combined(function: &str, kind: Kind, rows: usize, cells: Vec<Cell>) -> Cell {
    match function {
        "count" => Cell::Whole(i64::try_from(rows).expect("few rows")),
        "exists" => Cell::Bool(rows > 0),
        _ => aggregate::combined(function, kind, cells),
    }
}

fn member<'j>(json: &'j Value, part: &str) -> Option<&'j Value> {
    match json {
        Value::Object(entries) => entries.get(part),
        Value::Array(items) => match part.strip_prefix('-') {
            Some(back) => items.get(items.len().checked_sub(back.parse().ok()?)?),
            None => items.get(part.parse::<usize>().ok()?),
        },
        _ => None,
    }
}

/// The value if it has the type of the field, else NULL.
fn typed(field: &Field, json: &Value) -> Cell {
    let whole = || {
        let text = Decimal::parse(&json.as_number()?.to_string())?.without_trailing_zeros().to_string();
        text.parse::<i64>().ok()
    };
    let found = match field.kind {
        Kind::Int => whole().filter(|number| i32::try_from(*number).is_ok()).map(Cell::Whole),
        Kind::Bigint => whole().map(Cell::Whole),
        Kind::Decimal => json.as_number().and_then(|number| Decimal::parse(&number.to_string())).map(Cell::Decimal),
        _ => Cell::scalar(field, json),
    };
    found.unwrap_or(Cell::Null)
}
