//! Keeps floods out of the audit log: the same refusal from one client address is at most a hundred rows a minute and one with the rest.

use std::collections::HashMap;
use std::sync::Mutex;

use identity::audit_event::AuditEvent;
use identity::timestamp::Timestamp;
use store::hub_records::Records;
use store::hub_records::audit_log::{self, AuditContext};
use store::hub_records::unknown_secrets::{self, UnknownSecret};

use crate::mutex::lock;

const WINDOW_SECONDS: i64 = 60;
/// The rows of one refusal from one client address in that time.
const MAX_ROWS: u64 = 100;
/// The same for refused operations of administration.
const MAX_ROWS_OF_OPERATIONS: u64 = 10;
/// The refusals that are counted apart. Beyond that all client addresses count as one.
const MAX_ENTRIES: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<Recent>);

#[derive(Debug, Default)]
struct Recent(HashMap<(AuditEvent, Option<String>), Repeats>);

#[derive(Debug)]
struct Repeats {
    since: Timestamp,
    rows: u64,
    /// The repeats beyond the rows.
    times: u64,
}

/// A refusal, its client address, and its repeats beyond the rows.
type Repeated = (AuditEvent, Option<String>, u64);

impl Recent {
    fn is_row(&mut self, event: &AuditEvent, address: &str, now: Timestamp) -> bool {
        let mut key = (event.clone(), Some(address.to_owned()));
        if self.0.len() >= MAX_ENTRIES && !self.0.contains_key(&key) {
            key.1 = None;
        }
        // All other client addresses together are a flood.
        let max = if key.1.is_some() { max_rows(event) } else { 1 };
        let repeats = self.0.entry(key).or_insert(Repeats { since: now, rows: 0, times: 0 });
        let is_row = repeats.rows < max;
        if is_row {
            repeats.rows += 1;
        } else {
            repeats.times += 1;
        }
        is_row
    }

    /// Removes the entries whose window is over, and returns those with repeats.
    fn take_ended(&mut self, now: Timestamp) -> Vec<Repeated> {
        let ended = self.0.extract_if(|_, repeats| now.since(repeats.since) >= WINDOW_SECONDS);
        let repeated = ended.filter(|(_, repeats)| repeats.times > 0);
        repeated.map(|((event, address), Repeats { times, .. })| (event, address, times)).collect()
    }
}

/// The rows of an event in a window. An account has a count for each operation, so the limit of operations is lower.
fn max_rows(event: &AuditEvent) -> u64 {
    match event {
        AuditEvent::OperationRefused { .. } => MAX_ROWS_OF_OPERATIONS,
        _ => MAX_ROWS,
    }
}

impl RefusalLog {
    /// Records a refusal: always in the process log, in the audit log unless it is a repeat.
    pub(super) async fn note(&self, records: &Records, event: &AuditEvent, audit_context: AuditContext<'_>) -> Result<(), store::Error> {
        let is_row = lock(&self.0).is_row(event, audit_context.address.unwrap_or_default(), audit_context.now);
        if is_row {
            return audit_log::append(records, event, audit_context).await;
        }
        audit_log::log(event, audit_context);
        Ok(())
    }

    /// The same for a secret without a row. `false` if it has one after all, and nothing is recorded.
    pub(super) async fn note_unknown(
        &self,
        records: &Records,
        secret: UnknownSecret<'_>,
        event: &AuditEvent,
        audit_context: AuditContext<'_>,
    ) -> Result<bool, store::Error> {
        let is_row = lock(&self.0).is_row(event, audit_context.address.unwrap_or_default(), audit_context.now);
        if is_row {
            return unknown_secrets::refuse(records, secret, event, audit_context).await;
        }
        let is_absent = unknown_secrets::is_absent(records, secret).await?;
        if is_absent {
            audit_log::log(event, audit_context);
        }
        Ok(is_absent)
    }

    pub(super) async fn flush(&self, records: &Records, now: Timestamp) -> Result<(), store::Error> {
        let ended = lock(&self.0).take_ended(now);
        for (event, address, times) in ended {
            audit_log::append_repeats(records, &event, times, AuditContext { now, address: address.as_deref() }).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use identity::audit_event::SignInRefusal;

    use super::*;

    fn refused(reason: SignInRefusal) -> AuditEvent {
        AuditEvent::SignInRefused { account: None, reason }
    }

    #[test]
    fn repeats_beyond_a_hundred_a_minute_are_one_row() {
        // contract I13.4
        let at = |seconds: i64| Timestamp::from_unix(1_800_000_000 + seconds);
        let (mut recent, token) = (Recent::default(), refused(SignInRefusal::Token));
        for number in 0..MAX_ROWS {
            assert!(recent.is_row(&token, "192.0.2.1", at(0)), "{number}");
        }
        assert!(recent.is_row(&token, "192.0.2.2", at(0)), "another client address counts apart");
        assert!(recent.is_row(&refused(SignInRefusal::CrossOrigin), "192.0.2.1", at(0)), "another reason is another refusal");
        for seconds in 1..=5 {
            assert!(!recent.is_row(&token, "192.0.2.1", at(seconds)));
        }
        assert_eq!(recent.take_ended(at(59)), []);
        let repeated = (token.clone(), Some("192.0.2.1".to_owned()), 5);
        assert_eq!(recent.take_ended(at(60)), [repeated], "rows are not counted again");
        assert!(recent.is_row(&token, "192.0.2.1", at(61)));
    }

    #[test]
    fn a_flood_of_client_addresses_counts_as_one() {
        // contract I13.4
        let now = Timestamp::from_unix(1_800_000_000);
        let (mut recent, token) = (Recent::default(), refused(SignInRefusal::Token));
        let rows = (0..MAX_ENTRIES * 2).filter(|number| recent.is_row(&token, &number.to_string(), now)).count();
        assert_eq!(rows, MAX_ENTRIES + 1);
        let repeats = recent.take_ended(now.plus(WINDOW_SECONDS));
        assert_eq!(repeats, [(token, None, MAX_ENTRIES as u64 - 1)]);
    }
}
