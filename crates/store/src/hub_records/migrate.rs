//! Migrates the tables to this version: numbered steps, each taken once, all in one transaction.
//!
//! If the role of the hub lacks a privilege on PostgreSQL, the error shows the GRANT statements for an administrator.

use std::collections::BTreeSet;

use query::sql::Dialect;

use crate::Error;

use super::{Bind, Records, Row, Run};

struct Step {
    version: i64,
    name: &'static str,
    postgres: &'static str,
    sqlite: &'static str,
}

macro_rules! step {
    ($version:literal, $name:literal) => {
        Step {
            version: $version,
            name: $name,
            postgres: include_str!(concat!("migrations/postgres/", $name, ".sql")),
            sqlite: include_str!(concat!("migrations/sqlite/", $name, ".sql")),
        }
    };
}

/// A released step never changes: add a new one.
const STEPS: [Step; 9] = [
    step!(1, "0001-identity"),
    step!(2, "0002-account-changes"),
    step!(3, "0003-administrator-permissions"),
    step!(4, "0004-undecided-attempts"),
    step!(5, "0005-family-origin"),
    step!(6, "0006-client-administers"),
    step!(7, "0007-outages"),
    step!(8, "0008-pending-rights"),
    step!(9, "0009-used-codes"),
];

/// `CREATE SCHEMA IF NOT EXISTS` would need the privilege even if the schema exists.
const SCHEMA: &str = "DO $$ BEGIN IF to_regnamespace('peristyle') IS NULL THEN CREATE SCHEMA peristyle; END IF; END $$";
const BEGINNING: &str = "CREATE TABLE IF NOT EXISTS peristyle.migration (version integer PRIMARY KEY, name text NOT NULL)";
/// Lets replicas that start together migrate one after the other.
const ALONE: &str = "SELECT pg_advisory_xact_lock(7310034519)";

const TAKEN: &str = "SELECT version FROM peristyle.migration";

const DENIED: &str = "42501";

/// The role and the database as quoted identifiers, and whether the schema exists.
const CURRENT: &str = "SELECT quote_ident(current_user), quote_ident(current_database()), to_regnamespace('peristyle') IS NOT NULL";

/// The first missing privilege on a table, a view or a function. The table `migration` needs none after the migration.
const MISSING: &str = "SELECT p.right || ' on table peristyle.' || quote_ident(c.relname) FROM pg_catalog.pg_class c \
     CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p (\"right\") \
     WHERE c.relnamespace = to_regnamespace('peristyle') AND c.relname <> 'migration' \
     AND (c.relkind IN ('r', 'p') OR c.relkind = 'v' AND p.right = 'SELECT') AND NOT has_table_privilege(c.oid, p.right) \
     UNION ALL SELECT 'EXECUTE on function peristyle.' || quote_ident(f.proname) FROM pg_catalog.pg_proc f \
     WHERE f.pronamespace = to_regnamespace('peristyle') AND NOT has_function_privilege(f.oid, 'EXECUTE') ORDER BY 1 LIMIT 1";

/// The hub's own tables as this version finds them. Only [`Records::migrate`] changes that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TablesState {
    Missing,
    /// An older version made them.
    Outdated,
    Current,
}

impl Records {
    pub async fn tables_state(&self) -> Result<TablesState, Error> {
        let taken = taken(self).await?;
        Ok(match STEPS.iter().filter(|step| taken.contains(&step.version)).count() {
            0 => TablesState::Missing,
            count if count < STEPS.len() => TablesState::Outdated,
            _ => TablesState::Current,
        })
    }

    /// Whether [`Records::migrate`] has steps to take.
    pub async fn is_pending(&self) -> Result<bool, Error> {
        Ok(self.tables_state().await? != TablesState::Current)
    }

    /// Refuses a PostgreSQL role that may not use the tables.
    pub async fn check_privileges(&self) -> Result<(), Error> {
        if self.dialect() == Dialect::Sqlite {
            return Ok(());
        }
        match self.row(MISSING, &[]).await? {
            Some(row) => Err(advice(self, &format!("it lacks {}", row.text(0)?)).await),
            None => Ok(()),
        }
    }

    /// Migrates the tables to this version; returns the names of the steps taken.
    pub async fn migrate(&self) -> Result<Vec<&'static str>, Error> {
        // A role without the privilege to create tables must start when nothing is pending.
        let names = if self.is_pending().await? { explained(self, steps(self).await).await? } else { Vec::new() };
        self.check_privileges().await?;
        Ok(names)
    }
}

async fn taken(records: &Records) -> Result<BTreeSet<i64>, Error> {
    let table = match records.dialect() {
        Dialect::Postgres | Dialect::Citus => "SELECT to_regclass('peristyle.migration') IS NOT NULL",
        Dialect::Sqlite => "SELECT count(*) FROM sqlite_schema WHERE name = 'peristyle_migration'",
    };
    let asked = async {
        if !records.row(table, &[]).await?.map_or(Ok(false), |row| row.flag(0))? {
            return Ok(BTreeSet::new());
        }
        versions(&records.run(TAKEN, &[]).await?)
    };
    let taken: BTreeSet<i64> = explained(records, asked.await).await?;
    let known = STEPS.iter().map(|step| step.version).max().unwrap_or(0);
    match taken.last() {
        Some(last) if *last > known => Err(Error::Setting(format!(
            "the tables in schema peristyle have version {last}, but this program knows only versions up to {known}; use the newer program"
        ))),
        _ => Ok(taken),
    }
}

fn versions(rows: &[Row]) -> Result<BTreeSet<i64>, Error> {
    rows.iter().map(|row| row.number(0)).collect()
}

async fn steps(records: &Records) -> Result<Vec<&'static str>, Error> {
    let dialect = records.dialect();
    let mut transaction = records.begin().await?;
    if dialect.is_postgres() {
        transaction.script(ALONE).await?;
        transaction.script(SCHEMA).await?;
    }
    transaction.run(BEGINNING, &[]).await?;
    // Another replica may have migrated in the meantime.
    let taken = versions(&transaction.run(TAKEN, &[]).await?)?;
    let mut names = Vec::new();
    for step in STEPS.iter().filter(|step| !taken.contains(&step.version)) {
        let text = match dialect {
            Dialect::Postgres | Dialect::Citus => step.postgres,
            Dialect::Sqlite => step.sqlite,
        };
        transaction.script(text).await?;
        let row = [Bind::Number(step.version), Bind::Text(step.name)];
        transaction.run("INSERT INTO peristyle.migration (version, name) VALUES ($1, $2)", &row).await?;
        names.push(step.name);
    }
    transaction.commit().await?;
    Ok(names)
}

/// Adds the GRANT statements to the error of a statement that lacked a privilege.
async fn explained<T>(records: &Records, result: Result<T, Error>) -> Result<T, Error> {
    match result {
        Err(Error::Refused(refusal)) if refusal.code() == DENIED => Err(advice(records, &refusal.to_string()).await),
        other => other,
    }
}

async fn advice(records: &Records, reason: &str) -> Error {
    let asked = async {
        let row =
            records.row(CURRENT, &[]).await?.ok_or_else(|| Error::Unexpected("PostgreSQL did not return the current role".to_owned()))?;
        let (role, database) = (row.text(0)?, row.text(1)?);
        Ok(if row.flag(2)? {
            format!(
                "the role {role} may not use the tables of the hub ({reason}): let it own the schema peristyle and the tables in it, or run \
                 `peristyle migrate` as their owner and then, as that owner, GRANT USAGE ON SCHEMA peristyle TO {role}; \
                 GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA peristyle TO {role}; \
                 GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA peristyle TO {role}"
            )
        } else {
            format!(
                "the role {role} may not make the tables of the hub ({reason}): GRANT CREATE ON DATABASE {database} TO {role}, \
                 or make their schema for it: CREATE SCHEMA peristyle AUTHORIZATION {role}"
            )
        })
    };
    asked.await.map_or_else(|error: Error| error, Error::Setting)
}
