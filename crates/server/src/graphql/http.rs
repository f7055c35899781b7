//! GraphQL over HTTP: what a request may look like, and the media types and statuses of answers.

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, Request as HttpRequest, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use axum::http::{HeaderMap, Method, Response};
use axum::routing::any;
use identity::form;
use query::json::{self, Json};

use crate::budget::{FREE_BODY_BYTES, Reservation};
use crate::caller::Caller;
use crate::http::accept;
use crate::http::body::{self, is_media_type};
use crate::problem::{MediaType, Problem, Refusal};

use super::GraphqlService;
use super::arguments::memory;
use super::budget::Budget;
use super::document::Came;
use super::execute::{Asker, Request, execute};
use super::failure::{self, Failure};
use super::limits::MOST_REQUESTS;
use super::output::Output;

/// The address of the schema.
pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    GraphqlService: FromRef<S>,
{
    Router::new().route("/graphql", any(graphql))
}

async fn graphql(State(service): State<GraphqlService>, request: HttpRequest) -> Response<Body> {
    let Some(media_type) = negotiated(request.headers()) else {
        let accepted = "application/graphql-response+json and application/json are what there is";
        return refusal(&[Failure::new(Refusal::NotAcceptable, accepted)], MediaType::Json);
    };
    match Box::pin(answer(&service, request)).await {
        Ok(answer) => {
            let mut response = self::body(answer, media_type);
            if service.authenticator.as_hub().is_some() {
                // There may be a secret in it.
                response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            }
            response
        }
        Err(failures) => refusal(&failures, media_type),
    }
}

/// The answer, with the memory that it holds until it was sent.
async fn answer(service: &GraphqlService, request: HttpRequest) -> Result<Body, Vec<Failure>> {
    let caller = service.authenticator.caller(request.headers(), request.extensions()).await.map_err(|problem| vec![problem.into()])?;
    let budget = Budget::new(service.queries.budgets.answers.reserve(caller.key()));
    let output = executed(service, &caller, &budget, request).await?;
    let small = output.len() <= FREE_BODY_BYTES;
    let body = output.into_body();
    Ok(if small { body } else { body::holding(body, budget.into_reservation()) })
}

async fn executed(service: &GraphqlService, caller: &Caller, budget: &Budget, request: HttpRequest) -> Result<Output, Vec<Failure>> {
    let hub = service.authenticator.as_hub();
    let address = hub.map(|hub| hub.address(request.headers(), request.extensions())).unwrap_or_default();
    let mut asker = Asker { service, caller, budget, address: &address, input_bytes: 0 };
    let mut reservation = service.queries.budgets.bodies.reserve(caller.key());
    let asked = match *request.method() {
        // Of an answer to HEAD the body is left out where it is sent.
        Method::GET | Method::HEAD => {
            let query = request.uri().query().unwrap_or_default();
            asker.input_bytes = query.len();
            let asked = of_address(query).map_err(|problem| vec![problem.into()])?;
            return execute(&asker, asked, Came::ByGet).await;
        }
        Method::POST => {
            let (asked, bytes) = of_body(&asker, request, &mut reservation).await.map_err(|problem| vec![problem.into()])?;
            asker.input_bytes = bytes;
            asked
        }
        _ => return Err(vec![Problem::MethodNotAllowed("GET, HEAD, POST").into()]),
    };
    let requests = match asked {
        Asked::One(request) => return execute(&asker, request, Came::ByPost).await,
        Asked::Several(requests) => requests,
    };
    let mut out = Output::from(b"[".to_vec());
    for (index, request) in requests.into_iter().enumerate() {
        if index > 0 {
            out.extend(b",");
        }
        match execute(&asker, request, Came::ByPost).await {
            Ok(answer) => out.append(answer),
            Err(failures) if failures.iter().any(Failure::is_overload) => return Err(failures),
            Err(failures) => write_refusal(&failures, out.buffer()),
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

fn write_refusal(failures: &[Failure], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"errors\":");
    failure::write(failures, out);
    out.push(b'}');
}

fn refusal(failures: &[Failure], media_type: MediaType) -> Response<Body> {
    let mut bytes = Vec::new();
    write_refusal(failures, &mut bytes);
    let mut response = body(bytes, media_type);
    if let Some(failure) = failures.first() {
        failure.problem.apply_to_graphql(media_type, &mut response);
    }
    response
}

/// The media type to answer with: the one that is wanted most, `application/json` where both are welcome.
fn negotiated(headers: &HeaderMap) -> Option<MediaType> {
    accept::best(headers, &[("application/json", MediaType::Json), ("application/graphql-response+json", MediaType::Graphql)])
}

/// Only `application/json`: a page of another origin cannot send it without asking first.
fn is_json(headers: &HeaderMap) -> bool {
    is_media_type(headers, |kind| kind.eq_ignore_ascii_case("application/json"))
}

enum Asked {
    One(Request),
    Several(Vec<Request>),
}

impl Asked {
    /// About how much memory its variables take while it is answered.
    fn memory(&self) -> usize {
        let requests = match self {
            Asked::One(request) => std::slice::from_ref(request),
            Asked::Several(requests) => requests,
        };
        requests.iter().flat_map(|request| &request.variables).map(|(_, value)| memory(value)).sum()
    }
}

fn wrong(detail: impl Into<String>) -> Problem {
    Problem::Graphql(Refusal::Request, detail.into())
}

/// What a body asks, and how many bytes it has. The trees that are made of it are reserved like the body itself.
async fn of_body(asker: &Asker<'_>, request: HttpRequest, reservation: &mut Reservation) -> Result<(Asked, usize), Problem> {
    let (head, body) = request.into_parts();
    if !is_json(&head.headers) {
        return Err(Problem::MediaType);
    }
    let bytes = body::json(&head.headers, body, reservation).await?;
    let asked = asker.service.queries.validate(asker.caller.key(), bytes.len(), || read(&bytes)).await??;
    if bytes.len() > FREE_BODY_BYTES {
        reservation.grow(asked.memory())?;
    }
    Ok((asked, bytes.len()))
}

fn read(bytes: &[u8]) -> Result<Asked, Problem> {
    match json::strict(bytes)? {
        Json::Array(items) if items.is_empty() => Err(wrong("the batch is empty")),
        Json::Array(items) if items.len() > MOST_REQUESTS => {
            let message = format!("the batch has {} requests; at most {MOST_REQUESTS} are answered", items.len());
            Err(Problem::Graphql(Refusal::Request, message))
        }
        Json::Array(items) => items.into_iter().map(of_json).collect::<Result<_, _>>().map(Asked::Several),
        one => of_json(one).map(Asked::One),
    }
}

/// A request as JSON. Keys that are not known are ignored, as the specification has it.
fn of_json(json: Json) -> Result<Request, Problem> {
    let Json::Object(entries) = json else {
        return Err(wrong(format!("a request is an object with the key `query`; found {}", json.noun())));
    };
    let (mut document, mut operation, mut variables) = (None, None, Vec::new());
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("query", Json::Text(text)) => document = Some(text),
            ("operationName", Json::Text(name)) => operation = Some(name),
            ("variables", Json::Object(values)) => variables = values,
            ("extensions", Json::Object(_)) => {}
            ("query" | "operationName" | "variables" | "extensions", Json::Null) => {}
            ("query" | "operationName", other) => return Err(wrong(format!("`{key}` is a text; found {}", other.noun()))),
            ("variables" | "extensions", other) => return Err(wrong(format!("`{key}` is an object; found {}", other.noun()))),
            _ => {}
        }
    }
    let document = document.ok_or_else(|| wrong("`query` is missing: the text of a GraphQL document"))?;
    Ok(Request { document, operation: operation.filter(|name| !name.is_empty()), variables })
}

/// A request in an address: `?query=…&operationName=…&variables={…}&extensions={…}`.
fn of_address(query: &str) -> Result<Request, Problem> {
    let mut entries: Vec<(String, Json)> = Vec::new();
    for (name, value) in form::pairs(query).map_err(|error| wrong(error.description()))? {
        if entries.iter().any(|(known, _)| *known == name) {
            return Err(wrong(format!("`{name:.40}` stands twice in the address")));
        }
        let value = match name.as_str() {
            "variables" | "extensions" if value.is_empty() => Json::Null,
            "variables" | "extensions" => json::strict(value.as_bytes())?,
            _ => Json::Text(value),
        };
        entries.push((name, value));
    }
    of_json(Json::Object(entries))
}

#[cfg(test)]
mod tests {
    use axum::http::header::ACCEPT;

    use super::*;

    #[test]
    fn the_media_type_is_the_one_that_is_wanted_most() {
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
