//! The rows that a scope names, as a query: its table, the joins for its paths, its policy and its filters.

use crate::plan::lookup::LookupUse;
use crate::plan::predicate::Predicate;
use crate::plan::{Scope, Table};

use super::Dialect;
use super::exists::{Filters, lookup};
use super::join;
use super::tree::{Conditions, FromItem, JoinConditions, OrderBy, SelectList, Sorted, SqlSelect, TableAlias};

pub(super) fn select<'p>(columns: SelectList<'p>, scope: &'p Scope<'p>, dialect: Dialect) -> SqlSelect<'p> {
    let mut filters = Filters::new(dialect, scope.joins.iter().map(|join| join.table.policy()).chain(predicates(scope)));
    // Filters share a budget in the order of the text: joins come first.
    let paths = scope.joins.iter().map(|join| {
        let policy = filters.conditions([join.table.policy()]);
        join::left_join(join, policy, lookup::joins(&join.table, LookupUse::Order, dialect).collect(), dialect)
    });
    let joins = lookup::joins(&scope.table, LookupUse::Order, dialect).chain(paths).collect();
    let conditions = Conditions { join: JoinConditions::None, filters: filters.conditions(predicates(scope)) };
    SqlSelect { joins, conditions, ..SqlSelect::new(columns, table(&scope.table)) }
}

pub(super) fn table<'p>(table: &'p Table<'p>) -> FromItem<'p> {
    FromItem::Table(&table.resource.table, TableAlias::Plan(table.alias))
}

/// The policy and the filters of all layers, where nothing is joined.
pub(super) fn filters<'p>(scope: &'p Scope<'p>, dialect: Dialect) -> Conditions<'p> {
    let filters = Filters::new(dialect, predicates(scope)).conditions(predicates(scope));
    Conditions { join: JoinConditions::None, filters }
}

pub(super) fn order<'p>(scope: &'p Scope<'p>) -> OrderBy<'p> {
    OrderBy { first: "", sorts: &scope.order, of: Sorted::Rows(scope.table.alias) }
}

fn predicates<'p>(scope: &'p Scope<'p>) -> impl Iterator<Item = &'p Predicate<'p>> {
    std::iter::once(scope.table.policy()).chain(scope.filters.iter().map(|(_, predicate)| predicate))
}
