//! Clients that disconnect, and clients that stop reading.

use std::time::{Duration, Instant};

use crate::support::http::{Chunk, Connection};
use crate::support::{BACKENDS, Backend, Database, Server, Setup, post, until};
use crate::{ALL, DEEP, LIST, MANIFEST, ONE, ROWS, database, stalled};

/// The only database connection is free again, and no transaction is open.
async fn free_again(server: &Server, database: &Database) {
    until("the connection is free", async || server.post(LIST, ONE).await.status() == 200).await;
    if database.backend == Backend::Postgres {
        until("no statement and no transaction is open", async || database.sessions("state <> 'idle'").await == 0).await;
    }
}

// contract E4.4, trap 20
#[tokio::test]
async fn a_client_that_disconnects_frees_its_connection_at_once() {
    for backend in BACKENDS {
        let database = database(backend).await;
        // No timeout ends the answer while the test waits.
        let server = impatient(&database, Duration::from_secs(600), Duration::from_secs(600)).await;
        for body in [ALL, DEEP] {
            for _ in 0..3 {
                let (mut wire, _) = stalled(&server, LIST, body).await;
                assert!(matches!(wire.chunk().await, Chunk::Data(_)));
                drop(wire);
                free_again(&server, &database).await;
            }
        }
    }
}

async fn impatient(database: &Database, patience: Duration, timeout: Duration) -> Server {
    let mut setup = Setup::new(MANIFEST).pool(1);
    setup.database.stall_timeout = patience;
    setup.database.timeout = timeout;
    setup.serve(database).await
}

// contract E4.4, contract E4.3, trap 20
#[tokio::test]
async fn a_stalled_client_is_cut_off_and_its_answer_never_looks_complete() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = impatient(&database, Duration::from_millis(200), Duration::from_secs(20)).await;
        for (path, body, accept) in [
            (LIST, ALL, "application/json"),
            (LIST, DEEP, "application/json"),
            (LIST, ALL, "application/x-ndjson"),
            ("/api/shop/items/paginate", ALL, "application/json"),
        ] {
            let mut wire = Connection::with_small_buffer(server.address).await;
            wire.request(&post(path, body).header("accept", accept)).await;
            let head = wire.head().await.expect("a head");
            // The client does not read; the database connection is returned all the same.
            free_again(&server, &database).await;
            let answer = wire.rest(head, "POST").await;
            assert!(!answer.whole, "{backend:?} {path} {body} {accept}: {} bytes that look like all of it", answer.body.len());
        }
    }
}

// contract E4.4
#[tokio::test]
async fn the_time_of_a_slow_client_does_not_count_against_the_statement_timeout() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = impatient(&database, Duration::from_secs(30), Duration::from_millis(400)).await;
        for body in [ALL, DEEP] {
            let (mut wire, head) = stalled(&server, LIST, body).await;
            // Longer than the statement timeout.
            tokio::time::sleep(Duration::from_millis(900)).await;
            let answer = wire.rest(head, "POST").await;
            assert_eq!(answer.good().as_array().map(Vec::len), Some(ROWS), "{backend:?} {body}");
        }
    }
}

// contract B3.2, contract E4.4
#[tokio::test]
async fn a_client_that_was_cut_off_does_not_delay_the_shutdown() {
    let database = database(Backend::Sqlite).await;
    let server = impatient(&database, Duration::from_millis(200), Duration::from_secs(20)).await;
    let reader = stalled(&server, LIST, ALL).await;
    free_again(&server, &database).await;
    let started = Instant::now();
    server.stop().await;
    assert!(started.elapsed() < Duration::from_secs(10), "its connection was still open: {:?}", started.elapsed());
    drop(reader);
}

// contract B3.2
#[tokio::test]
async fn a_stream_in_flight_is_finished_before_the_shutdown() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = Setup::new(MANIFEST).serve(&database).await;
        let address = server.address;
        let (mut wire, head) = stalled(&server, LIST, DEEP).await;
        let stopping = tokio::spawn(server.stop());
        until("no new connections are taken", async || tokio::net::TcpStream::connect(address).await.is_err()).await;
        assert_eq!(wire.rest(head, "POST").await.good().as_array().map(Vec::len), Some(ROWS), "{backend:?}");
        stopping.await.expect("the server ends well");
    }
}
