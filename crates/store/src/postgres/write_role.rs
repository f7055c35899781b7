//! What the role of writes must share with the role of reads: the database, and transactions that may change rows.

use tokio_postgres::types::Type;

use crate::Error;

use super::{Connection, LeaseState, Postgres};

/// The value at the start of the session: a connection for reads sets its own.
const BEGINS_READ_ONLY: &str = "SELECT reset_val = 'on' FROM pg_catalog.pg_settings WHERE name = 'default_transaction_read_only'";

const IDENTITY: &str = "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_database()::text";

/// The same on all servers that were copied from one another. A role may lack the right to call it.
const SYSTEM: &str = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()";

/// An advisory lock of one database, under a number of ours and the number of a session.
const HOLD: &str = "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_try_advisory_xact_lock($1, pg_catalog.pg_backend_pid())";
const TRY: &str = "SELECT pg_catalog.pg_try_advisory_xact_lock($1, $2)";
const LOCK: i32 = 0x7065_7269;

/// What tells one database from another.
#[derive(PartialEq, Eq)]
struct DatabaseIdentity {
    is_standby: bool,
    database: String,
    system: Option<String>,
}

impl Postgres {
    /// Whether the role begins its transactions read-only, so that no write succeeds.
    pub(crate) async fn begins_read_only(&self) -> Result<bool, Error> {
        let mut lease = self.lease().await?;
        let rows = lease.step(self.timeout, async |connection| connection.client.query_typed(BEGINS_READ_ONLY, &[]).await).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    /// Whether both lead to one database. A lock that one holds is not free at the other. A standby has locks of its own, so it is known by
    /// the identifier of its system. True if that cannot be found out.
    pub(crate) async fn is_same_as(&self, other: &Postgres) -> Result<bool, Error> {
        let (mut own, mut others) = (self.lease().await?, other.lease().await?);
        let own_identity = own.step(self.timeout, identity).await?;
        let other_identity = others.step(other.timeout, identity).await?;
        if own_identity.database != other_identity.database {
            return Ok(false);
        }
        if own_identity.is_standby || other_identity.is_standby {
            return Ok(own_identity.system.zip(other_identity.system).is_none_or(|(own, other)| own == other));
        }
        own.enter(LeaseState::InTransaction);
        let held = own.step(self.timeout, async |connection| {
            connection.client.batch_execute("BEGIN").await?;
            connection.client.query_typed(HOLD, &[(&LOCK, Type::INT4)]).await
        });
        let held = held.await?;
        let Some((session, true)) = held.first().map(|row| (row.get::<_, i32>(0), row.get::<_, bool>(1))) else { return Ok(true) };
        let tried = others.step(other.timeout, async |connection| {
            connection.client.query_typed(TRY, &[(&LOCK, Type::INT4), (&session, Type::INT4)]).await
        });
        // The lease of the lock ends its transaction.
        Ok(!tried.await?.first().is_some_and(|row| row.get(0)))
    }
}

async fn identity(connection: &mut Connection) -> Result<DatabaseIdentity, tokio_postgres::Error> {
    let client = &connection.client;
    let system = match client.query_typed(SYSTEM, &[]).await {
        Err(error) if error.as_db_error().is_some() => None,
        rows => rows?.first().map(|row| row.get(0)),
    };
    let rows = client.query_typed(IDENTITY, &[]).await?;
    let row = rows.first();
    Ok(DatabaseIdentity { is_standby: row.is_some_and(|row| row.get(0)), database: row.map(|row| row.get(1)).unwrap_or_default(), system })
}
