//! Makes relations from foreign keys, in both directions, and names them.

use crate::schema::{ForeignKey, Table};

use super::model::{DraftField, DraftRelation, Model, is_among};
use super::naming::{camel, capital, free, plural, without_id};
use super::through::{Crossing, crossings, foreign_keys};

/// A foreign key whose two ends are resources.
struct Edge {
    from: usize,
    to: usize,
    /// Own field = field of the other.
    pairs: Vec<(String, String)>,
    columns: Vec<String>,
    /// Whether at most one row refers to another.
    unique: bool,
    is_new: bool,
    has_twin: bool,
}

pub(super) fn connect(model: &mut Model) {
    let crossings = crossings(model);
    let edges = edges(model);
    // The referring side is named first, since its names are the plainest.
    let names: Vec<Option<String>> = edges.iter().map(|edge| edge.is_new.then(|| add_to_one(model, edge))).collect();
    for (edge, name) in edges.iter().zip(names) {
        if let Some(name) = name {
            add_to_many(model, edge, &name);
        }
    }
    for crossing in &crossings {
        add_many_to_many(model, crossing);
    }
}

/// The foreign keys that can be relations. The model records them, and why others cannot.
fn edges(model: &mut Model) -> Vec<Edge> {
    let mut edges = Vec::new();
    for from in 0..model.resources.len() {
        let table = model.resources[from].table;
        for foreign_key in foreign_keys(table) {
            match edge(model, from, foreign_key) {
                Some(Ok(edge)) => {
                    edges.push(edge);
                    model.linked.push((table, foreign_key));
                }
                Some(Err(reason)) if !is_among(&model.linked, table, foreign_key) => model.leave_out(from, foreign_key, &reason),
                None if leads_to_none(model, from, foreign_key) => {
                    model.leave_out(from, foreign_key, &format!("{} is left out, or is no table that can be seen", foreign_key.table));
                }
                _ => {}
            }
        }
        for (foreign_key, reason) in &table.foreign_keys_without_relation {
            model.leave_out(from, foreign_key, reason);
        }
    }
    let ends: Vec<(usize, usize)> = edges.iter().map(|edge| (edge.from, edge.to)).collect();
    for edge in &mut edges {
        edge.has_twin = ends.iter().filter(|ends| **ends == (edge.from, edge.to)).count() > 1;
    }
    edges
}

/// Whether no resource can exist for the target of a foreign key.
fn leads_to_none(model: &Model, from: usize, foreign_key: &ForeignKey) -> bool {
    let target = model.schema.find(Some(&foreign_key.schema), &foreign_key.table, model.dialect);
    let is_left_out = |table: &Table| model.unreadable.iter().any(|other| std::ptr::eq(*other, table));
    !model.resources[from].left_out && target.is_none_or(is_left_out)
}

/// The edge, or the reason against it; none if one end has no resource.
fn edge(model: &Model, from: usize, foreign_key: &ForeignKey) -> Option<Result<Edge, String>> {
    let draft = Some(&model.resources[from]).filter(|draft| !draft.left_out)?;
    let to = model.place(foreign_key).filter(|to| !model.resources[*to].left_out)?;
    let target = &model.resources[to];
    let columns: Vec<&str> = foreign_key.columns.iter().map(String::as_str).collect();
    let target_columns: Vec<&str> = foreign_key.target_columns.iter().map(String::as_str).collect();
    let ends = columns.iter().zip(&target_columns).map(|(own, other)| draft.field(own).zip(target.field(other)));
    let fields: Vec<(&DraftField, &DraftField)> = ends.collect::<Option<_>>()?;
    let differ = fields.iter().find(|(own, other)| own.kind.family().is_none() || own.kind.family() != other.kind.family());
    if let Some((own, other)) = differ {
        return Some(Err(format!("the types {} and {} differ", own.kind.name(), other.kind.name())));
    }
    if repeats(&columns) || repeats(&target_columns) {
        return Some(Err("it names a column twice".to_owned()));
    }
    if !target.table.is_unique(&target_columns, model.dialect) {
        let why = if target.table.has_child_tables { ", from which tables inherit" } else { "" };
        return Some(Err(format!("({}) is no unique key of {}{why}", target_columns.join(", "), target.table_text)));
    }
    Some(Ok(Edge {
        from,
        to,
        pairs: fields.iter().map(|(own, other)| (own.name.clone(), other.name.clone())).collect(),
        unique: draft.table.is_unique(&columns, model.dialect),
        is_new: draft.is_new
            || target.is_new
            || fields.iter().any(|(own, other)| own.is_new || other.is_new)
            // Without a list, nothing counts as offered.
            || !model.seen.has_link(draft.table, foreign_key, model.dialect),
        columns: foreign_key.columns.clone(),
        has_twin: false,
    }))
}

fn repeats(names: &[&str]) -> bool {
    names.iter().enumerate().any(|(place, name)| names[..place].contains(name))
}

fn add_to_one(model: &mut Model, edge: &Edge) -> String {
    let target = &model.resources[edge.to];
    if let Some(known) = model.resources[edge.from].known_relation(&target.full_name(), &edge.pairs) {
        return known.name.clone();
    }
    let column = camel(edge.columns.last().map_or("", String::as_str));
    let stem = without_id(&column).map(str::to_owned);
    let long = format!("{column}{}", capital(&target.name));
    let mut candidates = Vec::new();
    if edge.columns.len() > 1 && !edge.has_twin {
        candidates.push(target.name.clone());
    }
    candidates.extend(stem);
    if !edge.has_twin {
        candidates.push(target.name.clone());
    }
    candidates.push(long);
    let name = free(&candidates, |name| model.resources[edge.from].is_taken(name));
    let relation = DraftRelation { name: name.clone(), many: false, target: target.full_name(), on: edge.pairs.clone(), through: None };
    model.resources[edge.from].relations.push(relation);
    name
}

fn add_to_many(model: &mut Model, edge: &Edge, toward: &str) {
    let source = &model.resources[edge.from];
    let on: Vec<_> = edge.pairs.iter().map(|(own, other)| (other.clone(), own.clone())).collect();
    if model.resources[edge.to].known_relation(&source.full_name(), &on).is_some() {
        return;
    }
    let plain = if edge.unique { source.name.clone() } else { plural(&source.plural) };
    let long = format!("{plain}By{}", capital(toward));
    let candidates = if edge.has_twin { vec![long] } else { vec![plain, long] };
    let name = free(&candidates, |name| model.resources[edge.to].is_taken(name));
    let relation = DraftRelation { name, many: !edge.unique, target: source.full_name(), on, through: None };
    model.resources[edge.to].relations.push(relation);
}

fn add_many_to_many(model: &mut Model, crossing: &Crossing) {
    let (target, pivot) = (&model.resources[crossing.to], &model.resources[crossing.pivot]);
    let column = camel(&crossing.column);
    let many = plural(&target.plural);
    let by_column = format!("{many}By{}", capital(without_id(&column).unwrap_or(&column)));
    let by_pivot = format!("{many}By{}", capital(&pivot.name));
    let candidates = if crossing.from == crossing.to { vec![by_column, by_pivot] } else { vec![many, by_pivot, by_column] };
    let relation = DraftRelation {
        name: free(&candidates, |name| model.resources[crossing.from].is_taken(name)),
        many: true,
        target: target.full_name(),
        on: crossing.on.clone(),
        through: Some((pivot.table_text.clone(), crossing.beyond.clone())),
    };
    model.resources[crossing.from].relations.push(relation);
}
