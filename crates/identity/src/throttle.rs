//! The throttle: how fast passwords may be guessed. Failures delay further attempts, longer and longer, but never lock an account.
//!
//! Failures count by the typed name, whether an account has it or not. One counter for the username and the email of an account
//! would reveal that they belong together. The price: two names allow twice the guesses.
//!
//! Each attempt has three counters: this name from this address, this address, and this name from anywhere. The last one allows ten times
//! as many failures, has a short maximum delay, and does not apply to an address from which the account signed in before. An address that
//! this counter delays may try when its delay is over, even if attempts from elsewhere fail meanwhile. So an attack from elsewhere delays a sign-in
//! and does not prevent it.
//!
//! A caller records an attempt as pending before it hashes, and the result afterwards. Pending attempts count like failures, so that a
//! thousand parallel guesses count as a thousand. They are counted apart, so that a success does not change the failures of others. A
//! delayed attempt is not recorded: asking never makes the wait longer.

use crate::account::login_name;
use crate::secret_token::sha256;
use crate::timestamp::Timestamp;

/// When delays begin, and how long they get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The number of the failure with the first delay, of two seconds; each further one doubles it.
    pub first_delay: u32,
    pub max_seconds: i64,
}

/// For one name from one address.
pub const PAIR: Allowance = Allowance { first_delay: 5, max_seconds: 900 };
/// For one address: many people may share it.
pub const ADDRESS: Allowance = Allowance { first_delay: 50, max_seconds: 900 };
/// For one name from anywhere.
pub const ACCOUNT: Allowance = Allowance { first_delay: 50, max_seconds: 15 };
/// For the secret of one client from one address: nobody can guess it, so this only limits the load of an old secret.
pub const CLIENT: Allowance = Allowance { first_delay: 500, max_seconds: 900 };
/// A counter starts again after so long without a failure.
pub const FORGOTTEN_SECONDS: i64 = 3_600;
/// An attempt that is pending for so long is a failure: its process ended or is too slow.
pub const UNDECIDED_SECONDS: i64 = 60;

/// A counter. Its key is a digest, because people type passwords into the wrong field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter<'a> {
    /// A typed name and a client address; for IPv6 the caller gives the network, because one line has very many addresses.
    Pair(&'a str, &'a str),
    Address(&'a str),
    /// A typed name from anywhere.
    Account(&'a str),
    /// A client's id from an address, judged by [`judge_client`].
    Client(&'a str, &'a str),
}

impl Counter<'_> {
    pub fn key(self) -> [u8; 32] {
        // The lengths keep two counters from having the same text.
        let spelled = match self {
            Counter::Pair(name, address) => {
                let name = login_name(name);
                format!("pair {} {name} {address}", name.len())
            }
            Counter::Client(id, address) => format!("client {} {id} {address}", id.len()),
            Counter::Address(address) => format!("address {address}"),
            Counter::Account(name) => format!("everywhere {}", login_name(name)),
        };
        sha256(spelled.as_bytes())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    pub count: u32,
    pub last: Option<Timestamp>,
    pub undecided: u32,
    pub undecided_at: Option<Timestamp>,
}

impl Failures {
    #[must_use]
    pub fn failed(self, now: Timestamp) -> Self {
        let current = self.at(now);
        Failures { count: current.count.saturating_add(1), last: Some(now), ..current }
    }

    #[must_use]
    pub fn begun(self, now: Timestamp) -> Self {
        let current = self.at(now);
        Failures { undecided: current.undecided.saturating_add(1), undecided_at: Some(now), ..current }
    }

    /// When the last pending attempt began, if the pending ones count as failures by now.
    pub fn overdue_since(self, now: Timestamp) -> Option<Timestamp> {
        self.undecided_at.filter(|at| self.undecided > 0 && now.since(*at) >= UNDECIDED_SECONDS)
    }

    /// The same without its pending attempts.
    #[must_use]
    pub fn without_pending(self) -> Self {
        Failures { undecided: 0, undecided_at: None, ..self }
    }

    /// The state now: old failures are forgotten, and attempts that were pending for too long have failed.
    fn at(self, now: Timestamp) -> Self {
        let mut current = self.remembered(now);
        if let Some(at) = current.undecided_at.filter(|at| now.since(*at) >= UNDECIDED_SECONDS) {
            let count = current.count.saturating_add(current.undecided);
            current = Failures { count, last: current.last.max(Some(at)), undecided: 0, undecided_at: None }.remembered(now);
        }
        current
    }

    fn remembered(self, now: Timestamp) -> Self {
        match self.last {
            Some(last) if self.count > 0 && now.since(last) < FORGOTTEN_SECONDS => self,
            _ => Failures { count: 0, last: None, ..self },
        }
    }

    /// The number of attempts beyond the free ones.
    fn over(self, allowance: Allowance, now: Timestamp) -> u32 {
        let current = self.at(now);
        current.count.saturating_add(current.undecided).saturating_add(1).saturating_sub(allowance.first_delay)
    }

    fn wait(self, allowance: Allowance, now: Timestamp) -> i64 {
        let (over, current) = (self.over(allowance, now), self.at(now));
        let Some(last) = current.last.max(current.undecided_at).filter(|_| over > 0) else { return 0 };
        let delay = 1_i64.checked_shl(over.min(32)).unwrap_or(i64::MAX).min(allowance.max_seconds);
        (delay - now.since(last)).clamp(0, delay)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub pair: Failures,
    pub address: Failures,
    pub account: Failures,
    /// When this address may try this name, whatever failed elsewhere; set when it had to wait for that.
    pub admitted_at: Option<Timestamp>,
    /// Whether this account signed in from this address before.
    pub address_is: Familiarity,
}

impl Evidence {
    /// When an address that waits because of failures elsewhere may try. The caller stores it: later failures do not move it.
    pub fn admission(&self, now: Timestamp) -> Option<Timestamp> {
        let seconds = self.wait_for_elsewhere(now);
        (seconds > 0).then(|| now.plus(seconds))
    }

    /// The seconds to wait because of failures elsewhere.
    fn wait_for_elsewhere(&self, now: Timestamp) -> i64 {
        let wait = match self.address_is {
            Familiarity::Familiar => 0,
            Familiarity::Strange => self.account.wait(ACCOUNT, now),
        };
        let admitted_at = self.admitted_at.filter(|at| now.since(*at) < FORGOTTEN_SECONDS);
        admitted_at.map_or(wait, |at| wait.min(at.since(now).max(0)))
    }
}

/// Whether an account signed in from an address before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Familiarity {
    /// It did not, or the result is unknown.
    #[default]
    Strange,
    Familiar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThrottleDecision {
    Try,
    /// Only after so many seconds (at least one).
    Wait(i64),
}

impl ThrottleDecision {
    fn after(seconds: i64) -> Self {
        if seconds == 0 { ThrottleDecision::Try } else { ThrottleDecision::Wait(seconds) }
    }
}

/// The counter that delays an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    Pair,
    Address,
    Account,
}

impl Binding {
    /// How many of its pending attempts would have to succeed for no delay.
    pub fn successes_wanted(self, evidence: &Evidence, now: Timestamp) -> u32 {
        match self {
            // One success clears it.
            Binding::Pair => 1,
            Binding::Address => evidence.address.over(ADDRESS, now),
            Binding::Account => evidence.account.over(ACCOUNT, now),
        }
    }
}

/// The counter with the longest delay, and its seconds; 0 if the attempt need not wait.
pub fn longest_delay(evidence: &Evidence, now: Timestamp) -> (Binding, i64) {
    let waits = [(Binding::Address, evidence.address.wait(ADDRESS, now)), (Binding::Account, evidence.wait_for_elsewhere(now))];
    waits.into_iter().fold((Binding::Pair, evidence.pair.wait(PAIR, now)), |most, other| if other.1 > most.1 { other } else { most })
}

/// Judges one more failure of a client. A right secret is never delayed: nobody can lock a client out by failing in its name.
pub fn judge_client(failures: Failures, now: Timestamp) -> ThrottleDecision {
    ThrottleDecision::after(failures.wait(CLIENT, now))
}
