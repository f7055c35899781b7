//! The statements that find conflicts with unique indexes on expressions, or on some rows only. They evaluate the expressions of the index on
//! the new values, and on the rows of the table.

use crate::catalog::write_rules::{UniqueIndex, WriteOperation};
use crate::catalog::{Field, FieldId, Resource};
use crate::plan::predicate::{Alias, Column};
use crate::plan::write::{Change, RowChange, WritePlan};
use crate::sql::{Dialect, Sql, Writer, dialect};
use crate::value::Value;

use super::join_keys;

/// A unique index that no list of columns describes.
#[derive(Clone, Debug)]
pub struct IndexCheck {
    pub fields: Vec<FieldId>,
    /// For each row of the payload a statement that returns the numbers of the given keys whose row would conflict with a row that the write
    /// does not change; for a new row the number of the first key. None for a row without a new value in the index.
    pub rows: Vec<Option<Sql>>,
    /// Whether the write adds to a column of the index.
    pub has_sum: bool,
}

pub(super) fn index_checks(plan: &WritePlan<'_>, dialect: Dialect) -> Vec<IndexCheck> {
    let check = |index: &UniqueIndex| {
        let rows = plan.rows.iter().enumerate().map(|(item, row)| conflicting(plan, index, (item, row), dialect)).collect();
        let fields = index.columns.iter().filter_map(|column| column.field);
        IndexCheck { fields: index.fields.clone(), rows, has_sum: fields.into_iter().any(|id| plan.adds_to(id)) }
    };
    let checks = plan.rules.facts.indexes.iter().filter(|_| !dialect.has_several_servers()).map(check);
    checks.filter(|check| check.rows.iter().any(Option::is_some)).collect()
}

fn change_of(row: &RowChange, field: Option<FieldId>) -> Option<&Change> {
    row.changes.iter().find(|(id, _)| Some(*id) == field).map(|(_, change)| change)
}

/// The statement of one row of the payload.
fn conflicting(plan: &WritePlan<'_>, index: &UniqueIndex, (item, row): (usize, &RowChange), dialect: Dialect) -> Option<Sql> {
    let resource = plan.resource;
    let is_create = plan.form.operation() == WriteOperation::Create;
    let is_set = |field: Option<FieldId>| change_of(row, field).is_some();
    let is_known = if is_create {
        // The database fills the others.
        index.columns.iter().all(|column| is_set(column.field) || !column.is_filled)
    } else {
        index.columns.iter().any(|column| is_set(column.field)) && !index.columns.iter().any(|column| column.is_generated)
    };
    if !is_known {
        return None;
    }
    let mut writer = Writer::new(dialect);
    writer.raw("SELECT DISTINCT n._n FROM (SELECT _n, ");
    parts(&mut writer, index);
    writer.raw(" FROM (SELECT ");
    candidate(&mut writer, resource, index, (row, is_create));
    if plan.is_list && !is_create {
        writer.raw(" WHERE k.n = ");
        writer.bind_count(dialect::first_key_number(dialect) + item as u64);
    }
    writer.raw(") AS c");
    condition(&mut writer, index);
    writer.raw(") AS n JOIN (SELECT ");
    parts(&mut writer, index);
    let own: Vec<&Field> = resource.key_fields().collect();
    writer.enumerated("", &own, |writer, number, field| {
        writer.raw(", ");
        dialect::join_column_to_key(writer, Column { alias: Alias(0), field }, field);
        writer.raw(" AS _k");
        writer.number(number);
    });
    writer.raw(" FROM ");
    writer.table_name(&resource.table);
    writer.raw(" AS t0");
    condition(&mut writer, index);
    writer.raw(") AS o ON ");
    writer.enumerated(" AND ", &index.parts, |writer, number, part| {
        writer.raw("n._p");
        writer.number(number);
        writer.raw(" = o._p");
        writer.number(number);
        if let Some(collation) = &part.collation {
            dialect::index_collation(writer, collation);
        }
    });
    if !is_create {
        // The database decides whether the rows of the write make way for each other.
        writer.raw(" WHERE NOT EXISTS (SELECT 1 FROM ");
        dialect::keys(&mut writer, &own);
        writer.raw(" WHERE ");
        writer.enumerated(" AND ", &own, |writer, number, _| {
            writer.raw("o._k");
            writer.number(number);
            writer.raw(" = k.v");
            writer.number(number);
        });
        writer.raw(")");
    }
    Some(writer.finish())
}

/// The values that the row would have in the columns of the index.
fn candidate(writer: &mut Writer, resource: &Resource, index: &UniqueIndex, (row, is_create): (&RowChange, bool)) {
    if is_create {
        let first = dialect::first_key_number(writer.dialect);
        writer.bind_count(first);
    } else {
        writer.raw("k.n");
    }
    writer.raw(" AS _n");
    for column in &index.columns {
        writer.raw(", ");
        let field = column.field.map(|id| &resource.fields[id]);
        match (change_of(row, column.field), field) {
            (Some(Change::Set(value)), Some(field)) => dialect::stored_value(writer, field, value),
            (Some(Change::Add(value)), Some(field)) => dialect::added(writer, Column { alias: Alias(0), field }, value),
            (None, Some(field)) if is_create => dialect::stored_value(writer, field, &Value::Null),
            _ if is_create => writer.raw("NULL"),
            _ => {
                writer.raw("t0.");
                writer.identifier(&column.name);
            }
        }
        writer.raw(" AS ");
        writer.identifier(&column.name);
    }
    if !is_create {
        let own: Vec<&Field> = resource.key_fields().collect();
        writer.raw(" FROM ");
        dialect::keys(writer, &own);
        join_keys(writer, resource, &own);
    }
}

/// The expressions of the index, which the database itself has written.
fn parts(writer: &mut Writer, index: &UniqueIndex) {
    writer.enumerated(", ", &index.parts, |writer, number, part| {
        writer.raw("(");
        writer.text.push_str(&part.expression);
        writer.raw(") AS _p");
        writer.number(number);
    });
}

fn condition(writer: &mut Writer, index: &UniqueIndex) {
    if let Some(condition) = &index.condition {
        writer.raw(" WHERE (");
        writer.text.push_str(condition);
        writer.raw(")");
    }
}
