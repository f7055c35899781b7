//! Refuses statements that PostgreSQL estimates as too expensive (`QUERY_MAX_COST`).
//!
//! Estimates are cached by text and values together: a value that matches nothing makes any text cheap.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use query::sql::{Query, Sql, Total};

use crate::Error;

use super::Postgres;
use super::explain::explain;
use super::read_retries::ReadRetries;

/// How long an estimate counts: statistics of tables change.
const ESTIMATE_LIFETIME: Duration = Duration::from_secs(60);
const MAX_ESTIMATES: NonZeroUsize = NonZeroUsize::new(4_096).unwrap();

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
        estimates.get(&key).filter(|(_, since)| since.elapsed() < ESTIMATE_LIFETIME).map(|(cost, _)| *cost)
    }

    fn remember(&self, key: u64, cost: f64) {
        self.estimates.lock().unwrap_or_else(PoisonError::into_inner).put(key, (cost, Instant::now()));
    }

    fn key(&self, sql: &Sql) -> u64 {
        let mut hasher = self.seed.build_hasher();
        sql.text().hash(&mut hasher);
        // Values do not implement Hash, since some are floats.
        format!("{:?}", sql.params()).hash(&mut hasher);
        hasher.finish()
    }

    /// Refuses a statement whose rows and total cost more than the limit. Related rows do not count: their keys are not known yet.
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
        let mut retries = ReadRetries::begin(postgres);
        let document = loop {
            let mut lease = retries.lease(postgres).await?;
            match explain(&mut lease, postgres, "FORMAT JSON", (sql, None)).await {
                Err(error) if retries.may_retry(&error, &lease) => {}
                result => break result?,
            }
        };
        let cost = document[0]["Plan"]["Total Cost"].as_f64();
        let cost = cost.ok_or_else(|| Error::Unexpected("PostgreSQL returned no cost estimate".to_owned()))?;
        self.remember(key, cost);
        Ok(cost)
    }
}
