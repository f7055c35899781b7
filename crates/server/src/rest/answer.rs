//! Turns the answer of the store into a response: JSON or one row on each line, whole or streamed.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Response};
use query::plan::Operation;
use store::Answer;
use store::run::Format;

use crate::budget::{FREE_BODY_BYTES, Reservation};
use crate::http::{accept, body};
use crate::problem::Problem;
use crate::query_service::reader::Reading;

const NDJSON: &str = "application/x-ndjson";

/// One row on each line if the client prefers that to JSON, and the operation is `list`.
pub(super) fn format(headers: &HeaderMap, operation: Operation) -> Format {
    if operation != Operation::List {
        return Format::Json;
    }
    accept::best(headers, &[("application/json", Format::Json), (NDJSON, Format::Lines)]).unwrap_or(Format::Json)
}

/// The response. It holds its memory and its slots until it was sent.
pub(super) fn response(reading: Reading, format: Format, mut reservation: Reservation) -> Result<Response<Body>, Problem> {
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
