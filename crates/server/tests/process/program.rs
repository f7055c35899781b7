//! Runs the binary in a temporary folder, with only the environment variables that a test sets.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use serde_json::Value;

use crate::support::DEADLINE;

/// A temporary folder.
pub(crate) struct Folder(tempfile::TempDir);

/// A small database, and its manifest.
pub(crate) const SCRIPT: &str = "
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO customers VALUES (1, 'Ana'), (2, 'Bo');
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, total TEXT);
CREATE INDEX orders_of_customer ON orders (customer_id);
INSERT INTO orders VALUES (10, 1, '5.00');
";
pub(crate) const MANIFEST: &str = "\
[resource.shop.customer.fields]
id = { type = \"bigint\", key = true }
name = { type = \"text\", null = false }

[resource.shop.customer.relations]
orders = { many = \"shop.order\", on = { id = \"customerId\" } }

[resource.shop.order.fields]
id = { type = \"bigint\", key = true }
customerId = \"bigint\"
total = \"decimal\"
";

impl Folder {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    /// A folder with a database `shop.db` and a manifest `peristyle.toml`.
    pub(crate) fn shop() -> Self {
        let folder = Folder::new();
        rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(SCRIPT)).expect("a database");
        folder.write("peristyle.toml", MANIFEST);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file")
    }

    /// A command with the database of the folder and a free port.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_peristyle"));
        command.args(arguments).env_clear().current_dir(self.0.path());
        command.env("DATABASE_URL", "sqlite://shop.db").env("LISTEN", "127.0.0.1:0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
        Finished(self.command(arguments).envs(variables.iter().copied()).output().expect("the program runs"))
    }

    /// Sets up a hub: a key, the administrator `ada` and the client `shop`. Returns the client secret.
    pub(crate) fn set_up_hub(&self, password: &str, redirect: &str, variables: &[(&str, &str)]) -> String {
        self.run(&["keys", "generate"], variables).out();
        let mut added = self
            .command(&["account", "add", "--username", "ada", "--email", "ada@example.com", "--role", "administrator", "--password-stdin"])
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        added.stdin.take().expect("a pipe").write_all(password.as_bytes()).expect("a write");
        assert!(added.wait().expect("an end").success());
        let client = self.run(&["client", "add", "--id", "shop", "--name", "Shop", "--redirect", redirect, "--json"], variables).out();
        let client: Value = serde_json::from_str(&client).expect("one object");
        client["secret"].as_str().expect("a secret").to_owned()
    }

    /// Starts a server and waits until it serves.
    pub(crate) fn serve(&self, variables: &[(&str, &str)]) -> Serving {
        Serving::start(self.command(&["serve"]).envs(variables.iter().copied()))
    }

    /// The same, if the log does not say that it serves.
    pub(crate) fn serve_quietly(&self, variables: &[(&str, &str)]) -> Serving {
        Serving::start_quietly(self.command(&["serve", "--json"]).envs(variables.iter().copied()))
    }
}

/// The output of a finished command.
pub(crate) struct Finished(Output);

impl Finished {
    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).expect("UTF-8")
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).expect("UTF-8")
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    pub(crate) fn good(&self) -> String {
        assert!(self.0.status.success(), "{:?}: {}", self.0.status, self.err());
        self.out()
    }

    /// A refusal: non-zero, nothing on standard output, no panic. Returns the message on standard error, which may have several lines.
    pub(crate) fn refused(&self) -> String {
        assert_eq!(self.0.status.code(), Some(1), "{}", self.err());
        assert_eq!(self.out(), "");
        let err = self.err();
        assert!(!err.contains("panicked"), "{err}");
        let lines: Vec<&str> = err.lines().collect();
        let start = lines.iter().rposition(|line| line.starts_with("peristyle: ")).unwrap_or_else(|| panic!("no message: {err}"));
        lines[start..].join("\n")["peristyle: ".len()..].to_owned()
    }
}

/// A server process. Dropping it kills it.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    lines: Receiver<String>,
    log: Vec<String>,
}

impl Serving {
    fn spawn(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the program starts");
        let (sender, lines) = channel();
        let err = BufReader::new(child.stderr.take().expect("standard error"));
        std::thread::spawn(move || err.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Serving { child, address: "127.0.0.1:0".parse().expect("an address"), lines, log: Vec::new() }
    }

    /// Waits for the object that `serve --json` prints.
    fn start_quietly(command: &mut Command) -> Self {
        let mut serving = Serving::spawn(command);
        let mut line = String::new();
        BufReader::new(serving.child.stdout.as_mut().expect("standard output")).read_line(&mut line).expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("one object");
        serving.address =
            ready["address"].as_str().and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("no address in {line}"));
        serving
    }

    pub(crate) fn start(command: &mut Command) -> Self {
        let mut serving = Serving::spawn(command);
        let line = serving.line(|line| line.contains("serving") && line.contains("127.0.0.1:") && !line.contains("serving metrics"));
        let place = line.find("127.0.0.1:").expect("an address");
        let end = line[place..]
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ':')
            .map_or(line.len(), |end| place + end);
        serving.address = line[place..end].parse().unwrap_or_else(|_| panic!("no address in {line}"));
        serving
    }

    /// Waits for a line of the log.
    pub(crate) fn line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + DEADLINE;
        if let Some(line) = self.log.iter().find(|line| wanted(line)) {
            return line.clone();
        }
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.log.push(line.clone());
                    if wanted(&line) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("the line did not come:\n{}", self.log.join("\n"))
                }
            }
        }
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits for the end: the exit status and the whole log.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let started = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("a child") {
                Some(status) => break status,
                None => assert!(started.elapsed() < DEADLINE, "the process does not end:\n{}", self.log.join("\n")),
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        self.log.extend(self.lines.iter());
        (status, self.log.join("\n"))
    }

    /// Stops it by a signal; returns its log.
    pub(crate) fn stop(self) -> String {
        self.signal("TERM");
        let (status, log) = self.end();
        assert_eq!(status.code(), Some(0), "{log}");
        log
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
