//! Sums and averages, with the range and the digits that SQLite's have too.

use crate::catalog::Native;
use crate::plan::predicate::Column;
use crate::statement::Function;
use crate::types::Scalar;

use super::super::super::Writer;
use super::super::shared::is_float;
use super::{counted, measured};

pub(in crate::sql::dialect) fn sum(writer: &mut Writer, column: Column<'_>) {
    if !is_float(column.field) {
        writer.raw("sum(");
        measured(writer, column);
        return writer.raw(")");
    }
    // PostgreSQL fails where a sum of doubles leaves their range. So each term is divided by `SCALE`, a power of two, which changes no digit,
    // and the reader multiplies the sum. A term that the division would make too small, which fails too, counts as zero.
    writer.raw("sum(CASE WHEN abs(");
    measured(writer, column);
    writer.raw(") < 1e-288 THEN 0 ELSE ");
    measured(writer, column);
    writer.raw(" * 5.421010862427522e-20 END)");
}

pub(in crate::sql::dialect) fn related(writer: &mut Writer, function: Function, column: Column<'_>) {
    match (function, column.field.kind.scalar()) {
        (Function::Count, _) => writer.raw("count(*)"),
        (Function::Min | Function::Max, _) if matches!(column.field.native, Native::Enum(..)) => {
            // As the enum that it is, so that it compares in its own order.
            writer.raw(if function == Function::Min { "min(" } else { "max(" });
            counted(writer, column);
            writer.raw(")");
        }
        (Function::Min | Function::Max, _) => super::super::extreme(writer, function, column),
        (Function::Sum, Scalar::Int) => {
            sum(writer, column);
            writer.raw("::int8");
        }
        (Function::Sum, Scalar::Float) => float_value(writer, &|writer| sum(writer, column)),
        (Function::Avg, Scalar::Float) => float_value(writer, &|writer| {
            sum(writer, column);
            writer.raw(" / nullif(");
            count_of(writer, column);
            writer.raw(", 0)");
        }),
        (Function::Sum, _) => {
            sum(writer, column);
            writer.raw("::numeric");
        }
        // Half away from zero at 16 decimals, by whole numbers: a quotient of `numeric` may have fewer decimals.
        (Function::Avg, _) => {
            writer.raw("trim_scale(sign(");
            sum(writer, column);
            writer.raw("::numeric) * div(abs(");
            sum(writer, column);
            writer.raw("::numeric) * 20000000000000000 + ");
            count_of(writer, column);
            writer.raw(", 2 * nullif(");
            count_of(writer, column);
            writer.raw(", 0)) * 0.0000000000000001)");
        }
    }
}

fn count_of(writer: &mut Writer, column: Column<'_>) {
    writer.raw("count(");
    measured(writer, column);
    writer.raw(")");
}

/// A sum of doubles that were divided by `SCALE`, or its quotient, multiplied again; NULL where that leaves the range of doubles.
fn float_value(writer: &mut Writer, scaled: &dyn Fn(&mut Writer)) {
    writer.raw("CASE WHEN abs(");
    scaled(writer);
    writer.raw(") <= 9.745314011399998e288 THEN ");
    scaled(writer);
    writer.raw(" * 18446744073709551616 END");
}
