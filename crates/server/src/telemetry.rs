//! Logs: for people on a terminal, as JSON for machines; to standard error, so that output stays clean.

use std::io::IsTerminal;

use tracing_subscriber::filter::{FilterExt, LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt, registry};

use crate::config::{Config, LogFormat};

/// Starts logging. A second call changes nothing.
pub fn start(config: &Config) {
    write(&config.log, config.log_format);
}

/// The same where there is no configuration, and errors alone are told.
pub(crate) fn start_for_errors(format: LogFormat) {
    write("error", format);
}

fn write(filter: &str, format: LogFormat) {
    // The driver logs the values it binds; those are data, not ours to write down, however finely somebody filters.
    let discreet = Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_targets(["tokio_postgres", "rustls", "hyper", "h2"].map(|target| (target, LevelFilter::INFO)));
    // Both as one filter: laid on the registry one after the other, the finer of their levels would count, and the driver would ask for
    // every line that is never written.
    let wanted = EnvFilter::new(filter).and(discreet);
    // A log that nobody reads any more is no reason to stop serving. Failing to start one means that somebody else, an
    // embedding program, logs already.
    let layer = fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    _ = match format {
        LogFormat::Json => registry().with(layer.json().with_filter(wanted)).try_init(),
        LogFormat::Text => registry().with(layer.with_ansi(std::io::stderr().is_terminal()).with_filter(wanted)).try_init(),
    };
}
