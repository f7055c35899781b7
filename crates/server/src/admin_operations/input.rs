//! Reads the body of an operation and checks its payload by the table of fields. It reports all faults at once.

use std::fmt;

use query::json::Json;
use query::messages::{did_you_mean, quoted_list};
use query::pointer::Pointer;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::administration::{NullableChange, check_meta};
use crate::problem::Problem;

use super::input_fault::{InputCode, InputFaults, one};
use super::{FieldKind, InputField, Operation, PAYLOAD, StringFormat};

pub(super) const MAX_ENTRIES: usize = 1_000;

/// An input after its check: each value has the type of its field, or is null if the field accepts null.
/// `Debug` prints the names alone, because some values are passwords.
pub(super) struct CheckedInput(Map<String, Value>);

impl fmt::Debug for CheckedInput {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.0.keys()).finish()
    }
}

impl CheckedInput {
    pub(super) fn read(operation: &Operation, body: Json) -> Result<Self, Problem> {
        let Json::Object(members) = body else {
            let message = format!("an object with the key `{PAYLOAD}` is expected; found {}", body.noun());
            return Err(one(InputCode::WrongType, String::new(), message));
        };
        let mut faults = InputFaults::default();
        let mut payload = None;
        for (name, value) in members {
            if name == PAYLOAD {
                payload = Some(value);
            } else {
                faults.add(InputCode::UnknownKey, below("", &name), unknown_body_key(operation, &name));
            }
        }
        let base = below("", PAYLOAD);
        let input = match payload {
            Some(Json::Object(entries)) => check_fields(operation, entries, &base, &mut faults),
            Some(other) => {
                faults.add(InputCode::WrongType, base, format!("an object is expected; found {}", other.noun()));
                Map::new()
            }
            // An unknown key is reported alone: it is probably the payload under another name.
            None if operation.fields.is_empty() || !faults.is_empty() => Map::new(),
            None => {
                let message = format!("`{PAYLOAD}` is needed: an object with the keys {}", quoted_list(&operation.field_names()));
                faults.add(InputCode::Missing, base, message);
                Map::new()
            }
        };
        faults.finish().map(|()| CheckedInput(input))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn str(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    pub(super) fn required(&self, name: &str) -> &str {
        self.str(name).unwrap_or_default()
    }

    pub(super) fn string(&self, name: &str) -> Option<String> {
        self.str(name).map(str::to_owned)
    }

    pub(super) fn nullable_string(&self, name: &str) -> NullableChange {
        match self.0.get(name) {
            Some(Value::Null) => NullableChange::Clear,
            _ => self.string(name).into(),
        }
    }

    /// A list; null is the empty list.
    pub(super) fn strings(&self, name: &str) -> Option<Vec<String>> {
        let items = self.0.get(name)?.as_array().map_or([].as_slice(), Vec::as_slice);
        Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    pub(super) fn id(&self, name: &str) -> Option<Uuid> {
        self.str(name)?.parse().ok()
    }

    pub(super) fn ids(&self, name: &str) -> Option<Vec<Uuid>> {
        Some(self.strings(name)?.iter().filter_map(|text| text.parse().ok()).collect())
    }

    pub(super) fn boolean(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.0.get(name)?.as_i64()
    }

    /// An object; null is the empty object.
    pub(super) fn object(&self, name: &str) -> Option<Map<String, Value>> {
        Some(self.0.get(name)?.as_object().cloned().unwrap_or_default())
    }
}

/// The pointer of a member.
fn below(base: &str, name: &str) -> String {
    let mut path = Pointer::at(base);
    path.key(name);
    path.finish()
}

fn check_fields(operation: &Operation, entries: Vec<(String, Json)>, base: &str, faults: &mut InputFaults) -> Map<String, Value> {
    let mut input = Map::new();
    for (name, value) in entries {
        if faults.is_full() {
            break;
        }
        let path = below(base, &name);
        let Some(field) = operation.fields.iter().find(|field| field.name == name) else {
            faults.add(InputCode::UnknownKey, path, unknown_key(operation, &name));
            continue;
        };
        let checked = match value {
            Json::Null if field.nullable => Some(Value::Null),
            Json::Null => {
                faults.add(InputCode::WrongType, path, refused_null(field));
                None
            }
            value => check(field.kind, value, path, faults),
        };
        input.extend(checked.map(|value| (name, value)));
    }
    let missing = |field: &&InputField| field.required && !input.contains_key(field.name);
    for field in operation.fields.iter().filter(missing) {
        let path = below(base, field.name);
        // A field with an invalid value has a fault already.
        if !faults.contains(&path) {
            faults.add(InputCode::Missing, path, format!("`{}` is needed: {}", field.name, field.description()));
        }
    }
    input
}

fn unknown_body_key(operation: &Operation, name: &str) -> String {
    if operation.field_names().contains(&name) {
        return format!("the body takes only the key `{PAYLOAD}`; put the input below it: `{{\"{PAYLOAD}\": {{\"{name}\": …}}}}`");
    }
    format!("the body takes only the key `{PAYLOAD}`{}", did_you_mean(name, &[PAYLOAD]))
}

fn unknown_key(operation: &Operation, name: &str) -> String {
    let known = operation.field_names();
    if known.is_empty() {
        return format!("`{}` takes no input", operation.name());
    }
    format!("`{}` takes only the keys {}{}", operation.name(), quoted_list(&known), did_you_mean(name, &known))
}

fn refused_null(field: &InputField) -> String {
    let (name, accepted) = (field.name, noun(field.kind));
    if field.required {
        format!("`{name}` cannot be null; send {accepted}")
    } else {
        format!("`{name}` cannot be null; send {accepted}, or leave it out")
    }
}

fn check(kind: FieldKind, value: Json, path: String, faults: &mut InputFaults) -> Option<Value> {
    let checked = match (kind, value) {
        (FieldKind::String(format), Json::Text(text)) => match format.check(&text) {
            Ok(()) => Ok(Value::String(text)),
            Err(message) => Err((InputCode::Value, message)),
        },
        (FieldKind::Strings(_), Json::Array(items)) if items.len() > MAX_ENTRIES => {
            Err((InputCode::Limit, format!("the list has {} entries; at most {MAX_ENTRIES} are accepted", items.len())))
        }
        (FieldKind::Strings(format), Json::Array(items)) => return check_items(format, items, &path, faults),
        (FieldKind::Boolean, Json::Bool(flag)) => Ok(Value::Bool(flag)),
        (FieldKind::Seconds(max), Json::Number(digits)) => {
            let number = digits.parse::<i64>().ok().filter(|number| (1..=max).contains(number)).map(Value::from);
            let message = || format!("a whole number of seconds from 1 to {max} is expected; found {digits:.40}");
            number.ok_or_else(|| (InputCode::Value, message()))
        }
        (FieldKind::Object, object @ Json::Object(_)) => check_object(object),
        (kind, other) => Err((InputCode::WrongType, format!("{} is expected; found {}", noun(kind), other.noun()))),
    };
    checked.map_err(|(code, message)| faults.add(code, path, message)).ok()
}

fn check_items(format: StringFormat, items: Vec<Json>, path: &str, faults: &mut InputFaults) -> Option<Value> {
    let mut checked = Some(Vec::new());
    for (index, item) in items.into_iter().enumerate() {
        match (check(FieldKind::String(format), item, format!("{path}/{index}"), faults), &mut checked) {
            (Some(item), Some(checked)) => checked.push(item),
            _ => checked = None,
        }
    }
    checked.map(Value::Array)
}

fn check_object(object: Json) -> Result<Value, (InputCode, String)> {
    let Some(Value::Object(object)) = to_value(object) else {
        return Err((InputCode::Value, "a number is out of range".to_owned()));
    };
    check_meta(&object).map_err(|message| (InputCode::Limit, message))?;
    Ok(Value::Object(object))
}

fn noun(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::String(_) => "a string",
        FieldKind::Strings(_) => "a list of strings",
        FieldKind::Boolean => "true or false",
        FieldKind::Seconds(_) => "a number of seconds",
        FieldKind::Object => "an object",
    }
}

/// JSON as accounts store it; nothing if a number is out of range.
fn to_value(json: Json) -> Option<Value> {
    Some(match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(flag),
        Json::Number(digits) => Value::Number(serde_json::from_str(&digits).ok()?),
        Json::Text(text) => Value::String(text),
        Json::Array(items) => Value::Array(items.into_iter().map(to_value).collect::<Option<_>>()?),
        Json::Object(entries) => {
            Value::Object(entries.into_iter().map(|(name, value)| Some((name, to_value(value)?))).collect::<Option<_>>()?)
        }
    })
}
