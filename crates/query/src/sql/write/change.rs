//! The statements that change rows: INSERT, UPDATE and DELETE.

use crate::catalog::write_rules::WriteOperation;
use crate::catalog::{Field, FieldId, Resource};
use crate::plan::predicate::{Alias, Column, Comparison};
use crate::plan::write::{Change, RowChange, WritePlan};
use crate::sql::dialect::TargetColumn;
use crate::sql::tree::{KeyCount, Logic};
use crate::sql::{Dialect, Sql, Writer, dialect};
use crate::value::Value;

use super::WriteChange;

/// The only table of a statement that changes rows.
const TABLE: Alias = Alias(0);

pub(super) fn changes(plan: &WritePlan<'_>, count: KeyCount, dialect: Dialect) -> Vec<WriteChange> {
    let resource = plan.resource;
    match plan.form.operation() {
        WriteOperation::Create => inserts(resource, &plan.rows, dialect),
        WriteOperation::Delete if resource.soft_delete.is_none() => {
            vec![WriteChange { sql: delete(resource, count, dialect), more: Vec::new(), items: Vec::new() }]
        }
        _ if plan.is_list => {
            let each = |(item, row): (usize, &RowChange)| WriteChange {
                sql: update_one(resource, row, &row.key, dialect),
                more: Vec::new(),
                items: vec![item],
            };
            plan.rows.iter().enumerate().map(each).collect()
        }
        _ => {
            let sql = plan.rows.first().map(|row| update(resource, row, count, dialect));
            sql.into_iter().map(|sql| WriteChange { sql, more: Vec::new(), items: Vec::new() }).collect()
        }
    }
}

/// One INSERT for all rows with the same columns: a row may leave a column to the database. Rows that can refer to each other keep their
/// order.
fn inserts(resource: &Resource, rows: &[RowChange], dialect: Dialect) -> Vec<WriteChange> {
    let is_ordered = resource.references_to_itself().next().is_some();
    let mut groups: Vec<(Vec<FieldId>, Vec<usize>)> = Vec::new();
    for (item, row) in rows.iter().enumerate() {
        let mut fields: Vec<FieldId> = row.fields().collect();
        fields.sort_unstable();
        let first = if is_ordered { groups.len().saturating_sub(1) } else { 0 };
        match groups[first..].iter_mut().find(|(known, _)| *known == fields) {
            Some((_, items)) => items.push(item),
            None => groups.push((fields, vec![item])),
        }
    }
    // Within one statement a row could refer to a later one.
    let at_once =
        dialect::strategies(dialect).inserts_rows_at_once && !(is_ordered && rows.iter().any(|row| refers_to_itself(resource, row)));
    let group = |(fields, items): (Vec<FieldId>, Vec<usize>)| {
        if at_once && items.len() > 1 && !fields.is_empty() {
            return WriteChange { sql: insert_many(resource, &fields, rows, &items, dialect), more: Vec::new(), items };
        }
        let mut each = items.iter().map(|item| insert(resource, &fields, &rows[*item], dialect));
        let first = each.next();
        let more = each.map(|sql| sql.params).collect();
        WriteChange { sql: first.unwrap_or_else(|| Writer::new(dialect).finish()), more, items }
    };
    groups.into_iter().map(group).collect()
}

/// Whether the row may refer to another row of the resource.
fn refers_to_itself(resource: &Resource, row: &RowChange) -> bool {
    let own = resource.references_to_itself();
    own.flatten().any(|id| *value_of(row, id) != Value::Null)
}

fn value_of(row: &RowChange, id: FieldId) -> &Value {
    let found = row.changes.iter().find(|(field, _)| *field == id).map(|(_, change)| change);
    match found {
        Some(Change::Set(value)) => value,
        Some(Change::Add(_)) | None => &Value::Null,
    }
}

/// `INSERT INTO t (…) VALUES (…) RETURNING` the key.
pub(super) fn insert(resource: &Resource, fields: &[FieldId], row: &RowChange, dialect: Dialect) -> Sql {
    let mut writer = begin_insert(resource, fields, dialect);
    if fields.is_empty() {
        writer.raw(" DEFAULT VALUES");
    } else {
        writer.raw(" VALUES (");
        writer.separated(", ", fields, |writer, id| new_value(writer, resource, row, (*id, value_of(row, *id))));
        writer.raw(")");
    }
    returning(&mut writer, resource);
    writer.finish()
}

/// One statement with an array for each column. Rows are inserted in the order of the payload.
fn insert_many(resource: &Resource, fields: &[FieldId], rows: &[RowChange], items: &[usize], dialect: Dialect) -> Sql {
    let mut writer = begin_insert(resource, fields, dialect);
    let columns: Vec<(&Field, Vec<&Value>)> =
        fields.iter().map(|id| (&resource.fields[*id], items.iter().map(|item| value_of(&rows[*item], *id)).collect())).collect();
    dialect::inserted_rows(&mut writer, &columns);
    returning(&mut writer, resource);
    writer.finish()
}

fn begin_insert(resource: &Resource, fields: &[FieldId], dialect: Dialect) -> Writer {
    let mut writer = Writer::new(dialect);
    writer.raw("INSERT ");
    or_abort(&mut writer, resource);
    writer.raw("INTO ");
    writer.table_name(&resource.table);
    if !fields.is_empty() {
        writer.raw(" (");
        writer.separated(", ", fields, |writer, id| writer.identifier(&resource.fields[*id].column));
        writer.raw(")");
    }
    writer
}

/// A constraint of SQLite may delete the rows that are in the way, or skip the new one. The clause of a statement counts for its triggers
/// too, so it is there only where a constraint needs it.
fn or_abort(writer: &mut Writer, resource: &Resource) {
    if resource.write_rules().is_some_and(|rules| rules.facts.decides_conflicts) {
        writer.raw("OR ABORT ");
    }
}

fn returning(writer: &mut Writer, resource: &Resource) {
    writer.raw(" RETURNING ");
    writer.has_one_table = true;
    writer.separated(", ", resource.key_fields(), |writer, field| dialect::key(writer, Column { alias: TABLE, field }));
}

/// The value that a row gets. Where a foreign key compares what is stored, it is what the row that it leads to has.
fn new_value(writer: &mut Writer, resource: &Resource, row: &RowChange, (id, value): (FieldId, &Value)) {
    let field = &resource.fields[id];
    let foreign_keys = resource.write_rules().map_or(&[][..], |rules| &rules.facts.foreign_keys);
    let found = foreign_keys.iter().find(|foreign_key| foreign_key.fields.contains(&id));
    let Some(foreign_key) = found.filter(|_| dialect::has_several_forms(writer.dialect, field)) else {
        return dialect::stored_value(writer, field, value);
    };
    let columns = foreign_key.fields.iter().zip(&foreign_key.target_columns);
    let set = columns.filter_map(|(other, column)| {
        let (_, change) = row.changes.iter().find(|(changed, _)| changed == other)?;
        let Change::Set(value) = change else { return None };
        Some(TargetColumn { column, field: &resource.fields[*other], value })
    });
    let set: Vec<TargetColumn<'_>> = set.collect();
    let own = set.iter().position(|target| std::ptr::eq(target.field, field)).unwrap_or_default();
    dialect::referenced_value(writer, &foreign_key.target, &set, own);
}

/// An UPDATE of the rows with given keys.
fn update(resource: &Resource, row: &RowChange, count: KeyCount, dialect: Dialect) -> Sql {
    let mut writer = begin_update(resource, row, dialect);
    writer.raw(" WHERE ");
    by_keys(&mut writer, resource, count);
    writer.finish()
}

/// An UPDATE of the row with this key. It returns the key, so that a missing row is noticed.
pub(super) fn update_one(resource: &Resource, row: &RowChange, key: &[Value], dialect: Dialect) -> Sql {
    let mut writer = begin_update(resource, row, dialect);
    writer.raw(" WHERE ");
    by_values(&mut writer, resource, key);
    writer.finish()
}

/// An UPDATE of one column of the rows with given keys.
pub(super) fn update_column(resource: &Resource, change: &(FieldId, Change), dialect: Dialect) -> Sql {
    update(resource, &RowChange { changes: vec![change.clone()], ..RowChange::default() }, KeyCount::Any, dialect)
}

fn begin_update(resource: &Resource, row: &RowChange, dialect: Dialect) -> Writer {
    let mut writer = Writer::new(dialect);
    writer.raw("UPDATE ");
    or_abort(&mut writer, resource);
    writer.table_name(&resource.table);
    writer.raw(" AS t0 SET ");
    writer.separated(", ", &row.changes, |writer, (id, change)| {
        let field = &resource.fields[*id];
        writer.identifier(&field.column);
        writer.raw(" = ");
        match change {
            Change::Set(value) => new_value(writer, resource, row, (*id, value)),
            Change::Add(value) => dialect::added(writer, Column { alias: TABLE, field }, value),
        }
    });
    writer
}

/// A DELETE of the rows with given keys.
pub(super) fn delete(resource: &Resource, count: KeyCount, dialect: Dialect) -> Sql {
    let mut writer = Writer::new(dialect);
    writer.raw("DELETE FROM ");
    writer.table_name(&resource.table);
    writer.raw(" AS t0 WHERE ");
    by_keys(&mut writer, resource, count);
    writer.finish()
}

fn by_keys(writer: &mut Writer, resource: &Resource, count: KeyCount) {
    let fields: Vec<&Field> = resource.key_fields().collect();
    let column = |field| Column { alias: TABLE, field };
    if let [field] = fields[..]
        && dialect::can_list_keys(writer.dialect, field, field)
    {
        return dialect::in_key_list(writer, column(field), field, count);
    }
    writer.raw("(");
    writer.separated(", ", &fields, |writer, field| dialect::join_column_to_key(writer, column(field), field));
    writer.raw(") IN (SELECT ");
    writer.enumerated(", ", &fields, |writer, index, _| {
        writer.raw("k.v");
        writer.number(index);
    });
    writer.raw(" FROM ");
    dialect::keys(writer, &fields);
    writer.raw(")");
}

fn by_values(writer: &mut Writer, resource: &Resource, key: &[Value]) {
    writer.separated(" AND ", resource.key_fields().zip(key), |writer, (field, value)| {
        dialect::compare(writer, Column { alias: TABLE, field }, Comparison::Eq, value, Logic::UnknownIsFalse);
    });
}
