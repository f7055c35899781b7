//! Parses JSON into a tree that keeps the text of numbers and the order of keys, and writes JSON strings. A duplicate key is a fault,
//! because two parsers would disagree on which one counts.

pub mod build;

use std::collections::HashMap;
use std::sync::Arc;

use jiter::{Jiter, JiterError, Peek};

use crate::error::{Code, Error, Faults};
use crate::pointer::Pointer;

/// How deep arrays and objects may be nested; a valid statement needs far less.
const MAX_JSON_DEPTH: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// A number, as written.
    Number(Box<str>),
    Text(String),
    Array(Vec<Json>),
    /// An object, its keys in the order of the document, each once.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The kind of value in a message: `a number`, `an array`, …
    pub fn noun(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::Text(_) => "a string",
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

/// Parses one JSON value, with a fault for each duplicate key. The first of equal keys counts.
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
        // The places of keys, once there are many.
        let mut large: HashMap<String, usize> = HashMap::new();
        let mut next = self.jiter.known_object()?.map(str::to_owned);
        while let Some(key) = next {
            let repeated = if entries.len() < 16 {
                entries.iter().position(|(known, _)| *known == key)
            } else {
                if large.is_empty() {
                    large.extend(entries.iter().enumerate().map(|(place, (known, _))| (known.clone(), place)));
                }
                let found = large.get(&key).copied();
                if found.is_none() {
                    large.insert(key.clone(), entries.len());
                }
                found
            };
            self.path.push(Step::Key(key));
            if repeated.is_some() {
                let path = &self.path;
                self.faults.add(Code::DuplicateKey, || pointer_of(path), "this key occurs twice in its object; write it once");
            }
            let peek = self.jiter.peek()?;
            let value = self.value(peek)?;
            // In data the last one counts, as it does in `jsonb`.
            match (self.path.pop(), repeated) {
                (_, Some(place)) => entries[place].1 = value,
                (Some(Step::Key(key)), None) => entries.push((key, value)),
                _ => {}
            }
            next = self.jiter.next_key()?.map(str::to_owned);
        }
        Ok(Json::Object(entries))
    }

    fn explain(&self, stop: Stop) -> Error {
        match stop {
            Stop::TooDeep => {
                // The whole pointer would have hundreds of segments.
                let pointer: String = pointer_of(&self.path).chars().take(200).collect();
                Error::one(Code::JsonDepth, pointer, format!("the JSON is nested deeper than {MAX_JSON_DEPTH} levels"))
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

/// `,"name":`, ready to write between two values.
pub(crate) fn key(name: &str) -> Arc<[u8]> {
    let mut bytes = Vec::with_capacity(name.len() + 4);
    bytes.push(b',');
    write_text(&mut bytes, name);
    bytes.push(b':');
    bytes.into()
}

/// A string as JSON, quotes included.
pub fn text(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    write_text(&mut bytes, text);
    // Escapes are ASCII, and the rest is unchanged.
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Appends a string as JSON, quotes included.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    // A fold without an early exit becomes vector instructions.
    let write = if text.bytes().fold(false, |found, byte| found | is_escaped(byte)) { write_escaped } else { write_plain };
    write(out, text.as_bytes());
}

/// Appends bytes as a JSON string if they are UTF-8; otherwise appends nothing and returns false.
pub fn write_utf8(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let (mut escapes, mut ascii) = (false, true);
    for byte in bytes {
        escapes |= is_escaped(*byte);
        ascii &= byte.is_ascii();
    }
    if !ascii && std::str::from_utf8(bytes).is_err() {
        return false;
    }
    let write = if escapes { write_escaped } else { write_plain };
    write(out, bytes);
    true
}

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn write_plain(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(bytes);
    out.push(b'"');
}

fn write_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let mut clean = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        if !is_escaped(byte) {
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

/// Parses JSON without duplicate keys.
pub fn strict(bytes: &[u8]) -> Result<Json, Error> {
    let (json, faults) = read(bytes)?;
    faults.finish().map(|()| json)
}

/// Parses JSON that is data, not a statement. `None` if it is not JSON.
pub fn data(bytes: &[u8]) -> Option<Json> {
    read(bytes).ok().map(|(json, _)| json)
}

#[cfg(test)]
mod tests {
    use super::write_utf8;

    #[test]
    fn every_byte_is_written_as_serde_json_writes_it() {
        for length in 0..20 {
            for filler in [b'a', b'"', 0x7f, 0x80] {
                for place in 0..length {
                    for byte in 0..=255 {
                        let mut bytes = vec![filler; length];
                        bytes[place] = byte;
                        let mut out = Vec::new();
                        let expected = std::str::from_utf8(&bytes).ok().map(|text| serde_json::json!(text).to_string());
                        assert_eq!(write_utf8(&mut out, &bytes), expected.is_some(), "{bytes:?}");
                        assert_eq!(out, expected.unwrap_or_default().as_bytes(), "{bytes:?}");
                    }
                }
            }
        }
    }
}
