//! `POST …/explain`: for those who may, and without the values of constraints.

use serde_json::{Value, json};

use crate::support::{PLACES, Place};
use crate::{address, fixture, serve};

const PERMISSION: &str = "peristyle.explain";
const TENANT: &str = "aaaaaaaa-0000-4000-8000-000000000001";

// contract E5.4
#[tokio::test]
async fn explain_needs_its_own_permission() {
    for place in PLACES {
        let database = fixture(place).await;
        let server = serve(&database, "full", &[]).await;
        for body in ["", "{", r#"{"query":{"nope":1}}"#] {
            let answer = server.post("/api/shop/customers/explain", body).await;
            assert_eq!(answer.problem(403)["code"], "FORBIDDEN", "{place:?}");
        }
        // And it opens no resource by itself.
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

// contract E5.4, contract Q12.5, contract Q14.2
#[tokio::test]
async fn explain_tells_where_each_predicate_came_from_and_no_constraint_value() {
    for place in PLACES {
        let database = fixture(place).await;
        let server = serve(&database, "clerk", &[PERMISSION]).await;
        let body = json!({
            "query": {"where": {"name": {"iLike": "a%"}}, "relations": {"orders": {"where": {"total": {"gt": "5"}}, "limit": 2}}, "order": [{"field": "country.name"}], "limit": 3},
            "constraint": {"where": {"status": {"eq": "active"}}}
        });
        let answer = server.post("/api/shop/customers/explain", body.to_string()).await;
        let explained = answer.good();
        assert_eq!(explained["resource"], "shop.customer", "{place:?}");
        let levels = explained["levels"].as_array().unwrap();
        let paths: Vec<&str> = levels.iter().map(|level| level["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["", "orders"], "{place:?}");
        for level in levels {
            assert!(level["sql"].as_str().unwrap().starts_with("SELECT") || level["sql"].as_str().unwrap().starts_with("WITH"), "{level}");
            assert!(level["parameters"].as_array().unwrap().iter().all(Value::is_string));
            assert!(level.get("plan").is_none());
        }
        assert!(explained["total"]["sql"].as_str().unwrap().contains("count"), "{place:?}");
        let merged = explained["statement"].to_string();
        assert!(merged.contains("iLike") && merged.contains("active"), "{merged}");
        let all = predicates(&explained);
        let from = |source: &str, resource: &str, word: &str| {
            assert!(
                all.iter().any(|(s, r, sql)| s == source && r == resource && sql.contains(word)),
                "{place:?} {source} {resource} {word}: {all:#?}"
            );
        };
        from("query", "shop.customer", "name");
        from("constraint", "shop.customer", "status");
        from("policy", "shop.customer", "tenant_id");
        from("policy", "shop.customer", "deleted_at");
        from("query", "shop.order", "grand_total");
        from("policy", "shop.order", "deleted_at");
        let text = answer.text();
        assert!(!text.contains(TENANT) && !text.contains("aaaaaaaa"), "{place:?} {text}");
        // Values of the statement are bound, never written.
        assert!(levels.iter().all(|level| !level["sql"].as_str().unwrap().contains("a%")), "{text}");
    }
}

// contract E5.4, contract Q12.5
#[tokio::test]
async fn analyze_adds_the_database_s_own_plan_and_no_constraint_value() {
    for place in PLACES {
        let database = fixture(place).await;
        let server = serve(&database, "clerk", &[PERMISSION]).await;
        let body = r#"{"query":{"relations":{"orders":{"relations":{"lines":true}},"country":true}}}"#;
        let answer = server.post("/api/shop/customers/explain?analyze=true", body).await;
        let explained = answer.good();
        let levels = explained["levels"].as_array().unwrap();
        assert_eq!(levels.len(), 4, "{place:?}");
        for level in levels {
            assert!(level["plan"].as_array().is_some_and(|lines| !lines.is_empty()), "{place:?} {level}");
        }
        if place == Place::Postgres {
            assert!(answer.text().contains("actual"), "it was run");
        }
        assert!(!answer.text().contains("aaaaaaaa"), "{place:?} {}", answer.text());
        // A value that looks like a line of a plan brings no other value along.
        for value in ["x\nY", "x\n  Sort Key: y", "a'b\n->  Seq Scan on z"] {
            let body = serde_json::json!({"query": {"where": {"name": {"eq": value}}}}).to_string();
            let text = server.post("/api/shop/customers/explain?analyze=true", body).await.text();
            assert!(!text.contains("aaaaaaaa"), "{place:?} {text}");
        }
        let text = server.post(&format!("{}/explain?analyze=true", address("org.department")), "").await.text();
        assert!(!text.contains("south"), "{place:?} {text}");
    }
}

// contract E5.4
#[tokio::test]
async fn explain_refuses_what_the_operations_refuse() {
    for place in PLACES {
        let database = fixture(place).await;
        let server = serve(&database, "full", &[PERMISSION]).await;
        let body = r#"{"query":{"where":{"apiKey":{"eq":"x"}},"limit":10001}}"#;
        let (listed, explained) =
            (server.post("/api/shop/customers/list", body).await, server.post("/api/shop/customers/explain", body).await);
        assert_eq!(listed.faults().len(), 2);
        assert_eq!(listed.body, explained.body, "{place:?}");
    }
}
