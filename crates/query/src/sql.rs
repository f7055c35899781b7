//! [`Plan`](crate::plan::Plan) → SQL: one text for each level. The text depends on the statement's shape only; values are always bound.
//!
//! Two steps: a plan becomes a `tree`, which holds every choice of strategy, and `print` writes the tree in a dialect.
//! Text enters in four ways: a `&'static str`, an identifier of the catalog, an enum's value in the catalog, a number of our own.

mod dialect;
mod exists;
mod group;
mod join;
mod keyset;
mod level;
mod print;
mod row_source;
#[cfg(test)]
mod tests;
mod tree;
pub mod write;
mod writer;

use std::sync::Arc;

use crate::catalog::{Field, Stored};
use crate::plan::keyset::NextStatement;
use crate::plan::predicate::{Alias, Column, Predicate};
use crate::plan::{Operation, Plan, PlanBody, Show};
use crate::types::{EnumValue, Scalar, Type};
use crate::value::Value;

pub use dialect::Dialect;
use writer::Writer;

/// The text of a statement with its values.
#[derive(Clone, Debug)]
pub struct Sql {
    text: String,
    params: Vec<Param>,
}

impl Sql {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bound values, in the order of the placeholders.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The same statement for its first rows only.
    #[must_use]
    pub fn first(&self, rows: usize) -> Self {
        Sql { text: format!("SELECT * FROM ({}) AS first LIMIT {rows}", self.text), params: self.params.clone() }
    }
}

#[derive(Clone, Debug)]
pub struct Param {
    pub kind: Kind,
    pub arity: Arity,
    /// The value, or the keys of the parents' rows, which are known when those were read.
    pub source: Source,
    predicate: PredicateId,
}

/// The predicate that a parameter belongs to, for explain: its place in memory while the plan lives. Zero is none.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PredicateId(usize);

impl PredicateId {
    const NONE: PredicateId = PredicateId(0);

    fn of(predicate: &Predicate<'_>) -> Self {
        PredicateId(std::ptr::from_ref(predicate).addr())
    }
}

impl std::fmt::Debug for PredicateId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The place differs from run to run.
        out.write_str("PredicateId")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    One,
    List,
}

#[derive(Clone, Debug)]
pub enum Source {
    /// The statement, the policy, or a limit.
    Value(Value),
    /// This column of the parents' keys.
    Keys(usize),
    /// All columns of the parents' keys, as JSON.
    KeysAsJson,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        Bool = "bool",
        Int4 = "int4",
        Int8 = "int8",
        Float4 = "float4",
        Float8 = "float8",
        Numeric = "numeric",
        Text = "text",
        Uuid = "uuid",
        Date = "date",
        Time = "time",
        Timestamp = "timestamp",
        Timestamptz = "timestamptz",
        Jsonb = "jsonb",
    }
}

/// A statement ready to run: one SQL text for each level.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Query {
    pub operation: Operation,
    pub root: Level,
    pub total: Total,
    pub limit: Option<u64>,
    pub offset: u64,
    /// The limit that the server set, if the statement names none.
    pub row_cap: Option<u64>,
    /// The most related rows of the answer, in all relations together.
    pub max_related_rows: Option<u64>,
    /// How the page after this one is asked for.
    pub next: Option<NextStatement>,
    /// The relations that lead to rows on other servers, for the message of a statement that Citus refuses.
    pub distant_relations: Vec<String>,
}

impl Query {
    /// The last row of a keyset page and the one after it, without anything to show: only where the page ends.
    pub fn end_of_page(&self, dialect: Dialect) -> Option<Self> {
        let PageEnd { rows, position } = self.root.page_end.clone()?;
        let before = rows.checked_sub(1)?;
        let page = &self.root.sql;
        let mut writer = Writer { text: format!("SELECT * FROM ({}) AS page LIMIT 2 OFFSET ", page.text), ..Writer::new(dialect) };
        writer.params.clone_from(&page.params);
        writer.bind_count(before as u64);
        let root = Level { sql: writer.finish(), outputs: Vec::new(), children: Vec::new(), page_end: Some(PageEnd { rows: 1, position }) };
        Some(Query { root, limit: Some(1), ..self.clone() })
    }
}

/// How to count the rows without limit and offset.
#[derive(Clone, Debug)]
pub enum Total {
    /// By this statement, unless the page shows it.
    Count(Sql),
    /// An aggregation without groups is one row.
    One,
    /// The operation does not show it.
    Unasked,
}

/// One level: its SQL, the meaning of its columns, and the levels below.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Level {
    pub sql: Sql,
    /// The members of each row's object.
    pub outputs: Vec<Output>,
    pub children: Vec<ChildLevel>,
    /// What is read of the last row beside the answer.
    pub page_end: Option<PageEnd>,
}

/// The last row of a keyset page, which reads one row more than the page has; or the one row of a `find` by id.
#[derive(Clone, Debug)]
pub struct PageEnd {
    /// The rows of the page.
    pub rows: usize,
    /// The sort keys of the row, by which the next page continues; or its version.
    pub position: Vec<Output>,
}

#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChildLevel {
    /// `,"name":`
    pub key: Arc<[u8]>,
    /// An array, or one object or null.
    pub many: bool,
    /// The columns of the parent's row that are its key.
    pub parent_columns: Vec<usize>,
    pub owner: Owner,
    pub level: Level,
}

/// How to find the parent of a related row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The first column has the number of the parent's key, counted from one.
    Number,
    /// This column has the parent's key.
    Key(usize),
}

/// One member of a row's object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Output {
    /// `,"name":`
    pub key: Arc<[u8]>,
    pub column: usize,
    pub decode: Decode,
    pub show: Show,
    /// The values of an enum, where the column may hold others: those read as null.
    pub values: Option<Arc<[EnumValue]>>,
}

impl Output {
    /// Whether a stored string is one of the values.
    pub fn fits(&self, text: &[u8]) -> bool {
        self.values.as_ref().is_none_or(|values| values.iter().any(|value| value.as_bytes() == text))
    }
}

/// The reader multiplies a sum of doubles by this: two to the 64th, more than any number of rows.
pub const SCALE: f64 = 18_446_744_073_709_551_616.0;

/// Divided by [`SCALE`], a smaller term of a sum would leave the range of doubles: it counts as zero, as in the SQL for PostgreSQL.
pub const SMALLEST_TERM: f64 = 1e-288;

/// The meaning of a column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decode {
    Value(Scalar, Stored),
    Array(Scalar),
    Count,
    /// A sum, shown as a number.
    SumNumber,
    /// An exact sum, shown as a string.
    SumText,
    /// An exact sum in this column and a count in the next: their quotient, shown as a string.
    Average,
    /// A sum of doubles, divided by [`SCALE`].
    FloatSum,
    /// Such a sum in this column and a count in the next: their quotient.
    FloatAverage,
    /// No column: the answer is a fixed string.
    Redacted,
    /// No column: the answer is null.
    RedactedNull,
}

impl Decode {
    fn of(field: &Field) -> Self {
        match &field.kind {
            Type::One(scalar) => Decode::Value(scalar.clone(), field.stored),
            Type::Array(scalar) => Decode::Array(scalar.clone()),
        }
    }

    /// A value in the standard form.
    fn standard(field: &Field) -> Self {
        Decode::Value(field.kind.scalar().clone(), Stored::Standard)
    }
}

/// Renders a plan. It cannot fail: the plan is checked.
pub fn render(plan: &Plan<'_>, dialect: Dialect) -> Query {
    let asks_total = plan.operation == Operation::Paginate;
    let (root, total, bounds) = match &plan.body {
        PlanBody::Rows(select) => {
            let total = if asks_total { Total::Count(level::total(select, dialect)) } else { Total::Unasked };
            let root = match &plan.keyset {
                Some(page) => keyset::root(select, page, dialect),
                None => level::root(select, plan.version, dialect),
            };
            (root, total, select.source.bounds)
        }
        PlanBody::Groups(grouped) => {
            let total = if asks_total { group::total(grouped, dialect) } else { Total::Unasked };
            (group::groups(grouped, dialect), total, grouped.source.bounds)
        }
    };
    Query {
        operation: plan.operation,
        root,
        total,
        limit: bounds.limit,
        offset: bounds.offset.unwrap_or(0),
        row_cap: plan.row_cap,
        max_related_rows: plan.max_related_rows,
        next: plan.keyset.as_ref().map(|page| page.next.clone()),
        distant_relations: if dialect.has_several_servers() { plan.distant_relations() } else { Vec::new() },
    }
}

/// The expression of a field that is computed from one column, as an index would hold it.
pub fn index_expression(field: &Field, dialect: Dialect) -> Option<String> {
    field.source()?;
    let mut writer = Writer { has_one_table: true, ..Writer::new(dialect) };
    writer.column(Column { alias: Alias(0), field });
    Some(writer.text)
}

/// One predicate by itself, for explain. Its parameters have the numbers that they have in the whole statement.
pub(crate) fn fragment(predicate: &Predicate<'_>, whole: &Sql, dialect: Dialect) -> Sql {
    let conditions = exists::Filters::new(dialect, std::iter::once(predicate)).conditions([predicate]);
    let alone = print::condition_list(&conditions, dialect, Vec::new());
    let numbers = numbers_in(whole, &alone.params);
    print::condition_list(&conditions, dialect, numbers)
}

/// The number of each of these parameters in the whole statement. A predicate may have several, always in the same order.
fn numbers_in(whole: &Sql, params: &[Param]) -> Vec<usize> {
    let number = |index: usize| {
        let is_same = |other: &&Param| other.predicate == params[index].predicate;
        let earlier = params[..index].iter().filter(is_same).count();
        let mut found = (1..).zip(&whole.params).filter(|(_, param)| is_same(param)).map(|(number, _)| number);
        found.nth(earlier).unwrap_or(index + 1)
    };
    (0..params.len()).map(number).collect()
}
