//! Spellings of values of each type: schema and plan must agree on each.

use serde_json::{Value, json};

use crate::{accepts, faults};

#[track_caller]
fn agree(resource: &str, field: &str, operator: &str, values: &[Value], expected: bool) {
    for value in values {
        let body = json!({ "query": { "where": { field: { operator: value } } } });
        let planned = faults(resource, &body.to_string()).is_empty();
        assert_eq!((accepts(resource, &body), planned), (expected, expected), "(schema, plan) of {body}");
    }
}

fn texts(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| json!(text)).collect()
}

// contract E6.1
#[test]
fn numbers_and_numeric_texts() {
    let whole = [json!(0), json!(1.0), json!(1e2), json!(-0.0), json!(i32::MIN), json!(i32::MAX), Value::Null];
    agree("shop.label", "id", "eq", &whole, true);
    agree("shop.label", "id", "eq", &[json!(1.5), json!(2_147_483_648_i64), json!("1"), json!(true), json!([1]), json!({})], false);
    agree("shop.event", "amount", "gte", &[json!(i64::MIN), json!(i64::MAX), json!(1.0), json!(1e18)], true);
    agree("shop.event", "amount", "gte", &[json!(u64::MAX), json!(9_223_372_036_854_775_808_u64), json!(1e19), json!(0.5)], false);
    let long = "0".repeat(400);
    let big = ["0", "-0", "+7", "007", "9223372036854775807", "-9223372036854775808", "5.0", "5.000", "1e3", "12.5e1", "10e-1", "-5.0"];
    agree("shop.event", "amount", "eq", &texts(&big), true);
    agree("shop.event", "amount", "eq", &texts(&[&format!("{long}7"), &format!("0.{long}"), &format!("+{long}.0")]), true);
    let not_big = [
        "",
        " 1",
        "1 ",
        "1.",
        ".5",
        "5.5",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999",
        "0x10",
        "1_0",
        "--1",
        "e1",
        "NaN",
        "１",
    ];
    agree("shop.event", "amount", "eq", &texts(&not_big), false);
    agree("shop.event", "amount", "eq", &texts(&[&format!("5.{long}")]), false);
    for digits in 1..=19 {
        // Around the largest number, one digit changed at a time.
        let largest = "9223372036854775807";
        for digit in '0'..='9' {
            let text = format!("{}{digit}{}", &largest[..digits - 1], &largest[digits..]);
            agree("shop.event", "amount", "eq", &texts(&[&text]), text.parse::<i64>().is_ok());
        }
    }
    let decimals =
        [json!(0), json!(1.5), json!(9e299), json!(-9e299), json!("1.50"), json!("-0.001"), json!("+1"), json!("1e5"), json!("00.5")];
    agree("shop.customer", "balance", "lt", &decimals, true);
    agree(
        "shop.customer",
        "balance",
        "lt",
        &texts(&[&"9".repeat(300), &format!("0.{}", "9".repeat(300)), &format!("{long}{}", "9".repeat(300))]),
        true,
    );
    agree(
        "shop.customer",
        "balance",
        "lt",
        &[json!(1e300), json!(-1e300), json!(1e308), json!(""), json!("abc"), json!("1,5"), json!(false)],
        false,
    );
    agree("shop.customer", "balance", "lt", &texts(&[&"9".repeat(301), &format!("0.{}", "9".repeat(301)), "Infinity"]), false);
    agree("shop.customer", "score", "eq", &[json!(0), json!(1.5), json!(1e308), json!(-5)], true);
    agree("shop.customer", "score", "eq", &[json!("1.5"), json!(true)], false);
}

// contract E6.1
#[test]
fn dates_times_and_instants() {
    let days = ["0001-01-01", "9999-12-31", "2024-02-29", "2000-02-29", "0004-02-29", "1999-11-30", "2023-02-28"];
    agree("shop.customer", "birthday", "eq", &texts(&days), true);
    let no_days = [
        "0000-01-01",
        "0000-02-29",
        "1900-02-29",
        "2023-02-29",
        "2023-04-31",
        "2023-13-01",
        "2023-00-10",
        "2023-1-1",
        "2023-01-01 ",
        "2023-01-01T00:00:00Z",
        "",
        "12023-01-01",
        "2023/01/01",
    ];
    agree("shop.customer", "birthday", "eq", &texts(&no_days), false);
    agree("shop.customer", "wakesAt", "eq", &texts(&["00:00:00", "23:59:59", "07:30:00.5", "07:30:00.123456"]), true);
    agree(
        "shop.customer",
        "wakesAt",
        "eq",
        &texts(&["24:00:00", "7:30:00", "07:30", "07:30:60", "07:30:00.", "07:30:00.1234567", "07:30:00Z"]),
        false,
    );
    let instants = [
        "2024-02-29",
        "2024-02-29T12:00:00",
        "2024-02-29t12:00:00z",
        "2024-02-29 12:00:00Z",
        "2024-02-29T12:00:00.123456789Z",
        "2024-02-29T12:00:00+02:30",
        "2024-02-29T12:00:00-0230",
        "2024-02-29T12:00:00+02",
        "2024-02-29T23:59:59+23:59",
    ];
    agree("shop.customer", "createdAt", "gt", &texts(&instants), true);
    let no_instants = [
        "2024-02-30T12:00:00Z",
        "2024-02-29T",
        "2024-02-29T12:00Z",
        "2024-02-29T12:00:00.Z",
        "2024-02-29T12:00:00.1234567890Z",
        "2024-02-29T12:00:00+24:00",
        "2024-02-29T12:00:00+02:60",
        "2024-02-29T12:00:00+2",
        "2024-02-29T12:00:00 Z",
        "2024-02-29_12:00:00",
        "now",
        "1709208000",
    ];
    agree("shop.customer", "createdAt", "gt", &texts(&no_instants), false);
}

// contract E6.1
#[test]
fn days_of_every_kind_of_year() {
    for year in ["0001", "0004", "0100", "0400", "1600", "1700", "1996", "2000", "2024", "2100", "9996", "0000"] {
        for month in 0..=13 {
            for day in 0..=32 {
                let text = format!("{year}-{month:02}-{day:02}");
                let body = json!({ "query": { "where": { "birthday": { "eq": text } } } });
                assert_eq!(accepts("shop.customer", &body), faults("shop.customer", &body.to_string()).is_empty(), "{text}");
            }
        }
    }
}

// contract E6.1
#[test]
fn texts_patterns_uuids_enums_and_lists() {
    agree("shop.customer", "name", "eq", &texts(&["", "a", "ü\n🎈", "$account.id"]), true);
    agree("shop.customer", "name", "eq", &[json!("\u{0}"), json!("a\u{0}"), json!(1), json!([]), json!({})], false);
    agree("shop.customer", "name", "iLike", &texts(&["", "%", "a\\\\", "\\%", "\\\\\\%", "\n"]), true);
    agree(
        "shop.customer",
        "name",
        "iLike",
        &[json!("\\"), json!("a\\\\\\"), json!("\u{0}"), json!("\\\u{0}"), Value::Null, json!(1)],
        false,
    );
    agree(
        "shop.customer",
        "tenantId",
        "eq",
        &texts(&["00000000-0000-0000-0000-000000000000", "FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF"]),
        true,
    );
    agree(
        "shop.customer",
        "tenantId",
        "eq",
        &texts(&["0000000000000000000000000000000000", "{00000000-0000-0000-0000-000000000000}", "g0000000-0000-0000-0000-000000000000"]),
        false,
    );
    agree("shop.customer", "status", "eq", &[json!("lead"), Value::Null], true);
    agree("shop.customer", "status", "eq", &[json!("Lead"), json!(""), json!(0)], false);
    agree("shop.customer", "status", "in", &[json!([]), json!(["lead", null]), json!(vec!["lead"; 10_000])], true);
    agree(
        "shop.customer",
        "status",
        "in",
        &[Value::Null, json!("lead"), json!(["x"]), json!([["lead"]]), json!(vec!["lead"; 10_001])],
        false,
    );
    agree("shop.customer", "balance", "between", &[json!([1, "2"]), json!([null, null])], true);
    agree("shop.customer", "balance", "between", &[json!([1]), json!([1, 2, 3]), json!([]), Value::Null, json!(1)], false);
    agree("shop.customer", "isVip", "isNull", &[json!(true), json!(false)], true);
    agree("shop.customer", "isVip", "isNull", &[Value::Null, json!(1), json!("true")], false);
    agree("shop.customer", "tags", "contains", &[json!("a"), Value::Null, json!([]), json!(["a", null])], true);
    agree("shop.customer", "tags", "overlap", &[json!(1), json!([1]), json!([["a"]]), json!({})], false);
    agree("shop.customer", "profile", "contains", &[json!(1), json!("a"), json!(true), Value::Null, json!([1, "a", null, false])], true);
    agree("shop.customer", "profile", "eq", &[json!(1e299), Value::Null, json!("x")], true);
    agree("shop.customer", "profile", "eq", &[json!(1e300), json!([]), json!({}), json!("\u{0}")], false);
}

// contract E6.1
#[test]
fn operators_of_every_type() {
    let operators =
        ["eq", "ne", "gt", "gte", "lt", "lte", "in", "notIn", "between", "isNull", "iLike", "contains", "overlap", "like", "and"];
    for resource in crate::catalog().resources() {
        for field in &resource.fields {
            for operator in operators {
                for value in [json!(null), json!([null, null]), json!(true), json!("%")] {
                    let body = json!({ "query": { "where": { &field.name: { operator: value } } } });
                    let planned = faults(&resource.full_name, &body.to_string()).is_empty();
                    assert_eq!(accepts(&resource.full_name, &body), planned, "{} {body}", resource.full_name);
                }
            }
        }
    }
}
