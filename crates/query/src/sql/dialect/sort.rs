//! Sort keys, with NULL where PostgreSQL places it.

use crate::plan::Sort;
use crate::plan::predicate::Alias;
use crate::sql::Writer;
use crate::statement::Direction;

use super::{Dialect, grouped, pivot_collation, sort_key};

/// A sort key of rows; `root` is the table that is not joined.
pub(in crate::sql) fn sort(writer: &mut Writer, sort: &Sort<'_>, root: Alias) {
    sort_key(writer, sort.column);
    direction(writer, sort.direction);
    if writer.dialect == Dialect::Sqlite && (sort.column.field.may_read_null() || sort.column.alias != root) {
        nulls(writer, sort.direction);
    }
}

/// A sort key that is not NULL.
pub(in crate::sql) fn sort_values(writer: &mut Writer, sort: &Sort<'_>) {
    sort_key(writer, sort.column);
    direction(writer, sort.direction);
}

/// The rest of a sort key that a subquery has read.
pub(in crate::sql) fn sort_passed(writer: &mut Writer, sort: &Sort<'_>, root: Alias) {
    if writer.dialect == Dialect::Sqlite {
        pivot_collation(writer, sort.column.field);
    }
    direction(writer, sort.direction);
    if writer.dialect == Dialect::Sqlite && (sort.column.field.may_read_null() || sort.column.alias != root) {
        nulls(writer, sort.direction);
    }
}

/// A sort key of groups.
pub(in crate::sql) fn sort_group(writer: &mut Writer, sort: &Sort<'_>) {
    writer.group_key(|writer| grouped(writer, sort.column));
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

/// Where PostgreSQL places NULL by itself.
fn nulls(writer: &mut Writer, direction: Direction) {
    writer.raw(match direction {
        Direction::Ascending => " NULLS LAST",
        Direction::Descending => " NULLS FIRST",
    });
}
