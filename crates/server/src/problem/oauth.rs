//! Refusals of the OAuth endpoints, in the shape of RFC 6749, section 5.2.

use axum::body::Body;
use axum::http::header::{ALLOW, InvalidHeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use identity::error::{Error, ErrorCode};
use serde_json::json;
use store::replica_state::StateError;

use crate::random::NoRandomness;
use crate::response::json_no_store;

use super::{Problem, ProblemSummary, outage_log};

/// The pause before another try to open a stream of changes. Streams are held for hours.
const STREAMS_RETRY: HeaderValue = HeaderValue::from_static("30");

/// Why an OAuth endpoint refuses. The message is the `error_description` that the client sees.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OauthError {
    #[error("{}", .0.description())]
    Rule(#[from] Error),
    /// Holds the methods that the path takes.
    #[error("this path takes {0}")]
    Method(&'static str),
    /// Holds what the content type says.
    #[error("the body must be application/x-www-form-urlencoded or application/json; found {0}")]
    MediaType(String),
    #[error("the body must be application/json; found {0}")]
    NotJson(String),
    #[error("the body is larger than 64 KiB")]
    TooLarge,
    #[error("the body did not arrive whole and in time")]
    BodyIncomplete,
    #[error("the request was made by a page of another origin")]
    CrossOrigin(String),
    /// Holds the seconds to wait.
    #[error("too many failed attempts; try again later")]
    Throttled(i64),
    /// Holds the seconds to wait.
    #[error("too many logins from this client address; try again later")]
    TooManyLogins(i64),
    #[error("too many sign-ins at once; try again shortly")]
    Busy,
    #[error("too many streams of changes are open; close one, or try again later")]
    Streams,
    #[error("the hub is unavailable; try again shortly")]
    HubUnavailable,
    #[error("the answer of the hub cannot be read")]
    HubResponseInvalid,
    #[error("the hub does not accept the client id and secret of this satellite")]
    HubRefuses,
    #[error("{}", if *.0 == StateError::Full { "too many logins are under way; try again shortly" } else { "the login store is unavailable; try again shortly" })]
    ReplicaState(#[from] StateError),
    #[error("{}", if .0.is_outage() { "the database is unavailable; try again shortly" } else { INTERNAL })]
    Store(#[from] store::Error),
    /// A bug or a misconfiguration. Only the log names it.
    #[error("{INTERNAL}")]
    Internal(&'static str),
}

/// What a client hears of a bug.
const INTERNAL: &str = "something went wrong on our side";

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
            Problem::SlowBody | Problem::BrokenBody => OauthError::BodyIncomplete,
            _ => OauthError::Internal("a request could not be read"),
        }
    }
}

impl OauthError {
    pub(crate) fn code(&self) -> &'static str {
        self.head().0.as_str()
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.head().1
    }

    fn head(&self) -> (ErrorCode, StatusCode) {
        match self {
            OauthError::Rule(error) => (error.code(), rule_status(error.code())),
            OauthError::Method(_) => (ErrorCode::InvalidRequest, StatusCode::METHOD_NOT_ALLOWED),
            OauthError::MediaType(_) | OauthError::NotJson(_) => (ErrorCode::InvalidRequest, StatusCode::UNSUPPORTED_MEDIA_TYPE),
            OauthError::TooLarge => (ErrorCode::InvalidRequest, StatusCode::PAYLOAD_TOO_LARGE),
            OauthError::BodyIncomplete => (ErrorCode::InvalidRequest, StatusCode::BAD_REQUEST),
            OauthError::CrossOrigin(_) => (ErrorCode::InvalidRequest, StatusCode::FORBIDDEN),
            OauthError::Throttled(_) | OauthError::TooManyLogins(_) => (ErrorCode::TemporarilyUnavailable, StatusCode::TOO_MANY_REQUESTS),
            OauthError::HubResponseInvalid => (ErrorCode::ServerError, StatusCode::BAD_GATEWAY),
            OauthError::HubRefuses => (ErrorCode::InvalidClient, StatusCode::UNAUTHORIZED),
            OauthError::Store(error) if !error.is_outage() => (ErrorCode::ServerError, StatusCode::INTERNAL_SERVER_ERROR),
            OauthError::Internal(_) => (ErrorCode::ServerError, StatusCode::INTERNAL_SERVER_ERROR),
            OauthError::HubUnavailable | OauthError::ReplicaState(_) | OauthError::Busy | OauthError::Streams | OauthError::Store(_) => {
                (ErrorCode::TemporarilyUnavailable, StatusCode::SERVICE_UNAVAILABLE)
            }
        }
    }

    /// Whether the same request may work in a moment.
    pub(crate) fn is_temporary(&self) -> bool {
        self.status() == StatusCode::SERVICE_UNAVAILABLE
    }

    pub(crate) fn response(&self) -> Response<Body> {
        let (error, description) = (self.code(), self.to_string());
        let mut response = json_no_store(json!({ "error": error, "error_description": description }).to_string());
        response.extensions_mut().insert(ProblemSummary { code: error, detail: description });
        self.mark(&mut response);
        response
    }

    /// Sets the status and the headers of a refusal. Logs the cause, which the client does not see.
    pub(crate) fn mark(&self, response: &mut Response<Body>) {
        let status = self.status();
        match self {
            OauthError::Store(error) => outage_log::log(status.as_u16(), error),
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
            OauthError::Throttled(seconds) | OauthError::TooManyLogins(seconds) => Some((RETRY_AFTER, HeaderValue::from(*seconds))),
            OauthError::Streams => Some((RETRY_AFTER, STREAMS_RETRY)),
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

fn rule_status(code: ErrorCode) -> StatusCode {
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
