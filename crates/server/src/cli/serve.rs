//! `peristyle serve`

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use tokio::net::TcpListener;

use crate::config::{Config, ConfigError, LogFormat};
use crate::metrics::Metrics;
use crate::{boot, listen, logging, router};

use super::print::print;
use super::{Failure, Output};

/// What ends a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// A signal.
    Signal,
    /// A signal, or the end of whoever holds the other end of standard input.
    StandardInputCloses,
}

impl Until {
    /// As `--until-stdin-closes` says.
    pub(super) fn of(until_stdin_closes: bool) -> Self {
        if until_stdin_closes { Until::StandardInputCloses } else { Until::Signal }
    }
}

pub(super) async fn run(config: &Config, until: Until, output: Output) -> Result<ExitCode, Failure> {
    logging::start(config);
    match serve(config, until, output).await {
        // Whoever reads logs by machine reads this one too.
        Err(Failure(message)) if config.log_format == LogFormat::Json && tracing::enabled!(tracing::Level::ERROR) => {
            tracing::error!("{message}");
            Ok(ExitCode::FAILURE)
        }
        ended => ended,
    }
}

/// A configuration that cannot be used, told as the logs of a server are.
pub(super) fn refused(error: ConfigError) -> Result<ExitCode, Failure> {
    match Config::log_format_alone() {
        LogFormat::Text => Err(error.into()),
        format @ LogFormat::Json => {
            logging::start_for_errors(format);
            tracing::error!("{error}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Opens the listener.
fn bound(config: &Config) -> Result<TcpListener, Failure> {
    let opened = listen::bind(config.listen);
    opened.map_err(|error| Failure(format!("LISTEN: {} cannot be listened on: {error}", config.listen)))
}

async fn serve(config: &Config, until: Until, output: Output) -> Result<ExitCode, Failure> {
    // From the beginning: a satellite waits a while for its hub, and can be told to end meanwhile.
    let mut stop = Box::pin(stop(until));
    // Which port is free is known once it is taken, and a hub signs its address. All others are taken when there is something to serve.
    let early = if config.listen.port() == 0 { Some(bound(config)?) } else { None };
    let listening = early.as_ref().map(TcpListener::local_addr).transpose()?.map(|address| config.listening_at(address));
    let config = listening.as_ref().unwrap_or(config);
    let state = tokio::select! {
        state = boot::boot(config) => state?,
        () = &mut stop => {
            tracing::info!("stopped before it served");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let resources = state.queries.catalog.resources().len();
    listen::raise_file_limit(config.budget.connections());
    let listener = match early {
        Some(listener) => listener,
        None => bound(config)?,
    };
    let address = listener.local_addr()?;
    let metrics = Arc::new(Metrics::default());
    if let Some(address) = config.metrics_listen {
        let listener =
            listen::bind(address).map_err(|error| Failure(format!("METRICS_LISTEN: {address} cannot be listened on: {error}")))?;
        let address = listener.local_addr()?;
        tracing::info!(%address, "serving metrics");
        let limits = listen::Limits::small(config);
        tokio::spawn(listen::serve(listener, metrics.clone().router(), limits, std::future::pending()));
    }
    // Whoever waits for this line may ask from now on, and nothing that can fail comes after it.
    tracing::info!(%address, resources, strategy = config.strategy.as_str(), "serving");
    if output == Output::Json {
        let told =
            json!({ "address": address.to_string(), "url": config.app_url, "strategy": config.strategy.as_str(), "resources": resources });
        print(&told.to_string())?;
    }
    let authenticator = state.authenticator.clone();
    let limits = listen::Limits::new(&state.queries.budgets, config);
    let stop = async move {
        stop.await;
        authenticator.retire();
    };
    // Who asks a second time has no more patience.
    let (asked, again) = tokio::sync::oneshot::channel();
    let stop = async move {
        stop.await;
        _ = asked.send(listen::signal());
    };
    let again = async {
        match again.await {
            Ok(signal) => signal.await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = listen::serve(listener, router::router(state, config, metrics), limits, stop) => {}
        () = again => tracing::warn!("stopped at once, asked a second time; requests in flight were cut off"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Resolves when the server is asked to end; it listens from now on.
fn stop(until: Until) -> impl Future<Output = ()> {
    let signal = listen::signal();
    let closed = (until == Until::StandardInputCloses).then(closed);
    async move {
        match closed {
            None => signal.await,
            Some(closed) => tokio::select! {
                () = signal => {}
                _ = closed => {}
            },
        }
    }
}

/// Resolves at the end of standard input. Reading it blocks a thread, which must be none that the runtime waits for.
fn closed() -> tokio::sync::oneshot::Receiver<()> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        _ = sender.send(());
    });
    receiver
}
