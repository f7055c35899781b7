//! Decimals that are equal and have different scales, such as 1.5 and 1.50: an answer shows the largest scale, as a sum has it.

use crate::plan::predicate::Column;
use crate::statement::Function;

use super::super::super::Writer;
use super::super::Dialect;

/// Arrays compare by their first elements, then by the next: a value and its scale.
pub(in super::super) fn extreme_decimal(writer: &mut Writer, function: Function, column: Column<'_>) {
    // Citus has no `min` and `max` of arrays.
    if writer.dialect == Dialect::Citus {
        writer.raw(if function == Function::Min { "min(" } else { "max(" });
        writer.column(column);
        return writer.raw(")");
    }
    writer.raw(if function == Function::Min { "(min(CASE WHEN " } else { "(max(CASE WHEN " });
    writer.column(column);
    writer.raw(" IS NOT NULL THEN ARRAY[");
    writer.column(column);
    writer.raw(if function == Function::Min { ", -scale(" } else { ", scale(" });
    writer.column(column);
    writer.raw(")] END))[1]");
}

/// The values of a group are equal. NaN has no scale.
pub(super) fn grouped_decimal(writer: &mut Writer, column: Column<'_>) {
    writer.raw("coalesce(round(");
    writer.column(column);
    writer.raw(", max(scale(");
    writer.column(column);
    writer.raw("))), ");
    writer.column(column);
    writer.raw(")");
}
