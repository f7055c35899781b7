//! Random values that fit a field, mostly drawn from the data so that filters hit.

use crate::calendar;
use crate::cell::Cell;
use crate::decimal::Decimal;
use crate::fixture::world;
use crate::generate::maker::Maker;
use crate::schema::{Field, Kind, Resource};
use serde_json::{Value, json};

impl Maker {
    /// A fitting scalar, or null in one of `null_in` cases.
    pub(crate) fn scalar_or_null(&mut self, resource: &'static Resource, field: &'static Field, null_in: usize) -> Value {
        if self.random.one_in(null_in) {
            return Value::Null;
        }
        self.scalar(resource, field)
    }

    /// A scalar that fits the field, or the elements of an array field.
    pub(crate) fn scalar(&mut self, resource: &'static Resource, field: &'static Field) -> Value {
        if !self.random.one_in(6) {
            let row = self.random.pick(world().rows(&resource.name));
            let stored = match self.session.cell(resource, row, resource.index(&field.name)) {
                Cell::List(cells) => self.random.choose(&cells).cloned().unwrap_or(Cell::Null),
                Cell::Json(Value::Array(items)) => self.random.choose(&items).cloned().map_or(Cell::Null, Cell::Json),
                other => other,
            };
            if let Some(written) = self.written(field, &stored) {
                return written;
            }
        }
        let edges = edges(field);
        self.random.pick(&edges).clone()
    }

    /// A cell as a client may write it; `None` for NULL and for values that are not scalars.
    fn written(&mut self, field: &'static Field, cell: &Cell) -> Option<Value> {
        match cell {
            Cell::Null | Cell::List(_) | Cell::Json(Value::Array(_) | Value::Object(_) | Value::Null) => None,
            Cell::Whole(number) if field.kind == Kind::Bigint && self.random.one_in(4) => Some(json!(number.to_string())),
            Cell::Decimal(decimal) => {
                let number = decimal.to_string().parse::<f64>().ok().map(Value::from)?;
                let exact = Decimal::parse(&number.to_string()).is_some_and(|read| read.compare(decimal).is_eq());
                Some(if exact && self.random.one_in(2) { number } else { json!(decimal.to_string()) })
            }
            Cell::Text(text) if field.kind == Kind::Timestamp => Some(json!(self.written_timestamp(text))),
            Cell::Text(text) if field.kind == Kind::Time && self.random.one_in(3) => Some(json!(text)),
            other => Some(other.show(field.kind)),
        }
    }

    /// A timestamp in one of several spellings: short, with all digits, with an offset.
    fn written_timestamp(&mut self, canonical: &str) -> String {
        match self.random.below(4) {
            0 => canonical.to_owned(),
            1 => {
                let clock = canonical.trim_end_matches('Z');
                let local = calendar::timestamp(&format!("{clock}-02:30")).expect("a timestamp of the data");
                format!("{}+02:30", local.trim_end_matches('Z'))
            }
            _ => calendar::short_timestamp(canonical),
        }
    }

    /// An `iLike` pattern, made from a string of the data.
    pub(crate) fn pattern(&mut self, resource: &'static Resource, field: &'static Field) -> Value {
        let Value::String(text) = self.scalar(resource, field) else {
            return json!("%");
        };
        let characters: Vec<char> = text.chars().collect();
        let start = if self.random.one_in(2) { self.random.below(characters.len() + 1) } else { 0 };
        let length = if self.random.one_in(2) { self.random.below(characters.len() - start + 1) } else { characters.len() - start };
        let mut pattern = String::new();
        if start > 0 || self.random.one_in(4) {
            pattern.push('%');
        }
        for character in &characters[start..start + length] {
            match (self.random.below(12), character) {
                (_, '\\') => pattern.push_str("\\\\"),
                (0, _) => pattern.push('_'),
                (1..7, '%' | '_') | (1, _) => pattern.extend(['\\', *character]),
                (2..5, _) => pattern.push(other_case(*character)),
                _ => pattern.push(*character),
            }
        }
        if start + length < characters.len() || self.random.one_in(4) {
            pattern.push('%');
        }
        json!(pattern)
    }
}

fn other_case(character: char) -> char {
    let upper: Vec<char> = character.to_uppercase().collect();
    let lower: Vec<char> = character.to_lowercase().collect();
    match (upper.as_slice(), lower.as_slice()) {
        ([upper], _) if *upper != character => *upper,
        (_, [lower]) => *lower,
        _ => character,
    }
}

/// Values at the edges of a type.
fn edges(field: &Field) -> Vec<Value> {
    match field.kind {
        Kind::Bool => vec![json!(true), json!(false)],
        Kind::Int => vec![json!(0), json!(i32::MIN), json!(i32::MAX), json!(40_000), json!(-1), json!(2)],
        Kind::Bigint => vec![
            json!(0),
            json!(i64::MIN),
            json!(i64::MAX),
            json!("9223372036854775807"),
            json!("-9007199254740993"),
            json!(9_007_199_254_740_992_i64),
        ],
        Kind::Float => vec![json!(0), json!(0.125), json!(-1), json!(1e10), json!(2), json!(0.5)],
        Kind::Decimal => vec![
            json!(0),
            json!("0.00005"),
            json!("10.5"),
            json!(10.5),
            json!("99999999999999999999.9999"),
            json!(-1),
            json!("10.50000000"),
        ],
        Kind::Text => {
            vec![json!(""), json!("%"), json!("É"), json!("'; DROP TABLE customers; --"), json!("🎈"), json!("x".repeat(300)), json!("$1")]
        }
        Kind::Uuid => vec![json!("00000000-0000-0000-0000-000000000000"), json!("ffffffff-ffff-4fff-bfff-ffffffffffff")],
        Kind::Date => vec![json!("0001-01-01"), json!("9999-12-31"), json!("2024-02-29"), json!("2024-01-01")],
        Kind::Time => vec![json!("00:00:00"), json!("23:59:59.999999"), json!("07:30:00.500"), json!("12:00:00")],
        Kind::Timestamp => vec![
            json!("1970-01-01T00:00:00Z"),
            json!("9999-12-31T23:59:59.999999Z"),
            json!("2024-02-29T12:00:00.50Z"),
            json!("2024-02-29T14:00:00+02:00"),
        ],
        Kind::Json => {
            vec![json!(1), json!("1"), json!(true), json!("a"), json!(1.5), json!(1.0), json!(""), json!(0.25), json!(false), json!(2)]
        }
        Kind::Enum => field.values.iter().map(|value| json!(value)).collect(),
    }
}
