//! How a relation filter is written, by what stands beside, around and inside it: planners were not made for many of them.
//!
//! | where it stands | how it is written | why |
//! |---|---|---|
//! | beside at most five that would become one join | `EXISTS` | the planner chooses well |
//! | beside more, and it names values | `EXISTS`, up to five of them | a join can begin there |
//! | beside more, and it names none | `EXISTS`, fenced | every order of a join is weighed |
//! | around more than two to-many ones, and no `or` between | fenced, and all inside too | they would be joined without an idea of their rows |
//! | where rows would be looked at again for each way to them | `key IN (SELECT …)` | that is evaluated once |
//! | on SQLite, around the keys of few related rows | the same | it begins there, and not at all rows around |
//!
//! Decision 0012 has the measurements; the bounds of each database are in `dialect`.

use crate::catalog::{Field, Link, Resource};
use crate::plan::predicate::{Comparison, Exists, Membership, Predicate};

use super::Writer;
use super::dialect::{self, Dialect, Sets};
use super::link::{self, Writing};

/// What stands around the relation filters that are written next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    join: Join,
    /// How many more may become part of a join that is too wide for all.
    room: usize,
    ways: Ways,
    rows: Rows,
    /// How many to-many filters are followed around them that spread out.
    spread: usize,
}

/// What a planner may make of a relation filter and the query around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Join {
    /// One join, with all that stand beside it.
    Shared,
    /// They are too many for one join.
    TooWide,
    /// Too many to-many filters stand in each other.
    TooDeep,
    /// No join: a connector stands between.
    None,
}

/// How many ways lead through the to-many filters that stand in each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ways {
    /// Few enough to follow each from each row.
    Few,
    /// Too many.
    Many,
}

/// How often the query around looks at a row. A to-many filter behind which rows are repeated *spreads out*: it looks at more rows than
/// there are, and another one inside of it at so many times more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    /// At each row once at most.
    Once,
    /// At some rows once for each of the rows that lead to them.
    Repeated,
}

impl Surroundings {
    pub(super) const NONE: Surroundings = Surroundings::of_query(0, Ways::Few);

    /// Those of the filters of a query of its own, of which so many would become one join.
    const fn of_query(joined: usize, ways: Ways) -> Self {
        let join = if joined > dialect::MOST_JOINED { Join::TooWide } else { Join::Shared };
        Surroundings { join, room: dialect::MOST_JOINED, ways, rows: Rows::Once, spread: 0 }
    }

    /// How a relation filter is written here, and what stands around those inside it.
    fn place(self, exists: &Exists<'_>, dialect: Dialect) -> (Writing, Surroundings) {
        let (mut join, mut ways) = (self.join, self.ways);
        if ways == Ways::Few {
            let depth = Depth::of(exists, self.rows);
            if depth.to_many > dialect::most_to_many(dialect) && depth.spread > 1 {
                ways = Ways::Many;
            } else if depth.joined > dialect::MOST_FLATTENED {
                join = Join::TooDeep;
            }
        }
        let rows = self.rows.behind(exists);
        let spreads = exists.relation.many && rows == Rows::Repeated;
        let is_set = match dialect::sets(dialect) {
            _ if dialect::leads(dialect) && is_pinned(exists) => true,
            _ if ways == Ways::Few => false,
            Sets::EveryToMany => exists.relation.many,
            Sets::AllButTheFirst => spreads && self.spread > 0,
        };
        let spread = self.spread + usize::from(spreads);
        let query = || Surroundings::of_query(joined(exists.table.policy()) + joined(&exists.filter), ways);
        let has_room = join == Join::TooWide && self.room > 0 && names_values(exists);
        let same = Surroundings { join, room: self.room, ways, rows, spread };
        match join {
            _ if is_set => (Writing::Set, query()),
            Join::Shared => (Writing::Followed, same),
            Join::TooDeep => (Writing::Fenced, same),
            Join::TooWide if has_room => (Writing::Followed, Surroundings { room: self.room - 1, ..same }),
            Join::TooWide => (Writing::Fenced, Surroundings { rows, spread, ..query() }),
            Join::None => (Writing::Followed, Surroundings { rows, spread, ..query() }),
        }
    }

    /// Behind a connector that no planner joins through.
    fn behind_connector(self) -> Self {
        if self.join == Join::TooDeep { self } else { Surroundings { join: Join::None, ..self } }
    }
}

impl Rows {
    /// The rows that the relation leads to, from all rows of the query around. Those of different rows differ when a whole key leads to
    /// them, and only then.
    fn behind(self, exists: &Exists<'_>) -> Self {
        let key = &exists.parent_resource.key;
        let by_key = match &exists.relation.link {
            Link::Direct(pairs) => !key.is_empty() && key.iter().all(|id| pairs.iter().any(|(own, _)| own == id)),
            Link::Through { .. } => false,
        };
        if by_key { self } else { Rows::Repeated }
    }
}

impl Writer {
    /// A query begins, whose relation filters stand in these.
    pub(super) fn begin<'p, 'c: 'p>(&mut self, predicates: impl Iterator<Item = &'p Predicate<'c>>) {
        self.surroundings = Surroundings::of_query(predicates.map(joined).sum(), Ways::Few);
    }

    /// Writes a relation filter as its surroundings want it.
    pub(super) fn relation_filter(&mut self, exists: &Exists<'_>) {
        let (way, inside) = self.surroundings.place(exists, self.dialect);
        let left = self.within(inside, |writer| link::exists(writer, exists, way));
        // What stands in one that is part of the join takes room of it too.
        if way == Writing::Followed && left.join == Join::TooWide && self.surroundings.join == Join::TooWide {
            self.surroundings.room = left.room;
        }
    }

    /// Writes what a planner does not join with the query around.
    pub(super) fn behind_connector(&mut self, write: impl FnOnce(&mut Self)) {
        self.within(self.surroundings.behind_connector(), write);
    }

    /// Writes within these surroundings; gives them back as they are then.
    fn within(&mut self, surroundings: Surroundings, write: impl FnOnce(&mut Self)) -> Surroundings {
        let outer = std::mem::replace(&mut self.surroundings, surroundings);
        write(self);
        std::mem::replace(&mut self.surroundings, outer)
    }
}

/// Whether no more rows can meet a relation filter than keys are named in it: the keys of the related rows, or of rows that these are
/// the one parent of.
fn is_pinned(exists: &Exists<'_>) -> bool {
    let Resource { key, fields, .. } = exists.table.resource;
    matches!(exists.relation.link, Link::Direct(_))
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
        Predicate::Exists(exists) => Rows::Once.behind(exists) == Rows::Once && is_pinned(exists),
        _ => false,
    }
}

/// How many relation filters a planner would turn into one join with the query around them: PostgreSQL does so with every EXISTS
/// and NOT EXISTS that no other connector than AND stands around.
fn joined(predicate: &Predicate<'_>) -> usize {
    match predicate {
        Predicate::All(all) => all.iter().map(joined).sum(),
        Predicate::Not(inner) if matches!(**inner, Predicate::Exists(_)) => joined(inner),
        // What stands in one that is kept apart is no matter of the query around.
        Predicate::Exists(exists) if Depth::of(exists, Rows::Once).joined > dialect::MOST_FLATTENED => 1,
        Predicate::Exists(exists) => 1 + joined(exists.table.policy()) + joined(&exists.filter),
        _ => 0,
    }
}

/// How many to-many relation filters stand in each other, on the longest way.
#[derive(Clone, Copy, Debug, Default)]
struct Depth {
    to_many: usize,
    /// Without an `or` between them.
    joined: usize,
    /// Of which so many spread out.
    spread: usize,
}

impl Depth {
    /// From this relation filter on, it included; so often does the query around look at its rows.
    fn of(exists: &Exists<'_>, rows: Rows) -> Self {
        let inner = rows.behind(exists);
        let below = Depth::within(&exists.filter, inner).or(Depth::within(exists.table.policy(), inner));
        let many = usize::from(exists.relation.many);
        Depth {
            to_many: below.to_many + many,
            joined: below.joined + many,
            spread: below.spread + if inner == Rows::Repeated { many } else { 0 },
        }
    }

    fn within(predicate: &Predicate<'_>, rows: Rows) -> Self {
        let longest = |several: &[Predicate<'_>]| several.iter().map(|one| Depth::within(one, rows)).fold(Depth::default(), Depth::or);
        match predicate {
            Predicate::All(all) => longest(all),
            Predicate::Any(any) => Depth { joined: 0, ..longest(any) },
            Predicate::Not(inner) => Depth::within(inner, rows),
            Predicate::Exists(exists) => Depth::of(exists, rows),
            _ => Depth::default(),
        }
    }

    fn or(self, other: Self) -> Self {
        Depth { to_many: self.to_many.max(other.to_many), joined: self.joined.max(other.joined), spread: self.spread.max(other.spread) }
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::Catalog;
    use crate::manifest::Manifest;
    use crate::merge::merged;
    use crate::plan::{Operation, plan};
    use crate::policy::{Viewer, authorize_read};
    use crate::sql::{Dialect, render};

    const MANIFEST: &str = r#"
[resource.t.row]
table = "rows"
[resource.t.row.fields]
id = { type = "int", key = true }
up = "int"
v = "int"
[resource.t.row.relations]
above = { one = "t.row", on = { up = "id" } }
below = { many = "t.row", on = { id = "up" } }
"#;

    fn text(statement: &str, dialect: Dialect) -> String {
        let catalog = Catalog::resolve(&Manifest::read(MANIFEST).expect("a manifest")).expect("a catalog");
        let viewer = Viewer::operator();
        let entrance = authorize_read(&catalog, 0, &viewer).expect("the operator may");
        let body = crate::parse::body(format!("{{\"query\":{{\"where\":{statement}}}}}").as_bytes()).expect("a statement");
        render(&plan(entrance, merged(body), Operation::List, None).expect("a plan"), dialect).root.sql.text().to_owned()
    }

    /// So many relation filters that name no value.
    fn others(count: usize) -> String {
        vec![r#"{"above":{"v":{"gt":1}}}"#; count].join(",")
    }

    #[test]
    fn of_many_filters_those_that_name_values_stay_open_to_the_planner() {
        let fences = |statement: &str| text(statement, Dialect::Postgres).matches(" OFFSET 0").count();
        assert_eq!(fences(&format!(r#"{{"and":[{}]}}"#, others(5))), 0);
        assert_eq!(fences(&format!(r#"{{"and":[{}]}}"#, others(6))), 6);
        let named = r#"{"below":{"v":{"eq":1},"above":{"v":{"in":[1]}}}}"#;
        assert_eq!(fences(&format!(r#"{{"and":[{},{named}]}}"#, others(5))), 5);
        // Two of each, and room for five.
        assert_eq!(fences(&format!(r#"{{"and":[{}]}}"#, [named; 4].join(","))), 2, "one inside the third, and the fourth");
    }

    #[test]
    fn sqlite_begins_at_rows_whose_keys_are_named() {
        let is_set = |statement: &str| text(statement, Dialect::Sqlite).contains(" IN (SELECT t");
        for statement in [r#"{"below":{"id":{"eq":1}}}"#, r#"{"above":{"id":{"in":[1,2]}}}"#, r#"{"below":{"below":{"id":{"eq":1}}}}"#] {
            assert!(is_set(statement), "{statement}");
        }
        for statement in
            [r#"{"below":{"v":{"eq":1}}}"#, r#"{"above":{"id":{"gt":1}}}"#, r#"{"below":{"or":[{"id":{"eq":1}},{"v":{"eq":1}}]}}"#]
        {
            assert!(!is_set(statement), "{statement}");
        }
    }
}
