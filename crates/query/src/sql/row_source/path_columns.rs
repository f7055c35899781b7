//! The columns of a dot-path's table that a query uses.

use crate::catalog::Field;
use crate::plan::predicate::Column;
use crate::plan::{Join, Measured, RowSource};

use super::super::tree::{ColumnUse, Expression, GroupBy, SelectList};

/// Each column once. Those that join the table are among them.
pub(super) fn used<'p>(
    join: &'p Join<'p>,
    columns: &SelectList<'p>,
    source: &'p RowSource<'p>,
    group_by: GroupBy<'p>,
) -> Vec<Expression<'p>> {
    let table = &join.table;
    let listed = columns.list.iter().filter_map(|expression| match expression {
        Expression::Column(column, _) => Some(*column),
        _ => None,
    });
    let (groups, measures) = match group_by {
        GroupBy::Groups(grouped) => (&grouped.groups[..], &grouped.measures[..]),
        GroupBy::Nothing | GroupBy::FirstColumns(_) => (&[][..], &[][..]),
    };
    let measured = measures.iter().filter_map(|measure| match &measure.measured {
        Measured::Column(_, column) => Some(*column),
        Measured::Rows => None,
    });
    let sorted = source.order.iter().map(|sort| sort.column);
    let named = listed.chain(groups.iter().map(|group| group.column)).chain(measured).chain(sorted);
    let named = named.filter(|column| column.alias == table.alias).map(|column| column.field);
    let to_lookups = table.lookups().iter().flat_map(|lookup| lookup.relation.join_columns.own_fields());
    let joining = join.relation.join_columns.other_fields().into_iter().chain(to_lookups).map(|id| &table.resource.fields[id]);
    let mut used: Vec<&'p Field> = Vec::new();
    for field in named.chain(joining) {
        let stored = field.source().map_or(field, |id| &table.resource.fields[id]);
        if !used.iter().any(|other| other.column.plain() == stored.column.plain()) {
            used.push(stored);
        }
    }
    used.into_iter().map(|field| Expression::Column(Column { alias: table.alias, field }, ColumnUse::Stored)).collect()
}
