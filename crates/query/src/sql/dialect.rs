//! The only place where the two databases are told apart. Each function names a meaning; the files below say it twice.

mod alike;
mod postgres;
mod sqlite;

use crate::catalog::{Field, Native};
use crate::plan::Sort;
use crate::plan::predicate::{Alias, Column, Comparison, Membership};
use crate::statement::{Direction, Function};
use crate::types::{Scalar, Type};
use crate::value::Value;

use super::{Kind, Many, Writer};

pub(super) use alike::Logic;
use alike::enum_values;

/// The two databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL 13 or newer.
    Postgres,
    /// The embedded SQLite, with our own functions and collations.
    Sqlite,
}

pub(super) fn placeholder(writer: &mut Writer, number: usize, kind: Kind, many: Many) {
    match writer.dialect {
        Dialect::Postgres => {
            writer.raw("$");
            writer.number(number);
            writer.raw("::");
            writer.raw(kind.as_str());
            if many == Many::List {
                writer.raw("[]");
            }
        }
        Dialect::Sqlite => {
            writer.raw("?");
            writer.number(number);
        }
    }
}

macro_rules! either {
    ($writer:ident, $function:ident ( $($argument:expr),* )) => {
        match $writer.dialect {
            Dialect::Postgres => postgres::$function($writer, $($argument),*),
            Dialect::Sqlite => sqlite::$function($writer, $($argument),*),
        }
    };
}

pub(super) fn compare(writer: &mut Writer, column: Column<'_>, comparison: Comparison, value: &Value, logic: Logic) {
    either!(writer, compare(column, comparison, value, logic));
}

pub(super) fn among(writer: &mut Writer, column: Column<'_>, membership: Membership, values: &[Value], logic: Logic) {
    either!(writer, among(column, membership, values, logic));
}

pub(super) fn between(writer: &mut Writer, column: Column<'_>, low: &Value, high: &Value, logic: Logic) {
    either!(writer, between(column, low, high, logic));
}

pub(super) fn is_null(writer: &mut Writer, column: Column<'_>, test: &'static str) {
    either!(writer, is_null(column, test));
}

/// That a column of soft deletion is not set: a flag is set when it is true, anything else when it is there.
pub(super) fn unset(writer: &mut Writer, column: Column<'_>) {
    match (writer.dialect, &column.field.kind) {
        (Dialect::Postgres, Type::One(Scalar::Bool)) => {
            writer.column(column);
            writer.raw(" IS NOT TRUE");
        }
        // Whatever else is stored there was meant to set it.
        (Dialect::Sqlite, Type::One(Scalar::Bool)) => {
            writer.raw("(");
            writer.column(column);
            writer.raw(" IS NULL OR ");
            writer.column(column);
            writer.raw(" IS 0)");
        }
        _ => {
            writer.column(column);
            writer.raw(" IS NULL");
        }
    }
}

pub(super) fn like(writer: &mut Writer, column: Column<'_>, pattern: &str) {
    either!(writer, like(column, pattern));
}

pub(super) fn contains(writer: &mut Writer, column: Column<'_>, values: &[Value]) {
    either!(writer, contains(column, values));
}

pub(super) fn overlap(writer: &mut Writer, column: Column<'_>, values: &[Value], logic: Logic) {
    either!(writer, overlap(column, values, logic));
}

/// A column as it is read for an answer.
pub(super) fn shown(writer: &mut Writer, column: Column<'_>) {
    either!(writer, shown(column));
}

/// A column as it is read to find related rows.
pub(super) fn key(writer: &mut Writer, column: Column<'_>) {
    either!(writer, key(column));
}

/// Whether the column read for an answer serves as key too.
pub(super) fn shown_is_key(dialect: Dialect, field: &Field) -> bool {
    dialect == Dialect::Postgres
        && !matches!(field.native, Native::OtherInteger | Native::WideInteger | Native::Real | Native::TimestampWithoutZone)
        && enum_values(field).is_none()
}

/// A column in a link, cast where the other side's type is another.
pub(super) fn linked(writer: &mut Writer, column: Column<'_>, other: &Field) {
    either!(writer, linked(column, other));
}

/// A column in a link to a pivot, whose column is of the type that the field's has by itself.
pub(super) fn linked_to_pivot(writer: &mut Writer, column: Column<'_>) {
    either!(writer, linked_to_pivot(column));
}

/// What two equal columns also are, if an index needs to be told.
pub(super) fn found_by(writer: &mut Writer, column: Column<'_>, other: Column<'_>) {
    either!(writer, found_by(column, other));
}

/// What a column that equals a text also is, if an index needs to be told.
pub(super) fn found_by_text(writer: &mut Writer, column: Column<'_>, text: impl FnOnce(&mut Writer)) {
    either!(writer, found_by_text(column, text));
}

/// What a pivot's column that equals a text also is, if an index needs to be told.
pub(super) fn pivot_found_by_text(writer: &mut Writer, field: &Field, column: impl FnOnce(&mut Writer), text: impl FnOnce(&mut Writer)) {
    either!(writer, pivot_found_by_text(field, column, text));
}

/// What else must hold of a pivot's column that connects rows.
pub(super) fn pivot_fits(writer: &mut Writer, field: &Field, column: impl FnOnce(&mut Writer)) {
    either!(writer, pivot_fits(field, column));
}

/// What else must hold of a column that connects rows.
pub(super) fn connected(writer: &mut Writer, column: Column<'_>) {
    either!(writer, connected(column));
}

/// What else must hold of a column that equals another which connects rows.
pub(super) fn connected_to(writer: &mut Writer, column: Column<'_>, other: &Field) {
    either!(writer, connected_to(column, other));
}

/// A pivot's column, in the form in which the field it stands for is compared.
pub(super) fn pivot(writer: &mut Writer, field: &Field, column: impl Fn(&mut Writer)) {
    either!(writer, pivot(field, column));
}

/// The same where it is read before it is compared.
pub(super) fn pivot_read(writer: &mut Writer, field: &Field, column: impl Fn(&mut Writer)) {
    either!(writer, pivot_read(field, column));
}

/// How a pivot's column compares with the field it stands for.
pub(super) fn pivot_collation(writer: &mut Writer, field: &Field) {
    either!(writer, pivot_collation(field));
}

/// How the rows of a relation are cut for each parent. Both ways are written by `level`, of the same parts.
pub(super) enum Cut {
    /// A lateral subquery that can stop early.
    Lateral,
    /// Rows with the keys of the first, which a subquery that can stop early finds for each parent; where keys may be repeated, rows are
    /// numbered within their parent.
    ByKey,
}

pub(super) fn cut(dialect: Dialect) -> Cut {
    match dialect {
        Dialect::Postgres => Cut::Lateral,
        Dialect::Sqlite => Cut::ByKey,
    }
}

/// How the rows of a relation that is not cut are found for all parents at once, where one column connects them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Related {
    /// By a list of the keys. What was found tells by its own column whose it is.
    Listed,
    /// By a join with a table of the keys and their numbers.
    Joined,
}

pub(super) fn related(dialect: Dialect, own: &Field, other: &Field) -> Related {
    match dialect {
        Dialect::Postgres if postgres::tells_key(own, other) => Related::Listed,
        // SQLite's keys are in the form that its functions give them, which is not that of a column.
        Dialect::Postgres | Dialect::Sqlite => Related::Joined,
    }
}

/// A column that is one of the parents' keys, where rows are found by a list of them.
pub(super) fn among_keys(writer: &mut Writer, column: Column<'_>, own: &Field) {
    writer.column(column);
    writer.raw(" = ANY(");
    postgres::bind_keys(writer, 0, own);
    writer.raw(")");
}

/// The keys of a batch of parents, which are those of `own`, as a table `k` of their values `v0`, … and their number `n`.
pub(super) fn keys(writer: &mut Writer, own: &[&Field]) {
    either!(writer, keys(own));
}

/// A column that is compared with the bound keys of `own`.
pub(super) fn linked_to_key(writer: &mut Writer, column: Column<'_>, own: &Field) {
    either!(writer, linked_to_key(column, own));
}

/// Joins the keys with a table; the keys come first.
pub(super) fn forced_join(writer: &mut Writer) {
    writer.raw(match writer.dialect {
        Dialect::Postgres => " JOIN ",
        // SQLite never reorders a CROSS JOIN: the few keys drive, the table's index serves.
        Dialect::Sqlite => " CROSS JOIN ",
    });
}

/// Past this many branches an OR is kept from SQLite's planner, which weighs every one of them against every other, and a
/// chain is written as a balanced tree, since SQLite bounds the depth of an expression.
pub(super) const MOST_BRANCHES: usize = 16;

/// Past this many conditions a list is kept from SQLite's planner, which may make one chain of them again, for an index of its own.
const MOST_SPLIT: usize = 256;

/// What stands before a list of so many conditions.
pub(super) fn before_all(writer: &mut Writer, conditions: usize) {
    if writer.dialect == Dialect::Sqlite && conditions > MOST_SPLIT {
        writer.raw("+");
    }
}

/// What stands before an OR of so many branches.
pub(super) fn before_any(writer: &mut Writer, branches: usize) {
    if writer.dialect == Dialect::Sqlite && branches > MOST_BRANCHES {
        writer.raw("+");
    }
}

/// SQLite has no OFFSET without LIMIT.
pub(super) fn no_limit(writer: &mut Writer) {
    if writer.dialect == Dialect::Sqlite {
        writer.raw(" LIMIT -1");
    }
}

/// A sort key of rows; `root` is the table that is not joined.
pub(super) fn sort(writer: &mut Writer, sort: &Sort<'_>, root: Alias) {
    match writer.dialect {
        Dialect::Postgres => {
            postgres::sort_key(writer, sort.column);
            direction(writer, sort.direction);
        }
        Dialect::Sqlite => {
            sqlite::sort_key(writer, sort.column);
            direction(writer, sort.direction);
            if sort.column.field.nullable || sort.column.alias != root {
                nulls(writer, sort.direction);
            }
        }
    }
}

/// A column of a key, compared as a unique index tells its values apart.
pub(super) fn told_apart(writer: &mut Writer, column: Column<'_>) {
    writer.column(column);
    if writer.dialect == Dialect::Sqlite && !matches!(column.field.kind, Type::One(Scalar::Int | Scalar::BigInt)) {
        // No collation takes more values for different.
        writer.raw(" COLLATE BINARY");
    }
}

/// A sort key of groups.
pub(super) fn sort_group(writer: &mut Writer, sort: &Sort<'_>) {
    grouped(writer, sort.column);
    direction(writer, sort.direction);
    if writer.dialect == Dialect::Sqlite {
        nulls(writer, sort.direction);
    }
}

fn direction(writer: &mut Writer, direction: Direction) {
    writer.raw(match direction {
        Direction::Ascending => " ASC",
        Direction::Descending => " DESC",
    });
}

/// PostgreSQL's own placement of NULL, said aloud.
fn nulls(writer: &mut Writer, direction: Direction) {
    writer.raw(match direction {
        Direction::Ascending => " NULLS LAST",
        Direction::Descending => " NULLS FIRST",
    });
}

/// Relation filters in each other that a planner may turn into joins. PostgreSQL does so with any number of them, and where it expects
/// one row of each table, as of small ones without statistics, it compares all rows of all of them: 24 rows at five levels had not ended after fifteen seconds.
pub(super) const MOST_FLATTENED: usize = 2;

/// Relation filters that a planner may turn into one join. PostgreSQL weighs every order of up to eight tables that start from the same
/// row: five filters take it three milliseconds to plan, seven take thirty, and forty take twenty seconds.
pub(super) const MOST_JOINED: usize = 5;

/// To-many filters in each other that are always followed, however far they spread out.
pub(super) fn most_to_many(dialect: Dialect) -> usize {
    match dialect {
        // It joins them well by itself.
        Dialect::Postgres => MOST_FLATTENED,
        Dialect::Sqlite => 0,
    }
}

/// Which to-many filters of a chain are written as sets of keys, where several spread out.
pub(super) enum Sets {
    EveryToMany,
    AllButTheFirst,
}

pub(super) fn sets(dialect: Dialect) -> Sets {
    match dialect {
        // It may find the keys anew for each row that is followed, so none is.
        Dialect::Postgres => Sets::EveryToMany,
        // It finds the keys once, so that others can go on using their indexes.
        Dialect::Sqlite => Sets::AllButTheFirst,
    }
}

/// How the pairs of a pivot are joined with, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pairs {
    /// As a query of all of them.
    Gathered,
    /// From each row by its key.
    LookedUp,
}

pub(super) fn pairs(dialect: Dialect) -> Pairs {
    match dialect {
        Dialect::Postgres => Pairs::Gathered,
        // It would go through all of them for each row: 6,000 rows and 300,000 pairs had not ended after half a minute.
        Dialect::Sqlite => Pairs::LookedUp,
    }
}

/// Whether a relation filter that few rows can meet is to be looked at first. Who plans well finds that out.
pub(super) fn leads(dialect: Dialect) -> bool {
    match dialect {
        Dialect::Postgres => false,
        // It goes through the rows around an EXISTS, whatever stands in it.
        Dialect::Sqlite => true,
    }
}

/// Keeps a planner from turning the subquery around it into a join.
pub(super) fn fence(writer: &mut Writer) {
    match writer.dialect {
        Dialect::Postgres => writer.raw(" OFFSET 0"),
        // Its planner takes filters by the dozen as they come.
        Dialect::Sqlite => {}
    }
}

/// Keeps a planner from turning the IN before it into a join.
pub(super) fn fence_set(writer: &mut Writer) {
    match writer.dialect {
        Dialect::Postgres => writer.raw(" IS TRUE"),
        Dialect::Sqlite => {}
    }
}

/// A column that is grouped by.
pub(super) fn grouped(writer: &mut Writer, column: Column<'_>) {
    either!(writer, grouped(column));
}

/// The same, as it is read.
pub(super) fn grouped_shown(writer: &mut Writer, column: Column<'_>) {
    either!(writer, grouped_shown(column));
}

/// A column inside an aggregate function.
pub(super) fn measured(writer: &mut Writer, column: Column<'_>) {
    either!(writer, measured(column));
}

/// A column inside `count`.
pub(super) fn counted(writer: &mut Writer, column: Column<'_>) {
    either!(writer, counted(column));
}

/// The exact sum, or a float's.
pub(super) fn sum(writer: &mut Writer, column: Column<'_>) {
    either!(writer, sum(column));
}

/// The smallest or largest value.
pub(super) fn extreme(writer: &mut Writer, function: Function, column: Column<'_>) {
    writer.raw(if function == Function::Min { "min(" } else { "max(" });
    either!(writer, extreme_value(column));
}

/// Whether a text in quotes has to say that its backslashes are doubled. PostgreSQL reads them as they stand or not, by a setting.
pub(super) fn escapes(dialect: Dialect, text: &str) -> bool {
    dialect == Dialect::Postgres && text.contains('\\')
}
