//! `peristyle migrate`

use std::process::ExitCode;

use query::catalog::Catalog;
use serde_json::json;
use store::hub_records::Records;

use crate::boot;
use crate::boot_error::unusable;
use crate::config::Config;

use super::print::report;
use super::{Failure, Output};

pub(super) async fn run(config: &Config, output: Output) -> Result<ExitCode, Failure> {
    let database = boot::open("DATABASE_URL", &config.database_url, &config.database, &Catalog::default()).await?;
    let taken = Records::of(&database).map_err(unusable)?.migrate().await.map_err(unusable)?;
    report(&match output {
        Output::Json => json!({ "taken": taken }).to_string(),
        Output::Text if taken.is_empty() => "the tables are as they should be".to_owned(),
        Output::Text => format!("taken: {}", taken.join(", ")),
    })?;
    Ok(ExitCode::SUCCESS)
}
