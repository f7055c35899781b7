//! Refusals of whoever has proven nothing, who can send as many requests as a network carries. Each is a line of the log, and a row of the
//! table. There rows are kept for a year: of a flood, the first hundred from an address within a minute are rows, and the others one more
//! that says how many.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use identity::event::Event;
use identity::moment::Moment;
use store::events::{self, Occasion};
use store::records::Records;

use super::form_request::RequestContext;

/// How long repeats are counted.
const GATHERED_SECONDS: i64 = 60;
/// How many of the same from one address are rows, in that time.
const MOST_ROWS: u64 = 100;
/// The same for refused operations of administration.
const MAX_ROWS_OF_OPERATIONS: u64 = 10;
/// How many kinds of refusals are told apart at a time. Beyond that, addresses are not: a network of them is one sender then.
const MOST: usize = 10_000;

/// What was refused lately.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Recent>);

#[derive(Debug, Default)]
struct Recent(HashMap<(Event, Option<String>), Repeats>);

#[derive(Debug)]
struct Repeats {
    since: Moment,
    /// Rows, so far.
    rows: u64,
    /// And more than these.
    times: u64,
}

/// A refusal that came too often.
#[derive(Debug, PartialEq, Eq)]
struct Repeated {
    event: Event,
    address: Option<String>,
    times: u64,
}

impl Recent {
    /// Whether a refusal becomes a row; otherwise it is counted.
    fn is_row(&mut self, event: &Event, address: &str, now: Moment) -> bool {
        let mut key = (event.clone(), Some(address.to_owned()));
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            key.1 = None;
        }
        // A crowd that is not told apart is a flood already.
        let most = if key.1.is_some() { most_rows(event) } else { 1 };
        let repeats = self.0.entry(key).or_insert(Repeats { since: now, rows: 0, times: 0 });
        let is_row = repeats.rows < most;
        if is_row {
            repeats.rows += 1;
        } else {
            repeats.times += 1;
        }
        is_row
    }

    /// Forgets what has been counted for long enough; gives what came too often.
    fn over(&mut self, now: Moment) -> Vec<Repeated> {
        let gathered = self.0.extract_if(|_, repeats| now.since(repeats.since) >= GATHERED_SECONDS);
        let repeated = gathered.filter(|(_, repeats)| repeats.times > 0);
        repeated.map(|((event, address), Repeats { times, .. })| Repeated { event, address, times }).collect()
    }
}

/// How many of an event from one address are rows in a minute. A refused operation names the operation, so that one account has a count
/// for each.
fn most_rows(event: &Event) -> u64 {
    match event {
        Event::OperationRefused { .. } => MAX_ROWS_OF_OPERATIONS,
        _ => MOST_ROWS,
    }
}

impl Refusals {
    fn recent(&self) -> std::sync::MutexGuard<'_, Recent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a refusal: in the log always, in the table unless there is a flood of it.
    pub(super) async fn note(&self, records: &Records, event: &Event, sender: &RequestContext) -> Result<(), store::Error> {
        self.note_at(records, event, sender.occasion()).await
    }

    /// The same where it is known when and from where it came.
    pub(super) async fn note_at(&self, records: &Records, event: &Event, occasion: Occasion<'_>) -> Result<(), store::Error> {
        let is_row = self.recent().is_row(event, occasion.address.unwrap_or_default(), occasion.now);
        if is_row {
            return events::append(records, event, occasion).await;
        }
        events::log(event, occasion);
        Ok(())
    }

    /// Notes what came too often and has been counted for long enough.
    pub(super) async fn gather(&self, records: &Records, now: Moment) -> Result<(), store::Error> {
        let over = self.recent().over(now);
        for Repeated { event, address, times } in over {
            events::append_repeats(records, &event, times, Occasion { now, address: address.as_deref() }).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use identity::event::SignInRefusal;

    use super::*;

    fn refused(reason: SignInRefusal) -> Event {
        Event::SignInRefused { account: None, reason }
    }

    #[test]
    fn what_comes_more_than_a_hundred_times_a_minute_is_told_as_one() {
        // contract I13.4
        let at = |seconds: i64| Moment::from_unix(1_800_000_000 + seconds);
        let (mut recent, token) = (Recent::default(), refused(SignInRefusal::Token));
        for number in 0..MOST_ROWS {
            assert!(recent.is_row(&token, "192.0.2.1", at(0)), "{number}");
        }
        assert!(recent.is_row(&token, "192.0.2.2", at(0)), "another address is another sender");
        assert!(recent.is_row(&refused(SignInRefusal::CrossOrigin), "192.0.2.1", at(0)), "another reason is another refusal");
        for seconds in 1..=5 {
            assert!(!recent.is_row(&token, "192.0.2.1", at(seconds)));
        }
        assert_eq!(recent.over(at(59)), []);
        let told = Repeated { event: token.clone(), address: Some("192.0.2.1".to_owned()), times: 5 };
        assert_eq!(recent.over(at(60)), [told], "what is a row is told already");
        assert!(recent.is_row(&token, "192.0.2.1", at(61)));
    }

    #[test]
    fn a_flood_of_addresses_is_one_sender() {
        // contract I13.4
        let now = Moment::from_unix(1_800_000_000);
        let (mut recent, token) = (Recent::default(), refused(SignInRefusal::Token));
        let rows = (0..MOST * 2).filter(|number| recent.is_row(&token, &number.to_string(), now)).count();
        assert_eq!(rows, MOST + 1);
        let repeats = recent.over(now.plus(GATHERED_SECONDS));
        assert_eq!(repeats, [Repeated { event: token, address: None, times: MOST as u64 - 1 }]);
    }
}
