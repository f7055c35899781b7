//! One read replica: whether it answers and is current, so that reads can use it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use query::sql::Query;
use store::run::Format;
use store::{Answer, Database, Error, Reachability};

use crate::mutex::lock;

use super::replay_lag::ReplayLag;

/// How often a read replica is checked, if it does not answer or its lag matters. No request waits for the check.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The same for one that is a primary at the moment: a check is a new connection to it, and it stays one until the next failover.
const ROLE_INTERVAL: Duration = Duration::from_secs(5);
/// How long a measured lag counts.
const LAG_LIFETIME: Duration = Duration::from_secs(3);
/// How often the log says that a read replica is not used, and why.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub(super) struct Replica {
    pub(super) database: Database,
    /// Asked for its position while this one receives nothing.
    primary: Database,
    /// The largest lag behind the primary (`DATABASE_READ_MAX_LAG`).
    max_lag: Option<Duration>,
    health: Arc<Mutex<ReplicaHealth>>,
}

#[derive(Debug, Default)]
struct ReplicaHealth {
    /// Why it is not used until a check succeeds.
    unavailability: Option<Unavailability>,
    is_being_checked: bool,
    checked_at: Option<Instant>,
    /// When its lag was last found small enough.
    current_at: Option<Instant>,
    /// Whether the newest check found that it is too far behind.
    is_behind: bool,
    measurements: ReplayLag,
    lag: Option<Duration>,
    logged_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unavailability {
    /// It gives no connection.
    NoAnswer,
    /// It is not what `target_session_attrs` asks for, such as a primary.
    OtherRole,
}

/// What a check found.
enum Finding {
    Current,
    /// Its lag, if it knows one.
    Behind(Option<Duration>),
    Unavailable(Unavailability, Error),
}

/// A read replica for the metrics.
pub(super) struct ReplicaFigures {
    pub(super) server: String,
    pub(super) is_used: bool,
    pub(super) lag: Option<Duration>,
}

impl Replica {
    pub(super) fn new(database: Database, primary: Database, max_lag: Option<Duration>) -> Self {
        Replica { database, primary, max_lag, health: Arc::default() }
    }

    /// Runs a statement. None means that another server should run it, such as for a table that this one lacks.
    pub(super) async fn run(&self, database: &Database, query: &Query, format: Format) -> Option<Result<Answer, Error>> {
        if !self.is_usable() {
            return None;
        }
        match database.run(query.clone(), format).await {
            Err(reason @ (Error::Refused(_) | Error::Unsupported(_))) => {
                self.log(&format!("refuses a statement: {reason}"));
                None
            }
            Err(reason @ (Error::Unavailable(_) | Error::Overloaded)) => {
                self.note_failure(&reason);
                None
            }
            // The primary may be ahead of the read replica.
            Err(Error::NotReady(_)) => None,
            other => Some(other),
        }
    }

    /// Marks it as unavailable if it gives no connection. A statement that failed on a server that answers says nothing about the next one.
    fn note_failure(&self, reason: &Error) {
        let why = match (self.unavailability(), reason) {
            (None, Error::Overloaded) => Some(Unavailability::NoAnswer),
            (why, _) => why,
        };
        if let Some(why) = why {
            self.mark_unavailable(why, reason);
            lock(&self.health).checked_at = Some(Instant::now());
        } else {
            self.log(&format!("could not run a statement: {reason}"));
        }
    }

    /// Why it gives no connection, if the newest one failed.
    fn unavailability(&self) -> Option<Unavailability> {
        match self.database.reachability() {
            Reachability::Reachable => None,
            Reachability::Unreachable => Some(Unavailability::NoAnswer),
            Reachability::OtherRole => Some(Unavailability::OtherRole),
        }
    }

    fn mark_unavailable(&self, why: Unavailability, reason: &Error) {
        let before = lock(&self.health).unavailability.replace(why);
        match why {
            Unavailability::NoAnswer => self.log(&format!("does not answer: {reason}")),
            // A member of a cluster that is its primary now is no fault.
            Unavailability::OtherRole if before != Some(why) => {
                tracing::info!(host = self.database.servers(), "a host of DATABASE_READ_URL is not used: {reason}");
            }
            Unavailability::OtherRole => {}
        }
    }

    /// Whether reads may use it. A check that is due begins, beside the requests.
    fn is_usable(&self) -> bool {
        let is_silent = self.database.is_silent();
        let mut health = lock(&self.health);
        let interval = if health.unavailability == Some(Unavailability::OtherRole) { ROLE_INTERVAL } else { CHECK_INTERVAL };
        let needs_check = health.unavailability.is_some() || is_silent || self.max_lag.is_some();
        if needs_check && !health.is_being_checked && health.checked_at.is_none_or(|last| last.elapsed() >= interval) {
            health.is_being_checked = true;
            tokio::spawn(self.clone().check());
        }
        health.is_used(self.max_lag) && !is_silent
    }

    /// Finds out whether it answers, and is current.
    async fn check(self) {
        let finding = self.measure().await;
        let mut health = lock(&self.health);
        health.is_being_checked = false;
        health.checked_at = Some(Instant::now());
        health.current_at = matches!(finding, Finding::Current).then(Instant::now);
        let was_behind = std::mem::replace(&mut health.is_behind, matches!(finding, Finding::Behind(_)));
        let was_unavailable = match &finding {
            Finding::Unavailable(..) => None,
            Finding::Current | Finding::Behind(_) => health.unavailability.take(),
        };
        drop(health);
        if was_unavailable.is_some() {
            tracing::info!(host = self.database.servers(), "the read replica answers again");
        } else if was_behind && matches!(finding, Finding::Current) {
            tracing::info!(host = self.database.servers(), "the read replica is current again");
        }
        match finding {
            Finding::Current => {}
            Finding::Unavailable(why, reason) => self.mark_unavailable(why, &reason),
            Finding::Behind(None) => self.log("does not know how far it is behind"),
            Finding::Behind(Some(lag)) => {
                self.log(&format!("is {:.1} s behind, more than DATABASE_READ_MAX_LAG allows", lag.as_secs_f64()));
            }
        }
    }

    async fn measure(&self) -> Finding {
        let unavailable = |reason| Finding::Unavailable(self.unavailability().unwrap_or(Unavailability::NoAnswer), reason);
        let Some(max) = self.max_lag else {
            return self.database.ping().await.map_or_else(unavailable, |()| Finding::Current);
        };
        match self.database.replay_position().await {
            Err(reason) => unavailable(reason),
            Ok(position) => {
                let needs_primary = lock(&self.health).measurements.needs_primary(position, max, Instant::now());
                let primary = if needs_primary { self.primary.log_position().await.ok().flatten() } else { None };
                let mut health = lock(&self.health);
                let lag = health.measurements.measure(position, primary, max, Instant::now());
                health.lag = lag;
                if lag.is_some_and(|lag| lag <= max) { Finding::Current } else { Finding::Behind(lag) }
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

    pub(super) fn figures(&self) -> ReplicaFigures {
        let is_silent = self.database.is_silent();
        let health = lock(&self.health);
        let is_used = health.is_used(self.max_lag) && !is_silent;
        ReplicaFigures { server: self.database.servers(), is_used, lag: health.lag }
    }
}

impl ReplicaHealth {
    fn is_used(&self, max_lag: Option<Duration>) -> bool {
        let is_current = max_lag.is_none() || self.current_at.is_some_and(|last| last.elapsed() < LAG_LIFETIME);
        is_current && self.unavailability.is_none()
    }
}
