//! Constraints in a plan, of shapes that the fixture does not have.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use query::catalog::Catalog;
use query::catalog::write_rules::WriteOperation;
use query::error::Error;
use query::manifest::Manifest;
use query::payload::{self, WriteForm};
use query::plan::write::{ServerValues, WriteAddress, WriteError, plan_write};
use query::policy::{self, Viewer};
use query::sql::{Dialect, Query};
use query::{parse, plan, sql};
use serde_json::{Value, json};

fn catalog(text: &str) -> Catalog {
    Manifest::read(text).and_then(|manifest| Catalog::resolve(&manifest)).expect("a manifest")
}

fn asked(catalog: &Catalog, resource: &str, viewer: &Viewer, query: &Value) -> Result<Query, Error> {
    let access = policy::authorize_read(catalog, catalog.by_name(resource).expect("a resource"), viewer).expect("read access");
    let body = parse::body(json!({ "query": query }).to_string().as_bytes())?;
    let plan = plan::plan(access, body.query, plan::Operation::List, None)?;
    Ok(sql::render(&plan, Dialect::Postgres))
}

// contract P2.7
#[test]
fn an_absent_variable_closes_a_relation_that_a_constraint_loads() {
    let clauses = [
        "{ not = { name = { eq = \"$account.meta.secret\" } } }",
        "{ or = [{ id = { gt = 0 } }, { name = { eq = \"$account.meta.secret\" } }] }",
        "{ name = { ne = \"$account.meta.secret\" } }",
        "{ not = { id = { in = [1, \"$account.meta.secret\"] } } }",
    ];
    for clause in clauses {
        let catalog = catalog(&format!(
            "[resource.t.first]\nconstraint = {{ relations = {{ seconds = {{ where = {clause} }} }} }}\n\
             [resource.t.first.fields]\nid = {{ type = \"int\", key = true }}\n\
             [resource.t.first.relations]\nseconds = {{ many = \"t.second\", on = {{ id = \"firstId\" }} }}\n\
             [resource.t.second.fields]\nid = {{ type = \"int\", key = true }}\nfirstId = \"int\"\nname = \"text\"\n"
        ));
        for query in [json!({}), json!({ "relations": { "seconds": { "where": { "id": { "gt": 5 } } } } })] {
            let text = |account: Value| {
                let query = asked(&catalog, "t.first", &Viewer::new([], account), &query).expect("a statement");
                query.root.children[0].level.sql.text().to_owned()
            };
            let closed = text(json!({ "meta": {} }));
            assert!(closed.ends_with(" FALSE"), "{clause}: {closed}");
            let open = text(json!({ "meta": { "secret": "seven" } }));
            assert_eq!(open.contains("FALSE"), clause.contains(" in "), "a value of the wrong type closes too: {clause}: {open}");
        }
    }
}

fn many_tables() -> Catalog {
    let nodes = |count: usize| vec!["{ child = {} }"; count].join(", ");
    catalog(&format!(
        "[resource.t.first.write]\ndelete = true\n[resource.t.first.fields]\nid = {{ type = \"int\", key = true }}\n\
         [resource.t.first.relations]\nseconds = {{ many = \"t.second\", on = {{ id = \"firstId\" }} }}\n\
         [resource.t.second]\nconstraint = {{ where = {{ and = [{}] }} }}\n\
         [resource.t.second.fields]\nid = {{ type = \"int\", key = true }}\nfirstId = \"int\"\n\
         [resource.t.second.relations]\nchild = {{ one = \"t.third\", on = {{ firstId = \"id\" }} }}\n\
         [resource.t.third.fields]\nid = {{ type = \"int\", key = true }}\n",
        nodes(40)
    ))
}

// contract Q11.3, contract P2.9
#[test]
fn the_number_of_tables_of_constraints_is_bounded() {
    let catalog = many_tables();
    let filters = |count: usize| json!({ "where": { "and": vec![json!({ "seconds": {} }); count] } });
    asked(&catalog, "t.first", &Viewer::anonymous(), &filters(40)).expect("1,641 tables");
    let Error { faults } = asked(&catalog, "t.first", &Viewer::anonymous(), &filters(900)).expect_err("far more");
    assert_eq!((faults.len(), faults[0].code.as_str(), faults[0].path.as_str()), (1, "QS204", "/query"), "{faults:?}");
}

// contract Q11.3, contract W3.4
#[test]
fn the_number_of_tables_of_a_write_is_bounded() {
    let catalog = many_tables();
    let viewer = Viewer::anonymous();
    let planned = |filters: usize| {
        let access = policy::authorize_write(&catalog, catalog.by_name("t.first").expect("a resource"), WriteOperation::Delete, &viewer)
            .expect("write access");
        // A filter that reached no table would match nothing, and its negation everything.
        let query = json!({ "where": { "or": vec![json!({ "seconds": {} }); filters], "not": { "seconds": {} } } });
        let body = payload::body(WriteForm::Delete, json!({ "query": query }).to_string().as_bytes()).expect("a body");
        let server_values = ServerValues { now: 0, random: &mut || [0; 16] };
        match plan_write(access, WriteForm::Delete, &body, WriteAddress::default(), server_values) {
            Ok(_) => Vec::new(),
            Err(WriteError::Faults(error)) => error.faults.iter().map(|fault| (fault.code.as_str(), fault.path.clone())).collect(),
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(planned(40), []);
    assert_eq!(planned(160), [("QS204", "/query".to_owned())]);
}

/// contract I12.2: a hub knows the permissions that resources ask for, and those that lift masks.
#[test]
fn the_catalog_lists_every_permission() {
    let text = "[resource.shop.customer]\npermission = \"shop.customer.get\"\n[resource.shop.customer.fields]\n\
                id = { type = \"int\", key = true }\nemail = { type = \"text\", mask = \"email\", unmask = \"shop.customer.pii\" }\n\
                phone = { type = \"text\", mask = \"redact\" }\n[resource.shop.open.fields]\nid = { type = \"int\", key = true }\n";
    assert_eq!(catalog(text).permissions().collect::<Vec<_>>(), [("shop.customer.get", 2), ("shop.customer.pii", 5)]);
}
