//! Bytes → statement → plan → SQL, and the invariants of the result. Shared by the fuzz target and the tests of `crates/query`.
//!
//! The first byte selects the resource and the operation; the rest is the body.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::sync::OnceLock;

use query::catalog::Catalog;
use query::error::{Error, MAX_FAULTS};
use query::manifest::Manifest;
use query::plan::{self, Operation, Plan};
use query::policy::{self, Viewer};
use query::sql::{self, Dialect, Level, Query, Sql, Total};
use query::{merge, parse};
use serde_json::json;

const MANIFEST: &str = include_str!("../testing/oracle/fixture/manifest.toml");
const TENANT: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// Tables with soft delete, and its column.
const SOFT_DELETED: [(&str, &str); 4] =
    [("customers", "deleted_at"), ("orders", "deleted_at"), ("shipments", "voided_at"), ("employees", "left_at")];
/// Tables with a constraint that a permission lifts.
const LIFTABLE: [&str; 1] = ["departments"];
/// Tables with a constraint on a column of their own.
const CONSTRAINED: [(&str, &str); 3] = [("customers", "tenant_id"), ("employees", "clearance"), ("departments", "region")];

pub fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| Catalog::resolve(&Manifest::read(MANIFEST).expect("a manifest")).expect("a catalog"))
}

/// Viewers with every permission, with some, with variables that do not fit, and without permissions.
pub fn viewers() -> &'static [(Viewer, Scope)] {
    static VIEWERS: OnceLock<Vec<(Viewer, Scope)>> = OnceLock::new();
    VIEWERS.get_or_init(|| {
        let reading = ["shop.customer.get", "shop.order.get", "shop.event.get", "org.employee.get", "org.review.get"];
        let lifting = ["shop.customer.pii", "shop.customer.credit", "org.employee.salary"];
        let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let account = json!({ "id": TENANT, "dTenants": [TENANT], "meta": { "region": "north", "clearance": 3 } });
        vec![
            (Viewer::new([texts(&reading), texts(&lifting)].concat(), account.clone()), Scope::Open),
            (Viewer::new(texts(&reading[1..4]), account), Scope::Open),
            (Viewer::new(texts(&reading), json!({ "id": 7, "dTenants": [TENANT, 7] })), Scope::Closed),
            (Viewer::anonymous(), Scope::Closed),
        ]
    })
}

/// Whether the account's variables fit the constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Open,
    Closed,
    /// Permissions lift the constraints that name one.
    Lifted,
}

/// Parses, plans and renders the bytes; nothing may panic, and every invariant must hold.
pub fn judge(bytes: &[u8]) {
    let Some((selector, body)) = bytes.split_first() else { return };
    let selector = usize::from(*selector);
    let resources = catalog().resources().len();
    let operation = [Operation::List, Operation::Paginate, Operation::Find, Operation::KeysetPaginate][selector / resources % 4];
    for (viewer, scope) in viewers() {
        match planned(selector % resources, body, viewer, operation) {
            None => {}
            Some(Err(error)) => refused(&error),
            Some(Ok(plan)) => {
                for dialect in [Dialect::Postgres, Dialect::Citus, Dialect::Sqlite] {
                    rendered(&sql::render(&plan, dialect), dialect, *scope);
                }
            }
        }
    }
}

fn planned<'c>(resource: usize, body: &[u8], viewer: &Viewer, operation: Operation) -> Option<Result<Plan<'c>, Error>> {
    let access = policy::authorize_read(catalog(), resource, viewer).ok()?;
    Some(parse::body(body).and_then(|body| plan::plan(access, merge::merged(body), operation, None)))
}

/// Asserts that an error is well-formed and bounded.
fn refused(error: &Error) {
    assert!((1..=MAX_FAULTS).contains(&error.faults.len()), "{} faults", error.faults.len());
    for fault in &error.faults {
        assert!(fault.path.is_empty() || fault.path.starts_with('/'), "the path {:?}", fault.path);
        assert!(!fault.message.is_empty() && fault.message.len() < 4_000, "a message of {} bytes", fault.message.len());
    }
}

/// Asserts the invariants of every SQL text.
pub fn rendered(query: &Query, dialect: Dialect, scope: Scope) {
    each(query, &mut |sql| {
        bound(sql, dialect);
        policed(sql, scope);
    });
}

/// Visits the texts of all levels and of the total.
pub fn each(query: &Query, visit: &mut impl FnMut(&Sql)) {
    level(&query.root, visit);
    if let Total::Count(sql) = &query.total {
        visit(sql);
    }
}

fn level(level_: &Level, visit: &mut impl FnMut(&Sql)) {
    visit(&level_.sql);
    level_.children.iter().for_each(|child| level(&child.level, visit));
}

/// Each parameter has exactly one placeholder, and each placeholder a parameter.
pub fn bound(sql: &Sql, dialect: Dialect) {
    let sign = if dialect.is_postgres() { '$' } else { '?' };
    let mut numbers = Vec::new();
    for (index, piece) in outside_quotes(sql.text()).split(sign).enumerate() {
        if index > 0 {
            let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
            numbers.push(digits.parse::<usize>().unwrap_or_else(|_| panic!("a placeholder without number in {}", sql.text())));
        }
    }
    let expected: Vec<usize> = (1..=sql.params().len()).collect();
    let distinct: BTreeSet<usize> = numbers.iter().copied().collect();
    assert_eq!(distinct.into_iter().collect::<Vec<_>>(), expected, "the placeholders of {}", sql.text());
    assert_eq!(numbers.len(), expected.len(), "a parameter is used twice in {}", sql.text());
}

/// Asserts that every reference to a table has its soft delete and its constraint, or is closed if the account's variables do not fit.
pub fn policed(sql: &Sql, scope: Scope) {
    let soft = SOFT_DELETED.iter().map(|(table, column)| (table, format!(".\"{column}\" IS NULL")));
    let is_bound = |table: &str| scope != Scope::Lifted || !LIFTABLE.contains(&table);
    let constrained = CONSTRAINED.iter().filter(|(table, _)| is_bound(table)).map(|(table, column)| (table, format!(".\"{column}\"")));
    for (table, condition) in soft.chain(constrained) {
        for (alias, behind) in aliases(sql.text(), table) {
            // The selected columns come before the table and are no conditions. A closed constraint needs no other condition.
            let is_closed = scope != Scope::Open && behind.contains("FALSE");
            let is_kept = behind.contains(&format!("{alias}{condition}"));
            assert!(is_kept || is_closed, "{table} without {alias}{condition} ({scope:?}): {}", sql.text());
        }
    }
}

/// The aliases of a table in the text, each with the text after it.
fn aliases<'t>(text: &'t str, table: &str) -> Vec<(&'t str, &'t str)> {
    let before = format!("\"{table}\" AS ");
    text.match_indices(&before)
        .map(|(index, _)| {
            let rest = &text[index + before.len()..];
            rest.split_at(rest.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(rest.len()))
        })
        .collect()
}

/// The text without quoted parts.
fn outside_quotes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open = None;
    for character in text.chars() {
        match (open, character) {
            (None, '"' | '\'') => open = Some(character),
            (Some(quote), _) if quote == character => open = None,
            (None, other) => out.push(other),
            _ => {}
        }
    }
    out
}
