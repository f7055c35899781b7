//! An aggregation as SQL: groups, measures, and the count of groups.

use crate::plan::{Grouped, Measured, Show};
use crate::statement::Function;
use crate::types::Scalar;

use super::predicate::Conjunction;
use super::{Decode, Dialect, Level, Output, Total, Writer, dialect, link};

pub(super) fn groups(grouped: &Grouped<'_>, dialect: Dialect) -> Level {
    let mut writer = Writer::new(dialect);
    begin(&mut writer, grouped);
    let mut outputs = Vec::new();
    let mut column = 0;
    writer.raw("SELECT ");
    for group in &grouped.groups {
        if column > 0 {
            writer.raw(", ");
        }
        dialect::grouped_shown(&mut writer, group.column);
        outputs.push(Output { key: group.key.clone(), column, decode: Decode::standard(group.column.field), show: Show::Plain });
        column += 1;
    }
    for measure in &grouped.measures {
        if column > 0 {
            writer.raw(", ");
        }
        let decode = measured(&mut writer, &measure.measured);
        outputs.push(Output { key: measure.key.clone(), column, decode, show: Show::Plain });
        column += if matches!(decode, Decode::Average | Decode::FloatAverage) { 2 } else { 1 };
    }
    body(&mut writer, grouped);
    if !grouped.order.is_empty() {
        writer.raw(" ORDER BY ");
        writer.separated(", ", &grouped.order, dialect::sort_group);
    }
    match (grouped.limit, grouped.offset) {
        (None, Some(_)) => dialect::no_limit(&mut writer),
        (Some(limit), _) => {
            writer.raw(" LIMIT ");
            writer.bind_count(limit);
        }
        (None, None) => {}
    }
    if let Some(offset) = grouped.offset {
        writer.raw(" OFFSET ");
        writer.bind_count(offset);
    }
    Level { sql: writer.finish(), outputs, children: Vec::new() }
}

pub(super) fn total(grouped: &Grouped<'_>, dialect: Dialect) -> Total {
    if grouped.groups.is_empty() {
        return Total::One;
    }
    let mut writer = Writer::new(dialect);
    begin(&mut writer, grouped);
    writer.raw("SELECT count(*) FROM (SELECT 1");
    body(&mut writer, grouped);
    writer.raw(") AS g");
    Total::Count(writer.finish())
}

fn begin(writer: &mut Writer, grouped: &Grouped<'_>) {
    let joined = grouped.joins.iter().map(|join| join.table.policy());
    let filters = grouped.filters.iter().map(|(_, predicate)| predicate);
    writer.begin(joined.chain(std::iter::once(grouped.table.policy())).chain(filters));
}

fn body(writer: &mut Writer, grouped: &Grouped<'_>) {
    writer.raw(" FROM ");
    writer.table_name(&grouped.table.resource.table);
    writer.raw(" AS ");
    writer.alias(grouped.table.alias);
    for join in &grouped.joins {
        link::left_join(writer, join);
    }
    let filters = grouped.filters.iter().map(|(_, predicate)| predicate);
    Conjunction::new(" WHERE ").write(writer, std::iter::once(grouped.table.policy()).chain(filters));
    if !grouped.groups.is_empty() {
        writer.raw(" GROUP BY ");
        writer.separated(", ", &grouped.groups, |writer, group| dialect::grouped(writer, group.column));
    }
}

fn measured(writer: &mut Writer, measured: &Measured<'_>) -> Decode {
    let Measured::Column(function, column) = measured else {
        writer.raw("count(*)");
        return Decode::Count;
    };
    let scalar = column.field.kind.scalar();
    match function {
        Function::Count => {
            writer.raw("count(");
            dialect::counted(writer, *column);
            writer.raw(")");
            Decode::Count
        }
        Function::Sum => {
            dialect::sum(writer, *column);
            match scalar {
                Scalar::Float => Decode::FloatSum,
                Scalar::Int => Decode::SumNumber,
                _ => Decode::SumText,
            }
        }
        Function::Avg => {
            dialect::sum(writer, *column);
            writer.raw(", count(");
            dialect::measured(writer, *column);
            writer.raw(")");
            if *scalar == Scalar::Float { Decode::FloatAverage } else { Decode::Average }
        }
        Function::Min | Function::Max => {
            dialect::extreme(writer, *function, *column);
            Decode::standard(column.field)
        }
    }
}
