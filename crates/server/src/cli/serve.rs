//! `peristyle serve`: boots the server, serves, and stops on a signal.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use tokio::net::TcpListener;

use crate::config::{Config, ConfigErrors, LogFormat};
use crate::metrics::Metrics;
use crate::reload::Hangups;
use crate::reload::pid_file::PidFile;
use crate::router::Routes;
use crate::{boot, listen, logging, reload, router};

use super::CommandError;
use super::output::{OutputFormat, print};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopOn {
    Signal,
    /// A signal, or the end of standard input: the parent process holds its other end.
    SignalOrStdinClosed,
}

impl StopOn {
    pub(super) fn of(until_stdin_closes: bool) -> Self {
        if until_stdin_closes { StopOn::SignalOrStdinClosed } else { StopOn::Signal }
    }
}

pub(super) async fn run(config: &Config, stop_on: StopOn, output: OutputFormat) -> Result<ExitCode, CommandError> {
    logging::start(&config.log, config.log_format);
    match serve(config, stop_on, output).await {
        // A program that reads the log as JSON gets this error as JSON too.
        Err(CommandError(message)) if config.log_format == LogFormat::Json && tracing::enabled!(tracing::Level::ERROR) => {
            tracing::error!("{message}");
            Ok(ExitCode::FAILURE)
        }
        result => result,
    }
}

/// Reports invalid settings in the log format of the server.
pub(super) fn log_config_errors(errors: &ConfigErrors) -> Result<ExitCode, CommandError> {
    match Config::log_format_alone() {
        LogFormat::Text => Err(errors.clone().into()),
        format @ LogFormat::Json => {
            logging::start("error", format);
            tracing::error!("{errors}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// A URL that a browser on this machine can open: 0.0.0.0 is an address to listen on, and none to connect to.
fn reachable(url: &str) -> String {
    url.replacen("//0.0.0.0:", "//localhost:", 1).replacen("//[::]:", "//localhost:", 1)
}

fn bind(setting: &str, address: SocketAddr) -> Result<TcpListener, CommandError> {
    listen::bind(address).map_err(|error| CommandError(format!("{setting}: cannot listen on {address}: {error}")))
}

async fn serve(config: &Config, stop_on: StopOn, output: OutputFormat) -> Result<ExitCode, CommandError> {
    // Listen for signals before boot: a satellite waits for its hub, and must stop when asked to.
    let mut stop = Box::pin(stop(stop_on));
    let hangups = Hangups::listen()?;
    let claim = |path: &PathBuf| PidFile::claim(path).map_err(|problem| CommandError(format!("PID_FILE: {problem}")));
    let pid_file = config.pid_file.as_ref().map(claim).transpose()?;
    // Port 0 is bound before boot, because a hub signs its own URL. Every other port is bound when the server is ready.
    let early = if config.listen.port() == 0 { Some(bind("LISTEN", config.listen)?) } else { None };
    let listening = early.as_ref().map(TcpListener::local_addr).transpose()?.map(|address| config.listening_at(address));
    let config = listening.as_ref().unwrap_or(config);
    let state = tokio::select! {
        state = boot::boot(config) => state?,
        () = &mut stop => {
            tracing::info!("stopped during boot");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let resources = state.queries.catalog.resources().len();
    listen::raise_file_limit(config.budget.connections());
    let listener = match early {
        Some(listener) => listener,
        None => bind("LISTEN", config.listen)?,
    };
    let address = listener.local_addr()?;
    let metrics = Arc::new(Metrics::default());
    if let Some(address) = config.metrics_listen {
        let listener = bind("METRICS_LISTEN", address)?;
        let address = listener.local_addr()?;
        tracing::info!(%address, "serving metrics");
        let limits = listen::Limits::small(config);
        tokio::spawn(listen::serve(listener, metrics.clone().router(), limits, std::future::pending()));
    }
    let (authenticator, tracer) = (state.authenticator.clone(), state.tracer.clone());
    let limits = listen::Limits::new(&state.queries.budgets, config);
    let routes = Routes::new(state, config, metrics);
    // Nothing that can fail comes after this line: a program that waits for it can send requests now.
    let docs = format!("{}/docs", reachable(&config.app_url));
    tracing::info!(%address, resources, strategy = config.strategy.as_str(), docs, "serving");
    if output == OutputFormat::Json {
        let (url, strategy) = (&config.app_url, config.strategy.as_str());
        print(
            &json!({ "address": address.to_string(), "url": url, "docs": docs, "strategy": strategy, "resources": resources }).to_string(),
        )?;
    }
    // A second signal stops the server at once.
    let (stopping, second_signal) = tokio::sync::oneshot::channel();
    let reloads = reload::follow(hangups, config, &routes, pid_file.as_ref());
    let stop = async move {
        tokio::select! {
            () = stop => {}
            // A closed terminal ends the server, as it does without reloads.
            () = reloads => {}
        }
        authenticator.retire();
        _ = stopping.send(listen::signal());
    };
    let second_signal = async {
        match second_signal.await {
            Ok(signal) => signal.await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = listen::serve(listener, router::service(&routes), limits, stop) => {
            if let Some(tracer) = tracer {
                tracer.flush().await;
            }
        }
        () = second_signal => tracing::warn!("stopped by a second signal; open requests were aborted"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Resolves when the server has to stop. Signals count from the call on, not from the first poll.
fn stop(stop_on: StopOn) -> impl Future<Output = ()> {
    let signal = listen::signal();
    let closed = (stop_on == StopOn::SignalOrStdinClosed).then(stdin_closed);
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

/// Resolves when standard input closes. Reading blocks, so it has a thread that the runtime does not wait for.
fn stdin_closed() -> tokio::sync::oneshot::Receiver<()> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        _ = sender.send(());
    });
    receiver
}
