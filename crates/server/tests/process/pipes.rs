//! A closed pipe is not an error; any other write error is reported.

use std::process::Stdio;

use crate::hub_fixture::HubCommands;
use crate::program::Folder;
use crate::support::{Backend, post, until};

/// A pipe whose other end is closed.
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

/// A device that is full.
fn full() -> Stdio {
    std::fs::File::options().write(true).open("/dev/full").expect("a device").into()
}

/// The error line of a command whose output cannot be written.
fn write_error(folder: &Folder, line: &str) -> String {
    let output = folder.command(&line.split(' ').collect::<Vec<_>>()).stdout(full()).output().expect("the program runs");
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{line}: {err}");
    assert_eq!(err.lines().count(), 1, "{line}: {err}");
    assert!(err.contains("standard output cannot be written: No space left on device"), "{line}: {err}");
    err
}

// contract B3.1
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let folder = Folder::shop();
    folder.write("statement.json", "{}");
    assert!(folder.command(&["migrate"]).output().expect("the program runs").status.success());
    for line in [
        "--help",
        "--version",
        "check",
        "check --json",
        "introspect --out -",
        "introspect --out - --json",
        "explain shop.customer statement.json",
        "schema openapi",
        "schema graphql",
        "schema json-schema --json",
        "schema typescript",
        "completions bash",
        "man",
        "role list",
        "event list --json",
    ] {
        assert!(!write_error(&folder, line).contains("done"), "{line}");
    }
}

// contract B3.1
#[test]
fn a_change_whose_result_cannot_be_printed_is_reported_as_made() {
    let folder = Folder::shop();
    for line in ["migrate", "keys generate", "introspect --out new.toml", "role add --name clerk", "account add --username ana"] {
        assert!(write_error(&folder, line).contains("the change was made, but"), "{line}");
    }
    assert!(folder.path("new.toml").exists());
    let another = "`peristyle client secret --id shop` makes another";
    for line in ["client add --id shop --name Shop --redirect https://shop.example/callback", "client secret --id shop"] {
        let printed = write_error(&folder, line);
        assert!(printed.contains("the secret of client shop was made, but could not be shown") && printed.contains(another), "{printed}");
    }
    for line in ["account invite --username ana", "account reset --username ana --json"] {
        let printed = write_error(&folder, line);
        assert!(printed.contains("a link for ana was made, but could not be shown") && printed.contains("makes another"), "{printed}");
    }
    assert_eq!(folder.run(&["role", "list", "--json"], &[]).good().matches("clerk").count(), 1, "it was made");
}

// contract B3.1
#[tokio::test]
async fn event_follow_ends_when_its_reader_closes_the_pipe() {
    let commands = HubCommands::open(Backend::Sqlite).await;
    commands.run("migrate");
    let follow = || commands.folder.command(&["event", "follow"]).envs(commands.variables()).spawn().expect("the program starts");
    // Without new events it notices the closed pipe itself.
    let mut idle = follow();
    drop(idle.stdout.take());
    until("the end of the idle one", async || idle.try_wait().expect("a child").is_some()).await;
    assert_eq!(idle.wait().expect("an end").code(), Some(0));
    // With a new event it ends at the write, as with `head -n 1`.
    let mut busy = follow();
    let mut reader = std::io::BufReader::new(busy.stdout.take().expect("standard output"));
    let printed = std::thread::spawn(move || std::io::BufRead::read_line(&mut reader, &mut String::new()));
    let mut number = 0;
    until("an event", async || {
        number += 1;
        commands.run(&format!("tenant add --name North-{number}"));
        printed.is_finished()
    })
    .await;
    until("the end of the busy one", async || busy.try_wait().expect("a child").is_some()).await;
    assert_eq!(busy.wait().expect("an end").code(), Some(0));
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
async fn a_server_whose_log_pipe_is_closed_still_serves() {
    let folder = Folder::shop();
    // A port that was just free: the log cannot say which port was bound.
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
