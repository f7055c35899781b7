//! The rows that an update, a delete or a restore changes.

use crate::catalog::Resource;
use crate::error::Code;
use crate::merge;
use crate::parse;
use crate::payload::{WriteBody, WriteForm};
use crate::pointer::{Layer, Location};
use crate::statement::{Clause, Entry, Inside, Statement};
use crate::value::Value;

use super::super::order::{OrderPosition, append};
use super::super::predicate::{Comparison, Predicate};
use super::super::{Bounds, Child, RowSource, Select, Table};
use super::{RowChange, WriteAddress, WritePlanner};

/// The rows to change, found under the caller's constraint and locked in the order of their keys.
#[derive(Debug)]
pub(crate) struct TargetPlan<'c> {
    pub(crate) select: Select<'c>,
    /// The keys, where the request names them, in its order.
    pub(crate) keys: Option<Vec<Vec<Value>>>,
    /// The most rows that the write may change.
    pub(crate) max_rows: u64,
    /// Whether `order` or `limit` chooses the rows, so that others could be chosen after a wait for locks.
    pub(crate) is_chosen: bool,
}

impl<'c> WritePlanner<'c, '_> {
    /// The rows to change. The key of one row in its payload is taken out of it.
    pub(super) fn target(&mut self, body: &WriteBody, rows: &mut [RowChange], address: &WriteAddress<'_>) -> Option<TargetPlan<'c>> {
        match self.form {
            WriteForm::Create => None,
            WriteForm::UpdateById if address.id.is_none() => {
                let key = rows.first_mut().map(|row| std::mem::take(&mut row.key)).filter(|key| !key.is_empty())?;
                self.by_keys(body, vec![key])
            }
            WriteForm::UpdateById | WriteForm::DeleteById | WriteForm::RestoreById => self.by_id(body, address),
            WriteForm::Update if body.payload.as_ref().is_some_and(|payload| matches!(payload, crate::payload::Payload::Many(_))) => {
                self.by_keys(body, rows.iter().map(|row| row.key.clone()).collect())
            }
            WriteForm::Update | WriteForm::Delete => self.by_query(body),
        }
    }

    fn by_id(&mut self, body: &WriteBody, address: &WriteAddress<'_>) -> Option<TargetPlan<'c>> {
        let parts = address.id?;
        let is_restore = self.form == WriteForm::RestoreById;
        let statement = self.narrowed(body, Statement::empty(Layer::Query));
        let (select, key) = self.part(&statement, |planner, table| {
            let table = if is_restore { table.with_deleted(planner) } else { table };
            let mut filters = planner.filters(&table, &statement.filters);
            filters.extend(planner.by_key(&table, parts));
            let key = key_of(&filters);
            (select(planner, table, filters, statement.limit), key)
        })?;
        Some(TargetPlan { select, keys: Some(vec![key]), max_rows: 1, is_chosen: false })
    }

    /// The rows with these keys. A row beyond the limit of a constraint is out of reach.
    fn by_keys(&mut self, body: &WriteBody, keys: Vec<Vec<Value>>) -> Option<TargetPlan<'c>> {
        let statement = self.narrowed(body, Statement::empty(Layer::Query));
        let select = self.part(&statement, |planner, table| {
            let mut filters = planner.filters(&table, &statement.filters);
            let one = |key: &Vec<Value>| {
                let parts = table.resource.key.iter().zip(key);
                let equal = |(id, value): (&usize, &Value)| Predicate::Compare {
                    column: table.column(*id),
                    comparison: Comparison::Eq,
                    value: value.clone(),
                };
                Predicate::all(parts.map(equal).collect())
            };
            let any = match table.resource.key.as_slice() {
                [id] => Predicate::Among {
                    column: table.column(*id),
                    membership: super::super::predicate::Membership::In,
                    values: keys.iter().flatten().cloned().collect(),
                },
                _ => Predicate::any(keys.iter().map(one).collect()),
            };
            filters.push((Layer::Query, any));
            select(planner, table, filters, statement.limit)
        })?;
        let max_rows = keys.len() as u64;
        Some(TargetPlan { select, keys: Some(keys), max_rows, is_chosen: false })
    }

    fn by_query(&mut self, body: &WriteBody) -> Option<TargetPlan<'c>> {
        let query = body.query.clone().unwrap_or_else(|| Statement::empty(Layer::Query));
        self.refuse_derived(&query);
        let refused =
            [("relations", !query.relations.is_empty()), ("aggregation", query.aggregation.is_some()), ("offset", query.offset.is_some())];
        for (key, _) in refused.into_iter().filter(|(_, given)| *given) {
            let message = format!("the `query` of a write takes `where`, `order` and `limit`; found `{key}`");
            self.faults.add(Code::OperationKey, || format!("/query/{key}"), message);
        }
        let statement = self.narrowed(body, query);
        let max_rows = self.access.rules.max_rows;
        let limit = statement.limit;
        let is_chosen = limit.is_some() || !statement.order.is_empty();
        let (select, names_rows) = self.part(&statement, |planner, table| {
            let filters = planner.filters(&table, &statement.filters);
            let names_rows = filters.iter().any(|(layer, filter)| *layer == Layer::Query && !filter.is_always());
            let (mut order, joins) = planner.ordered(&table, &statement.order, OrderPosition::Root);
            for id in &table.resource.key {
                append(&mut order, table.column(*id));
            }
            let mut table = table;
            let mut joins = joins;
            planner.attach_all_lookups(&mut table, &mut joins);
            // One row more shows that there are too many.
            let most = max_rows.saturating_add(1);
            let bounds = Bounds { limit: Some(limit.map_or(most, |limit| limit.min(most))), offset: None };
            (Select { source: RowSource { table, filters, joins, order, bounds }, shown: Vec::new(), children: Vec::new() }, names_rows)
        })?;
        if !names_rows && !body.all && self.faults.is_empty() {
            self.faults.add(Code::EmptyWhere, || "/query/where".into(), "this `where` holds for every row; every row takes \"all\": true");
        }
        Some(TargetPlan { select, keys: None, max_rows, is_chosen })
    }
}

impl<'c> WritePlanner<'c, '_> {
    /// The query with the wire constraint, and with order and limit of the manifest's constraint.
    fn narrowed(&self, body: &WriteBody, query: Statement) -> Statement {
        let statement = merge::merged(parse::Body { query, constraint: body.constraint.clone() });
        match self.resource().constraint.as_ref().filter(|constraint| self.viewer().is_bound_by(constraint)) {
            Some(constraint) => merge::with_policy(statement, &constraint.statement),
            None => statement,
        }
    }

    /// The rows with given keys that the query still chooses, in the order of their keys.
    pub(super) fn lock(&mut self, body: &WriteBody) -> Option<Child<'c>> {
        let mut query = body.query.clone().unwrap_or_else(|| Statement::empty(Layer::Query));
        query.order.clear();
        query.limit = None;
        let statement = merge::merged(parse::Body { query, constraint: body.constraint.clone() });
        let key_relation = &self.access.rules.key_relation;
        self.part(&statement, |planner, table| {
            let filters = planner.filters(&table, &statement.filters);
            let select = select(planner, table, filters, None);
            Child { relation: key_relation, pivot: planner.alias(), select }
        })
    }
}

/// Rows in the order of their keys.
fn select<'c>(
    planner: &mut super::Planner<'c, '_>,
    mut table: Table<'c>,
    filters: Vec<(Layer, Predicate<'c>)>,
    limit: Option<u64>,
) -> Select<'c> {
    let mut order = Vec::new();
    for id in &table.resource.key {
        append(&mut order, table.column(*id));
    }
    planner.attach_lookups(&mut table);
    let source = RowSource { table, filters, joins: Vec::new(), order, bounds: Bounds { limit, offset: None } };
    Select { source, shown: Vec::new(), children: Vec::new() }
}

/// The values of the key that the last filter compares.
fn key_of(filters: &[(Layer, Predicate<'_>)]) -> Vec<Value> {
    let mut values = Vec::new();
    let mut take = |predicate: &Predicate<'_>| {
        if let Predicate::Compare { value, .. } = predicate {
            values.push(value.clone());
        }
    };
    match filters.last() {
        Some((_, Predicate::All(all))) => all.iter().for_each(&mut take),
        Some((_, predicate)) => take(predicate),
        None => {}
    }
    values
}

pub(super) fn is_derived(resource: &Resource, name: &str) -> bool {
    resource.field(name).is_some_and(|(_, field)| field.derived.is_some())
}

/// The derived fields of the resource that a clause names, with their places.
pub(super) fn derived_names(resource: &Resource, clause: &Clause, found: &mut Vec<(Box<str>, Location)>) {
    for entry in &clause.entries {
        match entry {
            Entry::And(_, clauses) | Entry::Or(_, clauses) => clauses.iter().for_each(|clause| derived_names(resource, clause, found)),
            Entry::Not(_, clause) => derived_names(resource, clause, found),
            Entry::Named { name, at, inside: Inside::Object(_) | Inside::Plain(_) } if is_derived(resource, name) => {
                found.push((name.clone(), *at));
            }
            Entry::Named { .. } | Entry::Refused | Entry::Malformed { .. } => {}
        }
    }
}
