//! Two databases that differ only in data that the viewer cannot see give the same answers to writes.
//!
//! A unique key is the exception: a conflict tells of rows out of reach.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use oracle::{Random, WriteGenerator, WriteOutcome};
use support::writes::{Side, moment, viewer};

/// Sequences of each viewer on each database.
const SEQUENCES: u64 = 8;
const STEPS: usize = 20;

fn conflicts(outcome: &WriteOutcome) -> bool {
    matches!(outcome, WriteOutcome::Refused { faults, .. } if faults.iter().any(|fault| fault.code == "EXISTS"))
}

/// Runs sequences of a viewer on two databases; returns how many writes were done, and how many conflicts told of rows out of reach.
async fn compare(pair: &mut [Side; 2], name: &'static str, seed: u64) -> (usize, usize) {
    let account = oracle::write_viewer(name);
    let (plain, mut random) = (oracle::write_world(), Random::new(seed));
    let (other, changes) = oracle::twisted(plain, account, &mut random);
    assert!(changes > 0, "{name}: nothing differs");
    pair[0].raw.reset(plain).await;
    pair[1].raw.reset(&other).await;
    let mut generator = WriteGenerator::new(seed);
    let (mut world, mut done) = (plain.clone(), 0);
    for step in 0..STEPS {
        let request = generator.next_of(&world, account);
        let mut outcomes = Vec::new();
        for side in pair.iter() {
            side.raw.align_keys().await;
            outcomes.push(side.place.write(&viewer(name), &request, &moment(step)).await);
        }
        if outcomes[0] != outcomes[1] {
            let is_conflict = outcomes.iter().any(conflicts);
            assert!(is_conflict, "{} seed {seed} step {step}: {request}\n{:?}\n{:?}", pair[0].name, outcomes[0], outcomes[1]);
            // The databases differ in more than before.
            return (done, 1);
        }
        done += usize::from(outcomes[0].is_done());
        let mut moment = moment(step);
        moment.keys = keys(&outcomes[0]);
        world = oracle::write(&world, account, &request, &moment).1.unwrap_or(world);
    }
    (done, 0)
}

/// The keys that the database made.
fn keys(outcome: &WriteOutcome) -> Vec<i64> {
    match outcome {
        WriteOutcome::Done { rows: Some(serde_json::Value::Array(rows)), .. } => rows.iter().filter_map(|row| row["id"].as_i64()).collect(),
        WriteOutcome::Done { rows: Some(row), .. } => row["id"].as_i64().into_iter().collect(),
        _ => Vec::new(),
    }
}

async fn on_pair(mut pair: [Side; 2]) {
    for (number, account) in oracle::write_viewers().iter().enumerate().filter(|(_, account)| account.name != "chief") {
        let (mut done, mut conflicts) = (0, 0);
        for sequence in 0..SEQUENCES {
            let (written, found) = compare(&mut pair, account.name, number as u64 * 1_000 + sequence).await;
            done += written;
            conflicts += found;
        }
        println!("{} {}: {done} writes done, {conflicts} conflicts with rows out of reach", pair[0].name, account.name);
        assert!(done > 0 || account.name == "anonymous", "{}: the generator has gone stale", account.name);
    }
    for side in pair {
        side.drop().await;
    }
}

// contract P2.10, contract W3.2, contract W3.3
#[tokio::test]
async fn rows_out_of_reach_change_no_answer_to_a_write_on_postgresql() {
    Box::pin(on_pair([Side::postgres(1).await, Side::postgres(1).await])).await;
}

// contract P2.10, contract W3.2, contract W3.3
#[tokio::test]
async fn rows_out_of_reach_change_no_answer_to_a_write_on_sqlite() {
    Box::pin(on_pair([Side::sqlite().await, Side::sqlite().await])).await;
}
