//! [`WritePlan`] → SQL: the statements of a write, in the order in which a transaction runs them.

mod change;
mod diagnosis;
mod index_checks;
mod repeats;

use crate::catalog::write_rules::WriteOperation;
use crate::catalog::{Field, Resource};
use crate::payload::WriteForm;
use crate::plan::predicate::{Alias, Column};
use crate::plan::write::WritePlan;
use crate::plan::{Child, Select};
use crate::pointer::Layer;
use crate::value::Value;

use super::tree::{ColumnUse, Expression, GroupBy, KeyCount, RowLock, SelectList, SqlSelect};
use super::{ChildLevel, Dialect, Kind, Level, Param, Sql, Writer, dialect, level, print, row_source};

pub use diagnosis::{Diagnosis, ForeignKeyCheck, IncrementCheck, ReferenceCheck, RowStatement, UniqueCheck, ValuesAfter, diagnosis};
pub use index_checks::IndexCheck;
pub use repeats::RepeatCheck;

/// A write ready to run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteQuery {
    /// What its SQL is written for. The transaction around it has to fit: where rows are not locked, it must find conflicts.
    pub dialect: Dialect,
    pub form: WriteForm,
    /// The types that the columns of the key are bound as.
    pub key_kinds: Vec<Kind>,
    /// How to find and lock the rows; none for a create.
    pub target: Option<Target>,
    /// The rows with given keys that are as they must be before the change, and the layer that asks for it.
    pub preconditions: Vec<(Layer, ChildLevel)>,
    pub changes: Vec<WriteChange>,
    /// Unique keys to check after the change, because the database does not compare them by value.
    pub repeats: Vec<RepeatCheck>,
    /// The rows with given keys that are as they must be after the change.
    pub postcondition: Option<ChildLevel>,
    /// The rows of the answer; none if only their number is asked for.
    pub answer: Option<ChildLevel>,
    /// Whether the answer has one row rather than a list.
    pub is_one: bool,
    pub dry_run: bool,
    /// The relations that lead to rows on other servers, for the message of a write that Citus refuses.
    pub distant_relations: Vec<String>,
}

impl WriteQuery {
    /// Whether the answer shows rows as they were before.
    pub fn answers_before(&self) -> bool {
        self.form.operation() == WriteOperation::Delete
    }

    /// The change of rows that are known before, if nothing stands between it and the answer.
    pub fn only_change(&self) -> Option<&WriteChange> {
        let is_last = !self.answers_before() && self.postcondition.is_none() && self.repeats.is_empty();
        match &self.changes[..] {
            [change] if self.target.is_some() && is_last && change.more.is_empty() => Some(change),
            _ => None,
        }
    }
}

/// The rows that a write changes.
#[derive(Clone, Debug)]
pub struct Target {
    /// Reads the columns of the keys, and locks the rows unless `lock` does.
    pub level: Level,
    /// Locks the rows with given keys, where `order` or `limit` chose them.
    pub lock: Option<ChildLevel>,
    /// The keys that the request names, in its order.
    pub keys: Option<Vec<Vec<Value>>>,
    /// The most rows that may be found.
    pub max_rows: u64,
}

/// A statement that changes rows.
#[derive(Clone, Debug)]
pub struct WriteChange {
    pub sql: Sql,
    /// The parameters of further runs of the same text.
    pub more: Vec<Vec<Param>>,
    /// The rows of the payload that its runs change, in order; empty if it changes the rows with given keys.
    pub items: Vec<usize>,
}

/// Renders a write. It cannot fail: the plan is checked.
pub fn render(plan: &WritePlan<'_>, dialect: Dialect) -> WriteQuery {
    let resource = plan.resource;
    let is_one = plan.form.takes_id() || (plan.form == WriteForm::Create && !plan.is_list);
    let count = if is_one { KeyCount::One } else { KeyCount::Any };
    let keyed = |child: &Child<'_>| keyed_level(resource, child, count, dialect);
    let target = plan.target.as_ref().map(|target| {
        let row_lock = if deletes(plan) { RowLock::Delete } else { RowLock::Change };
        let is_locked_later = target.is_chosen && dialect::strategies(dialect).locks_rows;
        Target {
            level: target_level(&target.select, (!is_locked_later).then_some(row_lock), dialect),
            lock: is_locked_later.then(|| lock(plan, row_lock, dialect)).flatten(),
            keys: target.keys.as_ref().map(|keys| keys.iter().map(|key| named_key(resource, key, dialect)).collect()),
            max_rows: target.max_rows,
        }
    });
    WriteQuery {
        dialect,
        form: plan.form,
        key_kinds: resource.key_fields().map(|field| dialect::key_kind(dialect, field)).collect(),
        target,
        preconditions: plan.preconditions.iter().map(|(layer, child)| (*layer, keyed(child))).collect(),
        changes: change::changes(plan, count, dialect),
        repeats: repeats::repeats(plan, dialect),
        postcondition: plan.postcondition.as_ref().map(keyed),
        answer: plan.answer.as_ref().map(keyed),
        is_one,
        dry_run: plan.dry_run,
        distant_relations: if dialect.has_several_servers() { plan.distant_relations() } else { Vec::new() },
    }
}

/// A key that a request names, as its columns hold it.
fn named_key(resource: &Resource, key: &[Value], dialect: Dialect) -> Vec<Value> {
    resource.key_fields().zip(key).map(|(field, value)| dialect::key_value(dialect, field, value)).collect()
}

/// Whether the write removes rows from the table.
fn deletes(plan: &WritePlan<'_>) -> bool {
    plan.form.operation() == WriteOperation::Delete && plan.resource.soft_delete.is_none()
}

/// The rows with given keys.
fn keyed_level(resource: &Resource, child: &Child<'_>, count: KeyCount, dialect: Dialect) -> ChildLevel {
    let (owner, level) = level::child_level(resource, child, count, dialect);
    let parent_columns = (0..child.relation.join_columns.own_fields().len()).collect();
    ChildLevel { key: child.relation.json_key.clone(), many: child.relation.many, parent_columns, owner, level }
}

/// The keys of the rows that a select finds.
fn target_level(select: &Select<'_>, lock: Option<RowLock>, dialect: Dialect) -> Level {
    let table = &select.source.table;
    let columns = table.resource.key.iter().map(|id| Expression::Column(table.column(*id), ColumnUse::Key)).collect();
    let tree = row_source::select(SelectList::unnamed(columns), &select.source, GroupBy::Nothing, dialect);
    let locked = lock.map(|lock| (table.alias, lock));
    let tree = SqlSelect { order: row_source::order(&select.source), bounds: select.source.bounds, locked, ..tree };
    Level { sql: print::sql(&tree, dialect), outputs: Vec::new(), children: Vec::new(), page_end: None }
}

/// Locks the rows with given keys, in the order of the keys.
fn lock(plan: &WritePlan<'_>, row_lock: RowLock, dialect: Dialect) -> Option<ChildLevel> {
    let child = plan.lock.as_ref()?;
    let (owner, level) = level::locking(plan.resource, child, row_lock, dialect);
    let parent_columns = (0..plan.resource.key.len()).collect();
    Some(ChildLevel { key: child.relation.json_key.clone(), many: false, parent_columns, owner, level })
}

/// Joins the keys, whose first parts are values of these fields, with the table.
fn join_keys(writer: &mut Writer, resource: &Resource, fields: &[&Field]) {
    dialect::join_keys_first(writer);
    writer.table_name(&resource.table);
    writer.raw(" AS t0 ON ");
    equal_keys(writer, fields, 0);
}

/// The fields equal the parts of a key from this one on.
fn equal_keys(writer: &mut Writer, fields: &[&Field], first: usize) {
    writer.enumerated(" AND ", fields, |writer, index, field| {
        dialect::join_column_to_key(writer, Column { alias: Alias(0), field }, field);
        writer.raw(" = k.v");
        writer.number(first + index);
    });
}
