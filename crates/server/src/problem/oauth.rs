//! What the OAuth endpoints refuse, and the statuses of what they grant: RFC 6749's shape for programs, a page for people.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, LOCATION, PRAGMA, REFERRER_POLICY, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use identity::error::{Error, ErrorCode};
use serde_json::json;

use crate::pages::Refused;
use crate::random::NoRandomness;

use super::Problem;

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Why an OAuth endpoint refuses.
#[derive(Debug)]
pub(crate) enum Fault {
    /// By the rules.
    Rule(Error),
    /// Another method is meant.
    Method(&'static str),
    /// Neither a form nor JSON.
    MediaType,
    /// Not JSON, where nothing else is read.
    NotJson,
    /// A body that is too large.
    TooLarge,
    /// A body that did not come whole or in time.
    Body,
    /// Posted by a page of somebody else; this is our own origin.
    CrossOrigin(String),
    /// Too many failures: so many seconds to wait.
    Throttled(i64),
    /// Too many logins from one address: so many seconds to wait.
    Crowded(i64),
    /// Too many passwords are being hashed.
    Busy,
    /// Too many streams of changes are open.
    Streams,
    /// A satellite's hub does not answer.
    HubAway,
    /// A satellite's hub answers what nobody understands.
    HubOdd,
    /// A satellite's hub does not take it for its client.
    HubRefuses,
    /// What replicas share is out of reach.
    Shared(store::shared::Error),
    /// The database's side.
    Store(store::Error),
    /// A fault of ours.
    Internal(&'static str),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Rule(error)
    }
}

impl From<store::Error> for Fault {
    fn from(error: store::Error) -> Self {
        Fault::Store(error)
    }
}

impl From<store::shared::Error> for Fault {
    fn from(error: store::shared::Error) -> Self {
        Fault::Shared(error)
    }
}

impl From<NoRandomness> for Fault {
    fn from(_: NoRandomness) -> Self {
        Fault::Internal("the system gives no random bytes")
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::TooLarge => Fault::TooLarge,
            Problem::Store(error) => Fault::Store(error),
            Problem::Overloaded(_) => Fault::Busy,
            Problem::SlowBody | Problem::BrokenBody => Fault::Body,
            _ => Fault::Internal("a request could not be read"),
        }
    }
}

impl Fault {
    /// The code and the sentence.
    pub(crate) fn told(&self) -> (&'static str, Cow<'static, str>) {
        let request = ErrorCode::InvalidRequest.as_str();
        let later = ErrorCode::TemporarilyUnavailable.as_str();
        let (code, sentence) = match self {
            Fault::Method(allowed) => return (request, format!("this address takes {allowed}").into()),
            Fault::Rule(error) => (error.code().as_str(), error.description()),
            Fault::MediaType => (request, "the body is application/x-www-form-urlencoded or application/json"),
            Fault::NotJson => (request, "the body is application/json"),
            Fault::TooLarge => (request, "a body has at most 64 KiB"),
            Fault::Body => (request, "the body did not arrive whole and in time"),
            Fault::CrossOrigin(_) => (request, "the request was made by a page of another origin"),
            Fault::Throttled(_) => (later, "too many failed attempts; try again later"),
            Fault::Crowded(_) => (later, "too many logins were begun from this address; try again later"),
            Fault::Busy => (later, "too many sign-ins at once; try again shortly"),
            Fault::Streams => (later, "too many streams of changes are open; close one, or try again later"),
            Fault::HubAway => (later, "the hub cannot be reached; try again shortly"),
            Fault::HubOdd => (ErrorCode::ServerError.as_str(), "the hub gave an answer that is not understood"),
            Fault::HubRefuses => (ErrorCode::InvalidClient.as_str(), "the hub does not accept the client id and secret of this satellite"),
            Fault::Shared(store::shared::Error::Full) => (later, "too many logins are under way; try again shortly"),
            Fault::Shared(_) => (later, "what logins are kept in cannot be reached; try again shortly"),
            Fault::Store(store::Error::Overloaded | store::Error::Unavailable(_) | store::Error::Timeout) => {
                (later, "the database cannot be reached; try again shortly")
            }
            Fault::Store(_) | Fault::Internal(_) => (ErrorCode::ServerError.as_str(), "something went wrong on our side"),
        };
        (code, sentence.into())
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Fault::Rule(error) => of_code(error.code()),
            Fault::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Fault::MediaType | Fault::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Fault::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Fault::Body => StatusCode::BAD_REQUEST,
            Fault::CrossOrigin(_) => StatusCode::FORBIDDEN,
            Fault::Throttled(_) | Fault::Crowded(_) => StatusCode::TOO_MANY_REQUESTS,
            Fault::HubOdd => StatusCode::BAD_GATEWAY,
            Fault::HubRefuses => StatusCode::UNAUTHORIZED,
            Fault::HubAway | Fault::Shared(_) => StatusCode::SERVICE_UNAVAILABLE,
            Fault::Busy
            | Fault::Streams
            | Fault::Store(store::Error::Overloaded | store::Error::Unavailable(_) | store::Error::Timeout) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Fault::Store(_) | Fault::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Whether the same request may work in a moment.
    pub(crate) fn is_temporary(&self) -> bool {
        self.status() == StatusCode::SERVICE_UNAVAILABLE
    }

    /// The answer for a program.
    pub(crate) fn response(&self) -> Response<Body> {
        let (error, description) = self.told();
        let mut response = json_no_store(json!({ "error": error, "error_description": description }).to_string());
        response.extensions_mut().insert(Refused { code: error, detail: description });
        self.mark(&mut response);
        response
    }

    /// Gives an answer the status and the headers that go with the refusal. What only the log may know is logged here, once.
    pub(crate) fn mark(&self, response: &mut Response<Body>) {
        let status = self.status();
        match self {
            Fault::Store(error) => tracing::error!(status = status.as_u16(), %error, "a request failed"),
            Fault::Shared(error) => tracing::error!(status = status.as_u16(), %error, "a request failed"),
            Fault::HubRefuses => tracing::error!("the hub does not accept OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET: nobody can sign in"),
            Fault::Internal(reason) => tracing::error!(status = status.as_u16(), reason, "a request failed"),
            _ => {}
        }
        *response.status_mut() = status;
        let header: Option<(HeaderName, HeaderValue)> = match self {
            Fault::Rule(error) if error.code() == ErrorCode::InvalidClient => {
                Some((WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"peristyle\", charset=\"UTF-8\"")))
            }
            Fault::Rule(error) if error.code() == ErrorCode::InvalidToken => Some((WWW_AUTHENTICATE, super::INVALID_TOKEN)),
            Fault::Method(allowed) => Some((ALLOW, HeaderValue::from_static(allowed))),
            Fault::Throttled(seconds) | Fault::Crowded(seconds) => Some((RETRY_AFTER, HeaderValue::from(*seconds))),
            _ if status == StatusCode::SERVICE_UNAVAILABLE => Some((RETRY_AFTER, HeaderValue::from_static("2"))),
            _ => None,
        };
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
    }
}

fn of_code(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidClient | ErrorCode::InvalidToken => StatusCode::UNAUTHORIZED,
        ErrorCode::AccessDenied => StatusCode::FORBIDDEN,
        ErrorCode::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::InvalidRequest
        | ErrorCode::InvalidGrant
        | ErrorCode::UnauthorizedClient
        | ErrorCode::UnsupportedGrantType
        | ErrorCode::UnsupportedResponseType
        | ErrorCode::RequestNotSupported
        | ErrorCode::RequestUriNotSupported
        | ErrorCode::InvalidScope
        | ErrorCode::LoginRequired => StatusCode::BAD_REQUEST,
    }
}

/// JSON that nobody keeps.
pub(crate) fn json_no_store(text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, NO_STORE);
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

/// What a redirect answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redirection {
    /// A GET goes on as a GET.
    Found,
    /// A POST goes on as a GET, its body left behind: never 307, which would hand a password on.
    SeeOther,
}

/// A redirect that nobody keeps and that tells the next page nothing of this one.
pub(crate) fn redirect(redirection: Redirection, location: &str) -> Response<Body> {
    let Ok(location) = HeaderValue::from_str(location) else {
        return Fault::Internal("an address cannot stand in a header").response();
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = match redirection {
        Redirection::Found => StatusCode::FOUND,
        Redirection::SeeOther => StatusCode::SEE_OTHER,
    };
    let headers = response.headers_mut();
    headers.insert(LOCATION, location);
    headers.insert(CACHE_CONTROL, NO_STORE);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Done, and there is nothing to say.
pub(crate) fn no_content() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}

/// Turns what an endpoint refuses into an answer for a program.
pub(crate) fn told(answer: Result<Response<Body>, Fault>) -> Response<Body> {
    answer.unwrap_or_else(|fault| fault.response())
}
