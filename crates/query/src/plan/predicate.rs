//! Conditions on rows, with columns and checked values.

use crate::catalog::{Field, Relation, Resource};
use crate::value::Value;

use super::Table;

pub(crate) use crate::statement::Comparison;

/// A table's short name in SQL: `t0`, `t1`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Alias(pub(crate) u32);

/// A column of a table in the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'c> {
    pub(crate) alias: Alias,
    pub(crate) field: &'c Field,
}

#[derive(Debug)]
pub(crate) enum Predicate<'c> {
    Always,
    Never,
    All(Vec<Predicate<'c>>),
    Any(Vec<Predicate<'c>>),
    Not(Box<Predicate<'c>>),
    Compare { column: Column<'c>, comparison: Comparison, value: Value },
    Among { column: Column<'c>, membership: Membership, values: Vec<Value> },
    Between { column: Column<'c>, low: Value, high: Value },
    IsNull(Column<'c>),
    IsNotNull(Column<'c>),
    // The stored value itself is NULL, also if it is invalid for its type: soft delete.
    Unset(Column<'c>),
    Like { column: Column<'c>, pattern: String },
    Contains { column: Column<'c>, values: Vec<Value> },
    Overlap { column: Column<'c>, values: Vec<Value> },
    Exists(Box<Exists<'c>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Membership {
    In,
    NotIn,
}

/// At least one related row meets the filter.
#[derive(Debug)]
pub(crate) struct Exists<'c> {
    pub(crate) parent: Alias,
    pub(crate) parent_resource: &'c Resource,
    pub(crate) relation: &'c Relation,
    pub(crate) pivot: Alias,
    pub(crate) table: Table<'c>,
    pub(crate) filter: Predicate<'c>,
}

impl<'c> Predicate<'c> {
    pub(crate) fn all(mut predicates: Vec<Predicate<'c>>) -> Self {
        predicates.retain(|predicate| !matches!(predicate, Predicate::Always));
        if predicates.iter().any(|predicate| matches!(predicate, Predicate::Never)) {
            return Predicate::Never;
        }
        match predicates.len() {
            0 => Predicate::Always,
            1 => predicates.swap_remove(0),
            _ => Predicate::All(predicates),
        }
    }

    pub(crate) fn any(mut predicates: Vec<Predicate<'c>>) -> Self {
        match predicates.len() {
            1 => predicates.swap_remove(0),
            _ => Predicate::Any(predicates),
        }
    }

    pub(crate) fn negate(self) -> Self {
        Predicate::Not(Box::new(self))
    }

    /// Whether it holds for every row by its form alone.
    pub(crate) fn is_always(&self) -> bool {
        match self {
            Predicate::Always => true,
            Predicate::All(all) => all.iter().all(Predicate::is_always),
            Predicate::Any(any) => any.iter().any(Predicate::is_always),
            Predicate::Not(inner) => inner.is_never(),
            Predicate::Among { membership: Membership::NotIn, values, .. } => values.is_empty(),
            _ => false,
        }
    }

    /// Whether it holds for no row by its form alone.
    fn is_never(&self) -> bool {
        match self {
            Predicate::Never => true,
            Predicate::All(all) => all.iter().any(Predicate::is_never),
            Predicate::Any(any) => any.iter().all(Predicate::is_never),
            Predicate::Not(inner) => inner.is_always(),
            Predicate::Among { membership: Membership::In, values, .. } => values.is_empty(),
            Predicate::Exists(exists) => exists.filter.is_never(),
            _ => false,
        }
    }
}
