//! PostgreSQL's own plan of each level, as lines for people.
//!
//! The plan is read as JSON, and only the parts named here are shown: PostgreSQL folds values into conditions, those of policies among them.
//! Figures of single nodes count rows before the policy's filters, so only people who may read the database itself see them.

use futures_util::TryStreamExt;
use query::sql::{Level, Sql};
use serde_json::Value;
use tokio_postgres::Row;

use crate::Error;
use crate::assemble::{Batch, Keys};
use crate::run::{BatchSize, PlanDetail, below};

use super::rows::{collect, open};
use super::{Connection, Lease, Postgres, bind};

/// How many rows of a level give keys for the level below.
const SAMPLE_ROWS: usize = 256;

const ANALYZED: &str = "ANALYZE, BUFFERS, FORMAT JSON";

/// Conditions of a node, shown by name only.
const CONDITIONS: [&str; 12] = [
    "Index Cond",
    "Recheck Cond",
    "TID Cond",
    "Hash Cond",
    "Merge Cond",
    "Join Filter",
    "Filter",
    "One-Time Filter",
    "Cache Key",
    "Order By",
    "Function Call",
    "Conflict Filter",
];

const FIGURES: [&str; 10] = [
    "Sort Method",
    "Sort Space Used",
    "Hash Buckets",
    "Hash Batches",
    "Peak Memory Usage",
    "Heap Fetches",
    "Exact Heap Blocks",
    "Workers Launched",
    "Shared Hit Blocks",
    "Shared Read Blocks",
];

pub(crate) async fn analyze(postgres: &Postgres, root: &Level, detail: PlanDetail) -> Result<Vec<(String, Vec<String>)>, Error> {
    let mut lease = postgres.lease().await?;
    let document = explain(&mut lease, postgres, ANALYZED, (&root.sql, None)).await?;
    let mut plans = vec![(String::new(), lines(&document, detail))];
    let mut levels = Vec::new();
    if !root.children.is_empty() {
        let batch = lease.step(postgres.timeout, async |connection| sample(connection, root, None, postgres.memory).await).await?;
        levels.push((String::new(), root, batch.pending));
    }
    while let Some((path, level, pending)) = levels.pop() {
        for (keys, child) in pending.into_iter().zip(&level.children) {
            let (path, level) = (below(&path, &child.key), &child.level);
            let document = explain(&mut lease, postgres, ANALYZED, (&level.sql, Some(&keys))).await?;
            plans.push((path.clone(), lines(&document, detail)));
            let batch =
                lease.step(postgres.timeout, async |connection| sample(connection, level, Some(&keys), postgres.memory).await).await?;
            levels.push((path, level, batch.pending));
        }
    }
    Ok(plans)
}

async fn sample(connection: &mut Connection, level: &Level, keys: Option<&Keys>, bytes: usize) -> Result<Batch, tokio_postgres::Error> {
    let first = level.sql.first(SAMPLE_ROWS);
    Ok(collect(level, open(connection, &first, keys).await?, &BatchSize::whole(bytes)).await?.batch)
}

/// The plan of a statement as JSON; null if PostgreSQL returned none.
pub(super) async fn explain(
    lease: &mut Lease,
    postgres: &Postgres,
    options: &str,
    (sql, keys): (&Sql, Option<&Keys>),
) -> Result<Value, Error> {
    let text = format!("EXPLAIN ({options}) {}", sql.text());
    let explain = async |connection: &mut Connection| {
        let rows: Vec<Row> = connection.client.query_typed_raw(&text, bind::typed(sql, keys)).await?.try_collect().await?;
        let document = rows.first().and_then(|row| row.try_get(0).ok());
        Ok(document.unwrap_or_default())
    };
    lease.run(sql, postgres.timeout, explain).await
}

fn lines(document: &Value, detail: PlanDetail) -> Vec<String> {
    let plan = &document[0]["Plan"];
    let mut lines = Vec::new();
    node(plan, 0, detail, &mut lines);
    if let (PlanDetail::Result, Some(first)) = (detail, lines.first_mut()) {
        *first = format!("{first}  (actual rows={})", figure(plan, "Actual Rows"));
    }
    for name in ["Planning Time", "Execution Time"] {
        if let Some(time) = document[0][name].as_f64() {
            lines.push(format!("{name}: {time:.3} ms"));
        }
    }
    lines
}

fn figure(plan: &Value, name: &str) -> f64 {
    plan[name].as_f64().unwrap_or_default()
}

fn node(plan: &Value, depth: usize, detail: PlanDetail, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let text = |name: &str| plan[name].as_str().unwrap_or_default();
    let mut head = format!("{indent}{}{}", if depth > 0 { "->  " } else { "" }, text("Node Type"));
    for (word, name) in [(" using ", "Index Name"), (" on ", "Relation Name"), (" ", "Alias")] {
        if plan[name].is_string() {
            head = format!("{head}{word}{}", text(name));
        }
    }
    if detail == PlanDetail::Figures {
        head += &measured(plan);
    }
    lines.push(head);
    lines.extend(CONDITIONS.iter().filter(|name| !plan[**name].is_null()).map(|name| format!("{indent}      {name}: …")));
    if detail == PlanDetail::Figures {
        lines.extend(figures(plan).map(|line| format!("{indent}      {line}")));
    }
    for child in plan["Plans"].as_array().into_iter().flatten() {
        node(child, depth + 1, detail, lines);
    }
}

fn measured(plan: &Value) -> String {
    let figure = |name: &str| figure(plan, name);
    let expected = format!("  (cost={:.2}..{:.2} rows={})", figure("Startup Cost"), figure("Total Cost"), figure("Plan Rows"));
    if plan["Actual Loops"].as_u64().is_none_or(|loops| loops == 0) {
        return expected;
    }
    let (from, to) = (figure("Actual Startup Time"), figure("Actual Total Time"));
    format!("{expected} (actual time={from:.3}..{to:.3} rows={} loops={})", figure("Actual Rows"), figure("Actual Loops"))
}

fn figures(plan: &Value) -> impl Iterator<Item = String> {
    FIGURES.into_iter().filter_map(move |name| match &plan[name] {
        Value::String(word) => Some(format!("{name}: {word}")),
        Value::Number(number) if number.as_u64() != Some(0) => Some(format!("{name}: {number}")),
        _ => None,
    })
}
