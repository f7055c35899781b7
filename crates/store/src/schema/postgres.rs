//! Reads PostgreSQL's system catalog. Every column is cast to a built-in type, so the driver looks up no types.

use std::collections::HashMap;

use tokio_postgres::{Client, Error, Row};

use super::{Collation, Column, Enumeration, ForeignKey, Locale, Schema, Table};

const TABLES: &str = r"
    SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind IN ('v', 'm'),
           c.relispartition OR EXISTS (
               SELECT FROM pg_catalog.pg_depend d
               WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'),
           c.relkind <> 'p' AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid),
           NOT c.relispopulated
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'peristyle')
    ORDER BY n.nspname, c.relname";

/// `NOT NULL` can be `NOT VALID` since PostgreSQL 18: older rows may hold nulls.
const COLUMNS: &str = r"
    SELECT a.attrelid::int8, a.attname::text, a.atttypid::int8,
           NOT a.attnotnull OR EXISTS (
               SELECT FROM pg_catalog.pg_constraint k
               WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND NOT k.convalidated AND k.conkey = ARRAY[a.attnum]),
           NOT (pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE') AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')),
           a.attndims > 1, l.collnamespace::regnamespace::text || '.' || l.collname::text, coalesce(l.collisdeterministic, true)
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
           t.typndims > 1, NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    FROM used JOIN pg_catalog.pg_type t ON t.oid = used.oid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace";

/// An expression in an index has no column name.
const INDEXES: &str = r"
    SELECT i.indrelid::int8, i.indisprimary, i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL,
           m.amname IN ('btree', 'hash'),
           ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place)
                 LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number AND k.number > 0
                 WHERE k.place <= i.indnkeyatts ORDER BY k.place),
           pg_catalog.pg_get_expr(i.indexprs, i.indrelid)
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_am m ON m.oid = c.relam
    WHERE i.indisvalid ORDER BY i.indrelid, c.relname";

/// Copies for partitions have a parent. Periods came with PostgreSQL 18, so they are read through JSON.
const FOREIGN_KEYS: &str = r"
    SELECT f.conrelid::int8, n.nspname::text, c.relname::text,
           ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(f.conkey) WITH ORDINALITY AS k(number, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.number ORDER BY k.place),
           ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(f.confkey) WITH ORDINALITY AS k(number, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.number ORDER BY k.place),
           coalesce(pg_catalog.to_jsonb(f) ->> 'conperiod', 'false') = 'true'
    FROM pg_catalog.pg_constraint f JOIN pg_catalog.pg_class c ON c.oid = f.confrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE f.contype = 'f' AND f.conparentid = 0 ORDER BY f.conrelid, f.conkey, f.conname";

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
    for row in rows(client, TABLES).await? {
        places.insert(row.try_get::<_, i64>(0)?, schema.tables.len());
        schema.tables.push(Table {
            schema: row.try_get(1)?,
            name: row.try_get(2)?,
            is_view: row.try_get(3)?,
            incidental: row.try_get(4)?,
            has_heirs: row.try_get(5)?,
            is_unfilled: row.try_get(6)?,
            ..Table::default()
        });
    }
    let types = types(client).await?;
    for row in rows(client, COLUMNS).await? {
        if let Some(place) = places.get(&row.try_get(0)?) {
            let mut column = column(&row)?;
            describe(&mut column, &types, row.try_get(2)?);
            schema.tables[*place].columns.push(column);
        }
    }
    for row in rows(client, INDEXES).await? {
        if let Some(place) = places.get(&row.try_get(0)?) {
            index(&mut schema.tables[*place], &row)?;
        }
    }
    for row in rows(client, FOREIGN_KEYS).await? {
        if let Some(place) = places.get(&row.try_get(0)?) {
            let foreign_key =
                ForeignKey { schema: row.try_get(1)?, table: row.try_get(2)?, columns: row.try_get(3)?, target_columns: row.try_get(4)? };
            let table = &mut schema.tables[*place];
            if row.try_get(5)? {
                table.broken_keys.push((foreign_key, "it joins periods that overlap, and a relation joins equal values".to_owned()));
            } else {
                table.foreign_keys.push(foreign_key);
            }
        }
    }
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
        ..Column::default()
    })
}

/// Without a named statement, so that it works behind every pooler.
async fn rows(client: &Client, sql: &str) -> Result<Vec<Row>, Error> {
    client.query_typed(sql, &[]).await
}

struct NativeType {
    schema: String,
    name: String,
    base: i64,
    element: i64,
    not_null: bool,
    labels: Option<Vec<String>>,
    nested: bool,
    unnameable: bool,
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
            unnameable: row.try_get(8)?,
        };
        types.insert(row.try_get(0)?, native);
    }
    Ok(types)
}

fn describe(column: &mut Column, types: &HashMap<i64, NativeType>, mut oid: i64) {
    while let Some(native) = types.get(&oid) {
        if native.base != 0 {
            column.domain = true;
            column.nested |= native.nested;
            // A domain of the elements does not make the array nullable.
            column.nullable &= column.array || !native.not_null;
            oid = native.base;
        } else if native.element != 0 && !column.array {
            column.array = true;
            // Operators see the array, so only a domain of the elements matters.
            column.domain = false;
            oid = native.element;
        } else {
            column.native_schema.clone_from(&native.schema);
            column.unnameable = native.unnameable;
            // An array of a domain over arrays: a manifest cannot express it.
            column.native = match native.schema.as_str() {
                "pg_catalog" => native.name.clone(),
                _ if native.name == "citext" && native.labels.is_none() => native.name.clone(),
                schema => format!("{schema}.{}", native.name),
            };
            column.enumeration =
                native.labels.clone().map(|labels| Enumeration { schema: native.schema.clone(), name: native.name.clone(), labels });
            return;
        }
    }
}

fn index(table: &mut Table, row: &Row) -> Result<(), Error> {
    let (primary, unique, finds_equal): (bool, bool, bool) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    let columns: Vec<Option<String>> = row.try_get(4)?;
    let leading: Vec<String> = columns.into_iter().map_while(|column| column).collect();
    table.expressions.extend(row.try_get::<_, Option<String>>(5)?);
    // An index does not cover rows of inheriting tables.
    if primary && !table.has_heirs {
        table.primary_key.clone_from(&leading);
    } else if unique && !primary && !table.has_heirs {
        table.unique_keys.push(leading.clone());
    }
    if finds_equal && !leading.is_empty() {
        table.indexes.push(leading);
    }
    Ok(())
}
