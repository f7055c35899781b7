//! Golden cases: snapshots of the SQL of each statement in both dialects, or of its faults.
//!
//! `INSTA_UPDATE=always cargo test -p peristyle-query --test golden` updates them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;

use oracle::Operation;
use query::catalog::{Catalog, Resource};
use query::error::Code;
use query::sql::{self, Arity, Dialect, Level, Query, Source, Sql, Total};
use query::types::{Scalar, TYPE_NAMES, Type};
use query::value::{self, Value};
use support::case::{GoldenCase, cases, themes};
use support::{DIALECTS, Planned, catalog, catalog_without_eager_fields, planned};

/// One test for each theme, and one that checks that no theme is missing.
macro_rules! snapshots {
    ($($test:ident = $theme:literal,)+) => {
        $(#[test] fn $test() { compare($theme); })+

        #[test]
        fn every_theme_has_its_test() {
            assert_eq!(themes(), [$($theme),+]);
        }
    };
}

snapshots! {
    aggregations = "aggregation",
    connectors = "connectors",
    derived_fields = "derived-fields",
    dot_paths = "dot-paths",
    keyset_pages = "keyset",
    limits_and_budgets = "limits",
    many_to_many_relations = "many-to-many",
    masked_and_hidden_fields = "masks-and-hidden",
    merging = "merge",
    names_and_reserved_words = "names",
    null_logic = "null-logic",
    operators = "operators",
    orders = "order",
    limits_for_each_parent = "per-parent-limits",
    policies = "policy",
    relation_filters = "relation-filters",
    relations = "relations",
    errors_of_shape = "shape-errors",
    totals = "totals",
    types_and_values = "values",
}

fn compare(theme: &str) {
    let mut text = String::new();
    let mut mismatches = Vec::new();
    for case in cases(theme) {
        let found = describe(&mut text, &case, if theme == "derived-fields" { catalog } else { catalog_without_eager_fields });
        if found != case.faults {
            mismatches.push(format!("{}\n  expected {:?}\n  found    {found:?}", case.name, case.faults));
        }
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(theme, text);
    });
    assert!(mismatches.is_empty(), "the faults of {} cases:\n{}", mismatches.len(), mismatches.join("\n"));
}

/// Writes the SQL or the faults of a case; returns code and path of the faults.
fn describe(out: &mut String, case: &GoldenCase, catalog: fn(Dialect) -> &'static Catalog) -> Vec<String> {
    let operation = match &case.operation {
        Operation::List => "lists",
        Operation::Paginate => "paginates",
        Operation::KeysetPaginate => "keyset-paginates",
        Operation::Find => "finds",
        Operation::FindById(id) => &format!("finds {}", id.escape_debug()),
    };
    writeln!(out, "# {} [{}]\n{} {operation} {}", case.name, case.rules.join(" "), case.viewer, case.resource).unwrap();
    writeln!(out, "{}", shortened(case.body().escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'"))).unwrap();
    let mut faults = Vec::new();
    let mut postgres = String::new();
    for dialect in DIALECTS {
        match planned(catalog(dialect), case) {
            Planned::Plan(plan) => {
                let mut text = String::new();
                rendered(&mut text, case, &sql::render(&plan, dialect));
                // Most statements are the same with Citus.
                if dialect != Dialect::Citus || text != postgres {
                    write!(out, "-- {dialect:?}\n{text}").unwrap();
                }
                if dialect == Dialect::Postgres {
                    postgres = text;
                }
            }
            Planned::Faults(error) => faults.push(error.faults),
            Planned::Denied => faults.push(Vec::new()),
        }
    }
    let found: Vec<String> = match faults.as_slice() {
        [] => Vec::new(),
        [first, rest @ ..] if rest.len() + 1 == DIALECTS.len() => {
            assert!(rest.iter().all(|faults| faults == first), "the databases differ in the faults of: {}", case.name);
            if first.is_empty() {
                vec!["denied".to_owned()]
            } else {
                first.iter().map(|fault| format!("{} {}", fault.code.as_str(), fault.path)).collect()
            }
        }
        _ => panic!("one dialect refuses what the other takes: {}", case.name),
    };
    for fault in faults.first().into_iter().flatten().take(12) {
        let path = shortened(fault.path.escape_debug().to_string());
        writeln!(out, "-- {} {path}\n   {}", fault.code.as_str(), fault.message.escape_debug()).unwrap();
    }
    out.push('\n');
    found
}

fn shortened(text: String) -> String {
    if text.chars().count() <= 2_500 {
        return text;
    }
    format!("{}… ({} characters)", text.chars().take(300).collect::<String>(), text.chars().count())
}

fn rendered(out: &mut String, case: &GoldenCase, query: &Query) {
    level(out, "", &query.root);
    if case.operation == Operation::Paginate {
        match &query.total {
            Total::Count(sql) => statement(out, "total", sql),
            Total::One => out.push_str("total: 1\n"),
            Total::Unasked => {}
        }
    }
}

fn level(out: &mut String, path: &str, level_: &Level) {
    statement(out, path, &level_.sql);
    for child in &level_.children {
        let name = String::from_utf8_lossy(&child.key).trim_matches([',', ':']).trim_matches('"').to_owned();
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        level(out, &path, &child.level);
    }
}

/// The SQL with a line for each clause, and its parameters.
fn statement(out: &mut String, path: &str, sql: &Sql) {
    let text = in_lines(sql.text());
    if !path.is_empty() {
        writeln!(out, "{path}:").unwrap();
    }
    writeln!(out, "  {}", shortened(text)).unwrap();
    for (index, param) in sql.params().iter().enumerate().take(40) {
        let many = if param.arity == Arity::List { "[]" } else { "" };
        let source = match &param.source {
            Source::Value(value) => shown(value),
            Source::Keys(part) => format!("part {part} of the parents' keys"),
            Source::KeysAsJson => "the parents' keys".to_owned(),
        };
        writeln!(out, "    {}: {}{many} = {}", index + 1, param.kind.as_str(), shortened(source)).unwrap();
    }
}

/// Breaks the lines before the clauses of the outermost select.
fn in_lines(text: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut quoted) = (0_usize, false);
    for (index, character) in text.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ' ' if !quoted && depth == 0 && CLAUSES.iter().any(|clause| text[index + 1..].starts_with(clause)) => out.push_str("\n   "),
            _ => {}
        }
        out.push(character);
    }
    out
}

const CLAUSES: [&str; 7] = ["FROM ", "LEFT JOIN ", "CROSS JOIN ", "WHERE ", "GROUP BY ", "ORDER BY ", "LIMIT "];

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Decimal(digits) => digits.clone(),
        Value::Text(text) | Value::Json(text) => format!("{text:?}"),
        Value::Uuid(uuid) => value::uuid_text(uuid),
        Value::Date(days) => value::date_text(i64::from(*days)).expect("a date"),
        Value::Time(micros) => value::time_text(*micros),
        Value::Timestamp(micros) => value::timestamp_text(*micros).expect("a timestamp"),
        Value::List(values) => format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", ")),
    }
}

#[test]
fn every_code_has_a_case() {
    let met: BTreeSet<String> = every_case().iter().flat_map(|case| case.faults.clone()).collect();
    let missing: Vec<&str> =
        // The tests of writes have the others. Only rows tell of a position.
        Code::ALL.iter().filter(|code| **code != Code::UnrepresentablePosition).map(|code| code.as_str()).filter(|code| code.starts_with("QS")).filter(|code| !met.iter().any(|fault| fault.starts_with(code))).collect();
    assert!(missing.is_empty(), "no case has {missing:?}");
}

#[test]
fn case_names_are_unique() {
    for theme in themes() {
        let names: Vec<String> = cases(&theme).into_iter().map(|case| case.name).collect();
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(names.len(), distinct.len(), "{theme} names a case twice");
    }
}

fn every_case() -> Vec<GoldenCase> {
    themes().iter().flat_map(|theme| cases(theme)).collect()
}

/// contract Q3.1, contract Q3.12: every operator of every type has a case.
#[test]
fn every_type_has_a_case_for_each_of_its_operators() {
    let catalog = catalog(Dialect::Sqlite);
    let mut asked = BTreeSet::new();
    for case in every_case().iter().filter(|case| case.faults.is_empty()) {
        let resource = catalog.resource(catalog.by_name(&case.resource).expect("a resource"));
        for statement in [&case.query, &case.constraint].into_iter().flatten() {
            collect(catalog, resource, &statement["where"], &mut asked);
        }
    }
    let mut missing = Vec::new();
    for name in TYPE_NAMES {
        let kind = Type::One(Scalar::from_name(name).expect("a type"));
        missing.extend(kind.operators().into_iter().map(|operator| (kind.name(), operator)).filter(|pair| !asked.contains(pair)));
    }
    for name in ["text", "int", "bigint", "date", "uuid"] {
        let kind = Type::Array(Scalar::from_name(name).expect("a type"));
        missing.extend(kind.operators().into_iter().map(|operator| (kind.name(), operator)).filter(|pair| !asked.contains(pair)));
    }
    assert!(missing.is_empty(), "no case for {missing:?}");
}

fn collect(catalog: &Catalog, resource: &Resource, clause: &serde_json::Value, asked: &mut BTreeSet<(String, &'static str)>) {
    for (key, value) in clause.as_object().into_iter().flatten() {
        if let Some(clauses) = value.as_array() {
            for clause in clauses {
                collect(catalog, resource, clause, asked);
            }
        } else if key == "not" {
            collect(catalog, resource, value, asked);
        } else if let Some(relation) = resource.relation(key) {
            collect(catalog, catalog.resource(relation.target), value, asked);
        } else if let Some((_, field)) = resource.field(key) {
            let known = field.kind.operators();
            asked.extend(known.into_iter().filter(|operator| value.get(operator).is_some()).map(|operator| (field.kind.name(), operator)));
        }
    }
}
