//! How the database is used, from the environment.

use std::time::Duration;

use store::{DatabaseSettings, Mapping, Prepare};

use super::{ConfigError, Variable};

/// The variables that say how a database is used.
pub(super) struct Read<'v> {
    pub(super) pool: Variable<'v>,
    pub(super) timeout: Variable<'v>,
    pub(super) prepare: Variable<'v>,
    pub(super) mmap: Variable<'v>,
}

impl Read<'_> {
    pub(super) fn settings(&self) -> Result<DatabaseSettings, ConfigError> {
        Ok(DatabaseSettings {
            pool: self.pool.number(16, 1..=1000)?,
            timeout: self.timeout.duration(Duration::from_secs(30))?,
            prepare: match self.prepare.word("on", &["on", "off"])? {
                "off" => Prepare::Off,
                _ => Prepare::On,
            },
            mapping: match self.mmap.word("off", &["on", "off"])? {
                "on" => Mapping::On,
                _ => Mapping::Off,
            },
            ..DatabaseSettings::default()
        })
    }
}
