//! A server that runs for as long as we do: this program once more, with a configuration of ours and nothing else.
//!
//! It holds the other end of our pipe as its standard input and ends when that closes, so that it ends with us however we end. It is
//! out of reach of the terminal's signals: those come to us, and we end it in good order.

use std::collections::VecDeque;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{ChildStderr, ChildStdin, Command};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::boot_error::BootError;

/// How long it may take until it is ready.
const START: Duration = Duration::from_secs(30);
/// How long it may take to end, once it is asked to.
const END: Duration = Duration::from_secs(5);
/// How many lines of its log are kept for the case that it ends by itself.
const KEPT: usize = 12;

/// Where a child's log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// Nowhere, but for the last lines if it fails.
    Kept,
    /// To standard error, each line with the child's name.
    Shown,
}

/// What a child is started with.
pub(super) struct Role {
    pub(super) name: &'static str,
    pub(super) port: u16,
    pub(super) folder: PathBuf,
    pub(super) variables: Vec<(&'static str, String)>,
}

/// One of the variables is the secret of a client.
impl fmt::Debug for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Role").field("name", &self.name).field("port", &self.port).field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// A running server.
#[derive(Debug)]
pub(super) struct Child {
    name: &'static str,
    port: u16,
    process: tokio::process::Child,
    /// Our end of the pipe. Whoever waits for a process closes what is still its standard input, so it is kept apart.
    leash: Option<ChildStdin>,
    last: Arc<Mutex<VecDeque<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Child {
    pub(super) fn start(role: &Role, log: Log) -> Result<Self, BootError> {
        let failed = |error: std::io::Error| BootError(format!("the {} cannot be started: {error}", role.name));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["serve", "--until-stdin-closes"]).current_dir(&role.folder);
        // Whatever configures other servers of whoever runs this does not configure ours.
        command.env_clear().envs(role.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let mut process = command.spawn().map_err(failed)?;
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let leash = process.stdin.take();
        let lines = process.stderr.take().map(|err| BufReader::new(err).lines());
        let reader = tokio::spawn(follow(role.name, lines, last.clone(), log));
        Ok(Child { name: role.name, port: role.port, process, leash, last, reader: Some(reader) })
    }

    /// Waits until it answers that it is ready.
    pub(super) async fn ready(&mut self) -> Result<(), BootError> {
        let port = self.port;
        let answers = async {
            while !is_ready(port).await {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let ended = tokio::select! {
            () = answers => return Ok(()),
            () = sleep(START) => None,
            ended = self.process.wait() => ended.ok(),
        };
        match ended {
            Some(status) => Err(self.told(status).await),
            None => Err(BootError(format!("the {} was not ready within {} seconds{}", self.name, START.as_secs(), self.tail()))),
        }
    }

    /// Waits until it ends by itself, which it should not.
    pub(super) async fn ended(&mut self) -> BootError {
        match self.process.wait().await {
            Ok(status) => self.told(status).await,
            Err(error) => BootError(format!("the {} is out of sight: {error}", self.name)),
        }
    }

    /// Ends it: in good order, or by force when that takes too long.
    pub(super) async fn end(mut self) {
        drop(self.leash.take());
        if timeout(END, self.process.wait()).await.is_err() {
            // It is gone already if this fails.
            _ = self.process.kill().await;
        }
        self.heard().await;
    }

    /// Waits until all it said has come in.
    async fn heard(&mut self) {
        if let Some(reader) = self.reader.take() {
            _ = timeout(END, reader).await;
        }
    }

    async fn told(&mut self, status: ExitStatus) -> BootError {
        // What it said last may still be on its way.
        self.heard().await;
        BootError(format!("the {} ended by itself ({status}){}", self.name, self.tail()))
    }

    fn tail(&self) -> String {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_empty() {
            return String::new();
        }
        last.iter().fold("; the last it said:".to_owned(), |text, line| format!("{text}\n  {line}"))
    }
}

async fn follow(name: &str, lines: Option<Lines<BufReader<ChildStderr>>>, last: Arc<Mutex<VecDeque<String>>>, log: Log) {
    let Some(mut lines) = lines else { return };
    while let Ok(Some(line)) = lines.next_line().await {
        if log == Log::Shown {
            _ = writeln!(std::io::stderr(), "{name:<9} | {line}");
        }
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == KEPT {
            last.pop_front();
        }
        last.push_back(line);
    }
}

/// Whether `GET /ready` answers 200.
async fn is_ready(port: u16) -> bool {
    let asked = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").await?;
        let mut head = [0; "HTTP/1.1 200".len()];
        stream.read_exact(&mut head).await?;
        std::io::Result::Ok(&head == b"HTTP/1.1 200")
    };
    timeout(Duration::from_secs(2), asked).await.is_ok_and(|answer| answer.unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_shows_in_debug() {
        let variables = vec![("OAUTH_CLIENT_SECRET", "sesame".to_owned())];
        let shown = format!("{:?}", Role { name: "satellite", port: 1, folder: PathBuf::new(), variables });
        assert!(shown.contains("satellite") && !shown.contains("sesame"), "{shown}");
    }
}
