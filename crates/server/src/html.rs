//! HTML pages as HTTP responses: their headers and stylesheet. The templates are in `templates/`; they escape every value.

use std::fmt;

use askama::Template;
use askama::filters::Escaper;
use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, WWW_AUTHENTICATE, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Response};
use axum::routing::get;

use crate::http::etag::StaticDocument;

/// Allows our stylesheet and images, no script and no frame around the page. Browsers apply `form-action` to the redirects after a form
/// too. A sign-in ends at a client, so `form-action` names schemes and no hosts; it still keeps forms from running scripts.
pub(crate) const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                                         form-action 'self' https: http:; frame-ancestors 'none'";

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NamedEntities;

impl Escaper for NamedEntities {
    fn write_escaped_str<W: fmt::Write>(&self, mut out: W, text: &str) -> fmt::Result {
        text.chars().try_for_each(|letter| match letter {
            '&' => out.write_str("&amp;"),
            '<' => out.write_str("&lt;"),
            '>' => out.write_str("&gt;"),
            '"' => out.write_str("&quot;"),
            '\'' => out.write_str("&#39;"),
            other => out.write_char(other),
        })
    }
}

/// The path of the stylesheet: one that belongs to this process, so that a proxy in front passes it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stylesheet {
    Hub,
    Other,
}

impl Stylesheet {
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Stylesheet::Hub => "/sign-in/style.css",
            Stylesheet::Other => "/auth/style.css",
        }
    }

    pub(crate) fn route<S: Clone + Send + Sync + 'static>(self) -> Router<S> {
        let style = StaticDocument::new("text/css; charset=utf-8", include_str!("html/style.css"));
        Router::new().route(self.path(), get(async move |headers: HeaderMap| style.answer(&headers)))
    }
}

pub(crate) fn response(page: &impl Template) -> Response<Body> {
    let text = page.render().unwrap_or_else(|error| {
        tracing::error!(%error, "could not render a page");
        String::new()
    });
    let mut response = Response::new(Body::from(text));
    set_header(&mut response, CONTENT_TYPE, "text/html; charset=utf-8");
    set_header(&mut response, CACHE_CONTROL, "no-store");
    set_header(&mut response, CONTENT_SECURITY_POLICY, CONTENT_POLICY);
    set_header(&mut response, X_FRAME_OPTIONS, "DENY");
    // `no-referrer` would make browsers send `Origin: null` with our own forms.
    set_header(&mut response, REFERRER_POLICY, "same-origin");
    response
}

/// Makes a sentence of a message: a capital at its beginning, unless that is a name such as `client_id`, and a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let end = if text.ends_with('.') { "" } else { "." };
    if text.split(' ').next().is_some_and(|word| word.contains('_')) {
        return format!("{text}{end}");
    }
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}{end}", letters.as_str())
}

pub(crate) fn set_header(response: &mut Response<Body>, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}

/// Keeps an answer out of frames that may be no page, such as a redirect.
pub(crate) fn forbid_frames(response: &mut Response<Body>) {
    for (name, value) in [(CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"), (X_FRAME_OPTIONS, "DENY"), (REFERRER_POLICY, "no-referrer")]
    {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// Removes a `Basic` challenge, for which a browser would open its own dialog over the page.
pub(crate) fn remove_basic_challenge(headers: &mut HeaderMap) {
    if headers.get(WWW_AUTHENTICATE).is_some_and(|value| value.as_bytes().starts_with(b"Basic")) {
        headers.remove(WWW_AUTHENTICATE);
    }
}
