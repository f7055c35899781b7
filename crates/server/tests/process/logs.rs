//! Logs in text and JSON: with request ids, without data.

use serde_json::Value;

use crate::program::Folder;
use crate::support::{Backend, Database, post, shop, variable};

// contract B1.7
#[tokio::test]
async fn json_logs_are_one_object_a_line_and_carry_the_request_id() {
    let folder = Folder::shop();
    let serving = folder.serve(&[("LOG_FORMAT", "json"), ("LOG", "debug")]);
    post("/api/shop/customers/list", "").header("x-request-id", "trace-me-42").send(serving.address).await.good();
    post("/api/shop/customers/list", "{").header("x-request-id", "trace-me-43").send(serving.address).await.problem(400);
    let log = serving.stop();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
    assert!(lines.iter().any(|line| line["level"] == "WARN" && line.to_string().contains("NOBODY CAN SIGN IN")));
    for id in ["trace-me-42", "trace-me-43"] {
        assert!(lines.iter().any(|line| line.to_string().contains(id)), "{id} in {log}");
    }
}

// contract B1.7
#[test]
fn an_error_at_boot_is_logged_as_json_too() {
    let folder = Folder::shop();
    let variables = [("LOG_FORMAT", "json"), ("DATABASE_URL", "sqlite://nowhere/shop.db")];
    for variables in [variables, [variables[0], ("DATABASE_URL", "mysql://x")]] {
        let finished = folder.run(&["serve"], &variables);
        let log = finished.err();
        let last: Value = serde_json::from_str(log.lines().last().expect("a line")).unwrap_or_else(|error| panic!("{error}: {log}"));
        assert_eq!((finished.code(), &last["level"]), (Some(1), &Value::from("ERROR")), "{log}");
        assert!(last["fields"]["message"].as_str().is_some_and(|message| message.starts_with("DATABASE_URL: ")), "{log}");
    }
    // With LOG=off the error is still printed.
    let silent = folder.run(&["serve"], &[variables[0], variables[1], ("LOG", "off")]);
    assert!(silent.refused().starts_with("DATABASE_URL: "));
}

// contract B1.7
#[tokio::test]
async fn the_filter_decides_what_is_logged() {
    let folder = Folder::shop();
    let serving = folder.serve(&[("LOG", "info")]);
    post("/api/shop/customers/list", "").send(serving.address).await.good();
    let log = serving.stop();
    assert!(log.contains("serving") && !log.contains("DEBUG") && !log.contains("\u{1b}["), "{log}");
}

// contract B1.7, B1.20
#[tokio::test]
async fn a_failed_request_is_logged_with_its_id_method_and_path_whatever_the_filter() {
    for filter in ["error", "warn", "info", "peristyle::problem=error", "off,peristyle::problem=error", "info,peristyle::router=off"] {
        let folder = Folder::shop();
        let serving = folder.serve_quietly(&[("LOG", filter), ("LOG_FORMAT", "json")]);
        let file = rusqlite::Connection::open(folder.path("shop.db")).expect("the database");
        file.execute_batch("ALTER TABLE customers RENAME COLUMN name TO gone").expect("another column");
        let list = "/api/shop/customers/list";
        post(list, "").header("x-request-id", "find-me-1").send(serving.address).await.problem(500);
        let log = serving.stop();
        let lines: Vec<Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
        let failed = lines.iter().find(|line| line["fields"]["message"] == "request failed").unwrap_or_else(|| panic!("{filter}: {log}"));
        let (id, method, path) = (&failed["span"]["id"], &failed["span"]["method"], &failed["span"]["path"]);
        assert_eq!((id, method, path), (&"find-me-1".into(), &"POST".into(), &list.into()), "{filter}: {failed}");
    }
    let folder = Folder::shop();
    let serving = folder.serve_quietly(&[("LOG", "off")]);
    rusqlite::Connection::open(folder.path("shop.db"))
        .and_then(|file| file.execute_batch("ALTER TABLE orders RENAME COLUMN total TO gone"))
        .expect("another column");
    post("/api/shop/orders/list", "").send(serving.address).await.problem(500);
    assert_eq!(serving.stop(), "", "LOG=off prints nothing");
}

// contract B1.7, contract E2.8
#[tokio::test]
async fn the_trace_log_shows_no_value_and_no_password() {
    let database = shop::database(Backend::Postgres).await;
    let with_password = database.url.replace("postgres@", "postgres:sesame-opens@");
    let encoded = variable("PERISTYLE_TEST_SOCKET").replace('/', "%2F");
    let socket = format!("postgres://postgres:sesame-opens@{encoded}:{}/{}", variable("PERISTYLE_TEST_PORT"), database.name());
    let folder = Folder::shop();
    folder.write("peristyle.toml", shop::MANIFEST);
    rusqlite::Connection::open(folder.path("full.db"))
        .and_then(|file| file.execute_batch(&shop::script(Backend::Sqlite)))
        .expect("a database");
    for url in [with_password.as_str(), &socket, "sqlite://full.db"] {
        for prepare in ["on", "off"] {
            let serving = folder.serve(&[("LOG", "trace"), ("DATABASE_URL", url), ("DATABASE_PREPARE", prepare)]);
            for (operation, body) in [
                ("list", r#"{"query":{"where":{"name":{"eq":"marker-a"},"tags":{"overlap":["marker-b"]}},"limit":1}}"#),
                ("list", r#"{"query":{"where":{"name":{"in":["marker-c","x"]}}}}"#),
                ("paginate", r#"{"query":{"where":{"orders":{"total":{"gt":"77777.77"}},"name":{"iLike":"%marker-d%"}}}}"#),
                (
                    "list",
                    r#"{"query":{"relations":{"orders":{"where":{"total":{"gt":"77777.77"}}}}},"constraint":{"where":{"profile":{"ne":"marker-e"}}}}"#,
                ),
                ("find", r#"{"query":{"where":{"code":{"eq":"77777777-7777-4777-8777-777777777777"}}}}"#),
                ("list", r#"{"query":{"where":{"visits":{"eq":"marker-f"}}}}"#),
                ("list", r#"{"marker-g": "#),
            ] {
                let answer = post(&format!("/api/shop/customers/{operation}"), body)
                    .header("authorization", "Bearer marker-h")
                    .send(serving.address)
                    .await;
                assert!(answer.status() < 500, "{}", answer.text());
            }
            let log = serving.stop();
            assert!(log.contains("TRACE") || log.contains("DEBUG"), "{log}");
            // The log has no rows either.
            for secret in ["marker-", "77777.77", "77777777-7777", "sesame", "Ana", "key-of"] {
                let found = log.lines().find(|line| line.contains(secret));
                assert_eq!(found, None, "{secret} in the log of {url} with prepare {prepare}");
            }
        }
    }
}

// contract E2.14
#[tokio::test]
async fn an_unsupported_statement_is_logged_with_its_reason_and_its_sql() {
    let script = "CREATE FUNCTION unsupported() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'joins of distant rows' USING ERRCODE = '0A000', DETAIL = 'two shards', HINT = 'use one shard'; END $$;
        CREATE VIEW items AS SELECT 1 AS id, unsupported() AS far";
    let (folder, database) = (Folder::new(), Database::with(Backend::Postgres, script).await);
    folder.write("peristyle.toml", "[resource.shop.item.fields]\nid = \"int\"\nfar = \"int\"\n");
    let serving = folder.serve(&[("DATABASE_URL", database.url.as_str()), ("LOG_FORMAT", "json")]);
    for body in ["{}", r#"{"query":{"limit":1}}"#] {
        post("/api/shop/items/list", body).send(serving.address).await.problem(501);
    }
    let log = serving.stop();
    let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let errors: Vec<&str> =
        lines.iter().filter(|line| line["level"] == "ERROR").filter_map(|line| line["fields"]["error"].as_str()).collect();
    assert_eq!(errors.len(), 2, "{log}");
    for error in errors {
        let parts = ["0A000: joins of distant rows", "DETAIL: two shards", "HINT: use one shard", " in SELECT "];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
