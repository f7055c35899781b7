//! Whether a host answers: a state machine without a clock, a lock or a connection.
//!
//! An attempt is a new connection, made for a request or as a probe. Its end moves the host between three conditions:
//!
//! | end of an attempt | the host then |
//! |---|---|
//! | connected | answers |
//! | refused: the host said something else | answers, and need not be left alone |
//! | no way to the host, at once | is busy |
//! | no answer, while other connections had answers | is busy; a probe changes nothing |
//! | no answer, and none to others | is silent |
//! | a login, and then no answer | is silent if a statement timed out before, and busy otherwise |
//!
//! An attempt that ends without an answer says nothing if a newer one was answered meanwhile.

use std::time::{Duration, Instant};

/// How often a new connection to a host that does not answer begins.
pub(super) const ATTEMPT_INTERVAL: Duration = Duration::from_secs(1);
/// How often the log says that a host is silent.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Condition {
    /// It answers, as far as is known.
    #[default]
    Answering,
    /// It gives new connections no answer. Those from before are used.
    Busy,
    /// Nothing comes from it. No connection from before is used again.
    Silent,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    Connected,
    /// The host refused it, or is not what the DSN asks for.
    Refused,
    /// The system knew at once that no way leads to the host.
    Unreachable,
    /// A login, and then no answer to a statement. So does a pooler before a database that is silent, or that works on other statements.
    LoginOnly,
    NoAnswer,
}

/// An attempt that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedAttempt {
    pub(super) began: Instant,
    pub(super) end: AttemptEnd,
    /// Whether any other connection to the host had an answer meanwhile.
    pub(super) others_answered: bool,
    /// Whether a statement timed out, and the host has answered nothing since.
    pub(super) has_unanswered_timeout: bool,
}

/// What follows from the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    Nothing,
    AnswersAgain,
    /// It was silent, and refuses connections now.
    RefusesNow,
    /// What waits for it fails, and its connections are not used again.
    Lost {
        is_logged: bool,
    },
}

#[derive(Debug, Default)]
pub(super) struct HostState {
    condition: Condition,
    /// When the newest attempt for a request began, if the host did not answer then.
    tried_at: Option<Instant>,
    /// When an attempt was last answered.
    answered_at: Option<Instant>,
    /// When the newest probe began, and whether it goes on.
    probed_at: Option<Instant>,
    is_probed: bool,
    logged_at: Option<Instant>,
}

impl HostState {
    pub(super) fn condition(&self) -> Condition {
        self.condition
    }

    pub(super) fn probed_at(&self) -> Option<Instant> {
        self.probed_at
    }

    /// Whether a request may try a new connection. While the host does not answer, one a second does.
    pub(super) fn begin_attempt(&mut self, now: Instant) -> bool {
        if self.condition == Condition::Answering {
            return true;
        }
        if self.tried_at.is_some_and(|last| now.saturating_duration_since(last) < ATTEMPT_INTERVAL) {
            return false;
        }
        self.tried_at = Some(now);
        true
    }

    pub(super) fn end_attempt(&mut self, attempt: EndedAttempt, now: Instant) -> Consequence {
        let is_outdated = self.answered_at.is_some_and(|last| last > attempt.began);
        match attempt.end {
            AttemptEnd::Connected => self.connected(now),
            AttemptEnd::Refused => self.refused(),
            _ if is_outdated => Consequence::Nothing,
            AttemptEnd::Unreachable => self.busy(now),
            AttemptEnd::LoginOnly if !attempt.has_unanswered_timeout => self.busy(now),
            AttemptEnd::NoAnswer | AttemptEnd::LoginOnly if attempt.others_answered => self.busy(now),
            AttemptEnd::NoAnswer | AttemptEnd::LoginOnly => self.silent(now),
        }
    }

    /// Gives up an attempt because another host was faster. True if other hosts come first from now on.
    pub(super) fn abandon_attempt(&mut self, began: Instant, now: Instant) -> bool {
        let is_late = self.condition == Condition::Answering && self.answered_at.is_none_or(|last| last <= began);
        if is_late {
            self.busy(now);
        }
        is_late
    }

    /// Whether a probe begins now: none goes on, and none began after `since`.
    pub(super) fn begin_probe(&mut self, since: Instant, now: Instant) -> bool {
        if self.is_probed || self.probed_at.is_some_and(|last| last >= since) {
            return false;
        }
        self.is_probed = true;
        self.probed_at = Some(now);
        true
    }

    pub(super) fn end_probe(&mut self, probe: EndedAttempt, now: Instant) -> Consequence {
        self.is_probed = false;
        match probe.end {
            AttemptEnd::Connected => self.connected(now),
            AttemptEnd::Refused => self.refused(),
            _ if probe.others_answered => Consequence::Nothing,
            AttemptEnd::LoginOnly if !probe.has_unanswered_timeout => Consequence::Nothing,
            AttemptEnd::LoginOnly | AttemptEnd::Unreachable | AttemptEnd::NoAnswer => self.silent(now),
        }
    }

    fn connected(&mut self, now: Instant) -> Consequence {
        self.answered_at = Some(now);
        match std::mem::take(&mut self.condition) {
            Condition::Silent => Consequence::AnswersAgain,
            Condition::Answering | Condition::Busy => Consequence::Nothing,
        }
    }

    fn refused(&mut self) -> Consequence {
        match std::mem::take(&mut self.condition) {
            Condition::Silent => Consequence::RefusesNow,
            Condition::Answering | Condition::Busy => Consequence::Nothing,
        }
    }

    fn busy(&mut self, now: Instant) -> Consequence {
        if self.condition == Condition::Answering {
            self.condition = Condition::Busy;
            self.tried_at = Some(now);
        }
        Consequence::Nothing
    }

    fn silent(&mut self, now: Instant) -> Consequence {
        if self.condition == Condition::Answering {
            self.tried_at = Some(now);
        }
        self.condition = Condition::Silent;
        let is_logged = self.logged_at.is_none_or(|last| now.saturating_duration_since(last) >= LOG_INTERVAL);
        if is_logged {
            self.logged_at = Some(now);
        }
        Consequence::Lost { is_logged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn attempt(began: Instant, end: AttemptEnd) -> EndedAttempt {
        EndedAttempt { began, end, others_answered: false, has_unanswered_timeout: false }
    }

    fn silent(now: Instant) -> HostState {
        let mut state = HostState::default();
        state.end_attempt(attempt(now, AttemptEnd::NoAnswer), now);
        assert_eq!(state.condition(), Condition::Silent);
        state
    }

    // contract B1.26
    #[test]
    fn a_silent_host_is_tried_once_a_second_however_long_each_attempt_takes() {
        let start = Instant::now();
        let mut state = silent(start);
        assert!(!state.begin_attempt(start + SECOND / 2), "it fell silent just now");
        assert!(state.begin_attempt(start + SECOND));
        assert!(!state.begin_attempt(start + SECOND + SECOND / 2));
        assert!(state.begin_attempt(start + 2 * SECOND), "the first one still waits");
    }

    // contract B1.26
    #[test]
    fn an_attempt_that_ends_without_an_answer_says_nothing_about_a_host_that_answered_a_newer_one() {
        let start = Instant::now();
        let mut state = silent(start);
        let (late, early) = (start + SECOND, start + 3 * SECOND);
        assert_eq!(state.end_attempt(attempt(start + 2 * SECOND, AttemptEnd::Connected), early), Consequence::AnswersAgain);
        assert_eq!(state.end_attempt(attempt(late, AttemptEnd::NoAnswer), start + 6 * SECOND), Consequence::Nothing);
        assert!(!state.abandon_attempt(late, start + 6 * SECOND));
        assert_eq!(state.condition(), Condition::Answering);
        assert!(state.begin_attempt(start + 6 * SECOND));
    }

    #[test]
    fn a_host_that_answers_others_is_busy_and_keeps_its_connections() {
        let start = Instant::now();
        let busy = EndedAttempt { others_answered: true, ..attempt(start, AttemptEnd::NoAnswer) };
        let mut state = HostState::default();
        assert_eq!(state.end_attempt(busy, start + SECOND), Consequence::Nothing);
        assert_eq!(state.condition(), Condition::Busy);
        assert!(!state.begin_attempt(start + SECOND), "other hosts come first");
        let mut state = HostState::default();
        assert_eq!(state.end_probe(busy, start + SECOND), Consequence::Nothing);
        assert_eq!(state.condition(), Condition::Answering, "a probe has less time than a connection");
    }

    #[test]
    fn a_host_that_no_way_leads_to_is_left_without_a_word() {
        let start = Instant::now();
        let mut state = HostState::default();
        assert_eq!(state.end_attempt(attempt(start, AttemptEnd::Unreachable), start), Consequence::Nothing);
        assert_eq!(state.condition(), Condition::Busy);
    }

    #[test]
    fn a_silent_host_that_refuses_a_connection_answers_and_is_not_said_to_be_back() {
        let start = Instant::now();
        let mut state = silent(start);
        assert_eq!(state.end_attempt(attempt(start, AttemptEnd::Refused), start + SECOND), Consequence::RefusesNow);
        assert_eq!(state.condition(), Condition::Answering);
        assert_eq!(state.end_attempt(attempt(start, AttemptEnd::Refused), start + SECOND), Consequence::Nothing);
    }

    // contract B1.26
    #[test]
    fn a_statement_begins_a_probe_unless_one_began_after_it() {
        let start = Instant::now();
        let mut state = HostState::default();
        assert!(state.begin_probe(start, start + SECOND));
        assert!(!state.begin_probe(start + 2 * SECOND, start + 3 * SECOND), "one goes on, and its result is still to come");
        state.end_probe(attempt(start + SECOND, AttemptEnd::Connected), start + 3 * SECOND);
        assert!(!state.begin_probe(start, start + 4 * SECOND), "the host answered after this statement began");
        assert!(state.begin_probe(start + 2 * SECOND, start + 4 * SECOND), "the probe before says nothing about this one");
    }

    // contract B1.26
    #[test]
    fn a_login_without_an_answer_after_it_is_silence_only_after_a_timeout() {
        let start = Instant::now();
        let mut state = HostState::default();
        let login = attempt(start, AttemptEnd::LoginOnly);
        assert_eq!(state.end_probe(login, start + SECOND), Consequence::Nothing);
        assert_eq!(state.condition(), Condition::Answering, "a pooler may have no free connection");
        let timed_out = EndedAttempt { has_unanswered_timeout: true, ..login };
        assert_eq!(state.end_probe(timed_out, start + SECOND), Consequence::Lost { is_logged: true });
        assert_eq!(state.end_attempt(login, start + SECOND), Consequence::Nothing);
        assert_eq!(state.condition(), Condition::Silent, "a login does not bring it back");
    }

    #[test]
    fn every_silence_loses_connections_and_one_a_minute_is_logged() {
        let start = Instant::now();
        let mut state = HostState::default();
        for (second, is_logged) in [(0, true), (30, false), (61, true)] {
            let now = start + second * SECOND;
            assert_eq!(state.end_attempt(attempt(now, AttemptEnd::NoAnswer), now), Consequence::Lost { is_logged });
        }
    }
}
