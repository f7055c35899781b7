//! Answers Query Statements, for every protocol: permission, validation, SQL, rows.

pub(crate) mod database_metrics;
pub mod explain;
pub(crate) mod field_parameter;
pub(crate) mod operation;
pub mod reader;
mod replay_lag;
mod replica;
mod row_key;
mod statement_log;
pub(crate) mod write;
pub(crate) mod write_metrics;

use std::sync::Arc;

use axum::body::Bytes;
use futures_util::StreamExt;
use query::catalog::{Catalog, ResourceId};
use query::merge::merged;
use query::parse::Body;
use query::plan::{self, Operation};
use query::policy::{self, ReadAccess};
use query::sql::{self, Query};
use store::run::Format;
use store::{Answer, Writers};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::budget::{Budgets, CallerKey};
use crate::caller::Caller;
use crate::problem::Problem;

use reader::DatabaseReader;

pub(crate) use row_key::key_parts;
pub use write_metrics::WriteMetrics;

/// The size limit of one record of a hub. An account with tens of thousands of tenants is below it.
pub(crate) const MAX_RECORD_BYTES: usize = 16 * 1024 * 1024;
/// Parsing and validating input up to this size takes a few hundred microseconds; switching threads would cost more.
const INLINE_BYTES: usize = 16 * 1024;
/// The size to name for work whose cost does not depend on the size of the input.
pub(crate) const ALWAYS_OFFLOAD: usize = usize::MAX;

#[derive(Clone, Debug)]
pub struct QueryService {
    pub catalog: Arc<Catalog>,
    pub reader: DatabaseReader,
    pub budgets: Budgets,
    /// The connections for writes, if a resource has any.
    pub writers: Option<Writers>,
    pub writes: WriteMetrics,
}

impl QueryService {
    /// Decides permission. This comes before the statement is read.
    pub(crate) fn authorize_read<'s, 'c>(&'s self, resource: ResourceId, caller: &'c Caller) -> Result<ReadAccess<'s, 'c>, Problem> {
        policy::authorize_read(&self.catalog, resource, caller.viewer()).map_err(|policy::Denied(permission)| caller.refusal(permission))
    }

    /// Validates a parsed `{query?, constraint?}`, for the row with this key if there is one, and writes its SQL. It takes no connection.
    pub(crate) fn render(
        &self,
        access: ReadAccess<'_, '_>,
        operation: Operation,
        key: Option<&[String]>,
        body: Body,
    ) -> Result<Query, Problem> {
        let parts: Option<Vec<&str>> = key.map(|parts| parts.iter().map(String::as_str).collect());
        let plan = plan::plan(access, merged(body), operation, parts.as_deref())?;
        Ok(sql::render(&plan, self.reader.primary.dialect()))
    }

    /// Runs parsing and validation on input of this size: small input at once, larger input off the async threads, few at a time.
    pub(crate) async fn validate<T>(&self, caller: CallerKey, size: usize, work: impl FnOnce() -> T) -> Result<T, Problem> {
        if size <= INLINE_BYTES {
            return Ok(work());
        }
        let _slot = self.budgets.validation.acquire(caller).await?;
        // Moves the other tasks of this thread to another one. A runtime with one thread has no other.
        Ok(if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread { tokio::task::block_in_place(work) } else { work() })
    }

    /// Reads one record from the primary database, never from a read replica. It has connections of its own, so that other statements do
    /// not delay it.
    pub(crate) async fn record(&self, caller: CallerKey, query: Query) -> Result<Option<Bytes>, Problem> {
        let _slot = self.budgets.lookups.acquire(caller).await?;
        let mut chunks = match Box::pin(self.reader.primary.run(query, Format::Json)).await? {
            Answer::Whole(bytes) | Answer::Page(bytes, _) => return Ok(Some(bytes)),
            Answer::Nothing => return Ok(None),
            Answer::Chunks(chunks) => chunks,
        };
        let mut whole = Vec::new();
        while let Some(chunk) = chunks.next().await {
            whole.extend_from_slice(&chunk?);
            if whole.len() > MAX_RECORD_BYTES {
                return Err(Problem::Internal("a record is larger than 16 MiB"));
            }
        }
        Ok(Some(whole.into()))
    }
}
