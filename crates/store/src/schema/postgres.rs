//! Reads PostgreSQL's system catalog. Every column is cast to a built-in type, so the driver looks up no types.

mod citus;
mod views;

use std::collections::HashMap;

use query::catalog::write_rules::ConstraintKind;
use tokio_postgres::{Client, Error, Row};

use super::{
    Changes, Collation, Column, Enumeration, ForeignKey, Index, IndexCondition, IndexText, Locale, NamedConstraint, OnDelete, OwnValue,
    Schema, Table,
};

/// A trigger of type 7 is BEFORE INSERT FOR EACH ROW.
const TABLES: &str = r"
    SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind IN ('v', 'm'),
           c.relispartition OR EXISTS (
               SELECT FROM pg_catalog.pg_depend d
               WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'),
           c.relkind <> 'p' AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid),
           NOT c.relispopulated, c.relkind = 'f', c.relkind IN ('v', 'm', 'f'), NOT pg_catalog.has_table_privilege(c.oid, 'DELETE'),
           (SELECT h.inhparent::int8 FROM pg_catalog.pg_inherits h WHERE h.inhrelid = c.oid AND c.relispartition), c.relkind = 'm',
           EXISTS (SELECT FROM pg_catalog.pg_trigger t
                   WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 7 = 7)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'peristyle')
    ORDER BY n.nspname, c.relname";

/// `NOT NULL` can be `NOT VALID` since PostgreSQL 18: older rows may hold nulls. A default may call a sequence, which needs a privilege of
/// its own.
const COLUMNS: &str = r"
    SELECT a.attrelid::int8, a.attname::text, a.atttypid::int8,
           NOT a.attnotnull OR EXISTS (
               SELECT FROM pg_catalog.pg_constraint k
               WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND NOT k.convalidated AND k.conkey = ARRAY[a.attnum]),
           NOT (pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE') AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')),
           a.attndims > 1, l.collnamespace::regnamespace::text || '.' || l.collname::text, coalesce(l.collisdeterministic, true),
           CASE WHEN a.attgenerated <> '' THEN 'g' WHEN a.attidentity = 'a' THEN 'a' WHEN a.attidentity = 'd' OR a.atthasdef THEN 'd'
                ELSE '' END,
           a.atttypmod, NOT pg_catalog.has_column_privilege(c.oid, a.attnum, 'INSERT'),
           NOT pg_catalog.has_column_privilege(c.oid, a.attnum, 'UPDATE'),
           CASE WHEN a.atthasdef AND a.attgenerated = '' THEN (
               SELECT q.relnamespace::regnamespace::text || '.' || q.relname::text FROM pg_catalog.pg_attrdef v
               JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = v.oid
                    AND d.refclassid = 'pg_catalog.pg_class'::regclass
               JOIN pg_catalog.pg_class q ON q.oid = d.refobjid
               WHERE v.adrelid = a.attrelid AND v.adnum = a.attnum
                 AND CASE WHEN q.relkind = 'S' THEN NOT pg_catalog.has_sequence_privilege(q.oid, 'USAGE, UPDATE') ELSE false END
               LIMIT 1) END,
           a.attnotnull,
           CASE WHEN a.attgenerated <> '' THEN (
               SELECT pg_catalog.pg_get_expr(v.adbin, v.adrelid) FROM pg_catalog.pg_attrdef v
               WHERE v.adrelid = a.attrelid AND v.adnum = a.attnum) END
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation AND l.collname <> 'default'
    WHERE a.attnum > 0 AND NOT a.attisdropped
      AND c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'peristyle')
    ORDER BY a.attrelid, a.attnum";

/// The types of those columns, with the base types of their domains and arrays. A true array has no fixed length, unlike `point` and `name`.
const TYPES: &str = r"
    WITH RECURSIVE used(oid) AS (
        SELECT a.atttypid FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE a.attnum > 0 AND NOT a.attisdropped
          AND c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'peristyle')
        UNION
        SELECT part.oid FROM used JOIN pg_catalog.pg_type t ON t.oid = used.oid
        CROSS JOIN LATERAL (VALUES (t.typbasetype), (t.typelem)) AS part(oid) WHERE part.oid <> 0
    )
    SELECT t.oid::int8, n.nspname::text, t.typname::text, t.typbasetype::int8,
           CASE WHEN t.typlen = -1 AND t.typtype = 'b' THEN t.typelem ELSE 0 END::int8, t.typnotnull,
           CASE WHEN t.typtype = 'e' THEN ARRAY(
               SELECT e.enumlabel::text FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder) END,
           t.typndims > 1, NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE'), t.typtypmod, t.typdefault IS NOT NULL
    FROM used JOIN pg_catalog.pg_type t ON t.oid = used.oid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace";

/// An expression in an index has no column name. The columns that it uses are among those that the index depends on.
const INDEXES: &str = r"
    SELECT i.indrelid::int8, i.indisprimary, i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL,
           m.amname IN ('btree', 'hash'),
           ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place)
                 LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number AND k.number > 0
                 WHERE k.place <= i.indnkeyatts ORDER BY k.place),
           pg_catalog.pg_get_expr(i.indexprs, i.indrelid), c.relname::text, i.indisunique, i.indisexclusion,
           CASE WHEN i.indexprs IS NOT NULL THEN ARRAY(
               SELECT DISTINCT a.attname::text FROM pg_catalog.pg_depend d
               JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
               WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = i.indexrelid AND d.refobjid = i.indrelid) END,
           pg_catalog.pg_get_expr(i.indpred, i.indrelid),
           CASE WHEN i.indisunique AND (i.indpred IS NOT NULL OR i.indexprs IS NOT NULL) THEN ARRAY(
               SELECT pg_catalog.pg_get_indexdef(i.indexrelid, place, false)
               FROM pg_catalog.generate_series(1, i.indnkeyatts::int) AS place ORDER BY place) END
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_am m ON m.oid = c.relam
    WHERE i.indisvalid ORDER BY i.indrelid, c.relname";

/// Copies for partitions have a parent. Periods came with PostgreSQL 18, so they are read through JSON.
const FOREIGN_KEYS: &str = r"
    SELECT f.conrelid::int8, n.nspname::text, c.relname::text,
           ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(f.conkey) WITH ORDINALITY AS k(number, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.number ORDER BY k.place),
           ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(f.confkey) WITH ORDINALITY AS k(number, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.number ORDER BY k.place),
           coalesce(pg_catalog.to_jsonb(f) ->> 'conperiod', 'false') = 'true', f.confdeltype::text
    FROM pg_catalog.pg_constraint f JOIN pg_catalog.pg_class c ON c.oid = f.confrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE f.contype = 'f' AND f.conparentid = 0 ORDER BY f.conrelid, f.conkey, f.conname";

/// Checks and foreign keys, and the checks of domains at each column.
const CONSTRAINTS: &str = r"
    SELECT k.conrelid::int8, k.conname::text, k.contype = 'f',
           ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(k.conkey) WITH ORDINALITY AS p(number, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = p.number ORDER BY p.place),
           k.confrelid::int8
    FROM pg_catalog.pg_constraint k WHERE k.contype IN ('c', 'f') AND k.conrelid <> 0
    UNION ALL
    SELECT a.attrelid::int8, k.conname::text, false, ARRAY[a.attname::text], 0::int8
    FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_attribute a ON a.atttypid = k.contypid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE k.contype = 'c' AND k.contypid <> 0
    ORDER BY 1, 2";

/// Read through JSON, since the provider's columns came with PostgreSQL 15 and 17.
const LOCALE: &str = r"
    SELECT pg_catalog.pg_encoding_to_char(d.encoding)::text, d.datctype::text,
           coalesce(pg_catalog.to_jsonb(d) ->> 'datlocprovider', 'c'),
           coalesce(pg_catalog.to_jsonb(d) ->> 'datlocale', pg_catalog.to_jsonb(d) ->> 'daticulocale'),
           pg_catalog.current_schemas(false)::text[]
    FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()";

pub async fn read_postgres(client: &Client) -> Result<Schema, Error> {
    let mut schema = Schema::default();
    let mut places = HashMap::new();
    let mut partitions = Vec::new();
    for row in rows(client, TABLES).await? {
        let place = schema.tables.len();
        places.insert(row.try_get::<_, i64>(0)?, place);
        partitions.extend(row.try_get::<_, Option<i64>>(10)?.map(|parent| (place, parent)));
        schema.tables.push(Table {
            schema: row.try_get(1)?,
            name: row.try_get(2)?,
            is_view: row.try_get(3)?,
            is_partition_or_extension: row.try_get(4)?,
            has_child_tables: row.try_get(5)?,
            is_unfilled: row.try_get(6)?,
            is_foreign_table: row.try_get(7)?,
            impossible: if row.try_get(8)? { Changes::ALL } else { Changes::default() },
            delete_forbidden: row.try_get(9)?,
            is_materialized: row.try_get(11)?,
            fills_new_rows: row.try_get(12)?,
            ..Table::default()
        });
    }
    let types = types(client).await?;
    let mut generated: Vec<(usize, String, String)> = Vec::new();
    for row in rows(client, COLUMNS).await? {
        if let Some(place) = places.get(&row.try_get(0)?) {
            let mut column = column(&row)?;
            describe(&mut column, &types, row.try_get(2)?, row.try_get(9)?);
            if let Some(expression) = row.try_get(14)? {
                generated.push((*place, column.name.clone(), expression));
            }
            schema.tables[*place].columns.push(column);
        }
    }
    for (place, name, expression) in generated {
        let columns = &mut schema.tables[place].columns;
        let sources = columns.iter().map(|column| column.name.clone()).filter(|other| *other != name && has_word(&expression, other));
        let sources: Vec<String> = sources.collect();
        if let Some(column) = columns.iter_mut().find(|column| column.name == name) {
            column.generated_from = sources;
        }
    }
    for row in rows(client, INDEXES).await? {
        if let Some(place) = places.get(&row.try_get(0)?) {
            index(&mut schema.tables[*place], &row)?;
        }
    }
    for row in rows(client, FOREIGN_KEYS).await? {
        if let Some(place) = places.get(&row.try_get(0)?) {
            let on_delete = match row.try_get::<_, &str>(6)? {
                "c" => OnDelete::Delete,
                "n" | "d" => OnDelete::Change,
                _ => OnDelete::Refuse,
            };
            let (columns, target_columns) = (row.try_get(3)?, row.try_get(4)?);
            let foreign_key = ForeignKey { schema: row.try_get(1)?, table: row.try_get(2)?, columns, target_columns, on_delete };
            let table = &mut schema.tables[*place];
            if row.try_get(5)? {
                table
                    .foreign_keys_without_relation
                    .push((foreign_key, "it joins periods that overlap, and a relation joins equal values".to_owned()));
            } else {
                table.foreign_keys.push(foreign_key);
            }
        }
    }
    for row in rows(client, CONSTRAINTS).await? {
        if let Some(place) = places.get(&row.try_get(0)?) {
            let kind = if row.try_get(2)? { ConstraintKind::ForeignKey } else { ConstraintKind::Check };
            schema.tables[*place].constraints.push(NamedConstraint::new(row.try_get(1)?, kind, row.try_get(3)?));
            if let Some(target) = places.get(&row.try_get(4)?) {
                schema.tables[*target].referring.push(row.try_get(1)?);
            }
        }
    }
    let partitions: Vec<(usize, usize)> =
        partitions.into_iter().filter_map(|(place, parent)| Some((place, *places.get(&parent)?))).collect();
    constraints_of_partitions(&mut schema, &partitions);
    if schema.tables.iter().any(|table| table.impossible != Changes::default()) {
        views::read(client, &mut schema, &places).await?;
    }
    citus::placements(client, &mut schema, &places).await?;
    for row in rows(client, LOCALE).await? {
        schema.locale =
            Some(Locale { encoding: row.try_get(0)?, ctype: row.try_get(1)?, provider: row.try_get(2)?, provider_locale: row.try_get(3)? });
        schema.search_path = row.try_get(4)?;
    }
    Ok(schema)
}

fn column(row: &Row) -> Result<Column, Error> {
    let (name, deterministic): (Option<String>, bool) = (row.try_get(6)?, row.try_get(7)?);
    Ok(Column {
        name: row.try_get(1)?,
        nullable: row.try_get(3)?,
        forbidden: row.try_get(4)?,
        nested: row.try_get(5)?,
        collation: name.map(|name| Collation { name, deterministic }),
        own_value: match row.try_get::<_, &str>(8)? {
            "g" => OwnValue::Generated,
            "a" => OwnValue::Identity,
            "d" => OwnValue::Default,
            _ => OwnValue::None,
        },
        insert_forbidden: row.try_get(10)?,
        update_forbidden: row.try_get(11)?,
        forbidden_sequence: row.try_get(12)?,
        required: row.try_get(13)?,
        ..Column::default()
    })
}

/// An error names the constraint of the partition that holds the row.
fn constraints_of_partitions(schema: &mut Schema, partitions: &[(usize, usize)]) {
    for (partition, parent) in partitions {
        let Table { constraints, referring, .. } = schema.tables[*partition].clone();
        let (mut parent, mut levels) = (Some(*parent), partitions.len());
        while let Some(place) = parent.filter(|_| levels > 0) {
            let known = &mut schema.tables[place].constraints;
            // An index of a partition says nothing of the other rows.
            let copies = constraints.iter().map(|constraint| NamedConstraint { index: None, ..constraint.clone() });
            known.extend(copies.filter(|constraint| !known.contains(constraint)).collect::<Vec<_>>());
            schema.tables[place].referring.extend(referring.clone());
            parent = partitions.iter().find(|(partition, _)| *partition == place).map(|(_, parent)| *parent);
            levels -= 1;
        }
    }
}

/// Without a named statement, so that it works behind every pooler.
async fn rows(client: &Client, sql: &str) -> Result<Vec<Row>, Error> {
    client.query_typed(sql, &[]).await
}

#[expect(clippy::struct_excessive_bools, reason = "facts of the database that do not depend on each other")]
struct NativeType {
    schema: String,
    name: String,
    base: i64,
    element: i64,
    not_null: bool,
    labels: Option<Vec<String>>,
    nested: bool,
    schema_forbidden: bool,
    modifier: i32,
    has_default: bool,
}

async fn types(client: &Client) -> Result<HashMap<i64, NativeType>, Error> {
    let mut types = HashMap::new();
    for row in rows(client, TYPES).await? {
        let native = NativeType {
            schema: row.try_get(1)?,
            name: row.try_get(2)?,
            base: row.try_get(3)?,
            element: row.try_get(4)?,
            not_null: row.try_get(5)?,
            labels: row.try_get(6)?,
            nested: row.try_get(7)?,
            schema_forbidden: row.try_get(8)?,
            modifier: row.try_get(9)?,
            has_default: row.try_get(10)?,
        };
        types.insert(row.try_get(0)?, native);
    }
    Ok(types)
}

/// What the modifiers of `varchar(n)` and `numeric(p, s)` have beside their numbers.
const LENGTH_OFFSET: i32 = 4;

fn describe(column: &mut Column, types: &HashMap<i64, NativeType>, mut oid: i64, mut modifier: i32) {
    while let Some(native) = types.get(&oid) {
        if native.base != 0 {
            column.domain = true;
            column.nested |= native.nested;
            // A domain of the elements does not make the array nullable.
            let is_required = native.not_null && !column.array;
            column.nullable &= !is_required;
            column.required |= is_required;
            if native.has_default && !column.array && column.own_value == OwnValue::None {
                column.own_value = OwnValue::Default;
            }
            modifier = modifier.max(native.modifier);
            oid = native.base;
        } else if native.element != 0 && !column.array {
            column.array = true;
            // Operators see the array, so only a domain of the elements matters.
            column.domain = false;
            oid = native.element;
        } else {
            column.native_schema.clone_from(&native.schema);
            column.schema_forbidden = native.schema_forbidden;
            // An array of a domain over arrays: a manifest cannot express it.
            column.native = match native.schema.as_str() {
                "pg_catalog" => native.name.clone(),
                _ if native.name == "citext" && native.labels.is_none() => native.name.clone(),
                schema => format!("{schema}.{}", native.name),
            };
            match column.native.as_str() {
                "varchar" | "bpchar" => column.max_length = u32::try_from(modifier - LENGTH_OFFSET).ok(),
                "numeric" => column.digits = digits(modifier),
                _ => {}
            }
            column.enumeration =
                native.labels.clone().map(|labels| Enumeration { schema: native.schema.clone(), name: native.name.clone(), labels });
            return;
        }
    }
}

/// The digits of a `numeric(p, s)` before the point and after it. The scale is signed since PostgreSQL 15.
fn digits(modifier: i32) -> Option<(i32, i32)> {
    let packed = Some(modifier - LENGTH_OFFSET).filter(|packed| *packed >= 0)?;
    let (precision, scale) = (packed >> 16 & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024);
    Some((precision - scale, scale))
}

fn index(table: &mut Table, row: &Row) -> Result<(), Error> {
    let (primary, unique, finds_equal): (bool, bool, bool) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    let columns: Vec<Option<String>> = row.try_get(4)?;
    let expressions: Option<String> = row.try_get(5)?;
    let kind = match (row.try_get(7)?, row.try_get(8)?) {
        (_, true) => Some(ConstraintKind::Exclusion),
        (true, false) => Some(ConstraintKind::Unique),
        (false, false) => None,
    };
    let predicate: Option<String> = row.try_get(10)?;
    if let Some(kind) = kind {
        let used: Option<Vec<String>> = row.try_get(9)?;
        let mut all: Vec<String> = columns.iter().flatten().cloned().collect();
        // A partial index depends on the columns of its condition too.
        let is_in_key = |column: &String| !all.contains(column) && expressions.as_ref().is_some_and(|text| has_word(text, column));
        let more: Vec<String> = used.into_iter().flatten().filter(is_in_key).collect();
        all.extend(more);
        let is_in_condition = |column: &&Column| predicate.as_ref().is_some_and(|text| has_word(text, &column.name));
        let condition = table.columns.iter().filter(is_in_condition).map(|column| column.name.clone()).collect();
        let parts: Option<Vec<String>> = row.try_get(11)?;
        let text = parts.map(|parts| IndexText { parts, collations: Vec::new(), condition: predicate.clone() });
        let index = text.filter(|_| kind == ConstraintKind::Unique && !table.has_child_tables);
        table.constraints.push(NamedConstraint { condition, index, ..NamedConstraint::new(row.try_get(6)?, kind, all) });
    }
    let leading: Vec<String> = columns.into_iter().map_while(|column| column).collect();
    // An index does not cover rows of inheriting tables.
    if primary && !table.has_child_tables {
        table.primary_key.clone_from(&leading);
    } else if unique && !primary && !table.has_child_tables {
        table.unique_keys.push(leading.clone());
    }
    if finds_equal && !leading.is_empty() {
        table.indexes.push(Index { columns: leading, condition: IndexCondition::of(predicate.as_deref()) });
    }
    Ok(())
}

/// Whether an expression contains the name of a column.
fn has_word(expression: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let is_whole =
        |(start, found): (usize, &str)| !expression[..start].ends_with(is_part) && !expression[start + found.len()..].starts_with(is_part);
    !name.is_empty() && expression.match_indices(name).any(is_whole)
}
