//! The statements that find out why a write was refused: all faults of all rows.

use crate::catalog::write_rules::{TableConstraint, WriteOperation};
use crate::catalog::{Field, FieldId, Resource};
use crate::plan::predicate::{Alias, Column};
use crate::plan::write::{Change, RowChange, WritePlan};
use crate::sql::tree::KeyCount;
use crate::sql::{ChildLevel, Dialect, Kind, Sql, Writer, dialect};
use crate::value::Value;

use super::change::{delete, insert, update_columns, update_one};
use super::{Target, WriteQuery, keyed_level};

/// What to ask the database about a refused write, in one transaction that is rolled back.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnosis {
    /// What its SQL is written for.
    pub dialect: Dialect,
    pub operation: WriteOperation,
    /// Whether the payload is a list.
    pub is_list: bool,
    pub key_kinds: Vec<Kind>,
    pub target: Option<Target>,
    /// References that must lead to a row that the caller can read.
    pub references: Vec<KeyedCheck>,
    /// References that the payload changes in part.
    pub partial_references: Vec<PartialReference>,
    /// Unique keys of new rows.
    pub unique_keys: Vec<UniqueLookup>,
    pub increments: Vec<IncrementCheck>,
    pub rows: Vec<RowStatement>,
    pub after: Option<ChildLevel>,
    /// The constraints of the table, by name.
    pub constraints: Vec<TableConstraint>,
    /// The column of each field; empty for a derived one.
    pub columns: Vec<String>,
    pub table: String,
}

/// Rows that must exist for values of the payload.
#[derive(Clone, Debug)]
pub struct KeyedCheck {
    pub fields: Vec<FieldId>,
    pub kinds: Vec<Kind>,
    pub level: ChildLevel,
    /// For each row of the payload the values; none if it does not write all of them, or one is null.
    pub values: Vec<Option<Vec<Value>>>,
    /// For each new row the values that later rows can refer to, if the reference leads to the same resource.
    pub made: Vec<Option<Vec<Value>>>,
}

/// A reference of which an update writes a part. The stored row has the rest.
#[derive(Clone, Debug)]
pub struct PartialReference {
    pub fields: Vec<FieldId>,
    pub item: usize,
    /// The key of the row, if a list names it.
    pub key: Option<Vec<Value>>,
    /// Writes the fields of the reference alone.
    pub sql: Sql,
    /// The rows that lead to a row that the caller can read, or nowhere.
    pub level: ChildLevel,
}

/// Rows that must not exist for values of the payload.
#[derive(Clone, Debug)]
pub struct UniqueLookup {
    pub fields: Vec<FieldId>,
    pub kinds: Vec<Kind>,
    /// Returns the numbers of the keys that exist.
    pub sql: Sql,
    pub values: Vec<Option<Vec<Value>>>,
}

/// A field that the write adds to.
#[derive(Clone, Debug)]
pub struct IncrementCheck {
    pub field: FieldId,
    /// Adds to this field alone.
    pub sql: Sql,
    /// The rows within the bounds of the field, if it has any.
    pub range: Option<ChildLevel>,
}

/// The statement of one row by itself.
#[derive(Clone, Debug)]
pub struct RowStatement {
    pub sql: Sql,
    /// Whether it takes given keys.
    pub by_keys: bool,
    /// The values that it sets; none where it adds to what is there.
    pub values: Vec<(FieldId, Option<Value>)>,
}

/// What to ask about a refused write.
pub fn diagnosis(plan: &WritePlan<'_>, query: &WriteQuery) -> Diagnosis {
    let (resource, dialect) = (plan.resource, query.dialect);
    let operation = plan.form.operation();
    let kinds = |fields: &[FieldId]| fields.iter().map(|id| dialect::key_kind(dialect, &resource.fields[*id])).collect();
    let references = plan.references.iter().map(|reference| KeyedCheck {
        kinds: kinds(&reference.fields),
        level: keyed_level(resource, &reference.child, KeyCount::Any, dialect),
        values: plan.rows.iter().map(|row| values_of(row, &reference.fields)).collect(),
        made: plan.rows.iter().map(|row| values_of(row, reference.made_fields.as_ref()?)).collect(),
        fields: reference.fields.clone(),
    });
    let unique_keys = plan.rules.facts.unique_keys.iter().filter(|_| operation == WriteOperation::Create).map(|fields| UniqueLookup {
        kinds: kinds(fields),
        sql: existing(resource, fields, dialect),
        values: plan.rows.iter().map(|row| values_of(row, fields)).collect(),
        fields: fields.clone(),
    });
    let first = plan.rows.first();
    let added = first.into_iter().flat_map(|row| &row.changes).filter(|(id, change)| is_increment(plan, *id, change));
    let range = |id: FieldId| {
        plan.ranges.iter().find(|(field, _)| *field == id).map(|(_, child)| keyed_level(resource, child, KeyCount::Any, dialect))
    };
    let increments =
        added.map(|change| IncrementCheck { field: change.0, sql: update_columns(resource, [change], dialect), range: range(change.0) });
    Diagnosis {
        dialect,
        operation,
        is_list: plan.is_list,
        key_kinds: query.key_kinds.clone(),
        target: query.target.clone(),
        references: references.collect(),
        partial_references: partial_references(plan, dialect),
        unique_keys: unique_keys.filter(|lookup| lookup.values.iter().any(Option::is_some)).collect(),
        increments: increments.collect(),
        rows: rows(plan, query, dialect),
        after: plan.check.as_ref().map(|child| keyed_level(resource, child, KeyCount::Any, dialect)),
        constraints: plan.rules.facts.constraints.clone(),
        columns: resource.fields.iter().map(column_name).collect(),
        table: resource.table.name.plain().to_owned(),
    }
}

fn partial_references(plan: &WritePlan<'_>, dialect: Dialect) -> Vec<PartialReference> {
    let mut found = Vec::new();
    for reference in &plan.references {
        let Some(holders) = &reference.holders else { continue };
        for (item, row) in plan.rows.iter().enumerate() {
            let changes = || row.changes.iter().filter(|(id, _)| reference.fields.contains(id));
            let is_empty = changes().any(|(_, change)| *change == Change::Set(Value::Null));
            if changes().next().is_none() || is_empty || values_of(row, &reference.fields).is_some() {
                continue;
            }
            found.push(PartialReference {
                fields: reference.fields.clone(),
                item,
                key: plan.is_list.then(|| row.key.clone()),
                sql: update_columns(plan.resource, changes(), dialect),
                level: keyed_level(plan.resource, holders, KeyCount::Any, dialect),
            });
        }
    }
    found
}

fn column_name(field: &Field) -> String {
    if field.derived.is_some() { String::new() } else { field.column.plain().to_owned() }
}

fn is_increment(plan: &WritePlan<'_>, id: FieldId, change: &Change) -> bool {
    matches!(change, Change::Add(_)) && plan.rules.version != Some(id)
}

fn rows(plan: &WritePlan<'_>, query: &WriteQuery, dialect: Dialect) -> Vec<RowStatement> {
    let resource = plan.resource;
    match plan.form.operation() {
        WriteOperation::Create => {
            let insert = |row: &RowChange| {
                let mut fields: Vec<FieldId> = row.fields().collect();
                fields.sort_unstable();
                RowStatement { sql: insert(resource, &fields, row, dialect), by_keys: false, values: set_values(row) }
            };
            plan.rows.iter().map(insert).collect()
        }
        WriteOperation::Delete if resource.soft_delete.is_none() => {
            vec![RowStatement { sql: delete(resource, KeyCount::Any, dialect), by_keys: true, values: Vec::new() }]
        }
        _ if plan.is_list => {
            let update = |row: &RowChange| RowStatement {
                sql: update_one(resource, row, &row.key, dialect),
                by_keys: false,
                values: set_values(row),
            };
            plan.rows.iter().map(update).collect()
        }
        _ => {
            let values = plan.rows.first().map_or_else(Vec::new, set_values);
            query.changes.iter().map(|change| RowStatement { sql: change.sql.clone(), by_keys: true, values: values.clone() }).collect()
        }
    }
}

fn set_values(row: &RowChange) -> Vec<(FieldId, Option<Value>)> {
    let set = |(id, change): &(FieldId, Change)| match change {
        Change::Set(value) => (*id, Some(value.clone())),
        Change::Add(_) => (*id, None),
    };
    row.changes.iter().map(set).collect()
}

/// The values of these fields, if the row sets all of them and none is null.
fn values_of(row: &RowChange, fields: &[FieldId]) -> Option<Vec<Value>> {
    let value = |id: &FieldId| {
        row.changes.iter().find_map(|(field, change)| match change {
            Change::Set(value) if field == id && *value != Value::Null => Some(value.clone()),
            _ => None,
        })
    };
    fields.iter().map(value).collect()
}

/// The numbers of the keys that a row of the table has, in reach or not: a unique index tells as much.
fn existing(resource: &Resource, fields: &[FieldId], dialect: Dialect) -> Sql {
    let mut writer = Writer::new(dialect);
    let own: Vec<&Field> = fields.iter().map(|id| &resource.fields[*id]).collect();
    writer.raw("SELECT DISTINCT k.n FROM ");
    dialect::keys(&mut writer, &own);
    dialect::join_keys_first(&mut writer);
    writer.table_name(&resource.table);
    writer.raw(" AS t0 ON ");
    writer.enumerated(" AND ", &own, |writer, index, field| {
        dialect::join_column_to_key(writer, Column { alias: Alias(0), field }, field);
        writer.raw(" = k.v");
        writer.number(index);
    });
    writer.finish()
}
