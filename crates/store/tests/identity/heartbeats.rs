//! When no process of the hub could answer.

use store::hub_records::Records;
use store::hub_records::heartbeats::{self, OUTAGE_SECONDS};

use crate::world::{NOW, purge, records};

async fn beat(records: &Records, seconds: i64) {
    heartbeats::beat(records, Some(NOW.plus(seconds)), NOW.plus(seconds)).await.expect("kept");
}

async fn between(records: &Records, from: i64, to: i64) -> i64 {
    heartbeats::seconds_between(records, NOW.plus(from), NOW.plus(to)).await.expect("a read")
}

pub(crate) async fn a_silence_of_all_processes_is_an_outage(url: &str) {
    // contract I4.7
    let records = records(url).await;
    assert_eq!(between(&records, -1_000, 0).await, 0, "nobody knows what was before the first heartbeat");
    for seconds in (0..60).step_by(3) {
        beat(&records, seconds).await;
    }
    beat(&records, 57 + OUTAGE_SECONDS).await;
    assert_eq!(between(&records, 0, 64).await, 0, "a process may be slow");
    // From 64 to 164, and from 167 to 200.
    for seconds in [164, 167, 200, 203] {
        beat(&records, seconds).await;
    }
    for (from, to, seconds) in [(0, 203, 133), (100, 203, 97), (100, 150, 50), (164, 167, 0), (190, 203, 10), (201, 203, 0)] {
        assert_eq!(between(&records, from, to).await, seconds, "{from} to {to}");
    }
}

pub(crate) async fn a_heartbeat_without_an_answer_does_not_count(url: &str) {
    // contract I4.7
    let records = records(url).await;
    for seconds in (0..=20).step_by(2) {
        beat(&records, seconds).await;
    }
    // Each of these is committed, and the process has no answer.
    for seconds in (22..=80).step_by(2) {
        heartbeats::beat(&records, Some(NOW.plus(20)), NOW.plus(seconds)).await.expect("committed");
    }
    let seconds = between(&records, 21, 81).await;
    assert!((60 - OUTAGE_SECONDS - 1..=60).contains(&seconds), "{seconds}");
    for seconds in (82..=100).step_by(2) {
        beat(&records, seconds).await;
    }
    assert_eq!(between(&records, 82, 100).await, 0, "the answers are back");
}

pub(crate) async fn the_first_heartbeat_after_a_silence_stores_one_outage(url: &str) {
    // contract I4.7
    let records = records(url).await;
    beat(&records, 0).await;
    let asked: Vec<_> = (0..20)
        .map(|_| {
            let records = records.clone();
            tokio::spawn(async move { between(&records, 0, 100).await })
        })
        .collect();
    for seconds in asked {
        assert_eq!(seconds.await.expect("a task"), 100, "nobody is told before the outage is known");
    }
    let rows = records.run("SELECT count(*) FROM peristyle.outage", &[]).await.expect("a read");
    assert_eq!(rows[0].number(0).expect("a number"), 1);
    // A process whose clock is behind takes nothing back, and makes no outage of it.
    beat(&records, 40).await;
    beat(&records, 101).await;
    assert_eq!(between(&records, 0, 101).await, 100);
    purge(&records, NOW.plus(86_400)).await;
    assert_eq!(between(&records, 0, 101).await, 100, "it still counts");
    purge(&records, NOW.plus(31 * 86_400)).await;
    assert_eq!(between(&records, 0, 101).await, 0);
}
