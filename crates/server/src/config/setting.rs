//! One setting of the environment, and the types of its value.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::{ConfigError, secret_files};

#[derive(Clone, Copy)]
pub(super) struct Environment<'v>(pub(super) &'v HashMap<&'static str, String>);

impl<'v> Environment<'v> {
    /// A setting; an empty value counts as not set.
    pub(super) fn setting(self, name: &'static str) -> Setting<'v> {
        Setting { name, value: self.0.get(name).map(String::as_str).filter(|value| !value.is_empty()) }
    }

    /// A setting that may be in a file. The values hold the content of the file under the name of the other variable.
    pub(super) fn secret(self, name: &'static str) -> Setting<'v> {
        let file = secret_files::file_variable(name).map(|file| self.setting(file)).filter(|file| file.value.is_some());
        file.unwrap_or_else(|| self.setting(name))
    }
}

#[derive(Clone, Copy)]
pub(super) struct Setting<'v> {
    pub(super) name: &'static str,
    pub(super) value: Option<&'v str>,
}

pub(super) fn invalid(name: &'static str, found: &str, accepted: &str) -> ConfigError {
    ConfigError { variable: name, problem: format!("found {:?}; accepted is {accepted}", without_credentials(found)) }
}

pub(super) fn without_credentials(found: &str) -> Cow<'_, str> {
    match found.split_once("//").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1))) {
        Some((scheme, host)) => format!("{scheme}//…@{host}").into(),
        None => found.into(),
    }
}

impl<'v> Setting<'v> {
    pub(super) fn missing(&self, accepted: &str) -> ConfigError {
        ConfigError { variable: self.name, problem: format!("is missing; accepted is {accepted}") }
    }

    pub(super) fn parse<T: std::str::FromStr>(&self, default: &str, accepted: &str) -> Result<T, ConfigError> {
        let value = self.value.unwrap_or(default);
        value.parse().map_err(|_| invalid(self.name, value, accepted))
    }

    pub(super) fn number(&self, default: usize, range: RangeInclusive<usize>) -> Result<usize, ConfigError> {
        let Some(value) = self.value else { return Ok(default) };
        let accepted = format!("a whole number from {} to {}", range.start(), range.end());
        // `parse` would accept a sign.
        let digits = Some(value).filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok()).filter(|number| range.contains(number));
        number.ok_or_else(|| invalid(self.name, value, &accepted))
    }

    /// The choice with the word of the value; by default the first.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, ConfigError> {
        let value = self.value.unwrap_or(choices[0].0);
        let words = || choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" or ");
        let choice = choices.iter().find(|(word, _)| *word == value).map(|(_, choice)| *choice);
        choice.ok_or_else(|| invalid(self.name, value, &words()))
    }

    pub(super) fn optional<T>(&self, parse: impl FnOnce(&'v str) -> Result<T, ConfigError>) -> Result<Option<T>, ConfigError> {
        self.value.map(parse).transpose()
    }

    pub(super) fn seconds(&self, default: i64, range: RangeInclusive<i64>) -> Result<i64, ConfigError> {
        let Some(value) = self.value else { return Ok(default) };
        let whole = time(value).filter(|time| time.subsec_nanos() == 0).and_then(|time| i64::try_from(time.as_secs()).ok());
        let accepted = || format!("a time in whole seconds, from {} to {}", with_unit(*range.start()), with_unit(*range.end()));
        whole.filter(|seconds| range.contains(seconds)).ok_or_else(|| invalid(self.name, value, &accepted()))
    }

    pub(super) fn duration(&self, default: Duration) -> Result<Duration, ConfigError> {
        let Some(value) = self.value else { return Ok(default) };
        time(value).ok_or_else(|| invalid(self.name, value, "a time such as 30, 30s, 500ms, 2m, 12h or 90d"))
    }

    /// `268435456`, `256M`, `256 MiB`, `1g`: units of 1024, or of 1000 with a `B` alone.
    pub(super) fn bytes(&self, default: usize, min: usize) -> Result<usize, ConfigError> {
        let Some(value) = self.value else { return Ok(default) };
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        let unit: Option<usize> = match value[digits..].trim().to_ascii_lowercase().as_str() {
            "" | "b" => Some(1),
            "k" | "kib" => Some(1 << 10),
            "m" | "mib" => Some(1 << 20),
            "g" | "gib" => Some(1 << 30),
            "kb" => Some(1_000),
            "mb" => Some(1_000_000),
            "gb" => Some(1_000_000_000),
            _ => None,
        };
        let bytes = value[..digits].parse::<usize>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
        let accepted = format!("a number of bytes such as 256MiB or 2GiB, {} MiB or more", min >> 20);
        bytes.filter(|bytes| *bytes >= min).ok_or_else(|| invalid(self.name, value, &accepted))
    }

    /// The items of a comma-separated list. An empty item counts, and no setting accepts one.
    pub(super) fn list(&self) -> impl Iterator<Item = &'v str> {
        self.value.into_iter().flat_map(|value| value.split(',')).map(str::trim)
    }
}

/// `30`, `30s`, `30 s`, `500ms`, `2m`, `12h`, `90d`
fn time(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse::<u64>().ok().filter(|number| (1..=86_400_000).contains(number))?;
    match text[digits..].trim() {
        "" | "s" => Some(Duration::from_secs(number)),
        "ms" => Some(Duration::from_millis(number)),
        "m" => Some(Duration::from_secs(number * 60)),
        "h" => Some(Duration::from_secs(number * 3_600)),
        "d" => Some(Duration::from_secs(number * 86_400)),
        _ => None,
    }
}

fn with_unit(seconds: i64) -> String {
    if seconds % 86_400 == 0 { format!("{}d", seconds / 86_400) } else { format!("{seconds}s") }
}
