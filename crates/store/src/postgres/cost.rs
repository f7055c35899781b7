//! What PostgreSQL expects a statement to cost, before it is run (`QUERY_MAX_COST`).
//!
//! An estimate is kept for the statement's shape together with its values. The shape alone would not do: a value that matches nothing
//! makes any shape cheap, and would open the door for the next value.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use lru::LruCache;
use query::sql::{Query, Sql, Total};
use tokio_postgres::Row;

use crate::Error;

use super::{Postgres, bind};

/// How long an estimate counts: statistics of tables change.
const LIFETIME: Duration = Duration::from_secs(60);
const MAX_ESTIMATES: NonZeroUsize = NonZeroUsize::new(4_096).unwrap();

/// The highest cost that is allowed, and the estimates that were made.
pub(crate) struct CostLimit {
    max: f64,
    seed: RandomState,
    estimates: Mutex<LruCache<u64, (f64, Instant)>>,
}

impl CostLimit {
    pub(super) fn new(max: f64) -> Self {
        CostLimit { max, seed: RandomState::new(), estimates: Mutex::new(LruCache::new(MAX_ESTIMATES)) }
    }

    fn known(&self, key: u64) -> Option<f64> {
        let mut estimates = self.estimates.lock().unwrap_or_else(PoisonError::into_inner);
        estimates.get(&key).filter(|(_, since)| since.elapsed() < LIFETIME).map(|(cost, _)| *cost)
    }

    fn remember(&self, key: u64, cost: f64) {
        self.estimates.lock().unwrap_or_else(PoisonError::into_inner).put(key, (cost, Instant::now()));
    }

    fn key(&self, sql: &Sql) -> u64 {
        let mut hasher = self.seed.build_hasher();
        sql.text().hash(&mut hasher);
        // Values have no hash of their own, floats among them.
        format!("{:?}", sql.params()).hash(&mut hasher);
        hasher.finish()
    }

    /// Refuses a statement whose rows, or whose total, cost more than is allowed. Related rows are looked up by keys that are not known
    /// yet, and are not counted.
    pub(crate) async fn refuse_expensive(&self, postgres: &Postgres, query: &Query) -> Result<(), Error> {
        let mut cost = self.estimate(postgres, &query.root.sql).await?;
        if let Total::Count(total) = &query.total {
            cost += self.estimate(postgres, total).await?;
        }
        if cost <= self.max { Ok(()) } else { Err(Error::TooExpensive { cost, max: self.max }) }
    }

    async fn estimate(&self, postgres: &Postgres, sql: &Sql) -> Result<f64, Error> {
        let key = self.key(sql);
        if let Some(cost) = self.known(key) {
            return Ok(cost);
        }
        let text = format!("EXPLAIN (FORMAT JSON) {}", sql.text());
        let mut lease = postgres.lease().await?;
        let explain = lease.step(postgres.timeout, async |connection| {
            let params = sql.params().iter().map(|param| (bind::Bound { param, keys: None }, bind::kind(param)));
            connection.client.query_typed_raw(&text, params).await?.try_collect::<Vec<Row>>().await
        });
        let rows = explain.await?;
        let document = rows.first().and_then(|row| row.try_get::<_, serde_json::Value>(0).ok());
        let cost = document.and_then(|document| document[0]["Plan"]["Total Cost"].as_f64());
        let cost = cost.ok_or_else(|| Error::Unexpected("PostgreSQL gave no estimate of a statement's cost".to_owned()))?;
        self.remember(key, cost);
        Ok(cost)
    }
}
