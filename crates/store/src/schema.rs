//! The schema of a live database, read from its own catalog. `check` compares a manifest with it, and `introspect` writes one from it.

pub(crate) mod affinity;
mod check_clauses;
mod index;
mod postgres;
mod sqlite;

use query::catalog::write_rules::ConstraintKind;
use query::catalog::{Identifier, Stored, TableName};
use query::sql::Dialect;
use query::types::Scalar;

pub use index::{ColumnNullTest, Index, IndexCondition};
pub use postgres::read_postgres;
pub use sqlite::read_sqlite;

#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Every table and view, Peristyle's own left out.
    pub tables: Vec<Table>,
    /// PostgreSQL's search path, without schemas that do not exist.
    pub search_path: Vec<String>,
    pub locale: Option<Locale>,
    /// Whether Citus distributes a table of this PostgreSQL.
    pub has_citus: bool,
    /// Whether the servers of Citus compile queries, as far as the configuration of the coordinator tells.
    pub has_jit: bool,
    /// Why no write succeeds, whatever its table allows. Only `introspect` sets it.
    pub refuses_writes: Option<String>,
}

/// The servers that hold the rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// The one that statements are sent to. Without Citus there is no other.
    #[default]
    Local,
    /// Citus: a copy on every server.
    Reference,
    /// Citus: each row on one server, by the value of a column. A table without such a column is on one server as a whole.
    Distributed { column: Option<String>, group: i32 },
    /// Citus: a view of such tables.
    ViewOfDistributed,
}

impl Placement {
    pub(crate) fn is_distributed(&self) -> bool {
        matches!(self, Placement::Distributed { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locale {
    /// `UTF8`, as a rule.
    pub encoding: String,
    pub ctype: String,
    /// `c` for the C library, `i` for ICU, `b` for PostgreSQL's own.
    pub provider: String,
    /// The locale of a provider that is not the C library.
    pub provider_locale: Option<String>,
}

impl Locale {
    /// Whether upper and lower case are the same to `ILIKE` for letters beyond ASCII.
    pub fn folds_beyond_ascii(&self) -> bool {
        match self.provider.as_str() {
            "i" => true,
            "b" => self.provider_locale.as_deref() != Some("C"),
            _ => !matches!(self.ctype.as_str(), "C" | "POSIX"),
        }
    }
}

#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts of the database that do not depend on each other")]
pub struct Table {
    /// Its schema; `main` on SQLite.
    pub schema: String,
    pub name: String,
    /// A view or materialized view, whose columns do not say whether they can be NULL.
    pub is_view: bool,
    /// PostgreSQL: a view with rows of its own, which takes no changes and no trigger.
    pub is_materialized: bool,
    /// PostgreSQL: a table of another server, which has no keys here.
    pub is_foreign_table: bool,
    /// PostgreSQL: a view whose rows cannot be locked, such as one with GROUP BY.
    pub is_unlockable: bool,
    /// PostgreSQL: whether a trigger sees new rows before they are stored, and may fill their columns.
    pub fills_new_rows: bool,
    /// PostgreSQL: the columns that a new row of a simple view needs, and that the view lacks.
    pub missing_columns: Vec<String>,
    /// PostgreSQL: whether writes have a role of their own that cannot read it.
    pub unread_by_writes: bool,
    /// The changes that no role can make: a view may take none.
    pub impossible: Changes,
    /// PostgreSQL: whether the database user may not delete rows.
    pub delete_forbidden: bool,
    /// PostgreSQL: which servers hold its rows.
    pub placement: Placement,
    /// Belongs to an extension or is a partition: readable, but not listed.
    pub is_partition_or_extension: bool,
    /// PostgreSQL: whether other tables inherit from it. Their rows count as its own, so none of its keys is unique.
    pub has_child_tables: bool,
    /// PostgreSQL: a materialized view that was never filled, which cannot be read.
    pub is_unfilled: bool,
    /// SQLite: why its rows could not be sampled.
    pub unseen: Option<String>,
    /// SQLite: why it cannot be read, such as a view of a dropped table. Its columns are unknown then.
    pub unreadable: Option<String>,
    pub columns: Vec<Column>,
    pub primary_key: Vec<String>,
    /// Unique constraints and whole unique indexes, the primary key left out.
    pub unique_keys: Vec<Vec<String>>,
    pub foreign_keys: Vec<ForeignKey>,
    /// What the database enforces, those of partitions included. Primary keys are unique constraints.
    pub constraints: Vec<NamedConstraint>,
    /// The foreign keys that lead to this table: their names on PostgreSQL, empty strings on SQLite.
    pub referring: Vec<String>,
    /// SQLite: whether a constraint says itself what a conflict does, such as `ON CONFLICT REPLACE`.
    pub decides_conflicts: bool,
    /// SQLite: the foreign keys without a target that start or end here, for which it refuses changes.
    pub broken_foreign_keys: Vec<BrokenForeignKey>,
    /// Foreign keys that cannot be relations, and why: without a target on SQLite, over periods on PostgreSQL.
    pub foreign_keys_without_relation: Vec<(ForeignKey, String)>,
    /// Every index that can find equal values, those of the keys included.
    pub indexes: Vec<Index>,
}

#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts of the database that do not depend on each other")]
pub struct Column {
    pub name: String,
    /// PostgreSQL: the name of its type, or of the elements' type, domains resolved. SQLite: the type as declared.
    pub native: String,
    pub native_schema: String,
    /// PostgreSQL: whether the database user may not use the schema of that type.
    pub schema_forbidden: bool,
    pub array: bool,
    /// Whether it is declared as an array of arrays, which a manifest cannot express.
    pub nested: bool,
    pub domain: bool,
    /// The native enum it or its elements are of.
    pub enumeration: Option<Enumeration>,
    pub nullable: bool,
    /// Whether a new row cannot have NULL in it. An older row may, since PostgreSQL 18.
    pub required: bool,
    /// Whether the database user may not read it.
    pub forbidden: bool,
    pub collation: Option<Collation>,
    /// SQLite: whether its table is STRICT and refuses values of another type than the declared one.
    pub is_strict: bool,
    /// SQLite: whether its type is unknown, as for a computed column of a view.
    pub unknown_type: bool,
    pub default: String,
    /// The value that the database gives it in a new row.
    pub own_value: OwnValue,
    /// The columns that a generated column is computed from.
    pub generated_from: Vec<String>,
    /// The most characters of a `varchar(n)` or `char(n)`, or of each element.
    pub max_length: Option<u32>,
    /// PostgreSQL: the digits of a `numeric(p, s)` before the point, and after it.
    pub digits: Option<(i32, i32)>,
    /// PostgreSQL: whether the database user may not insert it.
    pub insert_forbidden: bool,
    /// PostgreSQL: whether the database user may not update it.
    pub update_forbidden: bool,
    /// PostgreSQL: the sequence of its default, if the database user may not use it.
    pub forbidden_sequence: Option<String>,
    /// SQLite: a type that fits all sampled values.
    pub seen: Option<(Scalar, Stored)>,
}

/// The value that the database gives a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnValue {
    /// NULL, if the column allows it.
    #[default]
    None,
    /// A default, a serial, an identity `BY DEFAULT`, or SQLite's rowid. A statement may give another value.
    Default,
    /// `GENERATED ALWAYS AS IDENTITY`
    Identity,
    /// `GENERATED ALWAYS AS (…)`, or an expression of a view.
    Generated,
}

impl OwnValue {
    /// Whether no statement can give another value.
    pub fn is_fixed(self) -> bool {
        matches!(self, OwnValue::Identity | OwnValue::Generated)
    }
}

/// The statements that change rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
}

impl Changes {
    pub(crate) const ALL: Changes = Changes { insert: true, update: true, delete: true };
}

/// A constraint or a unique index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedConstraint {
    /// PostgreSQL: the name in an error. SQLite: the name of an index or a check, the text of a check without one, or nothing for a foreign key.
    pub name: String,
    pub kind: ConstraintKind,
    pub columns: Vec<String>,
    /// The columns in the condition of a partial index.
    pub condition: Vec<String>,
    /// How a unique index is written that is partial or on expressions.
    pub index: Option<IndexText>,
}

/// The expressions of a unique index, as SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexText {
    pub parts: Vec<String>,
    /// SQLite: the collation of each part.
    pub collations: Vec<String>,
    pub condition: Option<String>,
}

impl NamedConstraint {
    pub(crate) fn new(name: String, kind: ConstraintKind, columns: Vec<String>) -> Self {
        NamedConstraint { name, kind, columns, condition: Vec::new(), index: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collation {
    /// Its schema and name.
    pub name: String,
    /// Whether only equal bytes are equal.
    pub deterministic: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumeration {
    pub schema: String,
    pub name: String,
    pub labels: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    pub columns: Vec<String>,
    pub schema: String,
    pub table: String,
    /// Its columns, in the order of the referring ones.
    pub target_columns: Vec<String>,
    pub on_delete: OnDelete,
}

/// What happens to the rows that refer to a deleted row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDelete {
    /// The row cannot be deleted.
    #[default]
    Refuse,
    Delete,
    /// They refer to no row, or to a default.
    Change,
}

/// A foreign key without a target. SQLite refuses new rows and deletes on both sides of it, and updates of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenForeignKey {
    /// The columns of the foreign key in this table.
    pub columns: Vec<String>,
    /// Such as `the foreign key (a) of children: there is no table parents`.
    pub reason: String,
}

/// Compares names as the database does: SQLite ignores case.
pub(crate) fn same(left: &str, right: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Postgres | Dialect::Citus => left == right,
        Dialect::Sqlite => left.eq_ignore_ascii_case(right),
    }
}

impl Schema {
    /// The table that a statement would find by this name.
    pub fn table(&self, name: &TableName, dialect: Dialect) -> Option<&Table> {
        self.find(name.schema.as_ref().map(Identifier::plain), name.name.plain(), dialect)
    }

    /// Takes the privileges to change rows from the schema that the role of writes reads.
    pub fn take_write_privileges(&mut self, writes: &Schema, dialect: Dialect) {
        let names: Vec<String> = self.tables.iter().map(|table| self.shown(table, dialect)).collect();
        for (table, shown) in self.tables.iter_mut().zip(names) {
            let own = writes.tables.iter().find(|own| own.schema == table.schema && own.name == table.name);
            // A plain name must find the same table.
            let own = own.filter(|own| shown != table.name || writes.shown(own, dialect) == shown);
            table.delete_forbidden = own.is_none_or(|own| own.delete_forbidden);
            table.unread_by_writes = own.is_none();
            for column in &mut table.columns {
                let same = own.and_then(|own| own.column(&column.name, dialect));
                column.insert_forbidden = same.is_none_or(|same| same.insert_forbidden);
                column.update_forbidden = same.is_none_or(|same| same.update_forbidden);
                column.forbidden_sequence = same.and_then(|same| same.forbidden_sequence.clone());
                table.unread_by_writes |= !column.forbidden && same.is_none_or(|same| same.forbidden);
            }
        }
    }

    /// The table's name in a statement, qualified if the plain name finds another table or none.
    pub(crate) fn shown(&self, table: &Table, dialect: Dialect) -> String {
        match self.find(None, &table.name, dialect) {
            Some(found) if same(&found.schema, &table.schema, dialect) => table.name.clone(),
            _ => format!("{}.{}", table.schema, table.name),
        }
    }

    pub(crate) fn find(&self, schema: Option<&str>, name: &str, dialect: Dialect) -> Option<&Table> {
        let within =
            |schema: &str| self.tables.iter().find(|table| same(&table.schema, schema, dialect) && same(&table.name, name, dialect));
        match (schema, dialect) {
            (Some(schema), _) => within(schema),
            (None, Dialect::Sqlite) => within("main"),
            (None, Dialect::Postgres | Dialect::Citus) => self.search_path.iter().find_map(|schema| within(schema)),
        }
    }
}

impl Table {
    /// Its schema and name as SQL.
    pub(crate) fn quoted(&self) -> String {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }

    pub fn column(&self, name: &str, dialect: Dialect) -> Option<&Column> {
        self.columns.iter().find(|column| same(&column.name, name, dialect))
    }

    /// These columns, and those that the generated ones among them are computed from.
    pub(crate) fn with_sources(&self, columns: &[String]) -> Vec<String> {
        let is_among = |column: &&Column| columns.contains(&column.name);
        let sources = self.columns.iter().filter(is_among).flat_map(|column| &column.generated_from);
        columns.iter().chain(sources).cloned().collect()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.primary_key).filter(|key| !key.is_empty()).chain(&self.unique_keys)
    }

    /// Whether no two rows have the same values in these columns.
    pub(crate) fn is_unique(&self, columns: &[&str], dialect: Dialect) -> bool {
        self.keys().any(|key| key.iter().all(|column| columns.iter().any(|other| same(column, other, dialect))))
    }

    /// Whether these are the columns of a unique key, in any order.
    pub(crate) fn has_unique_key(&self, columns: &[&str], dialect: Dialect) -> bool {
        let is_among = |column: &str, others: &[&str]| others.iter().any(|other| same(column, other, dialect));
        self.keys().any(|key| {
            let key: Vec<&str> = key.iter().map(String::as_str).collect();
            key.iter().all(|column| is_among(column, columns)) && columns.iter().all(|column| is_among(column, &key))
        })
    }

    /// Whether an index finds the rows that are equal in all these columns. `unset` is NULL in each of them.
    pub(crate) fn is_indexed(&self, columns: &[&str], unset: Option<&str>, dialect: Dialect) -> bool {
        self.indexes.iter().any(|index| index.finds(columns, unset, dialect))
    }
}

impl Column {
    pub(crate) fn native_name(&self) -> String {
        let brackets = match (self.array, self.nested) {
            (_, true) => "[][]",
            (true, _) => "[]",
            _ => "",
        };
        format!("{}{brackets}", self.native)
    }
}
