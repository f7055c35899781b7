//! Reads which servers hold the rows of each table, from the catalog of Citus.

use std::collections::HashMap;

use tokio_postgres::{Client, Error};

use crate::schema::{Placement, Schema};

use super::rows;

const HAS_CITUS: &str = "SELECT pg_catalog.to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL";

/// A table without a distribution column is a reference table (`t`), one of a single shard in a group, or one that stays local.
const PLACEMENTS: &str = r"
    SELECT p.logicalrelid::oid::int8, p.repmodel = 't', p.colocationid::int4,
           CASE WHEN p.partmethod <> 'n' THEN pg_catalog.column_to_column_name(p.logicalrelid, p.partkey) END
    FROM pg_catalog.pg_dist_partition p";

/// The views that read such a table, also through other views.
const VIEWS: &str = r"
    WITH RECURSIVE uses(view, used) AS (
        SELECT r.ev_class, d.refobjid FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d
            ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
        WHERE d.refobjid <> r.ev_class
    ), reads(view, used) AS (
        SELECT view, used FROM uses UNION SELECT reads.view, uses.used FROM reads JOIN uses ON uses.view = reads.used
    )
    SELECT DISTINCT r.view::oid::int8 FROM reads r JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = r.used
    WHERE p.repmodel <> 't' AND (p.partmethod <> 'n' OR p.colocationid <> 0)";

/// Our sessions turn it off for themselves, which Citus does not pass on.
const HAS_JIT: &str = "SELECT reset_val = 'on' FROM pg_catalog.pg_settings WHERE name = 'jit'";

pub(super) async fn placements(client: &Client, schema: &mut Schema, places: &HashMap<i64, usize>) -> Result<(), Error> {
    let found = rows(client, HAS_CITUS).await?;
    if !found.first().map_or(Ok(false), |row| row.try_get(0))? {
        return Ok(());
    }
    for row in rows(client, PLACEMENTS).await? {
        let Some(place) = places.get(&row.try_get(0)?) else { continue };
        let (group, column): (i32, Option<String>) = (row.try_get(2)?, row.try_get(3)?);
        let placement = match column {
            _ if row.try_get(1)? => Placement::Reference,
            None if group == 0 => Placement::Local,
            column => Placement::Distributed { column, group },
        };
        schema.has_citus |= placement != Placement::Local;
        schema.tables[*place].placement = placement;
    }
    if schema.has_citus {
        for row in rows(client, VIEWS).await? {
            let Some(place) = places.get(&row.try_get(0)?) else { continue };
            schema.tables[*place].placement = Placement::ViewOfDistributed;
        }
        let found = rows(client, HAS_JIT).await?;
        schema.has_jit = found.first().map_or(Ok(false), |row| row.try_get(0))?;
    }
    Ok(())
}
