//! The settings of the database.

use std::time::Duration;

use store::{DatabaseSettings, Mapping, Prepare};

use crate::budget::{BudgetSettings, Budgets};

use super::{ConfigError, Environment};

pub(super) fn read(env: Environment<'_>, budget: &BudgetSettings) -> Result<DatabaseSettings, ConfigError> {
    let setting = |name| env.setting(name);
    let (defaults, pool) = (DatabaseSettings::default(), setting("DATABASE_POOL").number(16, 1..=1000)?);
    let max_cost = setting("QUERY_MAX_COST").optional(|_| setting("QUERY_MAX_COST").number(0, 1..=1_000_000_000_000))?;
    Ok(DatabaseSettings {
        pool,
        reserved: Budgets::reserved_connections(pool),
        timeout: setting("DATABASE_TIMEOUT").duration(Duration::from_secs(30))?,
        prepare: setting("DATABASE_PREPARE").choice(&[("on", Prepare::On), ("off", Prepare::Off)])?,
        mapping: setting("DATABASE_MMAP").choice(&[("off", Mapping::Off), ("on", Mapping::On)])?,
        stream_timeout: setting("STREAM_TIMEOUT").duration(defaults.stream_timeout)?,
        max_cost: max_cost.map(|cost| cost as f64),
        memory: budget.bytes_per_statement(pool),
        page_cache: defaults.page_cache.min(budget.memory / 8),
        ..defaults
    })
}
