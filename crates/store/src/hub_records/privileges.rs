//! The privileges that the hub's role needs on PostgreSQL, and the GRANT statements to show an administrator when one is missing.

use crate::Error;

use super::{Records, Run};

const DENIED: &str = "42501";

/// The role and the database as quoted identifiers, and whether the schema exists.
const CURRENT: &str = "SELECT quote_ident(current_user), quote_ident(current_database()), to_regnamespace('peristyle') IS NOT NULL";

/// The first missing privilege on a table. The table `migration` needs none of them after the migration.
const MISSING: &str = "SELECT p.right || ' on table peristyle.' || quote_ident(c.relname) FROM pg_catalog.pg_class c \
     CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p (\"right\") \
     WHERE c.relnamespace = to_regnamespace('peristyle') AND c.relkind IN ('r', 'p') AND c.relname <> 'migration' \
     AND NOT has_table_privilege(c.oid, p.right) ORDER BY c.relname, p.right LIMIT 1";

pub(super) async fn check(records: &Records) -> Result<(), Error> {
    match records.row(MISSING, &[]).await? {
        Some(row) => Err(advice(records, &format!("it lacks {}", row.text(0)?)).await),
        None => Ok(()),
    }
}

/// Adds the GRANT statements to the error of a statement that lacked a privilege.
pub(super) async fn explained<T>(records: &Records, result: Result<T, Error>) -> Result<T, Error> {
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
                 GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA peristyle TO {role}"
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
