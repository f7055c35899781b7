//! Writes of the same rows at the same time, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use futures_util::future::join_all;
use oracle::{Form, WriteOutcome, WriteRequest};
use serde_json::{Value, json};
use support::writes::{Side, moment, viewer};

/// Writes at the same time.
const WRITERS: usize = 64;

async fn sides() -> Vec<Side> {
    let mut sides = vec![Side::postgres(16).await, Side::sqlite().await];
    for side in &mut sides {
        side.raw.reset(oracle::write_world()).await;
        side.raw.align_keys().await;
    }
    sides
}

fn request(resource: &str, form: Form, id: &[&str], body: Value) -> WriteRequest {
    let id = id.iter().map(|part| (*part).to_owned()).collect();
    WriteRequest { viewer: "chief", resource: resource.to_owned(), form, id, if_match: None, body }
}

/// Runs all writes at once. No write may end in an error.
async fn at_once(side: &Side, requests: &[WriteRequest]) -> Vec<WriteOutcome> {
    let viewer = viewer("chief");
    let write = |(step, request)| {
        let (viewer, moment) = (&viewer, moment(step));
        async move { side.place.write(viewer, request, &moment).await }
    };
    join_all(requests.iter().enumerate().map(write)).await
}

/// A field of a customer, by its place in the manifest.
async fn customer(side: &Side, id: i64, field: &str) -> Value {
    let world = oracle::write_world();
    let index = world.schema.resource("crm.customer").index(field);
    let state = support::writes::state(world, &side.raw.rows(world).await);
    state["crm.customer"].iter().find(|row| row[0] == json!(id)).expect("a customer")[index].clone()
}

// contract W2.9, contract W3.1
#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_writers_with_the_same_version_wins() {
    for side in sides().await {
        let write = |number| {
            request("crm.customer", Form::UpdateById, &["1"], json!({ "payload": { "version": 1, "name": format!("n{number}") } }))
        };
        let outcomes = at_once(&side, &(0..WRITERS).map(write).collect::<Vec<_>>()).await;
        let done = outcomes.iter().filter(|outcome| outcome.is_done()).count();
        let stale = outcomes.iter().filter(|outcome| **outcome == WriteOutcome::Stale).count();
        assert_eq!((done, stale), (1, WRITERS - 1), "{}", side.name);
        assert_eq!(customer(&side, 1, "version").await, json!(2), "{}", side.name);
        side.drop().await;
    }
}

// contract W2.7
#[tokio::test(flavor = "multi_thread")]
async fn increments_at_the_same_time_add_up() {
    for side in sides().await {
        let write = |number: usize| {
            if number.is_multiple_of(2) {
                request("crm.customer", Form::UpdateById, &["1"], json!({ "increment": { "visits": 3, "credit": "0.01" } }))
            } else {
                let query = json!({ "where": { "id": { "in": [1, 6] } } });
                request("crm.customer", Form::Update, &[], json!({ "query": query, "increment": { "visits": 1 } }))
            }
        };
        let outcomes = at_once(&side, &(0..WRITERS).map(write).collect::<Vec<_>>()).await;
        assert!(outcomes.iter().all(WriteOutcome::is_done), "{}: {outcomes:?}", side.name);
        let half = WRITERS / 2;
        assert_eq!(customer(&side, 1, "visits").await, json!(half * 4), "{}", side.name);
        assert_eq!(customer(&side, 1, "credit").await, json!("10.82"), "{}", side.name);
        assert_eq!(customer(&side, 6, "visits").await, json!(half), "{}", side.name);
        assert_eq!(customer(&side, 1, "version").await, json!(1 + WRITERS), "{}", side.name);
        side.drop().await;
    }
}

// contract W3.1, contract W3.7
#[tokio::test(flavor = "multi_thread")]
async fn writers_of_the_same_rows_in_other_orders_wait_for_each_other() {
    for side in sides().await {
        let rows = [1, 4, 5, 6];
        let write = |number: usize| {
            let mut ids = rows;
            ids.rotate_left(number % 4);
            if number % 8 >= 4 {
                ids.reverse();
            }
            let item = |id: &i32| json!({ "id": id, "name": format!("n{number}") });
            let dir = if number.is_multiple_of(2) { "asc" } else { "desc" };
            match number % 3 {
                0 => request("crm.customer", Form::Update, &[], json!({ "payload": ids.iter().map(item).collect::<Vec<_>>() })),
                1 => {
                    let query = json!({ "where": { "id": { "in": ids[..3] } }, "order": [{ "field": "visits", "dir": dir }] });
                    request("crm.customer", Form::Update, &[], json!({ "query": query, "payload": { "name": format!("n{number}") } }))
                }
                _ => {
                    let query = json!({ "where": { "id": { "in": ids[1..] } } });
                    request("crm.customer", Form::Update, &[], json!({ "query": query, "payload": { "secret": "s" } }))
                }
            }
        };
        let requests: Vec<_> = (0..WRITERS).map(write).collect();
        let outcomes = at_once(&side, &requests).await;
        assert!(outcomes.iter().all(WriteOutcome::is_done), "{}: {outcomes:?}", side.name);
        side.drop().await;
    }
}

// contract W3.1, contract W3.7
#[tokio::test(flavor = "multi_thread")]
async fn writers_of_rows_and_of_rows_that_refer_to_them_do_not_wait_in_a_circle() {
    for side in sides().await {
        let write = |number: usize| {
            let ids = if number % 4 < 2 { [6, 1] } else { [1, 6] };
            let name = format!("n{number}");
            let item = |id: i32| match number % 2 {
                0 => json!({ "id": id, "name": name }),
                _ => json!({ "customerId": id, "no": 100 + number }),
            };
            let (resource, form) = if number.is_multiple_of(2) { ("crm.customer", Form::Update) } else { ("crm.order", Form::Create) };
            request(resource, form, &[], json!({ "payload": ids.map(item) }))
        };
        let started = std::time::Instant::now();
        let outcomes = at_once(&side, &(0..WRITERS).map(write).collect::<Vec<_>>()).await;
        assert!(outcomes.iter().all(WriteOutcome::is_done), "{}: {outcomes:?}", side.name);
        println!("{}: {:?}", side.name, started.elapsed());
        side.drop().await;
    }
}

// contract W3.5
#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_new_rows_with_the_same_unique_key_exists() {
    for side in sides().await {
        // Two rows of each key, and a list of both keys in each order.
        let payment = |key: usize| json!({ "reference": format!("n{key}") });
        let write = |number: usize| {
            let (key, other) = (number / 2, WRITERS + number / 4);
            let body = if number.is_multiple_of(2) { json!([payment(key), payment(other)]) } else { json!([payment(other), payment(key)]) };
            request("crm.payment", Form::Create, &[], json!({ "payload": body }))
        };
        let outcomes = at_once(&side, &(0..WRITERS).map(write).collect::<Vec<_>>()).await;
        for (key, pair) in outcomes.chunks(4).enumerate() {
            let done = pair.iter().filter(|outcome| outcome.is_done()).count();
            let exists = |outcome: &&WriteOutcome| matches!(outcome, WriteOutcome::Refused { faults, .. } if faults.iter().all(|fault| fault.code == "EXISTS"));
            assert_eq!((done, pair.iter().filter(exists).count()), (1, 3), "{} {key}: {pair:?}", side.name);
        }
        side.drop().await;
    }
}

// contract W2.4, contract W3.1
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_a_query_chooses_is_taken_once() {
    for side in sides().await {
        let viewer = viewer("chief");
        let queue: Vec<Value> = (0..WRITERS).map(|number| json!({ "customerId": 1, "no": 100 + number, "state": "queue" })).collect();
        let filled = side.place.write(&viewer, &request("crm.order", Form::Create, &[], json!({ "payload": queue })), &moment(0)).await;
        assert!(filled.is_done(), "{filled:?}");
        let query = json!({ "where": { "state": { "eq": "queue" } }, "order": [{ "field": "no" }], "limit": 1 });
        let take = |number| {
            request("crm.order", Form::Update, &[], json!({ "query": query, "payload": { "state": "taken", "lines": number % 50 } }))
        };
        let requests: Vec<WriteRequest> = (0..WRITERS).map(take).collect();
        let number = |outcome: WriteOutcome| match outcome {
            WriteOutcome::Done { rows: Some(rows), .. } => rows[0]["no"].as_i64().expect("a row"),
            other => panic!("{}: {other:?}", side.name),
        };
        let mut taken: Vec<i64> = at_once(&side, &requests).await.into_iter().map(number).collect();
        taken.sort_unstable();
        let all: Vec<i64> = (0..WRITERS as i64).map(|number| 100 + number).collect();
        assert_eq!(taken, all, "{}", side.name);
        side.drop().await;
    }
}
