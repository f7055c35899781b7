//! The hub's pages: the sign-in form, who is signed in, and refusals that a person can read. Plain documents without scripts; every text
//! that is not ours goes through [`escaped`].

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, WWW_AUTHENTICATE, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Response};
use axum::routing::get;
use identity::parameters::Parameters;

use crate::boot::Service;
use crate::error::oauth::Fault;
use crate::tagged::Tagged;

/// Nothing but our style, no script, no frame around us. Browsers apply `form-action` to the redirects after a post too, and those of a
/// sign-in end at a client, so it names schemes and no hosts: it still keeps forms from running scripts.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self' https: http:; frame-ancestors 'none'";
const STYLE: &str = "/sign-in/style.css";

/// The files of the pages.
pub(crate) fn routes() -> Router<Service> {
    let style = Tagged::new("text/css; charset=utf-8", include_str!("hub/style.css"));
    Router::new().route(STYLE, get(async move |headers: HeaderMap| style.answer(&headers)))
}

/// What the sign-in page shows.
#[derive(Debug)]
pub(crate) struct SignIn<'a> {
    /// Where it goes on to.
    pub(crate) continuation: &'a str,
    /// What one signs in to.
    pub(crate) app: Option<&'a str>,
    /// The name that was typed before.
    pub(crate) name: &'a str,
    /// Why that did not do.
    pub(crate) refusal: Option<&'a Fault>,
}

/// The sign-in page.
pub(crate) fn sign_in(page: &SignIn<'_>) -> Response<Body> {
    let lead = match page.app {
        Some(app) => format!("to continue to <strong>{}</strong>", escaped(app)),
        None => "to your account".to_owned(),
    };
    let refusal = page.refusal.map_or_else(String::new, |fault| refused(told(fault)));
    let described = if page.refusal.is_some() { " aria-describedby=\"refusal\" aria-invalid=\"true\"" } else { "" };
    // Who has typed a name already goes on with the password.
    let (first, second) = if page.name.is_empty() { (" autofocus", "") } else { ("", " autofocus") };
    let body = format!(
        "<h1>Sign in</h1><p>{lead}</p>{refusal}\
         <form method=\"post\" action=\"/sign-in\">\
         <input type=\"hidden\" name=\"continue\" value=\"{}\">\
         <label for=\"username\">Username or email</label>\
         <input id=\"username\" name=\"username\" type=\"text\" value=\"{}\" autocomplete=\"username\" autocapitalize=\"none\" spellcheck=\"false\" required{first}{described}>\
         <label for=\"password\">Password</label>\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" required{second}{described}>\
         <button type=\"submit\">Sign in</button></form>",
        escaped(page.continuation),
        escaped(page.name)
    );
    let title = page.app.map_or_else(|| "Sign in".to_owned(), |app| format!("Sign in to {app}"));
    let mut response = document(&title, "", &body);
    if let Some(fault) = page.refusal {
        fault.mark(&mut response);
    }
    response
}

/// A refusal as a page.
pub(crate) fn refusal(fault: &Fault) -> Response<Body> {
    let (code, _) = fault.told();
    let body = format!(
        "<h1>This did not work</h1><p>The request that brought you here cannot be answered.</p>\
         <p class=\"refusal\" role=\"alert\">{}</p><p>Go back to the app you came from and try again. If it happens again, tell its \
         operator: <code>{}</code>.</p>",
        escaped(&sentence(told(fault))),
        escaped(code)
    );
    let mut response = document("This did not work", "", &body);
    fault.mark(&mut response);
    // A browser would ask for a password of its own, over our page.
    response.headers_mut().remove(WWW_AUTHENTICATE);
    set(&mut response, REFERRER_POLICY, "no-referrer");
    response
}

/// The form behind a one-time link. Its address is the link itself, so nobody is told where this page was.
pub(crate) fn set_password(link: &str, refusal: Option<&Fault>) -> Response<Body> {
    let refused = refusal.map_or_else(String::new, |fault| refused(told(fault)));
    let body = format!(
        "<h1>Choose a password</h1><p>It has at least 8 characters; longer is better.</p>{refused}\
         <form method=\"post\" action=\"/password\"><input type=\"hidden\" name=\"link\" value=\"{}\">\
         <label for=\"password\">New password</label>\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"new-password\" minlength=\"8\" required autofocus>\
         <button type=\"submit\">Set password</button></form>",
        escaped(link)
    );
    let mut response = document("Choose a password", "", &body);
    if let Some(fault) = refusal {
        fault.mark(&mut response);
    }
    response
}

/// Asks before signing out.
pub(crate) fn confirm_logout(parameters: &Parameters) -> Response<Body> {
    let kept = ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"];
    let hidden: String = kept
        .iter()
        .filter_map(|name| Some(format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", escaped(parameters.get(name)?))))
        .collect();
    let body = format!(
        "<h1>Sign out?</h1><p>This ends your session here and in the apps you opened with it.</p>\
         <form method=\"post\" action=\"/logout\">{hidden}<button type=\"submit\" autofocus>Sign out</button></form>"
    );
    document("Sign out?", "", &body)
}

/// Says that it is done.
pub(crate) fn signed_out() -> Response<Body> {
    document("Signed out", "", "<h1>Signed out</h1><p>You can close this page, or <a href=\"/sign-in\">sign in again</a>.</p>")
}

/// A whole document with the headers of every page.
pub(crate) fn document(title: &str, class: &str, body: &str) -> Response<Body> {
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"robots\" content=\"noindex\"><title>{}</title><link rel=\"stylesheet\" href=\"{STYLE}\"></head>\
         <body><main class=\"{class}\">{body}</main></body></html>",
        escaped(title)
    );
    let mut response = Response::new(Body::from(text));
    set(&mut response, CONTENT_TYPE, "text/html; charset=utf-8");
    set(&mut response, CACHE_CONTROL, "no-store");
    set(&mut response, CONTENT_SECURITY_POLICY, POLICY);
    set(&mut response, X_FRAME_OPTIONS, "DENY");
    // `no-referrer` would make browsers send `Origin: null` with our own forms.
    set(&mut response, REFERRER_POLICY, "same-origin");
    response
}

/// A refusal that is announced.
pub(crate) fn refused(text: &str) -> String {
    format!("<p class=\"refusal\" id=\"refusal\" role=\"alert\">{}</p>", escaped(&sentence(text)))
}

fn told(fault: &Fault) -> &'static str {
    fault.told().1
}

/// With a capital at its beginning and a full stop at its end.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// A text that can stand in an element or in a quoted attribute.
pub(crate) fn escaped(text: &str) -> String {
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

fn set(response: &mut Response<Body>, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}
