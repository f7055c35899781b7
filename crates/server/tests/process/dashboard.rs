//! The dashboard for Grafana shows only metrics that the server has.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::program::{Folder, MANIFEST};
use crate::slow_statements::metrics_address;
use crate::support::{get, post};

const DASHBOARD: &str = include_str!("../../../../packaging/grafana/peristyle.json");

/// Every string below a key of this name.
fn texts<'v>(value: &'v Value, name: &str, found: &mut Vec<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| texts(item, name, found)),
        Value::Object(entries) => {
            found.extend(entries.get(name).and_then(Value::as_str));
            entries.values().for_each(|value| texts(value, name, found));
        }
        _ => {}
    }
}

fn metrics(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').filter(|word| word.starts_with("peristyle_"))
}

// contract B5.14
#[tokio::test]
async fn every_metric_of_the_dashboard_exists() {
    let folder = Folder::shop();
    let variables = [
        ("OAUTH_STRATEGY", "local-provider"),
        ("METRICS_LISTEN", "127.0.0.1:0"),
        ("LOG_SLOW_STATEMENTS", "1000"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
    ];
    let manifest = MANIFEST.replace("null = false", "null = false, write = true");
    folder.write("peristyle.toml", &format!("[resource.shop.customer.write]\ncreate = true\n{manifest}"));
    folder.run(&["keys", "generate"], &variables).good();
    let mut serving = folder.serve(&variables);
    let address = metrics_address(&mut serving);
    post("/api/shop/customers/list", "").send(serving.address).await;
    assert_eq!(post("/api/shop/customers/create", r#"{"payload": {"name": "Cy"}}"#).send(serving.address).await.status(), 201);
    let text = get("/metrics").send(address).await.text();
    serving.stop();
    let served: BTreeSet<&str> =
        text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split(['{', ' ']).next()).collect();
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let mut expressions = Vec::new();
    texts(&dashboard, "expr", &mut expressions);
    texts(&dashboard, "query", &mut expressions);
    let used: BTreeSet<&str> = expressions.iter().flat_map(|expression| metrics(expression)).collect();
    assert!(used.len() >= 10, "the dashboard shows something: {used:?}");
    let missing: Vec<&&str> = used.difference(&served).collect();
    assert!(missing.is_empty(), "{missing:?} in {served:?}");
    // And every metric of the server is in the guide.
    let guide = include_str!("../../../../docs/guide/operations.md");
    let named: BTreeSet<&str> = metrics(guide).collect();
    for name in served {
        let base = ["_bucket", "_count", "_sum"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(named.contains(base) || named.contains(name), "{name} is not in the guide");
    }
}
