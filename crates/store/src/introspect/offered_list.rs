//! Reads and writes the list of everything that `introspect` has offered. It stands in comments of the manifest. Only what is missing
//! there is new, so a deleted entry stays deleted.

use std::collections::BTreeMap;
use std::fmt::Write;

use query::sql::Dialect;

use crate::schema::{ForeignKey, Table, same};

use super::naming::{quoted, usual_schema};

const HEADING: [&str; 2] = [
    "# What `peristyle introspect` has seen. `--update` adds only what is not listed here, so that what is deleted above",
    "# stays deleted. To be offered something again, delete it from this list too.",
];
/// Longer lists of columns continue on another line.
const WIDTH: usize = 116;

/// The tables, columns and foreign keys that were offered to the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OfferedList {
    pub(super) tables: OfferedColumns,
    /// Columns that were left out with a note, also of tables that were left out.
    pub(super) left_out: OfferedColumns,
    links: Vec<OfferedListLink>,
}

/// Columns by table, as a manifest names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OfferedColumns(BTreeMap<String, Vec<String>>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OfferedListLink {
    table: String,
    columns: Vec<String>,
    target: String,
    target_columns: Vec<String>,
    left_out: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offered {
    Yes,
    No,
}

const LEFT_OUT: &str = ", left out";

impl OfferedList {
    /// The manifest's text without the list, and the list if there is one.
    pub(super) fn take(text: &str, dialect: Dialect) -> (String, Option<OfferedList>) {
        let mut rest: Vec<&str> = Vec::new();
        let mut known = OfferedList::default();
        let mut found = false;
        for line in text.split_inclusive('\n') {
            let is_ours = HEADING.contains(&line.trim()) || known.read(line, dialect).is_some();
            if !is_ours {
                rest.push(line);
            } else if !found && rest.len() > 1 && rest.last().is_some_and(|line| line.trim().is_empty()) {
                // The empty line before the list belongs to it.
                rest.pop();
            }
            found |= is_ours;
        }
        (rest.concat(), found.then_some(known))
    }

    /// Reads one line; none if it is no part of the list.
    fn read(&mut self, line: &str, dialect: Dialect) -> Option<()> {
        let mut reader = Reader(line.trim().strip_prefix('#')?.trim_start().strip_prefix("introspected ")?);
        let table = relisted(reader.name()?, dialect);
        let tables = if reader.sign(LEFT_OUT).is_some() { &mut self.left_out } else { &mut self.tables };
        if reader.sign(":").is_some() {
            let columns = reader.names();
            reader.end()?;
            tables.0.entry(table).or_default().extend(columns);
            return Some(());
        }
        let columns = reader.bracketed()?;
        reader.sign("->")?;
        let (target, target_columns) = (relisted(reader.name()?, dialect), reader.bracketed()?);
        let left_out = reader.sign(LEFT_OUT).is_some();
        reader.end()?;
        self.links.push(OfferedListLink { table, columns, target, target_columns, left_out });
        Some(())
    }

    pub(super) fn has_link(&self, table: &Table, foreign_key: &ForeignKey, dialect: Dialect) -> bool {
        self.link(table, foreign_key, dialect).is_some_and(|link| !link.left_out)
    }

    pub(super) fn has_left_out_link(&self, table: &Table, foreign_key: &ForeignKey, dialect: Dialect) -> bool {
        self.link(table, foreign_key, dialect).is_some_and(|link| link.left_out)
    }

    fn link(&self, table: &Table, foreign_key: &ForeignKey, dialect: Dialect) -> Option<&OfferedListLink> {
        let (table, target) = (listed(&table.schema, &table.name, dialect), listed(&foreign_key.schema, &foreign_key.table, dialect));
        let equal = |left: &[String], right: &[String]| {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right, dialect))
        };
        self.links.iter().find(|link| {
            same(&link.table, &table, dialect)
                && same(&link.target, &target, dialect)
                && equal(&link.columns, &foreign_key.columns)
                && equal(&link.target_columns, &foreign_key.target_columns)
        })
    }

    pub(super) fn add_link(&mut self, table: &Table, foreign_key: &ForeignKey, offered: Offered, dialect: Dialect) {
        self.links.push(OfferedListLink {
            table: listed(&table.schema, &table.name, dialect),
            columns: foreign_key.columns.clone(),
            target: listed(&foreign_key.schema, &foreign_key.table, dialect),
            target_columns: foreign_key.target_columns.clone(),
            left_out: offered == Offered::No,
        });
    }

    pub(super) fn says_the_same(&self, other: &OfferedList) -> bool {
        let sorted = |known: &OfferedList| {
            let mut known = known.clone();
            known.tables.0.values_mut().chain(known.left_out.0.values_mut()).for_each(|columns| columns.sort());
            known.links.sort();
            known
        };
        sorted(self) == sorted(other)
    }

    pub(super) fn write(&self, text: &mut String) {
        // Writing to a string never fails.
        let _ = writeln!(text, "\n{}\n{}", HEADING[0], HEADING[1]);
        for (end, tables) in [("", &self.tables), (LEFT_OUT, &self.left_out)] {
            for (table, columns) in &tables.0 {
                write_columns(text, &format!("# introspected {}{end}:", name(table)), columns);
            }
        }
        for OfferedListLink { table, columns, target, target_columns, left_out } in &self.links {
            let end = if *left_out { LEFT_OUT } else { "" };
            let (table, target) = (name(table), name(target));
            let _ = writeln!(text, "# introspected {table} ({}) -> {target} ({}){end}", names(columns), names(target_columns));
        }
    }
}

impl OfferedColumns {
    fn of<'k>(&'k self, table: &Table, dialect: Dialect) -> impl Iterator<Item = &'k Vec<String>> {
        let name = listed(&table.schema, &table.name, dialect);
        self.0.iter().filter(move |(known, _)| same(known, &name, dialect)).map(|(_, columns)| columns)
    }

    pub(super) fn has(&self, table: &Table, dialect: Dialect) -> bool {
        self.of(table, dialect).next().is_some()
    }

    pub(super) fn has_column(&self, table: &Table, column: &str, dialect: Dialect) -> bool {
        self.of(table, dialect).flatten().any(|known| same(known, column, dialect))
    }

    pub(super) fn insert(&mut self, table: &Table, columns: Vec<String>, dialect: Dialect) {
        self.0.insert(listed(&table.schema, &table.name, dialect), columns);
    }
}

/// Writes columns in as many lines as needed, each with the same start.
fn write_columns(text: &mut String, start: &str, columns: &[String]) {
    let mut line = start.to_owned();
    for (place, column) in columns.iter().map(|column| name(column)).enumerate() {
        if place > 0 {
            line.push(',');
        }
        if line.chars().count() + column.chars().count() + 2 > WIDTH && line != start {
            let _ = writeln!(text, "{line}");
            start.clone_into(&mut line);
        }
        let _ = write!(line, " {column}");
    }
    let _ = writeln!(text, "{line}");
}

/// The name in the list. It is qualified, since the search path may change.
fn listed(schema: &str, table: &str, dialect: Dialect) -> String {
    if schema == usual_schema(dialect) && !table.contains('.') { table.to_owned() } else { format!("{schema}.{table}") }
}

fn relisted(name: String, dialect: Dialect) -> String {
    match name.split_once('.') {
        Some((schema, table)) => listed(schema, table, dialect),
        None => name,
    }
}

fn names(all: &[String]) -> String {
    all.iter().map(|one| name(one)).collect::<Vec<_>>().join(", ")
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '$')
}

fn name(name: &str) -> String {
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}

struct Reader<'t>(&'t str);

impl Reader<'_> {
    fn sign(&mut self, sign: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(sign)?;
        Some(())
    }

    fn end(&self) -> Option<()> {
        self.0.trim().is_empty().then_some(())
    }

    fn name(&mut self) -> Option<String> {
        let text = self.0.trim_start();
        let length = if text.starts_with('"') { closing_quote(text)? } else { text.find(|c| !is_plain(c)).unwrap_or(text.len()) };
        let (name, rest) = text.split_at(length);
        let name = if name.starts_with('"') { name.parse::<toml_edit::Value>().ok()?.as_str()?.to_owned() } else { name.to_owned() };
        // A quoted name may be empty, though no database has one.
        (length > 0).then(|| self.0 = rest)?;
        Some(name)
    }

    /// Names between commas; a deletion may leave surplus commas.
    fn names(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        loop {
            names.extend(self.name());
            if self.sign(",").is_none() {
                return names;
            }
        }
    }

    fn bracketed(&mut self) -> Option<Vec<String>> {
        self.sign("(")?;
        let names = self.names();
        self.sign(")")?;
        Some(names)
    }
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (place, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return Some(place + 1),
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}
