//! What rows of a SQLite database hold, against what the manifest says: a declared type binds nobody there, and a value that does not fit
//! reads as null without a word.

use query::catalog::{Catalog, Stored};
use query::types::{Scalar, Type};
use rusqlite::{Connection, ErrorCode, Result};

use crate::sqlite::{encoding_of, glance, know_collations, readable};

use super::{Finding, Severity};

/// A table of the manifest and the fields that are read from it.
pub(crate) struct Asked {
    resource: String,
    line: usize,
    table: String,
    fields: Vec<AskedField>,
}

struct AskedField {
    name: String,
    line: usize,
    column: String,
    kind: Type,
    stored: Stored,
}

/// What is to be looked at. The server's own tables are its own affair.
pub(crate) fn asked(catalog: &Catalog) -> Vec<Asked> {
    let declared = catalog.resources().iter().filter(|resource| !resource.is_own());
    let asked = declared.map(|resource| {
        let fields = resource.fields.iter().map(|field| AskedField {
            name: format!("{}.{}", resource.full_name, field.name),
            line: field.line,
            column: field.column.plain().to_owned(),
            kind: field.kind.clone(),
            stored: field.stored,
        });
        let fields = fields.collect();
        Asked { resource: resource.full_name.clone(), line: resource.line, table: resource.table.name.plain().to_owned(), fields }
    });
    asked.collect()
}

/// A warning for each field with values that do not fit. `begin` is called before each table, to give it a time of its own.
pub(crate) fn misfits(connection: &Connection, asked: &[Asked], begin: impl Fn()) -> Vec<Finding> {
    let mut findings = Vec::from_iter(encoding(connection, asked));
    for table in asked {
        begin();
        let (rows, counts) = match count(connection, table) {
            Ok(counted) => counted,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                let message = format!("`{}`: its first rows could not be looked at, since that takes too long", table.resource);
                findings.push(Finding { severity: Severity::Warning, line: table.line, message });
                continue;
            }
            Err(error) => {
                findings.extend(unreadable(table, &error));
                continue;
            }
        };
        for (field, count) in table.fields.iter().zip(counts).filter(|(_, count)| *count > 0) {
            let kind = field.kind.name();
            let form = match field.stored {
                _ if kind != "timestamp" => "",
                Stored::Standard => " as YYYY-MM-DDTHH:MM:SS.ffffffZ; `stored` says otherwise",
                Stored::Datetime => " as datetime() writes it",
                Stored::Unix => " in seconds since 1970",
            };
            let message = format!(
                "`{}`: of the first {rows} row(s), {count} hold what is no {kind}{form}, and read as null; another type may fit",
                field.name
            );
            findings.push(Finding { severity: Severity::Warning, line: field.line, message });
        }
    }
    findings
}

/// That texts are kept in a form by which they do not sort as code points do; said once, at the first text.
fn encoding(connection: &Connection, asked: &[Asked]) -> Option<Finding> {
    let encoding = encoding_of(connection).ok()?;
    let mut fields = asked.iter().flat_map(|table| &table.fields);
    let text = fields.find(|field| matches!(field.kind, Type::One(Scalar::Text | Scalar::Enum(_)))).filter(|_| encoding != "UTF-8")?;
    let message =
        format!("the file keeps texts as {encoding}, by whose bytes they sort and compare, not by code point; a file in UTF-8 does");
    Some(Finding { severity: Severity::Warning, line: text.line, message })
}

/// That SQLite lacks what a table needs: a collation or a function that only the program has which made the file. What is missing
/// altogether was found before.
fn unreadable(table: &Asked, error: &rusqlite::Error) -> Option<Finding> {
    let reason = error.to_string();
    let known = ["no such table", "no such column"].iter().any(|missing| reason.contains(missing));
    let message = format!("`{}`: SQLite cannot read it in every way, and statements that need to will fail: {reason}", table.resource);
    (!known).then_some(Finding { severity: Severity::Warning, line: table.line, message })
}

/// How many rows were looked at, and of each field how many values do not fit.
fn count(connection: &Connection, asked: &Asked) -> Result<(u32, Vec<u32>)> {
    know_collations(connection, &asked.table)?;
    let mut counts = vec![0; asked.fields.len()];
    let columns = asked.fields.iter().map(|field| field.column.as_str());
    let rows = glance(connection, &asked.table, columns, |index, cell| {
        let field = &asked.fields[index];
        counts[index] += u32::from(!readable(&field.kind, field.stored, cell));
    })?;
    Ok((rows, counts))
}
