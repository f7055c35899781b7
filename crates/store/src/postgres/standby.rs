//! What a standby says about its position behind the primary.

use std::time::Duration;

use super::Postgres;
use crate::Error;

/// How much of the primary's log a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayPosition {
    Primary,
    Standby {
        /// The end of what it received by streaming; none if it never did.
        received: Option<u64>,
        replayed: u64,
        /// Whether it is connected to its primary.
        is_receiving: bool,
        /// The age of the last transaction that it replayed, by both clocks; none if it replayed none.
        age: Option<Duration>,
    },
}

impl Postgres {
    /// Names the database within all clusters.
    pub(crate) async fn identity(&self) -> Result<String, Error> {
        const IDENTITY: &str = "SELECT system_identifier || '/' || current_database() FROM pg_control_system()";
        let rows = self.probe(async |connection| connection.client.query_typed(IDENTITY, &[]).await).await?;
        rows.first().and_then(|row| row.get(0)).ok_or_else(|| Error::Unexpected("the server has no identifier".to_owned()))
    }

    pub(crate) async fn log_position(&self) -> Result<Option<u64>, Error> {
        const POSITION: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8 END";
        let rows = self.probe(async |connection| connection.client.query_typed(POSITION, &[]).await).await?;
        Ok(rows.first().and_then(|row| row.get::<_, Option<i64>>(0)).map(|bytes| bytes as u64))
    }

    pub(crate) async fn replay_position(&self) -> Result<ReplayPosition, Error> {
        const POSITION: &str = "SELECT pg_is_in_recovery(), (pg_last_wal_receive_lsn() - '0/0'::pg_lsn)::int8, \
             (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8, EXISTS (SELECT FROM pg_stat_wal_receiver), \
             extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8";
        let rows = self.probe(async |connection| connection.client.query_typed(POSITION, &[]).await).await?;
        let Some(row) = rows.first().filter(|row| row.get(0)) else { return Ok(ReplayPosition::Primary) };
        let position = |index| row.get::<_, Option<i64>>(index).map(|bytes| bytes as u64);
        // The clock of the primary may be ahead.
        let age = |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        Ok(ReplayPosition::Standby {
            received: position(1),
            replayed: position(2).unwrap_or_default(),
            is_receiving: row.get(3),
            age: row.get::<_, Option<f64>>(4).map(age),
        })
    }
}
