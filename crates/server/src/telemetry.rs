//! Logs: for people on a terminal, as JSON for machines; to standard error, so that output stays clean.

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// Starts logging. A second call changes nothing.
pub fn start(config: &Config) {
    // The driver logs the values it binds; those are data, not ours to write down.
    let quiet = ["tokio_postgres=info", "rustls=info", "hyper=info", "h2=info"];
    let filter = quiet.iter().filter_map(|directive| directive.parse().ok()).fold(EnvFilter::new(&config.log), EnvFilter::add_directive);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Failing means that somebody else, an embedding program, logs already.
    _ = match config.log_format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
    };
}
