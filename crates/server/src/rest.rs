//! REST: `POST /api/{context}/{plural}/{operation}`, and `…/{id}`.

mod answer;

use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::http::Method;
use axum::response::Response;
use axum::routing::any;
use percent_encoding::percent_decode_str;
use query::catalog::ResourceId;
use query::parse;
use query::plan::Operation;
use query::policy::ReadAccess;

use crate::authenticator::Authenticator;
use crate::caller::Caller;
use crate::http::body;
use crate::metrics::NamedResources;
use crate::operations::{self, OperationInput, OperationRequest, OperationTarget};
use crate::problem::{NO_SUCH_PATH, Problem};
use crate::query_service::operation::ReadOperation;
use crate::query_service::{QueryService, explain, key_parts};
use crate::response::{created, json_no_store};

pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Authenticator: FromRef<S>,
    QueryService: FromRef<S>,
{
    Router::new().route("/api/{context}/{plural}/{operation}", any(respond)).route("/api/{context}/{plural}/{operation}/{id}", any(respond))
}

async fn respond(
    State(authenticator): State<Authenticator>,
    State(queries): State<QueryService>,
    request: Request,
) -> Result<Response, Problem> {
    let path = request.uri().path().to_owned();
    let path = ResourcePath::parse(&path).ok_or(NO_SUCH_PATH)?;
    let decoded = |segment| percent_decode_str(segment).decode_utf8().map_err(|_| NO_SUCH_PATH);
    let (context, plural) = (decoded(path.context)?, decoded(path.plural)?);
    let resource = queries.catalog.by_path(&context, &plural).ok_or(NO_SUCH_PATH)?;
    let answered = Box::pin(path.requested().answer((&authenticator, &queries), resource, request)).await;
    let mut response = answered.unwrap_or_else(|problem| problem.response());
    response.extensions_mut().insert(NamedResources(vec![resource]));
    Ok(response)
}

/// The segments of a path as they came, since an id is split before it is decoded.
struct ResourcePath<'p> {
    context: &'p str,
    plural: &'p str,
    operation: &'p str,
    id: Option<&'p str>,
}

impl<'p> ResourcePath<'p> {
    fn parse(path: &'p str) -> Option<Self> {
        let mut segments = path.strip_prefix("/api/")?.split('/');
        let mut next = || segments.next().filter(|segment| !segment.is_empty());
        let (context, plural, operation) = (next()?, next()?, next()?);
        let id = segments.next();
        let is_whole = segments.next().is_none() && id.is_none_or(|id| !id.is_empty());
        is_whole.then_some(ResourcePath { context, plural, operation, id })
    }

    fn requested(&self) -> Requested {
        match (ReadOperation::from_path_end(self.operation), self.id) {
            (Some(ReadOperation::Paginate), None) => Requested::Rows(Operation::Paginate, None),
            (Some(ReadOperation::List | ReadOperation::Get), None) => Requested::Rows(Operation::List, None),
            (Some(ReadOperation::Find), id) => Requested::Rows(Operation::Find, id.map(str::to_owned)),
            (Some(ReadOperation::Explain), None) => Requested::Explain,
            (_, None) => Requested::Change(OperationTarget::NewRecord, self.operation.to_owned(), String::new()),
            (_, Some(id)) => Requested::Change(OperationTarget::RecordById, self.operation.to_owned(), id.to_owned()),
        }
    }
}

enum Requested {
    Rows(Operation, Option<String>),
    Explain,
    /// An operation of administration: the end of its path, and the id.
    Change(OperationTarget, String, String),
}

impl Requested {
    async fn answer(
        self,
        (authenticator, queries): (&Authenticator, &QueryService),
        resource: ResourceId,
        request: Request,
    ) -> Result<Response, Problem> {
        let change = match &self {
            Requested::Change(target, end, _) => {
                Some(operations::find(queries.catalog.resource(resource), end, *target).ok_or(NO_SUCH_PATH)?)
            }
            Requested::Rows(..) | Requested::Explain => None,
        };
        if request.method() != Method::POST {
            return Err(Problem::MethodNotAllowed("POST"));
        }
        let caller = authenticator.caller(request.headers(), request.extensions()).await?;
        if let (Some(operation), Requested::Change(_, _, id)) = (change, &self) {
            return Box::pin(changed((authenticator, queries), &caller, operation, id, request)).await;
        }
        // Permission comes before the statement is read.
        let entrance = queries.enter(resource, &caller)?;
        match self {
            Requested::Explain => {
                caller.require(explain::PERMISSION)?;
                Box::pin(explain::answer(queries, (&caller, entrance), request)).await
            }
            Requested::Change(..) => Err(NO_SUCH_PATH),
            Requested::Rows(operation, id) => rows(queries, (&caller, entrance), operation, id, request).await,
        }
    }
}

/// Executes an operation of administration. No cache keeps the answer, since it may hold a secret.
async fn changed(
    (authenticator, queries): (&Authenticator, &QueryService),
    caller: &Caller,
    operation: &'static operations::Operation,
    id: &str,
    request: Request,
) -> Result<Response, Problem> {
    let hub = authenticator.as_hub().ok_or(NO_SUCH_PATH)?;
    let (head, body) = request.into_parts();
    let address = hub.address(&head.headers, &head.extensions);
    let change = OperationRequest::authorize(queries, hub, caller, operation, &address).await?;
    let mut reservation = queries.budgets.bodies.reserve(caller.key());
    let bytes = body::json(&head.headers, body, &mut reservation).await?;
    let id = key_parts(id, 1).concat();
    let creates = change.creates();
    let input = queries.validate(caller.key(), bytes.len(), || OperationInput::from_body(&id, &bytes)).await??;
    let response = json_no_store(change.execute(input).await?);
    Ok(if creates { created(response) } else { response })
}

async fn rows(
    queries: &QueryService,
    (caller, entrance): (&Caller, ReadAccess<'_, '_>),
    operation: Operation,
    id: Option<String>,
    request: Request,
) -> Result<Response, Problem> {
    if id.is_some() && !entrance.can_find_by_id() {
        return Err(Problem::NotFound("this resource has no key to find a row by"));
    }
    let (head, body) = request.into_parts();
    let format = answer::format(&head.headers, operation);
    let mut reservation = queries.budgets.bodies.reserve(caller.key());
    let bytes = body::json(&head.headers, body, &mut reservation).await?;
    let decoded = id.as_deref().map(|id| key_parts(id, entrance.resource().key.len()));
    let render = || queries.render(entrance, operation, decoded.as_deref(), parse::body(&bytes)?);
    let query = queries.validate(caller.key(), bytes.len(), render).await??;
    drop(bytes);
    let reading = queries.reader.run(caller.key(), query, format).await?;
    answer::response(reading, format, queries.budgets.answers.reserve(caller.key()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_three_or_four_segments_and_none_is_empty() {
        for path in ["/api/a/b/list", "/api/a/b/find/7", "/api/a/b/find/a%2Fb", "/api/%FF/b/list", "/api/a/b/c/d"] {
            assert!(ResourcePath::parse(path).is_some(), "{path}");
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
            assert!(ResourcePath::parse(path).is_none(), "{path}");
        }
    }
}
