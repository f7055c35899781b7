//! A child process that runs `peristyle serve` with settings of its own.
//!
//! Its standard input is a pipe to this process. The child ends when the pipe closes, so it ends however this process ends. It is in a
//! process group of its own: signals of the terminal reach this process alone, which then stops the child.

use std::collections::VecDeque;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{ChildStderr, ChildStdin, Command};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::boot_error::BootError;
use crate::mutex::lock;

const START_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_LOG_LINES: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOutput {
    /// Only the last lines, in the message of a failure.
    OnFailure,
    /// All lines, each with the name of its server.
    StandardError,
}

pub(super) struct ServerSpec {
    pub(super) name: &'static str,
    pub(super) port: u16,
    pub(super) folder: PathBuf,
    pub(super) variables: Vec<(&'static str, String)>,
}

/// Without the variables, since one of them is a client secret.
impl fmt::Debug for ServerSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ServerSpec")
            .field("name", &self.name)
            .field("port", &self.port)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(super) struct ServerProcess {
    name: &'static str,
    port: u16,
    process: tokio::process::Child,
    /// Our end of the pipe. It is not left in `process`, because waiting for a process closes its standard input.
    stdin: Option<ChildStdin>,
    last_lines: Arc<Mutex<VecDeque<String>>>,
    log_reader: Option<JoinHandle<()>>,
}

impl ServerProcess {
    pub(super) fn start(spec: &ServerSpec, log: LogOutput) -> Result<Self, BootError> {
        let failed = |error: std::io::Error| BootError(format!("the {} cannot be started: {error}", spec.name));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["serve", "--until-stdin-closes"]).current_dir(&spec.folder);
        // Settings in the environment of this process must not reach the demo.
        command.env_clear().envs(spec.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let mut process = command.spawn().map_err(failed)?;
        let last_lines = Arc::new(Mutex::new(VecDeque::new()));
        let stdin = process.stdin.take();
        let lines = process.stderr.take().map(|err| BufReader::new(err).lines());
        let log_reader = tokio::spawn(read_log(spec.name, lines, last_lines.clone(), log));
        Ok(ServerProcess { name: spec.name, port: spec.port, process, stdin, last_lines, log_reader: Some(log_reader) })
    }

    /// Waits until GET /ready answers 200.
    pub(super) async fn ready(&mut self) -> Result<(), BootError> {
        let port = self.port;
        let becomes_ready = async {
            while !is_ready(port).await {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let ended = tokio::select! {
            () = becomes_ready => return Ok(()),
            () = sleep(START_TIMEOUT) => None,
            ended = self.process.wait() => ended.ok(),
        };
        match ended {
            Some(status) => Err(self.exit_error(status).await),
            None => {
                Err(BootError(format!("the {} was not ready within {} seconds{}", self.name, START_TIMEOUT.as_secs(), self.log_tail())))
            }
        }
    }

    pub(super) async fn ended(&mut self) -> BootError {
        match self.process.wait().await {
            Ok(status) => self.exit_error(status).await,
            Err(error) => BootError(format!("the {} cannot be watched: {error}", self.name)),
        }
    }

    pub(super) async fn stop(mut self) {
        drop(self.stdin.take());
        if timeout(STOP_TIMEOUT, self.process.wait()).await.is_err() {
            // An error means that it has ended.
            _ = self.process.kill().await;
        }
        self.finish_log().await;
    }

    async fn finish_log(&mut self) {
        if let Some(reader) = self.log_reader.take() {
            _ = timeout(STOP_TIMEOUT, reader).await;
        }
    }

    async fn exit_error(&mut self, status: ExitStatus) -> BootError {
        self.finish_log().await;
        BootError(format!("the {} ended unexpectedly ({status}){}", self.name, self.log_tail()))
    }

    fn log_tail(&self) -> String {
        let lines = lock(&self.last_lines);
        if lines.is_empty() {
            return String::new();
        }
        lines.iter().fold("; the last lines of its log:".to_owned(), |text, line| format!("{text}\n  {line}"))
    }
}

async fn read_log(name: &str, lines: Option<Lines<BufReader<ChildStderr>>>, last_lines: Arc<Mutex<VecDeque<String>>>, log: LogOutput) {
    let Some(mut lines) = lines else { return };
    while let Ok(Some(line)) = lines.next_line().await {
        if log == LogOutput::StandardError {
            _ = writeln!(std::io::stderr(), "{name:<9} | {line}");
        }
        let mut last = lock(&last_lines);
        if last.len() == MAX_LOG_LINES {
            last.pop_front();
        }
        last.push_back(line);
    }
}

async fn is_ready(port: u16) -> bool {
    let request = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").await?;
        let mut head = [0; "HTTP/1.1 200".len()];
        stream.read_exact(&mut head).await?;
        std::io::Result::Ok(&head == b"HTTP/1.1 200")
    };
    timeout(Duration::from_secs(2), request).await.is_ok_and(|answer| answer.unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let variables = vec![("OAUTH_CLIENT_SECRET", "sesame".to_owned())];
        let shown = format!("{:?}", ServerSpec { name: "satellite", port: 1, folder: PathBuf::new(), variables });
        assert!(shown.contains("satellite") && !shown.contains("sesame"), "{shown}");
    }
}
