//! REST: `POST /api/{context}/{plural}/{operation}`, and `…/{id}`.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, Request, State};
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::Response;
use axum::routing::any;
use percent_encoding::percent_decode_str;
use query::catalog::write_rules::WriteOperation;
use query::catalog::{Resource, ResourceId};
use query::error::{Code, Error};
use query::messages::quoted_list;
use query::parse;
use query::payload::{self, WriteForm};
use query::plan::Operation;
use query::pointer::Pointer;
use query::policy::{ReadAccess, WriteAccess};
use store::Answer;
use store::run::Format;

use crate::admin_operations::{self, OperationInput, OperationRequest, OperationTarget};
use crate::authenticator::Authenticator;
use crate::budget::{FREE_BODY_BYTES, Reservation};
use crate::caller::Caller;
use crate::http::{accept, body, etag};
use crate::metrics::NamedResources;
use crate::problem::{NO_SUCH_PATH, Problem, WriteProblem};
use crate::query_service::field_parameter::field_parameter;
use crate::query_service::operation::ReadOperation;
use crate::query_service::reader::Reading;
use crate::query_service::write::{WriteAnswer, WriteTarget};
use crate::query_service::{QueryService, explain, key_parts};
use crate::response::{DRY_RUN, ROW_LIMIT, created, json_no_store};
use crate::traces;

pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Authenticator: FromRef<S>,
    Arc<QueryService>: FromRef<S>,
{
    Router::new().route("/api/{context}/{plural}/{operation}", any(respond)).route("/api/{context}/{plural}/{operation}/{id}", any(respond))
}

async fn respond(
    State(authenticator): State<Authenticator>,
    State(queries): State<Arc<QueryService>>,
    request: Request,
) -> Result<Response, Problem> {
    let path = request.uri().path().to_owned();
    let path = ResourcePath::parse(&path).ok_or(NO_SUCH_PATH)?;
    let decoded = |segment| percent_decode_str(segment).decode_utf8().map_err(|_| NO_SUCH_PATH);
    let (context, plural) = (decoded(path.context)?, decoded(path.plural)?);
    let resource = queries.catalog.by_path(&context, &plural).ok_or(NO_SUCH_PATH)?;
    let answered = Box::pin(answer((&authenticator, &queries), resource, &path, request)).await;
    let mut response = answered.unwrap_or_else(|problem| problem.response());
    response.extensions_mut().insert(NamedResources(vec![resource]));
    Ok(response)
}

const NDJSON: &str = "application/x-ndjson";

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
}

enum Requested {
    Rows(Operation),
    Write(WriteForm),
    Explain,
    /// An operation of administration.
    Change(&'static admin_operations::Operation),
}

async fn answer(
    (authenticator, queries): (&Authenticator, &QueryService),
    resource: ResourceId,
    path: &ResourcePath<'_>,
    request: Request,
) -> Result<Response, Problem> {
    let requested = match (ReadOperation::from_path_end(path.operation), path.id) {
        (Some(ReadOperation::Paginate), None) => Requested::Rows(Operation::Paginate),
        (Some(ReadOperation::KeysetPaginate), None) => Requested::Rows(Operation::KeysetPaginate),
        (Some(ReadOperation::List | ReadOperation::Get), None) => Requested::Rows(Operation::List),
        (Some(ReadOperation::Find), _) => Requested::Rows(Operation::Find),
        (Some(ReadOperation::Explain), None) => Requested::Explain,
        (_, id) if queries.catalog.resource(resource).write_rules().is_some() => {
            Requested::Write(explain::find_write(path.operation, id.is_some()).ok_or(NO_SUCH_PATH)?)
        }
        (_, id) => {
            let target = if id.is_some() { OperationTarget::RecordById } else { OperationTarget::NewRecord };
            Requested::Change(admin_operations::find(queries.catalog.resource(resource), path.operation, target).ok_or(NO_SUCH_PATH)?)
        }
    };
    traces::note(&queries.catalog.resource(resource).full_name, path.operation);
    if request.method() != Method::POST {
        return Err(Problem::MethodNotAllowed("POST"));
    }
    let caller = authenticator.caller(request.headers(), request.extensions()).await?;
    // Permission comes before the statement is read.
    match requested {
        Requested::Change(operation) => {
            Box::pin(changed((authenticator, queries), &caller, operation, path.id.unwrap_or_default(), request)).await
        }
        Requested::Explain => {
            let access = queries.authorize_read(resource, &caller)?;
            caller.require(explain::PERMISSION)?;
            Box::pin(explain::answer(queries, (&caller, access), request)).await
        }
        Requested::Write(form) => {
            let access = queries.begin_write(resource, form, &caller)?;
            Box::pin(write(queries, (&caller, access), form, path.id, request)).await
        }
        Requested::Rows(operation) => {
            rows(queries, (&caller, queries.authorize_read(resource, &caller)?), operation, path.id, request).await
        }
    }
}

/// Executes an operation of administration. No cache keeps the answer, since it may hold a secret.
async fn changed(
    (authenticator, queries): (&Authenticator, &QueryService),
    caller: &Caller,
    operation: &'static admin_operations::Operation,
    id: &str,
    request: Request,
) -> Result<Response, Problem> {
    let hub = authenticator.as_hub().ok_or(NO_SUCH_PATH)?;
    let (head, body) = request.into_parts();
    let address = hub.address(&head.headers, &head.extensions);
    let change = OperationRequest::authorize(queries, hub, caller, operation, &address).await?;
    let mut reservation = queries.budgets.bodies.reserve(caller.key());
    let bytes = body::json_of_change(&head.headers, body, &mut reservation, sender(caller)).await?;
    let id = key_parts(id, 1).map_err(|_| Problem::NotFound("there is no such record"))?.concat();
    let creates = change.creates();
    let input = queries.validate(caller.key(), bytes.len(), || OperationInput::from_body(&id, &bytes)).await??;
    let response = json_no_store(change.execute(input).await?);
    Ok(if creates { created(response) } else { response })
}

/// Only a token names an account.
fn sender(caller: &Caller) -> body::Sender {
    if caller.account().is_some() { body::Sender::TokenHolder } else { body::Sender::Anyone }
}

/// Runs a write. No cache keeps the answer.
async fn write(
    queries: &QueryService,
    (caller, access): (&Caller, WriteAccess<'_, '_>),
    form: WriteForm,
    id: Option<&str>,
    request: Request,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    refuse_parameters(head.uri.query(), form)?;
    let mut reservation = queries.budgets.bodies.reserve(caller.key());
    let bytes = body::json_of_change(&head.headers, body, &mut reservation, sender(caller)).await?;
    let key = id.map(|id| key_parts(id, access.resource().key.len())).transpose().map_err(WriteProblem::Input)?;
    let if_match = etag::if_match(&head.headers);
    let target = WriteTarget { key: key.as_deref(), if_match: if_match.as_deref() };
    let mut is_dry_run = false;
    let read = || {
        let body = payload::body(form, &bytes)?;
        is_dry_run = body.dry_run;
        Ok(body)
    };
    let answer = match queries.write(caller, access, form, read, (target, bytes.len())).await {
        Ok(answer) => answer,
        // A refusal has the header too.
        Err(problem) if is_dry_run => return Ok(dry_run(problem.response())),
        Err(problem) => return Err(problem),
    };
    let text = written(&answer);
    let is_small = text.len() <= FREE_BODY_BYTES;
    let mut response = json_no_store(text);
    if let Some(row) = answer.rows.as_ref().filter(|_| answer.is_one && form.operation() != WriteOperation::Delete)
        && let Some(etag) = version_etag(access.resource(), caller, row)
    {
        response.headers_mut().insert(ETAG, etag);
    }
    if answer.dry_run {
        response = dry_run(response);
    }
    if !is_small {
        response = response.map(|body| body::holding(body, answer.slot));
    }
    Ok(if form == WriteForm::Create { created(response) } else { response })
}

fn dry_run(mut response: Response) -> Response {
    response.headers_mut().insert(DRY_RUN, HeaderValue::from_static("true"));
    response
}

/// A write takes everything in its body. A parameter that it ignored might have been meant to keep it from changing anything.
fn refuse_parameters(query: Option<&str>, form: WriteForm) -> Result<(), Problem> {
    let Some(pair) = query.unwrap_or_default().split('&').find(|pair| !pair.is_empty()) else { return Ok(()) };
    let name = percent_decode_str(pair.split_once('=').map_or(pair, |(name, _)| name)).decode_utf8_lossy();
    let mut path = Pointer::default();
    path.key(&name);
    let message = format!(
        "a write takes no parameter in its URL; its body takes {}; found `{}`",
        quoted_list(form.keys()),
        name.chars().take(40).collect::<String>()
    );
    Err(WriteProblem::Input(Error::one(Code::WriteUnknownKey, path.finish(), message)).into())
}

/// The version of a row that a write answers, as `ETag`. A caller that does not see the version gets none.
fn version_etag(resource: &Resource, caller: &Caller, row: &[u8]) -> Option<HeaderValue> {
    let field = &resource.fields[resource.write_rules()?.version?];
    let is_seen = caller.viewer().knows(field) && caller.viewer().sees_unmasked(field);
    let row: serde_json::Value = serde_json::from_slice(row).ok().filter(|_| is_seen)?;
    let version = match row.get(&field.name)? {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => number.to_string(),
        _ => return None,
    };
    etag::of_version(&version)
}

/// One row, or `{count, rows}`, or `{count}`.
fn written(answer: &WriteAnswer) -> Vec<u8> {
    match &answer.rows {
        Some(row) if answer.is_one => row.to_vec(),
        Some(rows) => [format!("{{\"count\":{},\"rows\":", answer.count).as_bytes(), rows, b"}"].concat(),
        None => format!("{{\"count\":{}}}", answer.count).into_bytes(),
    }
}

async fn rows(
    queries: &QueryService,
    (caller, access): (&Caller, ReadAccess<'_, '_>),
    operation: Operation,
    id: Option<&str>,
    request: Request,
) -> Result<Response, Problem> {
    if id.is_some() && !access.can_find_by_id() {
        return Err(Problem::NotFound("this resource has no visible key; use `find` with a `where`"));
    }
    let (head, body) = request.into_parts();
    let format = format(&head.headers, operation);
    let mut reservation = queries.budgets.bodies.reserve(caller.key());
    let bytes = body::json(&head.headers, body, &mut reservation).await?;
    let decoded = id.map(|id| key_parts(id, access.resource().key.len())).transpose()?;
    let render = || {
        let body = parse::body(&bytes)?;
        let query = body.query.showing_parameter(field_parameter(head.uri.query()));
        queries.render(access, operation, decoded.as_deref(), parse::Body { query, ..body })
    };
    let query = queries.validate(caller.key(), bytes.len(), render).await??;
    drop(bytes);
    let row_cap = query.row_cap;
    let reading = queries.reader.run(caller.key(), &access.resource().full_name, query, format).await?;
    let etag = match &reading.answer {
        Answer::Page(_, numbers) => numbers.version.as_deref().and_then(etag::of_version),
        Answer::Chunks(chunks) => chunks.version().and_then(etag::of_version),
        _ => None,
    };
    let mut response = response(reading, format, queries.budgets.answers.reserve(caller.key()))?;
    if let Some(max) = row_cap {
        response.headers_mut().insert(ROW_LIMIT, HeaderValue::from(max));
    }
    if let Some(etag) = etag {
        response.headers_mut().insert(ETAG, etag);
    }
    Ok(response)
}

/// One row on each line if the client prefers that to JSON, and the operation is `list`.
fn format(headers: &HeaderMap, operation: Operation) -> Format {
    if operation != Operation::List {
        return Format::Json;
    }
    accept::best(headers, &[("application/json", Format::Json), (NDJSON, Format::Lines)]).unwrap_or(Format::Json)
}

/// The response. It holds its memory and its slots until it was sent.
fn response(reading: Reading, format: Format, mut reservation: Reservation) -> Result<Response, Problem> {
    let Reading { answer, slots } = reading;
    let body = match answer {
        Answer::Nothing => return Err(Problem::NotFound("there is no such row")),
        // The connection reserves room for a small answer.
        Answer::Whole(bytes) | Answer::Page(bytes, _) if bytes.len() <= FREE_BODY_BYTES => Body::from(bytes),
        Answer::Whole(bytes) | Answer::Page(bytes, _) => {
            reservation.grow(bytes.len())?;
            body::holding(Body::from(bytes), reservation)
        }
        // An error in the stream makes the server cut the connection, so that the answer does not look complete.
        Answer::Chunks(chunks) => body::holding(Body::from_stream(chunks), slots),
    };
    let media_type = if format == Format::Lines { NDJSON } else { "application/json" };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    Ok(response)
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
