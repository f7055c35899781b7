//! The rows of a source, as a query: its table, the joins for its paths, its policy and its filters.

use crate::plan::lookup::LookupUse;
use crate::plan::predicate::{Alias, Column, Predicate};
use crate::plan::{Join, RowSource, Table};

mod path_columns;

use super::dialect::{self, Dialect, LookupJoin, PathJoin};
use super::exists::Filters;
use super::exists::lookup::{self, LookupRows};
use super::join::{self, PathTarget};
use super::tree::{Conditions, FromItem, GroupBy, JoinConditions, OrderBy, SelectList, Sorted, SqlSelect, TableAlias};

pub(super) fn select<'p>(columns: SelectList<'p>, source: &'p RowSource<'p>, group_by: GroupBy<'p>, dialect: Dialect) -> SqlSelect<'p> {
    let mut filters = Filters::new(dialect, source.joins.iter().map(|join| join.table.policy()).chain(predicates(source)));
    // Filters share a budget in the order of the text: joins come first.
    let paths = source.joins.iter().map(|join| {
        let policy = filters.conditions([join.table.policy()]);
        let lookups = lookup::joins(&join.table, LookupUse::Order, LookupRows::Some, dialect).collect();
        let target = match dialect::strategies(dialect).path_join {
            PathJoin::Table => PathTarget { table: table(&join.table), lookups, policy },
            PathJoin::Columns => {
                let list = SelectList::unnamed(path_columns::used(join, &columns, source, group_by));
                let joins = lookup::joins(&join.table, LookupUse::Filter, LookupRows::Some, dialect).collect();
                let conditions = Conditions { join: JoinConditions::None, filters: policy };
                let rows = SqlSelect { joins, conditions, ..SqlSelect::new(list, table(&join.table)) };
                PathTarget { table: FromItem::Query(Box::new(rows), TableAlias::Plan(join.table.alias)), lookups, policy: Vec::new() }
            }
        };
        let mut left_join = join::left_join(join, target, dialect);
        if join.relation.placement.is_separate {
            left_join.from.separate();
        }
        left_join
    });
    let paths: Vec<_> = paths.collect();
    let lookup_rows = match group_by {
        GroupBy::Groups(_) => LookupRows::of_all(source),
        GroupBy::Nothing | GroupBy::FirstColumns(_) => LookupRows::of_rows(source),
    };
    let joins = lookup::joins(&source.table, LookupUse::Order, lookup_rows, dialect).chain(paths).collect();
    let conditions = Conditions { join: JoinConditions::None, filters: filters.conditions(predicates(source)) };
    let path_lookups = if dialect::strategies(dialect).lookup_join == LookupJoin::Groups { path_lookups(source) } else { Vec::new() };
    SqlSelect { joins, conditions, group_by, path_lookups, ..SqlSelect::new(columns, table(&source.table)) }
}

/// The lookups of the rows that dot-paths lead to, with a column that joins these rows.
fn path_lookups<'p>(source: &'p RowSource<'p>) -> Vec<(Alias, Column<'p>)> {
    let lookups = |join: &'p Join<'p>| {
        let key = join.relation.join_columns.other_fields().first().map(|id| join.table.column(*id));
        join.table.lookups().iter().filter_map(move |lookup| Some((lookup.alias, key?)))
    };
    source.joins.iter().flat_map(lookups).collect()
}

pub(super) fn table<'p>(table: &'p Table<'p>) -> FromItem<'p> {
    FromItem::Table(&table.resource.table, TableAlias::Plan(table.alias))
}

/// The policy and the filters of all layers, where nothing is joined.
pub(super) fn filters<'p>(source: &'p RowSource<'p>, dialect: Dialect) -> Conditions<'p> {
    let filters = Filters::new(dialect, predicates(source)).conditions(predicates(source));
    Conditions { join: JoinConditions::None, filters }
}

pub(super) fn order<'p>(source: &'p RowSource<'p>) -> OrderBy<'p> {
    OrderBy { first: "", sorts: &source.order, of: Sorted::Rows(source.table.alias) }
}

fn predicates<'p>(source: &'p RowSource<'p>) -> impl Iterator<Item = &'p Predicate<'p>> {
    std::iter::once(source.table.policy()).chain(source.filters.iter().map(|(_, predicate)| predicate))
}
