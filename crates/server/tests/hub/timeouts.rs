//! Timeouts of a hub whose database does not answer.

use std::time::{Duration, Instant};

use store::Prepare;

use crate::support::{Backend, get, post, until};
use crate::test_hub::{TestHub, bearer, error, password_form, setup};

// contract E2.7
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_that_waits_for_the_database_times_out_with_and_without_prepared_statements() {
    for prepare in [Prepare::On, Prepare::Off] {
        let mut setup = setup();
        setup.database.timeout = Duration::from_millis(500);
        setup.database.prepare = prepare;
        let hub = TestHub::with(Backend::Postgres, &setup).await;
        let mut lock = hub.records.begin().await.unwrap();
        lock.run("LOCK TABLE peristyle.account, peristyle.credential", &[]).await.unwrap();
        let answer = hub.token(&password_form("ada")).await;
        assert_eq!(error(&answer, 503), "temporarily_unavailable");
        assert!(answer.header("retry-after").is_some());
        lock.commit().await.unwrap();
        hub.token(&password_form("ada")).await.good();
    }
}

/// While a row of the throttle stops being pending, the database waits.
const SLOW_OUTCOMES: [&str; 3] = [
    "CREATE FUNCTION peristyle.wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(9); RETURN coalesce(NEW, OLD); END'",
    "CREATE TRIGGER late BEFORE UPDATE ON peristyle.failure FOR EACH ROW WHEN (NEW.undecided < OLD.undecided) EXECUTE FUNCTION peristyle.wait()",
    "CREATE TRIGGER late_too BEFORE DELETE ON peristyle.failure FOR EACH ROW EXECUTE FUNCTION peristyle.wait()",
];

// contract I11.5
#[tokio::test(flavor = "multi_thread")]
async fn right_passwords_whose_success_could_not_be_stored_are_no_failures() {
    let mut setup = setup();
    setup.database.timeout = Duration::from_secs(1);
    let hub = TestHub::with(Backend::Postgres, &setup).await;
    for statement in SLOW_OUTCOMES {
        hub.records.run(statement, &[]).await.unwrap();
    }
    for _ in 0..5 {
        assert_eq!(error(&hub.token(&password_form("ada")).await, 503), "temporarily_unavailable");
    }
    let pending = async || hub.records.run("SELECT key FROM peristyle.failure WHERE undecided > 0", &[]).await.unwrap().len();
    assert_eq!(pending().await, 3, "of the name here, of the name, and of the address");
    hub.records.run("DROP TRIGGER late ON peristyle.failure", &[]).await.unwrap();
    hub.records.run("DROP TRIGGER late_too ON peristyle.failure", &[]).await.unwrap();
    let mut answer = hub.token(&password_form("ada")).await;
    while answer.status() == 503 {
        answer = hub.token(&password_form("ada")).await;
    }
    answer.good();
    until("all outcomes are stored", async || pending().await == 0).await;
    let counted = hub.records.run("SELECT key FROM peristyle.failure WHERE count > 0", &[]).await.unwrap();
    assert!(counted.is_empty());
}

// contract I33.6
#[tokio::test(flavor = "multi_thread")]
async fn a_write_to_the_sqlite_file_delays_no_request_that_only_reads() {
    let hub = TestHub::start(Backend::Sqlite).await;
    let token = bearer(&hub.tokens().await["access_token"]);
    let other = rusqlite::Connection::open(hub.database.url.trim_start_matches("sqlite://")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Longer than the time between two heartbeats, each of which waits to write.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        for request in [get("/api/iam/me"), post("/api/shop/notes/list", "")] {
            let sent = Instant::now();
            assert_eq!(hub.send(&request.header("authorization", &token)).await.status(), 200);
            assert!(sent.elapsed() < Duration::from_secs(2), "{:?}", sent.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    other.execute_batch("ROLLBACK").unwrap();
    hub.tokens().await;
}
