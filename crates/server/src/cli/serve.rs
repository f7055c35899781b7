//! `peristyle serve`

use std::process::ExitCode;

use crate::config::Config;
use crate::{boot, listen, rest, telemetry};

use super::Failure;

pub(super) async fn run(config: &Config) -> Result<ExitCode, Failure> {
    telemetry::start(config);
    let service = boot::boot(config).await?;
    let resources = service.catalog.resources().len();
    let listener =
        listen::bind(config.listen).await.map_err(|error| Failure(format!("LISTEN: {} cannot be listened on: {error}", config.listen)))?;
    let address = listener.local_addr()?;
    tracing::info!(%address, resources, strategy = config.strategy.as_str(), "serving");
    listen::serve(listener, rest::router(service, config), listen::signal()).await;
    Ok(ExitCode::SUCCESS)
}
