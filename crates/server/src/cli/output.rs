//! Writes to standard output. A reader that closes the pipe early is not an error; every other write error is.

use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;

use serde_json::Value;
use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;

use super::CommandError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputFormat {
    Text,
    Json,
}

impl OutputFormat {
    pub(super) fn of(json: bool) -> Self {
        if json { OutputFormat::Json } else { OutputFormat::Text }
    }

    pub(super) fn choose(self, text: &str, object: &Value) -> String {
        match self {
            OutputFormat::Text => text.to_owned(),
            OutputFormat::Json => object.to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pipe {
    Open,
    Closed,
}

fn write_line(text: &str) -> Result<Pipe, String> {
    // Flush here: an error of the flush at exit would go unseen.
    let mut out = std::io::stdout().lock();
    check(writeln!(out, "{text}").and_then(|()| out.flush()))
}

fn check(written: std::io::Result<()>) -> Result<Pipe, String> {
    match written {
        Ok(()) => Ok(Pipe::Open),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Pipe::Closed),
        Err(error) => Err(format!("standard output cannot be written: {error}")),
    }
}

pub(super) fn print(text: &str) -> Result<(), CommandError> {
    print_line(text).map(drop)
}

/// Prints one of many lines, and says whether anybody still reads them.
pub(super) fn print_line(text: &str) -> Result<Pipe, CommandError> {
    write_line(text).map_err(CommandError)
}

/// Prints the result of a change. The change stays, even if its result cannot be printed.
pub(super) fn print_change(text: &str) -> Result<(), CommandError> {
    write_line(text).map(drop).map_err(|error| CommandError(format!("the change was made, but {error}")))
}

/// Prints a secret that is shown once. `made` names it, `again` says how to get another.
pub(super) fn print_once(text: &str, made: &str, again: &str) -> Result<(), CommandError> {
    write_line(text).map(drop).map_err(|error| CommandError(format!("{made}, but could not be shown: {error}; {again}")))
}

pub(super) fn print_help(help: &clap::Error) -> Result<(), CommandError> {
    check(help.print().and_then(|()| std::io::stdout().flush())).map(drop).map_err(CommandError)
}

/// Notices that the reader closed the pipe while nothing is printed.
#[derive(Debug)]
pub(super) struct PipeWatcher(Option<Sender>);

impl PipeWatcher {
    pub(super) fn new() -> Self {
        // `unchecked` leaves the pipe blocking, as printing needs it. A file cannot be watched, and has no reader to close it.
        let out = std::io::stdout().as_fd().try_clone_to_owned();
        PipeWatcher(out.and_then(Sender::from_owned_fd_unchecked).ok())
    }

    pub(super) async fn closed(&self) {
        match &self.0 {
            Some(pipe) if pipe.ready(Interest::ERROR).await.is_ok() => {}
            _ => std::future::pending().await,
        }
    }
}
