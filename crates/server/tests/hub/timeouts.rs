//! Timeouts of a hub whose database does not answer.

use std::time::Duration;

use store::Prepare;

use crate::support::Backend;
use crate::test_hub::{TestHub, error, password_form, setup};

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
