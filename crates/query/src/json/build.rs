//! Builds and writes JSON trees. Keys keep their order, so that equal catalogs give equal bytes.

use super::{Json, write_text};

/// An object, its keys in the order given: `object! { "type" => "string" }`.
#[macro_export]
macro_rules! object {
    ($($key:expr => $value:expr),* $(,)?) => {
        $crate::json::Json::Object(vec![$((::std::string::String::from($key), $crate::json::Json::from($value))),*])
    };
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Json::Text(text.to_owned())
    }
}

macro_rules! json_from {
    ($($kind:ty => $variant:ident),+) => {$(
        impl From<$kind> for Json {
            fn from(value: $kind) -> Self {
                Json::$variant(value)
            }
        }
    )+};
}
json_from!(String => Text, bool => Bool, Vec<Json> => Array, Vec<(String, Json)> => Object);

impl From<i64> for Json {
    fn from(number: i64) -> Self {
        Json::Number(number.to_string().into())
    }
}

impl<const N: usize> From<[Json; N]> for Json {
    fn from(items: [Json; N]) -> Self {
        Json::Array(items.into())
    }
}

pub fn texts<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> Json {
    Json::Array(items.into_iter().map(|item| Json::from(item.as_ref())).collect())
}

/// The entries of an object; empty for any other value.
pub fn entries(json: Json) -> Vec<(String, Json)> {
    if let Json::Object(entries) = json { entries } else { Vec::new() }
}

pub fn get<'j>(json: &'j Json, key: &str) -> Option<&'j Json> {
    let Json::Object(entries) = json else { return None };
    entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

pub fn compact(json: &Json) -> String {
    written(json, None)
}

pub fn pretty(json: &Json) -> String {
    written(json, Some(0))
}

/// Writes the value without spaces.
pub fn append(out: &mut Vec<u8>, json: &Json) {
    write(out, json, None);
}

fn written(json: &Json, indent: Option<usize>) -> String {
    let mut out = Vec::new();
    write(&mut out, json, indent);
    // Only strings and ASCII were written.
    String::from_utf8(out).unwrap_or_default()
}

fn write(out: &mut Vec<u8>, json: &Json, indent: Option<usize>) {
    match json {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Json::Number(text) => out.extend_from_slice(text.as_bytes()),
        Json::Text(text) => write_text(out, text),
        Json::Array(items) => {
            // An array of scalars is on one line.
            let line = indent.is_some() && items.iter().all(Json::is_scalar);
            let indent = indent.filter(|_| !line);
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                next(out, index, indent);
                if line && index > 0 {
                    out.push(b' ');
                }
                write(out, item, indent.map(|depth| depth + 1));
            }
            close(out, items.is_empty(), indent, b']');
        }
        Json::Object(entries) => {
            out.push(b'{');
            for (index, (key, value)) in entries.iter().enumerate() {
                next(out, index, indent);
                write_text(out, key);
                out.extend_from_slice(if indent.is_some() { b": " } else { b":" });
                write(out, value, indent.map(|depth| depth + 1));
            }
            close(out, entries.is_empty(), indent, b'}');
        }
    }
}

fn next(out: &mut Vec<u8>, index: usize, indent: Option<usize>) {
    if index > 0 {
        out.push(b',');
    }
    if let Some(depth) = indent {
        line(out, depth + 1);
    }
}

fn close(out: &mut Vec<u8>, empty: bool, indent: Option<usize>, bracket: u8) {
    if let Some(depth) = indent.filter(|_| !empty) {
        line(out, depth);
    }
    out.push(bracket);
}

fn line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.resize(out.len() + depth * 2, b' ');
}
