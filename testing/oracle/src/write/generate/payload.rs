//! Random values of payloads and increments.

use super::Maker;
use crate::cell::Cell;
use crate::schema::{Field, Kind};
use crate::write::{Form, value};
use serde_json::{Map, Value, json};

impl Maker<'_> {
    /// `payload` and `increment`.
    pub(super) fn values(&mut self, body: &mut Value, id: &[String]) {
        let has_list = self.random.one_in(3) && self.form != Form::UpdateById;
        if has_list {
            let count = self.random.below(4) + usize::from(!self.random.one_in(20));
            let mut rows: Vec<Value> = (0..count).map(|_| self.listed_row()).collect();
            if self.form == Form::Create && self.resource.name == "crm.category" {
                self.refer_to_others(&mut rows);
            }
            body["payload"] = Value::Array(rows);
            return;
        }
        let can_add = self.form.operation() == "update";
        let adds = can_add && self.random.one_in(3);
        if self.random.one_in(60) {
            return;
        }
        if !adds || self.random.one_in(2) {
            let mut row = self.row();
            if self.form == Form::UpdateById && self.random.one_in(6) {
                self.add_key(&mut row, id);
            }
            body["payload"] = Value::Object(row);
        }
        if adds {
            body["increment"] = self.increment();
        }
    }

    /// Lets new categories refer to others of the same list, seldom to later ones.
    fn refer_to_others(&mut self, rows: &mut [Value]) {
        for index in 0..rows.len() {
            if self.random.one_in(2) {
                let last = if self.random.one_in(6) { rows.len() } else { index + 1 };
                let parent = rows[self.random.below(last)]["code"].clone();
                if parent.is_string() {
                    rows[index]["parentCode"] = parent;
                }
            }
        }
    }

    fn listed_row(&mut self) -> Value {
        let mut row = self.row();
        if self.form == Form::Update {
            let id = self.id();
            self.add_key(&mut row, &id);
            if self.random.one_in(25) {
                let name = self.resource.keys()[0].name.clone();
                row.remove(&name);
            }
        }
        Value::Object(row)
    }

    fn add_key(&mut self, row: &mut Map<String, Value>, id: &[String]) {
        for (field, part) in self.resource.keys().iter().zip(id) {
            let number = part.parse::<i64>().ok().filter(|_| matches!(field.kind, Kind::Int | Kind::Bigint));
            row.insert(field.name.clone(), number.map_or_else(|| json!(part), |number| json!(number)));
        }
    }

    fn row(&mut self) -> Map<String, Value> {
        let mut row = Map::new();
        let is_create = self.form == Form::Create;
        for field in &self.resource.fields {
            let is_writable = if is_create { field.writes.create } else { field.writes.update };
            let lacks = field.writes.permission.as_deref().is_some_and(|permission| !self.viewer.has_permission(permission));
            let is_needed = is_create && !field.nullable;
            let is_given = match (is_writable && !lacks, is_needed) {
                (true, true) => !self.random.one_in(25),
                (true, false) => self.random.one_in(4),
                (false, _) if lacks => self.random.one_in(30),
                (false, _) => self.random.one_in(200),
            };
            if is_given {
                row.insert(field.name.clone(), self.value(field));
            }
        }
        let changeable: Vec<&Field> =
            self.resource.fields.iter().filter(|field| field.writes.update && field.writes.permission.is_none()).collect();
        if !is_create && row.is_empty() && !self.random.one_in(10) {
            let field = *self.random.pick(&changeable);
            row.insert(field.name.clone(), self.value(field));
        }
        let version = self.resource.writes.as_ref().and_then(|writes| writes.version.clone());
        if let Some(version) = version.filter(|_| !is_create && self.random.one_in(5)) {
            row.insert(version, json!(self.random.below(3) + 1));
        }
        if self.random.one_in(8) {
            self.clash(&mut row);
        }
        if self.random.one_in(40) {
            row.insert("unknown".to_owned(), json!(1));
        }
        row
    }

    /// Takes values of unique keys from another row.
    fn clash(&mut self, row: &mut Map<String, Value>) {
        let is_create = self.form == Form::Create;
        let Some(other) = self.random.choose(self.world.rows(&self.resource.name)).cloned() else { return };
        for name in self.world.table(&self.resource.name).unique.iter().copied().flatten() {
            let index = self.resource.index(name);
            let field = &self.resource.fields[index];
            let is_writable = if is_create { field.writes.create } else { field.writes.update };
            if is_writable && field.writes.permission.is_none() && !self.random.one_in(5) {
                row.insert(field.name.clone(), other[index].show(field.kind));
            }
        }
    }

    fn increment(&mut self) -> Value {
        let numbers: Vec<&Field> = self.resource.fields.iter().filter(|field| is_number(field) && field.writes.update).collect();
        let mut increment = Map::new();
        for _ in 0..=self.random.below(2) {
            let field = if self.random.one_in(25) { self.random.pick(&self.resource.fields) } else { *self.random.pick(&numbers) };
            let given = match field.kind {
                Kind::Decimal => self.random.pick(&[json!("0.05"), json!(1), json!("-10"), json!("1000")]).clone(),
                Kind::Float => self.random.pick(&[json!(0.5), json!(-1), json!(1e308)]).clone(),
                _ => {
                    self.random.pick(&[json!(1), json!(-1), json!(40), json!(2_147_483_647), json!(-200), json!("x"), json!(null)]).clone()
                }
            };
            increment.insert(field.name.clone(), given);
        }
        Value::Object(increment)
    }

    /// A value for a field, seldom a wrong one.
    pub(super) fn value(&mut self, field: &Field) -> Value {
        let mut given = self.any_value(field);
        while value::check(field, &given).is_err() && !self.random.one_in(12) {
            given = self.any_value(field);
        }
        given
    }

    fn any_value(&mut self, field: &Field) -> Value {
        if self.random.one_in(if field.nullable { 10 } else { 60 }) {
            return Value::Null;
        }
        if self.random.one_in(80) {
            return self.random.pick(&[json!(true), json!("\0"), json!({ "a": 1 }), json!(1.5), json!([1]), json!("zzzzzzzzzzzz")]).clone();
        }
        if let Some(given) = self.reference(field) {
            return given;
        }
        if field.array {
            let count = self.random.below(4);
            return (0..count).map(|_| if self.random.one_in(6) { Value::Null } else { self.scalar(field) }).collect();
        }
        self.scalar(field)
    }

    /// A value of the key of the target, for the field of a to-one relation.
    fn reference(&mut self, field: &Field) -> Option<Value> {
        let mut ends = Vec::new();
        for relation in self.resource.relations.iter().filter(|relation| !relation.many) {
            ends.extend(
                relation.on.iter().filter(|(own, _)| *own == field.name).map(|(_, other)| (relation.target.clone(), other.clone())),
            );
        }
        let (target, other) = self.random.choose(&ends)?.clone();
        if self.random.one_in(8) {
            return None;
        }
        let target = self.world.schema.resource(&target);
        let row = self.random.choose(self.world.rows(&target.name))?;
        Some(row[target.index(&other)].show(field.kind))
    }

    fn scalar(&mut self, field: &Field) -> Value {
        if self.random.one_in(3)
            && let Some(row) = self.random.choose(self.world.rows(&self.resource.name))
        {
            let held = row[self.resource.index(&field.name)].clone();
            if !matches!(held, Cell::Null | Cell::List(_)) {
                return held.show(field.kind);
            }
        }
        let number = self.random.below(1_000);
        if self.random.one_in(2) && field.kind == Kind::Text {
            // Mostly a value that no row has.
            return match field.name.as_str() {
                "number" => json!(letters(number)),
                "email" => json!(format!("{}@example.org", letters(number))),
                "reference" | "code" => json!(letters(number)),
                _ => json!(format!("é{number}")),
            };
        }
        let values = plausible(field);
        self.random.pick(&values).clone()
    }
}

/// One to three letters.
fn letters(number: usize) -> String {
    let letter = |digit: usize| char::from(b'a' + digit as u8);
    number.to_string().bytes().map(|digit| letter(usize::from(digit - b'0'))).collect()
}

fn is_number(field: &Field) -> bool {
    !field.array && matches!(field.kind, Kind::Int | Kind::Bigint | Kind::Float | Kind::Decimal)
}

/// Values that mostly keep to the rules of the field.
fn plausible(field: &Field) -> Vec<Value> {
    match field.name.as_str() {
        "number" => return ["a", "b", "c", "d", "e", "zz", "A1", "a\n", "", "abcde"].iter().map(|text| json!(text)).collect(),
        "state" => return ["draft", "paid", "final", "bad", "😀😀😀😀😀😀", "toolong"].iter().map(|text| json!(text)).collect(),
        "code" if field.writes.bound("max-length") == Some(3) => {
            return ["k1", "k5", "k6", "k7", "k8", "k9", "long"].iter().map(|text| json!(text)).collect();
        }
        "reference" | "code" if field.kind == Kind::Text => {
            return ["r1", "r2", "r3", "r4", "r5", "ü'", ""].iter().map(|text| json!(text)).collect();
        }
        "email" => return ["ana@example.org", "new@example.org", "x@y", "é@z"].iter().map(|text| json!(text)).collect(),
        "no" | "orderNo" => return (0..20).map(|number| json!(number)).collect(),
        "amount" => return [1, 2, 5, 13, 14, 0].iter().map(|number| json!(number)).collect(),
        "points" => return [0, 1, 49, 50, 51, -100, -101].iter().map(|number| json!(number)).collect(),
        "credit" => return vec![json!("0"), json!("1000.00"), json!("1000.01"), json!(5), json!("-0.01"), json!("2.50")],
        _ => {}
    }
    match field.kind {
        Kind::Bool => vec![json!(true), json!(false)],
        Kind::Int => vec![json!(0), json!(1), json!(-1), json!(5), json!(50), json!(51), json!(i32::MAX), json!(i32::MIN)],
        Kind::Bigint => vec![json!(0), json!(7), json!(i64::MAX), json!("-9223372036854775808"), json!("9007199254740993")],
        Kind::Float => vec![json!(0), json!(0.1), json!(-2.5), json!(1e308), json!(1e-300), json!(3)],
        Kind::Decimal => vec![
            json!("0"),
            json!("1.50"),
            json!(2),
            json!("-0.001"),
            json!("12345678901234567890.123456789"),
            json!(0.25),
            json!("9".repeat(300)),
        ],
        Kind::Text => ["", "x", "é'\"\\", "🎈", "NULL", "{a,b}", "$1", "a%_"].iter().map(|text| json!(text)).collect(),
        Kind::Uuid => vec![json!("00000000-0000-4000-8000-00000000000a"), json!("A0000000-0000-4000-8000-0000000000FF")],
        Kind::Date => vec![json!("2024-02-29"), json!("0001-01-01"), json!("2030-01-01"), json!("2030-01-02")],
        Kind::Time => vec![json!("00:00:00"), json!("23:59:59.999999"), json!("07:30:00.5")],
        Kind::Timestamp => vec![
            json!("2024-02-29T12:00:00Z"),
            json!("2024-02-29T12:00:00.123456+02:00"),
            json!("1970-01-01T00:00:00Z"),
            json!("1969-12-31T23:59:59.999999Z"),
        ],
        Kind::Json => {
            vec![json!(1), json!("text"), json!([]), json!({ "b": [1.5, null, true], "a": { "é\"\\": "" } }), json!([null]), json!(false)]
        }
        Kind::Enum => field.values.iter().map(|value| json!(value)).collect(),
    }
}
