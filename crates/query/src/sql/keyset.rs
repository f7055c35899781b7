//! A keyset page: the rows after a position, found by the index of the order.
//!
//! The rows after a position are segments of the order: those equal in all sort keys but the last, those equal in all but two, and so on.
//! A planner finds the first rows of each segment by an index; of an `OR` of all segments it reads every row before them. So each segment is
//! a query with its own order and limit, and the page is the first rows of their union. Decision 0085 has the measurements.
//!
//! No index leads to the value of a lookup or of a joined table: each segment would read all rows again. So the segments end before the first
//! such sort key, and one condition compares the rest of the order. Decision 0105 has the measurements.

use crate::catalog::JoinColumns;
use crate::plan::keyset::KeysetPage;
use crate::plan::lookup::LookupUse;
use crate::plan::predicate::{Comparison, Predicate};
use crate::plan::{Bounds, RowSource, Select, Sort, Table};
use crate::statement::Direction;
use crate::value::Value;

use super::dialect::SegmentOrder;
use super::level::Columns;
use super::tree::{
    ColumnNames, ColumnUse, Condition, Expression, FromItem, GroupBy, KeyComparison, OrderBy, SelectList, Sorted, SqlSelect,
};
use super::{Dialect, Level, PageEnd, dialect, row_source};

/// A page has at most so many segments; the rest of the order is in one.
const MAX_SEGMENTS: usize = 8;
/// Each segment repeats the filters of the statement: at most so many conditions in all of them.
const MAX_CONDITIONS: usize = 512;
/// Each segment repeats the joined tables and lookups, and planning them takes long: at most so many in all of them.
const MAX_JOINS: usize = 60;

pub(super) fn root(select: &Select<'_>, page: &KeysetPage, dialect: Dialect) -> Level {
    let source = &select.source;
    let rows = source.bounds.limit.unwrap_or(0);
    let mut columns = Columns::of(select, dialect);
    let position = source.order.iter().map(|sort| columns.position(sort.column)).collect();
    let list = columns.take();
    // A page without rows has no end.
    let bounds = Bounds { limit: Some(if rows == 0 { 0 } else { rows + 1 }), offset: None };
    let segments = page.position.as_ref().map_or_else(Vec::new, |values| segments(source, values, dialect));
    let tree = match segments.len() {
        0 | 1 => segment(source, segments.into_iter().next(), SelectList::unnamed(list), bounds, dialect),
        _ => union(source, segments, &list, bounds, dialect),
    };
    let page_end = PageEnd { rows: usize::try_from(rows).unwrap_or(usize::MAX), position };
    Level { page_end: Some(page_end), ..columns.level(select, &tree) }
}

/// A part of the rows after a position.
struct Segment<'p> {
    conditions: Vec<Condition<'p>>,
    /// The sort keys that still order its rows. The others have one value in it.
    sorts: &'p [Sort<'p>],
    sorted: Sorted,
}

fn segment<'p>(
    source: &'p RowSource<'p>,
    segment: Option<Segment<'p>>,
    columns: SelectList<'p>,
    bounds: Bounds,
    dialect: Dialect,
) -> SqlSelect<'p> {
    let mut tree = row_source::select(columns, source, GroupBy::Nothing, dialect);
    let mut order = row_source::order(source);
    if let Some(Segment { conditions, sorts, sorted }) = segment {
        tree.conditions.filters.extend(conditions);
        order = OrderBy { first: "", sorts, of: sorted };
    }
    SqlSelect { order, bounds, ..tree }
}

fn union<'p>(
    source: &'p RowSource<'p>,
    segments: Vec<Segment<'p>>,
    list: &[Expression<'p>],
    bounds: Bounds,
    dialect: Dialect,
) -> SqlSelect<'p> {
    let read = list.len();
    let sort_keys = source.order.iter().map(|sort| Expression::Column(sort.column, ColumnUse::SortKey));
    let inner: Vec<Expression<'p>> = list.iter().cloned().chain(sort_keys).collect();
    let parts = segments.into_iter().map(|part| {
        let columns = SelectList { first: "", list: inner.clone(), names: ColumnNames::Numbered("c") };
        segment(source, Some(part), columns, bounds, dialect)
    });
    let from = FromItem::Union(parts.collect());
    let outer = SelectList::unnamed((0..read).map(|number| Expression::Numbered("s.c", number)).collect());
    let order = OrderBy { first: "", sorts: &source.order, of: Sorted::Union(read, source.table.alias) };
    SqlSelect { order, bounds, ..SqlSelect::new(outer, from) }
}

/// The segments after a position, in the order of their rows.
fn segments<'p>(source: &'p RowSource<'p>, values: &'p [Value], dialect: Dialect) -> Vec<Segment<'p>> {
    let order = &source.order[..];
    let root = source.table.alias;
    let filters = std::iter::once(source.table.policy()).chain(source.filters.iter().map(|(_, filter)| filter));
    let each = 1 + filters.map(conditions).sum::<usize>();
    let most = MAX_SEGMENTS.min(MAX_CONDITIONS / each).min(MAX_JOINS / joins(source).max(1));
    let count = |split: usize| {
        let own: usize = order[..split].iter().zip(values).map(|(sort, value)| after(source, sort, value).len()).sum();
        own + usize::from(split < order.len())
    };
    // How many sort keys have segments of their own.
    let served =
        order.iter().take_while(|sort| sort.column.alias == root && dialect::may_sort_by_index(dialect, sort.column.field)).count();
    let split = (0..=served).rev().find(|split| count(*split) <= most).unwrap_or(0);
    if dialect::strategies(dialect).compares_rows
        && let Some(segments) = row_comparison(source, values)
    {
        return segments;
    }
    let all_keys = dialect::strategies(dialect).segment_order == SegmentOrder::AllKeys;
    let equal = |end: usize| order[..end].iter().zip(values).map(|(sort, value)| at(sort, value));
    let mut segments = Vec::new();
    if split < order.len() {
        let conditions = equal(split).chain([beyond(source, &order[split..], &values[split..])]).collect();
        let sorts = if all_keys { order } else { &order[split..] };
        segments.push(Segment { conditions, sorts, sorted: Sorted::Rows(root) });
    }
    for (index, (sort, value)) in order.iter().zip(values).enumerate().take(split).rev() {
        for comparison in after(source, sort, value) {
            let (from, sorted) = match comparison {
                _ if all_keys => (0, Sorted::Rows(root)),
                KeyComparison::Null => (index + 1, Sorted::Rows(root)),
                _ => (index, Sorted::RowsFromValue(root)),
            };
            let conditions = equal(index).chain([Condition::Key(sort.column, comparison)]).collect();
            segments.push(Segment { conditions, sorts: &order[from..], sorted });
        }
    }
    segments
}

/// The rows after a position by one comparison of all sort keys, if they have one direction and no NULL comes between. NULLs of the first
/// key are a segment of their own.
fn row_comparison<'p>(source: &'p RowSource<'p>, values: &'p [Value]) -> Option<Vec<Segment<'p>>> {
    let (order, root) = (&source.order[..], source.table.alias);
    let (first, rest) = order.split_first()?;
    let is_plain = |sort: &Sort<'_>| sort.direction == first.direction && sort.column.alias == root;
    let ends_with_null = |sort: &Sort<'_>| sort.direction == Direction::Ascending && sort.column.field.may_read_null();
    if rest.is_empty() || values.contains(&Value::Null) || !order.iter().all(is_plain) || rest.iter().any(ends_with_null) {
        return None;
    }
    let comparison = if first.direction == Direction::Ascending { Comparison::Gt } else { Comparison::Lt };
    let mut segments = vec![Segment {
        conditions: vec![Condition::RowComparison(order, comparison, values)],
        sorts: order,
        sorted: Sorted::RowsFromValue(root),
    }];
    if ends_with_null(first) {
        let conditions = vec![Condition::Key(first.column, KeyComparison::Null)];
        segments.push(Segment { conditions, sorts: order, sorted: Sorted::Rows(root) });
    }
    Some(segments)
}

fn at<'p>(sort: &Sort<'p>, value: &'p Value) -> Condition<'p> {
    Condition::Key(sort.column, if *value == Value::Null { KeyComparison::Null } else { KeyComparison::At(value) })
}

/// The comparisons that select the values after a value, in their order.
fn after<'p>(source: &RowSource<'_>, sort: &Sort<'_>, value: &'p Value) -> Vec<KeyComparison<'p>> {
    let alias = sort.column.alias;
    let is_of_root = alias == source.table.alias || source.table.lookups().iter().any(|lookup| lookup.alias == alias);
    // A path may lead to no row.
    let is_nullable = sort.column.field.may_read_null() || !is_of_root;
    match (sort.direction, value) {
        (Direction::Ascending, Value::Null) => Vec::new(),
        (Direction::Ascending, value) if is_nullable => vec![KeyComparison::Above(value), KeyComparison::Null],
        (Direction::Ascending, value) => vec![KeyComparison::Above(value)],
        (Direction::Descending, Value::Null) => vec![KeyComparison::NotNull],
        (Direction::Descending, value) => vec![KeyComparison::Below(value)],
    }
}

/// All rows after a position as one condition.
fn beyond<'p>(source: &RowSource<'_>, order: &[Sort<'p>], values: &'p [Value]) -> Condition<'p> {
    let ([sort, sorts @ ..], [value, rest @ ..]) = (order, values) else { return Condition::Any(Vec::new()) };
    let mut any: Vec<Condition<'p>> =
        after(source, sort, value).into_iter().map(|comparison| Condition::Key(sort.column, comparison)).collect();
    if !sorts.is_empty() {
        any.push(Condition::All(vec![at(sort, value), beyond(source, sorts, rest)]));
    }
    Condition::Any(any)
}

/// How many tables and lookups each segment joins.
fn joins(source: &RowSource<'_>) -> usize {
    let lookups = |table: &Table<'_>| table.lookups().iter().filter(|lookup| lookup.used > LookupUse::Shown).count();
    let paths = source
        .joins
        .iter()
        .map(|join| 1 + usize::from(matches!(join.relation.join_columns, JoinColumns::Through { .. })) + lookups(&join.table));
    lookups(&source.table) + paths.sum::<usize>()
}

/// How many conditions a predicate is written with, about.
fn conditions(predicate: &Predicate<'_>) -> usize {
    match predicate {
        Predicate::Always => 0,
        Predicate::All(several) | Predicate::Any(several) => several.iter().map(conditions).sum(),
        Predicate::Not(inner) => conditions(inner),
        Predicate::Exists(exists) => 4 + conditions(&exists.filter) + conditions(exists.table.policy()),
        _ => 1,
    }
}
