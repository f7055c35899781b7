//! Reads what views and foreign tables take: which changes, values for which columns, and whether their rows can be locked.

use std::collections::HashMap;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use crate::schema::{Changes, NamedConstraint, OwnValue, Schema, Table};

use super::rows;

/// The changes as bits; the columns of a view that no statement can write; whether a trigger or a rule takes the place of changes; and the
/// columns of the table behind a view that a new row needs, and that the view lacks; the table behind a simple view. A trigger or a rule decides itself what it writes.
/// PostgreSQL asks the handler of a foreign table, if there is one.
const UPDATABLE: &str = r"
    SELECT c.oid::int8, pg_catalog.pg_relation_is_updatable(c.oid, true),
           ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind = 'v' AND NOT i.has_instead
                   AND NOT pg_catalog.pg_column_is_updatable(c.oid, a.attnum, true)),
           i.has_instead,
           ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a
                 WHERE c.relkind = 'v' AND NOT i.has_instead AND cardinality(b.tables) = 1 AND a.attrelid = b.tables[1]
                   AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
                   AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = a.attrelid AND NOT t.tgisinternal AND t.tgtype & 7 = 7)
                   AND NOT EXISTS (SELECT FROM pg_catalog.pg_type y WHERE y.oid = a.atttypid AND y.typdefault IS NOT NULL)
                   AND NOT EXISTS (
                       SELECT FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d
                           ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
                          AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
                       WHERE r.ev_class = c.oid)),
           CASE WHEN c.relkind = 'v' AND NOT i.has_instead AND cardinality(b.tables) = 1 THEN b.tables[1]::int8 END
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL (
        SELECT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND t.tgtype & 64 <> 0)
            OR EXISTS (SELECT FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.is_instead AND r.ev_type IN ('2', '3', '4'))
    ) AS i(has_instead)
    CROSS JOIN LATERAL (
        SELECT ARRAY(SELECT DISTINCT d.refobjid FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d
                         ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
                     WHERE r.ev_class = c.oid AND d.refobjid <> c.oid)
    ) AS b(tables)
    WHERE (c.relkind = 'v' OR c.relkind = 'f' AND EXISTS (
               SELECT FROM pg_catalog.pg_foreign_table t JOIN pg_catalog.pg_foreign_server s ON s.oid = t.ftserver
               JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid = s.srvfdw WHERE t.ftrelid = c.oid AND w.fdwhandler <> 0))
      AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'peristyle')";

/// If the database cannot tell, such as without the library of a foreign table, they take nothing.
pub(super) async fn read(client: &Client, schema: &mut Schema, places: &HashMap<i64, usize>) -> Result<(), Error> {
    let found = match rows(client, UPDATABLE).await {
        Err(error) if error.as_db_error().is_some() => return Ok(()),
        found => found?,
    };
    let mut bases: HashMap<usize, usize> = HashMap::new();
    for row in found {
        let Some(place) = places.get(&row.try_get(0)?) else { continue };
        let (events, fixed, has_instead): (i32, Vec<String>, bool) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        let table = &mut schema.tables[*place];
        // The bits of PostgreSQL's command types.
        table.impossible = Changes { update: events & 4 == 0, insert: events & 8 == 0, delete: events & 16 == 0 };
        table.missing_columns = row.try_get(4)?;
        let base: Option<i64> = row.try_get(5)?;
        bases.extend(base.and_then(|base| Some((*place, *places.get(&base)?))));
        for column in table.columns.iter_mut().filter(|column| fixed.contains(&column.name)) {
            column.own_value = OwnValue::Generated;
        }
        // Every other view that takes changes has one table, whose rows can be locked.
        if has_instead && (!table.impossible.update || !table.impossible.delete) {
            table.is_unlockable = is_unlockable(client, table).await?;
        }
    }
    take_constraints(schema, &bases);
    Ok(())
}

/// A change of a simple view meets the constraints of the table behind it. A view may show another view.
fn take_constraints(schema: &mut Schema, bases: &HashMap<usize, usize>) {
    for (view, base) in bases {
        let mut base = base;
        while let Some(next) = bases.get(base) {
            base = next;
        }
        let constraints = schema.tables[*base].constraints.iter();
        let constraints = constraints.map(|constraint| NamedConstraint { index: None, ..constraint.clone() }).collect();
        schema.tables[*view].constraints = constraints;
    }
}

/// Whether PostgreSQL refuses to lock the rows of a view. It does so before it looks at privileges and at the kind of the transaction.
async fn is_unlockable(client: &Client, table: &Table) -> Result<bool, Error> {
    let sql = format!("SELECT FROM {} LIMIT 0 FOR NO KEY UPDATE", table.quoted());
    match rows(client, &sql).await {
        Err(error) if error.as_db_error().is_some() => Ok(error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED)),
        answer => answer.map(|_| false),
    }
}
