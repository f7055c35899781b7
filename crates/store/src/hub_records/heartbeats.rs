//! Heartbeats of the hub's processes, and the outages between them: times in which no process had an answer to one.
//!
//! A heartbeat may be committed while its answer is lost, and then the hub cannot answer its clients either. So a process writes when its last
//! heartbeat was that had an answer.

use identity::timestamp::Timestamp;
use query::sql::Dialect;

use crate::Error;
use crate::hub_records::{Bind, Records, Run};

pub const HEARTBEAT_SECONDS: i64 = 2;
/// A longer silence is an outage: three heartbeats, and one second for a slow process.
pub const OUTAGE_SECONDS: i64 = 7;

/// Writes a heartbeat, with the time of the last one that had an answer. The first one after a silence stores the outage; the row lock lets
/// one process do so. One statement, so that a lost answer leaves no lock behind.
pub async fn beat(records: &Records, answered: Option<Timestamp>, now: Timestamp) -> Result<(), Error> {
    // The clock of another process may be ahead.
    const SQL: &str = "WITH last AS (SELECT last_at FROM peristyle.heartbeat WHERE id = 1 FOR UPDATE), \
                       outage AS (INSERT INTO peristyle.outage (began_at, ended_at) SELECT last_at, $1 FROM last WHERE last_at < $2) \
                       INSERT INTO peristyle.heartbeat (id, last_at) \
                       SELECT 1, coalesce((SELECT CASE WHEN last_at < $2 THEN $1 ELSE coalesce($3, last_at) END FROM last), $1) \
                       ON CONFLICT (id) DO UPDATE SET last_at = excluded.last_at WHERE heartbeat.last_at < excluded.last_at";
    const OUTAGE: &str =
        "INSERT INTO peristyle.outage (began_at, ended_at) SELECT last_at, $1 FROM peristyle.heartbeat WHERE id = 1 AND last_at < $2";
    const BEAT: &str = "INSERT INTO peristyle.heartbeat (id, last_at) VALUES (1, $1) ON CONFLICT (id) DO UPDATE \
                        SET last_at = max(last_at, CASE WHEN last_at < $2 THEN $1 ELSE coalesce($3, last_at) END)";
    let silent_since = now.plus(-OUTAGE_SECONDS);
    let binds = [Bind::timestamp(now), Bind::timestamp(silent_since), Bind::maybe(answered, Bind::timestamp)];
    match records.dialect() {
        Dialect::Postgres | Dialect::Citus => records.run_async_commit(&[(SQL, &binds)]).await,
        Dialect::Sqlite => records.run_async_commit(&[(OUTAGE, &binds[..2]), (BEAT, &binds)]).await,
    }
}

/// How many seconds of outage lie between two times. It looks for a silence first, which ends by that.
pub async fn seconds_between(records: &Records, from: Timestamp, to: Timestamp) -> Result<i64, Error> {
    const SQL: &str = "SELECT began_at, ended_at FROM peristyle.outage WHERE ended_at > $1 AND began_at < $2";
    beat(records, None, to).await?;
    let mut seconds = 0;
    for row in records.run(SQL, &[Bind::timestamp(from), Bind::timestamp(to)]).await? {
        let (began_at, ended_at) = (row.timestamp(0)?.max(from), row.timestamp(1)?.min(to));
        seconds += ended_at.since(began_at).max(0);
    }
    Ok(seconds)
}

/// Whether there was an outage between two times, also one that no heartbeat has ended yet.
pub async fn is_outage_between(on: impl Run, (from, to): (Timestamp, Timestamp), now: Timestamp) -> Result<bool, Error> {
    const SQL: &str = "SELECT 1 FROM peristyle.outage WHERE ended_at > $1 AND began_at < $2 \
                       UNION ALL SELECT 1 FROM peristyle.heartbeat WHERE last_at < $3 AND last_at < $2 LIMIT 1";
    let binds = [Bind::timestamp(from), Bind::timestamp(to), Bind::timestamp(now.plus(-OUTAGE_SECONDS))];
    Ok(on.row(SQL, &binds).await?.is_some())
}
