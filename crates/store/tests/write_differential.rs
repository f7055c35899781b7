//! Three readings of the same sequence of writes: PostgreSQL, SQLite and the oracle must agree on every answer and on every state.
//!
//! `PERISTYLE_SEQUENCES=100000 PERISTYLE_SEED=7` runs any number of sequences from any seed, and `PERISTYLE_FIRST=4600` leaves out those
//! before this one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oracle::{Form, World, WriteGenerator, WriteOutcome, WriteRequest};
use support::writes::{RawRows, Side, moment, state, viewer};

/// Sequences of a run, unless the environment has another number.
const SEQUENCES: u64 = 1_000;
/// Writes of a sequence.
const STEPS: usize = 10;
/// Sequences that run at the same time, each on databases of its own.
const WORKERS: usize = 2;
/// What writes of a run come to, at least once each.
const EXPECTED: [&str; 30] = [
    "Done",
    "Nothing",
    "NoOperation",
    "Forbidden",
    "NotFound",
    "OutOfScope",
    "Stale",
    "TooManyRows",
    "EXISTS",
    "NO_SUCH_ROW",
    "IN_USE",
    "REFUSED",
    "OUT_OF_RANGE",
    "CHECK_FAILED",
    "WR101",
    "WR102",
    "WR103",
    "WR104",
    "WR106",
    "WR110",
    "WR111",
    "WR112",
    "WR113",
    "WR114",
    "WR115",
    "WR116",
    "WR117",
    "WR118",
    "WR119",
    "WR120",
];
/// Failures after which a worker gives up.
const MAX_FAILURES: usize = 3;

#[expect(clippy::disallowed_methods, reason = "the number of sequences is chosen on the command line of a test run")]
fn setting(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

struct Bench {
    sides: [Side; 2],
}

impl Bench {
    async fn new() -> Self {
        Bench { sides: [Side::postgres(1).await, Side::sqlite().await] }
    }

    async fn drop(self) {
        for side in self.sides {
            side.drop().await;
        }
    }
}

/// The first difference in a sequence.
struct Difference {
    step: usize,
    message: String,
}

/// How often each outcome came.
type Counts = BTreeMap<String, u64>;

fn count(counts: &mut Counts, outcome: &WriteOutcome) {
    let mut add = |name: &str| *counts.entry(name.to_owned()).or_default() += 1;
    match outcome {
        WriteOutcome::Invalid(faults) => faults.iter().for_each(|fault| add(&fault.code)),
        WriteOutcome::Refused { faults, broken } => {
            faults.iter().chain(broken.iter().flatten().flatten()).for_each(|fault| add(&fault.code));
        }
        WriteOutcome::Done { count: 0, .. } => add("Nothing"),
        other => add(format!("{other:?}").split([' ', '{']).next().expect("a word")),
    }
}

/// Runs writes from the first state on. `next` makes the write of a step.
async fn run(
    bench: &mut Bench,
    counts: &mut Counts,
    mut next: impl FnMut(usize, &World) -> Option<WriteRequest>,
) -> Result<(), Difference> {
    let mut world = oracle::write_world().clone();
    let mut rows: Vec<Vec<RawRows>> = Vec::new();
    for side in &mut bench.sides {
        side.raw.reset(&world).await;
        rows.push(side.raw.rows(&world).await);
    }
    for step in 0.. {
        let Some(request) = next(step, &world) else { break };
        let differ = |side: &Side, message: String| Difference { step, message: format!("{}: {message}", side.name) };
        let mut moment = moment(step);
        let mut expected: Option<(WriteOutcome, Option<World>)> = None;
        for (side, rows) in bench.sides.iter().zip(&mut rows) {
            side.raw.align_keys().await;
            let outcome = side.place.write(&viewer(request.viewer), &request, &moment).await;
            let after = side.raw.rows(&world).await;
            let (wanted, next) = expected.get_or_insert_with(|| {
                moment.keys = made_keys(&world, &request, &outcome, &after);
                oracle::write(&world, oracle::write_viewer(request.viewer), &request, &moment)
            });
            if !wanted.agrees_with(&outcome) {
                return Err(differ(side, format!("expected {wanted:?}\nfound {outcome:?}")));
            }
            if !outcome.is_done() && *rows != after {
                return Err(differ(side, "a refused write changed rows".to_owned()));
            }
            // Equal rows were compared at an earlier step.
            if next.is_some() || *rows != after {
                let wanted = oracle::state(next.as_ref().unwrap_or(&world));
                let found = state(&world, &after);
                if wanted != found {
                    return Err(differ(side, first_difference(&wanted, &found)));
                }
                unchanged(&world, &request, rows, &after).map_err(|message| differ(side, message))?;
                *rows = after;
            }
        }
        let (outcome, next) = expected.expect("two sides");
        count(counts, &outcome);
        if let Some(next) = next {
            let judged = oracle::check_reach(&world, &next, oracle::write_viewer(request.viewer), &request);
            judged.map_err(|message| Difference { step, message: format!("oracle: {message}") })?;
            world = next;
        }
    }
    Ok(())
}

/// The keys that the database made for new customers, in the order of the payload.
fn made_keys(world: &World, request: &WriteRequest, outcome: &WriteOutcome, after: &[RawRows]) -> Vec<i64> {
    if request.form != Form::Create || request.resource != "crm.customer" {
        return Vec::new();
    }
    let id = |row: &serde_json::Value| row["id"].as_i64();
    match outcome {
        WriteOutcome::Done { rows: Some(serde_json::Value::Array(rows)), .. } => rows.iter().filter_map(id).collect(),
        WriteOutcome::Done { rows: Some(row), .. } => id(row).into_iter().collect(),
        _ => {
            let known: Vec<i64> = oracle::state(world)["crm.customer"].iter().filter_map(|row| row[0].as_i64()).collect();
            let found = state(world, after);
            found["crm.customer"].iter().filter_map(|row| row[0].as_i64()).filter(|id| !known.contains(id)).collect()
        }
    }
}

/// Rows of equal values are equal byte for byte, except in fields that the payload sets: its value may be stored in another form.
fn unchanged(world: &World, request: &WriteRequest, before: &[RawRows], after: &[RawRows]) -> Result<(), String> {
    let rows = match &request.body["payload"] {
        serde_json::Value::Array(rows) => rows.as_slice(),
        row => std::slice::from_ref(row),
    };
    let is_written = |resource: &str, field: &str| request.resource == resource && rows.iter().any(|row| row.get(field).is_some());
    for ((resource, before), after) in world.schema.resources().zip(before).zip(after) {
        let values = |row: &Vec<Option<String>>| oracle::cells(&resource.fields, std::slice::from_ref(row)).remove(0);
        for row in before.iter().filter(|row| !after.contains(row)) {
            let value = values(row);
            let Some(other) = after.iter().find(|other| values(other) == value) else { continue };
            let mut pairs = resource.fields.iter().zip(row.iter().zip(other));
            let found = pairs.find(|(field, (old, new))| old != new && !is_written(&resource.name, &field.name));
            if let Some((field, (old, new))) = found {
                return Err(format!("`{}` of a row of {} was written anew: {old:?} became {new:?} in {row:?}", field.name, resource.name));
            }
        }
    }
    Ok(())
}

fn first_difference(wanted: &oracle::State, found: &oracle::State) -> String {
    for (name, rows) in wanted {
        let missing: Vec<_> = rows.iter().filter(|row| !found[name].contains(row)).collect();
        let extra: Vec<_> = found[name].iter().filter(|row| !rows.contains(row)).collect();
        if !missing.is_empty() || !extra.is_empty() {
            return format!("rows of {name}\nexpected {missing:?}\nfound {extra:?}");
        }
    }
    "rows are repeated".to_owned()
}

/// Leaves out writes while the sequence still fails.
async fn shrink(bench: &mut Bench, mut requests: Vec<WriteRequest>) -> (Vec<WriteRequest>, String) {
    let mut message = String::new();
    let mut place = 0;
    while place <= requests.len() {
        let mut fewer = requests.clone();
        if place > 0 {
            fewer.remove(place - 1);
        }
        match run(bench, &mut Counts::new(), |step, _| fewer.get(step).cloned()).await {
            Err(difference) => {
                fewer.truncate(difference.step + 1);
                (requests, message) = (fewer, difference.message);
                place = place.max(1);
            }
            Ok(()) => place += 1,
        }
    }
    (requests, message)
}

// contract W2.2, contract W3.1, contract W3.2, contract W3.3, contract W3.4, contract W3.5, contract W3.9
#[test]
fn both_databases_and_the_oracle_agree_on_random_sequences_of_writes() {
    let (sequences, seed) = (setting("PERISTYLE_SEQUENCES", SEQUENCES), setting("PERISTYLE_SEED", 1));
    let first = setting("PERISTYLE_FIRST", 0);
    let number = Arc::new(AtomicU64::new(first));
    let start = |_| {
        let number = number.clone();
        // A connection of rusqlite stays on its thread.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(work(&number, sequences, seed))
        })
    };
    let workers: Vec<_> = (0..WORKERS).map(start).collect();
    let (mut counts, mut failures) = (Counts::new(), Vec::new());
    for worker in workers {
        let (counted, failed) = worker.join().expect("no panic");
        for (name, number) in counted {
            *counts.entry(name).or_default() += number;
        }
        failures.extend(failed);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    println!("{counts:#?}");
    let is_missing = |name: &&str| !counts.contains_key(*name);
    let missing: Vec<&str> = EXPECTED.into_iter().filter(is_missing).collect();
    assert!(
        missing.is_empty() || sequences.saturating_sub(first) < SEQUENCES,
        "no write had the outcome {missing:?}: the generator has gone stale"
    );
}

/// Runs sequences until none is left or too many failed.
async fn work(number: &AtomicU64, sequences: u64, seed: u64) -> (Counts, Vec<String>) {
    let mut bench = Bench::new().await;
    let (mut counts, mut failures) = (Counts::new(), Vec::new());
    while failures.len() < MAX_FAILURES {
        let number = number.fetch_add(1, Ordering::Relaxed);
        if number >= sequences {
            break;
        }
        let mut generator = WriteGenerator::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut requests = Vec::new();
        let next = |step: usize, world: &World| {
            (step < STEPS).then(|| {
                requests.push(generator.next(world));
                requests[step].clone()
            })
        };
        if run(&mut bench, &mut counts, next).await.is_err() {
            let (shortest, message) = Box::pin(shrink(&mut bench, requests)).await;
            let shortest: Vec<String> = shortest.iter().map(ToString::to_string).collect();
            failures.push(format!("sequence {number} of seed {seed}: {message}\n{}", shortest.join("\n")));
        }
    }
    bench.drop().await;
    (counts, failures)
}
