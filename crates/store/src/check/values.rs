//! Warns of invalid values in a SQLite database: SQLite stores any value in any column, and one that does not fit its field reads as null.

use query::catalog::{Catalog, Stored};
use query::sql::Dialect;
use query::types::{Scalar, Type};
use query::value::{self, stored};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};

use crate::Error;
use crate::schema;
use crate::sqlite::{check_collations, decimal_of, encoding_of, readable, repeated_keys, sample_rows};

use super::{Finding, Severity};

pub(crate) struct DeclaredTable {
    resource: String,
    line: usize,
    table: String,
    fields: Vec<DeclaredField>,
    /// The fields of the key, if equal values of one of them may be stored in several forms.
    key: Vec<usize>,
}

struct DeclaredField {
    name: String,
    line: usize,
    column: String,
    kind: Type,
    stored: Stored,
}

impl DeclaredField {
    /// Whether texts that differ may be one value, as `1.5` and `1.50` are.
    fn has_several_forms(&self) -> bool {
        self.stored == Stored::Datetime || matches!(self.kind, Type::One(Scalar::Decimal | Scalar::Time))
    }

    /// The same string for equal values; none for an invalid one.
    fn value(&self, cell: ValueRef<'_>) -> Option<String> {
        let text = || cell.as_str().ok();
        match (&self.kind, self.stored) {
            _ if cell == ValueRef::Null => None,
            (_, Stored::Datetime) => stored::datetime(text()?).map(|micros| micros.to_string()),
            (Type::One(Scalar::Decimal), _) => value::normal_decimal(&decimal_of(cell)?),
            (Type::One(Scalar::Time), _) => stored::time(text()?).map(|micros| micros.to_string()),
            _ => Some(format!("{cell:?}")),
        }
    }
}

/// The tables of the manifest, without the program's own.
pub(crate) fn declared(catalog: &Catalog) -> Vec<DeclaredTable> {
    let declared = catalog.resources().iter().filter(|resource| !resource.is_own());
    let tables = declared.map(|resource| {
        let fields = resource.stored_fields().map(|(_, field)| DeclaredField {
            name: format!("{}.{}", resource.full_name, field.name),
            line: field.line,
            column: field.column.plain().to_owned(),
            kind: field.kind.clone(),
            stored: field.stored,
        });
        let fields: Vec<DeclaredField> = fields.collect();
        let key: Vec<usize> =
            resource.stored_fields().enumerate().filter(|(_, (id, _))| resource.key.contains(id)).map(|(place, _)| place).collect();
        let key = if key.iter().any(|place| fields[*place].has_several_forms()) { key } else { Vec::new() };
        let (name, table) = (resource.full_name.clone(), resource.table.name.plain().to_owned());
        DeclaredTable { resource: name, line: resource.line, table, fields, key }
    });
    tables.collect()
}

/// A warning for each field with invalid values. `begin` restarts the time before each table.
pub(crate) fn invalid_values(connection: &Connection, tables: &[DeclaredTable], begin: impl Fn()) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::from_iter(encoding(connection, tables));
    let schema = schema::read_sqlite(connection)?;
    // The check reports missing tables and columns.
    let is_complete = |declared: &&DeclaredTable| {
        let found = schema.find(None, &declared.table, Dialect::Sqlite).filter(|table| table.unreadable.is_none());
        found.is_some_and(|table| declared.fields.iter().all(|field| table.column(&field.column, Dialect::Sqlite).is_some()))
    };
    let warning = |line: usize, message: String| Finding { severity: Severity::Warning, line, message };
    for table in tables.iter().filter(is_complete) {
        begin();
        let (rows, counts) = match count(connection, table) {
            Ok(counted) => counted,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                findings.push(warning(table.line, format!("`{}`: reading its first rows takes too long", table.resource)));
                continue;
            }
            Err(error) => {
                // SQLite lacks a collation or a function of the program that made the file.
                let reason = "SQLite lacks a function or collation that this table uses, so some statements will fail";
                findings.push(warning(table.line, format!("`{}`: {reason}: {error}", table.resource)));
                continue;
            }
        };
        match repeated(connection, table) {
            Ok(0) => {}
            Ok(count) => findings.push(warning(table.line, repeated_key(table, count))),
            Err(_) => continue,
        }
        for (field, count) in table.fields.iter().zip(counts).filter(|(_, count)| *count > 0) {
            let kind = field.kind.name();
            let form = match field.stored {
                _ if kind != "timestamp" => "",
                Stored::Standard => " as YYYY-MM-DDTHH:MM:SS.ffffffZ; `stored` sets another format",
                Stored::Datetime => " as datetime() writes it",
                Stored::Unix => " in seconds since 1970",
            };
            let message = format!(
                "`{}`: of the first {rows} row(s), {count} have an invalid {kind}{form}, and read as null; another type may fit",
                field.name
            );
            findings.push(warning(field.line, message));
        }
    }
    Ok(findings)
}

/// How many of the first rows have a key that equals another, in another form.
fn repeated(connection: &Connection, table: &DeclaredTable) -> rusqlite::Result<u32> {
    if table.key.is_empty() {
        return Ok(0);
    }
    let key = || table.key.iter().map(|place| &table.fields[*place]);
    let fields: Vec<&DeclaredField> = key().collect();
    repeated_keys(connection, &table.table, key().map(|field| field.column.as_str()), |index, cell| fields[index].value(cell))
}

fn repeated_key(table: &DeclaredTable, count: u32) -> String {
    let names: Vec<String> = table.key.iter().map(|place| format!("`{}`", table.fields[*place].name)).collect();
    format!(
        "of the first rows, {count} have a key that equals another as a value, written in another form ({}): `find` and keyset pages take such \
         rows for one; store every key in one form",
        names.join(", ")
    )
}

/// Warns once, at the first text field, of an encoding whose bytes do not sort as code points.
fn encoding(connection: &Connection, tables: &[DeclaredTable]) -> Option<Finding> {
    let encoding = encoding_of(connection).ok()?;
    let mut fields = tables.iter().flat_map(|table| &table.fields);
    let text = fields.find(|field| matches!(field.kind, Type::One(Scalar::Text | Scalar::Enum(_)))).filter(|_| encoding != "UTF-8")?;
    let message = format!("the file stores strings as {encoding} and compares their bytes, not their code points; use a file in UTF-8");
    Some(Finding { severity: Severity::Warning, line: text.line, message })
}

fn count(connection: &Connection, table: &DeclaredTable) -> rusqlite::Result<(u32, Vec<u32>)> {
    check_collations(connection, &table.table)?;
    let mut counts = vec![0; table.fields.len()];
    let columns = table.fields.iter().map(|field| field.column.as_str());
    let rows = sample_rows(connection, &table.table, columns, |index, cell| {
        let field = &table.fields[index];
        counts[index] += u32::from(!readable(&field.kind, field.stored, cell));
    })?;
    Ok((rows, counts))
}
