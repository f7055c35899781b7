//! Checks where Citus keeps the rows of related tables, and what a relation between them costs.

use query::catalog::write_rules::WriteOperation;
use query::catalog::{Catalog, JoinColumns, Relation, RelationPlacement, Resource, ResourceId};
use query::sql::Dialect;

use crate::schema::{Placement, Schema, Table, same};

use super::Checker;
use super::write_columns::fills;

/// Two tables that a relation joins, and the columns that must be equal.
struct Joined<'c> {
    tables: [&'c Table; 2],
    columns: Vec<[&'c str; 2]>,
}

impl Joined<'_> {
    /// Whether each server of the first table holds the rows of the second that its rows are joined with.
    fn is_colocated(&self) -> bool {
        let is_pair = |own: &str, other: &str| self.columns.contains(&[own, other]);
        match self.tables.map(|table| &table.placement) {
            [Placement::Distributed { .. }, Placement::Reference] => true,
            [Placement::Distributed { column: own, group }, Placement::Distributed { column: other, group: other_group }] => {
                let is_joined = match (own, other) {
                    (None, None) => true,
                    (Some(own), Some(other)) => is_pair(own, other),
                    _ => false,
                };
                group == other_group && is_joined
            }
            _ => false,
        }
    }
}

/// The tables that a relation joins, with those of a pivot; none if one is a view or on another server.
fn joined_tables<'c>(catalog: &'c Catalog, schema: &'c Schema, resource: &'c Resource, relation: &'c Relation) -> Vec<Joined<'c>> {
    let target = catalog.resource(relation.target);
    let find = |name| schema.table(name, Dialect::Citus).filter(|table| !table.is_view && !table.is_foreign_table);
    let (Some(own), Some(other)) = (find(&resource.table), find(&target.table)) else { return Vec::new() };
    match &relation.join_columns {
        JoinColumns::Direct(pairs) => {
            let columns = pairs.iter().map(|(left, right)| [resource.fields[*left].column.plain(), target.fields[*right].column.plain()]);
            vec![Joined { tables: [own, other], columns: columns.collect() }]
        }
        JoinColumns::Through { pivot, own: pairs, other: away, .. } => {
            let Some(pivot) = find(pivot) else { return Vec::new() };
            let to_pivot = pairs.iter().map(|(field, column)| [resource.fields[*field].column.plain(), column.plain()]).collect();
            let to_target = away.iter().map(|(column, field)| [column.plain(), target.fields[*field].column.plain()]).collect();
            vec![Joined { tables: [own, pivot], columns: to_pivot }, Joined { tables: [pivot, other], columns: to_target }]
        }
    }
}

/// The placement of each relation. Tables are co-located by their group in Citus, not by equal distribution columns.
pub(super) fn placements(catalog: &Catalog, schema: &Schema) -> Vec<(ResourceId, usize, RelationPlacement)> {
    let placement = |resource, relation| {
        let joined = joined_tables(catalog, schema, resource, relation);
        // A view may read any table.
        let is_separate = |joined: &Joined<'_>| !joined.is_colocated() && joined.tables[1].placement.is_distributed();
        RelationPlacement {
            is_colocated: !joined.is_empty() && joined.iter().all(Joined::is_colocated),
            is_separate: joined.is_empty() || joined.iter().any(is_separate),
            is_separate_from_pivot: matches!(relation.join_columns, JoinColumns::Through { .. }) && joined.last().is_none_or(is_separate),
        }
    };
    let resources = catalog.resources().iter().enumerate();
    let relations = resources.flat_map(|(id, resource)| resource.relations.iter().enumerate().map(move |found| (id, resource, found)));
    relations.map(|(id, resource, (place, relation))| (id, place, placement(resource, relation))).collect()
}

impl<'c> Checker<'c> {
    /// Warns of queries that workers compile.
    pub(super) fn jit(&mut self) {
        let first = self.catalog.resources().iter().find(|resource| !resource.is_own());
        if let Some(resource) = first.filter(|_| self.schema.has_jit) {
            let reason = "workers expect too many rows from other servers, and compile each query first";
            self.warning(resource.line, format!("jit is on, and Citus distributes tables: {reason}; set jit = off on all servers"));
        }
    }

    /// Warns of a relation that sends rows between servers.
    pub(super) fn placement(&mut self, resource: &'c Resource, relation: &'c Relation, what: &str) {
        if !self.schema.has_citus {
            return;
        }
        let target = self.catalog.resource(relation.target);
        for name in [&resource.table, &target.table] {
            let table = self.schema.table(name, self.dialect);
            if table.is_some_and(|table| table.placement == Placement::ViewOfDistributed) {
                self.warning(relation.line, format!("{what}: `{name}` is a view of distributed tables: {COST}"));
            }
        }
        for joined in joined_tables(self.catalog, self.schema, resource, relation) {
            if let Some(cost) = self.cost(&joined) {
                self.warning(relation.line, format!("{what}: {cost}"));
            }
        }
    }

    /// What a join of two tables costs, unless each server joins its own rows.
    fn cost(&self, joined: &Joined<'_>) -> Option<String> {
        let [left, right] = joined.tables.map(|table| self.schema.shown(table, self.dialect));
        match joined.tables.map(|table| &table.placement) {
            [Placement::Local, Placement::Distributed { .. }] => Some(local(&left, &right)),
            [Placement::Distributed { .. }, Placement::Local] => Some(local(&right, &left)),
            [Placement::Distributed { column: own, group }, Placement::Distributed { column: other, group: other_group }]
                if !joined.is_colocated() =>
            {
                Some(match (own, other) {
                    (Some(own), Some(other)) if group == other_group => format!(
                        "`{left}` and `{right}` are co-located by `{own}` and `{other}`, which the relation does not join: {COST}; \
                         join these columns too"
                    ),
                    _ => format!(
                        "`{left}`{} and `{right}`{} are not co-located: {COST}",
                        distributed_by(own.as_ref()),
                        distributed_by(other.as_ref())
                    ),
                })
            }
            _ => None,
        }
    }

    /// Citus moves no row to another shard.
    pub(super) fn distribution_column(&mut self, resource: &'c Resource, table: &Table) {
        let Placement::Distributed { column: Some(column), .. } = &table.placement else { return };
        let fields = resource.stored_fields().filter(|(_, field)| same(field.column.plain(), column, self.dialect));
        let changed = fields.map(|(_, field)| field).find(|field| fills(field, WriteOperation::Update));
        if let Some(field) = changed.filter(|_| resource.has_write(WriteOperation::Update)) {
            let message = format!("Citus distributes `{}` by column `{column}`, which cannot be updated", resource.table);
            let what = format!("field `{}` of `{}`", field.name, resource.full_name);
            self.error(field.line, format!("{what}: {message}; write `write = \"create\"`, and no preset for `update`"));
        }
    }
}

const COST: &str = "a filter, an order, an aggregation or a derived field over it sends keys or rows to every server";

fn local(local: &str, distributed: &str) -> String {
    let advice = format!("run SELECT create_reference_table('{local}')");
    format!("`{local}` is on the coordinator only, and `{distributed}` is distributed: {COST}; {advice}, unless `{local}` is large")
}

fn distributed_by(column: Option<&String>) -> String {
    column.map_or_else(String::new, |column| format!(" (by `{column}`)"))
}
