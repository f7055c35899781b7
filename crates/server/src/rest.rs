//! REST: `POST /api/{context}/{plural}/{operation}`.

mod answer;
mod key;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, Response};
use axum::routing::any;
use percent_encoding::percent_decode_str;
use query::parse;
use query::plan::Operation;
use query::policy::{Entrance, Viewer};

use crate::error::oauth::json_no_store;
use crate::error::{self, NOWHERE, Problem};
use crate::operations::{self, Errand, Sent, Target};
use crate::service::Service;
use crate::{ask, body, explain};

pub(crate) use key::key_parts;

/// The addresses of the declared resources.
pub(crate) fn routes() -> Router<Service> {
    Router::new()
        .route("/api/{context}/{plural}/{operation}", any(operation))
        .route("/api/{context}/{plural}/{operation}/{id}", any(operation))
}

/// `/api/{context}/{plural}/{operation}` and `/api/{context}/{plural}/{operation}/{id}`. The segments are read from the address
/// itself: what is no UTF-8 is no name of ours, and an id is taken apart before it is decoded.
async fn operation(State(service): State<Service>, request: Request) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let segments: Vec<&str> = path.split('/').skip(2).collect();
    let asked = match segments[..] {
        [_, _, "paginate"] => Asked::Rows(Operation::Paginate, None),
        [_, _, "list" | "get"] => Asked::Rows(Operation::List, None),
        [_, _, "find"] => Asked::Rows(Operation::Find, None),
        [_, _, "find", id] => Asked::Rows(Operation::Find, Some(id.to_owned())),
        [_, _, "explain"] => Asked::Explain,
        [_, _, end] => Asked::Change(Target::New, end.to_owned(), String::new()),
        [_, _, end, id] => Asked::Change(Target::ById, end.to_owned(), id.to_owned()),
        _ => return NOWHERE.response(),
    };
    let (Ok(context), Ok(plural)) = (percent_decode_str(segments[0]).decode_utf8(), percent_decode_str(segments[1]).decode_utf8()) else {
        return NOWHERE.response();
    };
    Box::pin(asked.answer(&service, (&context, &plural), request)).await.unwrap_or_else(|problem| problem.response())
}

/// What an address asks for.
enum Asked {
    Rows(Operation, Option<String>),
    Explain,
    /// An operation of administration: the end of its address, and the id.
    Change(Target, String, String),
}

impl Asked {
    async fn answer(self, service: &Service, (context, plural): (&str, &str), request: Request) -> Result<Response<Body>, Problem> {
        let resource = service.catalog.by_path(context, plural).ok_or(NOWHERE)?;
        let change = match &self {
            Asked::Change(target, end, _) => Some(operations::at(service.catalog.resource(resource), end, *target).ok_or(NOWHERE)?),
            Asked::Rows(..) | Asked::Explain => None,
        };
        if request.method() != Method::POST {
            return Err(Problem::MethodNotAllowed("POST"));
        }
        let caller = service.gate.caller(request.headers()).await?;
        if let (Some(operation), Asked::Change(_, _, id)) = (change, &self) {
            let errand = Errand::enter(service, &caller, operation)?;
            return changed(service, errand, id, request).await;
        }
        let viewer = caller.viewer();
        // Permission is decided before the statement is looked at.
        let entrance = ask::enter(service, resource, &caller)?;
        match self {
            Asked::Explain => {
                if !viewer.holds(explain::PERMISSION) {
                    return Err(caller.refusal());
                }
                Box::pin(explain::answer(service, entrance, viewer, request)).await
            }
            Asked::Change(..) => Err(NOWHERE),
            Asked::Rows(operation, id) => rows(service, entrance, viewer, (operation, id), request).await,
        }
    }
}

/// Carries out an operation of administration. Nobody keeps the answer: there may be a secret in it.
async fn changed(service: &Service, errand: Errand<'_>, id: &str, request: Request) -> Result<Response<Body>, Problem> {
    let (head, body) = request.into_parts();
    let address = service.gate.as_hub().map(|hub| hub.address(&head.headers, &head.extensions)).unwrap_or_default();
    let bytes = body::json(&head.headers, body).await?;
    let id = key_parts(id, 1).concat();
    let makes = errand.makes();
    let response = json_no_store(errand.run(Sent::body(&id, &bytes)?, &address).await?);
    Ok(if makes { error::created(response) } else { response })
}

async fn rows(
    service: &Service,
    entrance: Entrance<'_>,
    viewer: &Viewer,
    (operation, id): (Operation, Option<String>),
    request: Request,
) -> Result<Response<Body>, Problem> {
    if id.is_some() && !viewer.can_find_by_id(entrance.resource()) {
        return Err(Problem::NotFound("this resource has no key to find a row by"));
    }
    let (head, body) = request.into_parts();
    let format = answer::format(&head.headers, operation);
    let bytes = body::json(&head.headers, body).await?;
    let decoded = id.as_deref().map(|id| key_parts(id, entrance.resource().key.len()));
    let query = ask::render(service, (entrance, viewer), (operation, decoded.as_deref()), parse::body(&bytes)?)?;
    Ok(answer::of(service.reader.run(query, format).await?, format))
}
