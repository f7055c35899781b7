//! Heartbeats of the hub's processes, and the outages between them: times in which no process had an answer to one.
//!
//! A heartbeat may be committed while its answer is lost, and then the hub cannot answer its clients either. So a process writes when its last
//! heartbeat was that had an answer.

use identity::timestamp::Timestamp;

use crate::Error;
use crate::hub_records::{Bind, Records};

pub const HEARTBEAT_SECONDS: i64 = 2;
/// A longer silence is an outage: three heartbeats, and one second for a slow process.
pub const OUTAGE_SECONDS: i64 = 7;

/// Writes a heartbeat, with the time of the last one that had an answer. The first one after a silence stores the outage; the row lock lets
/// one process do so. All statements are sent at once, so that no lock waits for this process.
pub async fn beat(records: &Records, answered: Option<Timestamp>, now: Timestamp) -> Result<(), Error> {
    const FIRST: &str = "INSERT INTO peristyle.heartbeat (id, last_at) VALUES (1, $1) ON CONFLICT (id) DO NOTHING";
    const OUTAGE: &str = "INSERT INTO peristyle.outage (began_at, ended_at) \
         SELECT last_at, $1 FROM (SELECT last_at FROM peristyle.heartbeat WHERE id = 1 AND last_at < $2 FOR UPDATE) AS silence";
    // The clock of another process may be ahead.
    const BEAT: &str = "UPDATE peristyle.heartbeat SET last_at = CASE WHEN last_at < $2 THEN $1 ELSE $3 END \
         WHERE id = 1 AND (last_at < $2 OR last_at < $3)";
    let (now, silent_since) = (Bind::timestamp(now), Bind::timestamp(now.plus(-OUTAGE_SECONDS)));
    // Without an answer before, the time of the row stays.
    let answered = answered.map_or(silent_since, Bind::timestamp);
    records.run_async_commit(&[(FIRST, &[now]), (OUTAGE, &[now, silent_since]), (BEAT, &[now, silent_since, answered])]).await
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
