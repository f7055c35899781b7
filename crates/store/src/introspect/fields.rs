//! Drafts the fields of a resource, in the order of the columns.

use query::catalog::{Field, Resource, Stored};
use query::sql::Dialect;
use query::types::{Scalar, Type};

use crate::schema::{Column, Table, same};

use super::kind::{self, offered, stored};
use super::model::{Draft, DraftField, Model};
use super::naming::{camel, free, lost_characters};

/// The existing fields, and one for each new column that no resource of the table has.
pub(super) fn fields(draft: &mut Draft, behind: &[&Resource], model: &Model) {
    let (table, dialect) = (draft.table, model.dialect);
    if let Some(resource) = behind.first() {
        draft.fields = resource
            .fields
            .iter()
            .enumerate()
            .map(|(id, field)| DraftField { key: resource.key.contains(&id), ..declared(field, table, dialect) })
            .collect();
    }
    let kinds: Vec<(&Column, Option<Type>)> = table.columns.iter().map(|column| (column, offered(column, dialect))).collect();
    // A key is declared whole or not at all, and never added to a resource that has one.
    let is_key_column = |column: &Column| table.primary_key.contains(&column.name);
    let can_be_key = |kind: &Option<Type>| kind.as_ref().is_some_and(|kind| kind.family().is_some());
    let key_is_whole = draft.is_new && kinds.iter().all(|(column, kind)| !is_key_column(column) || can_be_key(kind));
    for (column, kind) in kinds {
        let is_mapped = |resource: &&Resource| resource.stored_fields().any(|(_, field)| same(field.column.plain(), &column.name, dialect));
        if model.seen.tables.has_column(table, &column.name, model.dialect) || behind.iter().any(is_mapped) {
            continue;
        }
        match kind {
            Some(kind) => {
                let (key, field) = (key_is_whole && is_key_column(column), fresh(draft, column, kind, dialect));
                draft.fields.push(DraftField { key, not_null: field.not_null && !key, ..field });
            }
            None if model.seen.left_out.has_column(table, &column.name, model.dialect) => {}
            None => draft.notes.push(unreadable(column)),
        }
    }
}

fn fresh(draft: &mut Draft, column: &Column, kind: Type, dialect: Dialect) -> DraftField {
    if kind::is_other_time(column) {
        let (native, read_as) = (column.native_name(), kind.name());
        let note = format!("column {:?} ({native}) holds numbers that are no seconds since 1970, read as {read_as}", column.name);
        draft.notes.push(note);
    }
    draft.notes.extend(lost_characters("column", &column.name));
    let wished = Some(camel(&column.name)).filter(|name| !name.is_empty()).unwrap_or_else(|| "field".to_owned());
    let name = free(&[wished], |name| draft.is_taken(name));
    let is_timestamp = dialect == Dialect::Sqlite && kind == Type::One(Scalar::Timestamp);
    let stored = if is_timestamp { stored(column) } else { Stored::Standard };
    DraftField {
        name,
        column: column.name.clone(),
        kind,
        key: false,
        not_null: !column.nullable,
        stored,
        is_new: true,
        write: None,
        max_length: None,
    }
}

fn unreadable(column: &Column) -> String {
    let reason = match column {
        Column { name, .. } if name.is_empty() => "a manifest cannot name it",
        Column { forbidden: true, .. } => "the database user may not read it",
        Column { unknown_type: true, .. } => "neither a declaration nor its values tell one type",
        _ => "no type reads it",
    };
    let native = if column.unknown_type { String::new() } else { format!(" ({})", column.native_name()) };
    format!("column {:?}{native} is left out: {reason}", column.name)
}

fn declared(field: &Field, table: &Table, dialect: Dialect) -> DraftField {
    let found = || table.column(field.column.plain(), dialect).map_or(field.column.plain(), |column| column.name.as_str());
    let column = if field.derived.is_some() { "" } else { found() };
    DraftField {
        name: field.name.clone(),
        column: column.to_owned(),
        kind: field.kind.clone(),
        key: false,
        not_null: !field.nullable,
        stored: field.stored,
        is_new: false,
        write: None,
        max_length: None,
    }
}
