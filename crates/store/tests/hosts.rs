//! Several hosts, hosts that never answer, and one timeout for a request.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::{Duration, Instant};

use query::catalog::Catalog;
use query::manifest::Manifest;
use query::plan::Operation;
use query::policy::{self, Viewer};
use store::run::Format;
use store::{Answer, Database, DatabaseSettings, Error, Reachability};
use support::Postgres;
use support::proxy::{self, Proxy};

const SCRIPT: &str = "CREATE TABLE quick (id int PRIMARY KEY); INSERT INTO quick SELECT n FROM generate_series(1, 9) n;
    CREATE FUNCTION nap(seconds float8, id int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN PERFORM pg_sleep(seconds); RETURN id; END $$;
    CREATE VIEW slow AS SELECT nap(4, 1) AS id;
    CREATE VIEW endless AS SELECT nap(600, 1) AS id;
    CREATE VIEW drowsy AS SELECT id, nap(0.7, id) AS other FROM quick WHERE id = 1";

const MANIFEST: &str = "[resource.t.quick]\ntable = \"quick\"\nplural = \"quicks\"\n[resource.t.quick.fields]\nid = { type = \"int\", key = true }\n\
    [resource.t.quick.relations]\nnaps = { many = \"t.slow\", on = { id = \"id\" } }\n\
    [resource.t.slow]\ntable = \"slow\"\nplural = \"slows\"\n[resource.t.slow.fields]\nid = \"int\"\n\
    [resource.t.endless]\ntable = \"endless\"\nplural = \"endlesses\"\n[resource.t.endless.fields]\nid = \"int\"\n\
    [resource.t.drowsy]\ntable = \"drowsy\"\nplural = \"drowsies\"\n[resource.t.drowsy.fields]\nid = \"int\"\nother = \"int\"\n\
    [resource.t.drowsy.relations]\nmore = { many = \"t.drowsy\", on = { id = \"id\" } }\n";

/// Runs a statement, and measures how long it takes.
async fn timed(database: &Database, resource: &str, operation: Operation, body: &str) -> (Result<Vec<u8>, Error>, Duration) {
    let catalog = Catalog::resolve(&Manifest::read(MANIFEST).expect("a manifest")).expect("a catalog");
    let (resource, viewer) = (catalog.by_name(resource).expect("a resource"), Viewer::anonymous());
    let access = policy::authorize_read(&catalog, resource, &viewer).expect("allowed");
    let query = support::planned(access, body.as_bytes(), operation, None, database).expect("valid");
    let started = Instant::now();
    let answer = match database.run(query, Format::Json).await {
        Ok(Answer::Whole(bytes) | Answer::Page(bytes, _)) => Ok(bytes.to_vec()),
        Ok(Answer::Chunks(chunks)) => support::whole(chunks).await,
        Ok(Answer::Nothing) => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    (answer, started.elapsed())
}

const PAGE: &str = r#"{"query":{"limit":2}}"#;

async fn page(database: &Database) -> (Result<Vec<u8>, Error>, Duration) {
    timed(database, "t.quick", Operation::Paginate, PAGE).await
}

fn open(url: &str, settings: DatabaseSettings) -> Database {
    Database::open(url, &settings).expect("the database opens")
}

/// The URL with both hosts, of which the first is asked first.
fn both(first: &str, second: &str) -> String {
    let place = |url: &str| url.split_once('@').and_then(|(_, rest)| rest.split_once('/')).expect("a host").0.to_owned();
    second.replace(&place(second), &format!("{},{}", place(first), place(second)))
}

const SECONDS: fn(u64) -> Duration = Duration::from_secs;

// contract B1.26, contract E2.6
#[tokio::test]
async fn a_first_host_that_never_answers_costs_one_second_once() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode, connections) = proxy::start_counting(&server.url).await;
    mode.send_replace(Proxy::Frozen);
    let database = open(&both(&proxied, &server.url), DatabaseSettings::default());
    database.check_server().await.expect("the second host");
    let (answer, took) = page(&database).await;
    answer.expect("the second host answers");
    assert!(took < SECONDS(4), "{took:?}");
    // The first one is remembered: new connections do not ask it, so they do not wait for it.
    let answers = futures_util::future::join_all((0..8).map(|_| page(&database))).await;
    assert!(answers.iter().all(|(answer, _)| answer.is_ok()), "{answers:?}");
    assert!(connections.accepted() <= 4, "{connections:?}");
    server.drop().await;
}

// contract B1.26
#[tokio::test]
async fn an_earlier_primary_that_answers_again_is_not_preferred_to_the_present_one() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode, connections) = proxy::start_counting(&server.url).await;
    let url = both(&proxied, &server.url);
    let mark = if url.contains('?') { '&' } else { '?' };
    let database = open(&format!("{url}{mark}target_session_attrs=read-write"), DatabaseSettings::default());
    let pages = async |count| {
        let answers = futures_util::future::join_all((0..count).map(|_| page(&database))).await;
        assert!(answers.iter().all(|(answer, _)| answer.is_ok()), "{answers:?}");
    };
    pages(1).await;
    assert!(connections.accepted() > 0, "the first host is asked first");
    mode.send_replace(Proxy::Frozen);
    pages(1).await;
    mode.send_replace(Proxy::Forwarding);
    // The next new connections have the silent host probed beside them.
    tokio::time::sleep(SECONDS(6)).await;
    pages(6).await;
    tokio::time::sleep(SECONDS(1)).await;
    let before = connections.accepted();
    pages(16).await;
    assert!(database.pool().idle >= 12, "{:?}", database.pool());
    assert_eq!(connections.accepted(), before, "new connections go to the second host");
    server.drop().await;
}

// contract B1.26
#[tokio::test]
async fn a_request_that_waits_for_a_frozen_primary_uses_a_standby_that_becomes_the_primary() {
    let server = Postgres::with(SCRIPT).await;
    // The session from before may still write.
    let administrator = support::connect(&server.url).await;
    let set_read_only = async |word: &str| {
        let set = format!("ALTER DATABASE {} SET default_transaction_read_only = {word}", server.name);
        administrator.batch_execute(&set).await.expect("set");
    };
    let (proxied, mode, connections) = proxy::start_counting(&server.url).await;
    mode.send_replace(Proxy::Frozen);
    set_read_only("on").await;
    let database = open(&with(&both(&proxied, &server.url), "target_session_attrs=read-write"), DatabaseSettings::default());
    let promoted = async {
        until("the first host is asked", async || connections.accepted() > 0).await;
        tokio::time::sleep(SECONDS(2)).await;
        set_read_only("off").await;
    };
    let ((answer, took), ()) = tokio::join!(page(&database), promoted);
    answer.expect("the second host takes writes by now");
    assert!(took > SECONDS(2), "{took:?}");
    drop(administrator);
    server.drop().await;
}

// contract B1.26, contract E2.6
#[tokio::test]
async fn connections_to_a_host_that_froze_are_found_within_seconds() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode) = proxy::start(&server.url).await;
    let database = open(&both(&proxied, &server.url), DatabaseSettings::default());
    // Many idle connections to the first host.
    let warm = futures_util::future::join_all((0..16).map(|_| timed(&database, "t.quick", Operation::List, "{}"))).await;
    assert!(warm.iter().all(|(answer, _)| answer.is_ok()), "{warm:?}");
    assert!(database.pool().idle > 4, "{:?}", database.pool());
    mode.send_replace(Proxy::Frozen);
    let stream = timed(&database, "t.quick", Operation::List, "{}");
    let (one, two, stream) = tokio::join!(page(&database), page(&database), stream);
    for (answer, took) in [one, two, stream] {
        answer.expect("the second host answers, within the same request");
        assert!(took < SECONDS(8), "{took:?}");
    }
    // The other idle connections to it are gone.
    for _ in 0..16 {
        let (answer, took) = page(&database).await;
        answer.expect("the second host");
        assert!(took < SECONDS(2), "{took:?}");
    }
    server.drop().await;
}

// contract B1.26, contract E2.16
#[tokio::test]
async fn all_reads_move_to_a_host_that_was_silent_long_ago() {
    let server = Postgres::with(SCRIPT).await;
    let ((first, first_mode), (second, second_mode)) = (proxy::start(&server.url).await, proxy::start(&server.url).await);
    let database = open(&both(&first, &second), DatabaseSettings::default());
    warm(&database, 8).await;
    first_mode.send_replace(Proxy::Frozen);
    page(&database).await.0.expect("the second host");
    warm(&database, 8).await;
    // The first host is back. Nothing asks it while the second one has connections.
    first_mode.send_replace(Proxy::Forwarding);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    second_mode.send_replace(Proxy::Frozen);
    for (answer, took) in futures_util::future::join_all((0..8).map(|_| page(&database))).await {
        answer.expect("the first host");
        assert!(took < SECONDS(8), "{took:?}");
    }
    server.drop().await;
}

// contract B1.26, contract E2.6
#[tokio::test]
async fn a_thousand_statements_for_a_frozen_host_fail_soon_and_open_few_connections() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode, connections) = proxy::start_counting(&server.url).await;
    let database = open(&proxied, DatabaseSettings { pool: 4, ..DatabaseSettings::default() });
    page(&database).await.0.expect("a warm connection");
    let before = connections.accepted();
    mode.send_replace(Proxy::Frozen);
    let started = Instant::now();
    let answers = futures_util::future::join_all((0..1000).map(|_| page(&database))).await;
    let took = started.elapsed();
    let is_expected = |answer: &Result<Vec<u8>, Error>| matches!(answer, Err(Error::Unavailable(_) | Error::Overloaded));
    assert!(answers.iter().all(|(answer, _)| is_expected(answer)), "{:?}", answers.iter().find(|(answer, _)| !is_expected(answer)));
    let opened = connections.accepted() - before;
    assert!(took < SECONDS(12) && opened < 16, "{took:?} and {opened} connections");
    mode.send_replace(Proxy::Forwarding);
    let started = Instant::now();
    while page(&database).await.0.is_err() {
        assert!(started.elapsed() < SECONDS(10), "it answers again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    server.drop().await;
}

// contract B1.26
#[tokio::test]
async fn requests_fail_soon_while_no_host_answers() {
    let server = Postgres::with(SCRIPT).await;
    let (first, first_mode, _) = proxy::start_counting(&server.url).await;
    let (second, second_mode, _) = proxy::start_counting(&server.url).await;
    let url = with(&both(&first, &second), "connect_timeout=2");
    let database = open(&url, DatabaseSettings { pool: 4, ..DatabaseSettings::default() });
    warm(&database, 8).await;
    first_mode.send_replace(Proxy::Frozen);
    second_mode.send_replace(Proxy::Frozen);
    let burst = async || futures_util::future::join_all((0..40).map(|_| page(&database))).await;
    let slowest = |answers: &[(Result<Vec<u8>, Error>, Duration)]| {
        let failed = |(answer, _): &(Result<Vec<u8>, Error>, Duration)| matches!(answer, Err(Error::Unavailable(_)));
        assert!(answers.iter().all(failed), "{:?}", answers.iter().find(|one| !failed(one)));
        answers.iter().map(|(_, took)| *took).max().expect("answers")
    };
    // The first host falls silent within three seconds. A connection to the second one has two.
    let took = slowest(&burst().await);
    assert!(took < SECONDS(8), "{took:?}");
    // Attempts go on beside the requests.
    for _ in 0..4 {
        let took = slowest(&burst().await);
        assert!(took < SECONDS(1), "{took:?}");
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    second_mode.send_replace(Proxy::Forwarding);
    until("the second host answers again", async || page(&database).await.0.is_ok()).await;
    server.drop().await;
}

// contract B1.26, contract B1.1
#[tokio::test]
async fn a_frozen_host_at_boot_ends_in_a_message() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode) = proxy::start(&server.url).await;
    mode.send_replace(Proxy::Frozen);
    let mark = if proxied.contains('?') { '&' } else { '?' };
    let database = open(&format!("{proxied}{mark}connect_timeout=1"), DatabaseSettings::default());
    let started = Instant::now();
    let message = database.check_server().await.expect_err("no answer").to_string();
    assert!(message.contains("no connection to 127.0.0.1:") && message.contains("no answer within 1 s"), "{message}");
    assert!(matches!(database.schema().await, Err(Error::Unavailable(_))));
    assert!(started.elapsed() < SECONDS(3), "{:?}", started.elapsed());
    server.drop().await;
}

// contract B1.26, contract E2.7
#[tokio::test]
async fn a_slow_statement_of_a_host_that_answers_runs_to_its_end() {
    let server = Postgres::with(SCRIPT).await;
    let database = open(&server.url, DatabaseSettings::default());
    let (answer, took) = timed(&database, "t.slow", Operation::List, "{}").await;
    assert_eq!(answer.expect("rows"), br#"[{"id":1}]"#);
    assert!(took > SECONDS(3), "{took:?}");
    server.drop().await;
}

// contract E2.7
#[tokio::test]
async fn the_statements_of_a_request_have_one_timeout_together() {
    let server = Postgres::with(SCRIPT).await;
    // Four statements of 0.7 seconds each: one is far below the timeout, all of them are far above it.
    let settings = DatabaseSettings { timeout: SECONDS(2), ..DatabaseSettings::default() };
    let database = open(&server.url, settings);
    let alone = r#"{"query":{"limit":5}}"#;
    timed(&database, "t.drowsy", Operation::List, alone).await.0.expect("one statement is fast enough");
    for body in [
        r#"{"query":{"limit":5,"relations":{"more":{"relations":{"more":{"relations":{"more":true}}}}}}}"#,
        r#"{"query":{"relations":{"more":{"relations":{"more":{"relations":{"more":true}}}}}}}"#,
    ] {
        let (answer, _) = timed(&database, "t.drowsy", Operation::List, body).await;
        assert!(matches!(answer, Err(Error::Timeout)), "{answer:?}");
    }
    server.drop().await;
}

fn with(url: &str, parameter: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{parameter}")
}

/// Fills the pool with connections.
async fn warm(database: &Database, count: usize) {
    let answers = futures_util::future::join_all((0..count).map(|_| timed(database, "t.quick", Operation::List, "{}"))).await;
    assert!(answers.iter().all(|(answer, _)| answer.is_ok()), "{answers:?}");
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < SECONDS(60), "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

// contract B1.29
#[tokio::test]
async fn connections_that_pass_nothing_on_cost_one_timeout_together() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode) = proxy::start(&server.url).await;
    let database = open(&proxied, DatabaseSettings { timeout: SECONDS(3), ..DatabaseSettings::default() });
    warm(&database, 12).await;
    assert!(database.pool().idle >= 6, "{:?}", database.pool());
    // As behind a proxy after a failover: new connections lead to another server.
    mode.send_replace(Proxy::OldFrozen);
    let first = page(&database).await.0;
    assert!(matches!(first, Err(Error::Timeout)), "it cannot be told from a long statement: {first:?}");
    for number in 0..16 {
        page(&database).await.0.unwrap_or_else(|error| panic!("page {number}: {error}"));
    }
    server.drop().await;
}

// contract B1.26
#[tokio::test]
async fn a_host_that_is_back_is_used_although_an_attempt_to_reach_it_still_hangs() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode, connections) = proxy::start_counting(&server.url).await;
    let database = open(&with(&proxied, "connect_timeout=60"), DatabaseSettings { timeout: SECONDS(60), ..DatabaseSettings::default() });
    warm(&database, 1).await;
    mode.send_replace(Proxy::Frozen);
    let silent = page(&database).await.0;
    assert!(matches!(silent, Err(Error::Unavailable(_))), "{silent:?}");
    // A silent host is left alone for a second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let (before, other) = (connections.accepted(), database.clone());
    let attempting = tokio::spawn(async move { page(&other).await });
    until("an attempt hangs", async || connections.accepted() > before).await;
    // Its packets are lost for good.
    mode.send_replace(Proxy::OldFrozen);
    until("the host is used", async || page(&database).await.0.is_ok()).await;
    let (answer, took) = attempting.await.expect("an answer");
    assert!(matches!(answer, Err(Error::Unavailable(_))) && took < SECONDS(2), "the attempt has a minute, a request has not: {took:?}");
    server.drop().await;
}

// contract B1.26, contract E2.16
#[tokio::test]
async fn a_host_that_froze_just_after_it_was_asked_leaves_time_for_another_one() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode) = proxy::start(&server.url).await;
    let database = open(&both(&proxied, &server.url), DatabaseSettings { timeout: SECONDS(6), ..DatabaseSettings::default() });
    warm(&database, 4).await;
    // It is asked while this runs.
    timed(&database, "t.slow", Operation::List, "{}").await.0.expect("rows");
    mode.send_replace(Proxy::Frozen);
    page(&database).await.0.expect("the second host answers within the same deadline");
    server.drop().await;
}

// contract E2.16
#[tokio::test]
async fn a_read_starts_again_after_any_of_its_statements() {
    const RELATED: &str = r#"{"query":{"limit":5,"where":{"id":{"eq":1}},"relations":{"naps":true}}}"#;
    const STREAM: &str = r#"{"query":{"where":{"id":{"eq":1}},"relations":{"naps":true}}}"#;
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode, connections) = proxy::start_counting(&server.url).await;
    let database = open(&proxied, DatabaseSettings::default());
    for (operation, body) in [(Operation::Paginate, RELATED), (Operation::List, STREAM)] {
        mode.send_replace(Proxy::Forwarding);
        warm(&database, 1).await;
        let before = connections.accepted();
        let losing = async {
            // The rows are there by now, and the related rows take four seconds.
            tokio::time::sleep(SECONDS(2)).await;
            mode.send_replace(Proxy::LosingAnswers);
        };
        let ((answer, _), ()) = tokio::join!(timed(&database, "t.quick", operation, body), losing);
        let answer = String::from_utf8(answer.expect("rows")).expect("UTF-8");
        assert!(answer.contains(r#""naps":[{"id":1}]"#), "{answer}");
        assert!(connections.accepted() > before, "on another connection");
    }
    server.drop().await;
}

// contract B1.29
#[tokio::test]
async fn a_connection_that_is_given_up_is_closed_while_its_host_is_still_silent() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode, connections) = proxy::start_counting(&server.url).await;
    let database = open(&proxied, DatabaseSettings::default());
    warm(&database, 6).await;
    mode.send_replace(Proxy::Frozen);
    let answers = futures_util::future::join_all((0..4).map(|_| page(&database))).await;
    assert!(answers.iter().all(|(answer, _)| answer.is_err()), "{answers:?}");
    drop(database);
    until("all connections are closed", async || connections.open() == 0).await;
    server.drop().await;
}

// contract E4.4
#[tokio::test]
async fn a_request_to_cancel_that_has_no_effect_is_repeated() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode) = proxy::start(&server.url).await;
    let database = open(&proxied, DatabaseSettings { timeout: SECONDS(1), ..DatabaseSettings::default() });
    warm(&database, 1).await;
    mode.send_replace(Proxy::LosingCancels);
    let (answer, _) = timed(&database, "t.endless", Operation::Find, "{}").await;
    assert!(matches!(answer, Err(Error::Timeout)), "{answer:?}");
    mode.send_replace(Proxy::Forwarding);
    let direct = support::connect(&server.url).await;
    let running = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()";
    until("the statement is cancelled", async || direct.query(running, &[]).await.expect("an answer").is_empty()).await;
    server.drop().await;
}

// contract E2.7
#[tokio::test]
async fn a_connection_that_cannot_be_made_ends_with_the_request() {
    let server = Postgres::with(SCRIPT).await;
    let (proxied, mode) = proxy::start(&server.url).await;
    mode.send_replace(Proxy::Frozen);
    let database = open(&with(&proxied, "connect_timeout=60"), DatabaseSettings { timeout: SECONDS(1), ..DatabaseSettings::default() });
    let (answer, took) = page(&database).await;
    assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    assert!(took < SECONDS(30), "{took:?}");
    server.drop().await;
}

// contract E2.6
#[tokio::test]
async fn requests_wait_for_connections_of_the_pool_if_the_server_has_no_room_for_another_one() {
    let role = format!("limited_{}", std::process::id());
    let server = Postgres::with(SCRIPT).await;
    let client = support::connect(&server.url).await;
    let script = format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT 3; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}");
    client.batch_execute(&script).await.expect("a role");
    let (_, rest) = server.url.split_once('@').expect("a user");
    let database = open(&format!("postgres://{role}@{rest}"), DatabaseSettings::default());
    warm(&database, 1).await;
    let answers = futures_util::future::join_all((0..12).map(|_| timed(&database, "t.drowsy", Operation::Paginate, PAGE))).await;
    assert!(answers.iter().all(|(answer, _)| answer.is_ok()), "{answers:?}");
    drop(database);
    client.batch_execute(&format!("REASSIGN OWNED BY {role} TO postgres; DROP OWNED BY {role}; DROP ROLE {role}")).await.expect("dropped");
    server.drop().await;
}

// contract B1.2, contract B1.26
#[tokio::test]
async fn target_session_attrs_selects_servers_by_their_role() {
    let server = Postgres::with(SCRIPT).await;
    for (word, refused) in [
        ("any", None),
        ("read-write", None),
        ("primary", None),
        ("prefer-standby", None),
        ("read-only", Some("it takes writes")),
        ("standby", Some("it is a primary")),
    ] {
        let database = open(&with(&server.url, &format!("target_session_attrs={word}")), DatabaseSettings::default());
        match (page(&database).await.0, refused) {
            (Ok(_), None) => assert_eq!(database.reachability(), Reachability::Reachable),
            (Err(Error::Unavailable(reason)), Some(refused)) => {
                assert!(reason.contains(refused) && reason.contains("target_session_attrs"), "{word}: {reason}");
                assert_eq!(database.reachability(), Reachability::OtherRole);
            }
            (answer, _) => panic!("{word}: {answer:?}"),
        }
    }
    server.drop().await;
}
