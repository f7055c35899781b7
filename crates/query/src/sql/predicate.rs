//! Predicates as SQL conditions.

use crate::plan::predicate::{Comparison, Predicate};

use super::{Writer, dialect, link};

/// Whether a condition that is neither true nor false may be taken for false.
///
/// Under a NOT it may not: NOT of unknown is unknown, NOT of false is true. Where it may, SQLite can use its indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logic {
    UnknownIsFalse,
    ThreeValued,
}

/// Conditions joined by AND, with a word before the first.
pub(super) struct Conjunction {
    next: &'static str,
}

impl Conjunction {
    pub(super) fn new(before: &'static str) -> Self {
        Conjunction { next: before }
    }

    /// One condition stands already.
    pub(super) fn started() -> Self {
        Conjunction { next: " AND " }
    }

    pub(super) fn predicate(&mut self, writer: &mut Writer, predicate: &Predicate<'_>) {
        match predicate {
            Predicate::Always => {}
            Predicate::All(all) if all.len() <= dialect::MOST_BRANCHES => {
                for predicate in all {
                    self.predicate(writer, predicate);
                }
            }
            other => {
                writer.raw(self.next);
                self.next = " AND ";
                condition(writer, other, Logic::UnknownIsFalse);
            }
        }
    }
}

fn condition(writer: &mut Writer, predicate: &Predicate<'_>, logic: Logic) {
    match predicate {
        Predicate::Always => writer.raw("TRUE"),
        Predicate::Never => writer.raw("FALSE"),
        Predicate::All(all) => joined(writer, all, " AND ", logic),
        Predicate::Any(any) => {
            dialect::before_any(writer, any.len());
            behind_connector(writer, |writer| joined(writer, any, " OR ", logic));
        }
        Predicate::Not(inner) => {
            writer.raw("NOT (");
            if matches!(**inner, Predicate::Exists(_)) {
                condition(writer, inner, Logic::ThreeValued);
            } else {
                behind_connector(writer, |writer| condition(writer, inner, Logic::ThreeValued));
            }
            writer.raw(")");
        }
        Predicate::Compare { column, comparison, value } => dialect::compare(writer, *column, *comparison, value, logic),
        Predicate::Among { column, membership, values } => dialect::among(writer, *column, *membership, values, logic),
        Predicate::Between { column, low, high } => dialect::between(writer, *column, (low, high), logic),
        Predicate::IsNull(column) => dialect::is_null(writer, *column, " IS NULL"),
        Predicate::IsNotNull(column) => dialect::is_null(writer, *column, " IS NOT NULL"),
        Predicate::Unset(column) => {
            writer.column(*column);
            writer.raw(" IS NULL");
        }
        Predicate::Like { column, pattern } => dialect::like(writer, *column, pattern),
        Predicate::Contains { column, values } => dialect::contains(writer, *column, values),
        Predicate::Overlap { column, values } => dialect::overlap(writer, *column, values),
        Predicate::Exists(exists) => link::exists(writer, exists),
    }
}

/// Writes what a planner does not join with the query around.
fn behind_connector(writer: &mut Writer, write: impl FnOnce(&mut Writer)) {
    let around = writer.around;
    writer.around = around.behind_connector();
    write(writer);
    writer.around = around;
}

fn joined(writer: &mut Writer, predicates: &[Predicate<'_>], separator: &'static str, logic: Logic) {
    writer.raw("(");
    if predicates.len() <= dialect::MOST_BRANCHES {
        writer.separated(separator, predicates, |writer, predicate| condition(writer, predicate, logic));
    } else {
        let (left, right) = predicates.split_at(predicates.len() / 2);
        joined(writer, left, separator, logic);
        writer.raw(separator);
        joined(writer, right, separator, logic);
    }
    writer.raw(")");
}

pub(super) fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Eq => " = ",
        Comparison::Ne => " <> ",
        Comparison::Gt => " > ",
        Comparison::Gte => " >= ",
        Comparison::Lt => " < ",
        Comparison::Lte => " <= ",
    }
}
