//! PostgreSQL's plan of a statement as lines for people. It is read as JSON, of which only what is named here is told: the database folds
//! values into conditions, those of policies among them, and in its own text a value with a line break would look like a line of the plan.
//! Figures of single nodes count rows from before the policy's filters, and estimates come from statistics of all rows: only people who may
//! read the database itself are shown them.

use serde_json::Value;

use crate::run::PlanDetail;

/// Conditions that a node may have: that it has them is told, what they say is not.
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

/// Figures of a node.
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

/// The lines of what `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)` answered.
pub(super) fn lines(document: &Value, detail: PlanDetail) -> Vec<String> {
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

/// What was expected of a node and what became of it.
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
