//! Runs statements for callers, in turn: on the read replica while it answers, on the primary otherwise.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use query::catalog::{Catalog, Resource, TableName};
use query::sql::Query;
use store::run::Format;
use store::{Answer, Database, Error, PoolFigures};

use crate::budget::{Budgets, CallerKey, FairQueue, Slot};
use crate::metrics::write_gauges;
use crate::problem::Problem;
use crate::slow_statements::SlowStatements;

use super::statement_log;

/// How long the read replica is not used after a slow failure.
const REPLICA_BACKOFF: Duration = Duration::from_secs(5);
/// A faster failure costs little: the read replica is used again at once.
const FAST_FAILURE: Duration = Duration::from_millis(250);

/// How often `/ready` looks for the tables of the resources.
const TABLES_INTERVAL: Duration = Duration::from_secs(5);

/// How many missing tables a log line names.
const MAX_NAMED_TABLES: usize = 10;

/// The database that reads use.
#[derive(Clone, Debug)]
pub struct DatabaseReader {
    pub primary: Database,
    replica: Option<Replica>,
    statements: FairQueue,
    streams: FairQueue,
    ping: Arc<tokio::sync::Mutex<Option<Ping>>>,
    slow_statements: Option<SlowStatements>,
}

#[derive(Debug)]
struct Ping {
    started: Instant,
    failure: Option<PingFailure>,
    /// When the tables were last looked for, and those that were missing.
    tables: Option<(Instant, Vec<String>)>,
}

#[derive(Clone, Debug)]
enum PingFailure {
    Unavailable(String),
    MissingTables(String),
}

#[derive(Clone, Debug)]
struct Replica {
    database: Database,
    away_until: Arc<Mutex<Option<Instant>>>,
}

#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) answer: Answer,
    /// The slots that a stream holds.
    pub(crate) slots: Vec<Slot>,
}

impl DatabaseReader {
    pub fn new(primary: Database, replica: Option<Database>, budgets: &Budgets) -> Self {
        let replica = replica.map(|database| Replica { database, away_until: Arc::default() });
        let (statements, streams) = (budgets.statements.clone(), budgets.streams.clone());
        DatabaseReader { primary, replica, statements, streams, ping: Arc::default(), slow_statements: None }
    }

    /// Logs slow statements.
    pub(crate) fn logging(mut self, slow_statements: Option<SlowStatements>) -> Self {
        self.slow_statements = slow_statements;
        self
    }

    pub(crate) fn slow_statements(&self) -> Option<&SlowStatements> {
        self.slow_statements.as_ref()
    }

    /// Runs a statement on this resource.
    pub(crate) async fn run(&self, caller: CallerKey, resource: &str, query: Query, format: Format) -> Result<Reading, Problem> {
        // The slot of the stream comes first, so that a waiting statement holds no other slot.
        let stream = if Database::may_stream(&query) { Some(self.streams.acquire(caller).await?) } else { None };
        let statement = self.statements.acquire(caller).await?;
        let answer = self.read(resource, query, format).await?;
        if !matches!(answer, Answer::Chunks(_)) {
            return Ok(Reading { answer, slots: Vec::new() });
        }
        // A page that is too large to be built whole is streamed too.
        let stream = stream.map_or_else(|| self.streams.try_acquire(caller), Ok)?;
        Ok(Reading { answer, slots: vec![statement, stream] })
    }

    pub(crate) fn pools(&self) -> impl Iterator<Item = (&'static str, PoolFigures)> {
        let replica = self.replica.iter().map(|replica| ("replica", replica.database.pool()));
        [("primary", self.primary.pool())].into_iter().chain(replica)
    }

    /// A slot for other work on the database.
    pub(crate) async fn slot(&self, caller: CallerKey) -> Result<Slot, Problem> {
        Ok(self.statements.acquire(caller).await?)
    }

    async fn read(&self, resource: &str, query: Query, format: Format) -> Result<Answer, Error> {
        let for_answer = |database| statement_log::for_answer(database, self.slow_statements.as_ref(), resource, &query);
        if let Some(replica) = &self.replica {
            let database = for_answer(&replica.database);
            if let Some(answer) = Box::pin(replica.run(database.as_ref(), query.clone(), format)).await {
                return answer;
            }
        }
        let database = for_answer(&self.primary);
        database.as_ref().unwrap_or(&self.primary).run(query, format).await
    }

    /// Whether the database answers and has the tables of the catalog. Concurrent callers share one ping.
    pub(crate) async fn ping(&self, catalog: &Catalog) -> Result<(), Error> {
        let arrived = Instant::now();
        let mut last = self.ping.lock().await;
        let failure = match &*last {
            Some(ping) if ping.started >= arrived => ping.failure.clone(),
            _ => {
                let ping = self.new_ping(catalog, last.take().and_then(|ping| ping.tables)).await;
                last.insert(ping).failure.clone()
            }
        };
        match failure {
            None => Ok(()),
            Some(PingFailure::Unavailable(reason)) => Err(Error::Unavailable(reason)),
            Some(PingFailure::MissingTables(reason)) => Err(Error::NotReady(reason)),
        }
    }

    async fn new_ping(&self, catalog: &Catalog, tables: Option<(Instant, Vec<String>)>) -> Ping {
        let started = Instant::now();
        let is_fresh = |looked: &Instant| started.duration_since(*looked) < TABLES_INTERVAL;
        let asked = async {
            match tables.filter(|(looked, _)| is_fresh(looked)) {
                // The tables are looked for less often: a large manifest has many.
                Some(tables) => self.primary.ping().await.map(|()| tables),
                None => Ok((started, missing_tables(&self.primary, catalog).await?)),
            }
        };
        match asked.await {
            Err(error) => Ping { started, failure: Some(PingFailure::Unavailable(error.to_string())), tables: None },
            Ok((looked, missing)) => {
                let failure = (!missing.is_empty()).then(|| PingFailure::MissingTables(missing.join(", ")));
                Ping { started, failure, tables: Some((looked, missing)) }
            }
        }
    }
}

/// The tables of the catalog that do not exist, each with its resource.
async fn missing_tables(database: &Database, catalog: &Catalog) -> Result<Vec<String>, Error> {
    let resources = catalog.resources();
    let tables: Vec<&TableName> = resources.iter().map(|resource| &resource.table).collect();
    let missing = database.missing_tables(&tables).await?;
    let describe = |resource: &Resource| format!("the table {} of the resource {} is missing", resource.table, resource.full_name);
    Ok(missing.into_iter().filter_map(|place| resources.get(place)).take(MAX_NAMED_TABLES).map(describe).collect())
}

impl Collector for DatabaseReader {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let connections = self.pools().flat_map(|(pool, figures)| {
            let labels = |state| [("pool", pool), ("state", state)];
            [(labels("in_use"), figures.in_use), (labels("idle"), figures.idle)]
        });
        write_gauges(&mut encoder, "peristyle_pool_connections", "Connections to the database.", connections)?;
        let waiting = self.pools().map(|(pool, figures)| ([("pool", pool)], figures.waiting));
        write_gauges(&mut encoder, "peristyle_pool_waiting", "Requests that wait for a connection to the database.", waiting)
    }
}

impl Replica {
    /// Runs a statement on the read replica. None means that the primary should run it, such as for a table that the replica lacks.
    async fn run(&self, database: Option<&Database>, query: Query, format: Format) -> Option<Result<Answer, Error>> {
        let started = Instant::now();
        if self.away_until.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|end| started < end) {
            return None;
        }
        match database.unwrap_or(&self.database).run(query, format).await {
            Err(reason @ (Error::Unavailable(_) | Error::Overloaded | Error::Refused(_))) => {
                tracing::warn!(%reason, "the read replica does not answer; using the primary");
                if started.elapsed() > FAST_FAILURE {
                    *self.away_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REPLICA_BACKOFF);
                }
                None
            }
            // The primary may be ahead of the read replica.
            Err(Error::NotReady(_)) => None,
            other => Some(other),
        }
    }
}
