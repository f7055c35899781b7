//! Refusals as pages: where a program gets JSON, a person who opened an address in a browser gets a page that says what happened, what
//! they can do, and, below, the details that a developer needs.

use std::fmt::Write;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, REFERRER_POLICY, VARY, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, Response};

use crate::app_files::AppFiles;
use crate::authenticator::Authenticator;
use crate::http::body::is_media_type;
use crate::http::request_context::wants_page;
use crate::problem::ProblemSummary;

use super::document::{Document, Scripts, Style, escaped, sentence, set};

/// Makes pages of refusals. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    style: Style,
    /// The link that leads away from a page, as markup that "go to" comes before.
    home: Arc<str>,
}

/// Who reads an answer.
#[derive(Debug)]
pub(crate) enum Reader {
    Program,
    Person(Pages, Opened),
}

/// What a person opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// Where the app of a satellite posts what its hub sent it back with.
    Callback,
    Anything,
}

impl Pages {
    /// The pages of a process.
    pub(crate) fn of(authenticator: &Authenticator, app_files: Option<&AppFiles>) -> Self {
        let link = |address: &str, text: &str| format!("<a href=\"{}\">{text}</a>", escaped(address)).into();
        if authenticator.as_hub().is_some() {
            return Pages { style: Style::Hub, home: link("/", "your account") };
        }
        let home = match (authenticator.as_satellite(), app_files) {
            (_, Some(_)) => link("/", "the app"),
            (Some(satellite), None) => link(&format!("{}/", satellite.app_origin()), "the app"),
            (None, None) => link("/docs", "the description of this server"),
        };
        Pages { style: Style::Other, home }
    }

    /// Who reads the answer to a request: a person where a browser opens an address or sends a form, and would rather have a page.
    pub(crate) fn reader(&self, request: &Request) -> Reader {
        let opens = match *request.method() {
            Method::GET | Method::HEAD => true,
            Method::POST => is_form(request.headers()),
            _ => false,
        };
        let path = request.uri().path().strip_prefix("/api").unwrap_or(request.uri().path());
        // A proxy passes a browser's headers on to `verify` and reads the answer itself.
        if !opens || !wants_page(request.headers()) || path == "/auth/verify" {
            return Reader::Program;
        }
        let opened = if path == "/auth/callback" && self.style == Style::Other { Opened::Callback } else { Opened::Anything };
        Reader::Person(self.clone(), opened)
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    is_media_type(headers, |kind| kind.eq_ignore_ascii_case("application/x-www-form-urlencoded"))
}

impl Reader {
    /// The answer as its reader wants it.
    pub(crate) fn answer(self, mut response: Response<Body>) -> Response<Body> {
        let Some(refused) = response.extensions_mut().remove::<ProblemSummary>() else { return response };
        // Caches must not give the one for the other.
        response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
        let Reader::Person(pages, opened) = self else { return response };
        let words = Words::of(response.status().as_u16(), opened);
        let way = if words.retry { "<a href=\"\">Try again</a>, or go to" } else { "Go to" };
        let mut facts = vec![("Error", refused.code.to_owned()), ("Reason", sentence(&refused.detail))];
        if let Some(mend) = words.mend {
            facts.push(("To mend it", mend.to_owned()));
        }
        let body = format!(
            "<div class=\"sheet\"><h1>{}</h1><p class=\"lead\">{}</p><p>{way} {}.</p>{}</div>",
            words.heading,
            words.lead,
            pages.home,
            for_developers(&facts)
        );
        let page = Document { title: words.heading, class: "", style: pages.style, scripts: Scripts::None, body: &body }.answer();
        let (head, body) = page.into_parts();
        response.headers_mut().remove(CONTENT_LENGTH);
        response.headers_mut().remove(CONTENT_ENCODING);
        response.headers_mut().extend(head.headers);
        forget_dialog(response.headers_mut());
        // The address may hold what came back from a hub.
        set(&mut response, REFERRER_POLICY, "no-referrer");
        response.map(|_| body)
    }
}

/// A browser would ask for a name and a password in a dialog of its own, over the page.
pub(super) fn forget_dialog(headers: &mut HeaderMap) {
    if headers.get(WWW_AUTHENTICATE).is_some_and(|value| value.as_bytes().starts_with(b"Basic")) {
        headers.remove(WWW_AUTHENTICATE);
    }
}

/// What a page says to a person.
struct Words {
    heading: &'static str,
    lead: &'static str,
    /// Whether the same may work in a moment.
    retry: bool,
    /// What whoever set this up must change.
    mend: Option<&'static str>,
}

impl Words {
    fn of(status: u16, opened: Opened) -> Self {
        let told = |heading, lead| Words { heading, lead, retry: false, mend: None };
        let later = |heading, lead| Words { retry: true, ..told(heading, lead) };
        match (status, opened) {
            (404, _) => told("There is nothing here", "The address may be mistyped, or the page is gone."),
            (405, Opened::Callback) => Words {
                mend: Some(
                    "Let OAUTH_REDIRECT_URI, and the redirect of the client at the hub, be a page of the app. That page sends code and \
                     state to /auth/callback by POST.",
                ),
                ..told(
                    "Signing in could not be finished",
                    "The hub sent you to an address that is for the app alone. This is no fault of yours.",
                )
            },
            (401 | 405 | 406, _) => told("This address is for programs", "It cannot be opened in a browser."),
            (403, _) => told("This is not allowed", "You lack the permission for it, or it was sent by a page of another site."),
            (429, _) => later("Too many attempts", "Wait a minute before you try again."),
            (503 | 504, _) => later("This does not work right now", "The fault is on our side, not on yours. Wait a moment."),
            (500.., _) => later("Something went wrong", "The fault is on our side, not on yours."),
            _ => told("This did not work", "The request that brought you here cannot be answered."),
        }
    }
}

/// The facts of a refusal for whoever builds or runs the app, below what a person reads. Names are constants, values are not.
pub(super) fn for_developers(facts: &[(&str, String)]) -> String {
    let mut rows = String::new();
    for (name, value) in facts {
        // Writing to a String cannot fail.
        _ = write!(rows, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(value));
    }
    format!("<section class=\"details\" aria-labelledby=\"details\"><h2 id=\"details\">For the developer</h2><dl>{rows}</dl></section>")
}
