//! Predicates as SQL conditions.

use crate::plan::predicate::Predicate;

use super::Writer;
use super::dialect::{self, Logic};

/// Conditions joined by AND, with a word before the first.
pub(super) struct Conjunction {
    before: &'static str,
}

impl Conjunction {
    pub(super) fn new(before: &'static str) -> Self {
        Conjunction { before }
    }

    /// One condition stands already.
    pub(super) fn started() -> Self {
        Conjunction { before: " AND " }
    }

    /// Writes all of them as one list, whoever brought them: several lists behind each other would be one deep chain to SQLite.
    pub(super) fn write<'p, 'c: 'p>(self, writer: &mut Writer, predicates: impl IntoIterator<Item = &'p Predicate<'c>>) {
        let mut all = Vec::new();
        for predicate in predicates {
            flatten(predicate, &mut all);
        }
        if all.is_empty() {
            return;
        }
        writer.raw(self.before);
        if all.len() <= dialect::MOST_BRANCHES {
            writer.enumerated(" AND ", &all, |writer, index, predicate| {
                let is_followed = all.get(index + 1).is_some_and(|next| are_of_one_column(predicate, next));
                condition(writer, predicate, if is_followed { Logic::FitFollows } else { Logic::UnknownIsFalse });
            });
        } else {
            dialect::before_all(writer, all.len());
            joined(writer, &all, " AND ", Logic::UnknownIsFalse);
        }
    }
}

fn flatten<'p, 'c>(predicate: &'p Predicate<'c>, all: &mut Vec<&'p Predicate<'c>>) {
    match predicate {
        Predicate::Always => {}
        Predicate::All(several) => several.iter().for_each(|one| flatten(one, all)),
        other => all.push(other),
    }
}

/// Whether both compare the same column, as the two ends of a range do: the second sees to it that the value fits its type.
fn are_of_one_column(one: &Predicate<'_>, other: &Predicate<'_>) -> bool {
    match (one, other) {
        (Predicate::Compare { column, .. }, Predicate::Compare { column: other, .. }) => {
            column.alias == other.alias && std::ptr::eq(column.field, other.field)
        }
        _ => false,
    }
}

fn condition(writer: &mut Writer, predicate: &Predicate<'_>, logic: Logic) {
    match predicate {
        Predicate::Always => writer.raw("TRUE"),
        Predicate::Never => writer.raw("FALSE"),
        Predicate::All(all) => joined(writer, &all.iter().collect::<Vec<_>>(), " AND ", logic),
        Predicate::Any(any) => {
            dialect::before_any(writer, any.len());
            writer.behind_connector(|writer| joined(writer, &any.iter().collect::<Vec<_>>(), " OR ", logic));
        }
        Predicate::Not(inner) => {
            writer.raw("NOT (");
            if matches!(**inner, Predicate::Exists(_)) {
                condition(writer, inner, Logic::ThreeValued);
            } else {
                writer.behind_connector(|writer| condition(writer, inner, Logic::ThreeValued));
            }
            writer.raw(")");
        }
        Predicate::Compare { column, comparison, value } => dialect::compare(writer, *column, *comparison, value, logic),
        Predicate::Among { column, membership, values } => dialect::among(writer, *column, *membership, values, logic),
        Predicate::Between { column, low, high } => dialect::between(writer, *column, low, high, logic),
        Predicate::IsNull(column) => dialect::is_null(writer, *column, " IS NULL"),
        Predicate::IsNotNull(column) => dialect::is_null(writer, *column, " IS NOT NULL"),
        Predicate::Unset(column) => dialect::unset(writer, *column),
        Predicate::Like { column, pattern } => dialect::like(writer, *column, pattern),
        Predicate::Contains { column, values } => dialect::contains(writer, *column, values),
        Predicate::Overlap { column, values } => dialect::overlap(writer, *column, values, logic),
        Predicate::Exists(exists) => writer.relation_filter(exists),
    }
}

fn joined(writer: &mut Writer, predicates: &[&Predicate<'_>], separator: &'static str, logic: Logic) {
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
