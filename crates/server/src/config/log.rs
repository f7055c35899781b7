//! The settings of the log.

use tracing_subscriber::filter::LevelFilter;

use super::{ConfigError, invalid};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

pub(super) fn log_filter(text: &str) -> Result<String, ConfigError> {
    // A word that is no level would count as the name of a module, and silence everything else.
    let mut words = text.split(',').filter(|word| !word.is_empty() && !word.contains(['=', '[', '{', '}']));
    let levels = words.all(|word| word.parse::<LevelFilter>().is_ok());
    match tracing_subscriber::EnvFilter::try_new(text) {
        Ok(_) if levels => Ok(text.to_owned()),
        _ => Err(invalid("LOG", text, "a level (off, error, warn, info, debug, trace) or a filter such as info,peristyle=debug")),
    }
}
