//! The bare loop: what a good engineer would write by hand for the workloads of `bench/`. The driver, prepared
//! statements and a pool behind axum; no language, no policy, no settings.
//!
//! ```text
//! bare-loop ADDRESS DATABASE_URL [loose | writes]
//! ```
//!
//! It sorts rows that are equal by the requested order by their key, as Peristyle does. With `loose` it does not.
//! With `writes` it also answers the workloads of writes, which need the tables of `bench/writes.sql`.

mod connection;
mod encode;
mod shop;
mod writes;

use std::error::Error;
use std::process::ExitCode;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use bytes::Bytes;
use tokio::net::TcpListener;

use connection::{Mode, Pool};
use writes::WriteError;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (address, url, mode) = match arguments[..] {
        [address, url] => (address, url, Mode::Reads),
        [address, url, "loose"] => (address, url, Mode::LooseReads),
        [address, url, "writes", connections] if connections.parse().is_ok_and(|count: usize| count > 0) => {
            (address, url, Mode::Writes(connections.parse().unwrap_or(1)))
        }
        _ => {
            eprintln!(
                "usage: bare-loop ADDRESS DATABASE_URL [loose | writes CONNECTIONS], as in bare-loop 127.0.0.1:4100 postgres://postgres@127.0.0.1/bench"
            );
            return ExitCode::from(2);
        }
    };
    match serve(address, url, mode).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(address: &str, url: &str, mode: Mode) -> Result<(), Box<dyn Error>> {
    let reads = if let Mode::LooseReads = mode { mode } else { Mode::Reads };
    let mut router = Router::new()
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
        .with_state(connection::pool(url, reads)?);
    // Writes have connections of their own, as they have in the server under test.
    if let Mode::Writes(_) = mode {
        let writes = Router::new()
            .route("/u1/{id}", post(|state, Path(id), body| write(state, body, Write::UpdateById(id))))
            .route("/u2", post(|state, body| write(state, body, Write::Create)))
            .route("/u3", post(|state, body| write(state, body, Write::CreateMany)))
            .route("/u4", post(|state, body| write(state, body, Write::UpdateByQuery)))
            .with_state(connection::pool(url, mode)?);
        router = router.merge(writes);
    }
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

/// U1 to U4 of `bench/`.
enum Write {
    UpdateById(i64),
    Create,
    CreateMany,
    UpdateByQuery,
}

/// A write runs to its end if the client goes away. Otherwise its transaction would stay open.
async fn write(State(pool): State<Pool>, body: Bytes, write: Write) -> Response {
    let written = tokio::spawn(changed(pool, body, write)).await;
    written.unwrap_or_else(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response())
}

async fn changed(pool: Pool, body: Bytes, write: Write) -> Response {
    let connection = match pool.get().await {
        Ok(connection) => connection,
        Err(error) => return (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    };
    let (status, json) = match write {
        Write::UpdateById(id) => (StatusCode::OK, writes::update_by_id(&connection, id, &body).await),
        Write::Create => (StatusCode::CREATED, writes::create(&connection, &body).await),
        Write::CreateMany => (StatusCode::CREATED, writes::create_many(&connection, &body).await),
        Write::UpdateByQuery => (StatusCode::OK, writes::update_by_query(&connection, &body).await),
    };
    match json {
        Ok(json) => (status, [(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Err(error @ WriteError::Body(_)) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
