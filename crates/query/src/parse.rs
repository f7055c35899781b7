//! JSON → [`Statement`]: checks the grammar and collects all faults. The plan, which knows the names, decides whether a name in `where`
//! is a field or a relation, and checks operators and depth.

mod aggregation;
mod clause;
mod field_selection;
mod order;
mod relation;

use crate::error::{Code, Error, Faults, about, shorten};
use crate::json::{self, Json};
use crate::messages::{did_you_mean, quoted_list};
use crate::pointer::{Layer, Location, Places, Pointer};
use crate::statement::Statement;

pub use field_selection::field_selection;

/// The largest `limit`, at top level and in every relation node.
pub const MAX_LIMIT: u64 = 10_000;
/// How deep connectors and relation names may be nested.
pub const MAX_DEPTH: usize = 10;
/// How many relation nodes a statement may have.
pub const MAX_RELATION_NODES: usize = 100;
/// How many connectors, relation names and operators the `where` clauses of a layer may have together.
pub(crate) const MAX_FILTER_NODES: usize = 1_000;
/// How many entries `order`, `groupBy` and `fields` may have.
pub const MAX_ENTRIES: usize = 100;
/// Names that no field or relation may have.
pub const RESERVED: [&str; 4] = ["RAW", "AND", "OR", "NOT"];

/// How many entries of `where` are parsed. The plan counts nodes exactly; this bound only limits memory.
const MAX_PARSED_ENTRIES: usize = 50 * MAX_FILTER_NODES;

const BODY_KEYS: [&str; 2] = ["query", "constraint"];
const TOP_KEYS: [&str; 6] = ["where", "relations", "order", "aggregation", "limit", "offset"];

#[derive(Debug)]
pub struct Body {
    pub query: Statement,
    /// A second statement that narrows it.
    pub constraint: Option<Statement>,
}

/// Parses a body `{query?, constraint?}`. It fails only if that is no JSON object; the statement keeps other faults for the plan.
pub fn body(bytes: &[u8]) -> Result<Body, Error> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(layers(None, None));
    }
    let (json, mut faults) = json::read(bytes)?;
    let Json::Object(entries) = json else {
        return Err(Error::one(Code::WrongShape, "", "the body must be an object; its keys are `query` and `constraint`, both optional"));
    };
    let (mut query, mut constraint) = (None, None);
    for (key, value) in entries {
        if faults.is_full() {
            break;
        }
        match key.as_str() {
            "query" => query = Some(value),
            "constraint" => constraint = Some(value),
            _ => {
                let mut path = Pointer::default();
                path.key(&key);
                let message = unknown_key("the body", &BODY_KEYS, &key);
                faults.add(Code::UnknownKey, || path.finish(), message);
            }
        }
    }
    let mut body = layers(query, constraint);
    body.query.faults.absorb(faults);
    Ok(body)
}

/// Whether this is the body of a request around a statement, and not a statement.
pub fn is_body(bytes: &[u8]) -> bool {
    let Ok((Json::Object(entries), _)) = json::read(bytes) else { return false };
    entries.iter().any(|(key, _)| BODY_KEYS.contains(&key.as_str()))
}

/// Parses a statement without a body around it, for example from a file.
pub fn document(bytes: &[u8]) -> Result<Statement, Error> {
    let (json, faults) = json::read(bytes)?;
    let mut statement = statement(json, Layer::Query);
    statement.faults.absorb(faults);
    Ok(statement)
}

/// Parses the layers of a request from a JSON tree, for example from GraphQL arguments.
pub fn layers(query: Option<Json>, constraint: Option<Json>) -> Body {
    Body {
        query: statement(query.unwrap_or(Json::Null), Layer::Query),
        constraint: constraint.filter(|json| *json != Json::Null).map(|json| statement(json, Layer::Constraint)),
    }
}

/// Parses one statement. The statement keeps its faults.
pub fn statement(json: Json, layer: Layer) -> Statement {
    let mut parser = Parser { places: Places::new(layer), faults: Faults::default(), relations: 0, entries: 0 };
    let mut statement = Statement::empty(layer);
    let root = parser.places.root();
    if json != Json::Null
        && let Some(entries) = parser.object(root, json, "a statement", &TOP_KEYS)
    {
        parser.top(&mut statement, root, entries);
    }
    statement.faults = parser.faults;
    statement.places = vec![parser.places];
    statement
}

/// Parses a where clause that has no statement around it, such as `expect`.
pub(crate) fn lone_clause(json: Json, layer: Layer) -> Statement {
    let mut parser = Parser { places: Places::new(layer), faults: Faults::default(), relations: 0, entries: 0 };
    let mut statement = Statement::empty(layer);
    statement.filters.extend(parser.filter(parser.places.root(), json));
    statement.faults = parser.faults;
    statement.places = vec![parser.places];
    statement
}

struct Parser {
    places: Places,
    faults: Faults,
    relations: usize,
    /// Entries of `where` so far.
    entries: usize,
}

impl Parser {
    fn top(&mut self, statement: &mut Statement, root: Location, entries: Vec<(String, Json)>) {
        for (key, value) in entries {
            if self.faults.is_full() {
                break;
            }
            let Some((word, at)) = self.known_key(root, "a statement", &TOP_KEYS, &key) else { continue };
            match word {
                _ if value == Json::Null => {}
                "where" => statement.filters.extend(self.filter(at, value)),
                "relations" => statement.relations = self.relation_map(at, value, 1),
                "order" => statement.order = self.order(at, value),
                "aggregation" => statement.aggregation = self.aggregation(at, value),
                "limit" => {
                    statement.limit = self.limit(at, &value);
                    statement.own_limit = statement.limit;
                }
                _ => statement.offset = self.offset(at, &value),
            }
        }
        if root.layer != Layer::Query
            && let Some(aggregation) = &statement.aggregation
        {
            self.fault(Code::Combination, aggregation.at, "a constraint cannot aggregate; `aggregation` belongs in `query`");
        }
    }

    pub(super) fn limit(&mut self, at: Location, value: &Json) -> Option<u64> {
        let limit = self.whole_number(at, value, "limit")?;
        if limit > MAX_LIMIT {
            self.fault(Code::Limit, at, format!("`limit` must be at most {MAX_LIMIT}; found {limit}"));
            return None;
        }
        Some(limit)
    }

    pub(super) fn offset(&mut self, at: Location, value: &Json) -> Option<u64> {
        self.whole_number(at, value, "offset")
    }

    fn whole_number(&mut self, at: Location, value: &Json, key: &str) -> Option<u64> {
        let number = match value {
            Json::Number(text) => crate::value::whole(text),
            _ => None,
        };
        // Databases count rows in 63 bits.
        if let Some(number) = number.filter(|number| *number >= 0)
            && let Ok(number) = i64::try_from(number)
        {
            return Some(number as u64);
        }
        let beyond = number.is_some_and(|number| number >= 0) || matches!(value, Json::Number(text) if crate::value::is_huge_whole(text));
        if key == "offset" && beyond {
            // Any such offset is past the end of every table.
            return Some(i64::MAX as u64);
        }
        let found = match value {
            Json::Number(text) => shorten(text),
            other => other.noun().to_owned(),
        };
        // A huge whole number is too large, not malformed.
        if beyond {
            self.fault(Code::Limit, at, format!("`limit` must be at most {MAX_LIMIT}; found {found}"));
        } else {
            self.fault(Code::WholeNumber, at, format!("`{key}` must be a whole number from 0; found {found}"));
        }
        None
    }

    pub(super) fn fault(&mut self, code: Code, at: Location, message: impl Into<String>) {
        let places = &self.places;
        self.faults.add(code, || places.pointer(at), about(at.layer, message));
    }

    /// The entries of an object, or a fault.
    fn object(&mut self, at: Location, value: Json, what: &str, known: &[&str]) -> Option<Vec<(String, Json)>> {
        if let Json::Object(entries) = value {
            return Some(entries);
        }
        let message = format!("{what} must be an object with the keys {}; found {}", quoted_list(known), value.noun());
        self.fault(Code::WrongShape, at, message);
        None
    }

    /// A key of an object and its place; a fault if the key is unknown.
    fn known_key(&mut self, parent: Location, what: &str, known: &[&'static str], key: &str) -> Option<(&'static str, Location)> {
        let Some(word) = known.iter().find(|word| **word == key) else {
            let at = self.places.key(parent, key);
            self.fault(Code::UnknownKey, at, unknown_key(what, known, key));
            return None;
        };
        Some((word, self.places.word(parent, word)))
    }

    /// The entries of the array under `key`; `accepted` describes the array in a message.
    fn entries_of(&mut self, at: Location, value: Json, key: &str, accepted: &str) -> Option<Vec<Json>> {
        match value {
            Json::Array(items) if items.len() <= MAX_ENTRIES => Some(items),
            Json::Array(items) => {
                self.fault(Code::Entries, at, format!("`{key}` takes at most {MAX_ENTRIES} entries; found {}", items.len()));
                None
            }
            other => {
                self.fault(Code::WrongShape, at, format!("`{key}` must be {accepted}; found {}", other.noun()));
                None
            }
        }
    }

    /// The name of a field; reserved names are refused.
    fn field_name(&mut self, at: Location, value: Json) -> Option<Box<str>> {
        match value {
            Json::Text(name) if self.allowed_name(at, &name) => Some(name.into()),
            Json::Text(_) => None,
            other => {
                self.fault(Code::WrongShape, at, format!("a name must be a string; found {}", other.noun()));
                None
            }
        }
    }

    /// Reports a reserved name. False if the name is reserved.
    pub(super) fn allowed_name(&mut self, at: Location, name: &str) -> bool {
        let reserved = name.split('.').any(|part| RESERVED.contains(&part));
        if reserved {
            let message = format!("{} are reserved and cannot be used as names; found `{}`", quoted_list(&RESERVED), shorten(name));
            self.fault(Code::ReservedName, at, message);
        }
        !reserved
    }
}

pub(crate) fn too_many_nodes() -> String {
    format!("a statement has at most {MAX_FILTER_NODES} connectors, relation filters and operators in all its `where` clauses")
}

fn found(value: &Json) -> String {
    match value {
        Json::Text(text) => format!("{:?}", shorten(text)),
        other => other.noun().to_owned(),
    }
}

fn unknown_key(what: &str, known: &[&str], key: &str) -> String {
    format!("{what} takes only the keys {}{}; found `{}`", quoted_list(known), did_you_mean(key, known), shorten(key))
}
