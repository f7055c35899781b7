//! Reads request bodies, bounded in size and time, and lets response bodies hold memory and slots until they are sent.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::BodyExt;

use crate::budget::{FREE_BODY_BYTES, Overloaded, Reservation};
use crate::http::accept;
use crate::http::request_context::is_from_browser;
use crate::problem::Problem;

const MAX_BYTES: usize = 1024 * 1024;
pub(crate) const MAX_SIGN_IN_BYTES: usize = FREE_BODY_BYTES;
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a content type a message shows.
const MAX_SHOWN_BYTES: usize = 100;
/// The first buffer of a body of unknown length.
const FIRST_BYTES: usize = 8 * 1024;

/// Who sent a request that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A caller with an access token, which no page of another origin has.
    TokenHolder,
    Anyone,
}

/// Reads a JSON body. Bytes beyond a small body are reserved as long as the reservation lives.
pub(crate) async fn json(headers: &HeaderMap, body: Body, reservation: &mut Reservation) -> Result<Bytes, Problem> {
    let read = whole(headers, body, reservation).await?;
    // An empty body needs no type. A chunked body shows only here that it is empty.
    if !read.is_empty() && !is_media_type(headers, is_json) {
        return Err(Problem::MediaType(found_media_type(headers)));
    }
    Ok(read)
}

/// Reads the JSON body of a request that changes something. A page of another origin cannot send one without a CORS preflight: the type must
/// be `application/json`, and only a program or a caller with a token may leave out both type and body.
pub(crate) async fn json_of_change(
    headers: &HeaderMap,
    body: Body,
    reservation: &mut Reservation,
    sender: Sender,
) -> Result<Bytes, Problem> {
    let is_typed = is_application_json(headers);
    let may_be_untyped = !headers.contains_key(CONTENT_TYPE) && (sender == Sender::TokenHolder || !is_from_browser(headers));
    if !is_typed && !may_be_untyped {
        return Err(Problem::MediaType(found_media_type(headers)));
    }
    let read = whole(headers, body, reservation).await?;
    if !read.is_empty() && !is_typed {
        return Err(Problem::MediaType(found_media_type(headers)));
    }
    Ok(read)
}

/// Whether the body is exactly `application/json`: a page of another origin cannot send it without a CORS preflight.
pub(crate) fn is_application_json(headers: &HeaderMap) -> bool {
    is_media_type(headers, |kind| kind.eq_ignore_ascii_case("application/json"))
}

async fn whole(headers: &HeaderMap, body: Body, reservation: &mut Reservation) -> Result<Bytes, Problem> {
    let declared = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()).and_then(|value| value.parse::<usize>().ok());
    if declared == Some(0) || (declared.is_none() && body.is_end_stream()) {
        return Ok(Bytes::new());
    }
    timed(read(body, MAX_BYTES, |bytes| reservation.grow_to(bytes.saturating_sub(FREE_BODY_BYTES)))).await
}

fn is_json(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

pub(crate) async fn bytes(body: Body, max: usize) -> Result<Bytes, Problem> {
    timed(read(body, max.min(FREE_BODY_BYTES), |_| Ok(()))).await
}

async fn timed(read: impl Future<Output = Result<Bytes, Problem>>) -> Result<Bytes, Problem> {
    tokio::time::timeout(BODY_TIMEOUT, read).await.map_err(|_| Problem::SlowBody)?
}

/// Reads a body into one buffer, and reserves memory before the buffer grows.
async fn read(mut body: Body, max: usize, mut reserve: impl FnMut(usize) -> Result<(), Overloaded>) -> Result<Bytes, Problem> {
    let hint = body.size_hint();
    if hint.lower() > max as u64 {
        return Err(Problem::TooLarge);
    }
    let expected = hint.exact().map_or(FIRST_BYTES, |length| length as usize);
    reserve(expected)?;
    let mut whole = Vec::with_capacity(expected);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Problem::BrokenBody)?.into_data() else { continue };
        let length = whole.len() + data.len();
        if length > max {
            return Err(Problem::TooLarge);
        }
        if length > whole.capacity() {
            let capacity = length.max(whole.capacity() * 2).min(max);
            reserve(capacity)?;
            whole.reserve_exact(capacity - whole.len());
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.into())
}

/// What `Content-Type` says, for a message.
pub(crate) fn found_media_type(headers: &HeaderMap) -> String {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    match (types.next(), types.next()) {
        (None, _) => "no content-type".to_owned(),
        (Some(_), Some(_)) => "several content-types".to_owned(),
        (Some(value), None) if value.is_empty() => "an empty content-type".to_owned(),
        (Some(value), None) => {
            // RFC 6749 allows neither quotes nor backslashes in `error_description`.
            let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
            let shown = |byte: &u8| if is_plain(*byte) { char::from(*byte) } else { '?' };
            value.as_bytes().iter().take(MAX_SHOWN_BYTES).map(shown).collect()
        }
    }
}

/// Whether `Content-Type` is an accepted media type, in UTF-8; other parameters are ignored. A header with several types matches none,
/// since a proxy may read another of them.
pub(crate) fn is_media_type(headers: &HeaderMap, accepted: impl Fn(&str) -> bool) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next().and_then(|value| value.to_str().ok()), types.next()) else { return false };
    let mut parts = value.split(';').map(str::trim);
    !value.contains(',') && accepted(parts.next().unwrap_or_default()) && accept::is_in_utf8(parts)
}

/// A body that holds memory or slots until it is sent: the closure owns them as long as the body lives.
pub(crate) fn holding(body: Body, held: impl Send + 'static) -> Body {
    Body::new(body.map_err(move |error| {
        let _ = &held;
        error
    }))
}
