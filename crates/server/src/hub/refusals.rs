//! Refusals of whoever has proven nothing, who can send as many requests as a network carries. Each is a line of the log. In the table,
//! where rows are kept for a year, the first is a row, and what comes again from the same address within a minute is one more that says
//! how often.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use identity::event::Event;
use identity::moment::Moment;
use store::events::{self, Occasion};
use store::records::Records;

use super::incoming::Sender;

/// How long repeats are gathered.
const GATHERED_SECONDS: i64 = 60;
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
    times: u64,
}

/// A refusal that came again.
#[derive(Debug, PartialEq, Eq)]
struct Repeated {
    event: Event,
    address: Option<String>,
    times: u64,
}

impl Recent {
    /// Whether a refusal is the first of its kind, from where it is noted; otherwise it is counted.
    fn is_first(&mut self, event: &Event, address: &str, now: Moment) -> bool {
        let mut key = (event.clone(), Some(address.to_owned()));
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            key.1 = None;
        }
        if let Some(repeats) = self.0.get_mut(&key) {
            repeats.times += 1;
            return false;
        }
        self.0.insert(key, Repeats { since: now, times: 0 });
        true
    }

    /// Forgets what has been gathered for long enough; gives what came again.
    fn over(&mut self, now: Moment) -> Vec<Repeated> {
        let gathered = self.0.extract_if(|_, repeats| now.since(repeats.since) >= GATHERED_SECONDS);
        let repeated = gathered.filter(|(_, repeats)| repeats.times > 0);
        repeated.map(|((event, address), Repeats { times, .. })| Repeated { event, address, times }).collect()
    }
}

impl Refusals {
    fn recent(&self) -> std::sync::MutexGuard<'_, Recent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a refusal: in the log always, in the table if it is the first of its kind.
    pub(super) async fn note(&self, records: &Records, event: &Event, sender: &Sender) -> Result<(), store::Error> {
        let occasion = sender.occasion();
        let is_first = self.recent().is_first(event, &sender.address, occasion.now);
        if is_first {
            return events::append(records, event, occasion).await;
        }
        events::log(event, occasion);
        Ok(())
    }

    /// Notes what came again and has been gathered for long enough.
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
    fn repeats_are_gathered_for_a_minute_and_told_as_one() {
        // contract I13.4
        let at = |seconds: i64| Moment::from_unix(1_800_000_000 + seconds);
        let (mut recent, token) = (Recent::default(), refused(SignInRefusal::Token));
        assert!(recent.is_first(&token, "192.0.2.1", at(0)));
        assert!(recent.is_first(&token, "192.0.2.2", at(0)), "another address is another sender");
        assert!(recent.is_first(&refused(SignInRefusal::CrossOrigin), "192.0.2.1", at(0)), "another reason is another refusal");
        for seconds in 1..=5 {
            assert!(!recent.is_first(&token, "192.0.2.1", at(seconds)));
        }
        assert_eq!(recent.over(at(59)), []);
        let told = Repeated { event: token.clone(), address: Some("192.0.2.1".to_owned()), times: 5 };
        assert_eq!(recent.over(at(60)), [told], "what came once is told already");
        assert!(recent.is_first(&token, "192.0.2.1", at(61)));
    }

    #[test]
    fn a_flood_of_addresses_is_one_sender() {
        // contract I13.4
        let now = Moment::from_unix(1_800_000_000);
        let (mut recent, token) = (Recent::default(), refused(SignInRefusal::Token));
        let firsts = (0..MOST * 2).filter(|number| recent.is_first(&token, &number.to_string(), now)).count();
        assert_eq!(firsts, MOST + 1);
        let repeats = recent.over(now.plus(GATHERED_SECONDS));
        assert_eq!(repeats, [Repeated { event: token, address: None, times: MOST as u64 - 1 }]);
    }
}
