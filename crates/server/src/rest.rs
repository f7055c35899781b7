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

use crate::boot::Service;
use crate::error::{NOWHERE, Problem};
use crate::{ask, body, explain};

pub(crate) use key::key_parts;

/// The addresses of the declared resources.
pub(crate) fn routes() -> Router<Service> {
    Router::new().route("/api/{context}/{plural}/{operation}", any(operation)).route("/api/{context}/{plural}/find/{id}", any(operation))
}

/// `/api/{context}/{plural}/{operation}` and `/api/{context}/{plural}/find/{id}`. The segments are read from the address
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
}

impl Asked {
    async fn answer(self, service: &Service, (context, plural): (&str, &str), request: Request) -> Result<Response<Body>, Problem> {
        let resource = service.catalog.by_path(context, plural).ok_or(NOWHERE)?;
        if request.method() != Method::POST {
            return Err(Problem::MethodNotAllowed("POST"));
        }
        let caller = service.gate.caller(request.headers()).await?;
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
            Asked::Rows(operation, id) => rows(service, entrance, viewer, (operation, id), request).await,
        }
    }
}

async fn rows(
    service: &Service,
    entrance: Entrance<'_>,
    viewer: &Viewer,
    (operation, id): (Operation, Option<String>),
    request: Request,
) -> Result<Response<Body>, Problem> {
    if id.is_some() && !entrance.resource().can_find_by_id(viewer) {
        return Err(Problem::NotFound("this resource has no key to find a row by"));
    }
    let (head, body) = request.into_parts();
    let format = answer::format(&head.headers, operation);
    let bytes = body::json(&head.headers, body).await?;
    let decoded = id.as_deref().map(|id| key_parts(id, entrance.resource().key.len()));
    let query = ask::render(service, (entrance, viewer), (operation, decoded.as_deref()), parse::body(&bytes)?)?;
    Ok(answer::of(service.reader.run(query, format).await?, format))
}
