//! An index, and the conditions under which it has every row that a statement asks for.

use query::sql::Dialect;

use super::check_clauses::null_tests;
use super::same;

/// An index that can find equal values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its leading columns.
    pub columns: Vec<String>,
    pub condition: IndexCondition,
}

/// The rows that an index has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexCondition {
    All,
    /// Those that pass all these tests.
    NullTests(Vec<ColumnNullTest>),
    /// Those that pass a condition of another form.
    Other,
}

/// `column IS NULL` or `column IS NOT NULL`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnNullTest {
    pub column: String,
    pub is_null: bool,
}

impl IndexCondition {
    /// Of the text after WHERE, if there is one.
    pub(super) fn of(text: Option<&str>) -> Self {
        text.map_or(IndexCondition::All, |text| null_tests(text).map_or(IndexCondition::Other, IndexCondition::NullTests))
    }
}

impl Index {
    /// Whether it finds the rows that are equal in all these columns. `unset` is NULL in each of them.
    pub(super) fn finds(&self, columns: &[&str], unset: Option<&str>, dialect: Dialect) -> bool {
        let is_among = |column: &str| columns.iter().any(|other| same(column, other, dialect));
        let has_all_rows = match &self.condition {
            IndexCondition::All => true,
            IndexCondition::Other => false,
            // No value equals NULL.
            IndexCondition::NullTests(tests) => {
                tests.iter().all(
                    |ColumnNullTest { column, is_null }| {
                        if *is_null { unset.is_some_and(|unset| same(column, unset, dialect)) } else { is_among(column) }
                    },
                )
            }
        };
        let leading = &self.columns[..self.columns.len().min(columns.len())];
        has_all_rows && !leading.is_empty() && leading.iter().all(|column| is_among(column))
    }
}
