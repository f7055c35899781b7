//! `aggregation` → groups and measures over the root's rows and the relations of dot-paths.

use std::sync::Arc;

use crate::error::{Code, shorten};
use crate::json;
use crate::messages::quoted_list;
use crate::pointer::{Layer, Location};
use crate::statement::{AggregateField, Aggregation, Direction, FIELDS, Function, MeasureAlias, RelationNode};

use super::path::{Following, Path, to_many};
use super::predicate::{Column, Predicate};
use super::{Bounds, Join, Planner, Rights, RowSource, Sort, Table};

#[derive(Debug)]
pub struct Grouped<'c> {
    pub(crate) source: RowSource<'c>,
    pub(crate) groups: Vec<Group<'c>>,
    pub(crate) measures: Vec<Measure<'c>>,
}

#[derive(Debug)]
pub(crate) struct Group<'c> {
    pub(crate) key: Arc<[u8]>,
    pub(crate) column: Column<'c>,
}

#[derive(Debug)]
pub(crate) struct Measure<'c> {
    pub(crate) key: Arc<[u8]>,
    pub(crate) measured: Measured<'c>,
}

#[derive(Debug)]
pub(crate) enum Measured<'c> {
    /// `count(*)`
    Rows,
    Column(Function, Column<'c>),
}

/// The result keys so far.
#[derive(Default)]
struct Keys(Vec<String>);

impl Keys {
    /// False if the key is there already.
    fn add(&mut self, key: &str) -> bool {
        let fresh = self.0.iter().all(|known| known != key);
        self.0.push(key.to_owned());
        fresh
    }
}

impl<'c> Planner<'c, '_> {
    pub(super) fn grouped(
        &mut self,
        mut table: Table<'c>,
        filters: Vec<(Layer, Predicate<'c>)>,
        aggregation: &Aggregation,
        bounds: Bounds,
    ) -> Grouped<'c> {
        self.refuse_relations(&table);
        if self.statement.fields.is_some() {
            let message = "`fields` cannot be combined with `aggregation`: the fields of a group are those of the aggregation";
            self.faults.add(Code::Combination, || FIELDS.into(), message);
        }
        let mut keys = Keys::default();
        let mut joins = Vec::new();
        let groups = self.groups(&table, &aggregation.group_by, &mut keys, &mut joins);
        let measures = self.measures(&table, &aggregation.fields, &mut keys, &mut joins);
        let order = self.group_order(&table, &groups, &aggregation.group_by);
        let groups = groups.into_iter().map(|(_, group)| group).collect();
        self.attach_all_lookups(&mut table, &mut joins);
        Grouped { source: RowSource { table, filters, joins, order, bounds }, groups, measures }
    }

    /// Groups have no relations to load. Other faults in `relations` are reported too.
    fn refuse_relations(&mut self, table: &Table<'c>) {
        let statement = self.statement;
        let is_of = |relation: &RelationNode, layer: Layer| {
            relation.at.layer == layer || statement.repeated_at(relation.at).any(|at| at.layer == layer)
        };
        for layer in [Layer::Query, Layer::Constraint] {
            if statement.relations.iter().any(|relation| is_of(relation, layer)) {
                let message = "`relations` cannot be combined with `aggregation`: groups have no relations to load";
                self.faults.add(Code::Combination, || format!("/{}/relations", layer.as_str()), message);
            }
        }
        for relation in &statement.relations {
            self.child(table, relation, None);
        }
    }

    fn groups<'n>(
        &mut self,
        table: &Table<'c>,
        names: &'n [(Box<str>, Location)],
        keys: &mut Keys,
        joins: &mut Vec<Join<'c>>,
    ) -> Vec<(&'n str, Group<'c>)> {
        let mut groups = Vec::new();
        for (name, at) in names {
            if !keys.add(name) {
                self.fault(Code::EqualKeys, *at, format!("the result has two keys `{}`; name each field once", shorten(name)));
                continue;
            }
            let column = self.sortable(table, anywhere(name, *at), joins);
            groups.extend(column.map(|column| (&**name, Group { key: json::key(name), column })));
        }
        groups
    }

    fn measures(&mut self, table: &Table<'c>, fields: &[AggregateField], keys: &mut Keys, joins: &mut Vec<Join<'c>>) -> Vec<Measure<'c>> {
        let mut measures = Vec::new();
        for field in fields {
            let key = match (&field.alias, field.function) {
                (MeasureAlias::Named(alias), _) => Some(alias.to_string()),
                (MeasureAlias::Default, Some(function)) => Some(default_key(function, &field.field)),
                _ => None,
            };
            if let Some(key) = key.as_deref().filter(|key| !keys.add(key)) {
                self.fault(Code::EqualKeys, field.at, format!("the result has two keys `{key}`; rename one with `as`"));
            }
            let measured = self.measured(table, field, joins);
            measures.extend(key.zip(measured).map(|(key, measured)| Measure { key: json::key(&key), measured }));
        }
        measures
    }

    fn measured(&mut self, table: &Table<'c>, field: &AggregateField, joins: &mut Vec<Join<'c>>) -> Option<Measured<'c>> {
        if &*field.field == "*" {
            let function = field.function?;
            if function == Function::Count {
                return Some(Measured::Rows);
            }
            let message = format!("`*` is accepted by `count` only; `{}` needs a field", function.as_str());
            self.fault(Code::FunctionType, field.field_at, message);
            return None;
        }
        let column = self.path(table, anywhere(&field.field, field.field_at), joins)?;
        let kind = &column.field.kind;
        let function = field.function?;
        if !kind.measures(function) {
            let (function, name, kind, accepted) = (function.as_str(), &field.field, kind.name(), quoted_list(&kind.functions()));
            let message = format!("`{function}` does not apply to `{name}` of type {kind}, which takes {accepted}");
            self.fault(Code::FunctionType, field.field_at, message);
            return None;
        }
        Some(Measured::Column(function, column))
    }

    /// With an aggregation, `order` names entries of `groupBy`; the others break ties.
    fn group_order(&mut self, table: &Table<'c>, groups: &[(&str, Group<'c>)], asked: &[(Box<str>, Location)]) -> Vec<Sort<'c>> {
        let order = &self.statement.order;
        let mut sorts = Vec::new();
        let mut used = vec![false; groups.len()];
        for entry in order {
            let Some(index) = groups.iter().position(|(name, _)| **name == *entry.field) else {
                // The entry of `groupBy` was reported already.
                if asked.iter().any(|(name, _)| *name == entry.field) {
                    continue;
                }
                let message = "with `aggregation`, `order` takes entries of `groupBy` only, no alias and no other field";
                self.fault(Code::OrderGroup, entry.at, format!("{message}; found `{}`", shorten(&entry.field)));
                continue;
            };
            let relation = entry.field.split_once('.').and_then(|(relation, _)| table.resource.relation(relation));
            if let Some(relation) = relation.filter(|relation| relation.many) {
                self.fault(Code::DotPath, entry.at, to_many(&relation.name));
                continue;
            }
            used[index] = true;
            sorts.push(Sort { column: groups[index].1.column, direction: entry.direction });
        }
        if !order.is_empty() {
            let unnamed = groups.iter().zip(used).filter(|(_, used)| !used);
            sorts.extend(unnamed.map(|((_, group), _)| Sort { column: group.column, direction: Direction::Ascending }));
        }
        sorts
    }
}

/// A path of an aggregation. No policy has one, so the viewer's rights apply.
fn anywhere(name: &str, at: Location) -> Path<'_> {
    Path { name, at, rights: Rights::Viewer, following: Following::Any }
}

fn default_key(function: Function, field: &str) -> String {
    if field == "*" {
        return function.as_str().to_owned();
    }
    format!("{}_{}", function.as_str(), field.replace('.', "_"))
}
