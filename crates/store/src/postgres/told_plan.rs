//! PostgreSQL's plan of a statement as lines for people. It is read as JSON, of which only what is named here is told: the database folds
//! values into conditions, those of policies among them, and in its own text a value with a line break would look like a line of the plan.

use serde_json::Value;

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

/// Figures of a node that depend on no value.
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
pub(super) fn lines(document: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    node(&document[0]["Plan"], 0, &mut lines);
    for name in ["Planning Time", "Execution Time"] {
        if let Some(time) = document[0][name].as_f64() {
            lines.push(format!("{name}: {time:.3} ms"));
        }
    }
    lines
}

fn node(plan: &Value, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let text = |name: &str| plan[name].as_str().unwrap_or_default();
    let mut head = format!("{indent}{}{}", if depth > 0 { "->  " } else { "" }, text("Node Type"));
    for (word, name) in [(" using ", "Index Name"), (" on ", "Relation Name"), (" ", "Alias")] {
        if plan[name].is_string() {
            head = format!("{head}{word}{}", text(name));
        }
    }
    let figure = |name: &str| plan[name].as_f64().unwrap_or_default();
    head = format!("{head}  (cost={:.2}..{:.2} rows={})", figure("Startup Cost"), figure("Total Cost"), figure("Plan Rows"));
    if plan["Actual Loops"].as_u64().is_some_and(|loops| loops > 0) {
        let (from, to) = (figure("Actual Startup Time"), figure("Actual Total Time"));
        head = format!("{head} (actual time={from:.3}..{to:.3} rows={} loops={})", figure("Actual Rows"), figure("Actual Loops"));
    }
    lines.push(head);
    lines.extend(CONDITIONS.iter().filter(|name| !plan[**name].is_null()).map(|name| format!("{indent}      {name}: …")));
    for name in FIGURES {
        match &plan[name] {
            Value::String(word) => lines.push(format!("{indent}      {name}: {word}")),
            Value::Number(number) if number.as_u64() != Some(0) => lines.push(format!("{indent}      {name}: {number}")),
            _ => {}
        }
    }
    for child in plan["Plans"].as_array().into_iter().flatten() {
        node(child, depth + 1, lines);
    }
}
