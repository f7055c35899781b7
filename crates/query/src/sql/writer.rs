//! Writes text and binds values. All SQL goes through it.

use std::fmt::Write;

use crate::catalog::{Derived, Identifier, TableName};
use crate::plan::predicate::{Alias, Column};
use crate::types::EnumValue;
use crate::value::Value;

use super::dialect::{self, Dialect};
use super::{Arity, Kind, Param, PredicateId, Source, Sql};

/// The only type that writes SQL.
pub(super) struct Writer {
    pub(super) dialect: Dialect,
    pub(super) text: String,
    pub(super) params: Vec<Param>,
    /// The predicate that is being written.
    pub(super) predicate: PredicateId,
    /// The numbers of the parameters, if they are not counted from one.
    pub(super) numbers: Vec<usize>,
    /// Whether columns are named without their table.
    pub(super) has_one_table: bool,
    /// The lookups of a dot-path's rows, each with a column that is NULL where the path leads to no row.
    pub(super) path_lookups: Vec<(Alias, Alias, Identifier)>,
    /// The columns that join tables of dot-paths in a query of groups. Only where rows are on several servers.
    pub(super) path_keys: Vec<(Alias, Identifier)>,
    /// Whether a group key is being written.
    pub(super) is_group_key: bool,
}

impl Writer {
    pub(super) fn new(dialect: Dialect) -> Self {
        Writer {
            dialect,
            text: String::with_capacity(512),
            params: Vec::with_capacity(8),
            predicate: PredicateId::NONE,
            numbers: Vec::new(),
            has_one_table: false,
            path_lookups: Vec::new(),
            path_keys: Vec::new(),
            is_group_key: false,
        }
    }

    pub(super) fn finish(self) -> Sql {
        Sql { text: self.text, params: self.params }
    }

    pub(super) fn raw(&mut self, text: &'static str) {
        self.text.push_str(text);
    }

    pub(super) fn identifier(&mut self, identifier: &Identifier) {
        self.text.push_str(&identifier.quoted);
    }

    pub(super) fn table_name(&mut self, table: &TableName) {
        if let Some(schema) = &table.schema {
            self.identifier(schema);
            self.raw(".");
        }
        self.identifier(&table.name);
    }

    /// An enum's value, its quotes doubled.
    pub(super) fn literal(&mut self, value: &EnumValue) {
        let mut text = value.replace('\'', "''");
        if dialect::escapes(self.dialect, &text) {
            self.raw("E");
            text = text.replace('\\', "\\\\");
        }
        self.raw("'");
        self.text.push_str(&text);
        self.raw("'");
    }

    pub(super) fn number(&mut self, number: usize) {
        match u8::try_from(number) {
            // Nearly every number; formatting is slower.
            Ok(digit @ 0..=9) => self.text.push(char::from(b'0' + digit)),
            // Writing to a String cannot fail.
            _ => _ = write!(self.text, "{number}"),
        }
    }

    pub(super) fn alias(&mut self, alias: Alias) {
        self.raw("t");
        self.number(alias.0 as usize);
    }

    /// `t1."name"`, as stored, or the value of a derived field.
    pub(super) fn column(&mut self, column: Column<'_>) {
        match &column.field.derived {
            None | Some(Derived::Unresolved) if self.is_group_key && self.is_path_key(column) => {
                dialect::path_key_as_group(self, column);
            }
            None | Some(Derived::Unresolved) => self.stored_column(column.alias, &column.field.column),
            Some(Derived::Related(_)) => dialect::looked_up(self, column),
            Some(Derived::JsonPath(path)) => dialect::json_path(self, column, path),
            Some(Derived::Bucket(bucket)) => dialect::bucket(self, column, bucket),
        }
    }

    fn is_path_key(&self, column: Column<'_>) -> bool {
        self.path_keys.iter().any(|(alias, key)| *alias == column.alias && *key == column.field.column)
    }

    pub(super) fn stored_column(&mut self, alias: Alias, column: &Identifier) {
        if !self.has_one_table {
            self.alias(alias);
            self.raw(".");
        }
        self.identifier(column);
    }

    pub(super) fn bind(&mut self, kind: Kind, arity: Arity, source: Source) -> usize {
        self.params.push(Param { kind, arity, source, predicate: self.predicate });
        let number = self.params.len();
        self.placeholder(number);
        number
    }

    /// Refers to a value that is bound already.
    pub(super) fn placeholder(&mut self, number: usize) {
        let Param { kind, arity, .. } = self.params[number - 1];
        let shown = self.numbers.get(number - 1).copied().unwrap_or(number);
        dialect::placeholder(self, shown, kind, arity);
    }

    /// A limit or offset.
    pub(super) fn bind_count(&mut self, count: u64) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.bind(Kind::Int8, Arity::One, Source::Value(Value::Int(count)));
    }

    /// Writes the items with a separator between.
    pub(super) fn separated<T>(
        &mut self,
        separator: &'static str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.enumerated(separator, items, |writer, _, item| write(writer, item));
    }

    /// The same, each with its number.
    pub(super) fn enumerated<T>(
        &mut self,
        separator: &'static str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, usize, T),
    ) {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.raw(separator);
            }
            write(self, index, item);
        }
    }
}
