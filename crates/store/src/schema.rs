//! The schema of a live database, read from its own catalog. `check` compares a manifest with it, and `introspect` writes one from it.

mod postgres;
mod sqlite;

use query::catalog::{Identifier, Stored, TableName};
use query::sql::Dialect;
use query::types::Scalar;

pub use postgres::read_postgres;
pub use sqlite::read_sqlite;

#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Every table and view, Peristyle's own left out.
    pub tables: Vec<Table>,
    /// PostgreSQL's search path, without schemas that do not exist.
    pub search_path: Vec<String>,
    pub locale: Option<Locale>,
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
    /// Belongs to an extension or is a partition: readable, but not listed.
    pub incidental: bool,
    /// PostgreSQL: whether other tables inherit from it. Their rows count as its own, so none of its keys is unique.
    pub has_heirs: bool,
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
    /// Foreign keys that cannot be relations, and why: without a target on SQLite, over periods on PostgreSQL.
    pub broken_keys: Vec<(ForeignKey, String)>,
    /// The leading columns of every index that can find equal values, those of the keys included.
    pub indexes: Vec<Vec<String>>,
    /// The expressions of indexes, as PostgreSQL writes them.
    pub expressions: Vec<String>,
}

#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts of the database that do not depend on each other")]
pub struct Column {
    pub name: String,
    /// PostgreSQL: the name of its type, or of the elements' type, domains resolved. SQLite: the type as declared.
    pub native: String,
    pub native_schema: String,
    /// PostgreSQL: whether the database user may not use the schema of that type.
    pub unnameable: bool,
    pub array: bool,
    /// Whether it is declared as an array of arrays, which a manifest cannot express.
    pub nested: bool,
    pub domain: bool,
    /// The native enum it or its elements are of.
    pub enumeration: Option<Enumeration>,
    pub nullable: bool,
    /// Whether the database user may not read it.
    pub forbidden: bool,
    pub collation: Option<Collation>,
    /// SQLite: whether its type is unknown, as for a computed column of a view.
    pub unknown_type: bool,
    pub default: String,
    /// SQLite: a type that fits all sampled values.
    pub seen: Option<(Scalar, Stored)>,
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
}

/// Compares names as the database does: SQLite ignores case.
pub(crate) fn same(left: &str, right: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Postgres => left == right,
        Dialect::Sqlite => left.eq_ignore_ascii_case(right),
    }
}

impl Schema {
    /// The table that a statement would find by this name.
    pub fn table(&self, name: &TableName, dialect: Dialect) -> Option<&Table> {
        self.find(name.schema.as_ref().map(Identifier::plain), name.name.plain(), dialect)
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
            (None, Dialect::Postgres) => self.search_path.iter().find_map(|schema| within(schema)),
        }
    }
}

impl Table {
    pub fn column(&self, name: &str, dialect: Dialect) -> Option<&Column> {
        self.columns.iter().find(|column| same(&column.name, name, dialect))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.primary_key).filter(|key| !key.is_empty()).chain(&self.unique_keys)
    }

    /// Whether no two rows have the same values in these columns.
    pub(crate) fn is_unique(&self, columns: &[&str], dialect: Dialect) -> bool {
        self.keys().any(|key| key.iter().all(|column| columns.iter().any(|other| same(column, other, dialect))))
    }

    pub(crate) fn is_indexed(&self, columns: &[&str], dialect: Dialect) -> bool {
        self.indexes.iter().any(|index| {
            let leading = &index[..index.len().min(columns.len())];
            !leading.is_empty() && leading.iter().all(|column| columns.iter().any(|other| same(column, other, dialect)))
        })
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
