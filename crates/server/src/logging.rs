//! Logs to standard error, as text or as JSON.

use std::io::IsTerminal;

use tracing::Metadata;
use tracing_subscriber::filter::{FilterExt, FilterFn, LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt, registry};

use crate::config::LogFormat;

/// Starts logging. A second call changes nothing.
pub fn start(filter: &str, format: LogFormat) {
    // The driver logs bound values. They are data, which no filter may bring into the log.
    let without_data = Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_targets(["tokio_postgres", "rustls", "hyper", "h2"].map(|target| (target, LevelFilter::INFO)));
    let asked = EnvFilter::new(filter);
    // A line needs the span of its request, which holds the id, whatever the filter names. Without lines no span is needed.
    let level = if asked.max_level_hint() == Some(LevelFilter::OFF) { LevelFilter::OFF } else { LevelFilter::ERROR };
    let spans = FilterFn::new(move |metadata| level != LevelFilter::OFF && is_request_span(metadata)).with_max_level_hint(level);
    // One filter: of several on the registry the finest level would count, and the driver would format lines that are never written.
    let wanted = asked.or(spans).and(without_data);
    // A closed standard error does not stop the server. Initialising fails if an embedding program logs already.
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
