//! A statement's way from its parsed layers to SQL: the same for every protocol that carries one.

use axum::body::Bytes;
use futures_util::StreamExt;
use query::catalog::ResourceId;
use query::merge::merged;
use query::parse::Body;
use query::plan::{self, Operation};
use query::policy::{self, Entrance};
use query::sql::{self, Query};
use store::Answer;
use store::run::Format;

use crate::app_state::Service;
use crate::authenticator::Caller;
use crate::budget::CallerKey;
use crate::problem::Problem;

pub(crate) use super::row_key::key_parts;

/// No record of a hub is longer: an account of tens of thousands of tenants is not.
pub(crate) const LONGEST_RECORD: usize = 16 * 1024 * 1024;

/// Permission is decided before the statement is looked at.
pub(crate) fn enter<'s, 'c>(service: &'s Service, resource: ResourceId, caller: &'c Caller) -> Result<Entrance<'s, 'c>, Problem> {
    policy::enter(&service.catalog, resource, caller.viewer()).map_err(|policy::Denied| caller.refusal())
}

/// Validates what a parsed `{query?, constraint?}` asks, for the row with this key where one is named, and writes its SQL.
/// No connection is taken before this is done.
pub(crate) fn render(
    service: &Service,
    entrance: Entrance<'_, '_>,
    operation: Operation,
    key: Option<&[String]>,
    body: Body,
) -> Result<Query, Problem> {
    let parts: Option<Vec<&str>> = key.map(|parts| parts.iter().map(String::as_str).collect());
    let plan = plan::plan(entrance, merged(body), operation, parts.as_deref())?;
    Ok(sql::render(&plan, service.reader.primary.dialect()))
}

/// The one row that is asked for, from the database itself and never from a replica, gathered where it comes in pieces.
/// Connections are kept for it, so that statements of other callers do not delay it.
pub(crate) async fn row(service: &Service, caller: CallerKey, query: Query) -> Result<Option<Bytes>, Problem> {
    let _slot = service.budgets.lookups.acquire(caller).await?;
    let mut chunks = match Box::pin(service.reader.primary.run(query, Format::Json)).await? {
        Answer::Whole(bytes) | Answer::Page(bytes, _) => return Ok(Some(bytes)),
        Answer::Nothing => return Ok(None),
        Answer::Chunks(chunks) => chunks,
    };
    let mut whole = Vec::new();
    while let Some(chunk) = chunks.next().await {
        whole.extend_from_slice(&chunk?);
        if whole.len() > LONGEST_RECORD {
            return Err(Problem::Internal("a record is longer than a hub tells"));
        }
    }
    Ok(Some(whole.into()))
}
