//! Refusals of the OAuth endpoints, in the shape of RFC 6749, section 5.2.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{ALLOW, InvalidHeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use identity::error::{Error, ErrorCode};
use serde_json::json;

use crate::random::NoRandomness;
use crate::response::json_no_store;

use super::{Problem, ProblemSummary};

#[derive(Debug)]
pub(crate) enum OauthError {
    Rule(Error),
    /// The path takes these methods.
    Method(&'static str),
    MediaType,
    NotJson,
    TooLarge,
    Body,
    /// A page of another origin sent it. Holds our own origin.
    CrossOrigin(String),
    /// Too many failures; the seconds to wait.
    Throttled(i64),
    /// Too many logins from one client address; the seconds to wait.
    Crowded(i64),
    /// Too many passwords are being hashed.
    Busy,
    Streams,
    HubAway,
    HubOdd,
    /// The hub refuses the satellite's client id or secret.
    HubRefuses,
    ReplicaState(store::replica_state::StateError),
    Store(store::Error),
    /// A bug or a misconfiguration. Only the log names it.
    Internal(&'static str),
}

impl From<Error> for OauthError {
    fn from(error: Error) -> Self {
        OauthError::Rule(error)
    }
}

impl From<store::Error> for OauthError {
    fn from(error: store::Error) -> Self {
        OauthError::Store(error)
    }
}

impl From<store::replica_state::StateError> for OauthError {
    fn from(error: store::replica_state::StateError) -> Self {
        OauthError::ReplicaState(error)
    }
}

impl From<NoRandomness> for OauthError {
    fn from(_: NoRandomness) -> Self {
        OauthError::Internal("the system gives no random bytes")
    }
}

impl From<InvalidHeaderValue> for OauthError {
    fn from(_: InvalidHeaderValue) -> Self {
        OauthError::Internal("a header cannot hold this value")
    }
}

impl From<Problem> for OauthError {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::TooLarge => OauthError::TooLarge,
            Problem::Store(error) => OauthError::Store(error),
            Problem::Overloaded(_) => OauthError::Busy,
            Problem::SlowBody | Problem::BrokenBody => OauthError::Body,
            _ => OauthError::Internal("a request could not be read"),
        }
    }
}

impl OauthError {
    pub(crate) fn told(&self) -> (&'static str, Cow<'static, str>) {
        let request = ErrorCode::InvalidRequest.as_str();
        let later = ErrorCode::TemporarilyUnavailable.as_str();
        let (code, sentence) = match self {
            OauthError::Method(allowed) => return (request, format!("this path takes {allowed}").into()),
            OauthError::Rule(error) => (error.code().as_str(), error.description()),
            OauthError::MediaType => (request, "the body is application/x-www-form-urlencoded or application/json"),
            OauthError::NotJson => (request, "the body is application/json"),
            OauthError::TooLarge => (request, "a body has at most 64 KiB"),
            OauthError::Body => (request, "the body did not arrive whole and in time"),
            OauthError::CrossOrigin(_) => (request, "the request was made by a page of another origin"),
            OauthError::Throttled(_) => (later, "too many failed attempts; try again later"),
            OauthError::Crowded(_) => (later, "too many logins from this client address; try again later"),
            OauthError::Busy => (later, "too many sign-ins at once; try again shortly"),
            OauthError::Streams => (later, "too many streams of changes are open; close one, or try again later"),
            OauthError::HubAway => (later, "the hub is unavailable; try again shortly"),
            OauthError::HubOdd => (ErrorCode::ServerError.as_str(), "the answer of the hub cannot be read"),
            OauthError::HubRefuses => {
                (ErrorCode::InvalidClient.as_str(), "the hub does not accept the client id and secret of this satellite")
            }
            OauthError::ReplicaState(store::replica_state::StateError::Full) => (later, "too many logins are under way; try again shortly"),
            OauthError::ReplicaState(_) => (later, "the login store is unavailable; try again shortly"),
            OauthError::Store(store::Error::Overloaded | store::Error::Unavailable(_) | store::Error::Timeout) => {
                (later, "the database is unavailable; try again shortly")
            }
            OauthError::Store(_) | OauthError::Internal(_) => (ErrorCode::ServerError.as_str(), "something went wrong on our side"),
        };
        (code, sentence.into())
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            OauthError::Rule(error) => of_code(error.code()),
            OauthError::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            OauthError::MediaType | OauthError::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            OauthError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            OauthError::Body => StatusCode::BAD_REQUEST,
            OauthError::CrossOrigin(_) => StatusCode::FORBIDDEN,
            OauthError::Throttled(_) | OauthError::Crowded(_) => StatusCode::TOO_MANY_REQUESTS,
            OauthError::HubOdd => StatusCode::BAD_GATEWAY,
            OauthError::HubRefuses => StatusCode::UNAUTHORIZED,
            OauthError::HubAway | OauthError::ReplicaState(_) => StatusCode::SERVICE_UNAVAILABLE,
            OauthError::Busy
            | OauthError::Streams
            | OauthError::Store(store::Error::Overloaded | store::Error::Unavailable(_) | store::Error::Timeout) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            OauthError::Store(_) | OauthError::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Whether the same request may work in a moment.
    pub(crate) fn is_temporary(&self) -> bool {
        self.status() == StatusCode::SERVICE_UNAVAILABLE
    }

    pub(crate) fn response(&self) -> Response<Body> {
        let (error, description) = self.told();
        let mut response = json_no_store(json!({ "error": error, "error_description": description }).to_string());
        response.extensions_mut().insert(ProblemSummary { code: error, detail: description });
        self.mark(&mut response);
        response
    }

    /// Sets the status and the headers of a refusal. Logs the cause, which the client does not see.
    pub(crate) fn mark(&self, response: &mut Response<Body>) {
        let status = self.status();
        match self {
            OauthError::Store(error) => tracing::error!(status = status.as_u16(), %error, "request failed"),
            OauthError::ReplicaState(error) => tracing::error!(status = status.as_u16(), %error, "request failed"),
            OauthError::HubRefuses => {
                tracing::error!("the hub refuses OAUTH_CLIENT_ID or OAUTH_CLIENT_SECRET: nobody can sign in");
            }
            OauthError::Internal(reason) => tracing::error!(status = status.as_u16(), reason, "request failed"),
            _ => {}
        }
        *response.status_mut() = status;
        let header: Option<(HeaderName, HeaderValue)> = match self {
            OauthError::Rule(error) if error.code() == ErrorCode::InvalidClient => {
                Some((WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"peristyle\", charset=\"UTF-8\"")))
            }
            OauthError::Rule(error) if error.code() == ErrorCode::InvalidToken => Some((WWW_AUTHENTICATE, super::INVALID_TOKEN)),
            OauthError::Method(allowed) => Some((ALLOW, HeaderValue::from_static(allowed))),
            OauthError::Throttled(seconds) | OauthError::Crowded(seconds) => Some((RETRY_AFTER, HeaderValue::from(*seconds))),
            _ if status == StatusCode::SERVICE_UNAVAILABLE => Some((RETRY_AFTER, HeaderValue::from_static("2"))),
            _ => None,
        };
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
    }
}

impl IntoResponse for OauthError {
    fn into_response(self) -> Response<Body> {
        self.response()
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
