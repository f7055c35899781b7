//! The statements that find out why a write was refused: all faults of all rows.

use crate::catalog::write_rules::{TableFacts, TableForeignKey, WriteOperation};
use crate::catalog::{Field, FieldId, Identifier, Resource};
use crate::plan::predicate::{Alias, Column};
use crate::plan::write::{Change, RowChange, WritePlan};
use crate::sql::tree::{KeyCount, PivotColumn};
use crate::sql::{ChildLevel, Dialect, Kind, Sql, Writer, dialect};
use crate::value::{Value, order};

use super::change::{delete, insert, update_column, update_one};
use super::index_checks::index_checks;
use super::{IndexCheck, RepeatCheck, Target, WriteQuery, equal_keys, join_keys, keyed_level};

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
    pub references: Vec<ReferenceCheck>,
    /// Foreign keys that the write changes, beside those of the references.
    pub foreign_keys: Vec<ForeignKeyCheck>,
    /// Unique keys that the write changes.
    pub unique_keys: Vec<UniqueCheck>,
    /// Unique indexes that no list of columns describes.
    pub indexes: Vec<IndexCheck>,
    /// Unique keys that the database does not compare by value.
    pub repeats: Vec<RepeatCheck>,
    pub increments: Vec<IncrementCheck>,
    pub rows: Vec<RowStatement>,
    /// The postcondition without the references, which are checked by themselves.
    pub postcondition_without_references: Option<ChildLevel>,
    /// What the database enforces in the table.
    pub facts: TableFacts,
    /// The column of each field; empty for a derived one.
    pub columns: Vec<String>,
    pub table: String,
}

impl Diagnosis {
    /// The row of the payload that a changed row gets its values from.
    pub fn row_of(&self, changed: usize) -> usize {
        if self.is_list || self.operation == WriteOperation::Create { changed } else { 0 }
    }
}

/// The values that some fields have after the write, in each row that it changes.
#[derive(Clone, Debug)]
pub struct ValuesAfter {
    pub fields: Vec<FieldId>,
    pub kinds: Vec<Kind>,
    /// For each row of the payload the values that it sets, field by field; none if it writes no field of these.
    pub set: Vec<Option<Vec<Option<Value>>>>,
    /// Reads the fields of the rows with given keys, in the order of the keys, with what the write adds. None for new rows.
    pub stored: Option<Sql>,
    /// Whether the write adds to one of the fields.
    pub has_sum: bool,
}

/// A reference that must lead to a row that the caller can read.
#[derive(Clone, Debug)]
pub struct ReferenceCheck {
    pub after: ValuesAfter,
    /// The rows of the target that the caller can read.
    pub level: ChildLevel,
    /// For each new row the values that others can refer to, if the reference leads to the same resource.
    pub new_rows: Vec<Option<Vec<Value>>>,
    /// Whether the database has a foreign key for it. Then only earlier rows of the payload are there in time.
    pub has_foreign_key: bool,
    /// The rows in reach with a reference that leads to no row that the caller can read. They show what the database itself put into it.
    pub dangling: Option<ChildLevel>,
}

impl ReferenceCheck {
    /// Whether a new row refers to itself or to another row of the payload that is there in time.
    pub fn refers_to_new_row(&self, row: usize) -> bool {
        let in_time = if self.has_foreign_key { row + 1 } else { self.new_rows.len() };
        self.after.is_among(row, self.new_rows.iter().take(in_time))
    }
}

impl ValuesAfter {
    /// Whether the write gives the fields of this row the values of a new row.
    fn is_among<'v>(&self, row: usize, mut new_rows: impl Iterator<Item = &'v Option<Vec<Value>>>) -> bool {
        let Some(set) = self.set.get(row).and_then(Option::as_ref) else { return false };
        let is_same = |(new, value): (&Value, &Option<Value>)| value.as_ref().is_some_and(|value| order(new, value).is_eq());
        new_rows.any(|new_row| new_row.as_ref().is_some_and(|values| values.iter().zip(set).all(is_same)))
    }
}

/// A foreign key that the caller reads no relation by.
#[derive(Clone, Debug)]
pub struct ForeignKeyCheck {
    pub after: ValuesAfter,
    /// Returns the numbers of the keys that lead to a row.
    pub sql: Sql,
    /// For each new row the values that others can refer to, if the foreign key leads to the same table.
    pub new_rows: Vec<Option<Vec<Value>>>,
}

impl ForeignKeyCheck {
    /// Whether a new row refers to itself or to an earlier row of the payload.
    pub fn refers_to_new_row(&self, row: usize) -> bool {
        self.after.is_among(row, self.new_rows.iter().take(row + 1))
    }
}

/// A unique key of which no other row may have the values.
#[derive(Clone, Debug)]
pub struct UniqueCheck {
    pub after: ValuesAfter,
    /// Returns the numbers of the keys that a row has; in an update another row than the one whose own key follows.
    pub sql: Sql,
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
    let references = plan.references.iter().map(|reference| ReferenceCheck {
        after: values_after(plan, &reference.fields, dialect),
        level: keyed_level(resource, &reference.child, KeyCount::Any, dialect),
        new_rows: plan.rows.iter().map(|row| values_of(row, reference.new_row_fields.as_ref()?)).collect(),
        has_foreign_key: plan.rules.facts.has_foreign_key(&reference.fields),
        dangling: reference.dangling.as_ref().map(|dangling| keyed_level(resource, dangling, KeyCount::Any, dialect)),
    });
    let own_key: &[FieldId] = if plan.target.is_some() { &resource.key } else { &[] };
    let unique_keys = plan
        .rules
        .facts
        .unique_keys
        .iter()
        .map(|fields| UniqueCheck { after: values_after(plan, fields, dialect), sql: existing(resource, fields, own_key, dialect) });
    let first = plan.rows.first();
    let added = first.into_iter().flat_map(|row| &row.changes).filter(|(id, change)| is_increment(plan, *id, change));
    let range = |id: FieldId| {
        plan.ranges.iter().find(|(field, _)| *field == id).map(|(_, child)| keyed_level(resource, child, KeyCount::Any, dialect))
    };
    let increments =
        added.map(|change| IncrementCheck { field: change.0, sql: update_column(resource, change, dialect), range: range(change.0) });
    Diagnosis {
        dialect,
        operation: plan.form.operation(),
        is_list: plan.is_list,
        key_kinds: query.key_kinds.clone(),
        target: query.target.clone(),
        references: references.collect(),
        foreign_keys: foreign_keys(plan, dialect),
        unique_keys: unique_keys.filter(|check| check.after.set.iter().any(Option::is_some)).collect(),
        indexes: index_checks(plan, dialect),
        repeats: query.repeats.clone(),
        increments: increments.collect(),
        rows: rows(plan, query, dialect),
        postcondition_without_references: plan
            .postcondition_without_references
            .as_ref()
            .map(|child| keyed_level(resource, child, KeyCount::Any, dialect)),
        facts: plan.rules.facts.clone(),
        columns: resource.fields.iter().map(column_name).collect(),
        table: resource.table.name.plain().to_owned(),
    }
}

/// The foreign keys that the write changes. Citus may not join the keys with a table of several servers.
fn foreign_keys(plan: &WritePlan<'_>, dialect: Dialect) -> Vec<ForeignKeyCheck> {
    let is_reference = |found: &TableForeignKey| {
        let mut references = plan.references.iter();
        references
            .any(|reference| reference.fields.len() == found.fields.len() && reference.fields.iter().all(|id| found.fields.contains(id)))
    };
    let is_checked = |found: &&TableForeignKey| !dialect.has_several_servers() && !is_reference(found);
    let check = |found: &TableForeignKey| {
        let after = values_after(plan, &found.fields, dialect);
        let new_row_fields = fields_of_target(plan.resource, found);
        let new_rows = plan.rows.iter().map(|row| values_of(row, new_row_fields.as_ref()?)).collect();
        ForeignKeyCheck { after, sql: referred_to(plan.resource, found, dialect), new_rows }
    };
    let checks = plan.rules.facts.foreign_keys.iter().filter(is_checked).map(check);
    checks.filter(|check| check.after.set.iter().any(Option::is_some)).collect()
}

/// The fields that a foreign key leads to, if it leads to the same table.
fn fields_of_target(resource: &Resource, found: &TableForeignKey) -> Option<Vec<FieldId>> {
    let field = |column: &Identifier| resource.stored_fields().find(|(_, field)| field.column == *column).map(|(id, _)| id);
    let is_same = found.target.name == resource.table.name;
    is_same.then(|| found.target_columns.iter().map(field).collect())?
}

/// The numbers of the keys that lead to a row.
fn referred_to(resource: &Resource, found: &TableForeignKey, dialect: Dialect) -> Sql {
    let fields: Vec<&Field> = found.fields.iter().map(|id| &resource.fields[*id]).collect();
    let mut writer = Writer::new(dialect);
    writer.raw("SELECT DISTINCT k.n FROM ");
    dialect::keys(&mut writer, &fields);
    dialect::join_keys_first(&mut writer);
    writer.table_name(&found.target);
    writer.raw(" AS t0 ON ");
    writer.enumerated(" AND ", fields.iter().zip(&found.target_columns), |writer, index, (field, column)| {
        dialect::pivot_column(writer, PivotColumn { alias: Some(Alias(0)), column, field });
        dialect::pivot_collation(writer, field);
        writer.raw(" = k.v");
        writer.number(index);
    });
    writer.finish()
}

fn values_after(plan: &WritePlan<'_>, fields: &[FieldId], dialect: Dialect) -> ValuesAfter {
    let resource = plan.resource;
    ValuesAfter {
        fields: fields.to_vec(),
        kinds: fields.iter().map(|id| dialect::key_kind(dialect, &resource.fields[*id])).collect(),
        set: plan.rows.iter().map(|row| set_parts(row, fields).map(|set| key_values(resource, fields, set, dialect))).collect(),
        stored: plan.target.is_some().then(|| stored(plan, fields, dialect)),
        has_sum: fields.iter().any(|id| plan.adds_to(*id)),
    }
}

fn key_values(resource: &Resource, fields: &[FieldId], set: Vec<Option<Value>>, dialect: Dialect) -> Vec<Option<Value>> {
    let part = |(id, value): (&FieldId, Option<Value>)| value.map(|value| dialect::key_value(dialect, &resource.fields[*id], &value));
    fields.iter().zip(set).map(part).collect()
}

/// What the row sets of these fields; none if it writes none of them.
fn set_parts(row: &RowChange, fields: &[FieldId]) -> Option<Vec<Option<Value>>> {
    let changes: Vec<Option<&Change>> = fields.iter().map(|id| change_of(row, *id)).collect();
    let set = |change: Option<&Change>| match change {
        Some(Change::Set(value)) => Some(value.clone()),
        Some(Change::Add(_)) | None => None,
    };
    changes.iter().any(Option::is_some).then(|| changes.iter().copied().map(set).collect())
}

fn change_of(row: &RowChange, id: FieldId) -> Option<&Change> {
    row.changes.iter().find(|(field, _)| *field == id).map(|(_, change)| change)
}

/// The fields of the rows with given keys, with what the write adds.
fn stored(plan: &WritePlan<'_>, fields: &[FieldId], dialect: Dialect) -> Sql {
    let resource = plan.resource;
    let own: Vec<&Field> = resource.key_fields().collect();
    let mut writer = Writer::new(dialect);
    writer.raw("SELECT ");
    writer.separated(", ", fields, |writer, id| {
        let column = Column { alias: Alias(0), field: &resource.fields[*id] };
        match plan.rows.first().and_then(|row| change_of(row, *id)) {
            Some(Change::Add(value)) => dialect::added_key(writer, column, value),
            Some(Change::Set(_)) | None => dialect::key(writer, column),
        }
    });
    writer.raw(" FROM ");
    dialect::keys(&mut writer, &own);
    join_keys(&mut writer, resource, &own);
    writer.raw(" ORDER BY k.n");
    writer.finish()
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
    let values: Vec<Value> = set_parts(row, fields)?.into_iter().collect::<Option<_>>()?;
    Some(values).filter(|values| !values.contains(&Value::Null))
}

/// The numbers of the keys that a row of the table has, in reach or not: a unique index tells as much. A row with the own key that follows
/// in the same key does not count.
fn existing(resource: &Resource, fields: &[FieldId], own_key: &[FieldId], dialect: Dialect) -> Sql {
    let field = |id: &FieldId| &resource.fields[*id];
    let (unique, own): (Vec<&Field>, Vec<&Field>) = (fields.iter().map(field).collect(), own_key.iter().map(field).collect());
    let mut writer = Writer::new(dialect);
    writer.raw("SELECT DISTINCT k.n FROM ");
    dialect::keys(&mut writer, &[unique.as_slice(), &own].concat());
    join_keys(&mut writer, resource, &unique);
    if !own.is_empty() {
        writer.raw(" AND NOT (");
        equal_keys(&mut writer, &own, unique.len());
        writer.raw(")");
    }
    writer.finish()
}
