//! The memory of the process under attacks of one client address, with a small `MEMORY_BUDGET`.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::json;

use crate::program::{Folder, Serving};
use crate::support::http::Connection;
use crate::support::{get, post, until};

const MIB: usize = 1024 * 1024;
const BUDGET: usize = 128 * MIB;
/// How much memory the process may keep after an attack, beyond its idle size.
const SLACK: usize = 40 * MIB;
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// A server with twelve megabytes of rows and a small budget.
fn serving() -> (Folder, Serving) {
    let folder = Folder::shop();
    let script = "CREATE TABLE texts (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
                  INSERT INTO texts WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) SELECT i, hex(zeroblob(1000)) FROM n;";
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(script)).expect("a database");
    let manifest =
        folder.read("peristyle.toml") + "\n[resource.shop.text.fields]\nid = { type = \"bigint\", key = true }\nbody = \"text\"\n";
    folder.write("peristyle.toml", &manifest);
    let serving = folder.serve(&[("MEMORY_BUDGET", "128MiB"), ("LOG", "info")]);
    (folder, serving)
}

/// The resident memory of the process, now (`VmRSS`) or at most (`VmHWM`).
fn memory(serving: &Serving, which: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.child.id())).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix(which)).expect("a figure");
    line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse::<usize>().expect("a number") * 1024
}

/// Other clients are answered, from the attacker's address and from another one.
async fn others_are_answered(serving: &Serving) {
    for path in ["/health", "/ready"] {
        assert_eq!(get(path).send(serving.address).await.status(), 200, "{path}");
    }
    let page = post("/api/shop/customers/list", r#"{"query":{"limit":1}}"#);
    assert_eq!(page.send_from(OTHER, serving.address).await.status(), 200);
}

async fn stays_within_the_budget(serving: &Serving, idle: usize) {
    let peak = memory(serving, "VmHWM");
    assert!(peak < BUDGET, "{} MiB at most, {} MiB while idle", peak / MIB, idle / MIB);
    until("the memory comes back", async || memory(serving, "VmRSS") < idle + SLACK).await;
}

// attack 53, contract E9.1
#[tokio::test]
async fn unread_answers_stay_within_the_budget() {
    let (_folder, serving) = serving();
    let idle = memory(&serving, "VmRSS");
    let document = json!({ "query": "{ shopGetTexts { id body } }" }).to_string();
    let mut wires = Vec::new();
    for _ in 0..16 {
        let mut wire = Connection::with_small_buffer(serving.address).await;
        wire.request(&post("/graphql", &document)).await;
        wires.push(wire);
    }
    others_are_answered(&serving).await;
    let mut refused = 0;
    for wire in &mut wires {
        let head = wire.head().await.expect("a head");
        assert!(head.status == 200 || head.header("retry-after").is_some(), "{head:?}");
        refused += usize::from(head.status == 503);
    }
    assert!(refused > 0, "sixteen answers of 12 MiB do not fit");
    others_are_answered(&serving).await;
    drop(wires);
    stays_within_the_budget(&serving, idle).await;
    // The budget is free again.
    until("an answer fits again", async || post("/graphql", &document).send(serving.address).await.status() == 200).await;
}

// attack 54, contract E9.2, contract E9.1
#[tokio::test]
async fn bodies_that_never_end_stay_within_the_budget() {
    let (_folder, serving) = serving();
    let idle = memory(&serving, "VmRSS");
    let head =
        format!("POST /api/shop/texts/list HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {MIB}\r\n\r\n");
    let body = vec![b' '; MIB - 100];
    let mut wires = Vec::new();
    for _ in 0..300 {
        let mut wire = Connection::open(serving.address).await;
        wire.send(head.as_bytes()).await;
        wires.push(wire);
    }
    for wire in &mut wires {
        // The server has refused most of them and stops reading.
        _ = tokio::time::timeout(std::time::Duration::from_millis(50), wire.send(&body)).await;
    }
    others_are_answered(&serving).await;
    drop(wires);
    stays_within_the_budget(&serving, idle).await;
    others_are_answered(&serving).await;
}

// contract E9.1
#[test]
fn a_budget_that_is_too_small_is_refused() {
    let folder = Folder::shop();
    for (variable, value, accepted) in [
        ("MEMORY_BUDGET", "1MiB", "64 MiB or more"),
        ("MEMORY_BUDGET", "lots", "256MiB"),
        ("MEMORY_BUDGET", "99999999999999999999", "256MiB"),
        ("MAX_CONNECTIONS", "0", "from 1 to"),
        ("MAX_CONNECTIONS_PER_ADDRESS", "-1", "from 1 to"),
        ("STREAM_TIMEOUT", "soon", "30s"),
        ("QUERY_MAX_COST", "cheap", "from 1 to"),
        ("ALLOWED_HOSTS", "https://a.example", "host names without ports"),
    ] {
        let message = folder.run(&["serve"], &[(variable, value)]).refused();
        assert!(message.starts_with(variable) && message.contains(accepted), "{message}");
    }
}

// attack 55, contract E9.7
#[tokio::test]
async fn a_loopback_listener_accepts_only_local_names() {
    let folder = Folder::shop();
    let page = |host: &str| post("/api/shop/customers/list", "{}").header("host", host);
    let local = folder.serve(&[("APP_URL", "https://shop.example.com")]);
    for host in ["localhost", "127.0.0.1:4000", "[::1]", "shop.example.com"] {
        assert_eq!(page(host).send(local.address).await.status(), 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "shop.example.com.evil.example"] {
        let problem = page(host).send(local.address).await.problem(421);
        assert_eq!(problem["code"], "MISDIRECTED");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("ALLOWED_HOSTS")), "{problem}");
        for probe in ["/health", "/ready"] {
            assert_eq!(get(probe).header("host", host).send(local.address).await.status(), 200, "{probe}");
        }
    }
    let listed = folder.serve(&[("ALLOWED_HOSTS", "api.example.com, *.internal")]);
    for (host, status) in [("api.example.com", 200), ("a.internal", 200), ("localhost", 200), ("other.example.com", 421)] {
        assert_eq!(page(host).send(listed.address).await.status(), status, "{host}");
    }
}
