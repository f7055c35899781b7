//! A statement's way from its parsed layers to SQL: the same for every protocol that carries one.

use query::catalog::ResourceId;
use query::merge::merge;
use query::parse::Body;
use query::plan::{self, Operation};
use query::policy::{self, Entrance, Viewer};
use query::sql::{self, Query};

use crate::auth::Caller;
use crate::error::Problem;
use crate::service::Service;

/// Permission is decided before the statement is looked at.
pub(crate) fn enter<'s>(service: &'s Service, resource: ResourceId, caller: &Caller) -> Result<Entrance<'s>, Problem> {
    policy::enter(&service.catalog, resource, caller.viewer()).map_err(|policy::Denied| caller.refusal())
}

/// Validates what a parsed `{query?, constraint?}` asks, for the row with this key where one is named, and writes its SQL.
/// No connection is taken before this is done.
pub(crate) fn render(
    service: &Service,
    (entrance, viewer): (Entrance<'_>, &Viewer),
    (operation, key): (Operation, Option<&[String]>),
    body: Body,
) -> Result<Query, Problem> {
    let statement = match body.constraint {
        Some(constraint) => merge(body.query, constraint),
        None => body.query,
    };
    let parts: Option<Vec<&str>> = key.map(|parts| parts.iter().map(String::as_str).collect());
    let plan = plan::plan(entrance, statement, viewer, operation, parts.as_deref())?;
    Ok(sql::render(&plan, service.reader.primary.dialect()))
}
