//! Asks PostgreSQL what no catalog table tells: whether an index serves an expression, and whether a time zone exists.

use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::Error;
use crate::schema::Table;

use super::{LeaseState, Postgres};

impl Postgres {
    /// Whether an index finds rows by an expression: whether the planner uses it as a condition of an index once it avoids reading the whole table.
    /// True if the planner cannot be asked.
    pub(crate) async fn has_index_on(&self, table: &Table, expression: &str) -> Result<bool, Error> {
        let name = table.quoted();
        // The value is unknown to the planner, and has the type of the expression.
        let explain =
            format!("EXPLAIN (COSTS OFF, FORMAT JSON) SELECT FROM {name} WHERE ({expression}) = (SELECT {expression} FROM {name} LIMIT 1)");
        // A worker of Citus warns that the transaction of an EXPLAIN has begun already.
        let settings = "SET LOCAL citus.propagate_set_commands = 'local'; SET LOCAL client_min_messages = 'error'; \
                        SET LOCAL enable_seqscan = off; SET LOCAL lock_timeout = '1s'";
        let mut lease = self.lease().await?;
        lease.enter(LeaseState::InTransaction);
        // A message by itself: Citus sends the whole message of an EXPLAIN to its workers, and each of them to the others.
        let answer = lease.step(self.timeout, async |connection| {
            let client = &connection.client;
            client.batch_execute(&format!("BEGIN; {settings}")).await?;
            let plan = match client.simple_query(&explain).await {
                Err(error) if error.as_db_error().is_some() => return Ok(None),
                plan => plan?,
            };
            client.batch_execute("ROLLBACK").await?;
            Ok(Some(plan))
        });
        let answer = match answer.await {
            // Another transaction may have locked the table.
            Ok(None) | Err(Error::Timeout) => return Ok(true),
            Ok(Some(answer)) => answer,
            Err(error) => return Err(error),
        };
        lease.enter(LeaseState::Idle);
        let is_used = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0).is_some_and(|plan| plan.contains("Index Cond")),
            _ => false,
        };
        Ok(answer.iter().any(is_used))
    }

    /// Whether the database has a time zone of this name.
    pub(crate) async fn knows_zone(&self, zone: &str) -> Result<bool, Error> {
        let mut lease = self.lease().await?;
        let asked = lease.step(self.timeout, async |connection| {
            match connection.client.query_typed("SELECT pg_catalog.now() AT TIME ZONE $1", &[(&zone, Type::TEXT)]).await {
                Err(error) if error.code() == Some(&SqlState::INVALID_PARAMETER_VALUE) => Ok(false),
                answer => answer.map(|_| true),
            }
        });
        asked.await
    }
}
