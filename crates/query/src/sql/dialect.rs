//! The only place in this crate that distinguishes PostgreSQL, Citus and SQLite. Each function names a meaning; the files below write it for each
//! database.

mod postgres;
mod shared;
mod sort;
mod sqlite;
mod strategies;

use crate::catalog::{Bucket, Field, Identifier, JsonPath, Native};
use crate::manifest::RelatedFunction;
use crate::plan::predicate::{Alias, Column, Comparison, Membership};
use crate::statement::Function;
use crate::types::{Scalar, Type};
use crate::value::Value;

use super::tree::{KeyCount, Logic, Operand, PivotColumn, RowLock, SqlLookup};
use super::{Arity, Decode, Kind, Writer};

pub(super) use postgres::inserted_rows;
use shared::enum_values;
pub(super) use shared::sign;
pub(super) use sort::{sort, sort_group, sort_passed, sort_values};
pub(super) use sqlite::{TargetColumn, referenced_value};
pub(super) use strategies::{KeySets, LookupJoin, MAX_FLATTENED, MAX_JOINED, ParentLimit, PathJoin, PivotJoin, SegmentOrder, strategies};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL 13 or newer.
    Postgres,
    /// PostgreSQL with Citus, which distributes rows over several servers and refuses some forms of SQL.
    Citus,
    /// The embedded SQLite, with our own functions and collations.
    Sqlite,
}

impl Dialect {
    /// Whether it is PostgreSQL, with Citus or without.
    pub fn is_postgres(self) -> bool {
        self != Dialect::Sqlite
    }

    /// Whether the rows of a statement may be on several servers.
    pub(super) fn has_several_servers(self) -> bool {
        self == Dialect::Citus
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NullTest {
    Null,
    NotNull,
}

impl NullTest {
    fn as_sql(self) -> &'static str {
        match self {
            NullTest::Null => " IS NULL",
            NullTest::NotNull => " IS NOT NULL",
        }
    }
}

pub(super) fn placeholder(writer: &mut Writer, number: usize, kind: Kind, arity: Arity) {
    match writer.dialect {
        Dialect::Postgres | Dialect::Citus => {
            writer.raw("$");
            writer.number(number);
            writer.raw("::");
            writer.raw(kind.as_str());
            if arity == Arity::List {
                writer.raw("[]");
            }
        }
        Dialect::Sqlite => {
            writer.raw("?");
            writer.number(number);
        }
    }
}

/// Writes each of these as the dialect has it.
macro_rules! by_dialect {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $kind:ty),*);)*) => {
        $($(#[$doc])*
        pub(super) fn $name(writer: &mut Writer, $($argument: $kind),*) {
            match writer.dialect {
                Dialect::Postgres | Dialect::Citus => postgres::$name(writer, $($argument),*),
                Dialect::Sqlite => sqlite::$name(writer, $($argument),*),
            }
        })*
    };
}

by_dialect! {
    fn compare(column: Column<'_>, comparison: Comparison, value: &Value, logic: Logic);
    fn among(column: Column<'_>, membership: Membership, values: &[Value], logic: Logic);
    fn between(column: Column<'_>, low: &Value, high: &Value, logic: Logic);
    fn is_null(column: Column<'_>, test: NullTest);
    fn like(column: Column<'_>, pattern: &str);
    fn contains(column: Column<'_>, values: &[Value]);
    fn overlap(column: Column<'_>, values: &[Value], logic: Logic);
    /// A column as it is read for an answer.
    fn shown(column: Column<'_>);
    /// A column as it is read to find related rows.
    fn key(column: Column<'_>);
    /// A join column, cast where the type of the other side differs.
    fn join_column(column: Column<'_>, other: &Field);
    /// The same where the other side is a pivot's column, which has the field's own type.
    fn join_column_to_pivot(column: Column<'_>);
    /// The same where the other side is a bound key, a value of `own`.
    fn join_column_to_key(column: Column<'_>, own: &Field);
    /// ` AND` the same equality once more in a form that an index serves, where the first has none.
    fn and_equal_by_index(column: Column<'_>, other: Column<'_>);
    /// The same for a column of `field` that equals a text.
    fn and_text_by_index(field: &Field, column: Operand<'_>, text: Operand<'_>);
    /// ` AND` a pivot's column holds a value of its field's type, where it may hold another.
    fn and_pivot_fits(pivot: PivotColumn<'_>);
    /// ` AND` a join column holds a value of its type, where it may hold another.
    fn and_fits(column: Column<'_>);
    /// The same for a column that equals one of field `other`, whose value fits.
    fn and_other_fits(column: Column<'_>, other: &Field);
    /// A pivot's column, in the form that compares with its field.
    fn pivot_column(pivot: PivotColumn<'_>);
    /// The same, or NULL where the value does not fit.
    fn fitting_pivot_column(pivot: PivotColumn<'_>);
    /// The collation by which a pivot's column compares with its field.
    fn pivot_collation(field: &Field);
    /// The keys of a batch of parents, values of `own`, as a table `k` of values `v0`, … and their number `n`.
    fn keys(own: &[&Field]);
    fn grouped(column: Column<'_>);
    /// The same, as it is read.
    fn grouped_shown(column: Column<'_>);
    fn sort_key(column: Column<'_>);
    /// A value that a sort key is compared with. Unlike in a condition of a statement, values of the column that do not fit are compared
    /// too, since they are sorted among the others.
    fn position_value(field: &Field, value: &Value);
    /// A sort key as it is read for a position. Where it is sorted as stored, it is read as stored.
    fn position(column: Column<'_>);
    /// A value in the form that its column stores.
    fn stored_value(field: &Field, value: &Value);
    /// What a column holds after a value was added to it.
    fn added(column: Column<'_>, value: &Value);
    /// The same, as it is read to find other rows.
    fn added_key(column: Column<'_>, value: &Value);
    /// A column inside an aggregate function.
    fn measured(column: Column<'_>);
    /// The value of a field inside a json column.
    fn json_path(column: Column<'_>, path: &JsonPath);
    /// The start of the period that a date or a timestamp is in.
    fn bucket(column: Column<'_>, bucket: &Bucket);
    /// A column inside `count`.
    fn counted(column: Column<'_>);
    /// The rest of `min(` or `max(`, since not every type has one.
    fn extreme_value(column: Column<'_>);
    /// `min` or `max` of decimals with several scales.
    fn extreme_decimal(function: Function, column: Column<'_>);
    /// The exact sum, or a float's.
    fn sum(column: Column<'_>);
    /// What an aggregate function makes of a column, as a value of its type.
    fn related(function: Function, column: Column<'_>);
}

/// The column of soft deletion is not set. A flag is set when it is true, another column when it is not NULL.
pub(super) fn unset(writer: &mut Writer, column: Column<'_>) {
    match (writer.dialect, &column.field.kind) {
        (Dialect::Postgres | Dialect::Citus, Type::One(Scalar::Bool)) => {
            writer.column(column);
            writer.raw(" IS NOT TRUE");
        }
        // Any other stored value sets it.
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

/// Whether the database stores equal values of the field in several forms, which its unique indexes and foreign keys tell apart.
pub(super) fn has_several_forms(dialect: Dialect, field: &Field) -> bool {
    dialect == Dialect::Sqlite && sqlite::has_several_forms(field)
}

/// Whether the column that is read for the answer serves as key too.
pub(super) fn shown_is_key(dialect: Dialect, field: &Field) -> bool {
    dialect.is_postgres()
        && !matches!(field.native, Native::OtherInteger | Native::WideInteger | Native::Real | Native::TimestampWithoutZone)
        && enum_values(field).is_none()
}

/// Whether the column that is read for the answer gives the position of a row too.
pub(super) fn shown_is_position(dialect: Dialect, field: &Field) -> bool {
    dialect.is_postgres() || sqlite::sorts_as_stored(field)
}

/// Whether the rows of a relation can be found by a list of keys: a row then tells by its own column which parent it belongs to.
pub(super) fn can_list_keys(dialect: Dialect, own: &Field, other: &Field) -> bool {
    // SQLite's keys are in the form that its functions give them, not in that of a column.
    dialect.is_postgres() && postgres::is_equal_by_bytes(own, other)
}

/// A column is one of the parents' keys.
pub(super) fn in_key_list(writer: &mut Writer, column: Column<'_>, own: &Field, count: KeyCount) {
    writer.column(column);
    // PostgreSQL expects ten keys in a list of unknown length, so it would plan each run with a list of one again.
    let (open, close) = if count == KeyCount::One { (" = (", ")[1]") } else { (" = ANY(", ")") };
    writer.raw(open);
    postgres::bind_keys(writer, 0, own);
    writer.raw(close);
}

/// The number `n` of the first key.
pub(super) fn first_key_number(dialect: Dialect) -> u64 {
    u64::from(dialect.is_postgres())
}

/// How a part of SQLite's index compares.
pub(super) fn index_collation(writer: &mut Writer, collation: &Identifier) {
    writer.raw(" COLLATE ");
    writer.identifier(collation);
}

/// Joins the keys with a table; the keys come first.
pub(super) fn join_keys_first(writer: &mut Writer) {
    writer.raw(match writer.dialect {
        Dialect::Postgres | Dialect::Citus => " JOIN ",
        // SQLite never reorders a CROSS JOIN: it goes from the few keys to the table's index.
        Dialect::Sqlite => " CROSS JOIN ",
    });
}

/// Joins a lookup with the rows so far.
pub(super) fn join_lookup(writer: &mut Writer) {
    writer.raw(match writer.dialect {
        Dialect::Postgres | Dialect::Citus => " CROSS JOIN LATERAL ",
        Dialect::Sqlite => " CROSS JOIN ",
    });
}

/// A lookup as a table with one row and the column `value`. SQLite has no lateral subquery, but a table-valued function may have an
/// argument that depends on the row. JSON has no exact form of a float, so that its bits are passed.
pub(super) fn lookup(writer: &mut Writer, lookup: &SqlLookup<'_>, write: impl FnOnce(&mut Writer)) {
    let is_query = lookup.function != RelatedFunction::Exists;
    let (before, after) = match writer.dialect {
        Dialect::Postgres | Dialect::Citus if is_query => ("", ""),
        // Without a fence the planner evaluates the expression wherever the value is named.
        Dialect::Postgres | Dialect::Citus => ("(SELECT ", " AS value OFFSET 0)"),
        Dialect::Sqlite if shared::is_float(lookup.field) => ("json_each(json_array(peristyle_bits(", ")))"),
        Dialect::Sqlite => ("json_each(json_array(", "))"),
    };
    writer.raw(before);
    write(writer);
    writer.raw(after);
}

/// What follows a lookup that is read for an answer.
pub(super) fn shown_lookup(writer: &mut Writer, lookup: &SqlLookup<'_>) {
    if writer.dialect.is_postgres() {
        postgres::cast_shown(writer, lookup.field);
    }
}

/// The column of a lookup. A row without related rows is in no group, and neither is one that a dot-path does not find.
pub(super) fn looked_up(writer: &mut Writer, column: Column<'_>) {
    let function = column.field.related().map(|related| related.function);
    let (before, after) = match (writer.dialect, function) {
        (Dialect::Sqlite, _) if shared::is_float(column.field) => ("peristyle_double(", ")"),
        (Dialect::Citus, Some(RelatedFunction::Count)) => ("coalesce(", ", 0)"),
        (Dialect::Citus, Some(RelatedFunction::Exists)) => ("coalesce(", ", false)"),
        _ => ("", ""),
    };
    let path = writer.path_lookups.iter().find(|(lookup, ..)| *lookup == column.alias && !before.is_empty()).cloned();
    if let Some((_, alias, key)) = &path {
        writer.raw("CASE WHEN ");
        writer.stored_column(*alias, key);
        writer.raw(" IS NOT NULL THEN ");
    }
    writer.raw(before);
    writer.stored_column(column.alias, &column.field.column);
    writer.raw(after);
    writer.raw(if path.is_some() { " END" } else { "" });
}

/// A column that joins a dot-path's table, as a key of groups. Citus groups by a distribution column on each server, also the rows that
/// the path leads nowhere from: their group would come once for each shard. It does not look into an expression.
pub(super) fn path_key_as_group(writer: &mut Writer, column: Column<'_>) {
    writer.raw("CASE WHEN ");
    writer.stored_column(column.alias, &column.field.column);
    writer.raw(" IS NOT NULL THEN ");
    writer.stored_column(column.alias, &column.field.column);
    writer.raw(" END");
}

/// Past this many branches an OR is hidden from SQLite's planner, which compares each with each, and a chain becomes a balanced tree.
pub(super) const MAX_BRANCHES: usize = 16;

/// Past this many conditions a list is hidden from SQLite's planner, which may make one chain of them again for an automatic index.
const MAX_SPLIT: usize = 256;

/// The beginning of a list of so many conditions.
pub(super) fn before_all(writer: &mut Writer, conditions: usize) {
    if writer.dialect == Dialect::Sqlite && conditions > MAX_SPLIT {
        writer.raw("+");
    }
}

/// The beginning of an OR of so many branches.
pub(super) fn before_any(writer: &mut Writer, branches: usize) {
    if writer.dialect == Dialect::Sqlite && branches > MAX_BRANCHES {
        writer.raw("+");
    }
}

/// Locks the rows of a table until the transaction ends.
pub(super) fn lock_rows(writer: &mut Writer, alias: Alias, lock: RowLock) {
    if strategies(writer.dialect).locks_rows {
        writer.raw(match lock {
            RowLock::Change => " FOR NO KEY UPDATE OF ",
            RowLock::Delete => " FOR UPDATE OF ",
        });
        writer.alias(alias);
    }
}

/// The type that a field is bound as in a key.
pub(super) fn key_kind(dialect: Dialect, field: &Field) -> Kind {
    match dialect {
        Dialect::Postgres | Dialect::Citus => postgres::key_kind(field),
        Dialect::Sqlite => shared::scalar_kind(field.kind.scalar()),
    }
}

/// A value as the column of a key holds it: a `real` has fewer digits than a double.
pub(super) fn key_value(dialect: Dialect, field: &Field, value: &Value) -> Value {
    match value {
        Value::Float(number) if dialect.is_postgres() && field.native == Native::Real => Value::Float(f64::from(*number as f32)),
        value => value.clone(),
    }
}

/// SQLite has no OFFSET without LIMIT.
pub(super) fn no_limit(writer: &mut Writer) {
    if writer.dialect == Dialect::Sqlite {
        writer.raw(" LIMIT -1");
    }
}

/// Whether an index can hold the rows in the order of this field.
pub(super) fn may_sort_by_index(dialect: Dialect, field: &Field) -> bool {
    // Our functions on SQLite are in no index.
    dialect.is_postgres() || (field.derived.is_none() && sqlite::sorts_as_stored(field))
}

/// How the position of a sort key is read.
pub(super) fn position_decode(dialect: Dialect, field: &Field) -> Decode {
    match dialect {
        Dialect::Sqlite if !sqlite::sorts_as_stored(field) => Decode::standard(field),
        Dialect::Postgres | Dialect::Citus | Dialect::Sqlite => Decode::of(field),
    }
}

/// A column of a unique key, compared as its index does.
pub(super) fn unique_key_column(writer: &mut Writer, column: Column<'_>) {
    writer.column(column);
    if writer.dialect == Dialect::Sqlite && !matches!(column.field.kind, Type::One(Scalar::Int | Scalar::BigInt)) {
        // No collation distinguishes more values.
        writer.raw(" COLLATE BINARY");
    }
}

/// Keeps a planner from joining this subquery with the query around it.
pub(super) fn fence(writer: &mut Writer, is_separate: bool) {
    // SQLite's planner does not join it anyway, and that of Citus joins co-located tables on each server.
    if writer.dialect == Dialect::Postgres || is_separate {
        writer.raw(" OFFSET 0");
    }
}

/// Keeps a planner from turning the IN before it into a join.
pub(super) fn fence_key_in(writer: &mut Writer) {
    if writer.dialect == Dialect::Postgres {
        writer.raw(" IS TRUE");
    }
}

/// `min` or `max`. Of equal decimals it is the one with the largest scale.
pub(super) fn extreme(writer: &mut Writer, function: Function, column: Column<'_>) {
    if shared::has_scales(writer.dialect, column.field) {
        return extreme_decimal(writer, function, column);
    }
    writer.raw(if function == Function::Min { "min(" } else { "max(" });
    extreme_value(writer, column);
}

/// Whether a literal needs `E` and doubled backslashes: a setting of PostgreSQL decides how it reads them otherwise.
pub(super) fn escapes(dialect: Dialect, text: &str) -> bool {
    dialect.is_postgres() && text.contains('\\')
}
