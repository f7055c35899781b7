//! The request's side: a bounded body, and the id in the address.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::BodyExt;
use percent_encoding::percent_decode_str;

use crate::error::Problem;

use super::is_media_type;

/// The largest body.
const MOST_BYTES: usize = 1024 * 1024;
/// How much of a body that is too large is still read, so that its sender hears why.
const DRAINED_BYTES: usize = 32 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a JSON body.
pub(crate) async fn body(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let declared = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()).and_then(|value| value.parse::<usize>().ok());
    let empty = declared == Some(0) || (declared.is_none() && axum::body::HttpBody::is_end_stream(&body));
    if empty {
        return Ok(Bytes::new());
    }
    let read = tokio::time::timeout(PATIENCE, read(body)).await.map_err(|_| Problem::SlowBody)??;
    // An empty body needs no type; chunked ones show only now that they are empty.
    if !read.is_empty() && !is_media_type(headers, &CONTENT_TYPE, is_json) {
        return Err(Problem::MediaType);
    }
    Ok(read)
}

fn is_json(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Reads a body of whatever type.
pub(crate) async fn bytes(body: Body) -> Result<Bytes, Problem> {
    tokio::time::timeout(PATIENCE, read(body)).await.map_err(|_| Problem::SlowBody)?
}

async fn read(mut body: Body) -> Result<Bytes, Problem> {
    let mut whole = Vec::new();
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Problem::BrokenBody)?.into_data() else { continue };
        size += data.len();
        if size > DRAINED_BYTES {
            break;
        }
        if size <= MOST_BYTES {
            whole.extend_from_slice(&data);
        } else {
            whole = Vec::new();
        }
    }
    if size > MOST_BYTES { Err(Problem::TooLarge) } else { Ok(whole.into()) }
}

/// The parts of an id, each decoded by itself.
pub(crate) fn key_parts(raw: &str, count: usize) -> Vec<String> {
    if count == 1 {
        return vec![decoded(raw)];
    }
    raw.split(',').map(decoded).collect()
}

/// What is no UTF-8 equals no key.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_composite_key_may_hold_a_comma() {
        assert_eq!(key_parts("a%2Cb,c", 2), ["a,b", "c"]);
        assert_eq!(key_parts("a,b", 1), ["a,b"]);
        assert_eq!(key_parts("%C3%91U", 1), ["ÑU"]);
        assert_eq!(key_parts("%zz%4", 1), ["%zz%4"]);
    }
}
