//! Bodies, for every protocol: read with bounds in size and time, and written as JSON.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response};
use http_body_util::BodyExt;

use crate::accept;
use crate::error::Problem;

/// The largest body of a statement.
pub(crate) const MOST_BYTES: usize = 1024 * 1024;
/// The largest body of what is asked in order to sign in.
pub(crate) const MOST_BYTES_TO_SIGN_IN: usize = 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a JSON body.
pub(crate) async fn json(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let declared = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()).and_then(|value| value.parse::<usize>().ok());
    let empty = declared == Some(0) || (declared.is_none() && body.is_end_stream());
    if empty {
        return Ok(Bytes::new());
    }
    let read = bytes(body, MOST_BYTES).await?;
    // An empty body needs no type; chunked ones show only now that they are empty.
    if !read.is_empty() && !is_media_type(headers, is_json) {
        return Err(Problem::MediaType);
    }
    Ok(read)
}

fn is_json(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Reads a body of whatever type, with at most so many bytes.
pub(crate) async fn bytes(body: Body, most: usize) -> Result<Bytes, Problem> {
    tokio::time::timeout(PATIENCE, read(body, most)).await.map_err(|_| Problem::SlowBody)?
}

async fn read(mut body: Body, most: usize) -> Result<Bytes, Problem> {
    if body.size_hint().lower() > most as u64 {
        return Err(Problem::TooLarge);
    }
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Problem::BrokenBody)?.into_data() else { continue };
        if whole.len() + data.len() > most {
            return Err(Problem::TooLarge);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.into())
}

/// Whether a body is of this media type by its own word, in UTF-8 as far as it says; other parameters do not matter. A body is of one type:
/// what says several is of none, since somebody else may read another of them.
pub(crate) fn is_media_type(headers: &HeaderMap, accepted: impl Fn(&str) -> bool) -> bool {
    let mut said = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (said.next().and_then(|value| value.to_str().ok()), said.next()) else { return false };
    let mut parts = value.split(';').map(str::trim);
    !value.contains(',') && accepted(parts.next().unwrap_or_default()) && accept::is_in_utf8(parts)
}

/// An answer that is JSON.
pub(crate) fn answer(text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
