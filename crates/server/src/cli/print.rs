//! Standard output. A reader that closed it early is no fault; whatever else keeps it from being written is.

use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;

use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;

use super::Failure;

/// Whether anybody still reads what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    There,
    Gone,
}

fn write(text: &str) -> std::io::Result<Reader> {
    // Flushed, because what is still held when the process ends fails unseen.
    let mut out = std::io::stdout().lock();
    heard(writeln!(out, "{text}").and_then(|()| out.flush()))
}

fn heard(written: std::io::Result<()>) -> std::io::Result<Reader> {
    match written {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error),
    }
}

fn unwritten(error: &std::io::Error) -> String {
    format!("standard output cannot be written: {error}")
}

/// Prints what was asked for.
pub(super) fn print(text: &str) -> Result<Reader, Failure> {
    write(text).map_err(|error| Failure(unwritten(&error)))
}

/// Prints what a command has changed, which stays changed whether or not it can be told.
pub(super) fn report(text: &str) -> Result<Reader, Failure> {
    write(text).map_err(|error| Failure(format!("it was done, but {}", unwritten(&error))))
}

/// Prints what is shown only once. `made` says what it is, `again` how to get another.
pub(super) fn hand_over(text: &str, made: &str, again: &str) -> Result<Reader, Failure> {
    write(text).map_err(|error| Failure(format!("{made}, but could not be shown: {}; {again}", unwritten(&error))))
}

/// Prints help or the version.
pub(super) fn help(asked: &clap::Error) -> Result<Reader, Failure> {
    heard(asked.print().and_then(|()| std::io::stdout().flush())).map_err(|error| Failure(unwritten(&error)))
}

/// Notices that the reader of a pipe has gone while nothing is printed.
#[derive(Debug)]
pub(super) struct Watch(Option<Sender>);

impl Watch {
    pub(super) fn new() -> Self {
        // Unchecked leaves the pipe blocking, as those who print need it. A file cannot be watched, and nobody can close it.
        let out = std::io::stdout().as_fd().try_clone_to_owned();
        Watch(out.and_then(Sender::from_owned_fd_unchecked).ok())
    }

    /// Resolves once the reader has gone.
    pub(super) async fn gone(&self) {
        match &self.0 {
            Some(watched) if watched.ready(Interest::ERROR).await.is_ok() => {}
            _ => std::future::pending().await,
        }
    }
}
