//! A hub whose database does not answer in time.

use std::time::{Duration, Instant};

use store::Prepare;

use crate::test_hub::{PASSWORD, TestHub, error, setup};
use crate::support::Place;

// contract E2.7
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_that_waits_for_the_database_ends_in_time_behind_a_pooler_too() {
    for prepare in [Prepare::On, Prepare::Off] {
        let mut setup = setup();
        setup.database.timeout = Duration::from_millis(500);
        setup.database.prepare = prepare;
        let hub = TestHub::with(Place::Postgres, &setup).await;
        let mut lock = hub.records.begin().await.unwrap();
        lock.run("LOCK TABLE peristyle.account, peristyle.credential", &[]).await.unwrap();
        let started = Instant::now();
        let answer = hub.token(&[("grant_type", "password"), ("username", "ada"), ("password", PASSWORD)]).await;
        assert_eq!(error(&answer, 503), "temporarily_unavailable");
        assert!(answer.header("retry-after").is_some());
        assert!(started.elapsed() < Duration::from_secs(10), "{prepare:?}: {:?}", started.elapsed());
        lock.commit().await.unwrap();
        hub.token(&[("grant_type", "password"), ("username", "ada"), ("password", PASSWORD)]).await.good();
    }
}
