//! Golden cases from `cases/*.json`. Each names the rules of the contract that it tests.
//!
//! Three macros keep large statements readable: `{"$times": [n, item]}` is an array of n items, `{"$nest": [n, key, inner]}` nests `inner`
//! n times below the key (`"or[]"` adds an array each time), and `{"$tree": [[names], depth]}` nests relation nodes of all names.

use std::path::PathBuf;

use oracle::Operation;
use serde_json::{Map, Value, json};

/// One statement and its expected result.
#[derive(Debug)]
pub struct GoldenCase {
    /// A sentence.
    pub name: String,
    /// The name of the viewer in the fixture.
    pub viewer: &'static str,
    /// The resource.
    pub resource: String,
    /// The operation.
    pub operation: Operation,
    /// The statement; with a raw body, the statement that the body means.
    pub query: Option<Value>,
    /// The wire constraint.
    pub constraint: Option<Value>,
    /// The bytes to send, if JSON values cannot express them.
    raw: Option<String>,
    /// Code and path of each fault, in order; empty for a valid statement.
    pub faults: Vec<String>,
    /// Whether the answer has no row.
    pub empty: bool,
    /// The rules of `docs/contract.md` that it tests.
    pub rules: Vec<String>,
}

impl GoldenCase {
    /// The bytes of the request.
    pub fn body(&self) -> String {
        if let Some(raw) = &self.raw {
            return raw.clone();
        }
        let mut body = Map::new();
        body.extend(self.query.clone().map(|query| ("query".to_owned(), query)));
        body.extend(self.constraint.clone().map(|constraint| ("constraint".to_owned(), constraint)));
        sorted(&Value::Object(body))
    }

    /// Whether the case has its own bytes.
    pub fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    /// The parts of the id, for a key of this many fields.
    pub fn id(&self, width: usize) -> Option<Vec<&str>> {
        let Operation::FindById(id) = &self.operation else { return None };
        Some(if width == 1 { vec![id] } else { id.split(',').collect() })
    }
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../query/tests/cases"))
}

/// The names of all themes, sorted.
pub fn themes() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("the folder of cases");
    let mut names: Vec<String> =
        files.map(|file| file.expect("a file").file_name().to_string_lossy().trim_end_matches(".json").to_owned()).collect();
    names.sort();
    names
}

/// The cases of one theme.
pub fn cases(theme: &str) -> Vec<GoldenCase> {
    let text = std::fs::read_to_string(folder().join(format!("{theme}.json"))).expect("the theme's file");
    let values: Vec<Value> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{theme}: {error}"));
    values.iter().map(read).collect()
}

fn read(value: &Value) -> GoldenCase {
    let object = value.as_object().expect("a case is an object");
    let known = ["name", "viewer", "resource", "operation", "query", "constraint", "body", "faults", "empty", "rules"];
    for key in object.keys() {
        assert!(known.contains(&key.as_str()), "unknown key {key:?} in {value}");
    }
    let text = |key: &str| value[key].as_str().unwrap_or_else(|| panic!("{key:?} is missing in {value}")).to_owned();
    let texts = |key: &str| -> Vec<String> {
        let items = value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        items.iter().map(|item| item.as_str().expect("a string").to_owned()).collect()
    };
    GoldenCase {
        name: text("name"),
        viewer: oracle::viewer(&text("viewer")).name,
        resource: text("resource"),
        operation: operation(&value["operation"]),
        query: value.get("query").map(expanded),
        constraint: value.get("constraint").map(expanded),
        raw: value.get("body").and_then(Value::as_str).map(str::to_owned),
        faults: texts("faults"),
        empty: value.get("empty") == Some(&Value::Bool(true)),
        rules: texts("rules"),
    }
}

fn operation(value: &Value) -> Operation {
    match (value.as_str(), value["findById"].as_str()) {
        (Some("list"), _) => Operation::List,
        (Some("paginate"), _) => Operation::Paginate,
        (Some("keyset-paginate"), _) => Operation::KeysetPaginate,
        (Some("find"), _) => Operation::Find,
        (_, Some(id)) => Operation::FindById(id.to_owned()),
        _ => panic!("no operation {value}"),
    }
}

fn expanded(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(expanded).collect(),
        Value::Object(object) => match object.iter().next() {
            Some((word, arguments)) if ["$times", "$nest", "$tree"].contains(&word.as_str()) => expand_macro(word, arguments),
            _ => object.iter().map(|(key, value)| (key.clone(), expanded(value))).collect(),
        },
        other => other.clone(),
    }
}

fn expand_macro(word: &str, arguments: &Value) -> Value {
    let count = |index: usize| usize::try_from(arguments[index].as_u64().expect("a number")).expect("a small number");
    match word {
        "$times" => vec![expanded(&arguments[1]); count(0)].into(),
        "$nest" => {
            let key = arguments[1].as_str().expect("a key");
            (0..count(0)).fold(expanded(&arguments[2]), |inner, _| match key.strip_suffix("[]") {
                Some(key) => json!({ key: [inner] }),
                None => json!({ key: inner }),
            })
        }
        "$tree" => tree(arguments[0].as_array().expect("names"), count(1)),
        other => panic!("no word {other:?}"),
    }
}

fn tree(names: &[Value], depth: usize) -> Value {
    let below = if depth > 1 { json!({ "relations": tree(names, depth - 1) }) } else { Value::Bool(true) };
    names.iter().map(|name| (name.as_str().expect("a name").to_owned(), below.clone())).collect()
}

/// JSON with sorted keys.
pub fn sorted(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(",")),
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let members = entries.into_iter().map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), sorted(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
