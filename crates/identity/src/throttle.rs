//! How fast passwords may be guessed. Only failures count; they delay for longer and longer and never lock for good.
//!
//! They are counted by the name that was typed, whether an account has it or not: were the two names of an account one counter, its delays
//! would tell that they belong together, and that there is an account at all. The price is that two names are twice the guesses.
//!
//! Three counters stand behind each attempt: of this account from this address, of this address, and of this account from anywhere. The
//! last has tenfold room and a short longest delay, and does not bind an address from which the account signed in before. Where it makes
//! an address wait, that address may try when the wait is over, whatever else failed by then: an attack from afar delays, and never
//! keeps anybody out.
//!
//! A caller records an attempt before it hashes, as undecided, and its outcome afterwards. Undecided attempts are judged like failures,
//! so that a thousand parallel guesses count as a thousand. They are counted apart from failures, so that a success changes nothing about
//! the failures of others. An attempt that was refused here is not recorded: waiting is never made longer by asking.

use crate::account::login_name;
use crate::moment::Moment;
use crate::opaque::sha256;

/// From which failure on there is a delay, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The failure that brings the first delay, of two seconds; each further one doubles it.
    pub first_delay: u32,
    /// The longest delay in seconds.
    pub longest_seconds: i64,
}

/// For one account from one address.
pub const PAIR: Allowance = Allowance { first_delay: 5, longest_seconds: 900 };
/// For one address, whatever the names: many people may sit behind it.
pub const ADDRESS: Allowance = Allowance { first_delay: 50, longest_seconds: 900 };
/// For one account from everywhere: tenfold.
pub const ACCOUNT: Allowance = Allowance { first_delay: 50, longest_seconds: 15 };
/// For the secret of one client from one address. It is random and cannot be guessed, so this keeps a guesser from being busy here, and
/// leaves room for a deployment whose processes come up with an old one.
pub const CLIENT: Allowance = Allowance { first_delay: 500, longest_seconds: 900 };
/// After so long without a failure a counter begins anew.
pub const FORGOTTEN_SECONDS: i64 = 3_600;
/// An attempt whose outcome is not known after so long is a failure: its process has ended, or is too slow to wait for.
pub const UNDECIDED_SECONDS: i64 = 60;

/// What a counter is about. The name it is kept under is a digest: people type passwords into the wrong field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter<'a> {
    /// A name that was typed, and the address it came from; of IPv6 a caller gives the network, since one line has as many addresses as
    /// it likes.
    Pair(&'a str, &'a str),
    /// An address.
    Address(&'a str),
    /// A name from anywhere.
    Account(&'a str),
    /// A client's id from an address, judged by [`judge_client`].
    Client(&'a str, &'a str),
}

impl Counter<'_> {
    /// The name to keep the counter under.
    pub fn key(self) -> [u8; 32] {
        // Lengths go first, so that no two counters can be spelled alike.
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

/// What is kept of a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// How many attempts failed.
    pub count: u32,
    /// When the last of them was made.
    pub last: Option<Moment>,
    /// How many attempts have no outcome yet.
    pub undecided: u32,
    /// When the last of these was made.
    pub undecided_at: Option<Moment>,
}

impl Failures {
    /// After one more failure.
    #[must_use]
    pub fn failed(self, now: Moment) -> Self {
        let current = self.at(now);
        Failures { count: current.count.saturating_add(1), last: Some(now), ..current }
    }

    /// After one more attempt, whose outcome is not known yet.
    #[must_use]
    pub fn begun(self, now: Moment) -> Self {
        let current = self.at(now);
        Failures { undecided: current.undecided.saturating_add(1), undecided_at: Some(now), ..current }
    }

    /// What counts now: old failures are forgotten, and attempts that were undecided for too long have failed.
    fn at(self, now: Moment) -> Self {
        let mut current = self.remembered(now);
        if let Some(at) = current.undecided_at.filter(|at| now.since(*at) >= UNDECIDED_SECONDS) {
            let count = current.count.saturating_add(current.undecided);
            current = Failures { count, last: current.last.max(Some(at)), undecided: 0, undecided_at: None }.remembered(now);
        }
        current
    }

    fn remembered(self, now: Moment) -> Self {
        match self.last {
            Some(last) if self.count > 0 && now.since(last) < FORGOTTEN_SECONDS => self,
            _ => Failures { count: 0, last: None, ..self },
        }
    }

    /// By how many attempts it is over what brings no delay.
    fn over(self, allowance: Allowance, now: Moment) -> u32 {
        let current = self.at(now);
        current.count.saturating_add(current.undecided).saturating_add(1).saturating_sub(allowance.first_delay)
    }

    /// Seconds still to wait.
    fn wait(self, allowance: Allowance, now: Moment) -> i64 {
        let (over, current) = (self.over(allowance, now), self.at(now));
        let Some(last) = current.last.max(current.undecided_at).filter(|_| over > 0) else { return 0 };
        let delay = 1_i64.checked_shl(over.min(32)).unwrap_or(i64::MAX).min(allowance.longest_seconds);
        (delay - now.since(last)).clamp(0, delay)
    }
}

/// What is known when somebody tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// [`Counter::Pair`]
    pub pair: Failures,
    /// [`Counter::Address`]
    pub address: Failures,
    /// [`Counter::Account`]
    pub account: Failures,
    /// When this address may try this account, whatever failed elsewhere; it was told so when it had to wait for that.
    pub admitted_at: Option<Moment>,
    /// Whether this account signed in from this address before.
    pub address_is: Familiarity,
}

impl Evidence {
    /// When an address that must wait for failures elsewhere may try, to be kept: it gets no later, however many fail by then.
    pub fn admission(&self, now: Moment) -> Option<Moment> {
        let seconds = self.wait_for_elsewhere(now);
        (seconds > 0).then(|| now.plus(seconds))
    }

    /// Seconds to wait because of failures from anywhere.
    fn wait_for_elsewhere(&self, now: Moment) -> i64 {
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
    /// Never, or it is not known.
    #[default]
    Strange,
    /// It did.
    Familiar,
}

/// Whether a password may be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Try,
    /// Not before so many seconds (at least one).
    Wait(i64),
}

impl Verdict {
    fn after(seconds: i64) -> Self {
        if seconds == 0 { Verdict::Try } else { Verdict::Wait(seconds) }
    }
}

/// Which of its counters an attempt waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// [`Counter::Pair`]
    Pair,
    /// [`Counter::Address`]
    Address,
    /// [`Counter::Account`]
    Account,
}

impl Binding {
    /// How many of the failures that this counter knows of would have to turn out as successes for it to make nobody wait.
    pub fn successes_wanted(self, evidence: &Evidence, now: Moment) -> u32 {
        match self {
            // It begins anew with each.
            Binding::Pair => 1,
            Binding::Address => evidence.address.over(ADDRESS, now),
            Binding::Account => evidence.account.over(ACCOUNT, now),
        }
    }
}

/// The counter that makes an attempt wait longest, and for how many seconds; none where it need not wait.
pub fn longest(evidence: &Evidence, now: Moment) -> (Binding, i64) {
    let waits = [(Binding::Address, evidence.address.wait(ADDRESS, now)), (Binding::Account, evidence.wait_for_elsewhere(now))];
    waits.into_iter().fold((Binding::Pair, evidence.pair.wait(PAIR, now)), |most, other| if other.1 > most.1 { other } else { most })
}

/// Judges one more failure of a client. A right secret is never judged: nobody can shut a client out by failing in its name.
pub fn judge_client(failures: Failures, now: Moment) -> Verdict {
    Verdict::after(failures.wait(CLIENT, now))
}
