//! A statement's way from its parsed layers to the database's answer: the same for every protocol that carries one.

use query::catalog::ResourceId;
use query::merge::merge;
use query::parse::Body;
use query::plan::{self, Operation};
use query::policy::{self, Entrance, Viewer};
use query::sql;
use store::Answer;
use store::run::Format;

use crate::boot::Service;
use crate::error::Problem;

/// Permission is decided before the statement is looked at.
pub(crate) fn enter<'s>(service: &'s Service, resource: ResourceId, viewer: &Viewer) -> Result<Entrance<'s>, Problem> {
    policy::enter(&service.catalog, resource, viewer).map_err(|policy::Denied| Problem::Forbidden)
}

/// Validates and runs what a parsed `{query?, constraint?}` asks, for the row with this key where one is named.
pub(crate) async fn ask(
    service: &Service,
    (entrance, viewer): (Entrance<'_>, &Viewer),
    (operation, key): (Operation, Option<&[String]>),
    (body, format): (Body, Format),
) -> Result<Answer, Problem> {
    let query = {
        let statement = match body.constraint {
            Some(constraint) => merge(body.query, constraint),
            None => body.query,
        };
        let parts: Option<Vec<&str>> = key.map(|parts| parts.iter().map(String::as_str).collect());
        let plan = plan::plan(entrance, statement, viewer, operation, parts.as_deref())?;
        sql::render(&plan, service.reader.primary.dialect())
    };
    Ok(service.reader.run(query, format).await?)
}
