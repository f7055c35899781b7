//! Where reads go: to a replica while it answers, to the primary otherwise.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::run::Format;
use store::{Answer, Database, Error};

/// How long a replica is left alone that let a request wait for nothing.
const AWAY: Duration = Duration::from_secs(5);
/// What is no wait: a refused connection costs nobody anything, and a replica that is back is used at once.
const SOON: Duration = Duration::from_millis(250);

/// The database that reads use.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The database itself.
    pub primary: Database,
    replica: Option<Replica>,
}

#[derive(Clone, Debug)]
struct Replica {
    database: Database,
    away_until: Arc<Mutex<Option<Instant>>>,
}

impl Reader {
    /// Reads of a database and perhaps a replica of it.
    pub fn new(primary: Database, replica: Option<Database>) -> Self {
        Reader { primary, replica: replica.map(|database| Replica { database, away_until: Arc::default() }) }
    }

    /// Runs a statement.
    pub async fn run(&self, query: query::sql::Query, format: Format) -> Result<Answer, Error> {
        if let Some(replica) = &self.replica
            && let Some(answer) = Box::pin(replica.run(query.clone(), format)).await
        {
            return answer;
        }
        self.primary.run(query, format).await
    }
}

impl Replica {
    /// What the replica says, if it can say anything. A table that it does not have yet is no reason to fail.
    async fn run(&self, query: query::sql::Query, format: Format) -> Option<Result<Answer, Error>> {
        let started = Instant::now();
        if self.away_until.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|end| started < end) {
            return None;
        }
        match self.database.run(query, format).await {
            Err(reason @ (Error::Unavailable(_) | Error::Overloaded | Error::Refused(_))) => {
                tracing::warn!(%reason, "the replica does not answer; asking the primary");
                if started.elapsed() > SOON {
                    *self.away_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + AWAY);
                }
                None
            }
            // Perhaps it was made ready at the primary, and the replica has not heard of it yet.
            Err(Error::NotReady(_)) => None,
            other => Some(other),
        }
    }
}
