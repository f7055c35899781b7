//! Embeds Peristyle in another program: its routes beside yours, and its callers in your handlers, under every strategy.
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
use peristyle::authenticator::{Authenticator, Caller};
use peristyle::config::Config;
use peristyle::metrics::Metrics;
use peristyle::problem::Problem;
use peristyle::{AppState, boot, listen, logging, router};

/// The state of your handlers. The extractor `Caller` needs Peristyle's authenticator in it.
#[derive(Clone)]
struct Program {
    authenticator: Authenticator,
    greeting: &'static str,
}

impl FromRef<Program> for Authenticator {
    fn from_ref(program: &Program) -> Self {
        program.authenticator.clone()
    }
}

/// Needs no permission. A token that is not valid is refused before this runs.
async fn hello(State(program): State<Program>, caller: Caller) -> String {
    let name = caller.details()["username"].as_str().unwrap_or("stranger");
    format!("{}, {name}", program.greeting)
}

/// Needs one permission: 401 without a token, 403 with a token that lacks it.
async fn report(caller: Caller) -> Result<String, Problem> {
    caller.require("shop.report.get")?;
    Ok(format!("the report, for {}", caller.account().map(|id| id.to_string()).unwrap_or_default()))
}

/// Your routes, and behind them all routes of Peristyle.
pub fn app(state: AppState, config: &Config) -> Router {
    let authenticator = state.authenticator.clone();
    let peristyle = router::router(state, config, Arc::<Metrics>::default());
    Router::new()
        .route("/hello", get(hello))
        .route("/report", get(report))
        .with_state(Program { authenticator, greeting: "Good day" })
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
    logging::start(&config.log, config.log_format);
    let state = boot::boot(&config).await?;
    let listener = listen::bind(config.listen)?;
    let stop = listen::signal();
    tracing::info!(address = %listener.local_addr()?, "serving");
    let limits = listen::Limits::new(&state.queries.budgets, &config);
    listen::serve(listener, app(state, &config), limits, stop).await;
    Ok(())
}
