//! Texts that are made once and asked for often: they bear a tag, and whoever names it hears that nothing has changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, Response};

use crate::response;

/// A text with its media type and its tag.
#[derive(Clone, Debug)]
pub(crate) struct Tagged {
    bytes: Bytes,
    kind: &'static str,
    tag: HeaderValue,
}

impl Tagged {
    pub(crate) fn new(kind: &'static str, text: impl Into<Bytes>) -> Self {
        let bytes = text.into();
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        // Weak, since the same text may travel compressed.
        let tag = HeaderValue::from_str(&format!("W/\"{:016x}\"", hasher.finish())).unwrap_or(HeaderValue::from_static("W/\"0\""));
        Tagged { bytes, kind, tag }
    }

    /// The text, or word that the client has it already. Clients keep it and ask again each time: a change shows at once.
    pub(crate) fn answer(&self, headers: &HeaderMap) -> Response<Body> {
        let mut response = if self.is_known(headers) { response::not_modified() } else { Response::new(Body::from(self.bytes.clone())) };
        let own = response.headers_mut();
        own.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        own.insert(ETAG, self.tag.clone());
        own.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // It may travel compressed, which a cache has to know of an answer without a body too.
        own.insert(VARY, HeaderValue::from_static("accept-encoding"));
        response
    }

    fn is_known(&self, headers: &HeaderMap) -> bool {
        let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        let own = bare(self.tag.to_str().unwrap_or_default());
        let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        known.map(bare).any(|tag| tag == own || tag == "*")
    }
}
