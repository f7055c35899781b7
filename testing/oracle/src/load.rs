//! Filters, sorts and cuts rows, and loads their relations.

use crate::cell::Cell;
use crate::render;
use crate::schema::{Field, Resource};
use crate::session::Session;
use crate::statement::{Order, Statement};
use crate::viewer::Viewer;
use crate::world::Row;
use serde_json::Value;
use std::cmp::Ordering;

/// The rows that meet every `where` of the statement.
pub(crate) fn filtered<'a>(session: &Session<'a>, resource: &'a Resource, rows: Vec<&'a Row>, statement: &Statement) -> Vec<&'a Row> {
    let meets = |row: &Row| statement.wheres.iter().all(|clause| session.meets(resource, row, clause) == Some(true));
    rows.into_iter().filter(|row| meets(row)).collect()
}

/// The sorted rows in runs of ties; the order inside a run is undefined.
pub(crate) fn sorted<'a>(session: &Session<'a>, resource: &'a Resource, rows: Vec<&'a Row>, statement: &Statement) -> Vec<Vec<&'a Row>> {
    let mut order = statement.order.clone();
    if !order.is_empty() {
        let names = tie_break(session.viewer, resource, statement).into_iter();
        order.extend(names.map(|field| Order { field, descending: false }));
    }
    let keyed = rows.into_iter().map(|row| (sort_key(session, resource, row, &order), row)).collect();
    runs(keyed, &order)
}

/// The fields that break ties: the key if rows are cut; all visible sortable fields of the row itself if the viewer does not see the key;
/// none without a key.
pub(crate) fn tie_break(viewer: &Viewer, resource: &Resource, statement: &Statement) -> Vec<String> {
    let names = |fields: Vec<&Field>| fields.into_iter().map(|field| field.name.clone()).collect();
    if !viewer.sees_key(resource) && !resource.keys().is_empty() {
        return names(resource.fields.iter().filter(|field| viewer.may_use(field) && field.sortable() && !field.is_related()).collect());
    }
    if statement.is_cut() { names(resource.keys()) } else { Vec::new() }
}

/// Sorts by key and groups ties into runs.
pub(crate) fn runs<T>(mut keyed: Vec<(Vec<Cell>, T)>, order: &[Order]) -> Vec<Vec<T>> {
    let compare = |left: &[Cell], right: &[Cell]| {
        let entries = order.iter().zip(left.iter().zip(right));
        let each = entries.map(|(entry, (left, right))| if entry.descending { right.sort(left) } else { left.sort(right) });
        each.fold(Ordering::Equal, Ordering::then)
    };
    keyed.sort_by(|(left, _), (right, _)| compare(left, right));
    let mut runs: Vec<Vec<T>> = Vec::new();
    let mut last: Option<Vec<Cell>> = None;
    for (key, item) in keyed {
        match (&last, runs.last_mut()) {
            (Some(previous), Some(run)) if compare(previous, &key).is_eq() => run.push(item),
            _ => runs.push(vec![item]),
        }
        last = Some(key);
    }
    runs
}

fn sort_key<'a>(session: &Session<'a>, resource: &'a Resource, row: &Row, order: &[Order]) -> Vec<Cell> {
    order.iter().map(|entry| column(session, resource, row, &entry.field)).collect()
}

/// A column of the row or of a to-one relation; NULL without a related row.
fn column<'a>(session: &Session<'a>, resource: &'a Resource, row: &Row, path: &str) -> Cell {
    let Some((relation, name)) = path.split_once('.') else {
        return session.cell(resource, row, resource.index(path));
    };
    let relation = resource.relation(relation).expect("the path names a relation");
    let target = session.resource(&relation.target);
    let related = session.related(resource, row, relation);
    related.first().map_or(Cell::Null, |other| session.cell(target, other, target.index(name)))
}

/// A row of the answer with its loaded relations.
pub(crate) fn shown<'a>(session: &Session<'a>, resource: &'a Resource, row: &Row, statement: &Statement) -> Value {
    let mut object = render::row(session, resource, row);
    for (name, node) in &statement.relations {
        let relation = resource.relation(name).expect("the statement names a relation");
        let target = session.resource(&relation.target);
        let children = filtered(session, target, session.related(resource, row, relation), node);
        let children = sorted(session, target, children, node).concat();
        let children: Vec<Value> = node.cut(children).into_iter().map(|child| shown(session, target, child, node)).collect();
        let loaded = if relation.many { Value::Array(children) } else { children.into_iter().next().unwrap_or(Value::Null) };
        object.insert(name.clone(), loaded);
    }
    Value::Object(object)
}
