//! The hub's refusals as pages: what happened and what to do, in words for the person; below, in the terms of OAuth, what the developer of
//! the app must change. Nothing that was sent is repeated, and nothing that is registered is shown.

use axum::body::Body;
use axum::http::Response;
use axum::http::header::REFERRER_POLICY;

use crate::problem::oauth::OauthError as Fault;

use super::super::document::{escaped, sentence, set};
use super::super::refusal::{for_developers, forget_dialog};
use super::{alert, document};

/// A refusal as a page. Trying again opens the same address.
pub(crate) fn refusal(fault: &Fault) -> Response<Body> {
    page(fault, &Words::of(fault, ""))
}

/// The same where trying again opens another address.
pub(crate) fn refusal_at(fault: &Fault, again: &str) -> Response<Body> {
    page(fault, &Words::of(fault, again))
}

/// A one-time link that is good for nothing any more.
pub(crate) fn dead_link(fault: &Fault) -> Response<Body> {
    let hint = "Ask whoever sent it for a new one. If you have set your password already, <a href=\"/sign-in\">sign in</a>.".to_owned();
    let lead = "It works once, and for a limited time.";
    page(fault, &Words { heading: "This link does not work any more", lead, hint, reader: Reader::Person })
}

fn page(fault: &Fault, Words { heading, lead, hint, reader }: &Words) -> Response<Body> {
    let (code, description) = fault.told();
    let parameter = Parameter::of(code, &description);
    let mut facts = vec![("Error", code.to_owned())];
    let alert = match reader {
        Reader::Person => alert(&description),
        Reader::Developer => {
            facts.extend(parameter.map(|parameter| ("Parameter", parameter.name.to_owned())));
            facts.push(("Reason", sentence(&description)));
            facts.extend(parameter.map(|parameter| ("Expected", parameter.expected.to_owned())));
            String::new()
        }
    };
    let body =
        format!("<div class=\"sheet\"><h1>{heading}</h1><p class=\"lead\">{lead}</p>{alert}<p>{hint}</p>{}</div>", for_developers(&facts));
    let mut response = document(heading, "", &body);
    fault.mark(&mut response);
    forget_dialog(response.headers_mut());
    set(&mut response, REFERRER_POLICY, "no-referrer");
    response
}

/// Whom the sentence of a fault is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Person,
    Developer,
}

/// What a person is told. The hint is markup.
struct Words {
    heading: &'static str,
    lead: &'static str,
    hint: String,
    reader: Reader,
}

impl Words {
    fn of(fault: &Fault, again: &str) -> Self {
        const BACK: &str =
            "Go back to the app you came from and try again. If it happens again, tell the people who run it what this page says.";
        let (code, description) = fault.told();
        let of_app = |heading, lead| Words { heading, lead, hint: BACK.to_owned(), reader: Reader::Developer };
        match (fault, code, Parameter::of(code, &description).map(|parameter| parameter.name)) {
            // Often nobody is to blame: the same hub was opened under another name, such as localhost in place of 127.0.0.1.
            (Fault::CrossOrigin(own), ..) => {
                let own = escaped(own);
                let hint = format!("The address of this hub is <a href=\"{own}/\">{own}</a>. If you meant to do this, begin there.");
                let lead = "The form came from a page at another address, so it was not looked at.";
                Words { heading: "This was not sent from here", lead, hint, reader: Reader::Person }
            }
            (_, "server_error" | "temporarily_unavailable", _) => {
                let hint = format!("Nothing of what you did is lost. Wait a moment. <a href=\"{}\">Try again</a>.", escaped(again));
                let lead = "The fault is on our side, not on yours.";
                Words { heading: "This does not work right now", lead, hint, reader: Reader::Person }
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
                let lead = "The request that brought you here cannot be answered.";
                Words { heading: "This did not work", lead, hint: BACK.to_owned(), reader: Reader::Person }
            }
            _ => of_app("This did not work", "The request that brought you here cannot be answered."),
        }
    }
}

/// A parameter of `/authorize` or `/logout`, and what it must be.
#[derive(Clone, Copy, Debug)]
struct Parameter {
    name: &'static str,
    expected: &'static str,
}

/// All of them.
const PARAMETERS: [Parameter; 15] = [
    Parameter { name: "client_id", expected: "The id of an active client of this hub, as the command peristyle client list prints it." },
    Parameter {
        name: "redirect_uri",
        expected: "Exactly the redirect that is registered for the client, character by character: scheme, host, port, path and query, \
                   with the same slash at the end or none. The command peristyle client show prints it.",
    },
    Parameter { name: "response_type", expected: "code, or left out." },
    Parameter { name: "response_mode", expected: "query, or left out." },
    Parameter {
        name: "state",
        expected: "Any printable characters, at most 8000 bytes, that the app compares when the answer comes back.",
    },
    Parameter { name: "nonce", expected: "Any printable characters, at most 500 bytes, or left out." },
    Parameter { name: "scope", expected: "Words with single spaces between them, or left out." },
    Parameter { name: "code_challenge", expected: "43 characters of base64url: the SHA-256 of the code_verifier (PKCE, RFC 7636)." },
    Parameter { name: "code_challenge_method", expected: "S256, or left out." },
    Parameter { name: "prompt", expected: "One of none, login, select_account or consent, or left out." },
    Parameter { name: "max_age", expected: "This must be a whole number of seconds, or left out." },
    Parameter { name: "id_token_hint", expected: "This must be an id_token of this hub for the same client, or left out." },
    Parameter { name: "post_logout_redirect_uri", expected: "A URL whose origin is that of the client's registered redirect." },
    Parameter { name: "client_secret", expected: "Left out: the app shows its secret to the token endpoint alone." },
    Parameter { name: "request", expected: "Left out, as request_uri is: this hub reads plain parameters alone." },
];

impl Parameter {
    /// The parameter that a fault is about: the description begins with it.
    fn of(code: &str, description: &str) -> Option<&'static Self> {
        let first = if code == "invalid_client" { "client_id" } else { description.split([' ', ':']).next()? };
        PARAMETERS.iter().find(|parameter| parameter.name == first)
    }
}
