//! Writes a tree as text in one dialect and binds its values. Decides nothing.

mod expression;

use crate::plan::predicate::{Column, Comparison, Predicate};
use crate::plan::{Bounds, Sort};
use crate::value::Value;

use super::dialect::{self, NullTest};
use super::tree::{
    ColumnNames, Condition, Conditions, Expression, FromItem, GroupBy, JoinCondition, JoinKind, KeyComparison, KeyIn, Logic, Operand,
    OrderBy, PivotColumn, SelectList, Sorted, SqlJoin, SqlSelect, TableAlias,
};
use super::{Dialect, PredicateId, Sql, Writer};

pub(super) fn sql(select: &SqlSelect<'_>, dialect: Dialect) -> Sql {
    let mut writer = Writer::new(dialect);
    writer.select(select);
    writer.finish()
}

/// The text of conditions by themselves. Their parameters get these numbers, or are counted from one.
pub(super) fn condition_list(conditions: &[Condition<'_>], dialect: Dialect, numbers: Vec<usize>) -> Sql {
    let mut writer = Writer { numbers, ..Writer::new(dialect) };
    writer.condition_list(conditions);
    writer.finish()
}

impl Writer {
    fn select(&mut self, select: &SqlSelect<'_>) {
        self.path_lookups.extend(select.path_lookups.iter().map(|(lookup, column)| (*lookup, column.alias, column.field.column.clone())));
        self.note_path_keys(select.group_by);
        self.raw(if select.distinct { "SELECT DISTINCT " } else { "SELECT " });
        self.select_list(&select.columns);
        self.raw(" FROM ");
        self.source(&select.from);
        for join in &select.joins {
            self.join(join);
        }
        self.conditions(" WHERE ", &select.conditions);
        match select.group_by {
            GroupBy::Groups(grouped) if !grouped.groups.is_empty() => {
                self.raw(" GROUP BY ");
                self.separated(", ", &grouped.groups, |writer, group| {
                    writer.group_key(|writer| dialect::grouped(writer, group.column));
                });
            }
            GroupBy::FirstColumns(count) => {
                self.raw(" GROUP BY ");
                self.separated(", ", 1..=count, Writer::number);
            }
            GroupBy::Nothing | GroupBy::Groups(_) => {}
        }
        self.order_by(select.order);
        self.bounds(select.bounds);
        if select.fenced || select.separate {
            dialect::fence(self, select.separate);
        }
        if let Some((alias, lock)) = select.locked {
            dialect::lock_rows(self, alias, lock);
        }
    }

    fn select_list(&mut self, columns: &SelectList<'_>) {
        self.raw(columns.first);
        if !columns.first.is_empty() && !columns.list.is_empty() {
            self.raw(", ");
        }
        self.enumerated(", ", &columns.list, |writer, index, expression| {
            writer.expression(expression);
            match (columns.names, expression) {
                (ColumnNames::None, _) | (_, Expression::RowNumber(..)) => {}
                (ColumnNames::Numbered(text), _) => {
                    writer.raw(" AS ");
                    writer.numbered(text, index);
                }
                (ColumnNames::OfPivot, Expression::Pivot(pivot, _)) => {
                    writer.raw(" AS ");
                    writer.identifier(pivot.column);
                }
                (ColumnNames::OfPivot, _) => {}
                (ColumnNames::Value, _) | (ColumnNames::KeysAndValue, Expression::Related(_) | Expression::Text(_)) => {
                    writer.raw(" AS value");
                }
                (ColumnNames::KeysAndValue, _) => {
                    writer.raw(" AS ");
                    writer.numbered("k", index);
                }
            }
        });
    }

    fn table_alias(&mut self, alias: TableAlias) {
        match alias {
            TableAlias::None => {}
            TableAlias::Text(text) => {
                self.raw(" AS ");
                self.raw(text);
            }
            TableAlias::Plan(alias) => {
                self.raw(" AS ");
                self.alias(alias);
            }
            TableAlias::Groups(alias) => self.numbered(" AS g", alias.0 as usize),
        }
    }

    /// A column of a query with this alias.
    fn column_of(&mut self, alias: TableAlias) {
        match alias {
            TableAlias::None => return,
            TableAlias::Text(text) => self.raw(text),
            TableAlias::Plan(alias) => self.alias(alias),
            TableAlias::Groups(alias) => self.numbered("g", alias.0 as usize),
        }
        self.raw(".");
    }

    fn numbered(&mut self, text: &'static str, number: usize) {
        self.raw(text);
        self.number(number);
    }

    fn source(&mut self, from: &FromItem<'_>) {
        match from {
            FromItem::Table(table, alias) => {
                self.table_name(table);
                self.table_alias(*alias);
            }
            FromItem::Keys(fields) => dialect::keys(self, fields),
            FromItem::Query(select, alias) => {
                self.subquery(select);
                self.table_alias(*alias);
            }
            FromItem::Union(selects) => {
                self.raw("(");
                self.separated(" UNION ALL ", selects, |writer, select| {
                    // SQLite takes ORDER BY and LIMIT in a subquery only.
                    writer.raw("SELECT * FROM ");
                    writer.subquery(select);
                    writer.raw(" AS u");
                });
                self.raw(") AS s");
            }
            FromItem::Joined(joined) => {
                self.raw("(");
                self.source(&joined.0);
                joined.1.iter().for_each(|join| self.join(join));
                self.raw(")");
            }
            FromItem::Lookup(lookup) => {
                dialect::lookup(self, lookup, |writer| writer.lookup(lookup));
                self.table_alias(TableAlias::Plan(lookup.alias));
            }
            FromItem::CountOfGroup(alias) => {
                self.raw("(SELECT coalesce(");
                self.column_of(TableAlias::Groups(*alias));
                self.raw("value, 0) AS value)");
                self.table_alias(TableAlias::Plan(*alias));
            }
        }
    }

    fn subquery(&mut self, select: &SqlSelect<'_>) {
        self.raw("(");
        self.select(select);
        self.raw(")");
    }

    fn join(&mut self, join: &SqlJoin<'_>) {
        match join.kind {
            JoinKind::Inner => self.raw(" JOIN "),
            JoinKind::Left => self.raw(" LEFT JOIN "),
            JoinKind::KeysFirst => dialect::join_keys_first(self),
            JoinKind::Lateral => self.raw(" CROSS JOIN LATERAL "),
            JoinKind::Lookup => dialect::join_lookup(self),
        }
        self.source(&join.from);
        self.conditions(" ON ", &join.on);
    }

    fn conditions(&mut self, before: &'static str, conditions: &Conditions<'_>) {
        let Conditions { join, filters } = conditions;
        let join = join.as_slice();
        if !join.is_empty() {
            self.raw(before);
        }
        for (index, condition) in join.iter().enumerate() {
            // This one begins with its own AND, or says nothing.
            if index > 0 && !matches!(condition, JoinCondition::Fits(_)) {
                self.raw(" AND ");
            }
            self.join_condition(condition);
        }
        if !filters.is_empty() {
            self.raw(if join.is_empty() { before } else { " AND " });
            self.condition_list(filters);
        }
    }

    fn join_condition(&mut self, condition: &JoinCondition<'_>) {
        match condition {
            JoinCondition::Equal(left, right) => self.equal(*left, *right),
            JoinCondition::NotNull(operand) => self.not_null(*operand),
            JoinCondition::Fits(pivot) => dialect::and_pivot_fits(self, *pivot),
            JoinCondition::InKeyList(column, own, count) => dialect::in_key_list(self, *column, own, *count),
            JoinCondition::In(key_in) => self.key_in(key_in),
            JoinCondition::UniqueKeyIn(key, select) => {
                self.raw("(");
                self.separated(", ", key, |writer, column| dialect::unique_key_column(writer, *column));
                self.raw(") IN ");
                self.subquery(select);
            }
            JoinCondition::NumberWithin(bounds) => {
                let offset = bounds.offset.unwrap_or(0);
                self.raw("s.r > ");
                self.bind_count(offset);
                self.raw(" AND s.r <= ");
                self.bind_count(bounds.limit.map_or(u64::MAX, |limit| offset.saturating_add(limit)));
            }
        }
    }

    fn equal(&mut self, left: Operand<'_>, right: Operand<'_>) {
        self.equal_side(left, right);
        self.raw(" = ");
        self.equal_side(right, left);
        match (left, right) {
            (Operand::Column(column), Operand::Column(other)) => {
                dialect::and_equal_by_index(self, column, other);
                dialect::and_fits(self, column);
                dialect::and_other_fits(self, other, column.field);
            }
            (Operand::Pivot(pivot), other) | (other, Operand::Pivot(pivot)) => {
                dialect::and_text_by_index(self, pivot.field, Operand::Pivot(pivot), other);
                dialect::and_pivot_fits(self, pivot);
                if let Operand::Column(column) = other {
                    dialect::and_fits(self, column);
                }
            }
            (Operand::Column(column), Operand::ReadPivot(..)) | (Operand::ReadPivot(..), Operand::Column(column)) => {
                dialect::and_fits(self, column);
            }
            (Operand::Column(column), text) | (text, Operand::Column(column)) => {
                dialect::and_text_by_index(self, column.field, Operand::Column(column), text);
                dialect::and_fits(self, column);
            }
            _ => {}
        }
    }

    fn equal_side(&mut self, operand: Operand<'_>, other: Operand<'_>) {
        match (operand, other) {
            (Operand::Column(column), Operand::Column(other)) => dialect::join_column(self, column, other.field),
            (Operand::Column(column), Operand::Key(_, own)) => dialect::join_column_to_key(self, column, own),
            (Operand::Column(column), Operand::GroupKey(_, _, Some(field))) => dialect::join_column(self, column, field),
            (Operand::Column(column), _) => dialect::join_column_to_pivot(self, column),
            (Operand::Pivot(pivot), Operand::Key(..)) => {
                dialect::pivot_column(self, pivot);
                dialect::pivot_collation(self, pivot.field);
            }
            (Operand::Pivot(pivot), _) => dialect::pivot_column(self, pivot),
            _ => self.operand(operand),
        }
    }

    /// An operand as it is, in no dialect's form.
    pub(super) fn operand(&mut self, operand: Operand<'_>) {
        match operand {
            Operand::Column(column) => self.column(column),
            Operand::Pivot(PivotColumn { alias: None, column, .. }) => self.identifier(column),
            Operand::Pivot(PivotColumn { alias: Some(alias), column, .. }) | Operand::ReadPivot(alias, column) => {
                self.alias(alias);
                self.raw(".");
                self.identifier(column);
            }
            Operand::Passed(text, number) => self.numbered(text, number),
            Operand::GroupKey(alias, number, _) => {
                self.column_of(alias);
                self.numbered("k", number);
            }
            Operand::Key(number, _) => self.numbered("k.v", number),
        }
    }

    fn not_null(&mut self, operand: Operand<'_>) {
        match operand {
            Operand::Pivot(pivot) => {
                dialect::pivot_column(self, pivot);
                self.raw(" IS NOT NULL");
                dialect::and_pivot_fits(self, pivot);
            }
            Operand::Column(column) => {
                self.column(column);
                self.raw(" IS NOT NULL");
                dialect::and_fits(self, column);
            }
            _ => {
                self.operand(operand);
                self.raw(" IS NOT NULL");
            }
        }
    }

    fn key_in(&mut self, key_in: &KeyIn<'_>) {
        let KeyIn { keys, select } = key_in;
        for (column, _) in keys {
            self.not_null(Operand::Column(*column));
            self.raw(" AND ");
        }
        let several = keys.len() > 1;
        self.raw(if several { "(" } else { "" });
        self.separated(", ", keys, |writer, (column, to)| writer.expression(&Expression::Column(*column, *to)));
        self.raw(if several { ") IN " } else { " IN " });
        self.subquery(select);
    }

    /// Conditions joined by AND, without parentheses where they are few.
    fn condition_list(&mut self, conditions: &[Condition<'_>]) {
        if conditions.len() <= dialect::MAX_BRANCHES {
            self.separated(" AND ", conditions, Writer::condition);
        } else {
            dialect::before_all(self, conditions.len());
            self.balanced(" AND ", conditions);
        }
    }

    /// A long chain is written as a balanced tree, since SQLite bounds the depth of an expression.
    fn balanced(&mut self, separator: &'static str, conditions: &[Condition<'_>]) {
        self.raw("(");
        if conditions.len() <= dialect::MAX_BRANCHES {
            self.separated(separator, conditions, Writer::condition);
        } else {
            let (left, right) = conditions.split_at(conditions.len() / 2);
            self.balanced(separator, left);
            self.raw(separator);
            self.balanced(separator, right);
        }
        self.raw(")");
    }

    fn condition(&mut self, condition: &Condition<'_>) {
        match condition {
            Condition::Test(predicate, logic) => self.test(predicate, *logic),
            Condition::All(all) => self.balanced(" AND ", all),
            Condition::Key(column, comparison) => self.key_comparison(*column, *comparison),
            Condition::RowComparison(sorts, comparison, values) => self.row_comparison(sorts, *comparison, values),
            Condition::Any(any) => {
                dialect::before_any(self, any.len());
                self.balanced(" OR ", any);
            }
            Condition::Not(inner) => {
                self.raw("NOT (");
                self.condition(inner);
                self.raw(")");
            }
            Condition::Exists(select) => {
                self.raw("EXISTS ");
                self.subquery(select);
            }
            Condition::In(key_in) => {
                self.raw("(");
                self.key_in(key_in);
                self.raw(")");
                dialect::fence_key_in(self);
            }
        }
    }

    fn key_comparison(&mut self, column: Column<'_>, comparison: KeyComparison<'_>) {
        let (sign, value) = match comparison {
            KeyComparison::Null | KeyComparison::NotNull => {
                dialect::sort_key(self, column);
                return self.raw(if matches!(comparison, KeyComparison::Null) { " IS NULL" } else { " IS NOT NULL" });
            }
            KeyComparison::At(value) => (Comparison::Eq, value),
            KeyComparison::Above(value) => (Comparison::Gt, value),
            KeyComparison::Below(value) => (Comparison::Lt, value),
        };
        dialect::sort_key(self, column);
        self.raw(dialect::sign(sign));
        dialect::position_value(self, column.field, value);
    }

    fn row_comparison(&mut self, sorts: &[Sort<'_>], comparison: Comparison, values: &[Value]) {
        self.raw("(");
        self.separated(", ", sorts, |writer, sort| dialect::sort_key(writer, sort.column));
        self.raw(")");
        self.raw(dialect::sign(comparison));
        self.raw("(");
        self.separated(", ", sorts.iter().zip(values), |writer, (sort, value)| dialect::position_value(writer, sort.column.field, value));
        self.raw(")");
    }

    fn test(&mut self, predicate: &Predicate<'_>, logic: Logic) {
        self.predicate = PredicateId::of(predicate);
        match predicate {
            Predicate::Always => self.raw("TRUE"),
            Predicate::Compare { column, comparison, value } => dialect::compare(self, *column, *comparison, value, logic),
            Predicate::Among { column, membership, values } => dialect::among(self, *column, *membership, values, logic),
            Predicate::Between { column, low, high } => dialect::between(self, *column, low, high, logic),
            Predicate::IsNull(column) => dialect::is_null(self, *column, NullTest::Null),
            Predicate::IsNotNull(column) => dialect::is_null(self, *column, NullTest::NotNull),
            Predicate::Unset(column) => dialect::unset(self, *column),
            Predicate::Like { column, pattern } => dialect::like(self, *column, pattern),
            Predicate::Contains { column, values } => dialect::contains(self, *column, values),
            Predicate::Overlap { column, values } => dialect::overlap(self, *column, values, logic),
            // `exists` makes nodes of the last four.
            Predicate::Never | Predicate::All(_) | Predicate::Any(_) | Predicate::Not(_) | Predicate::Exists(_) => self.raw("FALSE"),
        }
        self.predicate = PredicateId::NONE;
    }

    fn order_by(&mut self, order: OrderBy<'_>) {
        if order.first.is_empty() && order.sorts.is_empty() {
            return;
        }
        self.raw(" ORDER BY ");
        self.raw(order.first);
        if !order.first.is_empty() && !order.sorts.is_empty() {
            self.raw(", ");
        }
        self.enumerated(", ", order.sorts, |writer, index, sort| match order.of {
            Sorted::RowsFromValue(_) if index == 0 => dialect::sort_values(writer, sort),
            Sorted::Rows(root) | Sorted::RowsFromValue(root) => dialect::sort(writer, sort, root),
            Sorted::Union(first, root) => {
                writer.numbered("s.c", first + index);
                dialect::sort_passed(writer, sort, root);
            }
            Sorted::Groups => dialect::sort_group(writer, sort),
        });
    }

    /// ` LIMIT … OFFSET …`
    fn bounds(&mut self, bounds: Bounds) {
        match (bounds.limit, bounds.offset) {
            (None, None) => {}
            (None, Some(_)) => dialect::no_limit(self),
            (Some(limit), _) => {
                self.raw(" LIMIT ");
                self.bind_count(limit);
            }
        }
        if let Some(offset) = bounds.offset {
            self.raw(" OFFSET ");
            self.bind_count(offset);
        }
    }
}
