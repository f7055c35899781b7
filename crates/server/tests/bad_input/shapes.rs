//! Bodies that are not JSON, or JSON of the wrong shape.

use crate::Both;

const LIST: &str = "/api/shop/customers/list";

// contract E2.4
#[tokio::test]
async fn a_body_that_is_not_json_is_refused() {
    let both = Both::open().await;
    let bodies: [&[u8]; 27] = [
        b"{",
        b"}",
        b"nonsense",
        b"{'query':{}}",
        b"{\"query\":{}} x",
        b"{\"query\":{}}{}",
        b"{\"query\":{},}",
        b"{\"query\":{\"limit\":01}}",
        b"{\"query\":{\"limit\":+1}}",
        b"{\"query\":{\"limit\":1.}}",
        b"{\"query\":{\"limit\":.5}}",
        b"{\"query\":{\"limit\":0x10}}",
        b"{\"query\":{\"limit\":1e}}",
        b"{\"query\":{\"limit\":NaN}}",
        b"{\"query\":{\"limit\":Infinity}}",
        b"{\"query\":{\"limit\":-}}",
        b"{\"query\":tru}",
        b"{\"query\":\"\\x41\"}",
        b"{\"query\":\"\\u12\"}",
        b"{\"query\":\"line\nbreak\"}",
        b"{\"query\":\"unended",
        b"{\"query\" {}}",
        b"{query:{}}",
        b"\xEF\xBB\xBF{}",
        b"\x1f\x8b\x08\x00",
        b"\x00",
        b"// comment\n{}",
    ];
    for body in bodies {
        let (code, _) = both.post(LIST, body).await.fault();
        assert_eq!(code, "QS100", "{}", String::from_utf8_lossy(body));
    }
}

// contract E2.4
#[tokio::test]
async fn lone_surrogates_and_invalid_utf8_are_refused() {
    let both = Both::open().await;
    for escape in [r"\ud800", r"\udc00", r"\ud800\ud800", r"\udc00\ud800", r"\ud83dx", r"\uD83D\u0041"] {
        for body in [
            format!(r#"{{"query":{{"where":{{"name":{{"eq":"{escape}"}}}}}}}}"#),
            format!(r#"{{"query":{{"where":{{"{escape}":{{"eq":"x"}}}}}}}}"#),
            format!(r#"{{"query":{{"where":{{"name":{{"in":["{escape}"]}}}}}}}}"#),
            format!(r#"{{"{escape}":1}}"#),
        ] {
            assert_eq!(both.post(LIST, &body).await.fault().0, "QS100", "{body}");
        }
    }
    for bytes in [&b"\xff"[..], b"\xc3\x28", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xe2\x82"] {
        let body = [b"{\"query\":{\"where\":{\"name\":{\"eq\":\"", bytes, b"\"}}}}"].concat();
        assert_eq!(both.post(LIST, &body).await.fault().0, "QS100", "{bytes:x?}");
        let body = [b"{\"query\":{\"where\":{\"na", bytes, b"me\":{\"eq\":\"x\"}}}}"].concat();
        assert_eq!(both.post(LIST, &body).await.fault().0, "QS100", "{bytes:x?}");
    }
    // A pair of surrogates is one valid character.
    assert_eq!(both.good(r#"{"where":{"name":{"ne":"\ud83d\ude00"}}}"#).await, 3);
}

// contract Q1.4
#[tokio::test]
async fn a_duplicate_key_is_refused_everywhere() {
    let both = Both::open().await;
    for (body, path) in [
        (r#"{"query":{},"query":{}}"#, "/query"),
        (r#"{"query":{"limit":1,"limit":2}}"#, "/query/limit"),
        (r#"{"query":{"where":{"id":{"eq":1},"id":{"eq":2}}}}"#, "/query/where/id"),
        (r#"{"query":{"where":{"id":{"eq":1,"eq":2}}}}"#, "/query/where/id/eq"),
        (r#"{"query":{"where":{"and":[{"id":{"eq":1}},{"not":{"id":{"eq":1},"id":{"eq":1}}}]}}}"#, "/query/where/and/1/not/id"),
        (r#"{"query":{"relations":{"orders":true,"orders":true}}}"#, "/query/relations/orders"),
        (r#"{"query":{"order":[{"field":"id","field":"name"}]}}"#, "/query/order/0/field"),
        (r#"{"query":{"where":{"i\u0064":{"eq":1},"id":{"eq":2}}}}"#, "/query/where/id"),
        (r#"{"constraint":{"offset":1,"offset":1}}"#, "/constraint/offset"),
    ] {
        assert_eq!(both.post(LIST, body).await.fault(), ("QS101".to_owned(), path.to_owned()), "{body}");
    }
}

// contract Q11.4
#[tokio::test]
async fn no_nesting_exhausts_the_stack() {
    let both = Both::open().await;
    for depth in [200, 5_000, 100_000] {
        let arrays = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let objects = format!("{}1{}", r#"{"not":"#.repeat(depth), "}".repeat(depth));
        let clauses = format!("{}{{}}{}", r#"{"and":["#.repeat(depth), "]}".repeat(depth));
        let relations = format!("{}true{}", r#"{"orders":{"relations":"#.repeat(depth), "}}".repeat(depth));
        for body in [
            arrays.clone(),
            "[".repeat(depth),
            r#"{"query":"#.repeat(depth),
            format!(r#"{{"query":{{"where":{objects}}}}}"#),
            format!(r#"{{"query":{{"where":{clauses}}}}}"#),
            format!(r#"{{"query":{{"where":{{"profile":{{"eq":{arrays}}}}}}}}}"#),
            format!(r#"{{"query":{{"where":{{"name":{{"in":{arrays}}}}}}}}}"#),
            format!(r#"{{"query":{{"limit":{arrays}}}}}"#),
            format!(r#"{{"query":{{"order":{arrays}}}}}"#),
            format!(r#"{{"query":{{"relations":{relations}}}}}"#),
            format!(r#"{{"query":{{"aggregation":{{"fields":{arrays}}}}}}}"#),
            format!(r#"{{"{}":{arrays}}}"#, "unknown"),
        ] {
            if body.len() > 1024 * 1024 {
                both.post(LIST, &body).await.problem(413);
            } else {
                both.post(LIST, &body).await.faults();
            }
        }
    }
}

// contract Q3.11, contract Q2.3, contract Q2.4, contract Q3.1
#[tokio::test]
async fn an_operator_with_a_value_of_the_wrong_shape_is_refused() {
    let both = Both::open().await;
    for operator in ["eq", "ne", "gt", "gte", "lt", "lte"] {
        for value in ["[]", "[1]", "{}", r#"{"a":1}"#] {
            both.refused(
                &format!(r#"{{"where":{{"visits":{{"{operator}":{value}}}}}}}"#),
                "QS107",
                &format!("/query/where/visits/{operator}"),
            )
            .await;
        }
    }
    for (operator, values) in [
        ("in", &["1", "\"a\"", "{}", "null", "true"][..]),
        ("notIn", &["1", "{}", "null"]),
        ("between", &["1", "null", "{}", "[]", "[1]", "[1,2,3]"]),
        ("isNull", &["null", "1", "0", "\"true\"", "[]", "{}"]),
    ] {
        for value in values {
            both.refused(
                &format!(r#"{{"where":{{"visits":{{"{operator}":{value}}}}}}}"#),
                "QS107",
                &format!("/query/where/visits/{operator}"),
            )
            .await;
        }
    }
    for value in ["null", "1", "[\"a\"]", "true", "{}"] {
        both.refused(&format!(r#"{{"where":{{"name":{{"iLike":{value}}}}}}}"#), "QS107", "/query/where/name/iLike").await;
    }
    for value in ["{}", r#"{"a":1}"#] {
        both.refused(&format!(r#"{{"where":{{"tags":{{"contains":{value}}}}}}}"#), "QS107", "/query/where/tags/contains").await;
    }
    for operator in ["in", "notIn", "between"] {
        for element in ["[1]", "{}"] {
            let query = format!(r#"{{"where":{{"visits":{{"{operator}":[{element},1]}}}}}}"#);
            let (code, path) = both.post(LIST, format!("{{\"query\":{query}}}")).await.fault();
            assert!(code == "QS107" && path.starts_with("/query/where/visits/"), "{query}: {code} {path}");
        }
    }
    for (query, code, path) in [
        (r#"{"where":{"name":{}}}"#, "QS105", "/query/where/name"),
        (r#"{"where":{"and":[]}}"#, "QS105", "/query/where/and"),
        (r#"{"where":{"name":null}}"#, "QS106", "/query/where/name"),
        (r#"{"where":{"name":["x"]}}"#, "QS103", "/query/where/name"),
        (r#"{"where":{"not":[]}}"#, "QS103", "/query/where/not"),
        (r#"{"where":{"and":{}}}"#, "QS103", "/query/where/and"),
        (r#"{"where":[]}"#, "QS103", "/query/where"),
        (r#"{"where":{"orders":true}}"#, "QS103", "/query/where/orders"),
        (r#"{"relations":["orders"]}"#, "QS103", "/query/relations"),
        (r#"{"relations":{"orders":false}}"#, "QS103", "/query/relations/orders"),
        (r#"{"order":["name"]}"#, "QS103", "/query/order/0"),
        (r#"{"order":[{}]}"#, "QS108", "/query/order/0"),
        (r#"{"order":[{"field":7}]}"#, "QS103", "/query/order/0/field"),
        (r#"{"aggregation":{}}"#, "QS108", "/query/aggregation"),
        (r#"{"aggregation":{"fields":[]}}"#, "QS105", "/query/aggregation/fields"),
    ] {
        both.refused(query, code, path).await;
    }
    for operator in ["like", "startsWith", "regexp", "EQ", "$eq", "[Op.eq]", "any", "", "is", "ilike"] {
        both.refused(&format!(r#"{{"where":{{"name":{{"{operator}":"x"}}}}}}"#), "QS104", &format!("/query/where/name/{operator}")).await;
    }
}
