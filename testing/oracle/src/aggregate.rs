//! Aggregation: rows joined along dot-paths, grouped, and one object for each group.

use crate::cell::Cell;
use crate::decimal::Decimal;
use crate::load::runs;
use crate::schema::{Field, Kind, Resource};
use crate::session::Session;
use crate::statement::{Order, Statement};
use crate::world::Row;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A root row with one related row of each relation; `None` for a relation without a match.
#[derive(Clone)]
struct Joined<'a> {
    root: &'a Row,
    related: BTreeMap<String, Option<&'a Row>>,
}

struct Group<'a> {
    key: Vec<Cell>,
    rows: Vec<Joined<'a>>,
}

/// The sorted groups, in runs of ties.
pub(crate) fn groups<'a>(session: &Session<'a>, resource: &'a Resource, rows: &[&'a Row], statement: &Statement) -> Vec<Vec<Value>> {
    let block = statement.aggregation.as_ref().expect("the statement aggregates");
    let group_by = group_by(block);
    let joined = rows.iter().flat_map(|row| joined(session, resource, row, &paths(block)));
    let mut groups: Vec<Group> = Vec::new();
    if group_by.is_empty() {
        groups.push(Group { key: Vec::new(), rows: joined.collect() });
    } else {
        for row in joined {
            let key: Vec<Cell> = group_by.iter().map(|path| column(session, resource, &row, path).1).collect();
            match groups.iter_mut().find(|group| same_key(&group.key, &key)) {
                Some(group) => {
                    for (shown, cell) in group.key.iter_mut().zip(key) {
                        if scale(&cell) > scale(shown) {
                            *shown = cell;
                        }
                    }
                    group.rows.push(row);
                }
                None => groups.push(Group { key, rows: vec![row] }),
            }
        }
    }
    let mut order = statement.order.clone();
    if !order.is_empty() && statement.is_cut() {
        let named = |path: &String| statement.order.iter().any(|entry| entry.field == *path);
        let others = group_by.iter().filter(|path| !named(path));
        order.extend(others.map(|path| Order { field: path.clone(), descending: false }));
    }
    let keyed = groups.iter().map(|group| {
        let position = |entry: &Order| group_by.iter().position(|path| *path == entry.field).expect("order names a groupBy entry");
        let key = order.iter().map(|entry| group.key[position(entry)].clone()).collect();
        (key, shown(session, resource, group, block))
    });
    runs(keyed.collect(), &order)
}

pub(crate) fn group_by(block: &Value) -> Vec<String> {
    let entries = block.get("groupBy").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    entries.iter().map(|entry| entry.as_str().expect("a groupBy entry is a string").to_owned()).collect()
}

fn fields(block: &Value) -> &[Value] {
    block["fields"].as_array().expect("aggregation.fields is a list")
}

/// Every field and dot-path of the block.
fn paths(block: &Value) -> Vec<String> {
    let named = fields(block).iter().map(|entry| entry["field"].as_str().expect("a field is a string").to_owned());
    group_by(block).into_iter().chain(named).collect()
}

/// A LEFT JOIN with each relation, once.
fn joined<'a>(session: &Session<'a>, resource: &'a Resource, root: &'a Row, paths: &[String]) -> Vec<Joined<'a>> {
    let mut result = vec![Joined { root, related: BTreeMap::new() }];
    for (name, _) in paths.iter().filter_map(|path| path.split_once('.')) {
        if result[0].related.contains_key(name) {
            continue;
        }
        let relation = resource.relation(name).expect("the path names a relation");
        let found = session.related(resource, root, relation);
        let matches: Vec<Option<&Row>> = if found.is_empty() { vec![None] } else { found.into_iter().map(Some).collect() };
        let mut longer = Vec::new();
        for row in &result {
            for other in &matches {
                let mut row = row.clone();
                row.related.insert(name.to_owned(), *other);
                longer.push(row);
            }
        }
        result = longer;
    }
    result
}

fn column<'a>(session: &Session<'a>, resource: &'a Resource, row: &Joined<'_>, path: &str) -> (&'a Field, Cell) {
    let Some((relation, name)) = path.split_once('.') else {
        let index = resource.index(path);
        return (&resource.fields[index], session.cell(resource, row.root, index));
    };
    let target = session.resource(&resource.relation(relation).expect("the path names a relation").target);
    let index = target.index(name);
    (&target.fields[index], row.related[relation].map_or(Cell::Null, |other| session.cell(target, other, index)))
}

fn field<'a>(session: &Session<'a>, resource: &'a Resource, path: &str) -> &'a Field {
    let (resource, name) = match path.split_once('.') {
        Some((relation, name)) => (session.resource(&resource.relation(relation).expect("a relation").target), name),
        None => (resource, path),
    };
    &resource.fields[resource.index(name)]
}

fn same_key(left: &[Cell], right: &[Cell]) -> bool {
    left.iter().zip(right).all(|(left, right)| left.sort(right).is_eq())
}

fn shown<'a>(session: &Session<'a>, resource: &'a Resource, group: &Group<'_>, block: &Value) -> Value {
    let mut object = Map::new();
    for (path, cell) in group_by(block).iter().zip(&group.key) {
        object.insert(path.clone(), cell.show(field(session, resource, path).kind));
    }
    for entry in fields(block) {
        let function = entry["fn"].as_str().expect("fn is a string");
        let path = entry["field"].as_str().expect("field is a string");
        let value = if path == "*" {
            Value::from(group.rows.len())
        } else {
            let cells = group.rows.iter().map(|row| column(session, resource, row, path).1);
            aggregated(function, field(session, resource, path).kind, cells.filter(|cell| !cell.is_null()).collect())
        };
        let name = match entry.get("as").and_then(Value::as_str) {
            Some(alias) => alias.to_owned(),
            None if path == "*" => function.to_owned(),
            None => format!("{function}_{}", path.replace('.', "_")),
        };
        object.insert(name, value);
    }
    Value::Object(object)
}

/// A function over cells that are not NULL. Over no cell it is null, and `count` is zero.
fn aggregated(function: &str, kind: Kind, cells: Vec<Cell>) -> Value {
    if function == "count" {
        return Value::from(cells.len());
    }
    combined(function, kind, cells).show(kind)
}

/// `sum`, `avg`, `min` or `max` of cells that are not NULL; NULL over no cell.
pub(crate) fn combined(function: &str, kind: Kind, cells: Vec<Cell>) -> Cell {
    let wanted = if function == "max" { Ordering::Greater } else { Ordering::Less };
    let count = cells.len();
    match (function, kind) {
        _ if cells.is_empty() => Cell::Null,
        ("min" | "max", _) => {
            let is_better = |cell: &Cell, best: &Cell| match cell.compare(best) {
                Some(Ordering::Equal) => scale(cell) > scale(best),
                order => order == Some(wanted),
            };
            let best = cells.into_iter().reduce(|best, cell| if is_better(&cell, &best) { cell } else { best });
            best.unwrap_or(Cell::Null)
        }
        ("sum", Kind::Float) => Cell::Float(float_sum(&cells)),
        ("avg", Kind::Float) => Cell::Float(float_sum(&cells) / count as f64),
        ("sum", Kind::Int) => Cell::Whole(exact_sum(&cells).to_string().parse().expect("a sum of ints fits")),
        ("sum", _) => Cell::Decimal(exact_sum(&cells)),
        ("avg", _) => Cell::Decimal(exact_sum(&cells).divided_by(count as u64)),
        _ => panic!("no function {function:?}"),
    }
}

/// The decimals of a decimal. Of equal ones an answer shows the largest scale.
fn scale(cell: &Cell) -> usize {
    match cell {
        Cell::Decimal(decimal) => decimal.to_string().split_once('.').map_or(0, |(_, digits)| digits.len()),
        _ => 0,
    }
}

fn exact_sum(cells: &[Cell]) -> Decimal {
    cells.iter().fold(Decimal::zero(), |sum, cell| match cell {
        Cell::Whole(number) => sum.plus(&Decimal::whole(*number)),
        Cell::Decimal(decimal) => sum.plus(decimal),
        other => panic!("{other:?} has no exact sum"),
    })
}

fn float_sum(cells: &[Cell]) -> f64 {
    cells.iter().fold(0.0, |sum, cell| match cell {
        Cell::Float(number) => sum + number,
        other => panic!("{other:?} is no float"),
    })
}
