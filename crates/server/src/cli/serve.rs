//! `peristyle serve`

use std::process::ExitCode;
use std::sync::Arc;

use crate::config::Config;
use crate::metrics::Metrics;
use crate::{boot, listen, router, telemetry};

use super::Failure;

pub(super) async fn run(config: &Config) -> Result<ExitCode, Failure> {
    telemetry::start(config);
    let service = boot::boot(config).await?;
    let resources = service.catalog.resources().len();
    let listener =
        listen::bind(config.listen).await.map_err(|error| Failure(format!("LISTEN: {} cannot be listened on: {error}", config.listen)))?;
    let address = listener.local_addr()?;
    let stop = listen::signal();
    tracing::info!(%address, resources, strategy = config.strategy.as_str(), "serving");
    let metrics = Arc::new(Metrics::default());
    if let Some(address) = config.metrics_listen {
        let listener =
            listen::bind(address).await.map_err(|error| Failure(format!("METRICS_LISTEN: {address} cannot be listened on: {error}")))?;
        tracing::info!(%address, "serving metrics");
        tokio::spawn(listen::serve(listener, metrics.clone().router(), config.database.patience, std::future::pending()));
    }
    let gate = service.gate.clone();
    let stop = async move {
        stop.await;
        gate.retire();
    };
    listen::serve(listener, router::router(service, config, metrics), config.database.patience, stop).await;
    Ok(ExitCode::SUCCESS)
}
