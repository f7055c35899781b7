//! The body of a write: its faults, or the rows of its payload.

use super::outcome::WriteFault;
use super::{Form, WriteRequest, value};
use crate::cell::Cell;
use crate::schema::{Field, Kind, Resource};
use crate::viewer::Viewer;
use crate::world::World;
use serde_json::{Map, Value};

/// One row of a payload.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    /// The key, if a list names the row by it.
    pub(super) key: Vec<Cell>,
    pub(super) set: Vec<(usize, Cell)>,
    pub(super) add: Vec<(usize, Cell)>,
    /// The version that the row must have.
    pub(super) version: Option<Cell>,
}

impl Item {
    pub(super) fn writes(&self, index: usize) -> bool {
        self.set.iter().chain(&self.add).any(|(field, _)| *field == index)
    }
}

/// Reads the body of a write of this viewer.
pub(super) fn read(world: &World, viewer: &Viewer, request: &WriteRequest) -> Result<Vec<Item>, Vec<WriteFault>> {
    let resource = world.schema.resource(&request.resource);
    let mut reader = Reader { world, viewer, request, resource, faults: Vec::new() };
    let items = reader.items();
    let keys = resource.keys();
    if request.form.takes_id() && !keys.iter().zip(&request.id).all(|(field, text)| key_part(field, text).is_some()) {
        reader.fault("QS313", "/id");
    }
    if request.if_match.is_some() && !request.form.takes_id() {
        reader.fault("WR121", "");
    }
    if reader.faults.is_empty() { Ok(items) } else { Err(reader.faults) }
}

/// A key of the body; null counts as absent.
pub(super) fn member<'b>(request: &'b WriteRequest, key: &str) -> Option<&'b Value> {
    request.body.get(key).filter(|value| !value.is_null())
}

pub(super) fn is_list(request: &WriteRequest) -> bool {
    member(request, "payload").is_some_and(Value::is_array)
}

struct Reader<'a> {
    world: &'a World,
    viewer: &'a Viewer,
    request: &'a WriteRequest,
    resource: &'a Resource,
    faults: Vec<WriteFault>,
}

impl<'a> Reader<'a> {
    fn fault(&mut self, code: &str, path: impl Into<String>) {
        self.faults.push(WriteFault::new(code, path));
    }

    fn items(&mut self) -> Vec<Item> {
        let form = self.request.form;
        for key in self.request.body.as_object().expect("a body").keys() {
            if !form.keys().contains(&key.as_str()) {
                let is_known = Form::Update.keys().contains(&key.as_str());
                self.fault(if is_known { "WR102" } else { "WR101" }, format!("/{key}"));
            }
        }
        let payload = member(self.request, "payload");
        if form == Form::UpdateById && is_list(self.request) {
            self.fault("WR100", "/payload");
            return Vec::new();
        }
        if payload.and_then(Value::as_array).is_some_and(Vec::is_empty) {
            self.fault("WR104", "/payload");
            return Vec::new();
        }
        let increment = member(self.request, "increment").and_then(Value::as_object).filter(|increment| !increment.is_empty());
        let lacks_values = match form.operation() {
            "create" => payload.is_none(),
            "update" => payload.is_none() && increment.is_none(),
            _ => false,
        };
        if lacks_values && self.faults.is_empty() {
            self.fault("WR103", "");
        }
        self.rows_of_a_query(increment.is_some());
        if lacks_values || matches!(form.operation(), "delete" | "restore") {
            return vec![Item::default()];
        }
        let nothing = Map::new();
        let object = |value: &'a Value| value.as_object().expect("a row of a payload");
        if let Some(Value::Array(rows)) = payload {
            let items: Vec<Item> =
                rows.iter().enumerate().map(|(index, row)| self.item(object(row), &format!("/payload/{index}"), None)).collect();
            self.repeats(&items);
            return items;
        }
        vec![self.item(payload.map_or(&nothing, object), "/payload", increment)]
    }

    /// What an update or delete by query, or an update by list, says of its rows.
    fn rows_of_a_query(&mut self, has_increment: bool) {
        let form = self.request.form;
        if !matches!(form, Form::Update | Form::Delete) {
            return;
        }
        let query = member(self.request, "query");
        let all = member(self.request, "all") == Some(&Value::Bool(true));
        if is_list(self.request) {
            for (key, is_given) in [("query", query.is_some()), ("all", all), ("increment", has_increment)] {
                if is_given {
                    self.fault("WR102", format!("/{key}"));
                }
            }
            return;
        }
        let has_where = query.is_some_and(|query| query["where"].as_object().is_some_and(|clause| !clause.is_empty()));
        if all && has_where {
            self.fault("WR102", "/all");
        }
        if !all && !has_where {
            self.fault("WR106", if query.is_some() { "/query/where" } else { "/query" });
        }
        for key in ["relations", "aggregation", "offset"] {
            if query.is_some_and(|query| query.get(key).is_some_and(|value| !value.is_null())) {
                self.fault("QS111", format!("/query/{key}"));
            }
        }
    }

    fn item(&mut self, row: &Map<String, Value>, place: &str, increment: Option<&Map<String, Value>>) -> Item {
        let is_create = self.request.form == Form::Create;
        let before = self.faults.len();
        let mut item = Item::default();
        let mut key: Vec<(String, Cell)> = Vec::new();
        for (name, given) in row {
            let path = format!("{place}/{name}");
            let Some(field) = self.known(name) else {
                self.fault("WR110", path);
                continue;
            };
            let version = self.resource.writes.as_ref().and_then(|writes| writes.version.as_deref());
            let is_version = !is_create && version == Some(name);
            let is_value = !is_version && (is_create || !field.key);
            if let Some(code) = self.unwritable(field).filter(|_| is_value) {
                self.fault(code, path);
                continue;
            }
            match value::check(field, given) {
                _ if is_version && self.viewer.sees_masked(field) => self.fault("QS304", path),
                _ if is_version && given.is_null() => self.fault("WR115", path),
                Err(code) => self.fault(code, path),
                Ok(cell) if is_version => item.version = Some(cell),
                Ok(cell) if field.key && !is_create => key.push((name.clone(), cell)),
                Ok(cell) => item.set.push((self.resource.index(name), cell)),
            }
        }
        if is_create {
            self.required(&item, place);
        } else {
            self.key(&key, row, place, &mut item);
            for (name, given) in increment.into_iter().flatten() {
                self.increment(name, given, &mut item);
            }
            if item.set.is_empty() && item.add.is_empty() && self.faults.len() == before {
                self.fault("WR104", place);
            }
        }
        item
    }

    /// A field that the viewer knows, or may write.
    fn known(&self, name: &str) -> Option<&'a Field> {
        self.resource.field(name).filter(|field| self.viewer.knows(field) || self.unwritable(field).is_none())
    }

    fn is_writable(&self, field: &Field) -> bool {
        if self.request.form == Form::Create { field.writes.create } else { field.writes.update }
    }

    /// Why the viewer cannot write the field.
    fn unwritable(&self, field: &Field) -> Option<&'static str> {
        if !self.is_writable(field) {
            return Some("WR111");
        }
        let lacks = field.writes.permission.as_deref().is_some_and(|permission| !self.viewer.has_permission(permission));
        lacks.then_some("WR112")
    }

    fn required(&mut self, item: &Item, place: &str) {
        let defaults = &self.world.table(&self.resource.name).defaults;
        for (index, field) in self.resource.fields.iter().enumerate() {
            let path = format!("{place}/{}", field.name);
            let has_default = defaults.iter().any(|(name, _)| *name == field.name);
            let is_needed = field.writes.create && !field.nullable && !has_default;
            if is_needed && !item.writes(index) && !self.faults.iter().any(|fault| fault.path == path) {
                self.fault("WR113", path);
            }
        }
    }

    /// The key in an item of an update: a list needs it, and beside an id it must be the same.
    fn key(&mut self, found: &[(String, Cell)], row: &Map<String, Value>, place: &str, item: &mut Item) {
        let has_list = is_list(self.request);
        for (number, field) in self.resource.keys().into_iter().enumerate() {
            let path = format!("{place}/{}", field.name);
            let part = found.iter().find(|(name, _)| *name == field.name).map(|(_, cell)| cell);
            match (part, self.request.form) {
                (None, Form::Update) if has_list && !row.contains_key(&field.name) => self.fault("WR119", path),
                (Some(cell), Form::Update) if has_list => item.key.push(cell.clone()),
                (Some(_), Form::Update) => self.fault("WR119", path),
                (Some(cell), Form::UpdateById)
                    if key_part(field, &self.request.id[number]).is_some_and(|part| cell.equals(&part) != Some(true)) =>
                {
                    self.fault("WR119", path);
                }
                _ => {}
            }
        }
    }

    fn increment(&mut self, name: &str, given: &Value, item: &mut Item) {
        let path = format!("/increment/{name}");
        let Some(field) = self.resource.field(name).filter(|field| self.viewer.knows(field)) else {
            return self.fault("WR110", path);
        };
        if let Some(code) = self.unwritable(field) {
            return self.fault(code, path);
        }
        if self.viewer.sees_masked(field) {
            return self.fault("QS304", path);
        }
        let index = self.resource.index(name);
        if field.array
            || !matches!(field.kind, Kind::Int | Kind::Bigint | Kind::Float | Kind::Decimal)
            || item.set.iter().any(|(set, _)| *set == index)
        {
            return self.fault("WR118", path);
        }
        match Cell::scalar(field, given) {
            Some(cell) => item.add.push((index, cell)),
            None => self.fault("WR114", path),
        }
    }

    fn repeats(&mut self, items: &[Item]) {
        if self.request.form != Form::Update {
            return;
        }
        let width = self.resource.keys().len();
        for (index, item) in items.iter().enumerate().filter(|(_, item)| item.key.len() == width) {
            if items[..index].iter().any(|earlier| same_key(&earlier.key, &item.key)) {
                self.fault("WR120", format!("/payload/{index}"));
            }
        }
    }
}

/// Whether two keys are equal.
pub(super) fn same_key(left: &[Cell], right: &[Cell]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.equals(right) == Some(true))
}

/// A part of a key in a path; `None` if it does not fit.
pub(super) fn key_part(field: &Field, text: &str) -> Option<Cell> {
    let number = text.parse::<i64>().ok().map(Value::from).filter(|_| !matches!(field.kind, Kind::Text));
    Cell::scalar(field, &number.unwrap_or_else(|| Value::from(text)))
}
