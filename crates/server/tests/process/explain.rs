//! `explain RESOURCE STATEMENT.json`

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Folder, MANIFEST};
use crate::support::{Backend, Database};

const STATEMENT: &str = r#"{"where":{"name":{"iLike":"a%"}},"relations":{"orders":{"limit":2}},"limit":5}"#;

// contract E5.4, contract B3.1
#[test]
fn explain_shows_the_sql_of_each_level() {
    let folder = Folder::shop();
    folder.write("statement.json", STATEMENT);
    let text = folder.run(&["explain", "shop.customer", "statement.json"], &[]).good();
    for word in ["shop.customer", "root", "orders", "SELECT", "parameters: ?1 text, ?2 int8", "query", "total"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let object: Value =
        serde_json::from_str(&folder.run(&["explain", "shop.customer", "statement.json", "--json"], &[]).good()).expect("one JSON object");
    assert_eq!(object["levels"].as_array().map(Vec::len), Some(2), "{object}");
    assert!(object["levels"][0].get("plan").is_none());
    let object: Value =
        serde_json::from_str(&folder.run(&["explain", "shop.customer", "statement.json", "--json", "--analyze"], &[]).good())
            .expect("one JSON object");
    assert!(object["levels"][0]["plan"].as_array().is_some_and(|lines| !lines.is_empty()), "{object}");
    // The body of a request has the statement under `query`.
    folder.write("body.json", &format!(r#"{{"query": {STATEMENT}, "constraint": {{"where": {{"id": {{"gt": 1}}}}}}}}"#));
    let narrowed = folder.run(&["explain", "shop.customer", "body.json"], &[]).good();
    assert!(narrowed.contains("constraint shop.customer") && narrowed.contains("?3 int8"), "{narrowed}");
    folder.write("body.json", r#"{"query": {"where": {"nmae": {"eq": 1}}}}"#);
    let refused = folder.run(&["explain", "shop.customer", "body.json"], &[]).refused();
    assert!(refused.contains("body.json") && refused.contains("/query/where/nmae"), "{refused}");
    let mut child = folder.command(&["explain", "shop.customer", "-"]).stdin(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().expect("standard input").write_all(STATEMENT.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), text);
}

// contract B3.1
#[test]
fn explain_reports_what_to_fix() {
    let folder = Folder::shop();
    folder.write("bad.json", r#"{"where":{"nmae":{"eq":1}},"limit":10001}"#);
    folder.write("twice.json", r#"{"order":[{"field":"nmae","field":"x"}],"limit":1,"limit":-2}"#);
    folder.write("list.json", "[]");
    folder.write("text.json", "nonsense");
    folder.write("good.json", "{}");
    for (resource, file, words) in [
        ("shop.customer", "bad.json", &["bad.json", "/where/nmae", "/limit"][..]),
        ("shop.customer", "twice.json", &["/order/0/field", "/limit"]),
        ("shop.customer", "list.json", &["list.json: "]),
        ("shop.customer", "text.json", &["text.json"]),
        ("shop.customer", "none.json", &["none.json", "cannot be read"]),
        ("shop.custmer", "good.json", &["shop.custmer", "shop.customer", "shop.order"]),
    ] {
        for arguments in [&["explain", resource, file][..], &["explain", resource, file, "--json"]] {
            let finished = folder.run(arguments, &[]);
            finished.refused();
            let err = finished.err();
            assert!(words.iter().all(|word| err.contains(word)), "{err}");
            assert_eq!(err.lines().count(), 1, "one line: {err}");
            assert!(!err.contains("/query"), "the file is the statement itself: {err}");
        }
    }
}

// contract P2.7, contract B3.1
#[test]
fn explain_applies_the_policy_of_an_account() {
    let folder = Folder::shop();
    let policy = "[resource.shop.customer]\npermission = \"shop.read\"\nconstraint.where.name.eq = \"$account.meta.shop\"\n";
    folder.write("peristyle.toml", &format!("{policy}{MANIFEST}"));
    folder.write("statement.json", "{}");
    folder.write("ana.json", r#"{"id":"a","dPermissions":{"all":["shop.read"]},"meta":{"shop":"Bo"},"roles":[]}"#);
    folder.write("bo.json", r#"{"id":"b","dPermissions":{"all":[]},"meta":{"shop":"Bo"}}"#);
    folder.write("none.json", r#"{"id":"b"}"#);
    folder.write("list.json", "[]");
    let explain = |account: &[&str]| folder.run(&[&["explain", "shop.customer", "statement.json"], account].concat(), &[]);
    assert!(explain(&[]).good().contains("FALSE"), "the operator is no account");
    let printed = explain(&["--account", "ana.json"]).good();
    assert!(printed.contains("policy") && printed.contains("= ?1") && !printed.contains("FALSE"), "{printed}");
    for (file, words) in [
        ("bo.json", "permission"),
        ("none.json", "none.json: \"dPermissions\""),
        ("list.json", "list.json: "),
        ("nobody.json", "nobody.json cannot be read"),
    ] {
        let finished = explain(&["--account", file]);
        finished.refused();
        assert!(finished.err().contains(words), "{}", finished.err());
    }
}

// contract W3.11, contract B3.1
#[test]
fn explain_shows_the_statements_of_a_write_and_changes_nothing() {
    let folder = Folder::shop();
    let writes = "[resource.shop.order]\nconstraint = { unless = \"shop.all\", where = { customerId = { eq = 1 } } }\n\
                  [resource.shop.order.write]\nupdate = \"shop.order.update\"\nscope = { where = { total = { lt = 100 } } }\n\
                  check = { where = { total = { gte = 0 } } }\n";
    folder.write(
        "peristyle.toml",
        &format!("{writes}{}", MANIFEST.replace("total = \"decimal\"", "total = { type = \"decimal\", write = true }")),
    );
    folder.write("body.json", r#"{"payload":{"total":"5"},"expect":{"total":{"eq":"4"}}}"#);
    folder.write("bad.json", r#"{"payload":{"totl":"5"}}"#);
    folder.write("bo.json", r#"{"id":"b","dPermissions":{"all":[]}}"#);
    let explain = |file: &str, more: &[&str]| folder.run(&[&["explain", "shop.order", file], more].concat(), &[]);
    let before = std::fs::read(folder.path("shop.db")).expect("the database");
    let update = ["--operation", "update", "--id", "1"];
    let printed = explain("body.json", &update).good();
    for word in
        ["shop.order update/{id}", "\ntarget\n", "\nscope\n", "\nexpect\n", "\nchange\n  UPDATE", "\nanswer\n", "  check  ", "  policy  "]
    {
        assert!(printed.contains(word), "{word:?} in {printed}");
    }
    let object: Value = serde_json::from_str(&explain("body.json", &[&update[..], &["--json"]].concat()).good()).expect("JSON");
    assert_eq!(object["operation"], "update/{id}");
    for (file, arguments, words) in [
        ("bad.json", &update[..], "bad.json: WR110 at \"/payload/totl\""),
        ("body.json", &["--operation", "update", "--id", "x"], "/id"),
        ("body.json", &["--operation", "update"], "WR106"),
        ("body.json", &["--operation", "delete", "--id", "1"], "does not have this operation"),
        ("body.json", &["--operation", "create", "--id", "1"], "takes no --id: a new row has none yet"),
        ("body.json", &["--operation", "restore"], "needs --id"),
        ("body.json", &["--operation", "update", "--id", "1", "--analyze"], "--analyze"),
        ("body.json", &["--operation", "update", "--id", "1", "--account", "bo.json"], "shop.order.update"),
        ("body.json", &["--id", "1"], "--id names the row of a write"),
    ] {
        let finished = explain(file, arguments);
        finished.refused();
        assert!(finished.err().contains(words), "{words} in {}", finished.err());
    }
    let unknown = explain("body.json", &["--operation", "upsert"]);
    assert_eq!(unknown.code(), Some(2));
    assert!(unknown.err().contains("keyset-paginate, create, update, delete, restore"), "{}", unknown.err());
    assert_eq!(std::fs::read(folder.path("shop.db")).expect("the database"), before);
}

// contract E5.7
#[tokio::test]
async fn analyze_on_the_command_line_shows_every_figure() {
    let folder = Folder::shop();
    let script = "CREATE TABLE customers (id bigint PRIMARY KEY, name text NOT NULL); INSERT INTO customers VALUES (1, 'Ana');
        CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, total numeric)";
    let database = Database::with(Backend::Postgres, script).await;
    folder.write("statement.json", "{}");
    let arguments = ["explain", "shop.customer", "statement.json", "--analyze"];
    let printed = folder.run(&arguments, &[("DATABASE_URL", &database.url)]).good();
    for word in ["Seq Scan on customers", "(cost=", "(actual time=", "loops=1", "Shared Hit Blocks"] {
        assert!(printed.contains(word), "{word} in {printed}");
    }
}
