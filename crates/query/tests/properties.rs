//! Properties of parse, merge, plan and SQL for random statements.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../fuzz/judge.rs"]
mod judge;
#[path = "properties/reshape.rs"]
mod reshape;
mod support;

use oracle::Generator;
use proptest::prelude::*;
use query::pointer::Layer;
use query::sql::{self, Dialect, Query};
use query::statement::Statement;
use query::{explain, json, merge, parse, plan, policy};
use serde_json::{Value, json};
use support::case::sorted;
use support::{DIALECTS, catalog, viewer};

/// Words of the grammar and of the fixture, so that random JSON passes the first checks. The last one is empty.
const WORDS: &str = "query constraint where relations order aggregation limit offset fields groupBy fn field as dir asc count sum and or not eq in \
    between isNull iLike contains overlap RAW customers customer orders labels parent.name id name email apiKey tags * ";

fn word() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(WORDS.split(' ').collect::<Vec<_>>()).prop_map(str::to_owned), 1 => any::<String>()]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..20_000_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 6, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            3 => prop::collection::vec((word(), inner), 0..6).prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// A valid case of the differential test's generator.
fn case(seed: u64) -> oracle::Case {
    let mut generator = Generator::new(seed);
    loop {
        let case = generator.next();
        if case.fault.is_none() && oracle::viewer(case.viewer).can_read(oracle::world().schema.resource(&case.resource)) {
            return case;
        }
    }
}

fn statement(value: Option<&Value>, layer: Layer) -> Statement {
    parse::statement(value.map_or(json::Json::Null, json::Json::from), layer)
}

fn shown(statement: &Statement) -> Value {
    explain::statement(statement)
}

/// Three layers of valid statements.
fn layers(seed: u64) -> [Statement; 3] {
    let (first, second) = (case(seed), case(seed.wrapping_add(1)));
    [
        statement(first.query.as_ref(), Layer::Query),
        statement(first.constraint.as_ref().or(second.constraint.as_ref()), Layer::Constraint),
        statement(second.query.as_ref(), Layer::Policy),
    ]
}

/// The `where` of a statement or node.
fn wheres(shown: &Value) -> Vec<Value> {
    shown.get("where").cloned().into_iter().collect()
}

/// Asserts that the merged statement keeps every `where`, limit and relation of a layer.
fn keeps(merged: &Value, layer: &Value, path: &str) {
    let all: Vec<Value> = match merged.get("where") {
        Some(clause) => clause["and"].as_array().cloned().unwrap_or_default().into_iter().chain([clause.clone()]).collect(),
        None => Vec::new(),
    };
    for clause in wheres(layer) {
        let inside =
            |whole: &Value| *whole == clause || clause["and"].as_array().is_some_and(|parts| parts.iter().all(|part| all.contains(part)));
        assert!(all.iter().any(inside), "{path}: {clause} is lost in {merged}");
    }
    if let Some(limit) = layer.get("limit").and_then(Value::as_u64) {
        assert!(merged["limit"].as_u64().is_some_and(|merged| merged <= limit), "{path}: the limit {limit} is raised in {merged}");
    }
    for (name, node) in layer.get("relations").and_then(Value::as_object).into_iter().flatten() {
        let inside = merged["relations"].get(name).unwrap_or_else(|| panic!("{path}: {name} is lost in {merged}"));
        keeps(inside, node, &format!("{path}/{name}"));
    }
}

fn render(case: &oracle::Case, query: Option<&Value>, dialect: Dialect) -> Query {
    let catalog = catalog(dialect);
    let id = catalog.by_name(&case.resource).expect("a resource");
    let viewer = viewer(case.viewer);
    let access = policy::authorize_read(catalog, id, &viewer).expect("read access");
    let mut body = json!({});
    body["query"] = query.cloned().unwrap_or_default();
    let statement = support::merged(sorted(&body).as_bytes()).expect("a statement");
    let plan = plan::plan(access, statement, plan::Operation::Paginate, None).unwrap_or_else(|error| panic!("{body}: {error}"));
    sql::render(&plan, dialect)
}

fn texts(query: &Query) -> Vec<String> {
    let mut texts = Vec::new();
    judge::each(query, &mut |sql| texts.push(sql.text().to_owned()));
    texts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    // contract Q11.4, contract E2.4
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        judge::judge(&bytes);
    }

    // contract Q1.1, contract Q1.7
    #[test]
    fn no_json_makes_a_stage_panic(selector in any::<u8>(), body in any_json(), wrapped in any::<bool>()) {
        let body = if wrapped { json!({ "query": { "where": body } }) } else { body };
        judge::judge(&[&[selector][..], body.to_string().as_bytes()].concat());
    }

    #[test]
    fn a_statement_shown_and_read_again_is_the_same(seed in any::<u64>()) {
        let case = case(seed);
        let first = shown(&statement(case.query.as_ref(), Layer::Query));
        let again = shown(&parse::document(first.to_string().as_bytes()).expect("a statement"));
        prop_assert_eq!(sorted(&first), sorted(&again));
    }

    // contract Q12.1, contract Q12.2, contract Q12.3
    #[test]
    fn merging_is_associative(seed in any::<u64>()) {
        let [query, wire, policy] = layers(seed);
        let left = merge::merge(merge::merge(query.clone(), wire.clone()), policy.clone());
        let right = merge::merge(query, merge::merge(wire, policy));
        prop_assert_eq!(sorted(&shown(&left)), sorted(&shown(&right)));
    }

    // contract Q12.4, contract Q12.2
    #[test]
    fn merging_loses_no_where_and_raises_no_limit(seed in any::<u64>()) {
        let [query, wire, _] = layers(seed);
        let (ours, theirs) = (shown(&query), shown(&wire));
        let merged = shown(&merge::merge(query, wire));
        keeps(&merged, &ours, "the query");
        keeps(&merged, &theirs, "the constraint");
        prop_assert_eq!(merged.get("offset"), ours.get("offset"));
        prop_assert_eq!(merged.get("aggregation"), ours.get("aggregation"));
    }

    #[test]
    fn merging_with_nothing_changes_nothing(seed in any::<u64>()) {
        let [query, ..] = layers(seed);
        let before = shown(&query);
        prop_assert_eq!(before, shown(&merge::merge(query, Statement::empty(Layer::Constraint))));
    }

    #[test]
    fn a_plan_is_the_same_every_time(seed in any::<u64>()) {
        let case = case(seed);
        for dialect in DIALECTS {
            let (first, second) = (render(&case, case.query.as_ref(), dialect), render(&case, case.query.as_ref(), dialect));
            prop_assert_eq!(format!("{first:?}"), format!("{second:?}"));
        }
    }

    // contract Q14.2, trap 14
    #[test]
    fn the_text_depends_on_the_shape_alone(seed in any::<u64>()) {
        let case = case(seed);
        let resource = catalog(Dialect::Sqlite).by_name(&case.resource).expect("a resource");
        let other = case.query.as_ref().map(|query| reshape::other_values(catalog(Dialect::Sqlite), resource, query));
        for dialect in DIALECTS {
            let (first, second) = (render(&case, case.query.as_ref(), dialect), render(&case, other.as_ref(), dialect));
            prop_assert_eq!(texts(&first), texts(&second));
        }
    }

    // contract Q14.1
    #[test]
    fn no_string_of_a_client_is_in_the_sql(seed in any::<u64>()) {
        let case = case(seed);
        let resource = catalog(Dialect::Sqlite).by_name(&case.resource).expect("a resource");
        let marked = case.query.as_ref().map(|query| reshape::other_values(catalog(Dialect::Sqlite), resource, query));
        for dialect in DIALECTS {
            for text in texts(&render(&case, marked.as_ref(), dialect)) {
                prop_assert!(!text.contains(reshape::MARK), "{}", text);
            }
        }
    }

    // contract P2.1, contract Q14.1, trap 2
    #[test]
    fn every_parameter_is_bound_once_and_every_table_has_its_policy(seed in any::<u64>()) {
        let case = case(seed);
        let scope = match case.viewer {
            "full" | "clerk" | "outsider" | "payroll" => judge::Scope::Open,
            "auditor" => judge::Scope::Lifted,
            _ => judge::Scope::Closed,
        };
        for dialect in DIALECTS {
            judge::rendered(&render(&case, case.query.as_ref(), dialect), dialect, scope);
        }
    }
}

/// trap 19: ten times the nodes make about ten times the text, at any depth.
#[test]
fn the_text_grows_as_the_statement_does() {
    let case = oracle::Case {
        viewer: "full",
        resource: "shop.customer".to_owned(),
        operation: oracle::Operation::List,
        query: None,
        constraint: None,
        fault: None,
    };
    let clause = json!({ "orders": { "lines": { "quantity": { "gt": 1 } } } });
    for dialect in DIALECTS {
        let size = |count: usize| -> usize {
            let query = json!({ "where": { "or": vec![clause.clone(); count] } });
            texts(&render(&case, Some(&query), dialect)).iter().map(String::len).sum()
        };
        let (small, large) = (size(30), size(300));
        assert!(large < small * 12, "{dialect:?}: {small} bytes became {large}");
    }
}
