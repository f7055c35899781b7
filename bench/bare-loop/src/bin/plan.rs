//! Measures the time from a request's bytes to SQL: parse, merge, plan, render. No database, one thread.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use query::catalog::Catalog;
use query::manifest::Manifest;
use query::plan::Operation;
use query::policy::{Viewer, authorize_read};
use query::sql::Dialect;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MANIFEST: &str = include_str!("../../../peristyle.toml");

/// Three filters, one relation filter, one loaded relation, an order.
const TYPICAL: &str = r#"{"query": {
    "where": {
        "country": {"eq": "DE"},
        "name": {"iLike": "ali%"},
        "createdAt": {"gte": "2020-01-01T00:00:00Z"},
        "orders": {"status": {"in": ["paid", "shipped"]}}
    },
    "relations": {"orders": {"order": [{"field": "placedAt", "dir": "desc"}], "limit": 5}},
    "order": [{"field": "createdAt", "dir": "asc"}],
    "limit": 20
}}"#;

/// The best of these rounds counts: other work of the machine can only make a round longer.
const ROUNDS: u32 = 15;
const ROUND: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let catalog = Catalog::resolve(&Manifest::read(MANIFEST)?)?;
    println!("| statement | µs | ns a node |\n|---|---:|---:|");
    let typical = best(&catalog, TYPICAL.as_bytes())?;
    println!("| typical: three filters, a relation filter, a loaded relation, an order (target < 20 µs) | {:.2} | |", micros(typical));
    for nodes in [10, 100, 1000] {
        let time = best(&catalog, of_size(nodes).as_bytes())?;
        println!("| {nodes} nodes of where | {:.2} | {:.0} |", micros(time), micros(time) * 1e3 / f64::from(nodes));
    }
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A statement with this many connectors and operators in its where.
fn of_size(nodes: u32) -> String {
    let leaves: Vec<String> = (1..nodes).map(|number| format!(r#"{{"email":{{"eq":"user{number}@example.com"}}}}"#)).collect();
    format!(r#"{{"query":{{"where":{{"or":[{}]}}}}}}"#, leaves.join(","))
}

/// The time of one pass in the best round.
fn best(catalog: &Catalog, body: &[u8]) -> Result<Duration, Box<dyn Error>> {
    let viewer = Viewer::anonymous();
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut passes = 0;
        while start.elapsed() < ROUND {
            for _ in 0..16 {
                pass(catalog, &viewer, body)?;
            }
            passes += 16;
        }
        best = best.min(start.elapsed() / passes);
    }
    Ok(best)
}

fn pass(catalog: &Catalog, viewer: &Viewer, body: &[u8]) -> Result<(), Box<dyn Error>> {
    let resource = catalog.by_name("shop.customer").ok_or("the manifest has no shop.customer")?;
    let access = authorize_read(catalog, resource, viewer).map_err(|denied| denied.to_string())?;
    let body = query::parse::body(black_box(body))?;
    let statement = match body.constraint {
        Some(constraint) => query::merge::merge(body.query, constraint),
        None => body.query,
    };
    let plan = query::plan::plan(access, statement, Operation::List, None)?;
    black_box(query::sql::render(&plan, Dialect::Postgres));
    Ok(())
}
