//! What is logged, and how.

use tracing_subscriber::filter::LevelFilter;

use super::{ConfigError, wrong};

/// How logs look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

pub(super) fn log_filter(text: &str) -> Result<String, ConfigError> {
    // A word by itself that is no level would be taken for the name of a part of the program, of which there is none: silence.
    let mut words = text.split(',').filter(|word| !word.is_empty() && !word.contains(['=', '[', '{', '}']));
    let levels = words.all(|word| word.parse::<LevelFilter>().is_ok());
    match tracing_subscriber::EnvFilter::try_new(text) {
        Ok(_) if levels => Ok(text.to_owned()),
        _ => Err(wrong("LOG", text, "a level (off, error, warn, info, debug, trace) or a filter such as info,peristyle=debug")),
    }
}
