//! A materialized view that was never filled: only its resource is not ready.

use serde_json::Value;

use crate::program::Folder;
use crate::support::{Backend, Database, get, post};

const SCRIPT: &str = "CREATE TABLE customers (id bigint PRIMARY KEY, name text NOT NULL); INSERT INTO customers VALUES (1, 'Ana');
    CREATE MATERIALIZED VIEW reports AS SELECT id, name FROM customers WITH NO DATA";
const MANIFEST: &str = "
[resource.shop.customer.fields]
id = { type = \"bigint\", key = true }
name = { type = \"text\", null = false }
[resource.shop.customer.relations]
reports = { many = \"shop.report\", on = { id = \"id\" } }
[resource.shop.report.fields]
id = { type = \"bigint\", key = true }
name = \"text\"
";

// contract E2.10, contract P4.1
#[tokio::test]
async fn an_unfilled_view_is_reported_until_it_is_filled() {
    let folder = Folder::new();
    let database = Database::with(Backend::Postgres, SCRIPT).await;
    folder.write("peristyle.toml", MANIFEST);
    let variables = [("DATABASE_URL", database.url.as_str()), ("DATABASE_READ_URL", &database.url), ("LOG_FORMAT", "json")];
    assert!(folder.run(&["check"], &variables).good().contains("`reports` was never filled"));
    let serving = folder.serve(&variables);
    let with_reports = r#"{"query":{"relations":{"reports":true}}}"#;
    let questions = [
        ("/api/shop/reports/list", ""),
        ("/api/shop/reports/paginate", r#"{"query":{"limit":1}}"#),
        ("/api/shop/reports/find/1", ""),
        ("/api/shop/customers/list", with_reports),
    ];
    for (path, body) in questions {
        let answer = post(path, body).send(serving.address).await;
        let problem = answer.problem(503);
        assert_eq!(problem["code"], "RESOURCE_NOT_READY", "{path}: {problem}");
        assert_eq!(problem["title"], "Resource not ready");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("materialized view")), "{problem}");
        assert_eq!(answer.header("retry-after"), None, "a repeat would not help");
        assert!(!answer.text().contains("reports"), "no word of the database: {}", answer.text());
    }
    let asked = r#"{"query":"{ shopGetReports { id } shopGetCustomers { id } }"}"#;
    let answer = post("/graphql", asked).send(serving.address).await.json();
    assert_eq!(answer["errors"][0]["extensions"]["code"], "RESOURCE_NOT_READY", "{answer}");
    assert_eq!(get("/ready").send(serving.address).await.status(), 200, "the database is there");
    post("/api/shop/customers/list", "").send(serving.address).await.good();
    database.execute("REFRESH MATERIALIZED VIEW reports").await;
    for (path, body) in questions {
        post(path, body).send(serving.address).await.good();
    }
    let log = serving.stop();
    let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let is_the_error =
        |line: &&Value| line["level"] == "ERROR" && line["fields"]["error"].as_str().is_some_and(|error| error.contains("\"reports\""));
    let error =
        lines.iter().find(is_the_error).unwrap_or_else(|| panic!("no such line: {log}"))["fields"]["error"].as_str().expect("a string");
    assert!(error.starts_with("the table is not ready: ") && error.contains("REFRESH MATERIALIZED VIEW"), "{error}");
    assert!(!log.contains("out of reach") && !log.contains("the read replica"), "{log}");
}
