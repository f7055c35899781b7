//! The settings of the log: what it shows, and which statements count as slow.

use std::time::Duration;

use tracing_subscriber::filter::LevelFilter;

use super::{ConfigError, Setting, invalid};

/// LOG_SLOW_STATEMENTS: a number counts milliseconds, a time has its unit; 0 is off.
pub(super) fn slow_statement(setting: &Setting<'_>) -> Result<Option<Duration>, ConfigError> {
    let Some(value) = setting.value else { return Ok(None) };
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let duration = if is_number { value.parse().ok().map(Duration::from_millis) } else { setting.duration(Duration::ZERO).ok() };
    let accepted = "milliseconds such as 250, a time such as 250ms or 2s, or 0 for off; at most a day";
    let duration =
        duration.filter(|duration| *duration <= Duration::from_secs(86_400)).ok_or_else(|| invalid(setting.name, value, accepted))?;
    Ok(Some(duration).filter(|duration| !duration.is_zero()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_statements_are_logged_from_a_number_of_milliseconds() {
        let slow = |text: &str| {
            slow_statement(&Setting { name: "LOG_SLOW_STATEMENTS", value: Some(text).filter(|text| !text.is_empty()) }).expect(text)
        };
        assert_eq!((slow(""), slow("0"), slow("250")), (None, None, Some(Duration::from_millis(250))));
    }
}
