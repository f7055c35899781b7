//! Logs: for people on a terminal, as JSON for machines; to standard error, so that output stays clean.

use std::io::IsTerminal;

use tracing::Metadata;
use tracing_subscriber::filter::{FilterExt, FilterFn, LevelFilter, Targets};
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
    let asked = EnvFilter::new(filter);
    // A line about a request needs the span of the request, which holds its id, whatever part of the program the filter names. Who wants
    // no lines at all needs no spans.
    let level = if asked.max_level_hint() == Some(LevelFilter::OFF) { LevelFilter::OFF } else { LevelFilter::ERROR };
    let spans = FilterFn::new(move |metadata| level != LevelFilter::OFF && is_request_span(metadata)).with_max_level_hint(level);
    // All as one filter: laid on the registry one after the other, the finer of their levels would count, and the driver would ask for
    // every line that is never written.
    let wanted = asked.or(spans).and(discreet);
    // A log that nobody reads any more is no reason to stop serving. Failing to start one means that somebody else, an
    // embedding program, logs already.
    let layer = fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    _ = match format {
        LogFormat::Json => registry().with(layer.json().with_filter(wanted)).try_init(),
        LogFormat::Text => registry().with(layer.with_ansi(std::io::stderr().is_terminal()).with_filter(wanted)).try_init(),
    };
}

/// Whether this describes the span that the router opens for each request.
fn is_request_span(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.name() == "request" && metadata.target() == "peristyle::router"
}
