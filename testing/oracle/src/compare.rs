//! Compares two answers to one case: in order if the statement determines the order, otherwise as multisets.

use crate::answer::{Answer, listing, merged};
use crate::case::Case;
use crate::fixture::world;
use crate::statement::Statement;
use serde_json::{Number, Value};

/// The first difference between the expected and the actual answer.
pub fn compare(case: &Case, expected: &Answer, actual: &Answer) -> Result<(), String> {
    match (expected, actual) {
        (Answer::Page { total, count, rows }, Answer::Page { total: actual_total, count: actual_count, rows: actual_rows }) => {
            differ("total", *total, *actual_total)?;
            differ("count", *count, *actual_count)?;
            differ("count beside the rows", *actual_count, actual_rows.len() as u64)?;
            compare_rows(case, rows, actual_rows)
        }
        (
            Answer::KeysetPage { count, rows, follows },
            Answer::KeysetPage { count: actual_count, rows: actual_rows, follows: actual_follows },
        ) => {
            differ("count", *count, *actual_count)?;
            differ("count beside the rows", *actual_count, actual_rows.len() as u64)?;
            differ("a next page", u64::from(*follows), u64::from(*actual_follows))?;
            compare_rows(case, rows, actual_rows)
        }
        (Answer::Rows(rows), Answer::Rows(actual_rows)) => compare_rows(case, rows, actual_rows),
        (Answer::Row(row), Answer::Row(actual_row)) => {
            let statement = merged(world(), case.question());
            same("row", &normalized_row(&statement, row), &normalized_row(&statement, actual_row))
        }
        (Answer::NotFound, Answer::NotFound) | (Answer::Forbidden, Answer::Forbidden) => Ok(()),
        _ => Err(format!("expected {}, found {}", brief(expected), brief(actual))),
    }
}

fn differ(what: &str, expected: u64, actual: u64) -> Result<(), String> {
    if expected == actual { Ok(()) } else { Err(format!("{what}: expected {expected}, found {actual}")) }
}

fn brief(answer: &Answer) -> String {
    match answer {
        Answer::Page { total, count, .. } => format!("a page (total {total}, count {count})"),
        Answer::KeysetPage { count, follows, .. } => format!("a keyset page (count {count}, another follows: {follows})"),
        Answer::Rows(rows) => format!("{} rows", rows.len()),
        Answer::Row(row) => format!("the row {row}"),
        Answer::NotFound => "not found".to_owned(),
        Answer::Forbidden => "forbidden".to_owned(),
    }
}

/// The oracle computes the runs of ties, because a dot-path can sort by a field that no row shows.
fn compare_rows(case: &Case, expected: &[Value], actual: &[Value]) -> Result<(), String> {
    if expected.len() != actual.len() {
        return Err(format!("rows: expected {}, found {}", expected.len(), actual.len()));
    }
    let statement = merged(world(), case.question());
    let lengths: Vec<usize> = listing(world(), case.question()).1.iter().map(Vec::len).collect();
    if lengths.iter().sum::<usize>() != expected.len() {
        return Err(format!("rows: expected {}, the oracle knows {}", expected.len(), lengths.iter().sum::<usize>()));
    }
    let mut start = 0;
    for length in lengths {
        let run = |rows: &[Value]| as_set(rows[start..start + length].iter().map(|row| normalized_row(&statement, row)).collect());
        for (index, (expected, actual)) in run(expected).iter().zip(&run(actual)).enumerate() {
            same(&format!("row {}", start + index), expected, actual)?;
        }
        start += length;
    }
    Ok(())
}

/// A row with normalized numbers, and with children in a fixed order if the statement does not determine it.
fn normalized_row(statement: &Statement, row: &Value) -> Value {
    let Value::Object(object) = row else {
        return plain(row);
    };
    let settle = |name: &String, value: &Value| match (statement.relations.get(name), value) {
        (Some(node), Value::Array(children)) if statement.aggregation.is_none() => Value::Array(normalized_children(node, children)),
        (Some(node), Value::Object(_)) if statement.aggregation.is_none() => normalized_row(node, value),
        _ => plain(value),
    };
    Value::Object(object.iter().map(|(name, value)| (name.clone(), settle(name, value))).collect())
}

/// Children are sorted by their own fields, which their rows show.
fn normalized_children(node: &Statement, children: &[Value]) -> Vec<Value> {
    let rows: Vec<Value> = children.iter().map(|child| normalized_row(node, child)).collect();
    if node.order.is_empty() {
        return as_set(rows);
    }
    if node.is_cut() {
        return rows;
    }
    let key = |row: &Value| -> Vec<Value> { node.order.iter().map(|entry| row[&entry.field].clone()).collect() };
    rows.chunk_by(|left, right| key(left) == key(right)).flat_map(|run| as_set(run.to_vec())).collect()
}

fn as_set(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by_cached_key(Value::to_string);
    rows
}

/// The same value with whole floats written as whole numbers and object keys in one order.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(plain_number(number)),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            entries.into_iter().map(|(key, value)| (key.clone(), plain(value))).collect()
        }
        other => other.clone(),
    }
}

fn plain_number(number: &Number) -> Number {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9_223_372_036_854_775_807.0 => Number::from(float as i64),
        _ => number.clone(),
    }
}

/// The first difference of two normalized values, with its path.
fn same(path: &str, expected: &Value, actual: &Value) -> Result<(), String> {
    match (expected, actual) {
        (Value::Object(left), Value::Object(right)) => {
            for (key, value) in left {
                let other = right.get(key).ok_or_else(|| format!("{path}.{key}: expected {value}, found nothing"))?;
                same(&format!("{path}.{key}"), value, other)?;
            }
            match right.iter().find(|(key, _)| !left.contains_key(*key)) {
                Some((key, value)) => Err(format!("{path}.{key}: expected nothing, found {value}")),
                None => Ok(()),
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            if left.len() != right.len() {
                return Err(format!("{path}: expected {} elements, found {}: {expected} and {actual}", left.len(), right.len()));
            }
            left.iter().zip(right).enumerate().try_for_each(|(index, (left, right))| same(&format!("{path}[{index}]"), left, right))
        }
        _ if expected == actual => Ok(()),
        _ => Err(format!("{path}: expected {expected}, found {actual}")),
    }
}
