//! Offers writes of the tables: the operations that the table and the database user allow, and the fields that a payload may have.

use query::manifest::FieldWrite;
use query::sql::Dialect;
use query::types::{Scalar, Type};

use crate::schema::affinity::{Contradiction, contradiction};
use crate::schema::{Changes, Column, OwnValue, Table};

use super::model::{Draft, DraftField, Model};
use super::native::takes_values;

/// Adds operations to new resources with a key, and `write` to new fields of resources with operations.
pub(super) fn offer(model: &mut Model) {
    let (dialect, refused) = (model.dialect, model.schema.refuses_writes.as_deref());
    hide_from_writes(model);
    for draft in model.resources.iter_mut().filter(|draft| !draft.left_out) {
        if draft.is_new {
            draft.writes = operations(draft, refused, dialect);
        }
        let (table, writes) = (draft.table, draft.writes);
        for field in draft.fields.iter_mut().filter(|field| field.is_new) {
            let Some(column) = table.column(&field.column, dialect) else { continue };
            let accepted = accepted(field, column, (table, dialect));
            let write = FieldWrite { create: accepted.create && writes.insert, update: accepted.update && writes.update };
            let lossy = contradiction(&field.kind, field.stored, column).filter(|found| dialect == Dialect::Sqlite && found.loses_values);
            if let Some(Contradiction { reason, .. }) = lossy.filter(|_| writes.insert || writes.update) {
                draft.notes.push(format!("column {:?} takes no writes: {reason}", column.name));
            }
            // A column is denied by a privilege of its own, if its table is not.
            let denied =
                [(column.insert_forbidden && writes.insert, "create"), (column.update_forbidden && writes.update && !field.key, "update")];
            let denied: Vec<_> = denied.into_iter().filter_map(|(is_denied, word)| is_denied.then_some(word)).collect();
            if !denied.is_empty() && !column.own_value.is_fixed() {
                draft.notes.push(format!(
                    "column {:?} takes no value in {}: the database user may not write it",
                    column.name,
                    denied.join(" and ")
                ));
            }
            if write.create || write.update {
                field.write = Some(write);
                field.max_length = column.max_length.filter(|_| field.kind == Type::One(Scalar::Text));
            }
        }
        if draft.is_new && writes.insert && writes.update {
            draft.keys = keys(draft);
        }
    }
}

/// Notes which new resources the role of writes cannot write, because it cannot read their rows or those that a reference leads to.
fn hide_from_writes(model: &mut Model) {
    let unread: Vec<String> = model.resources.iter().filter(|draft| draft.table.unread_by_writes).map(Draft::full_name).collect();
    for draft in &mut model.resources {
        let references = draft.relations.iter().filter(|relation| !relation.many).map(|relation| &relation.target);
        let own = draft.full_name();
        let hidden = std::iter::once(&own).chain(references).find(|name| unread.contains(name));
        draft.unwritable = hidden.map(|name| format!("the user of DATABASE_WRITE_URL cannot read `{name}`, as a write does"));
    }
}

/// The operations in which a column takes a value of a payload. A key that the database makes takes none, unless it refers to another row.
fn accepted(field: &DraftField, column: &Column, (table, dialect): (&Table, Dialect)) -> FieldWrite {
    let loses_values = || contradiction(&field.kind, field.stored, column).is_some_and(|found| found.loses_values);
    let is_kept = if dialect == Dialect::Sqlite { !loses_values() } else { takes_values(&field.kind, column) };
    let is_plain = !column.own_value.is_fixed() && is_kept;
    let is_reference = || table.foreign_keys.iter().any(|foreign_key| foreign_key.columns.contains(&column.name));
    let is_chosen = !field.key || column.own_value == OwnValue::None || is_reference();
    FieldWrite { create: is_plain && is_chosen && !column.insert_forbidden, update: is_plain && !field.key && !column.update_forbidden }
}

fn operations(draft: &mut Draft, refused: Option<&str>, dialect: Dialect) -> Changes {
    let table = draft.table;
    if !draft.has_key() || table.is_view || table.is_foreign_table {
        return Changes::default();
    }
    if let Some(reason) = refused {
        draft.notes.push(format!("writes are left out: {reason}"));
        return Changes::default();
    }
    if let Some(broken) = table.broken_foreign_keys.first() {
        draft.notes.push(format!("writes are left out: SQLite refuses changes for {}", broken.reason));
        return Changes::default();
    }
    if let Some(reason) = &draft.unwritable {
        let note = format!("writes are left out: {reason}");
        draft.notes.push(note);
        return Changes::default();
    }
    let may_insert = table.columns.iter().any(|column| !column.insert_forbidden);
    // A delete locks its rows, which needs UPDATE.
    let may_update = table.columns.iter().any(|column| !column.update_forbidden);
    let may_delete = may_update && !table.delete_forbidden;
    if !(may_insert || may_update || may_delete) {
        draft.notes.push("writes are left out: the database user may not change rows".to_owned());
        return Changes::default();
    }
    let missing = if may_insert { missing_value(draft, table, dialect) } else { Some("the database user may not insert rows".to_owned()) };
    draft.notes.extend(missing.iter().map(|reason| format!("`create` is left out: {reason}")));
    let lacking = [("update", may_update), ("delete", may_delete)].into_iter().filter(|(_, is_allowed)| !is_allowed);
    draft.notes.extend(lacking.map(|(word, _)| format!("`{word}` is left out: the database user may not {word} rows")));
    let updated =
        |field: &DraftField| table.column(&field.column, dialect).is_some_and(|column| accepted(field, column, (table, dialect)).update);
    Changes { insert: missing.is_none(), update: draft.fields.iter().any(updated), delete: may_delete }
}

/// Why the database refuses every new row: a column that needs a value and takes none.
fn missing_value(draft: &Draft, table: &Table, dialect: Dialect) -> Option<String> {
    table.columns.iter().find_map(|column| {
        if let Some(sequence) = &column.forbidden_sequence {
            return Some(format!("the database user may not use the sequence {sequence} of column {:?}", column.name));
        }
        let field = draft.field(&column.name);
        let needs_value = column.own_value == OwnValue::None && (column.required || field.is_some_and(|field| field.key));
        let takes_value = || field.is_some_and(|field| accepted(field, column, (table, dialect)).create);
        (needs_value && !takes_value()).then(|| format!("column {:?} needs a value, and no payload can have one", column.name))
    })
}

/// The unique keys beside the primary key that a payload can have.
fn keys(draft: &Draft) -> Vec<Vec<String>> {
    let mut keys: Vec<Vec<String>> = Vec::new();
    for key in &draft.table.unique_keys {
        let fields = key.iter().map(|column| draft.field(column).filter(|field| field.write.is_some_and(|write| write.create)));
        let names: Option<Vec<String>> = fields.map(|field| field.map(|field| field.name.clone())).collect();
        keys.extend(names.filter(|names| !keys.contains(names)));
    }
    keys
}
