//! The generator: valid cases have a unique answer, and a fault has the reported path.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use oracle::{Answer, Case, Generator, Operation, compare};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn cases(seed: u64, count: usize) -> Vec<Case> {
    let mut generator = Generator::new(seed);
    (0..count).map(|_| generator.next()).collect()
}

#[test]
fn equal_seeds_give_equal_cases() {
    let one: Vec<String> = cases(7, 300).iter().map(|case| format!("{case:?}")).collect();
    let two: Vec<String> = cases(7, 300).iter().map(|case| format!("{case:?}")).collect();
    assert_eq!(one, two);
}

#[test]
fn every_valid_case_has_an_answer_that_equals_itself() {
    for case in cases(1, 3000).iter().filter(|case| case.fault.is_none()) {
        let answer = case.answer();
        let difference = compare(case, &answer, &answer);
        assert_eq!(difference, Ok(()), "{case:?}");
    }
}

#[test]
fn most_answers_have_some_rows_but_not_all() {
    let mut filled = 0;
    let mut empty = 0;
    for case in cases(2, 3000).iter().filter(|case| case.fault.is_none()) {
        let some = match case.answer() {
            Answer::Page { total, .. } => total > 0,
            Answer::Rows(rows) | Answer::KeysetPage { rows, .. } => !rows.is_empty(),
            Answer::Row(_) => true,
            Answer::NotFound | Answer::Forbidden => false,
        };
        if some { filled += 1 } else { empty += 1 }
    }
    assert!(filled > empty, "{filled} answers hold rows, {empty} do not");
}

#[test]
fn all_operators_codes_operations_and_viewers_occur() {
    let cases = cases(3, 12_000);
    let text: String = cases.iter().filter(|case| case.fault.is_none()).map(|case| case.body().to_string()).collect();
    for operator in ["eq", "ne", "gt", "gte", "lt", "lte", "in", "notIn", "between", "isNull", "iLike", "contains", "overlap"] {
        assert!(text.matches(&format!("\"{operator}\":")).count() > 50, "{operator} is rare");
    }
    let fields = oracle::world().schema.resources().flat_map(|resource| &resource.fields);
    for field in fields.filter(|field| field.derived.is_some() && !field.hidden) {
        let named = [format!("\"{}\"", field.name), format!(".{}\"", field.name)];
        assert!(named.iter().map(|name| text.matches(name.as_str()).count()).sum::<usize>() > 5, "{} is rare", field.name);
    }
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for fault in cases.iter().filter_map(|case| case.fault.as_ref()) {
        *codes.entry(fault.code).or_default() += 1;
    }
    let expected = "QS102 QS103 QS104 QS105 QS106 QS107 QS108 QS109 QS201 QS202 QS203 QS301 QS302 QS303 QS304 QS305 QS306 QS307 QS308 QS309 QS310 QS311 QS312";
    for code in expected.split(' ') {
        assert!(codes.get(code).is_some_and(|count| *count >= 5), "{code} is rare: {codes:?}");
    }
    let share = codes.values().sum::<usize>();
    assert!((1200..1800).contains(&share), "one case of eight has a fault: {share} of 12,000");
    for viewer in oracle::viewers() {
        assert!(cases.iter().filter(|case| case.viewer == viewer.name).count() > 50, "{} is rare", viewer.name);
    }
    assert!(cases.iter().any(|case| matches!(case.operation, Operation::FindById(_))));
    assert!(cases.iter().any(|case| case.fault.is_none() && case.answer() == Answer::Forbidden));
}

#[test]
fn the_path_of_a_fault_is_in_the_body() {
    for case in cases(4, 8000) {
        if let Some(fault) = &case.fault {
            assert!(case.body().pointer(&fault.path).is_some(), "{fault:?} in {}", case.body());
        }
    }
}

#[test]
fn a_limit_or_offset_has_an_order() {
    for case in cases(5, 4000).iter().filter(|case| case.fault.is_none()) {
        let present = |statement: &Option<Value>, key: &str| {
            statement.as_ref().and_then(|value| value.get(key)).is_some_and(|value| !value.is_null())
        };
        let cut = ["limit", "offset"].iter().any(|key| present(&case.query, key))
            || present(&case.constraint, "limit")
            || case.operation == Operation::Find;
        let single =
            present(&case.query, "aggregation") && case.query.as_ref().is_some_and(|query| query["aggregation"].get("groupBy").is_none());
        if cut && !single && !matches!(case.operation, Operation::FindById(_)) && case.resource != "org.document" {
            assert!(present(&case.query, "order") || present(&case.constraint, "order"), "{case:?}");
        }
    }
}

#[test]
fn a_comparison_ignores_only_ties_and_spelling() {
    let case = |query: Value| Case {
        viewer: "full",
        resource: "shop.country".to_owned(),
        operation: Operation::List,
        query: Some(query),
        constraint: None,
        fault: None,
    };
    let rows = |case: &Case| match case.answer() {
        Answer::Rows(rows) => rows,
        other => panic!("{other:?}"),
    };
    let unordered = case(json!({}));
    let mut shuffled = rows(&unordered);
    shuffled.rotate_left(4);
    assert_eq!(compare(&unordered, &unordered.answer(), &Answer::Rows(shuffled.clone())), Ok(()));
    shuffled[2]["order"] = json!(77);
    assert!(compare(&unordered, &unordered.answer(), &Answer::Rows(shuffled)).is_err());

    let tied = case(json!({ "order": [{ "field": "region" }] }));
    let mut swapped = rows(&tied);
    let pairs: Vec<usize> = (1..swapped.len()).filter(|index| swapped[*index]["region"] == swapped[index - 1]["region"]).collect();
    swapped.swap(pairs[0], pairs[0] - 1);
    assert_eq!(compare(&tied, &tied.answer(), &Answer::Rows(swapped.clone())), Ok(()));
    swapped.swap(0, 8);
    assert!(compare(&tied, &tied.answer(), &Answer::Rows(swapped)).is_err());

    let cut = case(json!({ "order": [{ "field": "region" }], "limit": 9 }));
    let mut swapped = rows(&cut);
    swapped.swap(pairs[0], pairs[0] - 1);
    assert!(compare(&cut, &cut.answer(), &Answer::Rows(swapped)).is_err());

    let children = case(json!({ "where": { "code": { "eq": "ES" } }, "relations": { "customers": true } }));
    let mut reversed = rows(&children);
    reversed[0]["customers"].as_array_mut().expect("customers").reverse();
    reversed[0]["order"] = json!(2.0);
    assert_eq!(compare(&children, &children.answer(), &Answer::Rows(reversed)), Ok(()));
}
