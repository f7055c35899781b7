//! `LOG_SLOW_STATEMENTS`: a line for each slow statement by its shape, some a minute, without values.

use std::net::SocketAddr;

use serde_json::Value;

use crate::program::Folder;
use crate::support::{Backend, get, post, shop};

/// A view that takes longer than a millisecond.
const SLOW: &str = "CREATE VIEW slow AS SELECT 1 AS id, count(*) AS name FROM
    (WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 50000) SELECT n FROM numbers) AS counted";
const MANIFEST: &str = "[resource.shop.slow]\ntable = \"slow\"\n[resource.shop.slow.fields]\nid = \"int\"\nname = \"bigint\"\n";

/// The address of the metrics, from the log.
pub(crate) fn metrics_address(serving: &mut crate::program::Serving) -> SocketAddr {
    let line = serving.line(|line| line.contains("serving metrics"));
    let address = line.split(['=', '"', ' ']).find(|word| word.starts_with("127.0.0.1:"));
    address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("no address in {line}"))
}

// contract B5.9
#[tokio::test]
async fn a_slow_statement_is_logged_by_its_shape_some_times_a_minute() {
    let postgres = shop::database(Backend::Postgres).await;
    postgres.execute(SLOW).await;
    let folder = Folder::shop();
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(SLOW)).expect("a view");
    folder.write("peristyle.toml", MANIFEST);
    for url in ["sqlite://shop.db", &postgres.url] {
        let variables = [("DATABASE_URL", url), ("LOG_SLOW_STATEMENTS", "1"), ("LOG_FORMAT", "json"), ("METRICS_LISTEN", "127.0.0.1:0")];
        let mut serving = folder.serve(&variables);
        let metrics = metrics_address(&mut serving);
        for number in 0..8 {
            let body = format!(r#"{{"query":{{"where":{{"id":{{"lt":{}}}}},"limit":7}}}}"#, 777_001 + number);
            let asked = post("/api/shop/slows/list", body).header("x-request-id", &format!("slow-{number}"));
            assert_eq!(asked.send(serving.address).await.status(), 200);
        }
        let text = get("/metrics").send(metrics).await.text();
        assert!(text.contains("peristyle_slow_statements_total 8"), "{text}");
        let log = serving.stop();
        let lines: Vec<Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
        let slow: Vec<&Value> = lines.iter().filter(|line| line["fields"]["message"] == "slow statement").collect();
        assert_eq!(slow.len(), 5, "of eight: {log}");
        for (number, line) in slow.iter().enumerate() {
            let fields = &line["fields"];
            assert_eq!((&fields["resource"], &fields["operation"], &fields["part"]), (&"shop.slow".into(), &"list".into(), &"rows".into()));
            assert_eq!((&fields["rows"], &fields["complete"], &fields["shape"]), (&1.into(), &true.into(), &slow[0]["fields"]["shape"]));
            assert!(fields["duration_ms"].as_u64().is_some_and(|duration| duration >= 1), "{line}");
            assert!(fields["sql"].as_str().is_some_and(|sql| sql.contains("\"slow\"")), "{line}");
            assert_eq!(line["span"]["id"], format!("slow-{number}"), "the line has the id of its request");
        }
        assert_eq!(slow[0]["fields"]["shape"].as_str().map(str::len), Some(16));
        assert!(!log.contains("77700"), "no value is logged: {log}");
        let quiet = folder.serve(&[("DATABASE_URL", url), ("LOG_SLOW_STATEMENTS", "0")]);
        post("/api/shop/slows/list", "").send(quiet.address).await.good();
        assert!(!quiet.stop().contains("slow statement"), "0 is off");
    }
}

// contract B5.9
#[tokio::test]
async fn a_statement_that_times_out_is_logged_too() {
    let folder = Folder::shop();
    let endless = SLOW.replace("50000", "2000000000");
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(&endless)).expect("a view");
    folder.write("peristyle.toml", MANIFEST);
    let mut serving = folder.serve(&[("LOG_SLOW_STATEMENTS", "20"), ("DATABASE_TIMEOUT", "200ms")]);
    assert_eq!(post("/api/shop/slows/list", r#"{"query":{"limit":1}}"#).send(serving.address).await.status(), 504);
    let line = serving.line(|line| line.contains("slow statement"));
    assert!(line.contains("complete=false") && line.contains("rows=0"), "{line}");
    serving.stop();
}
