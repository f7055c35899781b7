//! The rows of a payload: which columns change, and to which values.

use std::cmp::Ordering;

use crate::catalog::write_rules::{Preset, WriteOperation};
use crate::catalog::{Field, FieldId};
use crate::error::{Code, shorten};
use crate::json::Json;
use crate::messages::did_you_mean;
use crate::payload::{Payload, PayloadRow, WriteBody, WriteForm};
use crate::pointer::Pointer;
use crate::types::{Scalar, Type};
use crate::value::{self, Value};

use super::{WriteAddress, WritePlanner, values};

/// What the server gives to a write: the time, and random bytes.
#[expect(missing_debug_implementations, reason = "a closure has none")]
pub struct ServerValues<'r> {
    /// Microseconds since 1970.
    pub now: i64,
    pub random: &'r mut dyn FnMut() -> [u8; 16],
}

/// The columns of one row that a write sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowChange {
    /// The key, if a list names the row by it; empty otherwise.
    pub(crate) key: Vec<Value>,
    pub(crate) changes: Vec<(FieldId, Change)>,
    /// The version that the row must have.
    pub(crate) version: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Set(Value),
    /// The database adds the value.
    Add(Value),
}

impl RowChange {
    pub(crate) fn fields(&self) -> impl Iterator<Item = FieldId> {
        self.changes.iter().map(|(id, _)| *id)
    }
}

/// Where a row stands in the body: `/payload` or `/payload/3`.
#[derive(Clone, Copy)]
struct RowPointer(Option<usize>);

impl RowPointer {
    fn path(self) -> String {
        let mut path = Pointer::at("/payload");
        if let Some(index) = self.0 {
            path.index(index);
        }
        path.finish()
    }

    fn field(self, name: &str) -> String {
        let mut path = Pointer::at(&self.path());
        path.key(name);
        path.finish()
    }
}

impl<'c> WritePlanner<'c, '_> {
    /// The rows of the payload, with their presets.
    pub(super) fn rows(&mut self, body: &WriteBody, address: &WriteAddress<'_>, mut server_values: ServerValues<'_>) -> Vec<RowChange> {
        let operation = self.form.operation();
        let is_list = matches!(body.payload, Some(Payload::Many(_)));
        let needs_payload = operation == WriteOperation::Create && body.payload.is_none();
        if needs_payload || (is_list && self.form == WriteForm::UpdateById) {
            // Reported already.
            return Vec::new();
        }
        if is_list && operation == WriteOperation::Update && !self.viewer().sees_key(self.resource()) {
            let message = "the rows have a key that is hidden or masked for you; name rows by `query.where`";
            self.faults.add(Code::WriteIdentifier, || "/payload".into(), message);
            return Vec::new();
        }
        let empty = [PayloadRow::new()];
        let payload = body.payload.as_ref().map_or(&empty[..], Payload::rows);
        let mut rows = Vec::with_capacity(payload.len());
        for (index, row) in payload.iter().enumerate() {
            if self.faults.is_full() {
                break;
            }
            let pointer = RowPointer(is_list.then_some(index));
            if body.faults.has_path(&pointer.path()) {
                // It is no object.
                continue;
            }
            let known = self.faults.len();
            let mut change = match operation {
                WriteOperation::Create | WriteOperation::Update => self.row(row, pointer, address, is_list),
                WriteOperation::Delete | WriteOperation::Restore => RowChange::default(),
            };
            if operation == WriteOperation::Create {
                self.require(&change, pointer);
            }
            if operation == WriteOperation::Update {
                self.increments(&body.increment, &mut change);
                let is_given = body.payload.is_some() || !body.increment.is_empty();
                if change.changes.is_empty() && is_given && self.faults.len() == known {
                    self.faults.add(
                        Code::WriteEmpty,
                        || pointer.path(),
                        "there is nothing to change; name at least one field with its new value",
                    );
                }
            }
            self.presets(operation, &mut change, &mut server_values);
            rows.push(change);
        }
        if is_list && operation == WriteOperation::Update {
            self.refuse_repeats(&rows);
        }
        rows
    }

    fn row(&mut self, row: &PayloadRow, pointer: RowPointer, address: &WriteAddress<'_>, is_list: bool) -> RowChange {
        let resource = self.resource();
        let operation = self.form.operation();
        let mut change = RowChange::default();
        let mut key: Vec<Option<Value>> = vec![None; resource.key.len()];
        for (name, json) in row {
            if self.faults.is_full() {
                break;
            }
            let found = resource.field(name).filter(|(_, field)| self.viewer().knows(field) || self.viewer().can_write(field, operation));
            let Some((id, field)) = found else {
                self.unknown(name, pointer);
                continue;
            };
            if operation == WriteOperation::Update && self.access.rules.version == Some(id) {
                change.version = self.expected_version(field, json, pointer);
                continue;
            }
            if let (WriteOperation::Update, Some(part)) = (operation, resource.key.iter().position(|part| *part == id)) {
                key[part] = self.value(field, json, pointer);
                continue;
            }
            if !field.is_writable(operation) {
                self.not_writable(field, pointer);
                continue;
            }
            if let Some(permission) = field.rules.permission.as_deref().filter(|permission| !self.viewer().has_permission(permission)) {
                let message = format!("writing `{name}` needs the permission {permission}, which you lack");
                self.faults.add(Code::WritePermission, || pointer.field(name), message);
                continue;
            }
            change.changes.extend(self.value(field, json, pointer).map(|value| (id, Change::Set(value))));
        }
        if operation == WriteOperation::Update {
            change.key = self.key(key, pointer, address, is_list);
        }
        change
    }

    /// The version that a row must have.
    fn expected_version(&mut self, field: &Field, json: &Json, pointer: RowPointer) -> Option<Value> {
        let name = &field.name;
        let (code, message) = if !self.viewer().sees_unmasked(field) {
            (Code::MaskedField, format!("`{name}` is masked for you; a masked version cannot be compared"))
        } else if *json == Json::Null {
            (Code::NullValue, format!("`{name}` is the version that the row must have, and never null; leave it out to compare none"))
        } else {
            return self.value(field, json, pointer);
        };
        self.faults.add(code, || pointer.field(name), message);
        None
    }

    /// The key of a row, if the payload names the row by it. Elsewhere it may only repeat the key of the address.
    fn key(&mut self, found: Vec<Option<Value>>, pointer: RowPointer, address: &WriteAddress<'_>, is_list: bool) -> Vec<Value> {
        let resource = self.resource();
        let is_named_here = is_list || (self.form == WriteForm::UpdateById && address.id.is_none());
        for ((part, field), index) in found.iter().zip(resource.key_fields()).zip(0..) {
            let name = &field.name;
            let message = match (part, is_named_here) {
                (None | Some(Value::Null), true) if self.faults.has_path(&pointer.field(name)) => continue,
                (None | Some(Value::Null), true) if is_list => format!("an item of the list needs the key of its row: `{name}`"),
                (None | Some(Value::Null), true) => format!("`payload` needs the key of the row: `{name}`"),
                (Some(_), false) if self.form == WriteForm::Update => {
                    format!("`{name}` is the key, which never changes; name rows by `query.where`")
                }
                (Some(value), false) => {
                    let of_address = address.id.and_then(|parts| value::from_text(field.kind.scalar(), parts.get(index)?).ok());
                    if of_address.is_none_or(|other| value::order(&other, value).is_eq()) {
                        continue;
                    }
                    format!("`{name}` differs from the key in the address; leave it out")
                }
                (None, _) | (Some(_), true) => continue,
            };
            self.faults.add(Code::WriteIdentifier, || pointer.field(name), message);
        }
        if is_named_here { found.into_iter().collect::<Option<_>>().unwrap_or_default() } else { Vec::new() }
    }

    fn refuse_repeats(&mut self, rows: &[RowChange]) {
        let mut named: Vec<usize> = (0..rows.len()).filter(|index| !rows[*index].key.is_empty()).collect();
        let compared = |left: &usize, right: &usize| {
            let parts = rows[*left].key.iter().zip(&rows[*right].key);
            parts.map(|(left, right)| value::order(left, right)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        // A stable sort: of equal keys the first one stands in front.
        named.sort_by(compared);
        let mut repeats: Vec<usize> = named.windows(2).filter(|pair| compared(&pair[0], &pair[1]).is_eq()).map(|pair| pair[1]).collect();
        repeats.sort_unstable();
        for index in repeats {
            let message = "the list names this row twice; write its changes in one item";
            self.faults.add(Code::RepeatedRow, || format!("/payload/{index}"), message);
        }
    }

    /// The names that the viewer may write in this operation.
    fn writable_names(&self) -> Vec<&'c str> {
        let operation = self.form.operation();
        let can_write = |field: &&Field| self.viewer().can_write(field, operation);
        self.resource().fields.iter().filter(can_write).map(|field| field.name.as_str()).collect()
    }

    fn unknown(&mut self, name: &str, pointer: RowPointer) {
        let hint = did_you_mean(name, &self.writable_names());
        let message = format!("`{}` has no field `{}`{hint}", self.resource().full_name, shorten(name));
        self.faults.add(Code::WriteUnknownField, || pointer.field(name), message);
    }

    fn not_writable(&mut self, field: &Field, pointer: RowPointer) {
        let name = &field.name;
        let operation = self.form.operation();
        let message = match (field.rules.write, operation) {
            _ if field.derived.is_some() => format!("`{name}` is computed and cannot be written"),
            (Some(_), WriteOperation::Create) => format!("`{name}` cannot be written in a new row, only later"),
            (Some(_), _) => format!("`{name}` is written once, in a new row"),
            (None, _) if field.preset(operation).is_some() => format!("`{name}` is set by the server"),
            (None, _) => format!("`{name}` cannot be written"),
        };
        self.faults.add(Code::NotWritable, || pointer.field(name), message);
    }

    /// A checked value, or a fault.
    fn value(&mut self, field: &Field, json: &Json, pointer: RowPointer) -> Option<Value> {
        let path = || pointer.field(&field.name);
        match values::check(field, json) {
            Ok(value) => Some(value),
            Err((code, message)) => {
                self.faults.add(code, path, message);
                None
            }
        }
    }

    /// Reports the values that a new row lacks.
    fn require(&mut self, change: &RowChange, pointer: RowPointer) {
        let resource = self.resource();
        for (id, field) in resource.fields.iter().enumerate() {
            let is_given = change.fields().any(|given| given == id);
            let has_fault = self.faults.has_path(&pointer.field(&field.name));
            if field.is_required() && field.preset(WriteOperation::Create).is_none() && !is_given && !has_fault {
                let name = &field.name;
                let message = format!("a new row needs `{name}` of type {}", field.kind.name());
                self.faults.add(Code::RequiredValue, || pointer.field(name), message);
            }
        }
    }

    /// Adds numbers to fields. Whether a sum is within its bounds tells the number, so only a field that the viewer sees plainly has one.
    fn increments(&mut self, increment: &[(String, Json)], change: &mut RowChange) {
        let resource = self.resource();
        for (name, json) in increment {
            let path = || {
                let mut path = Pointer::at("/increment");
                path.key(name);
                path.finish()
            };
            let Some((id, field)) = resource.field(name).filter(|(_, field)| self.viewer().knows(field)) else {
                let hint = did_you_mean(name, &self.addable_names());
                let message = format!("`{}` has no field `{}`{hint}", resource.full_name, shorten(name));
                self.faults.add(Code::WriteUnknownField, path, message);
                continue;
            };
            let refused = if !field.is_writable(WriteOperation::Update) {
                (Code::NotWritable, format!("`{name}` cannot be changed"))
            } else if let Some(permission) =
                field.rules.permission.as_deref().filter(|permission| !self.viewer().has_permission(permission))
            {
                (Code::WritePermission, format!("writing `{name}` needs the permission {permission}, which you lack"))
            } else if !self.viewer().sees_unmasked(field) {
                (Code::MaskedField, format!("`{name}` is masked for you; a masked field cannot be incremented"))
            } else if !field.kind.is_number() {
                (Code::Increment, format!("`{name}` of type {} cannot be incremented; numbers can", field.kind.name()))
            } else if change.fields().any(|given| given == id) {
                (Code::Increment, format!("`{name}` is in `payload` too; it takes a new value or an increment"))
            } else {
                match value::check(field.kind.scalar(), json) {
                    Ok(Value::Null) => (Code::WriteType, format!("`{name}` takes a number to add; found null")),
                    Ok(value) => {
                        change.changes.push((id, Change::Add(value)));
                        continue;
                    }
                    Err(message) => (Code::WriteType, format!("`{name}` {message}")),
                }
            };
            self.faults.add(refused.0, path, refused.1);
        }
    }

    /// The names of the fields that the viewer may add to.
    fn addable_names(&self) -> Vec<&'c str> {
        let viewer = self.viewer();
        let can_add = |field: &&Field| {
            viewer.can_write(field, WriteOperation::Update) && viewer.knows(field) && viewer.sees_unmasked(field) && field.is_number()
        };
        self.resource().fields.iter().filter(can_add).map(|field| field.name.as_str()).collect()
    }

    /// Adds the values that the server writes.
    fn presets(&mut self, operation: WriteOperation, change: &mut RowChange, server_values: &mut ServerValues<'_>) {
        let resource = self.resource();
        if operation == WriteOperation::Delete && resource.soft_delete.is_none() {
            return;
        }
        for (id, field) in resource.fields.iter().enumerate() {
            let Some(preset) = field.preset(operation) else { continue };
            let value = match preset {
                Preset::Literal(value) => Some(value.clone()),
                Preset::Now => Some(instant(field, server_values.now)),
                Preset::Uuid => Some(new_uuid(field, (server_values.random)())),
                Preset::Account(name) => self.viewer().variable(name).and_then(|json| value::written(&field.kind, &json).ok()),
            };
            match value {
                Some(Value::Null) | None => self.lacks_variable = true,
                Some(value) => change.changes.push((id, Change::Set(value))),
            }
        }
        if let Some(id) = resource.soft_delete {
            match operation {
                WriteOperation::Delete => change.changes.push((id, Change::Set(Value::Timestamp(server_values.now)))),
                WriteOperation::Restore => change.changes.push((id, Change::Set(Value::Null))),
                WriteOperation::Create | WriteOperation::Update => {}
            }
        }
        let Some(version) = self.access.rules.version else { return };
        match operation {
            WriteOperation::Create if resource.fields[version].rules.has_default => {}
            WriteOperation::Create => change.changes.push((version, Change::Set(Value::Int(1)))),
            _ => change.changes.push((version, Change::Add(Value::Int(1)))),
        }
    }
}

fn instant(field: &Field, micros: i64) -> Value {
    if field.kind == Type::One(Scalar::Date) { Value::Date(micros.div_euclid(86_400_000_000) as i32) } else { Value::Timestamp(micros) }
}

/// A random UUID of version 4.
fn new_uuid(field: &Field, mut bytes: [u8; 16]) -> Value {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    if field.kind == Type::One(Scalar::Uuid) { Value::Uuid(bytes) } else { Value::Text(value::uuid_text(&bytes)) }
}
