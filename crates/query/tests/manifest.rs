//! Faults of a manifest: each names its line and what is accepted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use query::catalog::Catalog;
use query::manifest::Manifest;

/// Two resources with relations to each other and a constraint each.
fn manifest(first: &str, second: &str) -> String {
    format!(
        "[resource.t.first]\n{first}\n\
         [resource.t.first.fields]\nid = {{ type = \"int\", key = true }}\nsecondId = \"int\"\n\
         [resource.t.first.relations]\nsecond = {{ one = \"t.second\", on = {{ secondId = \"id\" }} }}\nsiblings = {{ many = \"t.first\", on = {{ secondId = \"secondId\" }} }}\n\
         [resource.t.second]\n{second}\n\
         [resource.t.second.fields]\nid = {{ type = \"int\", key = true }}\nname = \"text\"\n\
         [resource.t.second.relations]\nfirsts = {{ many = \"t.first\", on = {{ id = \"secondId\" }} }}\n"
    )
}

/// The faults as `line: message`; empty for a valid manifest.
fn faults(text: &str) -> Vec<String> {
    let read = Manifest::read(text).and_then(|manifest| Catalog::resolve(&manifest));
    read.err().map(|error| error.0.iter().map(|fault| format!("{}: {}", fault.line, fault.message)).collect()).unwrap_or_default()
}

// contract P2.9, contract P2.8, contract P1.6
#[test]
fn constraints_that_lead_to_each_other_are_refused() {
    let onward = "constraint = { where = { second = {} } }";
    let back = "constraint = { where = { or = [{ name = { eq = \"x\" } }, { not = { firsts = {} } }] } }";
    assert_eq!(faults(&manifest(onward, "")), Vec::<String>::new());
    assert_eq!(faults(&manifest("", back)), Vec::<String>::new());
    let circle = faults(&manifest(onward, back));
    assert_eq!(circle.len(), 2, "{circle:?}");
    assert!(circle.iter().all(|fault| fault.contains("leads back to itself")), "{circle:?}");
    // Relations that a constraint loads also follow constraints.
    for more in ["relations = { second = true }", "order = [{ field = \"second.name\" }]"] {
        let onward = format!("constraint = {{ where = {{ second = {{}} }}, {more} }}");
        assert_eq!(faults(&manifest(&onward, back)).len(), 2, "{more}");
    }
    let own = faults(&manifest("constraint = { where = { siblings = {} } }", ""));
    assert!(own.len() == 1 && own[0].starts_with("1: ") && own[0].contains("`t.first`"), "{own:?}");
    let there_and_back = faults(&manifest("constraint = { where = { second = { firsts = { id = { gt = 1 } } } } }", ""));
    assert_eq!(there_and_back.len(), 1, "{there_and_back:?}");
}

// contract P2.9
#[test]
fn a_constraint_has_neither_offset_nor_aggregation() {
    for (constraint, word) in [
        ("constraint = { offset = 5 }", "`offset`"),
        ("constraint = { relations = { siblings = { offset = 1 } } }", "`offset`"),
        ("constraint = { relations = { siblings = { relations = { second = { offset = 1 } } } } }", "`offset`"),
        ("constraint = { where = { id = { gt = 1 } }, aggregation = { fields = [{ fn = \"count\", field = \"*\" }] } }", "`aggregation`"),
    ] {
        let faults = faults(&manifest(constraint, ""));
        assert!(!faults.is_empty() && faults.iter().all(|fault| fault.starts_with("2: ")), "{faults:?}");
        assert!(faults.iter().any(|fault| fault.contains(word)), "{faults:?}");
    }
}

// contract P2.7, contract P1.6, contract P1.1
#[test]
fn a_constraint_is_checked_when_it_is_read() {
    for (constraint, word) in [
        ("constraint = { where = { nobody = { eq = 1 } } }", "nobody"),
        ("constraint = { where = { id = { like = 1 } } }", "like"),
        ("constraint = { where = { id = { eq = \"one\" } } }", "whole number"),
        ("constraint = { where = { id = { eq = \"$tenant\" } } }", "$account"),
        ("constraint = { where = { id = { in = [\"$account.id\", \"x\"] } } }", "whole number"),
        ("constraint = { where = { id = { eq = \"$account.\" } } }", "names no value"),
        ("constraint = { where = { id = { eq = \"$account..id\" } } }", "names no value"),
        ("constraint = { where = { id = { eq = \"$account.id x\" } } }", "names no value"),
        ("constraint = { relations = { nobody = true } }", "nobody"),
        ("constraint = { relations = { siblings = { where = { id = { in = [1, \"x\"] } } } } }", "whole number"),
        ("constraint = { relations = { siblings = { where = { id = { eq = \"$tenant\" } } } } }", "$account"),
        ("constraint = { order = [{ field = \"nobody\" }] }", "nobody"),
        ("constraint = { limit = 10001 }", "10000"),
        ("constraint = { attributes = [\"id\"] }", "attributes"),
    ] {
        let faults = faults(&manifest(constraint, ""));
        assert!(faults.iter().any(|fault| fault.starts_with("2: ") && fault.contains(word)), "{constraint}: {faults:?}");
    }
    assert_eq!(
        faults(&manifest(
            "constraint = { where = { id = { in = \"$account.ids\", ne = 0xff } }, order = [{ field = \"id\" }], limit = 0x10 }",
            ""
        )),
        Vec::<String>::new()
    );
}

// contract P1.5, contract P1.6
#[test]
fn a_reserved_context_is_refused_in_every_spelling() {
    for context in ["iam", "Iam", "hub", "Hub", "oAuth", "OAuth", "auth", "Auth"] {
        let found = faults(&format!("\n[resource.{context}.thing.fields]\nid = \"int\"\n"));
        assert!(found.len() == 1 && found[0].starts_with("2: ") && found[0].contains(context), "{context}: {found:?}");
    }
    for context in ["IAM", "oauth", "iamData", "authors"] {
        assert_eq!(faults(&format!("[resource.{context}.thing.fields]\nid = \"int\"\n")), Vec::<String>::new(), "{context}");
    }
}

// contract P1.6
#[test]
fn a_value_of_an_enum_is_declared_once() {
    for kind in ["enum", "enum[]"] {
        let field =
            |values: &str| format!("[resource.t.first.fields]\nid = \"int\"\nstate = {{ type = \"{kind}\", values = [{values}] }}\n");
        let found = faults(&field("\"new\", \"paid\", \"new\""));
        assert!(found.len() == 1 && found[0].starts_with("3: ") && found[0].contains("\"new\" twice"), "{found:?}");
        assert_eq!(faults(&field("\"new\", \"New\"")), Vec::<String>::new());
    }
}

// contract P1.6
#[test]
fn a_field_with_a_fault_cannot_be_referenced() {
    for (first, last) in [("\"int\"", "\"inteeger\""), ("\"inteeger\"", "\"int\"")] {
        let text = format!(
            "[resource.t.first]\nsoft-delete = \"parentId\"\n[resource.t.first.fields]\nid = {{ type = {first}, key = true }}\nparentId = {last}\n\
             [resource.t.first.relations]\nparent = {{ one = \"t.first\", on = {{ parentId = \"id\" }} }}\n"
        );
        let found = faults(&text);
        assert!(found.iter().any(|fault| fault.contains("unknown type \"inteeger\"")), "{found:?}");
        assert!(found.iter().any(|fault| fault.contains("not a field of")), "{found:?}");
    }
}
