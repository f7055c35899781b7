//! When no process of the hub could answer. Each of them says every few seconds that it can, which it cannot without the database; where
//! all of them were silent for longer, that was an outage, whichever of the two was away.

use identity::moment::Moment;

use crate::Error;
use crate::records::{Bind, Records};

/// How often a process says that it can answer.
pub const HEARTBEAT_SECONDS: i64 = 3;
/// A silence that is longer than this is an outage: two heartbeats, and a moment for a process that is slow.
pub const OUTAGE_SECONDS: i64 = 7;

/// Says that a process of the hub can answer now. Who ends a silence keeps it as an outage, once, whoever else wakes up with them.
pub async fn beat(records: &Records, now: Moment) -> Result<(), Error> {
    const FIRST: &str = "INSERT INTO peristyle.heartbeat (id, last_at) VALUES (1, $1) ON CONFLICT (id) DO NOTHING";
    const LAST: &str = "SELECT last_at FROM peristyle.heartbeat WHERE id = 1 FOR UPDATE";
    const OVER: &str = "INSERT INTO peristyle.outage (began_at, ended_at) VALUES ($1, $2)";
    // The clock of another process may be ahead.
    const BEAT: &str = "UPDATE peristyle.heartbeat SET last_at = $1 WHERE id = 1 AND last_at < $1";
    let (mut transaction, rows) = records.begin_fleeting(LAST, &[]).await?;
    match rows.first().map(|row| row.moment(0)).transpose()? {
        None => _ = transaction.run(FIRST, &[Bind::moment(now)]).await?,
        Some(last) if now.since(last) > OUTAGE_SECONDS => {
            transaction.run(OVER, &[Bind::moment(last), Bind::moment(now)]).await?;
        }
        Some(_) => {}
    }
    transaction.commit_with(BEAT, &[Bind::moment(now)]).await
}

/// For how many seconds between two times no process of the hub could answer. The one that asks can, from now on at the latest.
pub async fn seconds_between(records: &Records, from: Moment, to: Moment) -> Result<i64, Error> {
    const SQL: &str = "SELECT began_at, ended_at FROM peristyle.outage WHERE ended_at > $1 AND began_at < $2";
    beat(records, to).await?;
    let mut seconds = 0;
    for row in records.run(SQL, &[Bind::moment(from), Bind::moment(to)]).await? {
        let (began_at, ended_at) = (row.moment(0)?.max(from), row.moment(1)?.min(to));
        seconds += ended_at.since(began_at).max(0);
    }
    Ok(seconds)
}
