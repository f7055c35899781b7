//! The strategies, read from the tree before it is text.

use crate::catalog::Catalog;
use crate::manifest::Manifest;
use crate::merge::merged;
use crate::plan::{Operation, Plan, PlanBody, Select, plan};
use crate::policy::{Viewer, authorize_read};

use super::Dialect;
use super::level::Fetch;
use super::row_source;
use super::tree::Condition;
use super::tree::ExistsForm::{self, Fenced, KeyIn, Plain};

const MANIFEST: &str = r#"
[resource.t.row]
table = "rows"
[resource.t.row.fields]
id = { type = "int", key = true }
up = "int"
v = "int"
[resource.t.row.relations]
above = { one = "t.row", on = { up = "id" } }
below = { many = "t.row", on = { id = "up" } }
linked = { many = "t.row", through = "links", on = { id = "one" }, to = { two = "id" } }
"#;

fn with_rows<T>(query: &str, read: impl FnOnce(&Select<'_>) -> T) -> T {
    let catalog = Catalog::resolve(&Manifest::read(MANIFEST).expect("a manifest")).expect("a catalog");
    let viewer = Viewer::operator();
    let access = authorize_read(&catalog, 0, &viewer).expect("the operator may");
    let body = crate::parse::body(format!("{{\"query\":{query}}}").as_bytes()).expect("a statement");
    let Plan { body: PlanBody::Rows(select), .. } = plan(access, merged(body), Operation::List, None).expect("a plan") else {
        panic!("the statement has no aggregation")
    };
    read(&select)
}

/// The forms of all relation filters of a where, in the order of the text.
fn forms(filter: &str, dialect: Dialect) -> Vec<ExistsForm> {
    fn collect(condition: &Condition<'_>, forms: &mut Vec<ExistsForm>) {
        let select = match condition {
            Condition::Test(..) | Condition::Key(..) | Condition::RowComparison(..) => return,
            Condition::All(all) | Condition::Any(all) => return all.iter().for_each(|one| collect(one, forms)),
            Condition::Not(inner) => return collect(inner, forms),
            Condition::Exists(select) => {
                forms.push(if select.fenced { Fenced } else { Plain });
                select
            }
            Condition::In(key_in) => {
                forms.push(KeyIn);
                &key_in.select
            }
        };
        select.conditions.filters.iter().for_each(|one| collect(one, forms));
    }
    with_rows(&format!("{{\"where\":{filter}}}"), |select| {
        let mut forms = Vec::new();
        row_source::filters(&select.source, dialect).filters.iter().for_each(|one| collect(one, &mut forms));
        forms
    })
}

/// So many relation filters that name no value.
fn others(count: usize) -> String {
    vec![r#"{"above":{"v":{"gt":1}}}"#; count].join(",")
}

#[test]
fn of_many_filters_those_that_name_values_stay_open_to_the_planner() {
    let forms = |filters: &str| forms(&format!(r#"{{"and":[{filters}]}}"#), Dialect::Postgres);
    assert_eq!(forms(&others(5)), [Plain; 5]);
    assert_eq!(forms(&others(6)), [Fenced; 6]);
    let named = r#"{"below":{"v":{"eq":1},"above":{"v":{"in":[1]}}}}"#;
    assert_eq!(forms(&format!("{},{named}", others(5))), [Fenced, Fenced, Fenced, Fenced, Fenced, Plain, Plain]);
    // Each has two, and five have room: the inner filter of the third is fenced, and the fourth, which is a query of its own inside.
    assert_eq!(forms(&[named; 4].join(",")), [Plain, Plain, Plain, Plain, Plain, Fenced, Fenced, Plain]);
}

#[test]
fn to_many_filters_inside_each_other_are_fenced_unless_an_or_is_between() {
    let deep = r#"{"below":{"below":{"below":{"v":{"gt":1}}}}}"#;
    assert_eq!(forms(deep, Dialect::Postgres), [Fenced; 3]);
    assert_eq!(forms(r#"{"below":{"below":{"v":{"gt":1}}}}"#, Dialect::Postgres), [Plain; 2]);
    let split = r#"{"below":{"below":{"or":[{"below":{"v":{"gt":1}}},{"v":{"gt":1}}]}}}"#;
    assert_eq!(forms(split, Dialect::Postgres), [Plain; 3]);
}

#[test]
fn to_many_filters_that_spread_out_become_sets_of_keys() {
    let deep = r#"{"linked":{"linked":{"linked":{"v":{"gt":1}}}}}"#;
    assert_eq!(forms(deep, Dialect::Postgres), [KeyIn; 3]);
    assert_eq!(forms(deep, Dialect::Sqlite), [Plain, KeyIn, Plain]);
}

#[test]
fn sqlite_begins_at_rows_whose_keys_are_named() {
    let is_set = |filter: &str| forms(filter, Dialect::Sqlite).contains(&KeyIn);
    for filter in [r#"{"below":{"id":{"eq":1}}}"#, r#"{"above":{"id":{"in":[1,2]}}}"#, r#"{"below":{"below":{"id":{"eq":1}}}}"#] {
        assert!(is_set(filter), "{filter}");
    }
    for filter in [r#"{"below":{"v":{"eq":1}}}"#, r#"{"above":{"id":{"gt":1}}}"#, r#"{"below":{"or":[{"id":{"eq":1}},{"v":{"eq":1}}]}}"#] {
        assert!(!is_set(filter), "{filter}");
    }
}

#[test]
fn related_rows_are_fetched_by_a_key_list_a_key_table_or_a_subquery_for_each_parent() {
    let fetch = |relations: &str, dialect| {
        with_rows(&format!("{{\"relations\":{relations}}}"), |select| {
            format!("{:?}", Fetch::choose(select.source.table.resource, &select.children[0], dialect))
        })
    };
    let (all, linked, first) = (r#"{"below":true}"#, r#"{"linked":true}"#, r#"{"below":{"limit":2}}"#);
    assert!(fetch(all, Dialect::Postgres).starts_with("KeyList"), "{}", fetch(all, Dialect::Postgres));
    assert_eq!(fetch(all, Dialect::Sqlite), "KeyTable");
    assert_eq!(fetch(linked, Dialect::Postgres), "KeyTable");
    assert_eq!(fetch(first, Dialect::Postgres), "Lateral");
    // A key that nothing makes unique may repeat.
    assert_eq!(fetch(first, Dialect::Sqlite), "RowNumber");
}
