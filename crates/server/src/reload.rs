//! Reads the manifest again at SIGHUP: a good one replaces the old one in one step, a bad one is logged and the old one stays.

pub(crate) mod pid_file;

use std::io::IsTerminal;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::boot;
use crate::boot_error::BootError;
use crate::config::Config;
use crate::router::Routes;

use pid_file::{PidFile, ReloadStatus};

/// The hangups of a process. They count from the start on; several during one reload are one.
#[derive(Debug)]
pub(crate) struct Hangups {
    signals: Signal,
    terminal: Terminal,
}

/// Whether a person started the process at a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terminal {
    Attached,
    None,
}

impl Terminal {
    fn detect() -> Self {
        if std::io::stdin().is_terminal() { Terminal::Attached } else { Terminal::None }
    }
}

/// Why a hangup came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hangup {
    /// Somebody asks for the new manifest.
    Reload,
    /// The terminal was closed.
    TerminalClosed,
}

impl Hangups {
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Hangups { signals: signal(SignalKind::hangup())?, terminal: Terminal::detect() })
    }

    async fn next(&mut self) -> Hangup {
        if self.signals.recv().await.is_none() {
            return std::future::pending().await;
        }
        let is_closed = self.terminal == Terminal::Attached && Terminal::detect() == Terminal::None;
        if is_closed { Hangup::TerminalClosed } else { Hangup::Reload }
    }
}

/// Reloads the manifest at every hangup, and ends when the terminal is closed.
pub(crate) async fn follow(mut hangups: Hangups, config: &Config, routes: &Arc<Routes>, pid_file: Option<&PidFile>) {
    let mut number = 0;
    while hangups.next().await == Hangup::Reload {
        number += 1;
        report(pid_file, &ReloadStatus::reading(number));
        // As a task, so that a panic refuses the manifest instead of ending this loop.
        let task = tokio::spawn(reload(config.clone(), routes.clone()));
        let panicked = || BootError("checking the new manifest failed unexpectedly; the log has the reason".to_owned());
        let status = match task.await.unwrap_or_else(|_| Err(panicked())) {
            Ok(resources) => {
                routes.metrics().reloaded("taken");
                tracing::info!(resources, "reloaded the manifest");
                ReloadStatus::taken(number, resources)
            }
            Err(BootError(reason)) => {
                routes.metrics().reloaded("refused");
                tracing::error!(%reason, "kept the old manifest");
                ReloadStatus::refused(number, reason)
            }
        };
        report(pid_file, &status);
    }
    tracing::info!("the terminal was closed");
}

/// Serves the new manifest from the next request on, if it is good. Returns its number of resources.
pub async fn reload(config: Config, routes: Arc<Routes>) -> Result<usize, BootError> {
    let state = boot::reload(&config, &routes.state()).await?;
    let resources = state.queries.catalog.resources().len();
    boot::beside_requests(|| routes.replace(state));
    Ok(resources)
}

fn report(pid_file: Option<&PidFile>, status: &ReloadStatus) {
    if let Some(Err(error)) = pid_file.map(|file| file.write_status(status)) {
        tracing::warn!(%error, "cannot write the outcome of the reload beside PID_FILE; `peristyle reload` will not see it");
    }
}
