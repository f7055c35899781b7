//! Logs: for people on a terminal, as JSON for machines; to standard error, so that output stays clean.

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt};

use crate::config::{Config, LogFormat};

/// Starts logging. A second call changes nothing.
pub fn start(config: &Config) {
    // The driver logs the values it binds; those are data, not ours to write down, however finely somebody filters.
    let discreet = Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_targets(["tokio_postgres", "rustls", "hyper", "h2"].map(|target| (target, LevelFilter::INFO)));
    let registry = tracing_subscriber::registry().with(EnvFilter::new(&config.log)).with(discreet);
    // A log that nobody reads any more is no reason to stop serving. Failing to start one means that somebody else, an
    // embedding program, logs already.
    let layer = fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    _ = match config.log_format {
        LogFormat::Json => registry.with(layer.json()).try_init(),
        LogFormat::Text => registry.with(layer.with_ansi(std::io::stderr().is_terminal())).try_init(),
    };
}
