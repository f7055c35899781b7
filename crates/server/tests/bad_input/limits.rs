//! The limits of a statement: the maximum is accepted, one more is refused.

use serde_json::{Value, json};

use crate::Both;

const LIST: &str = "/api/shop/customers/list";

fn nested(depth: usize, wrap: impl Fn(usize, Value) -> Value) -> Value {
    (0..depth).rev().fold(json!({"id": {"gte": 0}}), |inner, level| wrap(level, inner))
}

// contract Q11.1, contract Q11.2
#[tokio::test]
async fn a_where_may_be_ten_deep_and_not_eleven() {
    let both = Both::open().await;
    let forms: [fn(usize, Value) -> Value; 4] = [
        |_, inner| json!({ "not": inner }),
        |_, inner| json!({ "and": [inner] }),
        |_, inner| json!({ "or": [{"id": {"lt": 0}}, inner] }),
        |level, inner| if level % 2 == 0 { json!({ "orders": inner }) } else { json!({ "customer": inner }) },
    ];
    for form in forms {
        both.good(&json!({ "where": nested(10, form) }).to_string()).await;
        for depth in [11, 12, 30] {
            let answer = both.post(LIST, json!({"query": {"where": nested(depth, form)}}).to_string()).await;
            assert_eq!(answer.fault().0, "QS201", "{depth}");
        }
    }
    both.refused(&json!({ "where": nested(11, forms[0]) }).to_string(), "QS201", &format!("/query/where{}", "/not".repeat(11))).await;
    // The where of a relation node has its own count, and a constraint counts for nothing.
    both.good(&json!({"relations": {"orders": {"where": nested(10, forms[0])}}}).to_string()).await;
    both.post(LIST, json!({"query": {"where": nested(10, forms[1])}, "constraint": {"where": nested(10, forms[0])}}).to_string())
        .await
        .good();
}

// contract Q11.1
#[tokio::test]
async fn relations_may_be_nested_ten_names_deep_and_not_eleven() {
    let both = Both::open().await;
    let chain = |depth: usize| {
        (0..depth).rev().fold(json!(true), |inner, level| {
            let name = if level % 2 == 0 { "orders" } else { "customer" };
            if inner == json!(true) { json!({name: true}) } else { json!({name: {"relations": inner}}) }
        })
    };
    both.good(&json!({ "relations": chain(10) }).to_string()).await;
    let answer = both.post(LIST, json!({"query": {"relations": chain(11)}}).to_string()).await;
    assert_eq!(answer.fault().0, "QS201");
}

// contract Q11.3, trap 19
#[tokio::test]
async fn a_where_has_at_most_a_thousand_nodes() {
    let both = Both::open().await;
    let leaves = |count: usize| -> Vec<Value> { (0..count).map(|number| json!({"id": {"eq": number}})).collect() };
    let answer = both.post(LIST, json!({"query": {"where": {"or": leaves(990)}}}).to_string()).await;
    assert_eq!(answer.good().as_array().map(Vec::len), Some(3));
    for count in [1_001, 20_000] {
        let answer = both.post(LIST, json!({"query": {"where": {"or": leaves(count)}}}).to_string()).await;
        assert_eq!(answer.fault().0, "QS204", "{count}");
    }
    // A hundred thousand leaves fit into a body only if each of them is invalid.
    let many = format!(r#"{{"query":{{"where":{{"or":[{}]}}}}}}"#, vec![r#"{"id":1}"#; 100_000].join(","));
    let answer = both.post(LIST, many).await;
    assert_eq!(answer.faults().len(), 100);
    // Two large connectors count as their sum, also for the database's planner.
    let halves = json!({"query": {"where": {"or": leaves(600)}}, "constraint": {"where": {"or": leaves(600)}}});
    let answer = both.post(LIST, halves.to_string()).await;
    assert!(answer.status() == 200 || answer.fault().0 == "QS204", "{:.300}", answer.text());
}

// contract Q11.3
#[tokio::test]
async fn a_list_has_at_most_ten_thousand_values() {
    let both = Both::open().await;
    let list = |count: usize| -> Vec<usize> { (1..=count).collect() };
    for operator in ["in", "notIn"] {
        let ask = async |count: usize| both.post(LIST, json!({"query": {"where": {"id": {operator: list(count)}}}}).to_string()).await;
        let rows = if operator == "in" { 3 } else { 0 };
        assert_eq!(ask(10_000).await.good().as_array().map(Vec::len), Some(rows));
        assert_eq!(ask(10_001).await.fault(), ("QS206".to_owned(), format!("/query/where/id/{operator}")));
    }
    let tags: Vec<String> = (0..10_001).map(|number| format!("t{number}")).collect();
    let answer = both.post(LIST, json!({"query": {"where": {"tags": {"overlap": tags}}}}).to_string()).await;
    assert_eq!(answer.fault(), ("QS206".to_owned(), "/query/where/tags/overlap".to_owned()));
}

/// A tree of relations with this many nodes, level by level.
fn tree(count: usize) -> Value {
    let below = |resource: &str| -> &[(&str, &str)] {
        match resource {
            "customer" => &[("orders", "order"), ("bills", "order")],
            "order" => &[("customer", "customer"), ("lines", "line")],
            _ => &[("order", "order")],
        }
    };
    let mut nodes = vec![("customer", Vec::new())];
    let mut root = json!({});
    let mut made = 0;
    let mut next = 0;
    while made < count {
        let (resource, path) = nodes[next].clone();
        next += 1;
        for (name, target) in below(resource).iter().take(count - made) {
            let mut place = &mut root;
            for step in &path {
                place = &mut place["relations"][*step];
            }
            place["relations"][*name] = json!({});
            nodes.push((target, [path.as_slice(), &[*name]].concat()));
            made += 1;
        }
    }
    root
}

// contract Q11.3
#[tokio::test]
async fn a_statement_has_at_most_a_hundred_relation_nodes() {
    let both = Both::open().await;
    assert_eq!(both.good(&tree(100).to_string()).await, 3);
    let answer = both.post(LIST, json!({ "query": tree(101) }).to_string()).await;
    assert_eq!(answer.fault().0, "QS205");
}

// contract Q11.3
#[tokio::test]
async fn order_group_by_and_fields_have_at_most_a_hundred_entries() {
    let both = Both::open().await;
    let order = |count: usize| json!({"order": vec![json!({"field": "id"}); count]});
    both.refused(&order(101).to_string(), "QS207", "/query/order").await;
    let counted = |count: usize| -> Vec<Value> {
        (0..count).map(|number| json!({"fn": "count", "field": "*", "as": format!("n{number}")})).collect()
    };
    assert_eq!(both.good(&json!({"aggregation": {"fields": counted(100)}}).to_string()).await, 1);
    both.refused(&json!({"aggregation": {"fields": counted(101)}}).to_string(), "QS207", "/query/aggregation/fields").await;
}

// contract E2.2, trap 19
#[tokio::test]
async fn repeated_faults_are_reported_up_to_a_maximum() {
    let both = Both::open().await;
    let long = "k".repeat(400_000);
    let twice = vec![r#""a":1"#; 50_000].join(",");
    let unknown = (0..50_000).map(|number| format!(r#""z{number}":1"#)).collect::<Vec<_>>().join(",");
    for body in [
        format!(r#"{{"query":{{"{long}":{{{twice}}}}}}}"#),
        format!(r#"{{"query":{{"relations":{{"{long}":{{{unknown}}}}}}}}}"#),
        format!(r#"{{"query":{{"where":{{"{long}":{{{unknown}}}}}}}}}"#),
        format!("{{{unknown}}}"),
        format!(r#"{{"query":{{{unknown}}}}}"#),
        format!(r#"{{"query":{{"where":{{"id":{{{twice}}}}}}}}}"#),
    ] {
        let answer = both.post(LIST, body).await;
        answer.problem(400);
        assert!(answer.body.len() < 1_000_000, "{}", answer.body.len());
    }
}
