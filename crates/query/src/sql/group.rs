//! An aggregation as SQL: groups, measures, and the count of groups.

use crate::plan::{Grouped, Measured, Show};
use crate::statement::Function;
use crate::types::Scalar;

use super::tree::{ColumnUse, Expression, FromItem, GroupBy, OrderBy, SelectList, Sorted, SqlSelect, TableAlias};
use super::{Decode, Dialect, Level, Output, Total, print, row_source};

pub(super) fn groups(grouped: &Grouped<'_>, dialect: Dialect) -> Level {
    let count = grouped.groups.len() + grouped.measures.len();
    let (mut columns, mut outputs) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut column = 0;
    let mut output = |key: &std::sync::Arc<[u8]>, decode| {
        let width = if matches!(decode, Decode::Average | Decode::FloatAverage) { 2 } else { 1 };
        outputs.push(Output { key: key.clone(), column, decode, show: Show::Plain, values: None });
        column += width;
    };
    for group in &grouped.groups {
        columns.push(Expression::Column(group.column, ColumnUse::Grouped));
        output(&group.key, Decode::standard(group.column.field));
    }
    for measure in &grouped.measures {
        columns.push(Expression::Measure(&measure.measured));
        output(&measure.key, decode(&measure.measured));
    }
    let order = OrderBy { first: "", sorts: &grouped.source.order, of: Sorted::Groups };
    let tree = SqlSelect { order, bounds: grouped.source.bounds, ..grouped_rows(SelectList::unnamed(columns), grouped, dialect) };
    Level { sql: print::sql(&tree, dialect), outputs, children: Vec::new(), page_end: None }
}

pub(super) fn total(grouped: &Grouped<'_>, dialect: Dialect) -> Total {
    if grouped.groups.is_empty() {
        return Total::One;
    }
    let groups = FromItem::Query(Box::new(grouped_rows(SelectList::text("1"), grouped, dialect)), TableAlias::Text("g"));
    Total::Count(print::sql(&SqlSelect::new(SelectList::text("count(*)"), groups), dialect))
}

fn grouped_rows<'p>(columns: SelectList<'p>, grouped: &'p Grouped<'p>, dialect: Dialect) -> SqlSelect<'p> {
    row_source::select(columns, &grouped.source, GroupBy::Groups(grouped), dialect)
}

/// What the columns of a measure mean.
fn decode(measured: &Measured<'_>) -> Decode {
    let Measured::Column(function, column) = measured else { return Decode::Count };
    match (function, column.field.kind.scalar()) {
        (Function::Count, _) => Decode::Count,
        (Function::Sum, Scalar::Float) => Decode::FloatSum,
        (Function::Sum, Scalar::Int) => Decode::SumNumber,
        (Function::Sum, _) => Decode::SumText,
        (Function::Avg, Scalar::Float) => Decode::FloatAverage,
        (Function::Avg, _) => Decode::Average,
        (Function::Min | Function::Max, _) => Decode::standard(column.field),
    }
}
