//! `POST …/explain`: needs a permission, and shows no value of a constraint.

use std::fmt::Write;

use query::policy::Viewer;
use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Database, Setup};
use crate::{address, fixture, serve};

const PERMISSION: &str = "peristyle.explain";
const TENANT: &str = "aaaaaaaa-0000-4000-8000-000000000001";

// contract E5.4
#[tokio::test]
async fn explain_needs_its_own_permission() {
    for backend in BACKENDS {
        let database = fixture(backend).await;
        let server = serve(&database, "full", &[]).await;
        for body in ["", "{", r#"{"query":{"nope":1}}"#] {
            let answer = server.post("/api/shop/customers/explain", body).await;
            assert_eq!(answer.problem(403)["code"], "FORBIDDEN", "{backend:?}");
        }
        // It grants no access to a resource.
        let server = serve(&database, "anonymous", &[PERMISSION]).await;
        server.post("/api/shop/customers/explain", "").await.problem(403);
        server.post("/api/shop/countries/explain", "").await.good();
    }
}

fn predicates(explained: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let levels = explained["levels"].as_array().expect("levels").iter();
    levels
        .flat_map(|level| level["predicates"].as_array().expect("predicates"))
        .map(|predicate| (text(&predicate["source"]), text(&predicate["resource"]), text(&predicate["sql"])))
        .collect()
}

/// The numbers of the parameters in SQL, each once, in the order of the text.
fn numbers(sql: &str, backend: Backend) -> Vec<usize> {
    let sign = if backend == Backend::Postgres { '$' } else { '?' };
    let mut numbers = Vec::new();
    for part in sql.split(sign).skip(1) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let number = digits.parse().unwrap_or_else(|_| panic!("no number in {sql}"));
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers
}

// contract E5.4
#[tokio::test]
async fn a_predicate_has_the_numbers_of_its_parameters_in_the_sql_of_its_level() {
    for backend in BACKENDS {
        let database = fixture(backend).await;
        let server = serve(&database, "clerk", &[PERMISSION]).await;
        // Equal values in different places, lists, a relation filter, a joined order, and a limit.
        let query = json!({
            "where": {
                "name": {"iLike": "a%"},
                "status": {"in": ["active", "lead"]},
                "or": [{"name": {"eq": "a%"}}, {"name": {"eq": "b"}}],
                "orders": {"total": {"between": ["5", "50"]}}
            },
            "relations": {"orders": {"where": {"total": {"gt": "5"}}, "limit": 2}},
            "order": [{"field": "country.name"}],
            "limit": 5,
            "offset": 2
        });
        let body = json!({ "query": query, "constraint": {"where": {"status": {"eq": "active"}}} });
        let explained = server.post("/api/shop/customers/explain", body.to_string()).await.good();
        let mut seen = 0;
        for level in explained["levels"].as_array().unwrap() {
            let (sql, kinds) = (level["sql"].as_str().unwrap(), level["parameters"].as_array().unwrap());
            assert_eq!(numbers(sql, backend).len(), kinds.len(), "{sql}");
            for predicate in level["predicates"].as_array().unwrap() {
                let text = predicate["sql"].as_str().unwrap();
                let numbers = numbers(text, backend);
                let named: Vec<&Value> = numbers.iter().map(|number| &kinds[number - 1]).collect();
                assert_eq!(json!(named), predicate["parameters"], "{backend:?}: {text} in {sql}");
                // A relation filter may have another form in the SQL.
                if !text.contains("EXISTS") && !text.contains(" IN (SELECT") {
                    assert!(sql.contains(text), "{backend:?}: {text} in {sql}");
                }
                seen += numbers.len();
            }
        }
        assert!(seen >= 8, "{backend:?}: {explained:#}");
    }
}

// contract E5.4, contract Q12.5, contract Q14.2
#[tokio::test]
async fn explain_shows_the_source_of_each_predicate_and_no_constraint_value() {
    for backend in BACKENDS {
        let database = fixture(backend).await;
        let server = serve(&database, "clerk", &[PERMISSION]).await;
        let body = json!({
            "query": {"where": {"name": {"iLike": "a%"}}, "relations": {"orders": {"where": {"total": {"gt": "5"}}, "limit": 2}}, "order": [{"field": "country.name"}], "limit": 3},
            "constraint": {"where": {"status": {"eq": "active"}}}
        });
        let answer = server.post("/api/shop/customers/explain", body.to_string()).await;
        let explained = answer.good();
        assert_eq!(explained["resource"], "shop.customer", "{backend:?}");
        let levels = explained["levels"].as_array().unwrap();
        let paths: Vec<&str> = levels.iter().map(|level| level["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["", "orders"], "{backend:?}");
        for level in levels {
            assert!(level["sql"].as_str().unwrap().starts_with("SELECT") || level["sql"].as_str().unwrap().starts_with("WITH"), "{level}");
            assert!(level["parameters"].as_array().unwrap().iter().all(Value::is_string));
            assert!(level.get("plan").is_none());
        }
        assert!(explained["total"]["sql"].as_str().unwrap().contains("count"), "{backend:?}");
        let merged = explained["statement"].to_string();
        assert!(merged.contains("iLike") && merged.contains("active"), "{merged}");
        let all = predicates(&explained);
        let from = |source: &str, resource: &str, word: &str| {
            assert!(
                all.iter().any(|(s, r, sql)| s == source && r == resource && sql.contains(word)),
                "{backend:?} {source} {resource} {word}: {all:#?}"
            );
        };
        from("query", "shop.customer", "name");
        from("constraint", "shop.customer", "status");
        from("policy", "shop.customer", "tenant_id");
        from("policy", "shop.customer", "deleted_at");
        from("query", "shop.order", "grand_total");
        from("policy", "shop.order", "deleted_at");
        let text = answer.text();
        assert!(!text.contains(TENANT) && !text.contains("aaaaaaaa"), "{backend:?} {text}");
        // Values of the statement are bound, never part of the SQL.
        assert!(levels.iter().all(|level| !level["sql"].as_str().unwrap().contains("a%")), "{text}");
    }
}

// contract E5.4, contract Q12.5
#[tokio::test]
async fn analyze_adds_the_plan_of_the_database_and_no_constraint_value() {
    for backend in BACKENDS {
        let database = fixture(backend).await;
        let server = serve(&database, "clerk", &[PERMISSION]).await;
        let body = r#"{"query":{"relations":{"orders":{"relations":{"lines":true}},"country":true}}}"#;
        let answer = server.post("/api/shop/customers/explain?analyze=true", body).await;
        let explained = answer.good();
        let levels = explained["levels"].as_array().unwrap();
        assert_eq!(levels.len(), 4, "{backend:?}");
        for level in levels {
            assert!(level["plan"].as_array().is_some_and(|lines| !lines.is_empty()), "{backend:?} {level}");
        }
        if backend == Backend::Postgres {
            assert!(answer.text().contains("actual"), "it was run");
        }
        assert!(!answer.text().contains("aaaaaaaa"), "{backend:?} {}", answer.text());
        // A value that looks like a line of a plan shows no other value.
        for value in ["x\nY", "x\n  Sort Key: y", "a'b\n->  Seq Scan on z"] {
            let body = serde_json::json!({"query": {"where": {"name": {"eq": value}}}}).to_string();
            let text = server.post("/api/shop/customers/explain?analyze=true", body).await.text();
            assert!(!text.contains("aaaaaaaa"), "{backend:?} {text}");
        }
        let text = server.post(&format!("{}/explain?analyze=true", address("org.department")), "").await.text();
        assert!(!text.contains("south"), "{backend:?} {text}");
    }
}

// contract E5.4
#[tokio::test]
async fn explain_refuses_what_the_operations_refuse() {
    for backend in BACKENDS {
        let database = fixture(backend).await;
        let server = serve(&database, "full", &[PERMISSION]).await;
        let body = r#"{"query":{"where":{"apiKey":{"eq":"x"}},"limit":10001}}"#;
        let (listed, explained) =
            (server.post("/api/shop/customers/list", body).await, server.post("/api/shop/customers/explain", body).await);
        assert_eq!(listed.faults().len(), 2);
        assert_eq!(listed.body, explained.body, "{backend:?}");
    }
}

/// An explained statement without times, which differ from run to run, and without the side of a join that is hashed.
fn settled(mut explained: Value) -> String {
    for level in explained["levels"].as_array_mut().expect("levels") {
        let lines = level["plan"].as_array().expect("a plan").iter().filter_map(Value::as_str);
        let mut lines: Vec<String> = lines.filter(|line| !line.contains(" Time: ")).map(|line| line.trim().to_owned()).collect();
        lines.sort();
        level["plan"] = json!(lines);
    }
    explained.to_string()
}

// contract E5.7, contract P2.10, attack 72
#[tokio::test]
async fn analyze_shows_nothing_of_invisible_rows() {
    let manifest = "
[resource.shop.customer]
constraint = { where = { tenant = { eq = \"$account.meta.tenant\" } } }
[resource.shop.customer.fields]
id = { type = \"int\", key = true }
tenant = \"int\"
name = \"text\"
[resource.shop.customer.relations]
orders = { many = \"shop.order\", on = { id = \"customerId\" } }
[resource.shop.order]
constraint = { where = { customer = {} } }
soft-delete = \"deletedAt\"
[resource.shop.order.fields]
id = \"int\"
customerId = \"int\"
deletedAt = \"text\"
[resource.shop.order.relations]
customer = { one = \"shop.customer\", on = { customerId = \"id\" } }
";
    for backend in BACKENDS {
        let mut told = Vec::new();
        for others in [3, 2_000] {
            let mut script = "CREATE TABLE customers (id integer PRIMARY KEY, tenant integer, name text); CREATE TABLE orders (id integer, customer_id integer, deleted_at text);".to_owned();
            for (tenant, count) in [(1, 20), (2, others)] {
                let ids = format!("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {count})");
                let id = format!("x + {}", tenant * 100_000);
                _ = write!(script, "INSERT INTO customers {ids} SELECT {id}, {tenant}, 'n' || (x % 3) FROM n;");
                for deleted in if tenant == 1 { &["NULL"][..] } else { &["NULL", "'x'"] } {
                    _ = write!(script, "INSERT INTO orders {ids} SELECT x, {id}, {deleted} FROM n;");
                }
            }
            let database = Database::with(backend, &script).await;
            let mut setup = Setup::new(manifest);
            setup.viewer = Some(Viewer::new([PERMISSION.to_owned()], json!({ "meta": { "tenant": 1 } })));
            if backend == Backend::Postgres {
                database.execute("ANALYZE").await;
                // Node types depend on the expected number of rows; here the planner has no choice.
                for setting in ["indexscan", "bitmapscan", "mergejoin", "nestloop"] {
                    database.execute(&format!("ALTER DATABASE {} SET enable_{setting} = off", database.name())).await;
                }
            }
            let server = setup.serve(&database).await;
            for body in [
                json!({ "query": { "order": [{ "field": "name" }], "limit": 5, "relations": { "orders": true } } }),
                json!({ "query": { "where": { "orders": { "id": { "gt": 0 } } } } }),
                json!({ "query": { "aggregation": { "fields": [{ "fn": "count", "field": "*" }], "groupBy": ["name"] } } }),
            ] {
                let explained = server.post("/api/shop/customers/explain?analyze=true", body.to_string()).await.good();
                let rows = explained["levels"][0]["plan"][0].as_str().expect("a plan").contains("actual rows=");
                assert_eq!(rows, backend == Backend::Postgres, "how many rows came out is shown: {explained}");
                told.push(settled(explained));
            }
        }
        let (few, many) = told.split_at(3);
        for (few, many) in few.iter().zip(many) {
            assert_eq!(few, many, "{backend:?}");
            for word in ["cost=", "loops=", "Removed", "Blocks", "Buckets", "Space Used", "Memory", "time="] {
                assert!(!many.contains(word), "{word} in {many}");
            }
        }
    }
}

// contract P2.12
#[tokio::test]
async fn a_permission_lifts_a_constraint_and_explain_names_it() {
    for backend in BACKENDS {
        let database = fixture(backend).await;
        let bound = serve(&database, "clerk", &[PERMISSION]).await;
        let free = serve(&database, "clerk", &[PERMISSION, "org.department.all"]).await;
        let count = r#"{"query":{"aggregation":{"fields":[{"fn":"count","field":"*"}]}}}"#;
        let counts =
            [bound.post("/api/org/departments/list", count).await.good(), free.post("/api/org/departments/list", count).await.good()];
        assert!(counts[0][0]["count"].as_i64() < counts[1][0]["count"].as_i64(), "{backend:?}: {counts:?}");
        let lifted = |explained: &Value| {
            let predicates = explained["levels"][0]["predicates"].as_array().expect("predicates").clone();
            predicates.into_iter().find(|predicate| predicate["unless"] == "org.department.all")
        };
        assert_eq!(lifted(&bound.post("/api/org/departments/explain", "{}").await.good()), None, "{backend:?}");
        let predicate = lifted(&free.post("/api/org/departments/explain", "{}").await.good()).expect("the permission");
        assert_eq!((&predicate["source"], &predicate["resource"]), (&json!("policy"), &json!("org.department")), "{backend:?}");
    }
}
