//! How a relation filter is written. That depends on the filters beside, around and inside it: planners are not made for many of them.
//!
//! | place | form | why |
//! |---|---|---|
//! | beside at most five that would become one join | `EXISTS` | the planner chooses well |
//! | beside more, and it names values | `EXISTS`, up to five of them | a join can begin there |
//! | beside more, and it names none | `EXISTS`, fenced | the planner weighs every order of a join |
//! | around more than two to-many ones, and no `or` between | fenced, and all inside too | the planner joins them without an estimate of their rows |
//! | where the database would visit rows again for each path to them | `key IN (SELECT …)` | the database evaluates that once |
//! | on Citus | the same | Citus refuses a subquery that depends on rows of other servers |
//! | on SQLite, around the keys of few related rows | the same | SQLite begins there, and not at all rows around |
//!
//! Decision 0012 has the measurements; the bounds of each database are in `dialect`.

pub(super) mod lookup;

use crate::catalog::{Field, JoinColumns, Resource};
use crate::plan::lookup::LookupUse;
use crate::plan::predicate::{Comparison, Exists, Membership, Predicate};

use self::lookup::LookupRows;
use super::dialect::{self, Dialect, KeySets};
use super::join;
use super::tree::{Condition, ExistsForm, Logic};

/// What is around a relation filter.
#[derive(Clone, Copy, Debug)]
struct Context {
    join: JoinShape,
    /// How many more filters may become part of a join that is too wide for all.
    room: usize,
    paths: Paths,
    visits: Visits,
    /// How many of the to-many filters around it spread out.
    spread: usize,
}

/// What a planner makes of a relation filter and the query around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinShape {
    /// One join, with all filters beside it.
    Shared,
    /// The filters are too many for one join.
    TooWide,
    /// Too many to-many filters are inside each other.
    TooDeep,
    /// No join: an `or` or a `not` is between.
    None,
}

/// How many paths lead through to-many filters that are inside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paths {
    /// Few enough to follow each from each row.
    Few,
    Many,
}

/// How often the query around visits a row. A to-many filter *spreads out* where rows behind it are visited repeatedly: it visits more
/// rows than there are, and another filter inside it multiplies that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visits {
    /// Each row once at most.
    Once,
    /// Some rows once for each of the rows that lead to them.
    Repeated,
}

impl Context {
    /// Of the filters of a query, of which so many would become one join.
    const fn of_query(joined: usize, paths: Paths) -> Self {
        let join = if joined > dialect::MAX_JOINED { JoinShape::TooWide } else { JoinShape::Shared };
        Context { join, room: dialect::MAX_JOINED, paths, visits: Visits::Once, spread: 0 }
    }

    /// The form of a relation filter here, and the context of those inside it.
    fn choose(self, exists: &Exists<'_>, dialect: Dialect) -> (ExistsForm, Context) {
        let strategies = dialect::strategies(dialect);
        let (mut join, mut paths) = (self.join, self.paths);
        if paths == Paths::Few {
            let depth = Depth::of(exists, self.visits);
            if depth.to_many > strategies.max_to_many && depth.spread > 1 {
                paths = Paths::Many;
            } else if depth.joined > dialect::MAX_FLATTENED {
                join = JoinShape::TooDeep;
            }
        }
        let visits = self.visits.behind(exists);
        let spreads = exists.relation.many && visits == Visits::Repeated;
        let is_key_in = match strategies.key_sets {
            KeySets::Every => true,
            _ if strategies.starts_from_keys && is_pinned(exists) => true,
            _ if paths == Paths::Few => false,
            KeySets::EveryToMany => exists.relation.many,
            KeySets::AllButTheFirst => spreads && self.spread > 0,
        };
        let spread = self.spread + usize::from(spreads);
        let query = || Context::of_query(joined(exists.table.policy()) + joined(&exists.filter), paths);
        let has_room = || self.room > 0 && names_values(exists);
        let same = Context { join, room: self.room, paths, visits, spread };
        match join {
            _ if is_key_in => (ExistsForm::KeyIn, query()),
            JoinShape::Shared => (ExistsForm::Plain, same),
            JoinShape::TooDeep => (ExistsForm::Fenced, same),
            JoinShape::TooWide if has_room() => (ExistsForm::Plain, Context { room: self.room - 1, ..same }),
            JoinShape::TooWide => (ExistsForm::Fenced, Context { visits, spread, ..query() }),
            JoinShape::None => (ExistsForm::Plain, Context { visits, spread, ..query() }),
        }
    }

    /// Inside an `or` or a `not`, which no planner joins through.
    fn inside_connector(self) -> Self {
        if self.join == JoinShape::TooDeep { self } else { Context { join: JoinShape::None, ..self } }
    }
}

impl Visits {
    /// Of the rows that the relation leads to, from all rows around. Those of two rows differ only when a whole key leads to them.
    fn behind(self, exists: &Exists<'_>) -> Self {
        let key = &exists.parent_resource.key;
        let by_key = match &exists.relation.join_columns {
            JoinColumns::Direct(pairs) => !key.is_empty() && key.iter().all(|id| pairs.iter().any(|(own, _)| own == id)),
            JoinColumns::Through { .. } => false,
        };
        if by_key { self } else { Visits::Repeated }
    }
}

/// Makes conditions of the predicates of one query, and chooses the form of each relation filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filters {
    pub(super) dialect: Dialect,
    context: Context,
}

impl Filters {
    /// For a query with these predicates.
    pub(super) fn new<'p>(dialect: Dialect, predicates: impl Iterator<Item = &'p Predicate<'p>>) -> Self {
        Filters { dialect, context: Context::of_query(predicates.map(joined).sum(), Paths::Few) }
    }

    /// All predicates as one list: several lists behind each other would be one deep chain to SQLite.
    pub(super) fn conditions<'p>(&mut self, predicates: impl IntoIterator<Item = &'p Predicate<'p>>) -> Vec<Condition<'p>> {
        let mut list = Vec::new();
        for predicate in predicates {
            self.append(predicate, &mut list);
        }
        if list.len() <= dialect::MAX_BRANCHES {
            for index in 1..list.len() {
                if let [Condition::Test(one, logic), Condition::Test(next, _)] = &mut list[index - 1..=index]
                    && compare_one_column(one, next)
                {
                    *logic = Logic::FitFollows;
                }
            }
        }
        list
    }

    fn append<'p>(&mut self, predicate: &'p Predicate<'p>, list: &mut Vec<Condition<'p>>) {
        match predicate {
            Predicate::Always => {}
            Predicate::All(all) => all.iter().for_each(|one| self.append(one, list)),
            other => list.push(self.condition(other, Logic::UnknownIsFalse)),
        }
    }

    fn condition<'p>(&mut self, predicate: &'p Predicate<'p>, logic: Logic) -> Condition<'p> {
        match predicate {
            Predicate::All(all) => Condition::All(all.iter().map(|one| self.condition(one, logic)).collect()),
            Predicate::Any(any) => {
                let mut inside = self.inside_connector();
                Condition::Any(any.iter().map(|one| inside.condition(one, logic)).collect())
            }
            Predicate::Not(inner) => {
                // The planner joins NOT EXISTS too.
                let is_joined = matches!(**inner, Predicate::Exists(_));
                let inside = if is_joined { self } else { &mut self.inside_connector() };
                Condition::Not(Box::new(inside.condition(inner, Logic::ThreeValued)))
            }
            Predicate::Exists(exists) => self.relation_filter(exists),
            test => Condition::Test(test, logic),
        }
    }

    fn relation_filter<'p>(&mut self, exists: &'p Exists<'p>) -> Condition<'p> {
        let (form, context) = self.context.choose(exists, self.dialect);
        let mut inside = Filters { context, ..*self };
        let filters = inside.conditions([exists.table.policy(), &exists.filter]);
        // Filters inside one that is part of the join take room of it too.
        if form == ExistsForm::Plain && self.context.join == JoinShape::TooWide {
            self.context.room = inside.context.room;
        }
        let lookups = lookup::joins(&exists.table, LookupUse::Order, LookupRows::Some, self.dialect).collect();
        join::relation_filter(exists, form, filters, lookups, self.dialect)
    }

    fn inside_connector(self) -> Self {
        Filters { context: self.context.inside_connector(), ..self }
    }
}

/// Whether both compare the same column, as the two ends of a range do: the second makes sure that the value fits its type.
fn compare_one_column(one: &Predicate<'_>, other: &Predicate<'_>) -> bool {
    match (one, other) {
        (Predicate::Compare { column, .. }, Predicate::Compare { column: other, .. }) => {
            column.alias == other.alias && std::ptr::eq(column.field, other.field)
        }
        _ => false,
    }
}

/// Whether a relation filter names the keys of the related rows, or of their only children: no more rows than keys can meet it.
fn is_pinned(exists: &Exists<'_>) -> bool {
    let Resource { key, fields, .. } = exists.table.resource;
    matches!(exists.relation.join_columns, JoinColumns::Direct(_))
        && (!key.is_empty() && key.iter().all(|id| is_named(&exists.filter, &fields[*id])) || has_pinned_child(&exists.filter))
}

/// Whether a relation filter names values that an index may find, in itself or in those inside.
fn names_values(exists: &Exists<'_>) -> bool {
    fn names(predicate: &Predicate<'_>) -> bool {
        match predicate {
            Predicate::All(all) => all.iter().any(names),
            Predicate::Compare { comparison: Comparison::Eq, .. } | Predicate::Among { membership: Membership::In, .. } => true,
            Predicate::Exists(exists) => names_values(exists),
            _ => false,
        }
    }
    names(&exists.filter)
}

/// Whether a predicate names the values of a field.
fn is_named(predicate: &Predicate<'_>, field: &Field) -> bool {
    match predicate {
        Predicate::All(all) => all.iter().any(|one| is_named(one, field)),
        Predicate::Compare { column, comparison: Comparison::Eq, .. } | Predicate::Among { column, membership: Membership::In, .. } => {
            std::ptr::eq(column.field, field)
        }
        _ => false,
    }
}

/// Whether a predicate asks for related rows that are pinned and have one parent each.
fn has_pinned_child(predicate: &Predicate<'_>) -> bool {
    match predicate {
        Predicate::All(all) => all.iter().any(has_pinned_child),
        Predicate::Exists(exists) => Visits::Once.behind(exists) == Visits::Once && is_pinned(exists),
        _ => false,
    }
}

/// How many relation filters a planner joins with the query around: PostgreSQL does so with each (NOT) EXISTS under AND only.
fn joined(predicate: &Predicate<'_>) -> usize {
    match predicate {
        Predicate::All(all) => all.iter().map(joined).sum(),
        Predicate::Not(inner) if matches!(**inner, Predicate::Exists(_)) => joined(inner),
        // It will be fenced, and counts alone.
        Predicate::Exists(exists) if Depth::of(exists, Visits::Once).joined > dialect::MAX_FLATTENED => 1,
        Predicate::Exists(exists) => 1 + joined(exists.table.policy()) + joined(&exists.filter),
        _ => 0,
    }
}

/// How many to-many relation filters are inside each other, on the longest path.
#[derive(Clone, Copy, Debug, Default)]
struct Depth {
    to_many: usize,
    /// Without an `or` between them.
    joined: usize,
    /// How many of them spread out.
    spread: usize,
}

impl Depth {
    /// From this relation filter on, itself included.
    fn of(exists: &Exists<'_>, visits: Visits) -> Self {
        let inner = visits.behind(exists);
        let below = Depth::within(&exists.filter, inner).or(Depth::within(exists.table.policy(), inner));
        let many = usize::from(exists.relation.many);
        Depth {
            to_many: below.to_many + many,
            joined: below.joined + many,
            spread: below.spread + if inner == Visits::Repeated { many } else { 0 },
        }
    }

    fn within(predicate: &Predicate<'_>, visits: Visits) -> Self {
        let longest = |several: &[Predicate<'_>]| several.iter().map(|one| Depth::within(one, visits)).fold(Depth::default(), Depth::or);
        match predicate {
            Predicate::All(all) => longest(all),
            Predicate::Any(any) => Depth { joined: 0, ..longest(any) },
            Predicate::Not(inner) => Depth::within(inner, visits),
            Predicate::Exists(exists) => Depth::of(exists, visits),
            _ => Depth::default(),
        }
    }

    fn or(self, other: Self) -> Self {
        Depth { to_many: self.to_many.max(other.to_many), joined: self.joined.max(other.joined), spread: self.spread.max(other.spread) }
    }
}
