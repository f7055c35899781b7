//! The bare loop: what a good engineer would write by hand for the workloads of `bench/`. The driver, prepared
//! statements and a pool behind axum; no language, no policy, no settings.
//!
//! ```text
//! bare-loop ADDRESS DATABASE_URL [loose]
//! ```
//!
//! It sorts rows that are equal by the requested order by their key, as Peristyle does. With `loose` it does not.

mod connection;
mod encode;
mod shop;

use std::error::Error;
use std::process::ExitCode;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use bytes::Bytes;
use tokio::net::TcpListener;

use connection::{Pool, Ties};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (address, url, ties) = match arguments[..] {
        [address, url] => (address, url, Ties::ByKey),
        [address, url, "loose"] => (address, url, Ties::Loose),
        _ => {
            eprintln!("usage: bare-loop ADDRESS DATABASE_URL [loose], as in bare-loop 127.0.0.1:4100 postgres://postgres@127.0.0.1/bench");
            return ExitCode::from(2);
        }
    };
    match serve(address, url, ties).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(address: &str, url: &str, ties: Ties) -> Result<(), Box<dyn Error>> {
    let router = Router::new()
        .route("/ready", get(async || StatusCode::OK))
        .route("/w1", post(|state, body| answer(state, body, Workload::FilteredPage)))
        .route("/w2", post(|state, body| answer(state, body, Workload::PageWithTotal)))
        .route("/w3", post(|state, body| answer(state, body, Workload::ThreeLevels)))
        .route("/w4", post(|state, body| answer(state, body, Workload::Aggregation)))
        .route("/d1", post(|state, body| answer(state, body, Workload::DerivedCounts)))
        .route("/d2", post(|state, body| answer(state, body, Workload::DerivedSum)))
        .route("/d3", post(|state, body| answer(state, body, Workload::FirstKeysetPage)))
        .route("/d3-50", post(|state, body| answer(state, body, Workload::KeysetPageBehindHalf)))
        .route("/d3-99", post(|state, body| answer(state, body, Workload::KeysetPageBehindMost)))
        .route("/d4", post(|state, body| answer(state, body, Workload::Months)))
        .with_state(connection::pool(url, ties)?);
    let listener = TcpListener::bind(address).await?.tap_io(|stream| {
        // Only faster: the answers do not depend on it.
        _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}

/// W1 to W4 and D1 to D4 of `bench/`.
enum Workload {
    FilteredPage,
    PageWithTotal,
    ThreeLevels,
    Aggregation,
    DerivedCounts,
    DerivedSum,
    FirstKeysetPage,
    KeysetPageBehindHalf,
    KeysetPageBehindMost,
    Months,
}

/// Reads the body, as any server must, and ignores it: there is only one question here.
async fn answer(State(pool): State<Pool>, _body: Bytes, workload: Workload) -> Response {
    let connection = match pool.get().await {
        Ok(connection) => connection,
        Err(error) => return (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    };
    let json = match workload {
        Workload::FilteredPage => shop::filtered_page(&connection).await,
        Workload::PageWithTotal => shop::page_with_total(&connection).await,
        Workload::ThreeLevels => shop::three_levels(&connection).await,
        Workload::Aggregation => shop::aggregation(&connection).await,
        Workload::DerivedCounts => shop::derived_counts(&connection).await,
        Workload::DerivedSum => shop::derived_sum(&connection).await,
        Workload::FirstKeysetPage => shop::keyset_page(&connection, None).await,
        Workload::KeysetPageBehindHalf => shop::keyset_page(&connection, Some((1_687_995_200, 500_000))).await,
        Workload::KeysetPageBehindMost => shop::keyset_page(&connection, Some((1_734_055_200, 500_000))).await,
        Workload::Months => shop::months(&connection).await,
    };
    match json {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
