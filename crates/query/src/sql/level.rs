//! The rows of one level: the root, or a relation's rows for all parents of a batch at once.

use std::rc::Rc;

use crate::catalog::{Field, FieldId, JoinColumns, Mask, Resource};
use crate::plan::lookup::LookupUse;
use crate::plan::predicate::{Alias, Column};
use crate::plan::{Child, RowSource, Select, Show};

use super::dialect::{self, ParentLimit};
use super::exists::lookup::{self, LookupRows};
use super::join::FromKeys;
use super::tree::{
    ColumnNames, ColumnUse, Conditions, Expression, FromItem, GroupBy, JoinCondition, JoinConditions, JoinKind, KeyCount, OrderBy, RowLock,
    SelectList, SqlJoin, SqlSelect, TableAlias,
};
use super::{ChildLevel, Decode, Dialect, Level, Output, Owner, PageEnd, Sql, print, row_source};

/// The rows of the root. The version of the one row is read beside its fields.
pub(super) fn root(select: &Select<'_>, version: Option<Column<'_>>, dialect: Dialect) -> Level {
    let mut columns = Columns::of(select, dialect);
    let page_end = version.map(|version| PageEnd { rows: 1, position: vec![columns.position(version)] });
    let tree = row_source::select(SelectList::unnamed(columns.take()), &select.source, GroupBy::Nothing, dialect);
    let tree = SqlSelect { order: row_source::order(&select.source), bounds: select.source.bounds, ..tree };
    Level { page_end, ..columns.level(select, &tree) }
}

/// How many rows the root has without limit and offset. Joins made for an order cannot change it and stay out.
pub(super) fn total(select: &Select<'_>, dialect: Dialect) -> Sql {
    let tree = SqlSelect::new(SelectList::text("count(*)"), row_source::table(&select.source.table));
    let joins = lookup::joins(&select.source.table, LookupUse::Filter, LookupRows::of_all(&select.source), dialect).collect();
    print::sql(&SqlSelect { joins, conditions: row_source::filters(&select.source, dialect), ..tree }, dialect)
}

/// The columns of a level: those that are shown, then the keys that its relations start from and that are not shown.
pub(super) struct Columns<'p> {
    outputs: Vec<Output>,
    pub(super) list: Vec<Expression<'p>>,
    /// For each relation, which columns are its key.
    keys: Vec<Vec<usize>>,
    dialect: Dialect,
}

impl<'p> Columns<'p> {
    pub(super) fn of(select: &'p Select<'p>, dialect: Dialect) -> Self {
        let table = &select.source.table;
        let count = select.shown.len();
        let mut columns = Columns {
            outputs: Vec::with_capacity(count),
            list: Vec::with_capacity(count + select.children.len()),
            keys: Vec::new(),
            dialect,
        };
        for (shown, show) in &select.shown {
            let field = shown.field;
            let decode = match show {
                Show::Masked(Mask::Redact) if field.masks_to_text() => Decode::Redacted,
                Show::Masked(Mask::Redact) => Decode::RedactedNull,
                _ => Decode::of(field),
            };
            let (key, values) = (field.json_key.clone(), field.fitting_values().cloned());
            let is_read = !matches!(decode, Decode::Redacted | Decode::RedactedNull);
            let lookup = lookup::shown(table, shown.alias, dialect);
            // Fields with the same declaration share a column.
            let column = lookup.and_then(|lookup| columns.looked_up(lookup.alias)).unwrap_or(columns.list.len());
            columns.outputs.push(Output { key, column, decode, show: *show, values });
            if is_read && column == columns.list.len() {
                columns.list.push(match lookup {
                    Some(lookup) => Expression::Lookup(Rc::new(lookup::value(lookup, dialect))),
                    None => Expression::Column(*shown, ColumnUse::Shown),
                });
            }
        }
        for child in &select.children {
            let key = child.relation.join_columns.own_fields().into_iter().map(|id| columns.key(table.column(id))).collect();
            columns.keys.push(key);
        }
        columns
    }

    /// The number of the column with the value of this lookup.
    fn looked_up(&self, alias: Alias) -> Option<usize> {
        self.list.iter().position(|expression| matches!(expression, Expression::Lookup(lookup) if lookup.alias == alias))
    }

    /// The number of the column that serves as key for this field; it is added where there is none.
    fn key(&mut self, column: Column<'p>) -> usize {
        let serves = |expression: &Expression<'_>| match expression {
            Expression::Column(Column { field, .. }, column_use) => {
                std::ptr::eq(*field, column.field)
                    && (matches!(column_use, ColumnUse::Key) || dialect::shown_is_key(self.dialect, column.field))
            }
            _ => false,
        };
        self.list.iter().position(serves).unwrap_or_else(|| {
            self.list.push(Expression::Column(column, ColumnUse::Key));
            self.list.len() - 1
        })
    }

    /// Adds a value to the columns that are read, exactly as it is stored.
    pub(super) fn position(&mut self, column: Column<'p>) -> Output {
        let field = column.field;
        let serves = |expression: &Expression<'_>| match expression {
            Expression::Column(shown, ColumnUse::Shown) => {
                shown.alias == column.alias && std::ptr::eq(shown.field, field) && dialect::shown_is_position(self.dialect, field)
            }
            _ => false,
        };
        let number = self.list.iter().position(serves).unwrap_or_else(|| {
            self.list.push(Expression::Column(column, ColumnUse::Position));
            self.list.len() - 1
        });
        Output {
            key: field.json_key.clone(),
            column: number,
            decode: dialect::position_decode(self.dialect, field),
            show: Show::Plain,
            values: field.fitting_values().cloned(),
        }
    }

    pub(super) fn take(&mut self) -> Vec<Expression<'p>> {
        // A table may have nothing to show: every field hidden. A row still counts.
        if self.list.is_empty() {
            self.list.push(Expression::Text("1"));
        }
        std::mem::take(&mut self.list)
    }

    /// Another column comes before all of these.
    fn shift(&mut self) {
        self.outputs.iter_mut().for_each(|output| output.column += 1);
        self.keys.iter_mut().flatten().for_each(|column| *column += 1);
    }

    /// Writes the query, and the levels below.
    pub(super) fn level(self, select: &Select<'_>, tree: &SqlSelect<'_>) -> Level {
        let child = |(child, parent_columns): (&Child<'_>, Vec<usize>)| {
            let (owner, level) = child_level(select.source.table.resource, child, KeyCount::Any, self.dialect);
            ChildLevel { key: child.relation.json_key.clone(), many: child.relation.many, parent_columns, owner, level }
        };
        let children = select.children.iter().zip(self.keys).map(child).collect();
        Level { sql: print::sql(tree, self.dialect), outputs: self.outputs, children, page_end: None }
    }
}

/// How the rows of a relation are found for all parents at once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fetch<'p> {
    /// `column = ANY(keys)`. A row tells by its own column which parent it belongs to.
    KeyList { own: &'p Field, other: FieldId },
    /// A join with a table of the keys and their numbers.
    KeyTable,
    /// For each key a lateral subquery of the first rows, which can stop early.
    Lateral,
    /// The rows whose unique keys are those of the first; for each parent a subquery that can stop early finds these.
    FirstKeys,
    /// The rows are numbered within their parent, which a join with a table of the keys finds.
    RowNumber,
    /// The same where `column = ANY(keys)` finds the rows.
    NumberedKeyList { own: &'p Field, other: FieldId },
}

impl<'p> Fetch<'p> {
    pub(super) fn choose(parent: &'p Resource, child: &'p Child<'p>, dialect: Dialect) -> Self {
        let target = child.select.source.table.resource;
        let is_bounded = child.select.source.bounds.given();
        let key_list = match &child.relation.join_columns {
            JoinColumns::Direct(pairs) => match pairs.as_slice() {
                [(own, other)] if dialect::can_list_keys(dialect, &parent.fields[*own], &target.fields[*other]) => {
                    Some((&parent.fields[*own], *other))
                }
                _ => None,
            },
            JoinColumns::Through { .. } => None,
        };
        match (key_list, dialect::strategies(dialect).parent_limit) {
            (Some((own, other)), _) if !is_bounded => Fetch::KeyList { own, other },
            (None, _) if !is_bounded => Fetch::KeyTable,
            (_, ParentLimit::Lateral) => Fetch::Lateral,
            (_, ParentLimit::FirstKeys) if target.key_is_certain => Fetch::FirstKeys,
            (Some((own, other)), ParentLimit::RowNumber) => Fetch::NumberedKeyList { own, other },
            (_, ParentLimit::FirstKeys | ParentLimit::RowNumber) => Fetch::RowNumber,
        }
    }
}

/// The same level, with rows that stay locked until the transaction ends.
pub(super) fn locking(parent: &Resource, child: &Child<'_>, lock: RowLock, dialect: Dialect) -> (Owner, Level) {
    keyed(parent, child, KeyCount::Any, dialect, Some((child.select.source.table.alias, lock)))
}

/// The rows of a relation for the keys of its parents.
pub(super) fn child_level(parent: &Resource, child: &Child<'_>, count: KeyCount, dialect: Dialect) -> (Owner, Level) {
    keyed(parent, child, count, dialect, None)
}

fn keyed(parent: &Resource, child: &Child<'_>, count: KeyCount, dialect: Dialect, locked: Option<(Alias, RowLock)>) -> (Owner, Level) {
    let select = &child.select;
    let mut columns = Columns::of(select, dialect);
    let rows = ChildRows { child, keys: FromKeys::new(parent, child), dialect };
    let filters = row_source::filters(&select.source, dialect);
    let (owner, tree) = match Fetch::choose(parent, child, dialect) {
        Fetch::KeyList { own, other } => {
            let column = select.source.table.column(other);
            let owner = Owner::Key(columns.key(column));
            (owner, by_key_list(columns.take(), rows, filters, JoinCondition::InKeyList(column, own, count)))
        }
        Fetch::KeyTable => (Owner::Number, by_key_table(columns.take(), rows, filters)),
        Fetch::Lateral => (Owner::Number, by_lateral(columns.take(), rows, filters)),
        Fetch::FirstKeys => (Owner::Number, by_first_keys(columns.take(), rows, filters)),
        Fetch::RowNumber => (Owner::Number, by_row_number(columns.take(), rows, filters)),
        Fetch::NumberedKeyList { own, other } => {
            let column = select.source.table.column(other);
            let owner = Owner::Key(columns.key(column));
            (owner, by_numbered_key_list(columns.take(), rows, filters, (column, own)))
        }
    };
    if owner == Owner::Number {
        columns.shift();
    }
    (owner, columns.level(select, &SqlSelect { locked, ..tree }))
}

/// The related rows of a batch of parents.
#[derive(Clone, Copy)]
struct ChildRows<'p> {
    child: &'p Child<'p>,
    keys: FromKeys<'p>,
    dialect: Dialect,
}

impl<'p> ChildRows<'p> {
    fn source(self) -> &'p RowSource<'p> {
        &self.child.select.source
    }

    fn lookups(self) -> Vec<SqlJoin<'p>> {
        lookup::joins(&self.source().table, LookupUse::Order, LookupRows::Some, self.dialect).collect()
    }
}

fn by_key_list<'p>(list: Vec<Expression<'p>>, rows: ChildRows<'p>, filters: Conditions<'p>, in_list: JoinCondition<'p>) -> SqlSelect<'p> {
    let (source, joins) = (rows.source(), rows.lookups());
    let conditions = Conditions { join: JoinConditions::One(in_list), ..filters };
    SqlSelect {
        joins,
        conditions,
        order: row_source::order(source),
        ..SqlSelect::new(SelectList::unnamed(list), row_source::table(&source.table))
    }
}

fn by_key_table<'p>(list: Vec<Expression<'p>>, rows: ChildRows<'p>, conditions: Conditions<'p>) -> SqlSelect<'p> {
    let columns = SelectList { first: "k.n", ..SelectList::unnamed(list) };
    let (from, joins) = rows.keys.all_rows(rows.lookups());
    SqlSelect { joins, conditions, order: row_source::order(rows.source()), ..SqlSelect::new(columns, from) }
}

fn by_lateral<'p>(list: Vec<Expression<'p>>, rows: ChildRows<'p>, filters: Conditions<'p>) -> SqlSelect<'p> {
    let columns = SelectList { first: "", list, names: ColumnNames::Numbered("c") };
    let first = FromItem::Query(Box::new(first_of_one_key(columns, rows, filters)), TableAlias::Text("s"));
    let joins = vec![SqlJoin { kind: JoinKind::Lateral, from: first, on: Conditions::default() }];
    SqlSelect { joins, ..SqlSelect::new(SelectList::text("k.n, s.*"), rows.keys.keys()) }
}

/// The subquery calls its table by the same name as the query around it; inside, the name is its own.
fn by_first_keys<'p>(list: Vec<Expression<'p>>, rows: ChildRows<'p>, filters: Conditions<'p>) -> SqlSelect<'p> {
    let table = &rows.source().table;
    let key: Vec<Column<'_>> = table.resource.key.iter().map(|id| table.column(*id)).collect();
    let key_columns = key.iter().map(|column| Expression::Column(*column, ColumnUse::Stored)).collect();
    let first = first_of_one_key(SelectList::unnamed(key_columns), rows, filters);
    let joins = rows.keys.to_target(JoinConditions::One(JoinCondition::UniqueKeyIn(key, Box::new(first))), rows.lookups());
    let order = OrderBy { first: "k.n", ..row_source::order(rows.source()) };
    let columns = SelectList { first: "k.n", ..SelectList::unnamed(list) };
    SqlSelect { joins, order, ..SqlSelect::new(columns, rows.keys.keys()) }
}

fn first_of_one_key<'p>(columns: SelectList<'p>, rows: ChildRows<'p>, filters: Conditions<'p>) -> SqlSelect<'p> {
    let source = rows.source();
    SqlSelect { order: row_source::order(source), bounds: source.bounds, ..rows.keys.rows_of_one_key(columns, filters, rows.lookups()) }
}

fn by_numbered_key_list<'p>(
    mut list: Vec<Expression<'p>>,
    rows: ChildRows<'p>,
    filters: Conditions<'p>,
    (column, own): (Column<'p>, &'p Field),
) -> SqlSelect<'p> {
    let source = rows.source();
    let outer = SelectList::unnamed((0..list.len()).map(|number| Expression::Numbered("s.c", number)).collect());
    list.push(Expression::RowNumber(source, Some(column)));
    let columns = SelectList { first: "", list, names: ColumnNames::Numbered("c") };
    let conditions = Conditions { join: JoinConditions::One(JoinCondition::InKeyList(column, own, KeyCount::Any)), ..filters };
    let numbered = SqlSelect { joins: rows.lookups(), conditions, ..SqlSelect::new(columns, row_source::table(&source.table)) };
    within_bounds(outer, numbered, OrderBy { first: "s.r", ..OrderBy::NONE }, source)
}

fn by_row_number<'p>(mut list: Vec<Expression<'p>>, rows: ChildRows<'p>, filters: Conditions<'p>) -> SqlSelect<'p> {
    let source = rows.source();
    let outer = (0..list.len()).map(|number| Expression::Numbered("s.c", number)).collect();
    let outer = SelectList { first: "s.n", ..SelectList::unnamed(outer) };
    list.push(Expression::RowNumber(source, None));
    let columns = SelectList { first: "k.n AS n", list, names: ColumnNames::Numbered("c") };
    let (from, joins) = rows.keys.all_rows(rows.lookups());
    let numbered = SqlSelect { joins, conditions: filters, ..SqlSelect::new(columns, from) };
    within_bounds(outer, numbered, OrderBy { first: "s.n, s.r", ..OrderBy::NONE }, source)
}

/// The numbered rows that are within the bounds of each parent.
fn within_bounds<'p>(columns: SelectList<'p>, numbered: SqlSelect<'p>, order: OrderBy<'p>, source: &RowSource<'_>) -> SqlSelect<'p> {
    let conditions = Conditions { join: JoinConditions::One(JoinCondition::NumberWithin(source.bounds)), filters: Vec::new() };
    SqlSelect { conditions, order, ..SqlSelect::new(columns, FromItem::Query(Box::new(numbered), TableAlias::Text("s"))) }
}
