//! Invalid values, and names that try to inject SQL.

use serde_json::json;

use crate::Both;

const LIST: &str = "/api/shop/customers/list";

// contract Q1.6
#[tokio::test]
async fn u0000_is_refused_in_values_names_and_patterns() {
    let both = Both::open().await;
    for (query, path) in [
        (r#"{"where":{"name":{"eq":"a\u0000b"}}}"#, "/query/where/name/eq"),
        (r#"{"where":{"name":{"iLike":"%\u0000%"}}}"#, "/query/where/name/iLike"),
        (r#"{"where":{"tags":{"contains":"\u0000"}}}"#, "/query/where/tags/contains"),
        (r#"{"where":{"profile":{"eq":"\u0000"}}}"#, "/query/where/profile/eq"),
        (r#"{"where":{"status":{"eq":"\u0000"}}}"#, "/query/where/status/eq"),
        (r#"{"where":{"balance":{"eq":"1\u0000"}}}"#, "/query/where/balance/eq"),
    ] {
        both.refused(query, "QS110", path).await;
    }
    for query in [
        r#"{"where":{"name":{"in":["x","\u0000"]}}}"#,
        r#"{"where":{"na\u0000me":{"eq":"x"}}}"#,
        r#"{"where":{"name":{"e\u0000q":"x"}}}"#,
        r#"{"order":[{"field":"name\u0000"}]}"#,
        r#"{"relations":{"orders\u0000":true}}"#,
        r#"{"\u0000":1}"#,
        r#"{"aggregation":{"fields":[{"fn":"count","field":"*","as":"\u0000"}]}}"#,
        r#"{"aggregation":{"fields":[{"fn":"count","field":"*"}],"groupBy":["\u0000"]}}"#,
    ] {
        both.post(LIST, format!("{{\"query\":{query}}}")).await.faults();
    }
}

// contract Q5.1, trap 9
#[tokio::test]
async fn numbers_out_of_range_are_faults_of_the_statement() {
    let both = Both::open().await;
    let digits = "9".repeat(400);
    for field in ["visits", "id", "score", "balance"] {
        for number in ["1e400", "-1e400", "1e999999999999", digits.as_str(), "-1e99999"] {
            for operator in ["eq", "gte", "lt"] {
                both.refused(
                    &format!(r#"{{"where":{{"{field}":{{"{operator}":{number}}}}}}}"#),
                    "QS306",
                    &format!("/query/where/{field}/{operator}"),
                )
                .await;
            }
            for (operator, list) in [("in", format!("[{number}]")), ("between", format!("[0,{number}]"))] {
                let faults = both.post(LIST, format!(r#"{{"query":{{"where":{{"{field}":{{"{operator}":{list}}}}}}}}}"#)).await.faults();
                assert!(faults.iter().all(|(code, path)| code == "QS306" && path.starts_with("/query/where/")), "{faults:?}");
            }
        }
    }
    for (field, value) in [
        ("visits", "2147483648"),
        ("visits", "-2147483649"),
        ("visits", "1.5"),
        ("visits", "\"1\""),
        ("visits", "true"),
        ("id", "9223372036854775808"),
        ("id", "0.1"),
        ("id", "\"1.5\""),
        ("id", "\"\""),
        ("id", "\"9223372036854775808\""),
        ("id", "\"0x1\""),
        ("balance", "\"1,5\""),
        ("balance", "\"NaN\""),
        ("balance", "\"Infinity\""),
        ("balance", "\" 1\""),
        ("balance", "\"1e400000\""),
        ("balance", "true"),
        ("score", "\"NaN\""),
        ("score", "\"1.5\""),
        ("name", "1"),
        ("name", "true"),
        ("isVip", "1"),
        ("isVip", "\"true\""),
        ("status", "\"unknown\""),
        ("status", "\"Active\""),
        ("status", "1"),
        ("code", "\"not-a-uuid\""),
        ("code", "\"aaaaaaaa-0000-4000-8000-00000000000g\""),
        ("bornOn", "\"2024-02-30\""),
        ("bornOn", "\"2023-02-29\""),
        ("bornOn", "\"yesterday\""),
        ("bornOn", "\"2024-1-1\""),
        ("bornOn", "20240101"),
        ("wakesAt", "\"25:00:00\""),
        ("wakesAt", "\"12:60:00\""),
        ("wakesAt", "\"12:00\""),
        ("wakesAt", "\"12:00:00.1234567\""),
        ("createdAt", "\"2024-13-01T00:00:00Z\""),
        ("createdAt", "\"2024-01-01T00:00:00+99:00\""),
        ("createdAt", "\"now\""),
        ("createdAt", "\"infinity\""),
        ("createdAt", "\"99999-01-01T00:00:00Z\""),
        ("createdAt", "1700000000"),
    ] {
        both.refused(&format!(r#"{{"where":{{"{field}":{{"eq":{value}}}}}}}"#), "QS306", &format!("/query/where/{field}/eq")).await;
    }
    for value in ["2147483647", "-2147483648", "3", "3.0", "3e0"] {
        both.good(&format!(r#"{{"where":{{"visits":{{"eq":{value}}}}}}}"#)).await;
    }
}

// contract Q9.1, contract Q9.2
#[tokio::test]
async fn limit_and_offset_are_whole_numbers_from_zero() {
    let both = Both::open().await;
    let huge = "9".repeat(400);
    for value in ["-1", "1.5", "\"1\"", "true", "[]", "{}", "1e400", "-1e400", "-0.5", "1e-1", &huge] {
        for key in ["limit", "offset"] {
            if key == "offset" && ["1e400", &huge].contains(&value) {
                continue;
            }
            let (code, path) = both.post(LIST, format!(r#"{{"query":{{"{key}":{value}}}}}"#)).await.fault();
            // A huge whole number is above the maximum, in every notation.
            assert!(code == "QS203" || (code == "QS202" && key == "limit"), "{key} {value}: {code}");
            assert_eq!(path, format!("/query/{key}"));
            let nested = both.post(LIST, format!(r#"{{"query":{{"relations":{{"orders":{{"{key}":{value}}}}}}}}}"#)).await.fault();
            assert_eq!(nested, (code, format!("/query/relations/orders/{key}")));
        }
    }
    both.refused(r#"{"limit":10001}"#, "QS202", "/query/limit").await;
    both.refused(r#"{"relations":{"orders":{"limit":10001}}}"#, "QS202", "/query/relations/orders/limit").await;
    both.refused(
        r#"{"relations":{"orders":{"relations":{"lines":{"limit":10001}}}}}"#,
        "QS202",
        "/query/relations/orders/relations/lines/limit",
    )
    .await;
    assert_eq!(both.good(r#"{"limit":10000,"relations":{"orders":{"limit":10000}}}"#).await, 3);
    assert_eq!(both.good(r#"{"limit":0}"#).await, 0);
    // An offset past the end is no fault.
    for offset in ["9223372036854775807", "9223372036854775808", "18446744073709551616", "9007199254740993", "1000000", "1e400", &huge] {
        assert_eq!(both.good(&format!(r#"{{"offset":{offset}}}"#)).await, 0);
        both.good(&format!(r#"{{"relations":{{"orders":{{"offset":{offset},"limit":10000}}}}}}"#)).await;
    }
}

// contract Q3.6, trap 3
#[tokio::test]
async fn a_pattern_with_a_final_lone_backslash_is_refused_for_any_data() {
    let both = Both::open().await;
    for pattern in ["\\", "a\\", "%\\", "\\\\\\", "Ana\\", "zzz\\"] {
        let query = json!({"where": {"name": {"iLike": pattern}}}).to_string();
        let (code, path) = both.post(LIST, format!("{{\"query\":{query}}}")).await.fault();
        assert!(code.starts_with("QS"), "{code}");
        assert_eq!(path, "/query/where/name/iLike", "{pattern}");
    }
    assert_eq!(both.good(&json!({"where": {"name": {"iLike": "%\\\\"}}}).to_string()).await, 1);
}

// contract Q14.1, contract Q2.1, contract Q1.5
#[tokio::test]
async fn names_that_contain_sql_are_unknown_names() {
    let both = Both::open().await;
    let names = [
        "id; DROP TABLE customers",
        "id\" = 1 OR \"1\" = \"1",
        "id'--",
        "id\\",
        "\"id\"",
        "customers.id",
        "name\n",
        "id/**/",
        "$1",
        "%s",
        "{0}",
        "*",
        "",
        " id",
        "ID",
        "i\u{200b}d",
        "__proto__",
        "constructor",
        "count(*)",
        "(select 1)",
        "api_key",
        "apiKey",
        "ctid",
        "rowid",
        "\u{1F980}",
        &"x".repeat(3_000),
    ];
    for name in names {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        for query in [
            json!({"where": {name: {"eq": 1}}}),
            json!({"relations": {name: true}}),
            json!({"order": [{"field": name}]}),
            json!({"aggregation": {"fields": [{"fn": "max", "field": name}]}}),
            json!({"aggregation": {"fields": [{"fn": "count", "field": "*"}], "groupBy": [name]}}),
            json!({"aggregation": {"fields": [{"fn": "count", "field": "*", "as": name}]}}),
            json!({"aggregation": {"fields": [{"fn": name, "field": "id"}]}}),
            json!({"where": {"orders": {name: {"eq": 1}}}}),
            json!({"where": {"name": {name: "x"}}}),
            json!({name: 1}),
        ] {
            // `ID` and the like are valid aliases.
            if query["aggregation"]["fields"][0]["as"] == name
                && ["ID", "__proto__", "constructor", "api_key", "apiKey", "ctid", "rowid"].contains(&name)
            {
                continue;
            }
            let faults = both.servers[1].post(LIST, json!({ "query": query }).to_string()).await.faults();
            assert_eq!(faults.len(), 1, "{query} {faults:?}");
        }
        both.refused(&json!({"where": {name: {"eq": 1}}}).to_string(), "QS302", &format!("/query/where/{escaped}")).await;
    }
    for name in ["RAW", "AND", "OR", "NOT"] {
        both.refused(&json!({"where": {"orders": {name: {"eq": 1}}}}).to_string(), "QS301", &format!("/query/where/orders/{name}")).await;
        both.refused(
            &json!({"relations": {"orders": {"relations": {name: true}}}}).to_string(),
            "QS301",
            &format!("/query/relations/orders/relations/{name}"),
        )
        .await;
        both.refused(&json!({"order": [{"field": name}]}).to_string(), "QS301", "/query/order/0/field").await;
        both.refused(
            &json!({"aggregation": {"fields": [{"fn": "max", "field": name}]}}).to_string(),
            "QS301",
            "/query/aggregation/fields/0/field",
        )
        .await;
    }
    // The tables still exist.
    assert_eq!(both.good("{}").await, 3);
}

// contract Q14.1
#[tokio::test]
async fn a_value_that_contains_sql_is_only_a_value() {
    let both = Both::open().await;
    for value in ["'; DROP TABLE customers; --", "$account.id", "$1", "\\", "%", "Bo; DROP TABLE customers", "\u{202e}", "\u{1F600}"] {
        let rows = both.good(&json!({"where": {"name": {"eq": value}}}).to_string()).await;
        assert_eq!(rows, usize::from(value.starts_with("Bo;")), "{value}");
    }
    assert_eq!(both.good("{}").await, 3);
}
