//! Migrates the tables to this version: numbered steps, each taken once, all in one transaction.

use std::collections::BTreeSet;

use query::sql::Dialect;

use crate::Error;

use super::{Bind, Records, Row, Run, privileges};

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
const STEPS: [Step; 7] = [
    step!(1, "0001-identity"),
    step!(2, "0002-account-changes"),
    step!(3, "0003-administrator-permissions"),
    step!(4, "0004-undecided-attempts"),
    step!(5, "0005-family-origin"),
    step!(6, "0006-client-administers"),
    step!(7, "0007-outages"),
];

/// `CREATE SCHEMA IF NOT EXISTS` would need the privilege even if the schema exists.
const SCHEMA: &str = "DO $$ BEGIN IF to_regnamespace('peristyle') IS NULL THEN CREATE SCHEMA peristyle; END IF; END $$";
const BEGINNING: &str = "CREATE TABLE IF NOT EXISTS peristyle.migration (version integer PRIMARY KEY, name text NOT NULL)";
/// Lets replicas that start together migrate one after the other.
const ALONE: &str = "SELECT pg_advisory_xact_lock(7310034519)";

const TAKEN: &str = "SELECT version FROM peristyle.migration";

impl Records {
    /// Whether [`Records::migrate`] has steps to take.
    pub async fn is_pending(&self) -> Result<bool, Error> {
        let taken = taken(self).await?;
        Ok(STEPS.iter().any(|step| !taken.contains(&step.version)))
    }

    /// Migrates the tables to this version; returns the names of the steps taken.
    pub async fn migrate(&self) -> Result<Vec<&'static str>, Error> {
        // A role without the privilege to create tables must start when nothing is pending.
        let names = if self.is_pending().await? { privileges::explained(self, steps(self).await).await? } else { Vec::new() };
        if self.dialect() == Dialect::Postgres {
            privileges::check(self).await?;
        }
        Ok(names)
    }
}

async fn taken(records: &Records) -> Result<BTreeSet<i64>, Error> {
    let table = match records.dialect() {
        Dialect::Postgres => "SELECT to_regclass('peristyle.migration') IS NOT NULL",
        Dialect::Sqlite => "SELECT count(*) FROM sqlite_schema WHERE name = 'peristyle_migration'",
    };
    let asked = async {
        if !records.row(table, &[]).await?.map_or(Ok(false), |row| row.flag(0))? {
            return Ok(BTreeSet::new());
        }
        versions(&records.run(TAKEN, &[]).await?)
    };
    let taken: BTreeSet<i64> = privileges::explained(records, asked.await).await?;
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
    if dialect == Dialect::Postgres {
        transaction.script(ALONE).await?;
        transaction.script(SCHEMA).await?;
    }
    transaction.run(BEGINNING, &[]).await?;
    // Another replica may have migrated in the meantime.
    let taken = versions(&transaction.run(TAKEN, &[]).await?)?;
    let mut names = Vec::new();
    for step in STEPS.iter().filter(|step| !taken.contains(&step.version)) {
        let text = match dialect {
            Dialect::Postgres => step.postgres,
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
