//! What is wrong with the settings. One message names everything, so that one correction suffices.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {problem}")]
pub struct ConfigError {
    pub(super) variable: &'static str,
    pub(super) problem: String,
}

impl ConfigError {
    pub fn missing(variable: &'static str) -> Self {
        ConfigError { variable, problem: "is missing".to_owned() }
    }
}

/// One error or more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigErrors(pub(super) Vec<ConfigError>);

impl ConfigErrors {
    /// An error, unless there is none.
    pub(super) fn ok(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }

    pub(super) fn concern(&self, variable: &str) -> bool {
        self.iter().any(|error| error.variable == variable)
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        ConfigErrors(vec![error])
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(out, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

#[cfg(test)]
mod tests {
    use super::super::Config;

    fn message(pairs: &[(&'static str, &str)]) -> String {
        let config = Config::from_values(&pairs.iter().map(|(key, value)| (*key, (*value).to_owned())).collect());
        config.map(drop).expect_err("an invalid setting").to_string()
    }

    #[test]
    fn one_message_names_every_invalid_setting() {
        let three = message(&[("LISTEN", "here"), ("DATABASE_POOL", "0"), ("LOG", "loud"), ("APP_URL", "http://a.example")]);
        for variable in ["LISTEN: ", "DATABASE_POOL: ", "LOG: "] {
            assert_eq!(three.matches(variable).count(), 1, "{three}");
        }
        assert!(!three.contains("APP_URL"), "{three}");
    }

    #[test]
    fn what_a_satellite_lacks_stands_beside_what_is_invalid() {
        let invalid = ("OAUTH_CLIENT_ID", "a b");
        let satellite = message(&[("OAUTH_STRATEGY", "platform-hub"), invalid, ("DATABASE_POOL", "0")]);
        for variable in ["OAUTH_CLIENT_ID: ", "DATABASE_POOL: ", "OAUTH_HUB_URL: is missing", "OAUTH_REDIRECT_URI: is missing"] {
            assert_eq!(satellite.matches(variable).count(), 1, "{satellite}");
        }
        assert!(!satellite.contains("OAUTH_CLIENT_ID: is missing"), "{satellite}");
        let hub = message(&[("OAUTH_STRATEGY", "local-provider"), invalid, ("DATABASE_POOL", "0")]);
        assert!(!hub.contains("OAUTH_HUB_URL"), "{hub}");
    }

    #[test]
    fn a_setting_that_depends_on_an_invalid_one_is_not_judged() {
        let message = message(&[("DATABASE_URL", "mysql://h/d"), ("DATABASE_READ_URL", "postgres://h/d"), ("LISTEN", "here")]);
        assert!(message.contains("DATABASE_URL: ") && message.contains("LISTEN: ") && !message.contains("READ"), "{message}");
    }
}
