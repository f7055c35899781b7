//! The answer's side: rows as JSON or one a line, whole or as they come.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Response};
use query::plan::Operation;
use store::Answer;
use store::run::Format;

use crate::accept;
use crate::error::Problem;

const LINES: &str = "application/x-ndjson";

/// One row a line where that was asked for before JSON, and there are rows to list.
pub(super) fn format(headers: &HeaderMap, operation: Operation) -> Format {
    if operation != Operation::List {
        return Format::Json;
    }
    accept::best(headers, &[("application/json", Format::Json), (LINES, Format::Lines)]).unwrap_or(Format::Json)
}

pub(super) fn of(answer: Answer, format: Format) -> Response<Body> {
    let body = match answer {
        Answer::Nothing => return Problem::NotFound("there is no such row").response(),
        Answer::Whole(bytes) => Body::from(bytes),
        // An error in the stream makes the server cut the connection: a cut answer never looks whole.
        Answer::Chunks(chunks) => Body::from_stream(chunks),
    };
    let kind = if format == Format::Lines { LINES } else { "application/json" };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
