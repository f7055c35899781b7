//! The value of a derived field as SQL: a query of one row for each row of a table. It has filters, and filters have lookups.

use crate::catalog::{FieldId, Identifier, JoinColumns};
use crate::manifest::RelatedFunction;
use crate::plan::lookup::{Lookup, LookupUse};
use crate::plan::predicate::{Alias, Predicate};
use crate::plan::{RowSource, Table};

use super::super::dialect::{self, Dialect, LookupJoin};
use super::super::join::{self, Side};
use super::super::tree::{
    ColumnNames, ColumnUse, Conditions, Expression, FromItem, GroupBy, JoinCondition, JoinConditions, JoinKind, Operand, PivotUse,
    SelectList, SqlJoin, SqlLookup, SqlSelect, TableAlias,
};
use super::Filters;

/// For which rows of a table a query needs its lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum LookupRows {
    Every,
    Some,
}

impl LookupRows {
    /// Of a query that counts or groups all rows of a source.
    pub(in super::super) fn of_all(source: &RowSource<'_>) -> Self {
        let mut predicates = std::iter::once(source.table.policy()).chain(source.filters.iter().map(|(_, predicate)| predicate));
        if predicates.any(|predicate| narrows(predicate, &source.table)) { LookupRows::Some } else { LookupRows::Every }
    }

    /// Of a query for the rows of a source. It ends early if it has a limit and does not sort by a lookup first.
    pub(in super::super) fn of_rows(source: &RowSource<'_>) -> Self {
        let is_sorted_by_lookup = || source.order.first().is_some_and(|sort| is_lookup(sort.column.alias, &source.table));
        if source.bounds.limit.is_none() || is_sorted_by_lookup() { LookupRows::of_all(source) } else { LookupRows::Some }
    }
}

fn is_lookup(alias: Alias, table: &Table<'_>) -> bool {
    table.lookups().iter().any(|lookup| lookup.alias == alias)
}

/// Whether a predicate leaves rows out before their lookups. Soft delete keeps most rows.
fn narrows(predicate: &Predicate<'_>, table: &Table<'_>) -> bool {
    match predicate {
        Predicate::Always | Predicate::Unset(_) => false,
        Predicate::Never | Predicate::Exists(_) => true,
        Predicate::All(several) | Predicate::Any(several) => several.iter().any(|one| narrows(one, table)),
        Predicate::Not(inner) => narrows(inner, table),
        Predicate::Compare { column, .. }
        | Predicate::Among { column, .. }
        | Predicate::Between { column, .. }
        | Predicate::IsNull(column)
        | Predicate::IsNotNull(column)
        | Predicate::Like { column, .. }
        | Predicate::Contains { column, .. }
        | Predicate::Overlap { column, .. } => !is_lookup(column.alias, table),
    }
}

/// The lookups that a query joins with a table, for the uses from this one on.
pub(in super::super) fn joins<'p>(
    table: &'p Table<'p>,
    least: LookupUse,
    lookup_rows: LookupRows,
    dialect: Dialect,
) -> impl Iterator<Item = SqlJoin<'p>> {
    let is_joined = move |lookup: &&Lookup<'p>| match lookup.used {
        LookupUse::Shown => least == LookupUse::Order && !is_shown_by_subquery(lookup, dialect),
        used => used >= least,
    };
    let joins = move |lookup: &'p Lookup<'p>| match dialect::strategies(dialect).lookup_join {
        LookupJoin::Groups => [Some(groups(lookup, TableAlias::Plan(lookup.alias), dialect)), None],
        // A row without related rows is in no group.
        LookupJoin::GroupsOfEveryRow if lookup_rows == LookupRows::Every && lookup.function == RelatedFunction::Count => {
            let from = FromItem::CountOfGroup(lookup.alias);
            let count = SqlJoin { kind: JoinKind::Lateral, from, on: Conditions::default() };
            [Some(groups(lookup, TableAlias::Groups(lookup.alias), dialect)), Some(count)]
        }
        LookupJoin::GroupsOfEveryRow if lookup_rows == LookupRows::Every && reads_all_related_rows(lookup) => {
            [Some(groups(lookup, TableAlias::Plan(lookup.alias), dialect)), None]
        }
        LookupJoin::GroupsOfEveryRow | LookupJoin::EachRow => {
            let from = FromItem::Lookup(Box::new(value(lookup, dialect)));
            [Some(SqlJoin { kind: JoinKind::Lookup, from, on: Conditions::default() }), None]
        }
    };
    table.lookups().iter().filter(is_joined).flat_map(joins).flatten()
}

/// Whether a value needs all related rows of its row. An index gives `min` and `max`, and the first row decides `exists`.
fn reads_all_related_rows(lookup: &Lookup<'_>) -> bool {
    matches!(lookup.function, RelatedFunction::Count | RelatedFunction::Sum | RelatedFunction::Avg)
}

/// A LEFT JOIN with the values of all rows that have related rows.
fn groups<'p>(lookup: &'p Lookup<'p>, name: TableAlias, dialect: Dialect) -> SqlJoin<'p> {
    let own = Side { resource: lookup.parent_resource, alias: lookup.parent };
    let target = Side { resource: lookup.table.resource, alias: lookup.table.alias };
    let predicates = [lookup.table.policy(), &lookup.filter];
    let filters = Filters::new(dialect, predicates.into_iter()).conditions(predicates);
    let (mut list, join, on, from, mut joins) = match &lookup.relation.join_columns {
        JoinColumns::Direct(pairs) => {
            let keys: Vec<Expression<'p>> = pairs
                .iter()
                .map(|(left, right)| Expression::Column(target.column(*right), ColumnUse::JoinedTo(own.field(*left))))
                .collect();
            let filled: JoinConditions<'p> = pairs.iter().map(|(_, right)| JoinCondition::NotNull(target.operand(*right))).collect();
            let equal = |(index, (left, right)): (usize, &(FieldId, FieldId))| {
                JoinCondition::Equal(own.operand(*left), Operand::GroupKey(name, index, Some(target.field(*right))))
            };
            (keys, filled, pairs.iter().enumerate().map(equal).collect::<JoinConditions<'p>>(), target.table(), Vec::new())
        }
        JoinColumns::Through { pivot, own: pairs, other, repeats } => {
            let read = |column| Operand::ReadPivot(lookup.pivot, column);
            let keys = pairs
                .iter()
                .map(|(id, column)| Expression::Pivot(own.pivot_column(lookup.pivot, column, *id), PivotUse::Compared))
                .collect();
            let filled = pairs.iter().map(|(_, column)| JoinCondition::NotNull(read(column))).collect();
            let equal = |(index, (id, _)): (usize, &(FieldId, Identifier))| {
                JoinCondition::Equal(own.operand(*id), Operand::GroupKey(name, index, None))
            };
            let to_target = other.iter().map(|(column, id)| JoinCondition::Equal(target.operand(*id), read(column))).collect();
            let separate = lookup.relation.placement.is_separate_from_pivot;
            let all = SqlSelect { separate, ..join::pivot_pairs(pivot, [own, target], (pairs, other), *repeats) };
            let from = FromItem::Query(Box::new(all), TableAlias::Plan(lookup.pivot));
            let on = Conditions { join: to_target, filters: Vec::new() };
            let joins = vec![SqlJoin { kind: JoinKind::Inner, from: target.table(), on }];
            (keys, filled, pairs.iter().enumerate().map(equal).collect(), from, joins)
        }
    };
    let count = list.len();
    list.push(match lookup.function {
        RelatedFunction::Exists => Expression::Text("true"),
        _ => Expression::Related(lookup),
    });
    joins.extend(self::joins(&lookup.table, LookupUse::Order, LookupRows::Some, dialect));
    let columns = SelectList { first: "", list, names: ColumnNames::KeysAndValue };
    let group_by = GroupBy::FirstColumns(count);
    let separate = lookup.relation.placement.is_separate;
    let select = SqlSelect { joins, conditions: Conditions { join, filters }, group_by, separate, ..SqlSelect::new(columns, from) };
    let from = FromItem::Query(Box::new(select), name);
    SqlJoin { kind: JoinKind::Left, from, on: Conditions { join: on, filters: Vec::new() } }
}

/// The lookup of a field that a query reads by a subquery in its list of columns.
pub(in super::super) fn shown<'p>(table: &'p Table<'p>, alias: Alias, dialect: Dialect) -> Option<&'p Lookup<'p>> {
    table.lookups().iter().find(|lookup| lookup.alias == alias && is_shown_by_subquery(lookup, dialect))
}

/// Whether a value that only the answer needs is read by a subquery, which the database evaluates for the rows of a page.
fn is_shown_by_subquery(lookup: &Lookup<'_>, dialect: Dialect) -> bool {
    let is_possible = match dialect::strategies(dialect).lookup_join {
        LookupJoin::EachRow | LookupJoin::GroupsOfEveryRow => true,
        LookupJoin::Groups => lookup.relation.placement.is_colocated && lookup.table.lookups().is_empty(),
    };
    is_possible && lookup.used == LookupUse::Shown
}

pub(in super::super) fn value<'p>(lookup: &'p Lookup<'p>, dialect: Dialect) -> SqlLookup<'p> {
    let own = Side { resource: lookup.parent_resource, alias: lookup.parent };
    let target = Side { resource: lookup.table.resource, alias: lookup.table.alias };
    let predicates = [lookup.table.policy(), &lookup.filter];
    let filters = Filters::new(dialect, predicates.into_iter()).conditions(predicates);
    let columns = match lookup.function {
        RelatedFunction::Exists => SelectList::text("1"),
        _ => SelectList { names: ColumnNames::Value, ..SelectList::unnamed(vec![Expression::Related(lookup)]) },
    };
    let mut select = match &lookup.relation.join_columns {
        JoinColumns::Direct(pairs) => {
            let conditions = Conditions { join: join::direct_columns(own, target, pairs), filters };
            SqlSelect { conditions, ..SqlSelect::new(columns, target.table()) }
        }
        JoinColumns::Through { pivot, own: pairs, other, repeats } => {
            let pairs = join::pairs_of_row([own, target], lookup.pivot, pivot, (pairs, other), *repeats);
            let on = Conditions { join: join::passed_equals(target, other, "x.x"), filters: Vec::new() };
            let joins = vec![SqlJoin { kind: JoinKind::Inner, from: target.table(), on }];
            let conditions = Conditions { join: JoinConditions::None, filters };
            SqlSelect { joins, conditions, ..SqlSelect::new(columns, FromItem::Query(Box::new(pairs), TableAlias::Text("x"))) }
        }
    };
    select.joins.extend(joins(&lookup.table, LookupUse::Order, LookupRows::Some, dialect));
    // A page shows few rows. Without a fence PostgreSQL may read the whole table once, as if all rows were shown.
    select.fenced = lookup.function == RelatedFunction::Exists && lookup.used == LookupUse::Shown;
    SqlLookup { alias: lookup.alias, field: lookup.field, function: lookup.function, select }
}
