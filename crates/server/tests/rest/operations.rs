//! Every operation and its answer.

use serde_json::json;

use crate::support::{BACKENDS, Backend, Setup, shop};

// contract E1.1, contract E1.2, contract Q9.1, contract Q1.2
#[tokio::test]
async fn paginate_answers_a_page_with_its_total_and_count() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let page = async |query: &str| server.post("/api/shop/customers/paginate", format!("{{\"query\":{query}}}")).await.good();
        let first = page(r#"{"order":[{"field":"id"}],"limit":2}"#).await;
        assert_eq!((&first["total"], &first["count"]), (&json!(3), &json!(2)), "{backend:?}");
        assert_eq!([&first["rows"][0]["id"], &first["rows"][1]["id"]], [&json!(1), &json!(2)], "{backend:?}");
        let last = page(r#"{"order":[{"field":"id"}],"limit":2,"offset":2}"#).await;
        assert_eq!((&last["total"], &last["count"], &last["rows"][0]["id"]), (&json!(3), &json!(1), &json!(3)), "{backend:?}");
        assert_eq!(page(r#"{"limit":0}"#).await, json!({"total": 3, "count": 0, "rows": []}), "{backend:?}");
        assert_eq!(page(r#"{"limit":5,"offset":99}"#).await, json!({"total": 3, "count": 0, "rows": []}), "{backend:?}");
        assert_eq!(page(r#"{"offset":99}"#).await, json!({"total": 3, "count": 0, "rows": []}), "{backend:?}");
        let all = page("{}").await;
        assert_eq!((&all["total"], &all["count"]), (&json!(3), &json!(3)), "{backend:?}");
        let none = page(r#"{"where":{"id":{"lt":0}}}"#).await;
        assert_eq!(none, json!({"total": 0, "count": 0, "rows": []}), "{backend:?}");
    }
}

// contract E1.3, contract Q13.1
#[tokio::test]
async fn get_answers_the_same_as_list() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let body = r#"{"query":{"where":{"id":{"lte":2}},"order":[{"field":"id","dir":"desc"}],"relations":{"orders":{"order":[{"field":"id"}]}}}}"#;
        let list = server.post("/api/shop/customers/list", body).await;
        let got = server.post("/api/shop/customers/get", body).await;
        assert_eq!(list.body, got.body, "{backend:?}");
        assert_eq!(list.header("content-type"), Some("application/json"));
        let rows = list.good();
        assert_eq!(rows.as_array().map(Vec::len), Some(2));
        assert_eq!(rows[0]["orders"], json!([]));
        assert_eq!(rows[1]["orders"], json!([{"id": 10, "customerId": 1, "total": "19.99"}, {"id": 11, "customerId": 1, "total": "5.00"}]));
    }
}

// contract Q13.2, contract Q13.3, contract Q13.4, contract P2.3, contract P2.4, contract P1.1, trap 9, trap 10
#[tokio::test]
async fn a_row_is_the_same_text_on_both_databases() {
    let mut answers = Vec::new();
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let answer = server.post("/api/shop/customers/list", r#"{"query":{"order":[{"field":"id"}],"limit":5}}"#).await;
        let rows = answer.good();
        assert_eq!(
            rows[0],
            json!({
                "id": 1, "name": "Ana", "email": "a***@example.org", "status": "active", "visits": 3, "balance": "10.50", "score": 0.5,
                "isVip": true, "bornOn": "1990-02-28", "wakesAt": "06:30:00", "createdAt": "2024-05-01T10:00:00.25Z",
                "code": "aaaaaaaa-0000-4000-8000-000000000001", "tags": ["new", "vip"], "profile": {"a": 1}
            }),
            "{backend:?}"
        );
        assert_eq!(rows[2]["name"], "Çelik \"Ç\" O'Neil \\", "{backend:?}");
        assert_eq!((&rows[2]["wakesAt"], &rows[2]["createdAt"]), (&json!("23:59:59.5"), &json!("1999-12-31T23:59:59Z")), "{backend:?}");
        assert!(!answer.text().contains("key-of"), "a hidden field is out");
        answers.push(answer.text().replace(": ", ":").replace(", ", ","));
    }
    assert_eq!(answers[0], answers[1]);
}

// contract E1.3
#[tokio::test]
async fn find_answers_the_first_row_or_404() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let find = async |query: &str| server.post("/api/shop/orders/find", format!("{{\"query\":{query}}}")).await;
        let row = find(r#"{"where":{"customerId":{"eq":1}},"order":[{"field":"total","dir":"desc"}],"relations":{"customer":true}}"#)
            .await
            .good();
        assert_eq!((&row["id"], &row["customer"]["name"]), (&json!(10), &json!("Ana")), "{backend:?}");
        let none = find(r#"{"where":{"id":{"eq":999}}}"#).await.problem(404);
        assert_eq!((&none["code"], &none["detail"]), (&json!("NOT_FOUND"), &json!("there is no such row")), "{backend:?}");
        find(r#"{"offset":50}"#).await.problem(404);
        find(r#"{"limit":0}"#).await.problem(404);
        assert_eq!(find(r#"{"order":[{"field":"id"}],"offset":1,"limit":10000}"#).await.good()["id"], 11, "{backend:?}");
    }
}

// contract E1.4
#[tokio::test]
async fn find_by_id_answers_the_row_with_that_key_or_404() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let find = async |id: &str, body: &str| server.post(&format!("/api/shop/customers/find/{id}"), body).await;
        assert_eq!(find("1", "").await.good()["name"], "Ana", "{backend:?}");
        assert_eq!(find("%31", "{}").await.good()["name"], "Ana", "an encoded id is decoded");
        let loaded = find("1", r#"{"query":{"relations":{"orders":{"where":{"total":{"gt":"6"}}}}}}"#).await.good();
        assert_eq!(loaded["orders"][0]["id"], 10, "{backend:?}");
        assert_eq!(find("7", "").await.problem(404)["code"], "NOT_FOUND");
        // The conditions of the statement apply here too.
        find("1", r#"{"query":{"where":{"name":{"eq":"Bo"}}}}"#).await.problem(404);
        find("1", r#"{"constraint":{"where":{"name":{"eq":"Bo"}}}}"#).await.problem(404);
        for id in ["9223372036854775807", "-9223372036854775808"] {
            find(id, "").await.problem(404);
        }
    }
}

// contract E1.4
#[tokio::test]
async fn an_id_that_does_not_fit_the_key_is_refused_at_id() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for id in ["abc", "1.5", "9223372036854775808", "1,2", "%20", "null", "1e400", "%00", "0x1", "%27%3B--", "%22"] {
            let answer = server.post(&format!("/api/shop/customers/find/{id}"), "").await;
            assert_eq!(answer.fault(), ("QS313".to_owned(), "/id".to_owned()), "{backend:?} {id}");
        }
        for id in ["10", "10,a,b,c", "x,plain", ","] {
            let answer = server.post(&format!("/api/shop/order-lines/find/{id}"), "").await;
            assert_eq!(answer.fault(), ("QS313".to_owned(), "/id".to_owned()), "{backend:?} {id}");
        }
        // Faults of the statement are listed with it.
        let both = server.post("/api/shop/customers/find/abc", r#"{"query":{"limit":-1}}"#).await.faults();
        assert_eq!(both.len(), 2, "{both:?}");
    }
}

// contract E1.4, contract E2.1
#[tokio::test]
async fn an_id_that_is_not_utf8_is_refused() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for path in ["customers/find/%FF", "customers/find/%C3%28", "order-lines/find/x,%FF"] {
            let answer = server.post(&format!("/api/shop/{path}"), "").await;
            assert_eq!(answer.fault(), ("QS313".to_owned(), "/id".to_owned()), "{backend:?} {path}");
        }
        // A key of type text may be any string in UTF-8.
        let answer = server.post("/api/shop/order-lines/find/10,%FF", "").await;
        assert_eq!(answer.fault(), ("QS313".to_owned(), "/id".to_owned()), "{backend:?}");
    }
}

// contract E1.4, contract P1.4
#[tokio::test]
async fn a_composite_key_is_written_with_a_comma() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for (id, quantity) in [("10,plain", 2), ("10,a%2Cb", 1), ("11,%C3%91u%2F1", 3)] {
            let row = server.post(&format!("/api/shop/order-lines/find/{id}"), "").await.good();
            assert_eq!(row["quantity"], quantity, "{backend:?} {id}");
        }
        server.post("/api/shop/order-lines/find/11,plain", "").await.problem(404);
    }
}

// contract P1.4
#[tokio::test]
async fn a_resource_without_a_key_has_no_find_by_id() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let problem = server.post("/api/shop/notes/find/1", "").await.problem(404);
        assert_eq!(problem["code"], "NOT_FOUND", "{backend:?}");
        assert_eq!(server.post("/api/shop/notes/find", r#"{"query":{"order":[{"field":"at"}]}}"#).await.good()["text"], "first");
    }
}

// contract Q10.9, contract Q10.11
#[tokio::test]
async fn every_operation_answers_an_aggregation() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let body = r#"{"query":{"aggregation":{"fields":[{"fn":"count","field":"*"},{"fn":"sum","field":"total"}],"groupBy":["customerId"]},"order":[{"field":"customerId"}],"limit":2}}"#;
        let groups = json!([{"customerId": 1, "count": 2, "sum_total": "24.99"}, {"customerId": 3, "count": 1, "sum_total": null}]);
        let ask = async |operation: &str| server.post(&format!("/api/shop/orders/{operation}"), body).await.good();
        assert_eq!(ask("list").await, groups, "{backend:?}");
        assert_eq!(ask("paginate").await, json!({"total": 3, "count": 2, "rows": groups}), "{backend:?}");
        assert_eq!(ask("find").await, groups[0], "{backend:?}");
        let one = r#"{"query":{"where":{"id":{"lt":0}},"aggregation":{"fields":[{"fn":"count","field":"*","as":"n"}]}}}"#;
        let page = server.post("/api/shop/orders/paginate", one).await.good();
        assert_eq!(page, json!({"total": 1, "count": 1, "rows": [{"n": 0}]}), "{backend:?}");
    }
}

// contract Q12.1, contract Q12.2, contract Q12.3, contract Q12.4
#[tokio::test]
async fn a_constraint_on_the_wire_narrows_and_never_widens() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let ids = async |body: &str| -> Vec<i64> {
            let rows = server.post("/api/shop/customers/list", body).await.good();
            rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
        };
        let query = r#""query":{"where":{"id":{"gte":2}},"order":[{"field":"id"}],"limit":2}"#;
        assert_eq!(ids(&format!("{{{query}}}")).await, [2, 3], "{backend:?}");
        assert_eq!(ids(&format!(r#"{{{query},"constraint":{{"where":{{"id":{{"lte":2}}}}}}}}"#)).await, [2]);
        assert_eq!(ids(&format!(r#"{{{query},"constraint":{{"where":{{"or":[{{"id":{{"eq":1}}}},{{"id":{{"eq":3}}}}]}}}}}}"#)).await, [3]);
        assert_eq!(ids(&format!(r#"{{{query},"constraint":{{"limit":1}}}}"#)).await, [2]);
        assert_eq!(ids(&format!(r#"{{{query},"constraint":{{"limit":9,"offset":1}}}}"#)).await, [2, 3]);
        assert_eq!(ids(&format!(r#"{{{query},"constraint":null}}"#)).await, [2, 3]);
        let refused = server.post("/api/shop/customers/list", r#"{"constraint":{"where":{"nope":{"eq":1}}}}"#).await;
        assert_eq!(refused.fault(), ("QS302".to_owned(), "/constraint/where/nope".to_owned()), "{backend:?}");
        let refused =
            server.post("/api/shop/customers/list", r#"{"constraint":{"aggregation":{"fields":[{"fn":"count","field":"*"}]}}}"#).await;
        assert_eq!(refused.fault().1, "/constraint/aggregation", "{backend:?}");
        let relations = r#"{"query":{"where":{"id":{"eq":1}},"relations":{"orders":{"order":[{"field":"id"}]}}},"constraint":{"relations":{"orders":{"limit":1}}}}"#;
        let rows = server.post("/api/shop/customers/list", relations).await.good();
        assert_eq!(rows[0]["orders"].as_array().map(Vec::len), Some(1), "{backend:?}");
    }
}

// contract E5.5
#[tokio::test]
async fn metrics_count_the_requests_of_each_resource_over_rest_and_graphql() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        server.post("/api/shop/items/find", "").await.good();
        server.post("/api/shop/items/find", "[]").await.problem(400);
        server.post("/api/shop/unknown/find", "").await.problem(404);
        server.post("/graphql", r#"{"query":"{ a: shopFindItem { id } b: shopFindItem { id } shopFindNote { at } }"}"#).await.good();
        let text = server.metrics_text();
        for line in [
            "peristyle_resource_requests_total{resource=\"shop.item\",status=\"2xx\"} 2",
            "peristyle_resource_requests_total{resource=\"shop.item\",status=\"4xx\"} 1",
            "peristyle_resource_requests_total{resource=\"shop.note\",status=\"2xx\"} 1",
            "peristyle_resource_request_duration_seconds_count{resource=\"shop.item\"} 3",
            "peristyle_pool_connections{pool=\"primary\",state=\"in_use\"} ",
            "peristyle_pool_connections{pool=\"primary\",state=\"idle\"} ",
            "peristyle_pool_waiting{pool=\"primary\"} 0",
        ] {
            assert!(text.contains(line), "{backend:?}: {line} in {text}");
        }
        assert!(!text.contains("unknown"), "{backend:?}: {text}");
    }
}

// contract E1.6
#[tokio::test]
async fn fields_narrows_what_rows_show() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let post = async |path: &str, query: &str| server.post(path, format!("{{\"query\":{query}}}")).await;
        let list = post("/api/shop/customers/list?fields=name,id", r#"{"where":{"id":{"eq":1}}}"#).await.good();
        assert_eq!(list, json!([{"id": 1, "name": "Ana"}]), "{backend:?}");
        // A mask stays, and a relation needs its key without showing it.
        let page = post(
            "/api/shop/customers/paginate?fields=email,orders.total",
            r#"{"where":{"id":{"eq":1}},"relations":{"orders":{"order":[{"field":"id"}]}}}"#,
        );
        let expected = json!({"email": "a***@example.org", "orders": [{"total": "19.99"}, {"total": "5.00"}]});
        assert_eq!(page.await.good(), json!({"total": 1, "count": 1, "rows": [expected]}), "{backend:?}");
        let whole =
            post("/api/shop/customers/find/1?x=1&fields=orders", r#"{"relations":{"orders":{"limit":1,"order":[{"field":"id"}]}}}"#)
                .await
                .good();
        assert_eq!(whole, json!({"orders": [{"id": 10, "customerId": 1, "total": "19.99"}]}), "{backend:?}");
        // A relation that is not named is not shown.
        let named =
            post("/api/shop/customers/find?fields=id%2Cname", r#"{"where":{"id":{"eq":1}},"relations":{"orders":true}}"#).await.good();
        assert_eq!(named, json!({"id": 1, "name": "Ana"}), "{backend:?}");
        let faults = [
            ("fields=", "QS105"),
            ("fields=id,,name", "QS105"),
            ("fields=nmae", "QS302"),
            ("fields=orders.total", "QS303"),
            ("fields=name.x", "QS307"),
            ("fields=id&fields=name", "QS101"),
        ];
        for (parameter, code) in faults {
            let problem = post(&format!("/api/shop/customers/list?{parameter}"), "{}").await.problem(400);
            assert_eq!((&problem["errors"][0]["code"], &problem["errors"][0]["path"]), (&json!(code), &json!("/fields")), "{parameter}");
        }
        let groups =
            post("/api/shop/customers/list?fields=id", r#"{"aggregation":{"fields":[{"fn":"count","field":"*"}]}}"#).await.problem(400);
        assert_eq!((&groups["errors"][0]["code"], &groups["errors"][0]["path"]), (&json!("QS109"), &json!("/fields")));
    }
}

// contract E1.6, contract Q1.7
#[tokio::test]
async fn the_faults_of_fields_are_reported_with_the_others() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let faults = async |path: &str, query: &str| {
        let answer = server.post(&format!("/api/shop/customers/{path}"), format!("{{\"query\":{query}}}")).await;
        answer.faults().into_iter().map(|(code, path)| format!("{code} {path}")).collect::<Vec<_>>()
    };
    assert_eq!(faults("list?fields=a,,b", r#"{"nope":1}"#).await, ["QS102 /query/nope", "QS105 /fields"]);
    assert_eq!(faults("list?feilds=id", r#"{"limit":-1}"#).await, ["QS203 /query/limit", "QS102 /feilds"]);
    assert_eq!(faults("paginate?fields[]=id", "{}").await, ["QS102 /fields[]"]);
    let blanks = server.post("/api/shop/customers/list?fields=id%2C+name", r#"{"query":{"where":{"id":{"eq":1}}}}"#).await.good();
    assert_eq!(blanks, json!([{"id": 1, "name": "Ana"}]));
}

// contract E1.6, contract P2.2
#[tokio::test]
async fn fields_names_no_relation_that_only_the_manifest_may_follow() {
    let manifest =
        format!("[resource.shop.customer]\nconstraint = {{ relations = {{ plans = true, orders = true }} }}\n{}", shop::MANIFEST);
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        let server = Setup::new(&manifest).serve(&database).await;
        for name in ["plans", "plans.title", "plans.nope", "planz"] {
            let answer = server.post(&format!("/api/shop/customers/list?fields={name}"), "{}").await;
            assert_eq!(answer.fault(), ("QS302".to_owned(), "/fields".to_owned()), "{backend:?} {name}");
            assert!(!answer.text().contains("did you mean"), "{backend:?} {}", answer.text());
        }
        let loaded = server.post("/api/shop/customers/find/1?fields=id,orders.id", "{}").await.good();
        assert_eq!(loaded["orders"].as_array().map(Vec::len), Some(2), "{backend:?}");
        let allowed = Setup::new(&manifest).viewer(&["vault.secretPlan.get"]).serve(&database).await;
        let shown = allowed.post("/api/shop/customers/find/1?fields=plans.title", "{}").await.good();
        assert_eq!(shown, json!({"plans": [{"title": "move the moon"}]}), "{backend:?}");
    }
}
