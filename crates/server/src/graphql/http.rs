//! GraphQL over HTTP: reads requests, and chooses media types and statuses of responses.

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, Request as HttpRequest, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, IF_MATCH, VARY};
use axum::http::{HeaderMap, Method, Response};
use axum::routing::get;
use identity::form;
use query::json::{self, Json};

use crate::authenticator::Authenticator;
use crate::budget::{FREE_BODY_BYTES, Reservation};
use crate::caller::Caller;
use crate::config::Introspection;
use crate::http::accept;
use crate::http::body::{self, found_media_type, is_application_json};
use crate::problem::{MediaType, Problem, Refusal};

use super::GraphqlService;
use super::answer_budget::AnswerBudget;
use super::arguments::memory;
use super::context::ExecutionContext;
use super::document::RequestMethod;
use super::execute::{GraphqlRequest, INTROSPECTION_OFF, execute};
use super::graphql_error::{self, GraphqlError};
use super::limits::MAX_BATCH;
use super::output::Output;
use super::response_notes::ResponseNotes;
use super::row_shape;

pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Authenticator: FromRef<S>,
    GraphqlService: FromRef<S>,
{
    Router::new().route("/graphql/schema.graphql", get(schema))
}

/// The schema as text, for everybody who may introspect it.
async fn schema(_: Caller, State(service): State<GraphqlService>, headers: HeaderMap) -> Response<Body> {
    match service.engine.introspection {
        Introspection::On => service.engine.sdl.answer(&headers),
        Introspection::Off => Problem::Graphql(Refusal::Introspection, INTROSPECTION_OFF.to_owned()).response(),
    }
}

/// Answers a request to `/graphql`.
pub(crate) async fn respond(service: &GraphqlService, request: HttpRequest) -> Response<Body> {
    let Some(media_type) = negotiated(request.headers()) else {
        let accepted = "Accept must allow application/graphql-response+json or application/json";
        return refusal(&[GraphqlError::new(Refusal::NotAcceptable, accepted)], MediaType::Json);
    };
    let notes = ResponseNotes::default();
    let mut response = match Box::pin(answer(service, &notes, request)).await {
        Ok(answer) => {
            let mut response = self::body(answer, media_type);
            if service.authenticator.as_hub().is_some() {
                // The response may hold a secret.
                response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            }
            response
        }
        Err(errors) => refusal(&errors, media_type),
    };
    notes.apply_to(&mut response);
    response
}

/// The body, which holds its memory until it was sent.
async fn answer(service: &GraphqlService, notes: &ResponseNotes, request: HttpRequest) -> Result<Body, Vec<GraphqlError>> {
    let caller = service.authenticator.caller(request.headers(), request.extensions()).await?;
    let budget = AnswerBudget::new(service.queries.budgets.answers.reserve(caller.key()));
    let hub = service.authenticator.as_hub();
    let address = hub.map(|hub| hub.address(request.headers(), request.extensions())).unwrap_or_default();
    let context = ExecutionContext {
        service,
        caller: &caller,
        budget: &budget,
        notes,
        client_address: &address,
        input_bytes: 0,
        has_if_match: request.headers().contains_key(IF_MATCH),
    };
    let output = executed(context, request).await?;
    let is_small = output.len() <= FREE_BODY_BYTES;
    let body = output.into_body();
    Ok(if is_small { body } else { body::holding(body, budget.into_reservation()) })
}

async fn executed(mut context: ExecutionContext<'_>, request: HttpRequest) -> Result<Output, Vec<GraphqlError>> {
    let mut reservation = context.service.queries.budgets.bodies.reserve(context.caller.key());
    let body = match *request.method() {
        // The HTTP library drops the body of a response to HEAD.
        Method::GET | Method::HEAD => {
            let query = request.uri().query().unwrap_or_default();
            context.input_bytes = query.len();
            let request = request_of_url(query)?;
            return execute(&context, request, RequestMethod::Get).await;
        }
        Method::POST => {
            let (body, bytes) = read_body(&context, request, &mut reservation).await?;
            context.input_bytes = bytes;
            body
        }
        _ => return Err(Problem::MethodNotAllowed("GET, HEAD, POST").into()),
    };
    let requests = match body {
        RequestBody::Single(request) => return execute(&context, request, RequestMethod::Post).await,
        RequestBody::Batch(requests) => requests,
    };
    let mut out = Output::from(b"[".to_vec());
    for (index, request) in requests.into_iter().enumerate() {
        row_shape::comma(index, out.buffer());
        match execute(&context, request, RequestMethod::Post).await {
            Ok(answer) => out.append(answer),
            Err(errors) if errors.iter().any(GraphqlError::is_overload) => return Err(errors),
            Err(errors) => write_refusal(&errors, out.buffer()),
        }
    }
    out.extend(b"]");
    Ok(out)
}

fn body(body: impl Into<Body>, media_type: MediaType) -> Response<Body> {
    let kind = match media_type {
        MediaType::Json => "application/json; charset=utf-8",
        MediaType::Graphql => "application/graphql-response+json; charset=utf-8",
    };
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    response
}

fn write_refusal(errors: &[GraphqlError], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"errors\":");
    graphql_error::write(errors, out);
    out.push(b'}');
}

fn refusal(errors: &[GraphqlError], media_type: MediaType) -> Response<Body> {
    let mut bytes = Vec::new();
    write_refusal(errors, &mut bytes);
    let mut response = body(bytes, media_type);
    if let Some(error) = errors.first() {
        error.problem.apply_to_graphql(media_type, &mut response);
    }
    response
}

/// The media type that the client prefers; `application/json` if it prefers none.
fn negotiated(headers: &HeaderMap) -> Option<MediaType> {
    accept::best(headers, &[("application/json", MediaType::Json), ("application/graphql-response+json", MediaType::Graphql)])
}

enum RequestBody {
    Single(GraphqlRequest),
    Batch(Vec<GraphqlRequest>),
}

impl RequestBody {
    fn memory(&self) -> usize {
        let requests = match self {
            RequestBody::Single(request) => std::slice::from_ref(request),
            RequestBody::Batch(requests) => requests,
        };
        requests.iter().flat_map(|request| &request.variables).map(|(_, value)| memory(value)).sum()
    }
}

fn bad_request(detail: impl Into<String>) -> Problem {
    Problem::Graphql(Refusal::Request, detail.into())
}

/// Reads a body. Returns it with its number of bytes, and reserves memory for its variables too.
async fn read_body(
    context: &ExecutionContext<'_>,
    request: HttpRequest,
    reservation: &mut Reservation,
) -> Result<(RequestBody, usize), Problem> {
    let (head, body) = request.into_parts();
    if !is_application_json(&head.headers) {
        return Err(Problem::MediaType(found_media_type(&head.headers)));
    }
    let bytes = body::json(&head.headers, body, reservation).await?;
    let parsed = context.service.queries.validate(context.caller.key(), bytes.len(), || parse_body(&bytes)).await??;
    if bytes.len() > FREE_BODY_BYTES {
        reservation.grow(parsed.memory())?;
    }
    Ok((parsed, bytes.len()))
}

fn parse_body(bytes: &[u8]) -> Result<RequestBody, Problem> {
    match json::strict(bytes)? {
        Json::Array(items) if items.is_empty() => Err(bad_request("the batch is empty")),
        Json::Array(items) if items.len() > MAX_BATCH => {
            let message = format!("the batch has {} requests; the maximum is {MAX_BATCH}", items.len());
            Err(Problem::Graphql(Refusal::Request, message))
        }
        Json::Array(items) => items.into_iter().map(request_of_json).collect::<Result<_, _>>().map(RequestBody::Batch),
        single => request_of_json(single).map(RequestBody::Single),
    }
}

/// A request as JSON. Unknown keys are ignored, as the specification says.
fn request_of_json(json: Json) -> Result<GraphqlRequest, Problem> {
    let Json::Object(entries) = json else {
        return Err(bad_request(format!("a request must be an object with the key `query`; found {}", json.noun())));
    };
    let (mut document, mut operation, mut variables) = (None, None, Vec::new());
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("query", Json::Text(text)) => document = Some(text),
            ("operationName", Json::Text(name)) => operation = Some(name),
            ("variables", Json::Object(values)) => variables = values,
            ("extensions", Json::Object(_)) => {}
            ("query" | "operationName" | "variables" | "extensions", Json::Null) => {}
            ("query" | "operationName", other) => return Err(bad_request(format!("`{key}` must be a string; found {}", other.noun()))),
            ("variables" | "extensions", other) => return Err(bad_request(format!("`{key}` must be an object; found {}", other.noun()))),
            _ => {}
        }
    }
    let document = document.ok_or_else(|| bad_request("`query` is missing: the text of a GraphQL document"))?;
    Ok(GraphqlRequest { document, operation: operation.filter(|name| !name.is_empty()), variables })
}

/// A request in a URL: `?query=…&operationName=…&variables={…}&extensions={…}`.
fn request_of_url(query: &str) -> Result<GraphqlRequest, Problem> {
    let mut entries: Vec<(String, Json)> = Vec::new();
    for (name, value) in form::pairs(query).map_err(|error| bad_request(error.description()))? {
        if entries.iter().any(|(known, _)| *known == name) {
            return Err(bad_request(format!("`{name:.40}` is repeated in the URL")));
        }
        let value = match name.as_str() {
            "variables" | "extensions" if value.is_empty() => Json::Null,
            "variables" | "extensions" => json::strict(value.as_bytes())?,
            _ => Json::Text(value),
        };
        entries.push((name, value));
    }
    request_of_json(Json::Object(entries))
}

#[cfg(test)]
mod tests {
    use axum::http::header::ACCEPT;

    use super::*;

    #[test]
    fn the_response_has_the_media_type_that_the_client_prefers() {
        // contract G2.2
        let (graphql, plain) = (Some(MediaType::Graphql), Some(MediaType::Json));
        for (accept, expected) in [
            ("application/json", plain),
            ("*/*", plain),
            ("application/*", plain),
            ("Application/GraphQL-Response+JSON; charset=utf-8", graphql),
            ("application/graphql-response+json, application/json;q=0.9", graphql),
            ("application/graphql-response+json;q=0.5, application/json", plain),
            ("application/graphql-response+json, application/json", graphql),
            ("application/json, application/graphql-response+json", plain),
            ("application/graphql-response+json, */*", graphql),
            ("application/graphql-response+json;q=inf, application/json;q=0.5", plain),
            ("application/graphql-response+json;q=2, application/json;q=0.5", plain),
            ("text/html,application/xhtml+xml,*/*;q=0.8", plain),
            ("text/html", None),
            ("application/json;q=0", None),
            ("application/json; charset=iso-8859-1", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().expect("a header"));
            assert_eq!(negotiated(&headers), expected, "{accept}");
        }
        assert_eq!(negotiated(&HeaderMap::new()), plain);
    }
}
