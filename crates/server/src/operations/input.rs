//! An input, read by the table: every fault of it is found, and what comes through fits its fields.

use std::fmt;

use query::json::Json;
use query::pointer::Pointer;
use query::wording::{near, words};
use serde_json::{Map, Value as JsonValue};
use uuid::Uuid;

use crate::administration::check_meta;
use crate::problem::Problem;

use super::fault::{Faults, InputCode, one};
use super::{Field, Kind, Need, Operation, Text};

/// The most entries of one list.
const MOST_ENTRIES: usize = 1_000;

/// What was sent for an operation, each field as the table says. `Debug` tells the names alone: there are passwords among the values.
pub(super) struct Input(Vec<(&'static str, Value)>);

enum Value {
    Text(String),
    Texts(Vec<String>),
    Flag(bool),
    Number(i64),
    Object(Map<String, JsonValue>),
}

impl fmt::Debug for Input {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Input {
    /// Reads an object that stands at `base`.
    pub(super) fn read(operation: &Operation, sent: Json, base: &str) -> Result<Self, Problem> {
        let Json::Object(entries) = sent else {
            return Err(one(InputCode::WrongType, base.to_owned(), format!("an object is expected; found {}", sent.noun())));
        };
        let mut faults = Faults::default();
        let mut read = Vec::new();
        for (name, value) in entries {
            if faults.is_full() {
                break;
            }
            let mut path = Pointer::at(base);
            path.key(&name);
            let path = path.finish();
            match operation.fields.iter().find(|field| field.name == name) {
                None => faults.add(InputCode::UnknownKey, path, unknown(operation, &name)),
                Some(_) if value == Json::Null => {}
                Some(field) => {
                    let value = Reader { faults: &mut faults, path }.value(field.kind, value);
                    read.extend(value.map(|value| (field.name, value)));
                }
            }
        }
        let missing = |field: &&Field| field.need == Need::Required && !read.iter().any(|(name, _)| *name == field.name);
        for field in operation.fields.iter().filter(missing) {
            let path = format!("{base}/{}", field.name);
            // One that is there and wrong was told already.
            if !faults.mention(&path) {
                faults.add(InputCode::Missing, path, format!("`{}` is needed: {}", field.name, field.about));
            }
        }
        faults.finish().map(|()| Input(read))
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        if let Some(Value::Text(text)) = self.get(name) { Some(text) } else { None }
    }

    /// A text that the table requires.
    pub(super) fn required(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        if let Some(Value::Texts(texts)) = self.get(name) { Some(texts.clone()) } else { None }
    }

    pub(super) fn id(&self, name: &str) -> Option<Uuid> {
        self.text(name).and_then(|text| text.parse().ok())
    }

    pub(super) fn ids(&self, name: &str) -> Option<Vec<Uuid>> {
        self.texts(name).map(|texts| texts.iter().filter_map(|text| text.parse().ok()).collect())
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        if let Some(Value::Flag(flag)) = self.get(name) { Some(*flag) } else { None }
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        if let Some(Value::Number(number)) = self.get(name) { Some(*number) } else { None }
    }

    pub(super) fn object(&self, name: &str) -> Option<Map<String, JsonValue>> {
        if let Some(Value::Object(object)) = self.get(name) { Some(object.clone()) } else { None }
    }
}

fn unknown(operation: &Operation, name: &str) -> String {
    let known: Vec<&str> = operation.fields.iter().map(|field| field.name).collect();
    if known.is_empty() {
        return format!("`{}` takes no input", operation.name());
    }
    format!("`{}` takes only the keys {}{}", operation.name(), words(&known), near(name, &known))
}

/// Reads one value at its place.
struct Reader<'f> {
    faults: &'f mut Faults,
    path: String,
}

impl Reader<'_> {
    fn value(&mut self, kind: Kind, value: Json) -> Option<Value> {
        match (kind, value) {
            (Kind::Text(text), Json::Text(sent)) => self.text(text, sent).map(Value::Text),
            (Kind::Texts(text), Json::Array(items)) => self.texts(text, items).map(Value::Texts),
            (Kind::Flag, Json::Bool(flag)) => Some(Value::Flag(flag)),
            (Kind::Seconds(most), Json::Number(digits)) => self.seconds(most, &digits).map(Value::Number),
            (Kind::Object, sent @ Json::Object(_)) => self.object(sent).map(Value::Object),
            (kind, other) => {
                self.fault(InputCode::WrongType, format!("{} is expected; found {}", noun(kind), other.noun()));
                None
            }
        }
    }

    fn fault(&mut self, code: InputCode, message: impl Into<String>) {
        self.faults.add(code, self.path.clone(), message);
    }

    fn text(&mut self, text: Text, sent: String) -> Option<String> {
        match text.check(&sent) {
            Ok(()) => Some(sent),
            Err(message) => {
                self.fault(InputCode::Value, message);
                None
            }
        }
    }

    fn texts(&mut self, text: Text, items: Vec<Json>) -> Option<Vec<String>> {
        if items.len() > MOST_ENTRIES {
            self.fault(InputCode::Limit, format!("the list has {} entries; at most {MOST_ENTRIES} are taken", items.len()));
            return None;
        }
        let count = items.len();
        let mut read = Vec::with_capacity(count);
        for (index, item) in items.into_iter().enumerate() {
            let mut below = Reader { faults: &mut *self.faults, path: format!("{}/{index}", self.path) };
            if let Some(Value::Text(text)) = below.value(Kind::Text(text), item) {
                read.push(text);
            }
        }
        (read.len() == count).then_some(read)
    }

    fn seconds(&mut self, most: i64, digits: &str) -> Option<i64> {
        let number = digits.parse().ok().filter(|number| (1..=most).contains(number));
        if number.is_none() {
            self.fault(InputCode::Value, format!("a whole number of seconds from 1 to {most} is expected; found {digits:.40}"));
        }
        number
    }

    fn object(&mut self, sent: Json) -> Option<Map<String, JsonValue>> {
        let checked = match plain(sent) {
            Some(JsonValue::Object(object)) => check_meta(&object).map(|()| object).map_err(|message| (InputCode::Limit, message)),
            _ => Err((InputCode::Value, "it holds a number that cannot be kept".to_owned())),
        };
        checked.map_err(|(code, message)| self.fault(code, message)).ok()
    }
}

fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Text(_) => "a text",
        Kind::Texts(_) => "a list of texts",
        Kind::Flag => "true or false",
        Kind::Seconds(_) => "a number of seconds",
        Kind::Object => "an object",
    }
}

/// JSON as accounts keep it; nothing where a number is beyond what they can hold.
fn plain(json: Json) -> Option<JsonValue> {
    Some(match json {
        Json::Null => JsonValue::Null,
        Json::Bool(flag) => JsonValue::Bool(flag),
        Json::Number(digits) => JsonValue::Number(serde_json::from_str(&digits).ok()?),
        Json::Text(text) => JsonValue::String(text),
        Json::Array(items) => JsonValue::Array(items.into_iter().map(plain).collect::<Option<_>>()?),
        Json::Object(entries) => {
            JsonValue::Object(entries.into_iter().map(|(name, value)| Some((name, plain(value)?))).collect::<Option<_>>()?)
        }
    })
}
