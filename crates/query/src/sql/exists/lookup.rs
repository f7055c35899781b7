//! The value of a derived field as SQL: a query of one row for each row of a table. It has filters, and filters have lookups.

use crate::catalog::Link;
use crate::manifest::RelatedFunction;
use crate::plan::Table;
use crate::plan::lookup::{Lookup, LookupUse};

use super::super::Dialect;
use super::super::join::{self, Side};
use super::super::tree::{
    ColumnNames, Conditions, Expression, FromItem, JoinConditions, JoinKind, SelectList, SqlJoin, SqlLookup, SqlSelect, TableAlias,
};
use super::Filters;

/// The lookups that a query joins with a table, for the uses from this one on.
pub(in super::super) fn joins<'p>(table: &'p Table<'p>, least: LookupUse, dialect: Dialect) -> impl Iterator<Item = SqlJoin<'p>> {
    let joined = table.lookups().iter().filter(move |lookup| lookup.used >= least);
    joined.map(move |lookup| SqlJoin {
        kind: JoinKind::Lookup,
        from: FromItem::Lookup(Box::new(value(lookup, dialect))),
        on: Conditions::default(),
    })
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
    let mut select = match &lookup.relation.link {
        Link::Direct(pairs) => {
            let conditions = Conditions { join: join::direct_columns(own, target, pairs), filters };
            SqlSelect { conditions, ..SqlSelect::new(columns, target.table()) }
        }
        Link::Through { pivot, own: pairs, other, repeats } => {
            let pairs = join::pairs_of_row([own, target], lookup.pivot, pivot, (pairs, other), *repeats);
            let on = Conditions { join: join::passed_equals(target, other, "x.x"), filters: Vec::new() };
            let joins = vec![SqlJoin { kind: JoinKind::Inner, from: target.table(), on }];
            let conditions = Conditions { join: JoinConditions::None, filters };
            SqlSelect { joins, conditions, ..SqlSelect::new(columns, FromItem::Query(Box::new(pairs), TableAlias::Text("x"))) }
        }
    };
    select.joins.extend(joins(&lookup.table, LookupUse::Order, dialect));
    // A page shows few rows. Without a fence PostgreSQL may read the whole table once, as if all rows were shown.
    select.fenced = lookup.function == RelatedFunction::Exists && lookup.used == LookupUse::Shown;
    SqlLookup { alias: lookup.alias, field: lookup.field, function: lookup.function, select }
}
