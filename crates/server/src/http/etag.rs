//! ETags: static documents, of which a client that names the ETag gets 304, and the versions of rows in `If-Match`.

use aws_lc_rs::digest::{SHA256, digest};
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::response;

/// The version of a row as `ETag`, which `If-Match` of a write names.
pub(crate) fn of_version(version: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("\"{version}\"")).ok()
}

/// What `If-Match` says. Several headers are one list.
pub(crate) fn if_match(headers: &HeaderMap) -> Option<String> {
    let values: Vec<&str> = headers.get_all(IF_MATCH).iter().map(|value| value.to_str().unwrap_or("?")).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

#[derive(Clone, Debug)]
pub(crate) struct StaticDocument {
    bytes: Bytes,
    kind: &'static str,
    etag: HeaderValue,
}

impl StaticDocument {
    pub(crate) fn new(kind: &'static str, text: impl Into<Bytes>) -> Self {
        let bytes = text.into();
        // SHA-256, so that replicas of different builds agree. Weak, since the document may be sent compressed.
        let etag = format!("W/\"{}\"", URL_SAFE_NO_PAD.encode(digest(&SHA256, &bytes)));
        let etag = HeaderValue::from_str(&etag).unwrap_or(HeaderValue::from_static("W/\"0\""));
        StaticDocument { bytes, kind, etag }
    }

    /// The document, or 304. Clients keep it and ask again each time, so that a change shows at once.
    pub(crate) fn answer(&self, headers: &HeaderMap) -> Response<Body> {
        let mut response = if self.is_known(headers) { response::not_modified() } else { Response::new(Body::from(self.bytes.clone())) };
        let own = response.headers_mut();
        own.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        own.insert(ETAG, self.etag.clone());
        own.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // A cache must know of compression from a 304 too.
        own.insert(VARY, HeaderValue::from_static("accept-encoding"));
        response
    }

    fn is_known(&self, headers: &HeaderMap) -> bool {
        let bare = |etag: &str| etag.trim().trim_start_matches("W/").to_owned();
        let own = bare(self.etag.to_str().unwrap_or_default());
        let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        known.map(bare).any(|etag| etag == own || etag == "*")
    }
}
