//! Refusals of the hub as pages: first what happened and what to do, in words for the person; below, in the terms of OAuth, what the
//! developer of the app must change. A page repeats nothing that was sent, and shows nothing that is registered.

use askama::Template;
use axum::body::Body;
use axum::http::Response;
use axum::http::header::REFERRER_POLICY;

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
pub(in crate::hub) fn refusal(fault: &OauthError) -> Response<Body> {
    page(fault, HubRefusalText::of(fault, ""))
}

/// A refusal as a page. "Try again" opens another URL.
pub(in crate::hub) fn refusal_at(fault: &OauthError, again: &str) -> Response<Body> {
    page(fault, HubRefusalText::of(fault, again))
}

/// A one-time link that is used or has expired.
pub(in crate::hub) fn dead_link(fault: &OauthError) -> Response<Body> {
    let (heading, lead) = ("This link does not work any more", "It works once, and for a limited time.");
    page(fault, HubRefusalText { heading, lead, hint: Hint::NewLink, reader: DetailReader::Person })
}

fn page(fault: &OauthError, text: HubRefusalText<'_>) -> Response<Body> {
    let (code, description) = fault.told();
    let parameter = OAuthParameter::of(code, &description);
    let mut facts = vec![("Error", code.to_owned())];
    let alert = match text.reader {
        DetailReader::Person => Some(sentence(&description)),
        DetailReader::Developer => {
            facts.extend(parameter.map(|parameter| ("Parameter", parameter.name.to_owned())));
            facts.push(("Reason", sentence(&description)));
            facts.extend(parameter.map(|parameter| ("Expected", parameter.expected.to_owned())));
            None
        }
    };
    let mut response = html::response(&HubRefusalPage { text, alert, facts });
    fault.mark(&mut response);
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
    fn of(fault: &'a OauthError, again: &'a str) -> Self {
        let (code, description) = fault.told();
        let of_app = |heading, lead| HubRefusalText { heading, lead, hint: Hint::BackToApp, reader: DetailReader::Developer };
        let of_person = |heading, lead, hint| HubRefusalText { heading, lead, hint, reader: DetailReader::Person };
        match (fault, code, OAuthParameter::of(code, &description).map(|parameter| parameter.name)) {
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

/// A parameter of `/authorize` or `/logout`, and what it must be.
#[derive(Clone, Copy, Debug)]
struct OAuthParameter {
    name: &'static str,
    expected: &'static str,
}

const PARAMETERS: [OAuthParameter; 15] = [
    OAuthParameter {
        name: "client_id",
        expected: "The id of an active client of this hub, as the command peristyle client list prints it.",
    },
    OAuthParameter {
        name: "redirect_uri",
        expected: "Exactly the redirect that is registered for the client, character by character: scheme, host, port, path and query, \
                   with the same slash at the end or none. The command peristyle client show prints it.",
    },
    OAuthParameter { name: "response_type", expected: "code, or left out." },
    OAuthParameter { name: "response_mode", expected: "query, or left out." },
    OAuthParameter {
        name: "state",
        expected: "Any printable characters, at most 8000 bytes, that the app compares when the answer comes back.",
    },
    OAuthParameter { name: "nonce", expected: "Any printable characters, at most 500 bytes, or left out." },
    OAuthParameter { name: "scope", expected: "Words with single spaces between them, or left out." },
    OAuthParameter { name: "code_challenge", expected: "43 characters of base64url: the SHA-256 of the code_verifier (PKCE, RFC 7636)." },
    OAuthParameter { name: "code_challenge_method", expected: "S256, or left out." },
    OAuthParameter { name: "prompt", expected: "One of none, login, select_account or consent, or left out." },
    OAuthParameter { name: "max_age", expected: "This must be a whole number of seconds, or left out." },
    OAuthParameter { name: "id_token_hint", expected: "This must be an id_token of this hub for the same client, or left out." },
    OAuthParameter { name: "post_logout_redirect_uri", expected: "A URL whose origin is that of the client's registered redirect." },
    OAuthParameter { name: "client_secret", expected: "Left out: the app shows its secret to the token endpoint alone." },
    OAuthParameter { name: "request", expected: "Left out, as request_uri is: this hub reads plain parameters alone." },
];

impl OAuthParameter {
    /// The parameter of a fault, with which its description begins.
    fn of(code: &str, description: &str) -> Option<&'static Self> {
        let first = if code == "invalid_client" { "client_id" } else { description.split([' ', ':']).next()? };
        PARAMETERS.iter().find(|parameter| parameter.name == first)
    }
}
