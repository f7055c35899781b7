//! How relation filters stand beside and in each other, and what that makes of their texts: planners were not made for many of them.

use crate::plan::predicate::{Exists, Predicate};

use super::Writer;
use super::dialect;

/// Where the relation filters stand that are written next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    pub(super) beside: Beside,
    pub(super) chain: Chain,
}

/// What a planner may make of a relation filter and the query around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// One join, with all that stand beside it.
    Joined,
    /// They are too many for one join: each is kept apart.
    Apart,
    /// Too many to-many filters stand in each other: all of them are kept apart.
    Deep,
    /// No join: a connector stands between.
    Alone,
}

/// How many to-many relation filters stand in each other, whatever stands between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// Few enough to follow them from each row.
    Short,
    /// Rows that are reached from many others would be looked at once for each way that leads to them. `passed` stand around.
    Long { passed: usize },
}

/// How a relation filter is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// From each row to its related rows.
    Followed,
    /// The keys of all rows that have one, found once.
    Set,
}

impl Around {
    pub(super) const NOTHING: Around = Around { beside: Beside::Joined, chain: Chain::Short };

    /// What stands around the filters of a query of its own, of which `joined` would become one join.
    fn query(joined: usize, chain: Chain) -> Self {
        Around { beside: if joined > dialect::MOST_JOINED { Beside::Apart } else { Beside::Joined }, chain }
    }

    /// What stands around a relation filter, itself included.
    pub(super) fn with(self, exists: &Exists<'_>, writer: &Writer) -> Self {
        let bounds = dialect::chains(writer.dialect);
        match self.chain {
            Chain::Short if in_each_other(exists) > bounds.longest => Around { chain: Chain::Long { passed: 0 }, ..self },
            Chain::Short if flattened(exists) > dialect::MOST_FLATTENED => Around { beside: Beside::Deep, ..self },
            _ => self,
        }
    }

    pub(super) fn form(self, exists: &Exists<'_>, writer: &Writer) -> Form {
        match self.chain {
            Chain::Long { passed } if exists.relation.many && passed >= dialect::chains(writer.dialect).followed => Form::Set,
            _ => Form::Followed,
        }
    }

    /// What stands around the filters inside.
    pub(super) fn inside(self, exists: &Exists<'_>, form: Form) -> Self {
        let chain = match self.chain {
            Chain::Short => Chain::Short,
            Chain::Long { passed } => Chain::Long { passed: passed + usize::from(exists.relation.many) },
        };
        match (self.beside, form) {
            (Beside::Deep, _) => Around { beside: Beside::Deep, chain },
            (Beside::Joined, Form::Followed) => Around { beside: Beside::Joined, chain },
            _ => Around::query(joined(exists.table.policy()) + joined(&exists.filter), chain),
        }
    }

    /// Behind a connector that no planner joins through.
    pub(super) fn behind_connector(self) -> Self {
        if self.beside == Beside::Deep { self } else { Around { beside: Beside::Alone, ..self } }
    }
}

impl Writer {
    /// A query begins, whose relation filters stand in these.
    pub(super) fn begin<'p, 'c: 'p>(&mut self, predicates: impl Iterator<Item = &'p Predicate<'c>>) {
        self.around = Around::query(predicates.map(joined).sum(), Chain::Short);
    }
}

/// How many relation filters a planner would turn into one join with the query around them: PostgreSQL does so with every EXISTS
/// and NOT EXISTS that no other connector than AND stands around.
fn joined(predicate: &Predicate<'_>) -> usize {
    match predicate {
        Predicate::All(all) => all.iter().map(joined).sum(),
        Predicate::Not(inner) if matches!(**inner, Predicate::Exists(_)) => joined(inner),
        // What stands in one that is kept apart is no matter of the query around.
        Predicate::Exists(exists) if flattened(exists) > dialect::MOST_FLATTENED => 1,
        Predicate::Exists(exists) => 1 + joined(exists.table.policy()) + joined(&exists.filter),
        _ => 0,
    }
}

/// How many to-many relation filters stand in each other without an `or` between them, this one included.
fn flattened(exists: &Exists<'_>) -> usize {
    fn within(predicate: &Predicate<'_>) -> usize {
        match predicate {
            Predicate::All(all) => all.iter().map(within).max().unwrap_or(0),
            Predicate::Not(inner) => within(inner),
            Predicate::Exists(exists) => flattened(exists),
            _ => 0,
        }
    }
    usize::from(exists.relation.many) + within(&exists.filter).max(within(exists.table.policy()))
}

/// The same, whatever stands between them.
fn in_each_other(exists: &Exists<'_>) -> usize {
    fn within(predicate: &Predicate<'_>) -> usize {
        match predicate {
            Predicate::All(several) | Predicate::Any(several) => several.iter().map(within).max().unwrap_or(0),
            Predicate::Not(inner) => within(inner),
            Predicate::Exists(exists) => in_each_other(exists),
            _ => 0,
        }
    }
    usize::from(exists.relation.many) + within(&exists.filter).max(within(exists.table.policy()))
}
