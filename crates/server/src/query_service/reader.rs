//! Reads on behalf of a caller: in turn with other callers, on a replica while it answers, on the primary otherwise.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use query::sql::Query;
use store::run::Format;
use store::{Answer, Database, Error};

use crate::budget::{Budgets, CallerKey, FairQueue, Slot};
use crate::problem::Problem;

/// How long a replica is left alone after it let a request wait for nothing.
const REPLICA_BACKOFF: Duration = Duration::from_secs(5);
/// A failure within this time cost nobody anything: a replica that refuses connections is tried again at once.
const SHORT_WAIT: Duration = Duration::from_millis(250);

/// The database that reads use.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The database itself.
    pub primary: Database,
    replica: Option<Replica>,
    statements: FairQueue,
    streams: FairQueue,
    ping: Arc<tokio::sync::Mutex<Option<Ping>>>,
}

/// Whether the database answered, and when it was asked.
#[derive(Debug)]
struct Ping {
    started: Instant,
    failure: Option<String>,
}

#[derive(Clone, Debug)]
struct Replica {
    database: Database,
    away_until: Arc<Mutex<Option<Instant>>>,
}

/// An answer, and the slots that it holds until it is dropped.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) answer: Answer,
    pub(crate) slots: Slots,
}

/// The slots of a statement that is still being read, or of none.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    _statement: Option<Slot>,
    _stream: Option<Slot>,
}

impl Reader {
    /// Reads of a database and perhaps a replica of it.
    pub fn new(primary: Database, replica: Option<Database>, budgets: &Budgets) -> Self {
        let replica = replica.map(|database| Replica { database, away_until: Arc::default() });
        Reader { primary, replica, statements: budgets.statements.clone(), streams: budgets.streams.clone(), ping: Arc::default() }
    }

    /// Runs a statement for a caller.
    pub(crate) async fn run(&self, caller: CallerKey, query: Query, format: Format) -> Result<Reading, Problem> {
        // The slot of a stream comes first: a statement that waits for one holds no other.
        let mut stream = if Database::may_stream(&query) { Some(self.streams.acquire(caller).await?) } else { None };
        let statement = self.statements.acquire(caller).await?;
        let answer = self.read(query, format).await?;
        if !matches!(answer, Answer::Chunks(_)) {
            return Ok(Reading { answer, slots: Slots::default() });
        }
        if stream.is_none() {
            // A page that turned out to be too large to be built whole.
            stream = Some(self.streams.try_acquire(caller)?);
        }
        Ok(Reading { answer, slots: Slots { _statement: Some(statement), _stream: stream } })
    }

    /// A slot for other work on the database.
    pub(crate) async fn slot(&self, caller: CallerKey) -> Result<Slot, Problem> {
        Ok(self.statements.acquire(caller).await?)
    }

    async fn read(&self, query: Query, format: Format) -> Result<Answer, Error> {
        if let Some(replica) = &self.replica
            && let Some(answer) = Box::pin(replica.run(query.clone(), format)).await
        {
            return answer;
        }
        self.primary.run(query, format).await
    }

    /// Whether the database answers. Callers that wait for each other share one question.
    pub(crate) async fn ping(&self) -> Result<(), Error> {
        let arrived = Instant::now();
        let mut last = self.ping.lock().await;
        let failure = match &*last {
            Some(ping) if ping.started >= arrived => ping.failure.clone(),
            _ => {
                let started = Instant::now();
                let failure = self.primary.ping().await.err().map(|error| error.to_string());
                *last = Some(Ping { started, failure: failure.clone() });
                failure
            }
        };
        failure.map_or(Ok(()), |failure| Err(Error::Unavailable(failure)))
    }
}

impl Replica {
    /// What the replica says, if it can say anything. A table that it does not have yet is no reason to fail.
    async fn run(&self, query: Query, format: Format) -> Option<Result<Answer, Error>> {
        let started = Instant::now();
        if self.away_until.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|end| started < end) {
            return None;
        }
        match self.database.run(query, format).await {
            Err(reason @ (Error::Unavailable(_) | Error::Overloaded | Error::Refused(_))) => {
                tracing::warn!(%reason, "the replica does not answer; asking the primary");
                if started.elapsed() > SHORT_WAIT {
                    *self.away_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REPLICA_BACKOFF);
                }
                None
            }
            // Perhaps it was made ready at the primary, and the replica has not heard of it yet.
            Err(Error::NotReady(_)) => None,
            other => Some(other),
        }
    }
}
