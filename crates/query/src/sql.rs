//! [`Plan`](crate::plan::Plan) → SQL: one text a level, which depends on the statement's shape only. Values are always bound.
//!
//! Text enters in four ways: a `&'static str`, an identifier of the catalog, a value that the catalog gives an enum, a number of our own
//! counting.

mod dialect;
mod exists;
mod group;
mod join;
mod level;
mod print;
mod scope;
mod tree;

use std::fmt::Write;
use std::sync::Arc;

use crate::catalog::{Field, Identifier, Stored, TableName};
use crate::plan::predicate::{Alias, Column, Predicate};
use crate::plan::{Operation, Plan, PlanBody, Show};
use crate::types::{EnumValue, Scalar, Type};
use crate::value::Value;

pub use dialect::Dialect;

/// A text with its values.
#[derive(Clone, Debug)]
pub struct Sql {
    text: String,
    params: Vec<Param>,
}

impl Sql {
    /// The statement.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is bound, in the order of the placeholders.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Its first so many rows.
    #[must_use]
    pub fn first(&self, rows: usize) -> Self {
        Sql { text: format!("SELECT * FROM ({}) AS first LIMIT {rows}", self.text), params: self.params.clone() }
    }
}

/// Something bound.
#[derive(Clone, Debug)]
pub struct Param {
    /// What it is on the wire.
    pub kind: Kind,
    /// Whether it is one value or a list.
    pub many: Many,
    /// The value, or the keys of the parents' rows, known only when those were read.
    pub source: Source,
}

/// One value or a list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Many {
    /// One value.
    One,
    /// An array.
    List,
}

/// Where a bound value comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The statement, the policy, or a limit.
    Value(Value),
    /// Column number so-and-so of the parents' keys.
    Keys(usize),
    /// All columns of the parents' keys, as one JSON text.
    KeysAsJson,
}

/// The types parameters have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `bool`
    Bool,
    /// `int4`
    Int4,
    /// `int8`
    Int8,
    /// `float4`
    Float4,
    /// `float8`
    Float8,
    /// `numeric`
    Numeric,
    /// `text`
    Text,
    /// `uuid`
    Uuid,
    /// `date`
    Date,
    /// `time`
    Time,
    /// `timestamp`
    Timestamp,
    /// `timestamptz`
    Timestamptz,
    /// `jsonb`
    Jsonb,
}

impl Kind {
    /// The type's name, for explain and for casts.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Int4 => "int4",
            Kind::Int8 => "int8",
            Kind::Float4 => "float4",
            Kind::Float8 => "float8",
            Kind::Numeric => "numeric",
            Kind::Text => "text",
            Kind::Uuid => "uuid",
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::Timestamp => "timestamp",
            Kind::Timestamptz => "timestamptz",
            Kind::Jsonb => "jsonb",
        }
    }
}

/// A statement ready to run: one text a level.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Query {
    /// What is asked.
    pub operation: Operation,
    /// The root's rows or the groups.
    pub root: Level,
    /// How the total is learned.
    pub total: Total,
    /// The root's limit.
    pub limit: Option<u64>,
    /// The root's offset.
    pub offset: u64,
}

impl Query {
    /// The same rows with nothing loaded for them.
    #[must_use]
    pub fn without_relations(mut self) -> Self {
        self.root.children.clear();
        self
    }
}

/// How many rows there are without limit and offset.
#[derive(Clone, Debug)]
pub enum Total {
    /// Asked with this, unless the page tells it.
    Count(Sql),
    /// An aggregation without groups is one row.
    One,
    /// The operation has no use for it.
    Unasked,
}

/// One level: a text, what its columns mean, and the levels below.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Level {
    /// The text.
    pub sql: Sql,
    /// What is written for each row.
    pub outputs: Vec<Output>,
    /// The relations loaded for these rows.
    pub children: Vec<ChildLevel>,
}

/// The rows of a relation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChildLevel {
    /// `,"name":`
    pub key: Arc<[u8]>,
    /// An array, or one object or null.
    pub many: bool,
    /// Which columns of the parent's row are its key.
    pub parent_columns: Vec<usize>,
    /// How a row tells whose it is.
    pub owner: Owner,
    /// The rows.
    pub level: Level,
}

/// How a related row tells which of the parents' keys it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// By the key's number, counted from one, in its first column.
    Number,
    /// By the key itself, in this column.
    Key(usize),
}

/// One member of a row's object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Output {
    /// `,"name":`
    pub key: Arc<[u8]>,
    /// Which column of the row holds it.
    pub column: usize,
    /// What the column means.
    pub decode: Decode,
    /// Plain or masked.
    pub show: Show,
    /// The values of an enum, where the column may hold others: these read as null.
    pub values: Option<Arc<[EnumValue]>>,
}

impl Output {
    /// Whether a text that is stored fits.
    pub fn fits(&self, text: &[u8]) -> bool {
        self.values.as_ref().is_none_or(|values| values.iter().any(|value| value.as_bytes() == text))
    }
}

/// What a sum of doubles is multiplied by when it is read: two to the 64th, more than any number of rows.
pub const SCALE: f64 = 18_446_744_073_709_551_616.0;

/// A term of a sum that is smaller would become too small by [`SCALE`], and counts as zero; the text for PostgreSQL has it too.
pub const SMALLEST_TERM: f64 = 1e-288;

/// What a column of a result means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decode {
    /// A field's value.
    Value(Form, Stored),
    /// An array of values.
    Array(Form),
    /// A number of rows.
    Count,
    /// A sum shown as a number.
    SumNumber,
    /// An exact sum shown as a text.
    SumText,
    /// An exact sum in this column and a count in the next: their quotient, as a text.
    Average,
    /// A sum of doubles, scaled down by [`SCALE`].
    FloatSum,
    /// Such a sum in this column and a count in the next: their quotient.
    FloatAverage,
    /// No column at all: the same for every value.
    Redacted,
    /// The same, where the answer is not a text.
    RedactedNull,
}

/// The forms a value takes in JSON; an enum's values do not matter any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `true`
    Bool,
    /// `1`, 32 bits
    Int,
    /// `1`, 64 bits
    BigInt,
    /// `1.5`
    Float,
    /// `"1.50"`
    Decimal,
    /// `"x"`
    Text,
    /// `"6f1c…"`
    Uuid,
    /// `"2024-02-29"`
    Date,
    /// `"17:30:00"`
    Time,
    /// `"2024-02-29T17:30:00Z"`
    Timestamp,
    /// As stored.
    Json,
}

impl From<&Scalar> for Form {
    fn from(scalar: &Scalar) -> Self {
        match scalar {
            Scalar::Bool => Form::Bool,
            Scalar::Int => Form::Int,
            Scalar::BigInt => Form::BigInt,
            Scalar::Float => Form::Float,
            Scalar::Decimal => Form::Decimal,
            Scalar::Text | Scalar::Enum(_) => Form::Text,
            Scalar::Uuid => Form::Uuid,
            Scalar::Date => Form::Date,
            Scalar::Time => Form::Time,
            Scalar::Timestamp => Form::Timestamp,
            Scalar::Json => Form::Json,
        }
    }
}

impl Decode {
    fn of(field: &Field) -> Self {
        match &field.kind {
            Type::One(scalar) => Decode::Value(scalar.into(), field.stored),
            Type::Array(scalar) => Decode::Array(scalar.into()),
        }
    }

    /// A value our own functions have brought to the standard form.
    fn standard(field: &Field) -> Self {
        Decode::Value(field.kind.scalar().into(), Stored::Standard)
    }
}

/// Renders a plan. It cannot fail: everything was checked.
pub fn render(plan: &Plan<'_>, dialect: Dialect) -> Query {
    let asks_total = plan.operation == Operation::Paginate;
    let (root, total, bounds) = match &plan.body {
        PlanBody::Rows(select) => {
            let total = if asks_total { Total::Count(level::total(select, dialect)) } else { Total::Unasked };
            (level::root(select, dialect), total, select.scope.bounds)
        }
        PlanBody::Groups(grouped) => {
            let total = if asks_total { group::total(grouped, dialect) } else { Total::Unasked };
            (group::groups(grouped, dialect), total, grouped.scope.bounds)
        }
    };
    Query { operation: plan.operation, root, total, limit: bounds.limit, offset: bounds.offset.unwrap_or(0) }
}

/// One predicate by itself, for explain.
pub(crate) fn fragment(predicate: &Predicate<'_>, dialect: Dialect) -> Sql {
    let conditions = exists::Filters::new(dialect, std::iter::once(predicate)).conditions([predicate]);
    print::condition_list(&conditions, dialect)
}

/// The only hand that writes SQL.
struct Writer {
    dialect: Dialect,
    text: String,
    params: Vec<Param>,
}

impl Writer {
    fn new(dialect: Dialect) -> Self {
        Writer { dialect, text: String::with_capacity(512), params: Vec::with_capacity(8) }
    }

    fn finish(self) -> Sql {
        Sql { text: self.text, params: self.params }
    }

    fn raw(&mut self, text: &'static str) {
        self.text.push_str(text);
    }

    fn identifier(&mut self, identifier: &Identifier) {
        self.text.push_str(identifier.quoted());
    }

    fn table_name(&mut self, table: &TableName) {
        if let Some(schema) = &table.schema {
            self.identifier(schema);
            self.raw(".");
        }
        self.identifier(&table.name);
    }

    /// A value of the manifest, its quotes doubled.
    fn literal(&mut self, value: &EnumValue) {
        let mut text = value.replace('\'', "''");
        if dialect::escapes(self.dialect, &text) {
            self.raw("E");
            text = text.replace('\\', "\\\\");
        }
        self.raw("'");
        self.text.push_str(&text);
        self.raw("'");
    }

    fn number(&mut self, number: usize) {
        match u8::try_from(number) {
            // Nearly every one, without the machinery of formatting.
            Ok(digit @ 0..=9) => self.text.push(char::from(b'0' + digit)),
            // Writing to a String cannot fail.
            _ => _ = write!(self.text, "{number}"),
        }
    }

    fn alias(&mut self, alias: Alias) {
        self.raw("t");
        self.number(alias.0 as usize);
    }

    /// `t1."name"`, as stored.
    fn column(&mut self, column: Column<'_>) {
        self.alias(column.alias);
        self.raw(".");
        self.identifier(&column.field.column);
    }

    fn bind(&mut self, kind: Kind, many: Many, source: Source) -> usize {
        self.params.push(Param { kind, many, source });
        let number = self.params.len();
        self.placeholder(number);
        number
    }

    /// Refers to a parameter that is bound already.
    fn placeholder(&mut self, number: usize) {
        let Param { kind, many, .. } = self.params[number - 1];
        dialect::placeholder(self, number, kind, many);
    }

    /// A limit or offset.
    fn bind_count(&mut self, count: u64) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.bind(Kind::Int8, Many::One, Source::Value(Value::Int(count)));
    }

    /// Writes the items with a separator between.
    fn separated<T>(&mut self, separator: &'static str, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.enumerated(separator, items, |writer, _, item| write(writer, item));
    }

    /// The same, each with its number.
    fn enumerated<T>(&mut self, separator: &'static str, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, usize, T)) {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.raw(separator);
            }
            write(self, index, item);
        }
    }
}
