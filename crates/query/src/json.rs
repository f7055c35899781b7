//! Reads JSON bytes into a small tree that keeps what the checks need: the text of every number and the order of keys.
//!
//! A key that stands twice is a fault, because two readers would disagree on which one counts.

pub mod build;
mod scan;

use std::collections::HashSet;
use std::sync::Arc;

use jiter::{Jiter, JiterError, Peek};

use crate::error::{Code, Error, Faults};
use crate::pointer::Pointer;

use scan::Seen;

/// How deep the reader follows arrays and objects. Well above anything a valid statement needs.
const MAX_JSON_DEPTH: usize = 256;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(Box<str>),
    /// A text.
    Text(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, keys in the order they came, each once.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// What this is, for a message: `a number`, `an array`, …
    pub fn noun(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::Text(_) => "a text",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }

    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Json::Null,
            serde_json::Value::Bool(value) => Json::Bool(*value),
            serde_json::Value::Number(number) => Json::Number(number.to_string().into()),
            serde_json::Value::String(text) => Json::Text(text.clone()),
            serde_json::Value::Array(items) => Json::Array(items.iter().map(Json::from).collect()),
            serde_json::Value::Object(map) => Json::Object(map.iter().map(|(key, value)| (key.clone(), Json::from(value))).collect()),
        }
    }
}

/// Reads one JSON value from all of `bytes`, and the keys that stand twice in it. Of those the first counts.
pub(crate) fn read(bytes: &[u8]) -> Result<(Json, Faults), Error> {
    let mut reader = Reader { jiter: Jiter::new(bytes), faults: Faults::default(), path: Vec::new() };
    let json = reader.document().map_err(|stop| reader.explain(stop))?;
    Ok((json, reader.faults))
}

struct Reader<'b> {
    jiter: Jiter<'b>,
    faults: Faults,
    path: Vec<Step>,
}

enum Step {
    Key(String),
    Index(usize),
}

enum Stop {
    Syntax(JiterError),
    TooDeep,
}

impl From<JiterError> for Stop {
    fn from(error: JiterError) -> Self {
        Stop::Syntax(error)
    }
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Json, Stop> {
        let peek = self.jiter.peek()?;
        let json = self.value(peek)?;
        self.jiter.finish()?;
        Ok(json)
    }

    fn value(&mut self, peek: Peek) -> Result<Json, Stop> {
        if self.path.len() > MAX_JSON_DEPTH {
            return Err(Stop::TooDeep);
        }
        Ok(match peek {
            Peek::Null => {
                self.jiter.known_null()?;
                Json::Null
            }
            Peek::True | Peek::False => Json::Bool(self.jiter.known_bool(peek)?),
            Peek::String => Json::Text(self.jiter.known_str()?.to_owned()),
            Peek::Array => self.array()?,
            Peek::Object => self.object()?,
            _ => {
                let digits = self.jiter.known_number_bytes(peek)?;
                Json::Number(String::from_utf8_lossy(digits).into())
            }
        })
    }

    fn array(&mut self) -> Result<Json, Stop> {
        let mut items = Vec::new();
        let mut next = self.jiter.known_array()?;
        while let Some(peek) = next {
            self.path.push(Step::Index(items.len()));
            items.push(self.value(peek)?);
            self.path.pop();
            next = self.jiter.array_step()?;
        }
        Ok(Json::Array(items))
    }

    fn object(&mut self) -> Result<Json, Stop> {
        let mut entries: Vec<(String, Json)> = Vec::new();
        let mut large: HashSet<String> = HashSet::new();
        let mut next = self.jiter.known_object()?.map(str::to_owned);
        while let Some(key) = next {
            let repeated = if entries.len() < 16 {
                entries.iter().any(|(known, _)| *known == key)
            } else {
                if large.is_empty() {
                    large.extend(entries.iter().map(|(known, _)| known.clone()));
                }
                !large.insert(key.clone())
            };
            self.path.push(Step::Key(key));
            if repeated {
                let path = &self.path;
                self.faults.add(Code::DuplicateKey, || pointer_of(path), "this key stands twice in its object; write it once");
            }
            let peek = self.jiter.peek()?;
            let value = self.value(peek)?;
            if let Some(Step::Key(key)) = self.path.pop()
                && !repeated
            {
                entries.push((key, value));
            }
            next = self.jiter.next_key()?.map(str::to_owned);
        }
        Ok(Json::Object(entries))
    }

    fn explain(&self, stop: Stop) -> Error {
        match stop {
            Stop::TooDeep => {
                // The whole pointer would be hundreds of segments; the first few say enough.
                let pointer: String = pointer_of(&self.path).chars().take(200).collect();
                Error::one(
                    Code::JsonDepth,
                    pointer,
                    format!("nested deeper than {MAX_JSON_DEPTH} levels of JSON; a statement needs far less"),
                )
            }
            Stop::Syntax(error) => {
                let place = error.get_position(&self.jiter);
                Error::one(
                    Code::NotJson,
                    pointer_of(&self.path),
                    format!("not JSON: {} at line {} column {}", error.error_type, place.line, place.column),
                )
            }
        }
    }
}

fn pointer_of(path: &[Step]) -> String {
    let mut pointer = Pointer::default();
    for step in path {
        match step {
            Step::Key(key) => pointer.key(key),
            Step::Index(index) => pointer.index(*index),
        }
    }
    pointer.finish()
}

/// `,"name":`, ready to be written between two values; the first member of an object leaves out the comma.
pub(crate) fn key(name: &str) -> Arc<[u8]> {
    let mut bytes = Vec::with_capacity(name.len() + 4);
    bytes.push(b',');
    write_text(&mut bytes, name);
    bytes.push(b':');
    bytes.into()
}

/// A text as JSON, quotes included.
pub fn text(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    write_text(&mut bytes, text);
    // Escapes are ASCII, and the rest is as it was.
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Appends `text` to `out` as a JSON text, quotes included.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    write_looked_at(out, text.as_bytes(), scan::scan(text.as_bytes()));
}

/// The same for bytes that need not be UTF-8. Writes nothing where they are not, and says whether they are.
pub fn write_utf8(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let seen = scan::scan(bytes);
    if seen.beyond_ascii && std::str::from_utf8(bytes).is_err() {
        return false;
    }
    write_looked_at(out, bytes, seen);
    true
}

fn write_looked_at(out: &mut Vec<u8>, bytes: &[u8], seen: Seen) {
    out.push(b'"');
    // Nearly every text needs no escape.
    if !seen.escapes {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    let mut clean = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[clean..index]);
        clean = index + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(control >> 4)]);
                out.push(HEX[usize::from(control & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[clean..]);
    out.push(b'"');
}

/// Reads JSON in which no key stands twice.
pub fn strict(bytes: &[u8]) -> Result<Json, Error> {
    let (json, faults) = read(bytes)?;
    faults.finish().map(|()| json)
}

/// Reads JSON that is data rather than a statement: nothing if it is not JSON.
pub fn data(bytes: &[u8]) -> Option<Json> {
    read(bytes).ok().map(|(json, _)| json)
}
