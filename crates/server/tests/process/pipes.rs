//! Readers of our output that stop listening are no fault of ours.

use std::process::Stdio;

use crate::program::Folder;
use crate::support::{post, until};

/// A pipe whose other end is closed already.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

// contract B3.1
#[test]
fn output_to_a_closed_pipe_does_not_panic() {
    let folder = Folder::shop();
    folder.write("statement.json", "{}");
    for arguments in [
        &["introspect", "--out", "-"][..],
        &["check"],
        &["check", "--json"],
        &["explain", "shop.customer", "statement.json"],
        &["explain", "shop.customer", "statement.json", "--json"],
        &["--help"],
        &["--version"],
    ] {
        let output = folder.command(arguments).stdout(closed()).output().expect("the program runs");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !err.contains("panicked"), "{arguments:?}: {:?} {err}", output.status);
    }
}

// contract B3.1
#[test]
fn a_message_to_a_closed_pipe_does_not_panic() {
    let folder = Folder::shop();
    for arguments in [&["check"][..], &["serve"], &["explain", "shop.nothing", "none.json"]] {
        let output =
            folder.command(arguments).env("PERISTYLE_MANIFEST", "missing.toml").stderr(closed()).output().expect("the program runs");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: a panic ends with 101");
    }
}

// contract B1.7
#[tokio::test]
async fn a_server_whose_log_nobody_reads_any_more_still_serves() {
    let folder = Folder::shop();
    // A port that was free a moment ago: this once the log cannot tell which was taken.
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let address = format!("127.0.0.1:{port}");
    let mut child =
        folder.command(&["serve"]).env("LISTEN", &address).env("LOG", "debug").stderr(closed()).spawn().expect("the program starts");
    let address: std::net::SocketAddr = address.parse().expect("an address");
    let mut ended = None;
    until("it serves", async || {
        ended = child.try_wait().expect("a child");
        ended.is_some() || tokio::net::TcpStream::connect(address).await.is_ok()
    })
    .await;
    assert_eq!(ended, None, "it ended for want of a reader");
    let answer = post("/api/shop/customers/list", "").send(address).await;
    child.kill().expect("it was alive");
    child.wait().expect("it ends");
    assert_eq!(answer.good().as_array().map(Vec::len), Some(2));
}
