//! Runs statements for callers, in turn: on a read replica while one answers, on the primary otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use query::catalog::{Catalog, JoinColumns, Relation, Resource, TableName};
use query::sql::Query;
use store::run::Format;
use store::{Answer, Database, Error};

use crate::budget::{Budgets, CallerKey, FairQueue, Overloaded, Slot};
use crate::problem::Problem;
use crate::slow_statements::SlowStatements;

use super::replica::Replica;
use super::statement_log;

/// How often `/ready` looks for the tables of the resources.
const TABLES_INTERVAL: Duration = Duration::from_secs(5);

/// How many missing tables a log line names.
const MAX_NAMED_TABLES: usize = 10;

/// The database that reads use.
#[derive(Clone, Debug)]
pub struct DatabaseReader {
    pub primary: Database,
    replicas: Arc<[Replica]>,
    /// Which of them is asked first.
    turn: Arc<AtomicUsize>,
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

#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) answer: Answer,
    /// The slots that a stream holds.
    pub(crate) slots: Vec<Slot>,
}

impl DatabaseReader {
    /// A read replica that is further than `max_lag` behind is not used.
    pub fn new(primary: Database, replicas: Vec<Database>, max_lag: Option<Duration>, budgets: &Budgets) -> Self {
        let replicas = replicas.into_iter().map(|database| Replica::new(database, primary.clone(), max_lag)).collect();
        let (statements, streams) = (budgets.statements.clone(), budgets.streams.clone());
        let turn = Arc::new(AtomicUsize::new(0));
        DatabaseReader { primary, replicas, turn, statements, streams, ping: Arc::default(), slow_statements: None }
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
        let statement = self.slot(caller).await?;
        let answer = self.read(resource, query, format).await?;
        if !matches!(answer, Answer::Chunks(_)) {
            return Ok(Reading { answer, slots: Vec::new() });
        }
        // A page that is too large to be built whole is streamed too.
        let stream = stream.map_or_else(|| self.streams.try_acquire(caller), Ok)?;
        Ok(Reading { answer, slots: vec![statement, stream] })
    }

    pub(super) fn replicas(&self) -> impl Iterator<Item = &Replica> {
        self.replicas.iter()
    }

    /// A slot for other work on the database.
    pub(crate) async fn slot(&self, caller: CallerKey) -> Result<Slot, Problem> {
        self.statements.acquire(caller).await.map_err(|reason| self.busy(reason))
    }

    /// Why a request had no turn in time: those before it may have waited for a database that does not answer.
    pub(crate) fn busy(&self, reason: Overloaded) -> Problem {
        if self.primary.is_silent() { Error::Unavailable("no database host answers".to_owned()).into() } else { reason.into() }
    }

    /// The read replicas, each request beginning with another one.
    fn replicas_in_turn(&self) -> impl Iterator<Item = &Replica> {
        let count = self.replicas.len();
        let first = if count > 1 { self.turn.fetch_add(1, Ordering::Relaxed) % count } else { 0 };
        self.replicas.iter().cycle().skip(first).take(count)
    }

    /// Asks the servers in turn, all of them within one deadline.
    async fn read(&self, resource: &str, query: Query, format: Format) -> Result<Answer, Error> {
        let context = statement_log::for_answer(&self.primary, self.slow_statements.as_ref(), resource, &query);
        for replica in self.replicas_in_turn() {
            let database = replica.database.for_answer(context.for_another_server());
            if let Some(answer) = Box::pin(replica.run(&database, &query, format)).await {
                return answer;
            }
        }
        self.primary.for_answer(context).run(query, format).await
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
            Err(error) => {
                let reason = match error {
                    Error::Unavailable(reason) => reason,
                    other => other.to_string(),
                };
                Ping { started, failure: Some(PingFailure::Unavailable(reason)), tables: None }
            }
            Ok((looked, missing)) => {
                let failure = (!missing.is_empty()).then(|| PingFailure::MissingTables(missing.join(", ")));
                Ping { started, failure, tables: Some((looked, missing)) }
            }
        }
    }
}

/// The tables of the catalog that do not exist, pivots included, each with its resource.
async fn missing_tables(database: &Database, catalog: &Catalog) -> Result<Vec<String>, Error> {
    let pivot = |relation: &Relation| match &relation.join_columns {
        JoinColumns::Through { pivot, .. } => Some(pivot.clone()),
        JoinColumns::Direct(_) => None,
    };
    let of_resource = |resource: &Resource| {
        let pivots = resource.relations.iter().filter_map(pivot);
        std::iter::once(resource.table.clone()).chain(pivots).map(|table| (table, resource.full_name.clone())).collect::<Vec<_>>()
    };
    let tables: Vec<(TableName, String)> = catalog.resources().iter().flat_map(of_resource).collect();
    let names: Vec<&TableName> = tables.iter().map(|(table, _)| table).collect();
    let missing = database.missing_tables(&names).await?;
    let describe = |(table, resource): &(TableName, String)| format!("the table {table} of the resource {resource} is missing");
    Ok(missing.into_iter().filter_map(|place| tables.get(place)).take(MAX_NAMED_TABLES).map(describe).collect())
}
