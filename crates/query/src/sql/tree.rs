//! The SQL of one level as a small tree. `level`, `group`, `join` and `exists` make it from a plan and decide every strategy;
//! `print` writes it and decides nothing. Nodes borrow from the plan.
//!
//! Text is in a node only as a `&'static str`, as an identifier of the catalog, or as a number of our own.

use std::rc::Rc;

use crate::catalog::{Field, Identifier, TableName};
use crate::manifest::RelatedFunction;
use crate::plan::lookup::Lookup;
use crate::plan::predicate::{Alias, Column, Comparison, Predicate};
use crate::plan::{Bounds, Grouped, Measured, RowSource, Sort};
use crate::value::Value;

/// Whether an unknown condition may count as false.
///
/// Under a NOT it may not: NOT of unknown is unknown, NOT of false is true. Where it may, SQLite can use its indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logic {
    UnknownIsFalse,
    /// It may, and the next condition on the same column checks that the value fits its type.
    FitFollows,
    ThreeValued,
}

/// The forms of a relation filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExistsForm {
    /// `EXISTS`: from each row to its related rows.
    Plain,
    /// The same, and the planner must not join it with the query around it.
    Fenced,
    /// `key IN (SELECT …)`: the keys of all rows that have a related row, found once.
    KeyIn,
}

#[derive(Debug)]
pub(super) struct SqlSelect<'p> {
    pub(super) distinct: bool,
    pub(super) columns: SelectList<'p>,
    pub(super) from: FromItem<'p>,
    pub(super) joins: Vec<SqlJoin<'p>>,
    pub(super) conditions: Conditions<'p>,
    pub(super) group_by: GroupBy<'p>,
    pub(super) order: OrderBy<'p>,
    pub(super) bounds: Bounds,
    /// Whether the planner must not join this subquery with the query around it.
    pub(super) fenced: bool,
    /// Whether Citus must run this subquery before the query around it, because their tables are not co-located. Joins that equate their
    /// distribution columns make Citus expect that they are, and refuse the statement.
    pub(super) separate: bool,
    /// The table with rows that stay locked until the transaction ends. SQLite has one writer and needs no locks.
    pub(super) locked: Option<(Alias, RowLock)>,
    /// The lookups of a dot-path's rows, each with a column that is NULL where the path leads to no row. Only for lookups joined as groups.
    pub(super) path_lookups: Vec<(Alias, Column<'p>)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum GroupBy<'p> {
    Nothing,
    Groups(&'p Grouped<'p>),
    /// The first columns of the list, so many.
    FirstColumns(usize),
}

/// What a lock keeps other transactions from.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowLock {
    /// Changing the row. New rows may refer to it, because its key stays.
    Change,
    /// Changing the row and referring to it.
    Delete,
}

impl<'p> SqlSelect<'p> {
    pub(super) fn new(columns: SelectList<'p>, from: FromItem<'p>) -> Self {
        SqlSelect {
            distinct: false,
            columns,
            from,
            joins: Vec::new(),
            conditions: Conditions::default(),
            group_by: GroupBy::Nothing,
            order: OrderBy::NONE,
            bounds: Bounds { limit: None, offset: None },
            fenced: false,
            separate: false,
            locked: None,
            path_lookups: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(super) struct SelectList<'p> {
    /// Text before the list: `k.n`, `count(*)`.
    pub(super) first: &'static str,
    pub(super) list: Vec<Expression<'p>>,
    pub(super) names: ColumnNames,
}

impl<'p> SelectList<'p> {
    pub(super) fn text(first: &'static str) -> Self {
        SelectList { first, list: Vec::new(), names: ColumnNames::None }
    }

    pub(super) fn unnamed(list: Vec<Expression<'p>>) -> Self {
        SelectList { first: "", list, names: ColumnNames::None }
    }
}

/// What `AS` calls the columns of a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnNames {
    None,
    /// `c0`, `c1`, …
    Numbered(&'static str),
    /// The names of the pivot's columns.
    OfPivot,
    /// `value`
    Value,
    /// `k0`, `k1`, …, and the value of a derived field as `value`
    KeysAndValue,
}

/// What `AS` calls a table or a query.
#[derive(Clone, Copy, Debug)]
pub(super) enum TableAlias {
    /// None: its columns are named without a table.
    None,
    Text(&'static str),
    Plan(Alias),
    /// The groups of a lookup: `g4`.
    Groups(Alias),
}

#[derive(Clone, Debug)]
pub(super) enum Expression<'p> {
    /// `k.n`, `count(*)`
    Text(&'static str),
    /// `s.c0`
    Numbered(&'static str, usize),
    Column(Column<'p>, ColumnUse<'p>),
    Pivot(PivotColumn<'p>, PivotUse),
    Measure(&'p Measured<'p>),
    /// The value of a derived field inside its own query.
    Related(&'p Lookup<'p>),
    /// The value of a derived field that only the answer needs.
    Lookup(Rc<SqlLookup<'p>>),
    /// The number of a row within its parent, in the order of a source. Its name is `r`. The column has the parent's key; without one, `k.n`
    /// has its number.
    RowNumber(&'p RowSource<'p>, Option<Column<'p>>),
}

/// What a column is read for. A dialect has a form for each use.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnUse<'p> {
    Stored,
    /// For the answer.
    Shown,
    /// To find related rows.
    Key,
    Grouped,
    /// To sort by it in the query around.
    SortKey,
    /// For the position at the end of a keyset page.
    Position,
    /// To compare it with a column of this field.
    JoinedTo(&'p Field),
    JoinedToPivot,
}

/// A column of a pivot, and the field that it stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct PivotColumn<'p> {
    /// None where the pivot is the only table.
    pub(super) alias: Option<Alias>,
    pub(super) column: &'p Identifier,
    pub(super) field: &'p Field,
}

/// What a pivot's column is read for.
#[derive(Clone, Copy, Debug)]
pub(super) enum PivotUse {
    /// To compare it at once.
    Compared,
    /// To compare it in the query around.
    Passed,
    /// The same, and values that do not fit the field are NULL.
    PassedIfFit,
}

/// Where rows come from.
#[derive(Debug)]
pub(super) enum FromItem<'p> {
    Table(&'p TableName, TableAlias),
    /// The keys of a batch of parents as a table `k`: values `v0`, … and their number `n`.
    Keys(Vec<&'p Field>),
    Query(Box<SqlSelect<'p>>, TableAlias),
    /// The rows of all these queries as a table `s`.
    Union(Vec<SqlSelect<'p>>),
    Joined(Box<(FromItem<'p>, Vec<SqlJoin<'p>>)>),
    /// A table of one row and one column `value`.
    Lookup(Box<SqlLookup<'p>>),
    /// The same for a count: that of the row's group, or zero.
    CountOfGroup(Alias),
}

impl FromItem<'_> {
    /// Makes Citus run each subquery here before the query around it.
    pub(super) fn separate(&mut self) {
        match self {
            FromItem::Query(select, _) => select.separate = true,
            FromItem::Joined(joined) => {
                joined.0.separate();
                joined.1.iter_mut().for_each(|join| join.from.separate());
            }
            _ => {}
        }
    }
}

/// The value of a derived field: what the function makes of the rows of a query.
#[derive(Debug)]
pub(super) struct SqlLookup<'p> {
    pub(super) alias: Alias,
    pub(super) field: &'p Field,
    pub(super) function: RelatedFunction,
    pub(super) select: SqlSelect<'p>,
}

#[derive(Debug)]
pub(super) struct SqlJoin<'p> {
    pub(super) kind: JoinKind,
    pub(super) from: FromItem<'p>,
    pub(super) on: Conditions<'p>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinKind {
    Inner,
    Left,
    /// An inner join that goes from the keys to the table.
    KeysFirst,
    Lateral,
    /// To a table of one row for each row so far.
    Lookup,
}

/// The conditions of a `WHERE` or an `ON`, joined by AND.
#[derive(Debug, Default)]
pub(super) struct Conditions<'p> {
    /// What joins rows.
    pub(super) join: JoinConditions<'p>,
    /// Policies and filters.
    pub(super) filters: Vec<Condition<'p>>,
}

/// Nearly always one, which then needs no allocation.
#[derive(Debug, Default)]
pub(super) enum JoinConditions<'p> {
    #[default]
    None,
    One(JoinCondition<'p>),
    Several(Vec<JoinCondition<'p>>),
}

impl<'p> JoinConditions<'p> {
    pub(super) fn as_slice(&self) -> &[JoinCondition<'p>] {
        match self {
            JoinConditions::None => &[],
            JoinConditions::One(one) => std::slice::from_ref(one),
            JoinConditions::Several(several) => several,
        }
    }
}

impl<'p> FromIterator<JoinCondition<'p>> for JoinConditions<'p> {
    fn from_iter<I: IntoIterator<Item = JoinCondition<'p>>>(conditions: I) -> Self {
        let mut conditions = conditions.into_iter();
        match (conditions.next(), conditions.next()) {
            (None, _) => JoinConditions::None,
            (Some(one), None) => JoinConditions::One(one),
            (Some(one), Some(two)) => JoinConditions::Several([one, two].into_iter().chain(conditions).collect()),
        }
    }
}

#[derive(Debug)]
pub(super) enum JoinCondition<'p> {
    Equal(Operand<'p>, Operand<'p>),
    NotNull(Operand<'p>),
    /// The pivot's column holds a value of its field's type.
    Fits(PivotColumn<'p>),
    /// The column is one of the parents' keys, which are values of this field.
    InKeyList(Column<'p>, &'p Field, KeyCount),
    In(Box<KeyIn<'p>>),
    /// The unique key of a row is one of those that a query finds.
    UniqueKeyIn(Vec<Column<'p>>, Box<SqlSelect<'p>>),
    /// The row's number is within these bounds.
    NumberWithin(Bounds),
}

/// How many keys a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyCount {
    One,
    Any,
}

/// `key IS NOT NULL AND key IN (SELECT …)`
#[derive(Debug)]
pub(super) struct KeyIn<'p> {
    pub(super) keys: Vec<(Column<'p>, ColumnUse<'p>)>,
    pub(super) select: SqlSelect<'p>,
}

/// One side of an equality that joins rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand<'p> {
    Column(Column<'p>),
    Pivot(PivotColumn<'p>),
    /// A pivot's column that a subquery has read.
    ReadPivot(Alias, &'p Identifier),
    /// The same by the name that the subquery gives it, and its number.
    Passed(&'static str, usize),
    /// A key of the groups of a lookup, by its number, and the field of the related row that it is; none if it is a pivot's column.
    GroupKey(TableAlias, usize, Option<&'p Field>),
    /// A value of a parent's key, by its number, and the field it comes from.
    Key(usize, &'p Field),
}

#[derive(Debug)]
pub(super) enum Condition<'p> {
    /// A predicate without a connector or a relation filter.
    Test(&'p Predicate<'p>, Logic),
    All(Vec<Condition<'p>>),
    Any(Vec<Condition<'p>>),
    Not(Box<Condition<'p>>),
    Exists(Box<SqlSelect<'p>>),
    In(Box<KeyIn<'p>>),
    /// A sort key of a row, compared with the value of a position.
    Key(Column<'p>, KeyComparison<'p>),
    /// All sort keys of a row, compared with a position in one row comparison: `(a, b) > (x, y)`.
    RowComparison(&'p [Sort<'p>], Comparison, &'p [Value]),
}

/// How a sort key compares with the value of a position. It is compared as rows are sorted, also where its value is invalid.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeyComparison<'p> {
    Null,
    NotNull,
    At(&'p Value),
    Above(&'p Value),
    Below(&'p Value),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct OrderBy<'p> {
    /// What comes before the sort keys.
    pub(super) first: &'static str,
    pub(super) sorts: &'p [Sort<'p>],
    pub(super) of: Sorted,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Sorted {
    /// The rows of this table, and what is joined with them.
    Rows(Alias),
    /// The same, and the first sort key is not NULL.
    RowsFromValue(Alias),
    /// The rows of a union. Its columns from this number on are the sort keys.
    Union(usize, Alias),
    Groups,
}

impl OrderBy<'_> {
    pub(super) const NONE: Self = OrderBy { first: "", sorts: &[], of: Sorted::Groups };
}
