//! The hub's pages: the sign-in form, who is signed in, and refusals that a person can read. Plain documents without scripts; every text
//! that is not ours goes through [`escaped`].

mod account;
mod notice;

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, WWW_AUTHENTICATE, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Response};
use axum::routing::get;
use identity::parameters::Parameters;

use crate::error::oauth::Fault;
use crate::service::Service;
use crate::tagged::Tagged;

pub(crate) use account::{AccountPage, ChangeRefused, Field, Here, SessionLine, account};
pub(crate) use notice::Notice;

/// Nothing but our style and our mark, no script, no frame around us. Browsers apply `form-action` to the redirects after a post too, and
/// those of a sign-in end at a client, so it names schemes and no hosts: it still keeps forms from running scripts.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self' https: http:; \
                      frame-ancestors 'none'";
const STYLE: &str = "/sign-in/style.css";
/// What a password needs, said before it is asked for.
const PASSWORD_HINT: &str = "At least 8 characters. Several words in a row are easy to remember and hard to guess.";

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
    /// What has just been done.
    pub(crate) notice: Option<Notice>,
    /// Why that did not do.
    pub(crate) refusal: Option<&'a Fault>,
}

/// The sign-in page.
pub(crate) fn sign_in(page: &SignIn<'_>) -> Response<Body> {
    let lead = match page.app {
        Some(app) => format!("to continue to <strong>{}</strong>", escaped(app)),
        None => "to your account".to_owned(),
    };
    let notice = page.notice.map_or_else(String::new, Notice::told);
    let refusal = page.refusal.map_or_else(String::new, refused);
    let described = if page.refusal.is_some() { INVALID } else { "" };
    // Who has typed a name already goes on with the password.
    let (first, second) = if page.name.is_empty() { (" autofocus", "") } else { ("", " autofocus") };
    let body = format!(
        "<div class=\"sheet\"><h1>Sign in</h1><p class=\"lead\">{lead}</p>{notice}{refusal}\
         <form method=\"post\" action=\"/sign-in\">\
         <input type=\"hidden\" name=\"continue\" value=\"{}\">\
         <label for=\"username\">Username or email</label>\
         <input id=\"username\" name=\"username\" type=\"text\" value=\"{}\" autocomplete=\"username\" autocapitalize=\"none\" spellcheck=\"false\" required{first}{described}>\
         <label for=\"password\">Password</label>\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" required{second}{described}>\
         <button class=\"primary\" type=\"submit\">Sign in</button></form></div>",
        escaped(page.continuation),
        escaped(page.name)
    );
    let title = page.app.map_or_else(|| "Sign in".to_owned(), |app| format!("Sign in to {app}"));
    told(&title, "", &body, page.refusal)
}

/// A refusal as a page.
pub(crate) fn refusal(fault: &Fault) -> Response<Body> {
    explained(fault, &circumstances(fault))
}

/// A one-time link that is good for nothing any more.
pub(crate) fn dead_link(fault: &Fault) -> Response<Body> {
    let hint = "Ask whoever sent it for a new one. If you have set your password already, <a href=\"/sign-in\">sign in</a>.".to_owned();
    let lead = "It works once, and for a limited time.";
    explained(fault, &Circumstances { heading: "This link does not work any more", lead, hint })
}

fn explained(fault: &Fault, Circumstances { heading, lead, hint }: &Circumstances) -> Response<Body> {
    let (code, description) = fault.told();
    let body = format!(
        "<div class=\"sheet\"><h1>{heading}</h1><p class=\"lead\">{lead}</p>{}<p>{hint}</p><p class=\"hint\">Error code: <code>{}</code></p></div>",
        alert(&description),
        escaped(code)
    );
    let mut response = document(heading, "", &body);
    fault.mark(&mut response);
    // A browser would ask for a password of its own, over our page.
    response.headers_mut().remove(WWW_AUTHENTICATE);
    set(&mut response, REFERRER_POLICY, "no-referrer");
    response
}

/// What somebody who meets a refusal is told around it: what it is about, and what to do. The hint is markup.
struct Circumstances {
    heading: &'static str,
    lead: &'static str,
    hint: String,
}

fn circumstances(fault: &Fault) -> Circumstances {
    const BACK: &str =
        "Go back to the app you came from and try again. If it happens again, tell the people who run it what this page says.";
    const LATER: &str = "Nothing of what you did is lost. Wait a moment, then load this page again.";
    let told = |heading, lead, hint: &str| Circumstances { heading, lead, hint: hint.to_owned() };
    match (fault, fault.told().0) {
        (_, "invalid_client") => {
            told("This app is not known here", "An app sent you here to sign in, and this hub does not know it.", BACK)
        }
        // Often nobody is to blame: the same hub was opened under another name, such as localhost in place of 127.0.0.1.
        (Fault::CrossOrigin(own), _) => {
            let own = escaped(own);
            let begin = format!("The address of this hub is <a href=\"{own}/\">{own}</a>. If you meant to do this, begin there.");
            told("This was not sent from here", "The form came from a page at another address, so it was not looked at.", &begin)
        }
        (_, "server_error" | "temporarily_unavailable") => {
            told("This does not work right now", "The fault is on our side, not on yours.", LATER)
        }
        _ => told("This did not work", "The request that brought you here cannot be answered.", BACK),
    }
}

/// The form behind a one-time link. Its address is the link itself, so nobody is told where this page was.
pub(crate) fn set_password(link: &str, name: &str, refusal: Option<&Fault>) -> Response<Body> {
    let refused = refusal.map_or_else(String::new, refused);
    let invalid = if refusal.is_some() { " aria-invalid=\"true\"" } else { "" };
    let describes = if refusal.is_some() { "refusal hint" } else { "hint" };
    let name = escaped(name);
    let body = format!(
        "<div class=\"sheet\"><h1>Choose a password</h1><p class=\"lead\">for <strong>{name}</strong></p>{refused}\
         <form method=\"post\" action=\"/password\"><input type=\"hidden\" name=\"link\" value=\"{}\">{}\
         <label for=\"password\">New password</label>\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"new-password\" minlength=\"8\" required autofocus aria-describedby=\"{describes}\"{invalid}>\
         <p class=\"hint\" id=\"hint\">{PASSWORD_HINT}</p>\
         <button class=\"primary\" type=\"submit\">Set password</button></form></div>",
        escaped(link),
        for_password_managers(&name)
    );
    told("Choose a password", "", &body, refusal)
}

/// Asks before signing out.
pub(crate) fn confirm_logout(parameters: &Parameters) -> Response<Body> {
    let kept = ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"];
    let hidden: String = kept
        .iter()
        .filter_map(|name| Some(format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", escaped(parameters.get(name)?))))
        .collect();
    let body = format!(
        "<div class=\"sheet\"><h1>Sign out?</h1><p class=\"lead\">This ends your session here and in the apps you opened with it.</p>\
         <form method=\"post\" action=\"/logout\">{hidden}<button class=\"primary\" type=\"submit\" autofocus>Sign out</button></form>\
         <p class=\"aside\"><a href=\"/\">Stay signed in</a></p></div>"
    );
    document("Sign out?", "", &body)
}

/// Says that it is done.
pub(crate) fn signed_out() -> Response<Body> {
    let body = "<div class=\"sheet\"><h1>Signed out</h1><p class=\"lead\">You can close this page.</p>\
                <p><a href=\"/sign-in\">Sign in again</a></p></div>";
    document("Signed out", "", body)
}

/// A page that may show a refusal: the title says so first, since that is what is read out first, and the status goes with it.
fn told(title: &str, class: &str, body: &str, refusal: Option<&Fault>) -> Response<Body> {
    let Some(fault) = refusal else { return document(title, class, body) };
    let mut response = document(&format!("Error: {title}"), class, body);
    fault.mark(&mut response);
    response
}

/// A whole document with the headers of every page.
fn document(title: &str, class: &str, body: &str) -> Response<Body> {
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"robots\" content=\"noindex\"><title>{}</title>\
         <link rel=\"icon\" href=\"/docs/mark.svg\" type=\"image/svg+xml\"><link rel=\"stylesheet\" href=\"{STYLE}\"></head>\
         <body class=\"{class}\"><header class=\"brand\"><img src=\"/docs/mark.svg\" alt=\"\" width=\"26\" height=\"26\"><span>Peristyle</span></header>\
         <main>{body}</main></body></html>",
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

/// Marks an input that a refusal is about.
const INVALID: &str = " aria-describedby=\"refusal\" aria-invalid=\"true\"";

/// Password managers look for the name that a password is for in an input that is no hidden one.
fn for_password_managers(escaped_name: &str) -> String {
    format!(
        "<input class=\"unseen\" type=\"text\" name=\"username\" value=\"{escaped_name}\" autocomplete=\"username\" readonly tabindex=\"-1\" aria-hidden=\"true\">"
    )
}

/// A refusal that is announced. Who is to wait is told for how long.
fn refused(fault: &Fault) -> String {
    match fault {
        Fault::Throttled(..=1) => alert("Too many failed attempts. Try again in a second."),
        Fault::Throttled(seconds @ ..120) => alert(&format!("Too many failed attempts. Try again in {seconds} seconds.")),
        Fault::Throttled(seconds) => alert(&format!("Too many failed attempts. Try again in {} minutes.", (seconds + 59) / 60)),
        _ => alert(&fault.told().1),
    }
}

fn alert(text: &str) -> String {
    format!("<p class=\"refusal\" id=\"refusal\" role=\"alert\">{}</p>", escaped(&sentence(text)))
}

/// With a capital at its beginning, unless that is a name such as `client_id`, and a full stop at its end.
fn sentence(text: &str) -> String {
    if text.split(' ').next().is_some_and(|word| word.contains('_')) {
        return format!("{text}{}", if text.ends_with('.') { "" } else { "." });
    }
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// A text that can stand in an element or in a quoted attribute.
fn escaped(text: &str) -> String {
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
