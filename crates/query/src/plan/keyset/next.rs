//! The statement that continues after a keyset page, made from the caller's own query only.

use std::sync::Arc;

use crate::error::{Code, Error};
use crate::json::build::{append, compact};
use crate::json::{self, Json};
use crate::object;
use crate::pointer::Layer;
use crate::statement::{Clause, Direction, Entry, Inside, Order, RelationNode, Statement};
use crate::types::Scalar;
use crate::value;

use super::cursor::{self, CursorKey};

/// The next statement without its cursor, and the keys of the cursor.
#[derive(Clone, Debug)]
pub struct NextStatement(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    keys: Vec<CursorKey>,
    /// The caller's `where` as JSON, up to the cursor: the cursor is the last clause of its `and`.
    before: Vec<u8>,
    /// The rest of `where`, then `order`, `limit` and `relations`.
    after: Vec<u8>,
}

/// The value of a sort key in the last row of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PositionValue {
    Null,
    /// The value as the answer shows it, as JSON.
    Shown(Vec<u8>),
    /// A stored value that reads as null.
    Unreadable,
}

/// The longest next statement: a body has room for it, and for a constraint.
pub const MAX_NEXT_BYTES: usize = 960 * 1024;

impl NextStatement {
    /// From a merged statement without its cursor.
    pub(super) fn of(statement: &Statement, keys: Vec<CursorKey>, default_limit: u64) -> Self {
        let own_filter = statement.filters.iter().find(|clause| clause.at.layer == Layer::Query);
        let order = match order(&statement.order) {
            // A list without an order has none, so the next statement names the key.
            entries if entries.is_empty() && statement.order.is_empty() => {
                keys.iter().map(|key| order_entry(&key.path, key.direction)).collect()
            }
            entries => entries,
        };
        let limit = statement.own_limit.unwrap_or(default_limit);
        let (before, mut after) = around_cursor(own_filter.map(entries).unwrap_or_default());
        let mut part = |name: &str, json: &Json| {
            after.extend_from_slice(name.as_bytes());
            append(&mut after, json);
        };
        if !order.is_empty() {
            part(",\"order\":", &Json::Array(order));
        }
        part(",\"limit\":", &number(limit));
        if let Some(relations) = relations(&statement.relations) {
            part(",\"relations\":", &relations);
        }
        after.push(b'}');
        NextStatement(Arc::new(Parts { keys, before, after }))
    }

    /// How many values a position has.
    pub fn width(&self) -> usize {
        self.0.keys.len()
    }

    /// The statement that continues after this position, as JSON.
    pub fn after(&self, position: &[PositionValue]) -> Result<String, Error> {
        let keys = &self.0.keys;
        let in_statement = |(key, value): (&CursorKey, &PositionValue)| to_json(key, value).ok_or_else(|| unrepresentable(key));
        let position: Vec<Json> = keys.iter().zip(position).map(in_statement).collect::<Result<_, _>>()?;
        let Parts { before, after, .. } = &*self.0;
        let mut statement = Vec::with_capacity(before.len() + after.len() + CURSOR_CAPACITY);
        statement.extend_from_slice(before);
        append(&mut statement, &cursor::write(keys, &position));
        statement.extend_from_slice(after);
        if statement.len() > MAX_NEXT_BYTES {
            return Err(too_long(keys, &position, statement.len()));
        }
        // Only strings and ASCII were written.
        Ok(String::from_utf8(statement).unwrap_or_default())
    }
}

/// Most cursors are shorter.
const CURSOR_CAPACITY: usize = 256;

fn unrepresentable(key: &CursorKey) -> Error {
    let message = format!(
        "the page ends at a row whose value of `{}` no statement can name, such as NaN, an infinite timestamp or an invalid stored value; \
         leave such rows out with `where`, order by another field, or ask for another `limit`",
        key.path
    );
    Error::one(Code::UnrepresentablePosition, &*key.at, message)
}

/// The position is too long for a statement. Each value is in it as often as there are sort keys after it, and once or twice more.
fn too_long(keys: &[CursorKey], position: &[Json], bytes: usize) -> Error {
    let size = |(index, (_, value)): &(usize, (&CursorKey, &Json))| compact(value).len() * (keys.len() - index);
    let longest = keys.iter().zip(position).enumerate().max_by_key(size).map(|(_, (key, _))| key);
    let (path, at) = longest.map_or(("", ""), |key| (&*key.path, &*key.at));
    let message = format!(
        "`next` would have {bytes} bytes, and has at most {MAX_NEXT_BYTES}: the page ends at a long value of `{path}`; order by a shorter \
         field, or use `paginate`"
    );
    Error::one(Code::UnrepresentablePosition, at, message)
}

/// `{"where":{…` up to the place of the cursor, and the rest of `where`.
fn around_cursor(filter: Vec<(String, Json)>) -> (Vec<u8>, Vec<u8>) {
    let (mut before, mut after) = (b"{\"where\":{".to_vec(), Vec::new());
    let mut has_place = false;
    for (index, (key, json)) in filter.into_iter().enumerate() {
        let out = if has_place { &mut after } else { &mut before };
        if index > 0 {
            out.push(b',');
        }
        json::write_text(out, &key);
        out.push(b':');
        append(out, &json);
        if key == "and" && matches!(json, Json::Array(_)) {
            // The array stays open.
            before.pop();
            if before.last() != Some(&b'[') {
                before.push(b',');
            }
            has_place = true;
            after.push(b']');
        }
    }
    if !has_place {
        if before.last() != Some(&b'{') {
            before.push(b',');
        }
        before.extend_from_slice(b"\"and\":[");
        after.push(b']');
    }
    after.push(b'}');
    (before, after)
}

/// The value as a statement has it; none if no statement can.
fn to_json(key: &CursorKey, value: &PositionValue) -> Option<Json> {
    let shown = match value {
        // A NULL key identifies no row, and a field that is never NULL has no cursor for NULL.
        PositionValue::Null => return (key.nullable && !key.is_key).then_some(Json::Null),
        PositionValue::Unreadable => return None,
        PositionValue::Shown(bytes) => json::data(bytes)?,
    };
    let json = match shown {
        Json::Null => return None,
        // Many clients read numbers as doubles.
        Json::Number(digits) if key.scalar == Scalar::BigInt => Json::Text(digits.into()),
        other => other,
    };
    let is_clean = !matches!(&json, Json::Text(text) if text.contains('\0'));
    (is_clean && value::check(&key.scalar, &json).is_ok()).then_some(json)
}

fn number(number: u64) -> Json {
    Json::Number(number.to_string().into())
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Ascending => "asc",
        Direction::Descending => "desc",
    }
}

fn order_entry(field: &str, dir: Direction) -> Json {
    object! { "field" => field, "dir" => direction(dir) }
}

/// The entries of the query itself.
fn order(order: &[Order]) -> Vec<Json> {
    order.iter().filter(|entry| entry.at.layer == Layer::Query).map(|entry| order_entry(&entry.field, entry.direction)).collect()
}

/// The relations of the query itself.
fn relations(nodes: &[RelationNode]) -> Option<Json> {
    let own: Vec<(String, Json)> =
        nodes.iter().filter(|node| node.at.layer == Layer::Query).map(|node| (node.name.to_string(), relation(node))).collect();
    (!own.is_empty()).then_some(Json::Object(own))
}

fn relation(node: &RelationNode) -> Json {
    let mut parts = Vec::new();
    let filter = node.filters.iter().find(|clause| clause.at.layer == Layer::Query);
    parts.extend(filter.map(|clause| ("where".to_owned(), Json::Object(entries(clause)))));
    let order = order(&node.order);
    if !order.is_empty() {
        parts.push(("order".to_owned(), Json::Array(order)));
    }
    parts.extend(node.own_limit.map(|limit| ("limit".to_owned(), number(limit))));
    parts.extend(node.offset.map(|offset| ("offset".to_owned(), number(offset))));
    parts.extend(relations(&node.relations).map(|relations| ("relations".to_owned(), relations)));
    if parts.is_empty() { Json::Bool(true) } else { Json::Object(parts) }
}

/// A clause as it was written.
pub(super) fn clause_json(clause: &Clause) -> Json {
    Json::Object(entries(clause))
}

fn entries(clause: &Clause) -> Vec<(String, Json)> {
    let clauses = |all: &[Clause]| Json::Array(all.iter().map(clause_json).collect());
    let entry = |entry: &Entry| match entry {
        Entry::And(_, all) => Some(("and".to_owned(), clauses(all))),
        Entry::Or(_, any) => Some(("or".to_owned(), clauses(any))),
        Entry::Not(_, inner) => Some(("not".to_owned(), clause_json(inner))),
        // They are faults, and a statement with a fault has no next one.
        Entry::Refused | Entry::Malformed { .. } => None,
        Entry::Named { name, inside: Inside::Object(inner), .. } => Some((name.to_string(), clause_json(inner))),
        Entry::Named { name, inside: Inside::Plain(json), .. } => Some((name.to_string(), json.clone())),
    };
    clause.entries.iter().filter_map(entry).collect()
}
