//! Streams that clients keep open.

use std::time::Duration;

use crate::support::http::{Chunk, Connection};
use crate::support::{BACKENDS, Server, Setup, get, post, until};
use crate::{ALL, LIST, MANIFEST, ONE, OTHER, database};

/// Opens streams and reads only their heads; returns the open streams and the number of refusals.
async fn open_unread_streams(server: &Server, count: usize) -> (Vec<Connection>, usize) {
    let mut held = Vec::new();
    for _ in 0..count {
        let mut wire = Connection::with_small_buffer(server.address).await;
        wire.request(&post(LIST, ALL)).await;
        held.push(wire);
    }
    let (mut streams, mut refused) = (Vec::new(), 0);
    for mut wire in held {
        let head = wire.head().await.expect("a head");
        match head.status {
            200 => streams.push(wire),
            503 => {
                assert!(head.header("retry-after").is_some());
                refused += 1;
            }
            other => panic!("{other}"),
        }
    }
    (streams, refused)
}

// attack 52, contract E9.4, contract E9.10
#[tokio::test]
async fn streams_of_one_caller_leave_connections_to_other_callers() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = Setup::new(MANIFEST).pool(4).serve(&database).await;
        let (streams, refused) = open_unread_streams(&server, 16).await;
        // Streams may use two of the four connections, and one caller one of these.
        assert_eq!((streams.len(), refused), (1, 15), "{backend:?}");
        assert_eq!(server.get("/ready").await.status(), 200, "{backend:?}");
        assert_eq!(server.post(LIST, ONE).await.status(), 200, "{backend:?}: a page of the same caller");
        let other = post(LIST, ALL).send_from(OTHER, server.address).await;
        assert_eq!(other.status(), 200, "{backend:?}: a stream of another caller");
        assert!(other.whole);
        drop(streams);
        until("the slot is free again", async || server.post(LIST, ALL).await.status() == 200).await;
    }
}

// attack 52, contract E9.4
#[tokio::test]
async fn a_stream_ends_at_its_timeout_even_if_the_client_reads() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let mut setup = Setup::new(MANIFEST).pool(2);
        setup.database.stream_timeout = Duration::from_secs(1);
        let server = setup.serve(&database).await;
        let mut wire = Connection::with_small_buffer(server.address).await;
        wire.request(&post(LIST, ALL)).await;
        assert_eq!(wire.head().await.map(|head| head.status), Some(200));
        let mut last = Chunk::End;
        for _ in 0..500 {
            last = wire.chunk().await;
            if !matches!(last, Chunk::Data(_)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(last, Chunk::Cut, "{backend:?}");
        until("the connection is free", async || server.post(LIST, ONE).await.status() == 200).await;
    }
}

// attack 52, contract E9.5
#[tokio::test]
async fn a_slow_client_is_disconnected() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let mut setup = Setup::new(MANIFEST).pool(2);
        setup.database.stall_timeout = Duration::from_secs(2);
        let server = setup.serve(&database).await;
        let mut wire = Connection::with_small_buffer(server.address).await;
        wire.request(&post(LIST, ALL)).await;
        assert_eq!(wire.head().await.map(|head| head.status), Some(200));
        // 20 bytes at a time, about 200 a second: never idle for two seconds, but too slow.
        until("the server disconnects the client", async || {
            tokio::time::sleep(Duration::from_millis(90)).await;
            wire.take(20).await.is_none() || server.metrics_text().contains("peristyle_budget_used{budget=\"streams\"} 0")
        })
        .await;
        assert_eq!(server.post(LIST, ALL).await.status(), 200, "{backend:?}");
    }
}

// contract E9.4
#[tokio::test]
async fn parallel_streams_wait_for_their_turn_and_complete() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = Setup::new(MANIFEST).pool(4).serve(&database).await;
        let address = server.address;
        // Small streams, since a stream waits five seconds for its turn, also on a loaded machine.
        let some = r#"{"query":{"limit":2000}}"#;
        let readers: Vec<_> = (0..12).map(|_| tokio::spawn(async move { post(LIST, some).send(address).await })).collect();
        for reader in readers {
            let answer = reader.await.expect("an answer");
            assert_eq!((answer.status(), answer.whole), (200, true), "{backend:?}: {}", answer.text().len());
        }
        assert_eq!(get("/health").send(address).await.status(), 200);
    }
}
