//! How far a read replica is behind its primary, from what it says about itself.
//!
//! A standby knows what it received and replayed, and not what its primary has. Its last transaction may be old because the primary was idle,
//! or because a long transaction goes on. So measurements are kept: what it had received some time ago, and has replayed by now, is no older
//! than that time. No other clock is asked.
//!
//! A standby that receives nothing may have an idle primary, or be cut off from it without knowing. Then the primary is asked for its
//! position: if the standby has everything, it is current. Without an answer it is as old as what it received last.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use store::ReplayPosition;

/// How many measurements are kept of the largest lag that is allowed.
const STEPS: u32 = 64;

/// The measurements of one read replica.
#[derive(Debug, Default)]
pub(super) struct ReplayLag {
    /// What it had received, and when.
    received: VecDeque<(Instant, u64)>,
    /// When it last received something, or had everything that the primary has.
    fresh_at: Option<Instant>,
}

impl ReplayLag {
    /// Whether only the primary knows if the standby is current: it has received nothing for a while.
    pub(super) fn needs_primary(&self, position: ReplayPosition, max: Duration, now: Instant) -> bool {
        let ReplayPosition::Standby { received: Some(received), is_receiving: true, .. } = position else { return false };
        let is_quiet = self.fresh_at.is_none_or(|last| now.saturating_duration_since(last) >= max / 2);
        is_quiet && self.received.back().is_none_or(|(_, last)| *last == received)
    }

    /// The lag now; none if it is unknown. Lags beyond `max` are not exact. `primary` is the end of the primary's log, if it was asked.
    pub(super) fn measure(&mut self, position: ReplayPosition, primary: Option<u64>, max: Duration, now: Instant) -> Option<Duration> {
        let ReplayPosition::Standby { received, replayed, is_receiving, age } = position else {
            *self = ReplayLag::default();
            return Some(Duration::ZERO);
        };
        // It is fed from an archive.
        let Some(received) = received.filter(|received| is_receiving || replayed <= *received) else { return age };
        let since = |then: &Instant| now.saturating_duration_since(*then);
        if is_receiving {
            let is_fresh = self.received.back().is_none_or(|(_, last)| *last != received) || primary.is_some_and(|end| end <= received);
            if is_fresh {
                self.fresh_at = Some(now);
                self.keep((received, replayed), max, now);
            }
            // The primary may have nothing to send.
            if replayed >= received {
                let quiet = self.fresh_at.as_ref().map_or(Duration::ZERO, since);
                return Some(if quiet <= max { Duration::ZERO } else { quiet });
            }
        }
        match self.received.iter().rev().find(|(_, received)| *received <= replayed) {
            Some((then, _)) => Some(since(then)),
            None => age.map(|age| self.received.front().map_or(age, |(oldest, _)| age.max(since(oldest)))),
        }
    }

    fn keep(&mut self, (received, replayed): (u64, u64), max: Duration, now: Instant) {
        let since = |then: &Instant| now.saturating_duration_since(*then);
        if self.received.back().is_none_or(|(last, _)| since(last) >= max / STEPS) {
            self.received.push_back((now, received));
        }
        // Older than `max` is the front alone: the newest one that was replayed, so that a larger lag is still counted from there.
        while self.received.get(1).is_some_and(|(then, received)| since(then) > max && *received <= replayed) {
            self.received.pop_front();
        }
        while self.received.get(1).is_some_and(|(then, _)| since(then) > max) {
            self.received.remove(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const MAX: Duration = Duration::from_secs(10);

    fn standby(received: u64, replayed: u64, age: u64) -> ReplayPosition {
        ReplayPosition::Standby { received: Some(received), replayed, is_receiving: true, age: Some(Duration::from_secs(age)) }
    }

    fn alone(position: ReplayPosition) -> ReplayPosition {
        match position {
            ReplayPosition::Standby { received, replayed, age, .. } => {
                ReplayPosition::Standby { received, replayed, is_receiving: false, age }
            }
            ReplayPosition::Primary => position,
        }
    }

    // contract B1.27
    #[test]
    fn a_standby_that_replays_a_long_transaction_is_as_old_as_what_it_replays() {
        let (mut lag, start) = (ReplayLag::default(), Instant::now());
        // Each second brings a hundred bytes, of which it replays all but the last ten at once. No transaction ends for a minute.
        for second in 0..60_u32 {
            let replayed = u64::from(second) * 100;
            let measured = lag.measure(standby(replayed + 10, replayed, second.into()), None, MAX, start + second * SECOND);
            let expected = if second == 0 { Duration::ZERO } else { SECOND };
            assert_eq!(measured, Some(expected), "after {second} s");
        }
    }

    // contract B1.27
    #[test]
    fn a_standby_whose_primary_died_grows_old_from_then_on() {
        let (mut lag, start) = (ReplayLag::default(), Instant::now());
        assert_eq!(lag.measure(standby(100, 100, 3_600), None, MAX, start), Some(Duration::ZERO), "the primary was idle for an hour");
        for second in 1..20 {
            let measured = lag.measure(alone(standby(100, 100, 3_600)), None, MAX, start + second * SECOND);
            assert_eq!(measured, Some(second * SECOND));
        }
    }

    // contract B1.27
    #[test]
    fn a_standby_that_replays_nothing_falls_behind_until_it_catches_up() {
        let (mut lag, start) = (ReplayLag::default(), Instant::now());
        let mut measured = |second: u32, received: u64, replayed: u64| {
            lag.measure(standby(received, replayed, 0), None, MAX, start + second * SECOND).expect("known").as_secs()
        };
        assert_eq!(measured(0, 100, 100), 0);
        for second in 1..100 {
            let seconds = measured(second, 100 + u64::from(second), 100);
            assert!(seconds >= u64::from(second.min(11)), "{seconds} s after {second}");
        }
        assert_eq!(measured(100, 200, 195), 5);
        assert_eq!(measured(101, 201, 201), 0);
        assert!(lag.received.len() <= STEPS as usize + 2, "{} measurements", lag.received.len());
    }

    // contract B1.27
    #[test]
    fn a_lag_beyond_the_limit_is_counted_from_what_was_replayed() {
        let (mut lag, start) = (ReplayLag::default(), Instant::now());
        // The primary is idle for half a minute. Then the standby receives and replays nothing more.
        for second in 0..=30 {
            let measured = lag.measure(standby(100, 100, 3_600), Some(100), MAX, start + second * SECOND);
            assert_eq!(measured, Some(Duration::ZERO));
        }
        for second in 1..60 {
            let measured = lag.measure(standby(200, 100, 3_600), None, MAX, start + (30 + second) * SECOND);
            assert_eq!(measured, Some(second * SECOND), "after {second} s");
        }
    }

    // contract B1.27
    #[test]
    fn a_standby_that_receives_nothing_is_current_only_if_the_primary_says_so() {
        let start = Instant::now();
        let at = |second: u32| start + second * SECOND;
        let idle = standby(100, 100, 3_600);
        let mut lag = ReplayLag::default();
        assert!(lag.needs_primary(idle, MAX, start), "it may be cut off already");
        for second in 0..60 {
            let asked = lag.needs_primary(idle, MAX, at(second));
            assert_eq!(asked, second % 5 == 0, "after {second} s");
            assert_eq!(lag.measure(idle, asked.then_some(100), MAX, at(second)), Some(Duration::ZERO), "an idle primary");
        }
        for primary in [None, Some(150)] {
            let mut lag = ReplayLag::default();
            lag.measure(idle, Some(100), MAX, start);
            for second in 1..60 {
                let expected = if second <= 10 { Duration::ZERO } else { second * SECOND };
                assert_eq!(lag.measure(idle, primary, MAX, at(second)), Some(expected), "cut off for {second} s");
            }
            assert_eq!(lag.measure(alone(idle), primary, MAX, at(60)), Some(60 * SECOND), "and when it notices");
            assert_eq!(lag.measure(standby(150, 150, 0), None, MAX, at(61)), Some(Duration::ZERO));
        }
    }

    #[test]
    fn a_standby_without_a_measurement_or_without_a_stream_has_the_age_of_its_last_transaction() {
        let (mut lag, start) = (ReplayLag::default(), Instant::now());
        assert_eq!(lag.measure(standby(100, 90, 7), None, MAX, start), Some(7 * SECOND));
        let archive = ReplayPosition::Standby { received: None, replayed: 5, is_receiving: false, age: Some(4 * SECOND) };
        assert_eq!(lag.measure(archive, None, MAX, start), Some(4 * SECOND));
        assert_eq!(lag.measure(alone(standby(100, 150, 8)), None, MAX, start), Some(8 * SECOND), "it replays more than it received");
        let unknown = ReplayPosition::Standby { received: None, replayed: 5, is_receiving: false, age: None };
        assert_eq!(lag.measure(unknown, None, MAX, start), None);
        assert_eq!(lag.measure(ReplayPosition::Primary, None, MAX, start), Some(Duration::ZERO));
    }
}
