//! A server that stops on a signal.

use std::io::Read;

use crate::program::Folder;
use crate::support::http::Connection;
use crate::support::{get, post, until};

/// More than the buffers between server and client hold.
const MANY: &str = "CREATE TABLE items (id INTEGER PRIMARY KEY, label TEXT);
    INSERT INTO items WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 30000) SELECT n, hex(zeroblob(250)) FROM numbers";

// contract B3.2
#[tokio::test]
async fn a_signal_lets_open_requests_finish() {
    for signal in ["TERM", "INT"] {
        let folder = Folder::shop();
        rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(MANY)).expect("a table");
        folder.write("peristyle.toml", "[resource.shop.item.fields]\nid = { type = \"int\", key = true }\nlabel = \"text\"\n");
        let mut serving = folder.serve(&[]);
        let address = serving.address;
        // One idle connection, and one in the middle of an answer.
        let mut idle = Connection::open(address).await;
        idle.request(&get("/health")).await;
        assert_eq!(idle.response("GET").await.status(), 200);
        let mut wire = Connection::with_small_buffer(address).await;
        wire.request(&post("/api/shop/items/list", "")).await;
        let head = wire.head().await.expect("a head");
        serving.signal(signal);
        until("no new connections are taken", async || tokio::net::TcpStream::connect(address).await.is_err()).await;
        assert!(serving.child.try_wait().expect("a child").is_none(), "it waits for the answer");
        let answer = wire.rest(head, "POST").await;
        assert_eq!(answer.good().as_array().map(Vec::len), Some(30_000), "{signal}");
        let mut out = serving.child.stdout.take().expect("standard output");
        let (status, log) = serving.end();
        assert_eq!(status.code(), Some(0), "{log}");
        let mut text = String::new();
        out.read_to_string(&mut text).expect("UTF-8");
        assert_eq!(text, "", "standard output stays clean");
    }
}

// contract B3.2
#[tokio::test]
async fn a_second_signal_stops_at_once() {
    let folder = Folder::shop();
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(MANY)).expect("a table");
    folder.write("peristyle.toml", "[resource.shop.item.fields]\nid = { type = \"int\", key = true }\nlabel = \"text\"\n");
    let serving = folder.serve(&[]);
    let mut wire = Connection::with_small_buffer(serving.address).await;
    wire.request(&post("/api/shop/items/list", "")).await;
    wire.head().await.expect("a head");
    serving.signal("TERM");
    until("no new connections are taken", async || tokio::net::TcpStream::connect(serving.address).await.is_err()).await;
    serving.signal("TERM");
    let (status, log) = serving.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("stopped by a second signal"), "the server does not wait for an unread answer: {log}");
}
