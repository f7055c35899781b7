//! Reads SQLite's schema table and pragmas. Names get the spelling of their declaration.

use std::collections::HashMap;

use query::catalog::write_rules::ConstraintKind;
use query::sql::Dialect;
use rusqlite::{Connection, OptionalExtension, Result};

use super::check_clauses::{
    CheckClause, check_clauses, decides_conflicts, generated_columns, index_condition, index_expressions, index_words,
};
use super::{
    BrokenForeignKey, Changes, Column, ForeignKey, Index, IndexCondition, IndexText, NamedConstraint, OnDelete, OwnValue, Schema, Table,
};

struct Kind {
    name: String,
    without_rowid: bool,
    strict: bool,
    is_view: bool,
}

pub fn read_sqlite(connection: &Connection) -> Result<Schema> {
    let kinds = kinds(connection)?;
    let mut statement = connection.prepare("SELECT name, sql FROM main.sqlite_schema WHERE type IN ('table', 'view') ORDER BY rowid")?;
    let found = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?)))?;
    let found = found.collect::<Result<Vec<_>>>()?;
    let mut schema = Schema::default();
    for (name, sql) in found {
        let lower = name.to_ascii_lowercase();
        if lower.starts_with("sqlite_") || lower.starts_with("peristyle_") {
            continue;
        }
        // A table that is not in the list is a shadow table of a virtual one.
        let Some(kind) = kinds.get(&name) else { continue };
        let mut table = table(connection, kind)?;
        if let Some(sql) = sql.filter(|_| !kind.is_view) {
            table.constraints.extend(checks(&sql, &table));
            table.decides_conflicts = decides_conflicts(&sql);
            note_sources(&mut table, &sql);
        }
        schema.tables.push(table);
    }
    complete_foreign_keys(&mut schema);
    Ok(schema)
}

fn kinds(connection: &Connection) -> Result<HashMap<String, Kind>> {
    let mut statement = connection.prepare("PRAGMA main.table_list")?;
    let mut rows = statement.query([])?;
    let mut kinds = HashMap::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get("type")?;
        if kind != "shadow" {
            let name: String = row.get("name")?;
            let is_view = kind == "view";
            kinds.insert(name.clone(), Kind { name, without_rowid: row.get("wr")?, strict: row.get("strict")?, is_view });
        }
    }
    Ok(kinds)
}

fn table(connection: &Connection, kind: &Kind) -> Result<Table> {
    let mut table = Table { schema: "main".to_owned(), name: kind.name.clone(), is_view: kind.is_view, ..Table::default() };
    if kind.is_view {
        table.impossible = Changes::ALL;
    }
    let mut key: Vec<(i64, String)> = Vec::new();
    let columns = match columns(connection, kind) {
        Ok(columns) => columns,
        Err(error) => {
            table.unreadable = Some(error.to_string());
            return Ok(table);
        }
    };
    for (mut column, place, hidden) in columns {
        column.is_strict = kind.strict;
        if place > 0 {
            key.push((place, column.name.clone()));
        }
        if matches!(hidden, 2 | 3) {
            column.own_value = OwnValue::Generated;
        }
        // 1 is a virtual table's argument; 2 and 3 are generated columns.
        if hidden != 1 {
            table.columns.push(column);
        }
    }
    key.sort_unstable();
    table.primary_key = key.into_iter().map(|(_, name)| name).collect();
    let key_has_index = indexes(connection, &mut table)?;
    not_null_keys(&mut table, kind, key_has_index);
    foreign_keys(connection, &mut table)?;
    Ok(table)
}

/// The columns, each with its position in the primary key and its `hidden` flag.
fn columns(connection: &Connection, kind: &Kind) -> Result<Vec<(Column, i64, i64)>> {
    let mut statement =
        connection.prepare("SELECT name, type, \"notnull\", pk, hidden, dflt_value FROM pragma_table_xinfo(?1, 'main') ORDER BY cid")?;
    let columns = statement.query_map([&kind.name], |row| {
        let native = row.get::<_, Option<String>>(1)?.unwrap_or_default();
        let default = row.get::<_, Option<String>>(5)?.unwrap_or_default();
        let has_default = !default.is_empty() && !default.eq_ignore_ascii_case("NULL");
        let column = Column {
            name: row.get(0)?,
            unknown_type: kind.is_view && native.is_empty(),
            max_length: max_length(&native),
            native,
            nullable: !row.get::<_, bool>(2)?,
            required: row.get(2)?,
            own_value: if has_default { OwnValue::Default } else { OwnValue::None },
            default,
            ..Column::default()
        };
        Ok((column, row.get(3)?, row.get(4)?))
    })?;
    columns.collect()
}

/// The length of `VARCHAR(80)`, which SQLite does not enforce. `VARCHAR(0)` would fit no text.
fn max_length(declared: &str) -> Option<u32> {
    let (word, rest) = declared.split_once('(')?;
    let is_text = word.to_ascii_uppercase().contains("CHAR");
    rest.trim_end().strip_suffix(')')?.trim().parse().ok().filter(|length| is_text && *length > 0)
}

/// Notes what generated columns are computed from.
fn note_sources(table: &mut Table, sql: &str) {
    for (name, words) in generated_columns(sql) {
        let is_source = |column: &&Column| words.iter().any(|word| word.eq_ignore_ascii_case(&column.name));
        let sources: Vec<String> = table.columns.iter().filter(is_source).map(|column| column.name.clone()).collect();
        let generated = |column: &&mut Column| column.name.eq_ignore_ascii_case(&name) && column.own_value == OwnValue::Generated;
        table.columns.iter_mut().filter(generated).for_each(|column| column.generated_from.clone_from(&sources));
    }
}

/// The checks of a table, each with the columns that it names.
fn checks(sql: &str, table: &Table) -> Vec<NamedConstraint> {
    let constraint = |clause: CheckClause| {
        let is_named = |column: &&Column| clause.words.iter().any(|word| word.eq_ignore_ascii_case(&column.name));
        let columns = table.columns.iter().filter(is_named).map(|column| column.name.clone()).collect();
        NamedConstraint::new(clause.name, ConstraintKind::Check, columns)
    };
    check_clauses(sql).into_iter().map(constraint).collect()
}

/// Reads the indexes; returns whether the primary key has one of its own.
fn indexes(connection: &Connection, table: &mut Table) -> Result<bool> {
    let mut key_has_index = false;
    let mut list = connection.prepare("SELECT name, \"unique\", origin, partial FROM pragma_index_list(?1, 'main') ORDER BY seq DESC")?;
    let found = list.query_map([&table.name], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?, row.get::<_, String>(2)?, row.get::<_, bool>(3)?))
    })?;
    for index in found.collect::<Result<Vec<_>>>()? {
        let (name, unique, origin, partial) = index;
        // The index of a key has no statement.
        let sql: Option<String> = connection
            .query_row("SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND name = ?1", [&name], |row| row.get(0))
            .optional()?
            .flatten();
        let mut parts = connection.prepare("SELECT name FROM pragma_index_xinfo(?1, 'main') WHERE key ORDER BY seqno")?;
        let parts = parts.query_map([&name], |row| row.get::<_, Option<String>>(0))?.collect::<Result<Vec<_>>>()?;
        if unique {
            let constraint = unique_constraint(connection, (&name, sql.as_deref().unwrap_or_default()), &parts, table)?;
            table.constraints.push(constraint);
        }
        let whole = !partial && parts.iter().all(Option::is_some);
        let leading: Vec<String> = parts.into_iter().map_while(|part| part).collect();
        if origin == "pk" {
            key_has_index = true;
        } else if unique && whole {
            table.unique_keys.push(leading.clone());
        }
        if !leading.is_empty() {
            let condition = sql.as_deref().filter(|_| partial).and_then(index_condition);
            table.indexes.push(Index { columns: leading, condition: IndexCondition::of(condition) });
        }
    }
    Ok(key_has_index)
}

/// The constraint of a unique index, with the columns that its expressions and its condition name.
fn unique_constraint(
    connection: &Connection,
    (name, sql): (&str, &str),
    parts: &[Option<String>],
    table: &Table,
) -> Result<NamedConstraint> {
    let words = index_words(sql);
    let named = |words: &[String]| -> Vec<String> {
        let is_named = |column: &&Column| words.iter().any(|word| word.eq_ignore_ascii_case(&column.name));
        table.columns.iter().filter(is_named).map(|column| column.name.clone()).collect()
    };
    let mut columns: Vec<String> = parts.iter().flatten().cloned().collect();
    if columns.len() < parts.len() {
        let more = named(&words.key).into_iter().filter(|column| !columns.contains(column)).collect::<Vec<_>>();
        columns.extend(more);
    }
    let condition = named(&words.condition);
    let is_whole = words.condition.is_empty() && parts.iter().all(Option::is_some);
    let mut collations = connection.prepare("SELECT coll FROM pragma_index_xinfo(?1, 'main') WHERE key ORDER BY seqno")?;
    let collations = collations.query_map([name], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>>>()?;
    let index = index_expressions(sql).filter(|_| !is_whole);
    let index = index.map(|(parts, condition)| IndexText { parts, collations, condition });
    Ok(NamedConstraint { condition, index, ..NamedConstraint::new(name.to_owned(), ConstraintKind::Unique, columns) })
}

/// A primary key may hold NULL in SQLite, unless it is the rowid or the table says otherwise.
fn not_null_keys(table: &mut Table, kind: &Kind, key_has_index: bool) {
    let is_rowid = !kind.without_rowid && !key_has_index && table.primary_key.len() == 1;
    if is_rowid {
        let columns = table.primary_key.clone();
        table.indexes.push(Index { columns: columns.clone(), condition: IndexCondition::All });
        for column in table.columns.iter_mut().filter(|column| columns.contains(&column.name)) {
            column.own_value = OwnValue::Default;
        }
        table.constraints.insert(0, NamedConstraint::new(String::new(), ConstraintKind::Unique, columns));
    }
    if is_rowid || kind.without_rowid || kind.strict {
        let Table { columns, primary_key, .. } = table;
        for column in columns.iter_mut().filter(|column| primary_key.contains(&column.name)) {
            column.nullable = false;
            column.required = true;
        }
    }
}

fn foreign_keys(connection: &Connection, table: &mut Table) -> Result<()> {
    let mut statement = connection
        .prepare("SELECT id, \"table\", \"from\", \"to\", on_delete FROM pragma_foreign_key_list(?1, 'main') ORDER BY id DESC, seq")?;
    let mut rows = statement.query([&table.name])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        if last != Some(id) {
            last = Some(id);
            let on_delete = match row.get::<_, String>(4)?.as_str() {
                "CASCADE" => OnDelete::Delete,
                "SET NULL" | "SET DEFAULT" => OnDelete::Change,
                _ => OnDelete::Refuse,
            };
            let (schema, target) = ("main".to_owned(), row.get(1)?);
            table.foreign_keys.push(ForeignKey { columns: Vec::new(), schema, table: target, target_columns: Vec::new(), on_delete });
        }
        if let Some(foreign_key) = table.foreign_keys.last_mut() {
            foreign_key.columns.push(row.get(2)?);
            // No columns mean the primary key.
            foreign_key.target_columns.extend(row.get::<_, Option<String>>(3)?);
        }
    }
    Ok(())
}

/// Corrects the spelling in foreign keys, fills in implied primary keys, and sets those without a target apart.
fn complete_foreign_keys(schema: &mut Schema) {
    let known = schema.clone();
    let (mut targets, mut broken_foreign_keys) = (Vec::new(), Vec::new());
    for table in &mut schema.tables {
        let Some(own) = known.find(None, &table.name, Dialect::Sqlite) else { continue };
        for mut foreign_key in std::mem::take(&mut table.foreign_keys) {
            let result = complete(&mut foreign_key, own, &known);
            let columns = foreign_key.columns.clone();
            targets.push(foreign_key.table.clone());
            if let Err(reason) = result {
                let reason_of = format!("the foreign key ({}) of {}: {reason}", columns.join(", "), own.name);
                table.broken_foreign_keys.push(BrokenForeignKey { columns, reason: reason_of.clone() });
                broken_foreign_keys
                    .push((foreign_key.table.clone(), BrokenForeignKey { columns: foreign_key.target_columns.clone(), reason: reason_of }));
                table.foreign_keys_without_relation.push((foreign_key, reason));
                continue;
            }
            table.constraints.push(NamedConstraint::new(String::new(), ConstraintKind::ForeignKey, columns));
            table.foreign_keys.push(foreign_key);
        }
    }
    let named = |tables: &[Table], name: &str| tables.iter().position(|table| table.name.eq_ignore_ascii_case(name));
    for name in targets {
        if let Some(place) = named(&schema.tables, &name) {
            schema.tables[place].referring.push(String::new());
        }
    }
    for (name, broken) in broken_foreign_keys {
        let Some(place) = named(&schema.tables, &name) else { continue };
        let known = &mut schema.tables[place].broken_foreign_keys;
        // A table may refer to itself.
        match known.iter_mut().find(|known| known.reason == broken.reason) {
            Some(known) => known.columns.extend(broken.columns),
            None => known.push(broken),
        }
    }
}

fn complete(foreign_key: &mut ForeignKey, own: &Table, known: &Schema) -> std::result::Result<(), String> {
    let Some(target) = known.find(None, &foreign_key.table, Dialect::Sqlite) else {
        return Err(format!("there is no table {}", foreign_key.table));
    };
    foreign_key.table.clone_from(&target.name);
    if foreign_key.target_columns.is_empty() {
        foreign_key.target_columns.clone_from(&target.primary_key);
    }
    match (foreign_key.columns.len(), foreign_key.target_columns.len()) {
        (_, 0) => return Err(format!("{} has no primary key", target.name)),
        (columns, others) if columns != others => return Err(format!("it connects {columns} column(s) with {others}")),
        _ => {}
    }
    spell(own, &mut foreign_key.columns)?;
    spell(target, &mut foreign_key.target_columns)?;
    let columns: Vec<&str> = foreign_key.target_columns.iter().map(String::as_str).collect();
    if target.has_unique_key(&columns, Dialect::Sqlite) {
        return Ok(());
    }
    Err(format!("({}) is no unique key of {}", columns.join(", "), target.name))
}

fn spell(table: &Table, names: &mut [String]) -> std::result::Result<(), String> {
    for name in names {
        let Some(column) = table.column(name, Dialect::Sqlite) else { return Err(format!("{} has no column {name}", table.name)) };
        name.clone_from(&column.name);
    }
    Ok(())
}
