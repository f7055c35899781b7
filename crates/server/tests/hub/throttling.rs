//! How many passwords one client address can try.

use futures_util::future::join_all;

use crate::support::BACKENDS;
use crate::test_hub::{TestHub, password_form};

#[tokio::test(flavor = "multi_thread")]
async fn correct_passwords_in_between_allow_no_more_wrong_attempts() {
    // contract I11.4, attack 60
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let right = hub.token_request(&password_form("ada"));
        let wrong = |number: usize| {
            let name = format!("nobody-{number}");
            hub.token_request(&[("grant_type", "password"), ("username", &name), ("password", "not it, sorry")])
        };
        let mut compared = 0;
        for round in 0..10 {
            let requests: Vec<_> = std::iter::once(right.clone()).chain((0..10).map(|number| wrong(round * 10 + number))).collect();
            let answers = join_all(requests.iter().map(|request| hub.send(request))).await;
            assert!([200, 429].contains(&answers[0].status()), "{}", answers[0].text());
            compared += answers[1..].iter().filter(|answer| answer.status() == 400).count();
        }
        // Fifty; a few more if delays expire during the test.
        assert!((50..60).contains(&compared), "{compared} of 100 wrong passwords were compared");
    }
}
