//! A page as an HTTP answer: the document around its content, the headers that guard it, and escaping. Every text that is not a constant
//! of the program goes through [`escaped`].

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use axum::Router;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_FRAME_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Response};
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::http::etag::StaticDocument;

/// Nothing but our style and our mark, no script, no frame around us. Browsers apply `form-action` to the redirects after a post too, and
/// those of a sign-in end at a client, so it names schemes and no hosts: it still keeps forms from running scripts.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self' https: http:; \
                      frame-ancestors 'none'";
/// The script of the pages where a password is typed.
const SHOW_PASSWORD: &str = include_str!("hub/password.js");
/// The policy of those pages. It names the script by its hash, so that no other runs, neither one in the page nor a file of ours.
static POLICY_WITH_SCRIPT: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = STANDARD.encode(digest(&SHA256, SHOW_PASSWORD.as_bytes()));
    HeaderValue::from_str(&format!("{POLICY}; script-src 'sha256-{hash}'")).unwrap_or(HeaderValue::from_static(POLICY))
});

/// Where a process serves the style of its pages: below a path that is its own, which a proxy in front of it passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Hub,
    Other,
}

impl Style {
    const fn path(self) -> &'static str {
        match self {
            Style::Hub => "/sign-in/style.css",
            Style::Other => "/auth/style.css",
        }
    }

    /// The route of the style.
    pub(crate) fn route<S: Clone + Send + Sync + 'static>(self) -> Router<S> {
        let style = StaticDocument::new("text/css; charset=utf-8", include_str!("hub/style.css"));
        Router::new().route(self.path(), get(async move |headers: HeaderMap| style.answer(&headers)))
    }
}

/// The scripts of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scripts {
    None,
    /// The one that shows a typed password.
    ShowPassword,
}

/// A page before it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'a> {
    pub(super) title: &'a str,
    /// The class of the body: `wide` or none.
    pub(super) class: &'a str,
    pub(super) style: Style,
    pub(super) scripts: Scripts,
    /// The content, which is markup.
    pub(super) body: &'a str,
}

impl Document<'_> {
    /// The whole document with the headers of every page.
    pub(super) fn answer(self) -> Response<Body> {
        let Document { title, class, style, scripts, body } = self;
        let (script, policy) = match scripts {
            Scripts::None => (String::new(), HeaderValue::from_static(POLICY)),
            Scripts::ShowPassword => (format!("<script>{SHOW_PASSWORD}</script>"), POLICY_WITH_SCRIPT.clone()),
        };
        let text = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"robots\" content=\"noindex\"><title>{}</title>\
             <link rel=\"icon\" href=\"/docs/mark.svg\" type=\"image/svg+xml\"><link rel=\"stylesheet\" href=\"{}\"></head>\
             <body class=\"{class}\"><header class=\"brand\"><img src=\"/docs/mark.svg\" alt=\"\" width=\"26\" height=\"26\"><span>Peristyle</span></header>\
             <main>{body}</main>{script}</body></html>",
            escaped(title),
            style.path()
        );
        let mut response = Response::new(Body::from(text));
        set(&mut response, CONTENT_TYPE, "text/html; charset=utf-8");
        set(&mut response, CACHE_CONTROL, "no-store");
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        set(&mut response, X_FRAME_OPTIONS, "DENY");
        // `no-referrer` would make browsers send `Origin: null` with our own forms.
        set(&mut response, REFERRER_POLICY, "same-origin");
        response
    }
}

/// With a capital at its beginning, unless that is a name such as `client_id`, and a full stop at its end.
pub(super) fn sentence(text: &str) -> String {
    if text.split(' ').next().is_some_and(|word| word.contains('_')) {
        return format!("{text}{}", if text.ends_with('.') { "" } else { "." });
    }
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// A text that can stand in an element or in a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Sets a header of a page.
pub(super) fn set(response: &mut Response<Body>, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}
