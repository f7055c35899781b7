//! JSON as PostgreSQL's `jsonb` prints it, so that a payload reads back as the same text on both databases.

use crate::json::{Json, write_text};

use super::number::decimal;

/// Plain digits with their scale, short keys before long ones, and a blank after each comma and colon.
pub fn jsonb_text(json: &Json) -> String {
    let mut out = Vec::new();
    write(&mut out, json);
    // Only strings and ASCII were written.
    String::from_utf8(out).unwrap_or_default()
}

fn write(out: &mut Vec<u8>, json: &Json) {
    match json {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Json::Number(text) => out.extend_from_slice(decimal(text).as_deref().unwrap_or(text).as_bytes()),
        Json::Text(text) => write_text(out, text),
        Json::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                comma(out, index);
                write(out, item);
            }
            out.push(b']');
        }
        Json::Object(entries) => {
            let mut entries: Vec<&(String, Json)> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| (key.len(), key.as_bytes()));
            out.push(b'{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                comma(out, index);
                write_text(out, key);
                out.extend_from_slice(b": ");
                write(out, value);
            }
            out.push(b'}');
        }
    }
}

fn comma(out: &mut Vec<u8>, index: usize) {
    if index > 0 {
        out.extend_from_slice(b", ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_printed_as_jsonb() {
        // What PostgreSQL prints for the same texts.
        for (given, printed) in [
            (r#"{"bb":1,"a":1.50,"c":{}}"#, r#"{"a": 1.50, "c": {}, "bb": 1}"#),
            ("[1e3,1.50e1,-0.0,1E-2,0e-3,100e-2,[]]", "[1000, 15.0, 0.0, 0.01, 0.000, 1.00, []]"),
            (r#"{"é":"\u0001\u007f\b\/","zz":null}"#, "{\"zz\": null, \"é\": \"\\u0001\u{7f}\\b/\"}"),
            ("true", "true"),
        ] {
            let json = crate::json::data(given.as_bytes()).expect("JSON");
            assert_eq!(jsonb_text(&json), printed);
        }
    }
}
