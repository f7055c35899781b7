//! An aggregation as SQL: groups, measures, and the count of groups.

use crate::plan::{Grouped, Measured, Show};
use crate::statement::Function;
use crate::types::Scalar;

use super::predicate::Conjunction;
use super::{Decode, Dialect, Level, Output, Total, Writer, dialect};

pub(super) fn groups(grouped: &Grouped<'_>, dialect: Dialect) -> Level {
    let mut writer = Writer::new(dialect);
    writer.begin_joined(&grouped.scope);
    let mut outputs = Vec::new();
    let mut column = 0;
    writer.raw("SELECT ");
    for group in &grouped.groups {
        if column > 0 {
            writer.raw(", ");
        }
        dialect::grouped_shown(&mut writer, group.column);
        outputs.push(Output {
            key: group.key.clone(),
            column,
            decode: Decode::standard(group.column.field),
            show: Show::Plain,
            values: None,
        });
        column += 1;
    }
    for measure in &grouped.measures {
        if column > 0 {
            writer.raw(", ");
        }
        let decode = measured(&mut writer, &measure.measured);
        let width = if matches!(decode, Decode::Average | Decode::FloatAverage) { 2 } else { 1 };
        outputs.push(Output { key: measure.key.clone(), column, decode, show: Show::Plain, values: None });
        column += width;
    }
    body(&mut writer, grouped);
    if !grouped.scope.order.is_empty() {
        writer.raw(" ORDER BY ");
        writer.separated(", ", &grouped.scope.order, dialect::sort_group);
    }
    writer.bounded(grouped.scope.bounds);
    Level { sql: writer.finish(), outputs, children: Vec::new() }
}

pub(super) fn total(grouped: &Grouped<'_>, dialect: Dialect) -> Total {
    if grouped.groups.is_empty() {
        return Total::One;
    }
    let mut writer = Writer::new(dialect);
    writer.begin_joined(&grouped.scope);
    writer.raw("SELECT count(*) FROM (SELECT 1");
    body(&mut writer, grouped);
    writer.raw(") AS g");
    Total::Count(writer.finish())
}

fn body(writer: &mut Writer, grouped: &Grouped<'_>) {
    writer.from(&grouped.scope);
    writer.filtered(&grouped.scope, Conjunction::new(" WHERE "));
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
