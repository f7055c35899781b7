//! How many passwords can be tried, and how long anybody waits for it.

use futures_util::future::join_all;

use crate::test_hub::{PASSWORD, TestHub};
use crate::support::PLACES;

#[tokio::test(flavor = "multi_thread")]
async fn right_passwords_in_between_let_nobody_try_more_wrong_ones() {
    // contract I11.4, attack 60
    for place in PLACES {
        let hub = TestHub::start(place).await;
        let right = hub.token_request(&[("grant_type", "password"), ("username", "ada"), ("password", PASSWORD)]);
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
        // Fifty, and a few more where their delays are over by then.
        assert!((50..60).contains(&compared), "{compared} of 100 wrong passwords were compared");
    }
}
