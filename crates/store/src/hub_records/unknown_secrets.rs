//! Refuses codes and refresh tokens that have no row, so that the refusal is true of the primary.
//!
//! A former primary that comes back to life still answers reads, and its newest rows are missing. With a synchronous standby it commits
//! nothing any more. So a refusal is a write of the statement that looks for the row, and there it fails.

use identity::audit_event::AuditEvent;
use identity::secret_token::{Digest, purpose};
use query::sql::Dialect;

use crate::Error;
use crate::hub_records::audit_log::{self, AuditColumns, AuditContext};
use crate::hub_records::{Bind, Records};

#[derive(Clone, Copy, Debug)]
pub enum UnknownSecret<'a> {
    Code(&'a Digest<purpose::Code>),
    RefreshToken(&'a Digest<purpose::Refresh>),
}

impl<'a> UnknownSecret<'a> {
    fn bind(self) -> Bind<'a> {
        match self {
            UnknownSecret::Code(digest) => Bind::digest(digest),
            UnknownSecret::RefreshToken(digest) => Bind::digest(digest),
        }
    }
}

/// Stores the refusal of a client's secret. `false` if the secret has a row after all: look it up again.
pub async fn refuse(records: &Records, secret: UnknownSecret<'_>, event: &AuditEvent, context: AuditContext<'_>) -> Result<bool, Error> {
    macro_rules! noted {
        ($table:literal) => {
            concat!(
                "INSERT INTO peristyle.event (at, kind, client_id, address, detail) \
                 SELECT $1, $2, CAST($3 AS text), CAST($4 AS text), $5 \
                 WHERE NOT EXISTS (SELECT 1 FROM peristyle.",
                $table,
                " WHERE hash = $6) RETURNING 1"
            )
        };
    }
    let sql = match secret {
        UnknownSecret::Code(_) => noted!("code"),
        UnknownSecret::RefreshToken(_) => noted!("refresh_token"),
    };
    let columns = AuditColumns::of(event);
    let binds = [
        Bind::timestamp(context.now),
        Bind::Text(event.name()),
        Bind::maybe(columns.client.as_deref(), Bind::Text),
        Bind::maybe(context.address, Bind::Text),
        Bind::Json(&columns.data),
        secret.bind(),
    ];
    if records.run(sql, &binds).await?.is_empty() {
        return Ok(false);
    }
    audit_log::line(event, &columns, context).write();
    Ok(true)
}

/// The same for a refusal without a row in the audit log.
pub async fn is_absent(records: &Records, secret: UnknownSecret<'_>) -> Result<bool, Error> {
    macro_rules! written {
        ($table:literal) => {
            concat!(
                "SELECT pg_logical_emit_message(true, 'peristyle', 'refused') IS NOT NULL WHERE NOT EXISTS (SELECT 1 FROM peristyle.",
                $table,
                " WHERE hash = $1)"
            )
        };
    }
    macro_rules! read {
        ($table:literal) => {
            concat!("SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM peristyle.", $table, " WHERE hash = $1)")
        };
    }
    // A message in the WAL is the cheapest write: it has no row, no lock, and no reader. One SQLite file has no other primary.
    let sql = match (records.dialect(), secret) {
        (Dialect::Postgres | Dialect::Citus, UnknownSecret::Code(_)) => written!("code"),
        (Dialect::Postgres | Dialect::Citus, UnknownSecret::RefreshToken(_)) => written!("refresh_token"),
        (Dialect::Sqlite, UnknownSecret::Code(_)) => read!("code"),
        (Dialect::Sqlite, UnknownSecret::RefreshToken(_)) => read!("refresh_token"),
    };
    Ok(!records.run(sql, &[secret.bind()]).await?.is_empty())
}
