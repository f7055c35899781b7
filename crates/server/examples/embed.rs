//! Peristyle inside a program of your own: its routes beside yours, and its accounts in your handlers, whatever the strategy.
//!
//! ```sh
//! cargo run --example embed                                   # as `none`: /hello is open, /report is 403
//! OAUTH_STRATEGY=local-provider cargo run --example embed     # /report is 401 without a token, 403 without the permission
//! ```

use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::routing::get;
use peristyle::authenticator::Caller;
use peristyle::config::Config;
use peristyle::metrics::Metrics;
use peristyle::problem::Problem;
use peristyle::{Service, boot};
use peristyle::{listen, router, telemetry};

/// Whatever your handlers need; Peristyle's service is a part of it.
#[derive(Clone)]
struct App {
    service: Service,
    greeting: &'static str,
}

impl FromRef<App> for Service {
    fn from_ref(app: &App) -> Self {
        app.service.clone()
    }
}

/// Everybody may: without a token the caller is nobody, and a token that is not good is refused before this runs.
async fn hello(State(app): State<App>, caller: Caller) -> String {
    let name = caller.details()["username"].as_str().unwrap_or("stranger");
    format!("{}, {name}", app.greeting)
}

/// One permission is needed: 401 without a token, 403 with one that lacks it.
async fn report(caller: Caller) -> Result<String, Problem> {
    caller.require("shop.report.get")?;
    Ok(format!("the report, for {}", caller.account().map(|id| id.to_string()).unwrap_or_default()))
}

/// Your routes, and behind them everything that Peristyle serves.
pub fn app(service: Service, config: &Config) -> Router {
    let peristyle = router::router(service.clone(), config, Arc::<Metrics>::default());
    Router::new()
        .route("/hello", get(hello))
        .route("/report", get(report))
        .with_state(App { service, greeting: "Good day" })
        .fallback_service(peristyle)
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("embed: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::from_environment()?;
    logging::start(&config);
    let service = boot::boot(&config).await?;
    let listener = listen::bind(config.listen)?;
    let stop = listen::signal();
    tracing::info!(address = %listener.local_addr()?, "serving");
    let limits = listen::Limits::new(&service.budgets, &config);
    listen::serve(listener, app(service, &config), limits, stop).await;
    Ok(())
}
