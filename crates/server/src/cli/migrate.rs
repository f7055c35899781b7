//! `peristyle migrate`: migrates the hub's own tables to this version.

use query::catalog::Catalog;
use serde_json::json;
use store::hub_records::Records;

use crate::boot;
use crate::boot_error::unusable;
use crate::config::Config;

use super::CommandError;
use super::output::{OutputFormat, print_change};

pub(super) async fn run(config: &Config, output: OutputFormat) -> Result<(), CommandError> {
    let database = boot::open("DATABASE_URL", &config.database_url, &config.database, &Catalog::default()).await?;
    let steps = Records::of(&database).map_err(unusable)?.migrate().await.map_err(unusable)?;
    let text = if steps.is_empty() { "the tables are up to date".to_owned() } else { format!("migrated: {}", steps.join(", ")) };
    print_change(&output.choose(&text, &json!({ "taken": steps })))
}
