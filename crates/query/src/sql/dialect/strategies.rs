//! What each database does well, as far as it decides how something is asked.

use super::Dialect;

/// To-many relation filters inside each other that a planner may turn into joins. Without statistics PostgreSQL then compares all rows of
/// all tables: 24 rows at five levels had not ended after fifteen seconds.
pub(in crate::sql) const MAX_FLATTENED: usize = 2;

/// Relation filters that a planner may turn into one join. PostgreSQL weighs every order of up to eight tables that start from the same
/// row: five filters take it three milliseconds to plan, seven take thirty, and forty take twenty seconds.
pub(in crate::sql) const MAX_JOINED: usize = 5;

/// What a database does well.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each says something else of a database")]
pub(in crate::sql) struct Strategies {
    /// To-many filters inside each other that stay `EXISTS`, however far they spread out.
    pub(in crate::sql) max_to_many: usize,
    /// Which to-many filters become `key IN (SELECT …)` where several spread out.
    pub(in crate::sql) key_sets: KeySets,
    /// Whether a filter that names keys becomes `key IN (SELECT …)`, so that the query begins there.
    pub(in crate::sql) starts_from_keys: bool,
    pub(in crate::sql) pivot_join: PivotJoin,
    pub(in crate::sql) path_join: PathJoin,
    pub(in crate::sql) lookup_join: LookupJoin,
    pub(in crate::sql) parent_limit: ParentLimit,
    pub(in crate::sql) segment_order: SegmentOrder,
    /// Whether a write locks its rows. SQLite has one writer instead, Citus a repeatable read transaction.
    pub(in crate::sql) locks_rows: bool,
    /// Whether one statement inserts many rows faster than one statement that runs many times.
    pub(in crate::sql) inserts_rows_at_once: bool,
    /// Whether an index serves `(a, b) > (x, y)`.
    pub(in crate::sql) compares_rows: bool,
}

/// The order of a segment of a keyset page, in which some sort keys have one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum SegmentOrder {
    /// All sort keys. The planner drops those that equal a value, and keeps those that are NULL.
    AllKeys,
    /// Those that have several values.
    OpenKeys,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum KeySets {
    /// Every relation filter, wherever it is.
    Every,
    EveryToMany,
    AllButTheFirst,
}

/// How a LEFT JOIN reads the pairs of a pivot, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum PivotJoin {
    /// A subquery of all pairs.
    AllPairs,
    /// From each row: `key IN (SELECT …)`.
    KeyIn,
}

/// What a LEFT JOIN for a dot-path joins, and a relation filter for a pivot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum PathJoin {
    /// The table. Its policy is in the `ON`.
    Table,
    /// A subquery of the columns that are used, with the policy.
    Columns,
}

/// How the values of derived fields are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum LookupJoin {
    /// By a subquery for each row.
    EachRow,
    /// By a LEFT JOIN with the groups of all related rows.
    Groups,
    /// By groups where the values of every row are needed and each needs all related rows, otherwise for each row.
    GroupsOfEveryRow,
}

/// How the rows of a relation are limited for each parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum ParentLimit {
    /// A lateral subquery that can stop early.
    Lateral,
    /// A subquery that can stop early finds the keys of the first rows; where keys may repeat, rows are numbered within their parent.
    FirstKeys,
    /// Rows are numbered within their parent.
    RowNumber,
}

pub(in crate::sql) const fn strategies(dialect: Dialect) -> &'static Strategies {
    match dialect {
        Dialect::Postgres => &Strategies {
            max_to_many: MAX_FLATTENED,
            // It may find the keys again for each row that an EXISTS visits.
            key_sets: KeySets::EveryToMany,
            // Its planner finds that out.
            starts_from_keys: false,
            pivot_join: PivotJoin::AllPairs,
            path_join: PathJoin::Table,
            // Groups are faster for sums, and slower for counts from an index alone: decision 0106 has the measurements.
            lookup_join: LookupJoin::GroupsOfEveryRow,
            parent_limit: ParentLimit::Lateral,
            // It does not take `IS NULL` for a constant. Without that key it would not follow the index on all keys.
            segment_order: SegmentOrder::AllKeys,
            compares_rows: true,
            locks_rows: true,
            inserts_rows_at_once: true,
        },
        // It refuses a subquery that depends on the row around it, unless both tables are co-located. Every other subquery runs first, and
        // its rows go to the servers that need them.
        Dialect::Citus => &Strategies {
            max_to_many: 0,
            key_sets: KeySets::Every,
            starts_from_keys: false,
            pivot_join: PivotJoin::AllPairs,
            path_join: PathJoin::Columns,
            lookup_join: LookupJoin::Groups,
            parent_limit: ParentLimit::RowNumber,
            segment_order: SegmentOrder::AllKeys,
            compares_rows: true,
            // It locks the rows of one shard only. A write is repeatable read instead, and is tried again after a conflict.
            locks_rows: false,
            // The rows of a RETURNING come in any order.
            inserts_rows_at_once: false,
        },
        Dialect::Sqlite => &Strategies {
            max_to_many: 0,
            // It finds the keys once, so that the others can use their indexes.
            key_sets: KeySets::AllButTheFirst,
            // It visits the rows around an EXISTS, whatever is inside.
            starts_from_keys: true,
            // It would read all pairs for each row: 6,000 rows and 300,000 pairs had not ended after half a minute.
            pivot_join: PivotJoin::KeyIn,
            path_join: PathJoin::Table,
            lookup_join: LookupJoin::EachRow,
            parent_limit: ParentLimit::FirstKeys,
            // It would sort.
            segment_order: SegmentOrder::OpenKeys,
            // Not where a collation or a function is in the key.
            compares_rows: false,
            locks_rows: false,
            inserts_rows_at_once: false,
        },
    }
}
