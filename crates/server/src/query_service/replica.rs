//! One read replica: whether it answers and is current, so that reads can use it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use query::sql::Query;
use store::run::Format;
use store::{Answer, Database, Error};

use crate::mutex::lock;

/// A faster failure costs little: the read replica is used again at once.
const FAST_FAILURE: Duration = Duration::from_millis(250);
/// How often a read replica is checked, if it does not answer or its delay matters. No request waits for the check.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a measured delay counts.
const LAG_VALIDITY: Duration = Duration::from_secs(3);
/// How often the log says that a read replica is not used, and why.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub(super) struct Replica {
    pub(super) database: Database,
    /// The longest delay behind the primary (`DATABASE_READ_MAX_LAG`).
    max_lag: Option<Duration>,
    health: Arc<Mutex<ReplicaHealth>>,
}

#[derive(Debug, Default)]
struct ReplicaHealth {
    /// Whether it did not answer. It is not used until it answers a check.
    is_away: bool,
    is_being_checked: bool,
    checked_at: Option<Instant>,
    /// When its delay was last found short enough.
    current_at: Option<Instant>,
    logged_at: Option<Instant>,
}

impl Replica {
    pub(super) fn new(database: Database, max_lag: Option<Duration>) -> Self {
        Replica { database, max_lag, health: Arc::default() }
    }

    /// Runs a statement. None means that another server should run it, such as for a table that this one lacks.
    pub(super) async fn run(&self, database: Option<&Database>, query: &Query, format: Format) -> Option<Result<Answer, Error>> {
        if !self.is_usable() {
            return None;
        }
        let started = Instant::now();
        match database.unwrap_or(&self.database).run(query.clone(), format).await {
            Err(reason @ (Error::Refused(_) | Error::Unsupported(_))) => {
                self.log(&format!("refuses a statement: {reason}"));
                None
            }
            Err(reason @ (Error::Unavailable(_) | Error::Overloaded)) => {
                if started.elapsed() > FAST_FAILURE {
                    let mut health = lock(&self.health);
                    health.is_away = true;
                    health.checked_at = Some(Instant::now());
                }
                self.log(&format!("does not answer: {reason}"));
                None
            }
            // The primary may be ahead of the read replica.
            Err(Error::NotReady(_)) => None,
            other => Some(other),
        }
    }

    /// Whether reads may use it. A check that is due begins, beside the requests.
    fn is_usable(&self) -> bool {
        let mut health = lock(&self.health);
        let needs_check = health.is_away || self.max_lag.is_some();
        if needs_check && !health.is_being_checked && health.checked_at.is_none_or(|last| last.elapsed() >= CHECK_INTERVAL) {
            health.is_being_checked = true;
            tokio::spawn(self.clone().check());
        }
        let is_current = self.max_lag.is_none() || health.current_at.is_some_and(|last| last.elapsed() < LAG_VALIDITY);
        is_current && !health.is_away
    }

    /// Finds out whether it answers, and is current.
    async fn check(self) {
        let failure = match self.max_lag {
            None => self.database.ping().await.err().map(Failure::NoAnswer),
            Some(max) => match self.database.replay_lag().await {
                Ok(Some(lag)) if lag <= max => None,
                Ok(lag) => Some(Failure::Behind(lag)),
                Err(reason) => Some(Failure::NoAnswer(reason)),
            },
        };
        let mut health = lock(&self.health);
        health.is_being_checked = false;
        health.checked_at = Some(Instant::now());
        health.current_at = failure.is_none().then(Instant::now);
        let was_away = std::mem::replace(&mut health.is_away, matches!(failure, Some(Failure::NoAnswer(_))));
        let is_back = was_away && !health.is_away;
        drop(health);
        if is_back {
            tracing::info!(host = self.database.servers(), "the read replica answers again");
        }
        match failure {
            None => {}
            Some(Failure::NoAnswer(reason)) => self.log(&format!("does not answer: {reason}")),
            Some(Failure::Behind(None)) => self.log("does not know how far it is behind"),
            Some(Failure::Behind(Some(lag))) => {
                self.log(&format!("is {:.1} s behind, more than DATABASE_READ_MAX_LAG allows", lag.as_secs_f64()));
            }
        }
    }

    /// Logs why other servers are used, once a minute.
    fn log(&self, reason: &str) {
        let mut health = lock(&self.health);
        if health.logged_at.is_none_or(|last| last.elapsed() >= LOG_INTERVAL) {
            health.logged_at = Some(Instant::now());
            tracing::warn!(host = self.database.servers(), "the read replica {reason}; other servers answer instead");
        }
    }
}

/// Why a read replica is not used.
enum Failure {
    NoAnswer(Error),
    /// Its delay, if it knows one.
    Behind(Option<Duration>),
}
