//! Refuses statements that PostgreSQL estimates as too expensive (`QUERY_MAX_COST`).
//!
//! Estimates are cached by text and values together: a value that matches nothing makes any text cheap.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use query::sql::{Query, Sql, Total};
use serde_json::Value;

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
        let cost = total_cost(&document[0]).ok_or_else(|| Error::Unexpected("PostgreSQL returned no cost estimate".to_owned()))?;
        self.remember(key, cost);
        Ok(cost)
    }
}

/// The estimate of an explained statement. The coordinator of Citus estimates nothing for what other servers run, so their plans count too.
fn total_cost(explained: &Value) -> Option<f64> {
    let plan = &explained["Plan"];
    Some(plan["Total Cost"].as_f64()? + cost_of_servers(plan))
}

/// The estimates of the tasks and subplans of Citus in a plan. It shows one of many equal tasks.
fn cost_of_servers(plan: &Value) -> f64 {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let inner: f64 = list(&plan["Plans"]).iter().map(cost_of_servers).sum();
    let distributed = &plan["Distributed Query"];
    let subplans: f64 =
        list(&distributed["Subplans"]).iter().flat_map(|one| list(&one["PlannedStmt"])).filter_map(|one| total_cost(&one)).sum();
    let job = &distributed["Job"];
    let tasks = list(&job["Tasks"]);
    let shown: f64 =
        tasks.iter().flat_map(|task| list(&task["Remote Plan"])).flat_map(|plans| list(&plans)).filter_map(|one| total_cost(&one)).sum();
    let count = job["Task Count"].as_f64().unwrap_or(1.0) / (tasks.len().max(1) as f64);
    inner + subplans + shown * count.max(1.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::total_cost;

    #[test]
    fn the_plans_of_other_servers_count_for_all_their_tasks() {
        let local = |cost: f64| json!({ "Plan": { "Total Cost": cost } });
        assert_eq!(total_cost(&local(7.5)), Some(7.5));
        assert_eq!(total_cost(&json!({})), None);
        let scan = |count: u32, cost: f64| json!({ "Job": { "Task Count": count, "Tasks": [{ "Remote Plan": [[local(cost)]] }] } });
        let subplan = json!({ "Plan": { "Total Cost": 0.0, "Distributed Query": scan(8, 2.0) } });
        let mut distributed = scan(4, 10.0);
        distributed["Subplans"] = json!([{ "PlannedStmt": [subplan] }]);
        let sorted = json!({ "Plan": { "Total Cost": 1.0, "Plans": [{ "Total Cost": 0.0, "Distributed Query": distributed }] } });
        assert_eq!(total_cost(&sorted), Some(1.0 + 40.0 + 16.0));
    }
}
