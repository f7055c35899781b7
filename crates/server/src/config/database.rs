//! How the database is used, from the environment.

use std::time::Duration;

use store::{DatabaseSettings, Mapping, Prepare};

use crate::budget::{BudgetSettings, Budgets};

use super::{ConfigError, Variable};

/// The variables that say how a database is used.
pub(super) struct Read<'v> {
    pub(super) pool: Variable<'v>,
    pub(super) timeout: Variable<'v>,
    pub(super) prepare: Variable<'v>,
    pub(super) mmap: Variable<'v>,
    pub(super) stream_timeout: Variable<'v>,
    pub(super) max_cost: Variable<'v>,
}

impl Read<'_> {
    pub(super) fn settings(&self, budget: &BudgetSettings) -> Result<DatabaseSettings, ConfigError> {
        let (defaults, pool) = (DatabaseSettings::default(), self.pool.number(16, 1..=1000)?);
        Ok(DatabaseSettings {
            pool,
            reserved: Budgets::reserved_connections(pool),
            timeout: self.timeout.duration(Duration::from_secs(30))?,
            prepare: match self.prepare.word("on", &["on", "off"])? {
                "off" => Prepare::Off,
                _ => Prepare::On,
            },
            mapping: match self.mmap.word("off", &["on", "off"])? {
                "on" => Mapping::On,
                _ => Mapping::Off,
            },
            stream_timeout: self.stream_timeout.duration(defaults.stream_timeout)?,
            max_cost: match self.max_cost.value {
                None => None,
                Some(_) => Some(self.max_cost.number(0, 1..=1_000_000_000_000)? as f64),
            },
            memory: budget.bytes_per_statement(pool),
            page_cache: defaults.page_cache.min(budget.memory / 8),
            ..defaults
        })
    }
}
