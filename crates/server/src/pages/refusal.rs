//! Refusals as pages. A program gets JSON; a person in a browser gets a page that says what to do, with details for a developer.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, REFERRER_POLICY, VARY};
use axum::http::{HeaderMap, HeaderValue, Method, Response};

use crate::app_files::AppFiles;
use crate::authenticator::Authenticator;
use crate::html::{self, Stylesheet, remove_basic_challenge, sentence, set_header};
use crate::http::body::is_media_type;
use crate::http::request_context::wants_page;
use crate::problem::ProblemSummary;

#[derive(Debug, Template)]
#[template(path = "refusal.html")]
struct RefusalPage<'a> {
    stylesheet: Stylesheet,
    text: RefusalText,
    home: &'a HomeLink,
    facts: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct RefusalPages {
    stylesheet: Stylesheet,
    home: Arc<HomeLink>,
}

/// The link that leads away from a page. Its name follows "go to".
#[derive(Debug)]
struct HomeLink {
    url: String,
    name: &'static str,
}

#[derive(Debug)]
pub(crate) enum ResponseReader {
    Program,
    Person(RefusalPages, OpenedPath),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenedPath {
    /// Where the app of a satellite posts the code that the hub sent it.
    Callback,
    Other,
}

impl RefusalPages {
    pub(crate) fn of(authenticator: &Authenticator, app_files: Option<&AppFiles>) -> Self {
        let pages = |stylesheet, url: &str, name| RefusalPages { stylesheet, home: Arc::new(HomeLink { url: url.to_owned(), name }) };
        match (authenticator.as_hub(), authenticator.as_satellite(), app_files) {
            (Some(_), ..) => pages(Stylesheet::Hub, "/", "your account"),
            (_, _, Some(_)) => pages(Stylesheet::Other, "/", "the app"),
            (_, Some(satellite), None) if satellite.finishes_logins() => {
                pages(Stylesheet::Other, "/docs", "the description of this server")
            }
            (_, Some(satellite), None) => pages(Stylesheet::Other, &format!("{}/", satellite.app_origin()), "the app"),
            (_, None, None) => pages(Stylesheet::Other, "/docs", "the description of this server"),
        }
    }

    /// The reader is a person where a browser opens a URL or sends a form, and prefers HTML.
    pub(crate) fn reader(&self, request: &Request) -> ResponseReader {
        let opens = match *request.method() {
            Method::GET | Method::HEAD => true,
            Method::POST => is_form(request.headers()),
            _ => false,
        };
        let path = request.uri().path().strip_prefix("/api").unwrap_or(request.uri().path());
        // A proxy passes a browser's headers on to `verify` and reads the answer itself.
        if !opens || !wants_page(request.headers()) || path == "/auth/verify" {
            return ResponseReader::Program;
        }
        let is_callback = path == "/auth/callback" && self.stylesheet == Stylesheet::Other;
        ResponseReader::Person(self.clone(), if is_callback { OpenedPath::Callback } else { OpenedPath::Other })
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    is_media_type(headers, |kind| kind.eq_ignore_ascii_case("application/x-www-form-urlencoded"))
}

impl ResponseReader {
    /// Turns a refusal into a page if a person reads it. Other responses pass unchanged.
    pub(crate) fn rendered(self, mut response: Response<Body>) -> Response<Body> {
        let Some(problem) = response.extensions_mut().remove::<ProblemSummary>() else { return response };
        // A cache must keep the page and the JSON apart.
        response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
        let ResponseReader::Person(RefusalPages { stylesheet, home }, opened) = self else { return response };
        let text = RefusalText::of(response.status().as_u16(), opened);
        let mut facts = vec![("Error", problem.code.to_owned()), ("Reason", sentence(&problem.detail))];
        facts.extend(text.remedy.map(|remedy| ("Remedy", remedy.to_owned())));
        let (head, body) = html::response(&RefusalPage { stylesheet, text, home: &home, facts }).into_parts();
        response.headers_mut().remove(CONTENT_LENGTH);
        response.headers_mut().remove(CONTENT_ENCODING);
        response.headers_mut().extend(head.headers);
        remove_basic_challenge(response.headers_mut());
        // The URL may hold a code or an error of the hub.
        set_header(&mut response, REFERRER_POLICY, "no-referrer");
        response.map(|_| body)
    }
}

#[derive(Debug)]
struct RefusalText {
    heading: &'static str,
    lead: &'static str,
    /// Whether the same request may work in a moment.
    can_retry: bool,
    remedy: Option<&'static str>,
}

impl RefusalText {
    fn of(status: u16, opened: OpenedPath) -> Self {
        let text = |heading, lead| RefusalText { heading, lead, can_retry: false, remedy: None };
        let later = |heading, lead| RefusalText { can_retry: true, ..text(heading, lead) };
        match (status, opened) {
            (404, _) => text("There is nothing here", "The address may be mistyped, or the page is gone."),
            (405, OpenedPath::Callback) => RefusalText {
                remedy: Some(
                    "Set OAUTH_REDIRECT_URI, and the redirect of the client at the hub, to a page of the app. That page sends code and \
                     state to /auth/callback by POST.",
                ),
                ..text(
                    "Signing in could not be finished",
                    "The hub sent you to an address that is for the app alone. This is no fault of yours.",
                )
            },
            (401 | 405 | 406, _) => text("This address is for programs", "It cannot be opened in a browser."),
            (403, _) => text("This is not allowed", "You lack the permission for it, or a page of another site sent the request."),
            (429, _) => later("Too many attempts", "Wait a minute before you try again."),
            (503 | 504, _) => later("This does not work right now", "The fault is on our side, not on yours. Wait a moment."),
            (500.., _) => later("Something went wrong", "The fault is on our side, not on yours."),
            _ => text("This did not work", "The request that brought you here cannot be answered."),
        }
    }
}
