//! The columns of a select list.

use crate::manifest::RelatedFunction;
use crate::plan::Measured;
use crate::statement::Function;

use super::super::tree::{ColumnUse, Expression, GroupBy, PivotUse, SqlLookup};
use super::super::{Writer, dialect, row_source};

impl Writer {
    pub(super) fn expression(&mut self, expression: &Expression<'_>) {
        match expression {
            Expression::Text(text) => self.raw(text),
            Expression::Numbered(text, number) => self.numbered(text, *number),
            Expression::Column(column, ColumnUse::Stored) => self.column(*column),
            Expression::Column(column, ColumnUse::Shown) => dialect::shown(self, *column),
            Expression::Column(column, ColumnUse::Key) => dialect::key(self, *column),
            Expression::Column(column, ColumnUse::Grouped) => self.group_key(|writer| dialect::grouped_shown(writer, *column)),
            Expression::Column(column, ColumnUse::SortKey) => dialect::sort_key(self, *column),
            Expression::Column(column, ColumnUse::Position) => dialect::position(self, *column),
            Expression::Column(column, ColumnUse::JoinedTo(field)) => dialect::join_column(self, *column, field),
            Expression::Column(column, ColumnUse::JoinedToPivot) => dialect::join_column_to_pivot(self, *column),
            Expression::Pivot(pivot, PivotUse::Compared) => dialect::pivot_column(self, *pivot),
            Expression::Pivot(pivot, PivotUse::Passed) => {
                dialect::pivot_column(self, *pivot);
                dialect::pivot_collation(self, pivot.field);
            }
            Expression::Pivot(pivot, PivotUse::PassedIfFit) => {
                dialect::fitting_pivot_column(self, *pivot);
                dialect::pivot_collation(self, pivot.field);
            }
            Expression::Measure(measured) => self.measure(measured),
            Expression::Related(lookup) => match (lookup.function.aggregate(), lookup.measured) {
                (Some(function), Some(column)) => dialect::related(self, function, column),
                _ => self.raw("count(*)"),
            },
            Expression::Lookup(lookup) => {
                self.lookup(lookup);
                dialect::shown_lookup(self, lookup);
            }
            Expression::RowNumber(source, key) => {
                self.raw("row_number() OVER (PARTITION BY ");
                match key {
                    Some(column) => self.column(*column),
                    None => self.raw("k.n"),
                }
                self.order_by(row_source::order(source));
                self.raw(") AS r");
            }
        }
    }

    pub(super) fn note_path_keys(&mut self, group_by: GroupBy<'_>) {
        if let GroupBy::Groups(grouped) = group_by
            && self.dialect.has_several_servers()
        {
            for join in &grouped.source.joins {
                let keys = join.relation.join_columns.other_fields().into_iter().map(|id| join.table.column(id));
                self.path_keys.extend(keys.map(|key| (key.alias, key.field.column.clone())));
            }
        }
    }

    /// A key of groups.
    pub(in super::super) fn group_key(&mut self, write: impl FnOnce(&mut Self)) {
        self.is_group_key = true;
        write(self);
        self.is_group_key = false;
    }

    fn measure(&mut self, measured: &Measured<'_>) {
        let Measured::Column(function, column) = measured else { return self.raw("count(*)") };
        match function {
            Function::Count => {
                self.raw("count(");
                dialect::counted(self, *column);
                self.raw(")");
            }
            Function::Sum => dialect::sum(self, *column),
            Function::Avg => {
                dialect::sum(self, *column);
                self.raw(", count(");
                dialect::measured(self, *column);
                self.raw(")");
            }
            Function::Min | Function::Max => dialect::extreme(self, *function, *column),
        }
    }

    /// The value of a derived field, as an expression.
    pub(super) fn lookup(&mut self, lookup: &SqlLookup<'_>) {
        if lookup.function == RelatedFunction::Exists {
            self.raw("EXISTS ");
        }
        self.subquery(&lookup.select);
    }
}
