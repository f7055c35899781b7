//! REST: `POST /api/{context}/{plural}/{operation}`.

mod answer;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response};
use percent_encoding::percent_decode_str;
use query::parse;
use query::plan::Operation;
use query::policy::Entrance;

use crate::app_state::Service;
use crate::authenticator::Caller;
use crate::budget::validation;
use crate::http::body;
use crate::operations::{self, Errand, Sent, Target};
use crate::problem::oauth::json_no_store;
use crate::problem::{self, NOWHERE, Problem};
use crate::query_service::operation::Verb;
use crate::query_service::{explain, statement_request};

/// The address of an operation on a resource: `/api/{context}/{plural}/{operation}` and `/api/{context}/{plural}/{operation}/{id}`. Its
/// segments are read from the path itself: what is no UTF-8 is no name of ours, and an id is taken apart before it is decoded.
pub(crate) struct Address<'p> {
    context: &'p str,
    plural: &'p str,
    end: &'p str,
    id: Option<&'p str>,
}

impl<'p> Address<'p> {
    pub(crate) fn of(path: &'p str) -> Option<Self> {
        let mut segments = path.strip_prefix("/api/")?.split('/');
        let mut next = || segments.next().filter(|segment| !segment.is_empty());
        let (context, plural, end) = (next()?, next()?, next()?);
        let id = segments.next();
        let is_one = segments.next().is_none() && id.is_none_or(|id| !id.is_empty());
        is_one.then_some(Address { context, plural, end, id })
    }

    fn asked(&self) -> Asked {
        match (Verb::of(self.end), self.id) {
            (Some(Verb::Paginate), None) => Asked::Rows(Operation::Paginate, None),
            (Some(Verb::List | Verb::Get), None) => Asked::Rows(Operation::List, None),
            (Some(Verb::Find), id) => Asked::Rows(Operation::Find, id.map(str::to_owned)),
            (Some(Verb::Explain), None) => Asked::Explain,
            (_, None) => Asked::Change(Target::New, self.end.to_owned(), String::new()),
            (_, Some(id)) => Asked::Change(Target::ById, self.end.to_owned(), id.to_owned()),
        }
    }
}

/// Answers at an address.
pub(crate) async fn answer(service: &Service, address: Address<'_>, request: Request) -> Response<Body> {
    let decoded = |segment| percent_decode_str(segment).decode_utf8();
    let (Ok(context), Ok(plural)) = (decoded(address.context), decoded(address.plural)) else {
        return NOWHERE.response();
    };
    Box::pin(address.asked().answer(service, &context, &plural, request)).await.unwrap_or_else(|problem| problem.response())
}

/// What an address asks for.
enum Asked {
    Rows(Operation, Option<String>),
    Explain,
    /// An operation of administration: the end of its address, and the id.
    Change(Target, String, String),
}

impl Asked {
    async fn answer(self, service: &Service, context: &str, plural: &str, request: Request) -> Result<Response<Body>, Problem> {
        let resource = service.catalog.by_path(context, plural).ok_or(NOWHERE)?;
        let change = match &self {
            Asked::Change(target, end, _) => Some(operations::at(service.catalog.resource(resource), end, *target).ok_or(NOWHERE)?),
            Asked::Rows(..) | Asked::Explain => None,
        };
        if request.method() != Method::POST {
            return Err(Problem::MethodNotAllowed("POST"));
        }
        let caller = service.gate.caller(request.headers(), request.extensions()).await?;
        if let (Some(operation), Asked::Change(_, _, id)) = (change, &self) {
            return Box::pin(changed((service, &caller), operation, id, request)).await;
        }
        // Permission is decided before the statement is looked at.
        let entrance = statement_request::enter(service, resource, &caller)?;
        match self {
            Asked::Explain => {
                if !caller.viewer().holds(explain::PERMISSION) {
                    return Err(caller.refusal());
                }
                Box::pin(explain::answer(service, (&caller, entrance), request)).await
            }
            Asked::Change(..) => Err(NOWHERE),
            Asked::Rows(operation, id) => rows(service, (&caller, entrance), operation, id, request).await,
        }
    }
}

/// Carries out an operation of administration. Nobody keeps the answer: there may be a secret in it.
async fn changed(
    (service, caller): (&Service, &Caller),
    operation: &'static operations::Operation,
    id: &str,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let (head, body) = request.into_parts();
    let address = service.gate.as_hub().map(|hub| hub.address(&head.headers, &head.extensions)).unwrap_or_default();
    let errand = Errand::enter(service, caller, operation, &address).await?;
    let mut reservation = service.budgets.bodies.reserve(caller.key());
    let bytes = body::json(&head.headers, body, &mut reservation).await?;
    let id = statement_request::key_parts(id, 1).concat();
    let makes = errand.makes();
    let sent = validation::run(&service.budgets, caller.key(), bytes.len(), || Sent::body(&id, &bytes)).await??;
    let response = json_no_store(errand.run(sent).await?);
    Ok(if makes { error::created(response) } else { response })
}

async fn rows(
    service: &Service,
    (caller, entrance): (&Caller, Entrance<'_, '_>),
    operation: Operation,
    id: Option<String>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    if id.is_some() && !entrance.can_find_by_id() {
        return Err(Problem::NotFound("this resource has no key to find a row by"));
    }
    let (head, body) = request.into_parts();
    let format = answer::format(&head.headers, operation);
    let mut reservation = service.budgets.bodies.reserve(caller.key());
    let bytes = body::json(&head.headers, body, &mut reservation).await?;
    let decoded = id.as_deref().map(|id| statement_request::key_parts(id, entrance.resource().key.len()));
    let render = || statement_request::render(service, entrance, operation, decoded.as_deref(), parse::body(&bytes)?);
    let query = validation::run(&service.budgets, caller.key(), bytes.len(), render).await??;
    drop(bytes);
    let reading = service.reader.run(caller.key(), query, format).await?;
    answer::of(reading, format, service.budgets.answers.reserve(caller.key()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_three_or_four_segments_and_none_is_empty() {
        for path in ["/api/a/b/list", "/api/a/b/find/7", "/api/a/b/find/a%2Fb", "/api/%FF/b/list", "/api/a/b/c/d"] {
            assert!(Address::of(path).is_some(), "{path}");
        }
        for path in [
            "/",
            "/api",
            "/api/",
            "/api/a/b",
            "/api/a/b/",
            "/api//b/list",
            "/api/a//list",
            "/api/a/b/list/",
            "/api/a/b/find/7/8",
            "/apis/a/b/list",
        ] {
            assert!(Address::of(path).is_none(), "{path}");
        }
    }
}
