//! Refusals of the hub as pages: first what happened and what to do, in words for the person; below, in the terms of OAuth, what the
//! developer of the app must change. A page repeats nothing that was sent, and shows nothing that is registered.

use askama::Template;
use axum::http::header::REFERRER_POLICY;
use axum::response::Response;

use crate::html::{self, remove_basic_challenge, sentence, set_header};
use crate::problem::oauth::OauthError;

#[derive(Debug, Template)]
#[template(path = "hub/refusal.html")]
struct HubRefusalPage<'a> {
    text: HubRefusalText<'a>,
    alert: Option<String>,
    facts: Vec<(&'static str, String)>,
}

/// A refusal as a page. "Try again" opens the same URL.
pub(in crate::hub) fn refusal(error: &OauthError) -> Response {
    refusal_at(error, "")
}

/// A refusal as a page. "Try again" opens another URL.
pub(in crate::hub) fn refusal_at(error: &OauthError, again: &str) -> Response {
    page(error, HubRefusalText::of(error, again))
}

/// A one-time link that is used or has expired.
pub(in crate::hub) fn dead_link(error: &OauthError) -> Response {
    let (heading, lead) = ("This link does not work any more", "It works once, and for a limited time.");
    page(error, HubRefusalText { heading, lead, hint: Hint::NewLink, reader: DetailReader::Person })
}

fn page(error: &OauthError, text: HubRefusalText<'_>) -> Response {
    let (code, description) = (error.code(), error.to_string());
    let parameter = parameter(code, &description);
    let mut facts = vec![("Error", code.to_owned())];
    let alert = match text.reader {
        DetailReader::Person => Some(sentence(&description)),
        DetailReader::Developer => {
            facts.extend(parameter.map(|parameter| ("Parameter", parameter.0.to_owned())));
            facts.push(("Reason", sentence(&description)));
            facts.extend(parameter.map(|parameter| ("Expected", parameter.1.to_owned())));
            None
        }
    };
    let mut response = html::response(&HubRefusalPage { text, alert, facts });
    error.mark(&mut response);
    remove_basic_challenge(response.headers_mut());
    set_header(&mut response, REFERRER_POLICY, "no-referrer");
    response
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DetailReader {
    Person,
    Developer,
}

#[derive(Debug)]
struct HubRefusalText<'a> {
    heading: &'static str,
    lead: &'static str,
    hint: Hint<'a>,
    reader: DetailReader,
}

#[derive(Debug)]
enum Hint<'a> {
    BackToApp,
    OwnUrl(&'a str),
    TryAgain(&'a str),
    NewLink,
}

impl<'a> HubRefusalText<'a> {
    fn of(error: &'a OauthError, again: &'a str) -> Self {
        let (code, description) = (error.code(), error.to_string());
        let of_app = |heading, lead| HubRefusalText { heading, lead, hint: Hint::BackToApp, reader: DetailReader::Developer };
        let of_person = |heading, lead, hint| HubRefusalText { heading, lead, hint, reader: DetailReader::Person };
        match (error, code, parameter(code, &description).map(|(name, _)| name)) {
            // Often nobody is to blame: the person opened the hub under another name, such as localhost in place of 127.0.0.1.
            (OauthError::CrossOrigin(own), ..) => of_person(
                "This was not sent from here",
                "The form came from a page at another address, so the hub did not read it.",
                Hint::OwnUrl(own),
            ),
            (_, "server_error" | "temporarily_unavailable", _) => {
                of_person("This does not work right now", "The fault is on our side, not on yours.", Hint::TryAgain(again))
            }
            (_, "invalid_client", _) => {
                of_app("This app is not known here", "An app sent you here to sign in, and this hub does not know it.")
            }
            (_, _, Some("redirect_uri")) if description.contains("missing") => {
                of_app("You cannot sign in to this app", "The app did not say where to send you back to.")
            }
            (_, _, Some("redirect_uri")) => of_app(
                "You cannot sign in to this app",
                "The app asked to send you back to an address that is not registered for it. It could be somebody else's, so you were not \
                 sent there.",
            ),
            (_, _, Some(_)) => {
                of_app("You cannot go on from here", "The app that sent you here made a mistake. This is no fault of yours.")
            }
            (_, "access_denied", _) => {
                of_person("This did not work", "The request that brought you here cannot be answered.", Hint::BackToApp)
            }
            _ => of_app("This did not work", "The request that brought you here cannot be answered."),
        }
    }
}

/// The parameters of `/authorize` and `/logout`, and what each must be.
const PARAMETERS: [(&str, &str); 15] = [
    ("client_id", "The id of an active client of this hub, as the command peristyle client list prints it."),
    (
        "redirect_uri",
        "Exactly the redirect that is registered for the client, character by character: scheme, host, port, path and query, \
         with the same slash at the end or none. The command peristyle client show prints it.",
    ),
    ("response_type", "code, or left out."),
    ("response_mode", "query, or left out."),
    ("state", "Any printable characters, at most 8000 bytes, that the app compares when the answer comes back."),
    ("nonce", "Any printable characters, at most 500 bytes, or left out."),
    ("scope", "Words with single spaces between them, or left out."),
    ("code_challenge", "43 characters of base64url: the SHA-256 of the code_verifier (PKCE, RFC 7636)."),
    ("code_challenge_method", "S256, or left out."),
    ("prompt", "One of none, login, select_account or consent, or left out."),
    ("max_age", "This must be a whole number of seconds, or left out."),
    ("id_token_hint", "This must be an id_token of this hub for the same client, or left out."),
    ("post_logout_redirect_uri", "A URL whose origin is that of the client's registered redirect."),
    ("client_secret", "Left out: the app shows its secret to the token endpoint alone."),
    ("request", "Left out, as request_uri is: this hub reads plain parameters alone."),
];

/// The parameter with which the description of an error begins, and what it must be.
fn parameter(code: &str, description: &str) -> Option<(&'static str, &'static str)> {
    let first = if code == "invalid_client" { "client_id" } else { description.split([' ', ':']).next()? };
    PARAMETERS.into_iter().find(|(name, _)| *name == first)
}
