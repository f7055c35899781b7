//! Finds pivots: tables with two foreign keys and nothing else, or with a key of exactly these columns and only an id and times besides.

use query::types::{Scalar, Type};

use crate::schema::{ForeignKey, Table};

use super::kind::offered;
use super::model::{Draft, Model};

pub(super) fn foreign_keys(table: &Table) -> Vec<&ForeignKey> {
    let mut keys: Vec<&ForeignKey> = Vec::new();
    for foreign_key in &table.foreign_keys {
        if !keys.contains(&foreign_key) {
            keys.push(foreign_key);
        }
    }
    keys
}

pub(super) fn sides(table: &Table) -> Option<(&ForeignKey, &ForeignKey)> {
    let keys = foreign_keys(table);
    let [left, right] = keys.as_slice() else { return None };
    let within = |columns: &[String], other: &[String]| columns.iter().all(|column| other.contains(column));
    let joins_itself = [left, right].iter().any(|side| side.schema == table.schema && side.table == table.name);
    if joins_itself || within(&left.columns, &right.columns) || within(&right.columns, &left.columns) {
        return None;
    }
    let of_sides = |column: &String| left.columns.contains(column) || right.columns.contains(column);
    let is_key = |key: &&Vec<String>| key.iter().all(of_sides) && within(&left.columns, key) && within(&right.columns, key);
    // Without other columns a pair may occur twice.
    if !only_joins(table, left, right) {
        table.keys().find(is_key)?;
    }
    let tells_nothing = table.columns.iter().all(|column| {
        let of_time = ["timestamp", "timestamptz", "date", "datetime"].contains(&column.native.to_ascii_lowercase().as_str());
        of_sides(&column.name) || of_time || table.primary_key.contains(&column.name) || column.name.eq_ignore_ascii_case("id")
    });
    tells_nothing.then_some((*left, *right))
}

fn only_joins(table: &Table, left: &ForeignKey, right: &ForeignKey) -> bool {
    table.columns.iter().all(|column| left.columns.contains(&column.name) || right.columns.contains(&column.name))
}

/// A many-to-many relation to name and write.
pub(super) struct Crossing {
    pub(super) pivot: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) on: Vec<(String, String)>,
    pub(super) beyond: Vec<(String, String)>,
    /// The column that leads to the other side, for a name.
    pub(super) column: String,
}

/// All new crossings in both directions. Pure pivots get no resource.
pub(super) fn crossings(model: &mut Model) -> Vec<Crossing> {
    let mut crossings = Vec::new();
    for pivot in 0..model.resources.len() {
        let table = model.resources[pivot].table;
        let Some((left, right)) = sides(table) else { continue };
        let was_offered = model.seen.has_link(table, left, model.dialect) && model.seen.has_link(table, right, model.dialect);
        let known = was_offered || model.known_pivots.contains(&(table.schema.clone(), table.name.clone()));
        let (there, back) = (crossing(model, pivot, left, right), crossing(model, pivot, right, left));
        let is_target = model.resources.iter().any(|other| {
            other.table.foreign_keys.iter().any(|foreign_key| foreign_key.schema == table.schema && foreign_key.table == table.name)
        });
        let both = there.is_some() && back.is_some();
        if there.is_some() || back.is_some() {
            model.linked.extend([(table, left), (table, right)]);
        }
        model.resources[pivot].left_out =
            model.resources[pivot].is_new && only_joins(table, left, right) && (known || (both && !is_target));
        let is_new = model.resources[pivot].is_new && !known;
        let found = there.into_iter().chain(back);
        crossings.extend(found.filter(|crossing| is_new || model.resources[crossing.from].is_new || model.resources[crossing.to].is_new));
    }
    crossings
}

fn crossing(model: &Model, pivot: usize, from: &ForeignKey, to: &ForeignKey) -> Option<Crossing> {
    let (start, end) = (model.place(from)?, model.place(to)?);
    if !model.resources[end].has_key() {
        return None;
    }
    let table = model.resources[pivot].table;
    let on = ends(model, table, from, &model.resources[start])?.into_iter().map(|(column, field)| (field, column)).collect();
    let beyond = ends(model, table, to, &model.resources[end])?;
    Some(Crossing { pivot, from: start, to: end, on, beyond, column: to.columns.last()?.clone() })
}

fn ends(model: &Model, pivot: &Table, foreign_key: &ForeignKey, draft: &Draft) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    for (column, target) in foreign_key.columns.iter().zip(&foreign_key.target_columns) {
        let field = draft.field(target)?;
        let kind = offered(pivot.column(column, model.dialect)?, model.dialect)?;
        // A native enum cannot be compared with the strings that look up its rows.
        let is_enum = matches!(kind, Type::One(Scalar::Enum(_)));
        if is_enum || kind.family().is_none() || kind.family() != field.kind.family() {
            return None;
        }
        pairs.push((column.clone(), field.name.clone()));
    }
    Some(pairs)
}
