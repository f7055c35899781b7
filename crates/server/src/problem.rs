//! Refusals as `application/problem+json` (RFC 9457). Only this module chooses the statuses of refusals.

mod graphql;
pub(crate) mod oauth;
mod outage_log;
mod write;

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, ALLOW, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use identity::account::rights::RightsFault;
use identity::client::ClientId;
use serde::Serialize;

use crate::budget::Overloaded;

pub(crate) use graphql::MediaType;
pub use graphql::Refusal;
pub use write::{WriteFaultCode, WriteProblem};
pub(crate) use write::{write_fault_codes, write_problems};

/// Why a request is refused. The message is the `detail` that the client sees.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("{}", fault_summary("statement", .0.faults.iter().map(|fault| fault.message.as_str())))]
    Statement(#[from] query::error::Error),
    #[error("the permission this needs is missing")]
    Forbidden,
    #[error("this needs an access token: Authorization: Bearer …")]
    Unauthenticated,
    #[error("{0}")]
    InvalidToken(&'static str),
    #[error("{0}")]
    NotFound(&'static str),
    /// Holds the methods that the path takes.
    #[error("this path takes {0}")]
    MethodNotAllowed(&'static str),
    #[error("the body is larger than 1 MiB")]
    TooLarge,
    /// Holds what the content type says.
    #[error("the body must be application/json in UTF-8; found {0}")]
    MediaType(String),
    #[error("the body did not arrive in time")]
    SlowBody,
    #[error("the body ended before it was whole")]
    BrokenBody,
    #[error("{0}")]
    Malformed(&'static str),
    #[error("{}", fault_summary("input", .0.iter().map(|fault| fault.message.as_str())))]
    Input(Vec<InputFault>),
    #[error("this needs the permission {0}")]
    MissingPermission(Cow<'static, str>),
    #[error("{0}")]
    ClientMayNotAdminister(ReadOnlyToken),
    #[error("{0}")]
    Rights(RightsFault),
    #[error("{0}")]
    Exists(String, Vec<InputFault>),
    #[error("too many passwords are being hashed; try again shortly")]
    Busy,
    #[error("{0}")]
    Overloaded(#[from] Overloaded),
    #[error("the body has the Content-Encoding `{0}`; send it without")]
    ContentEncoding(String),
    #[error("this server does not serve the host of the request; ALLOWED_HOSTS and APP_URL name the hosts that it serves")]
    Misdirected,
    #[error("{1}")]
    Graphql(Refusal, String),
    #[error("the hub is unavailable, so no token can be checked; try again shortly")]
    HubUnavailable,
    #[error("{}", store_detail(.0))]
    Store(#[source] store::Error),
    #[error("{0}")]
    Write(#[from] WriteProblem),
    /// A bug or a misconfiguration. Only the log names it.
    #[error("{INTERNAL}")]
    Internal(&'static str),
}

/// The source of a token that may not change the hub's records.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadOnlyToken {
    #[error(
        "the client {0} of the access token may not change records of the hub; `peristyle client update --id {0} --administers true` allows it"
    )]
    Client(ClientId),
    #[error("a token of the page /docs of a hub changes nothing; use a token of a client, or the command line")]
    Page,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFault {
    pub code: &'static str,
    /// A JSON Pointer into the input.
    pub path: String,
    /// What was found and what is accepted.
    pub message: String,
}

/// The code and the detail of a problem, as an extension of its response, so that a page can show them.
#[derive(Clone, Debug)]
pub(crate) struct ProblemSummary {
    pub(crate) code: &'static str,
    pub(crate) detail: String,
}

/// What a client hears of a bug.
const INTERNAL: &str = "something went wrong on our side; the log has the request's id";

/// RFC 6750: the token is not valid.
const INVALID_TOKEN: HeaderValue = HeaderValue::from_static("Bearer error=\"invalid_token\"");

pub(crate) const NO_SUCH_PATH: Problem = Problem::NotFound("there is nothing at this path");

pub(crate) struct ProblemKind {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) title: &'static str,
    /// The name of a header of the response, and what it holds.
    pub(crate) header: Option<(&'static str, &'static str)>,
}

pub(crate) fn read_problems() -> Vec<ProblemKind> {
    let fault = query::error::Error { faults: Vec::new() };
    let unavailable = store::Error::Unavailable(String::new());
    let every = [
        Problem::Statement(fault),
        Problem::BrokenBody,
        Problem::Malformed(""),
        Problem::Unauthenticated,
        Problem::InvalidToken(""),
        Problem::Forbidden,
        NO_SUCH_PATH,
        Problem::MethodNotAllowed("GET"),
        Problem::SlowBody,
        Problem::TooLarge,
        Problem::MediaType(String::new()),
        Problem::ContentEncoding(String::new()),
        Problem::Internal(""),
        Problem::HubUnavailable,
        Problem::Misdirected,
        Problem::Store(unavailable),
        Problem::Store(store::Error::Overloaded),
        Problem::Store(store::Error::TooExpensive { cost: 0.0, max: 0.0 }),
        Problem::Store(store::Error::TooManyRows { max: 0 }),
        Problem::Store(store::Error::NotReady(String::new())),
        Problem::Store(store::Error::Unsupported(store::Refusal::default())),
        Problem::Store(store::Error::Timeout),
    ];
    every.iter().map(Problem::kind).collect()
}

/// Every problem that only operations of administration have.
pub(crate) fn administration_problems() -> Vec<ProblemKind> {
    let rights = [RightsFault::NotHeld, RightsFault::LastAdministrator, RightsFault::BuiltIn].map(Problem::Rights);
    let others = [Problem::Input(Vec::new()), Problem::Exists(String::new(), Vec::new())];
    let client = ClientId::parse("client").map(|client| Problem::ClientMayNotAdminister(ReadOnlyToken::Client(client)));
    others.iter().chain(&rights).chain(&client).map(Problem::kind).collect()
}

/// The JSON of a problem: RFC 9457 with a code and the faults.
#[derive(Serialize)]
struct ProblemJson {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: String,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<InputFault>>,
}

type ProblemHead = (StatusCode, &'static str, &'static str);

impl Problem {
    /// The problem of a lookup that is no statement of the caller. A timeout then means that the database is unavailable.
    pub(crate) fn of_records(error: store::Error) -> Self {
        Problem::Store(match error {
            store::Error::Timeout => store::Error::Unavailable(error.to_string()),
            other => other,
        })
    }

    /// The kind of problem, for programs.
    pub(crate) fn code(&self) -> &'static str {
        self.head().1
    }

    fn kind(&self) -> ProblemKind {
        let (status, code, title) = self.head();
        let header = self.header(status).map(|(name, _)| match name {
            ALLOW => ("Allow", "The methods that the path takes"),
            ACCEPT_ENCODING => ("Accept-Encoding", "The accepted content encodings of a body"),
            WWW_AUTHENTICATE => ("WWW-Authenticate", "The accepted authentication scheme"),
            _ => ("Retry-After", "Seconds to wait before trying again"),
        });
        ProblemKind { status: status.as_u16(), code, title, header }
    }

    fn head(&self) -> ProblemHead {
        match self {
            Problem::Statement(_) => (StatusCode::BAD_REQUEST, "INVALID_STATEMENT", "The statement is not valid"),
            Problem::Input(_) => (StatusCode::BAD_REQUEST, "INVALID_INPUT", "The input is not valid"),
            Problem::Forbidden | Problem::MissingPermission(_) => (StatusCode::FORBIDDEN, "FORBIDDEN", "Not allowed"),
            Problem::Rights(fault) => (StatusCode::FORBIDDEN, rights_code(*fault), rights_title(*fault)),
            Problem::ClientMayNotAdminister(_) => (StatusCode::FORBIDDEN, "CLIENT_MAY_NOT_ADMINISTER", "Client may not administer"),
            Problem::Exists(..) => (StatusCode::CONFLICT, "EXISTS", "Exists already"),
            Problem::Busy | Problem::Overloaded(_) | Problem::Store(store::Error::Overloaded) => {
                (StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", "Too busy")
            }
            Problem::ContentEncoding(_) => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_CONTENT_ENCODING", "Unsupported content encoding")
            }
            Problem::Misdirected => (StatusCode::MISDIRECTED_REQUEST, "MISDIRECTED", "Host not served"),
            Problem::Unauthenticated => (StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "Not signed in"),
            Problem::InvalidToken(_) => (StatusCode::UNAUTHORIZED, "INVALID_TOKEN", "Token not accepted"),
            Problem::NotFound(_) => (StatusCode::NOT_FOUND, "NOT_FOUND", "Not found"),
            Problem::MethodNotAllowed(_) => (StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "Method not allowed"),
            Problem::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", "Body too large"),
            Problem::MediaType(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", "Unsupported media type"),
            Problem::SlowBody => (StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", "Body too slow"),
            Problem::BrokenBody => (StatusCode::BAD_REQUEST, "BROKEN_BODY", "Body broken off"),
            Problem::Malformed(_) => (StatusCode::BAD_REQUEST, "BAD_REQUEST", "Request malformed"),
            Problem::Graphql(refusal, _) => refusal.head(),
            Problem::HubUnavailable => (StatusCode::SERVICE_UNAVAILABLE, "IDENTITY_UNAVAILABLE", "Hub out of reach"),
            Problem::Store(store::Error::Unavailable(_)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "DATABASE_UNAVAILABLE", "Database out of reach")
            }
            Problem::Store(store::Error::TooExpensive { .. }) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "TOO_EXPENSIVE", "Statement too expensive")
            }
            Problem::Store(store::Error::TooManyRows { .. }) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "TOO_MANY_ROWS", "Too many related rows")
            }
            Problem::Store(store::Error::NotReady(_)) => (StatusCode::SERVICE_UNAVAILABLE, "RESOURCE_NOT_READY", "Resource not ready"),
            Problem::Store(store::Error::Unsupported(_)) => {
                (StatusCode::NOT_IMPLEMENTED, "UNSUPPORTED_BY_DATABASE", "Not supported by the database")
            }
            Problem::Store(store::Error::Timeout) => (StatusCode::GATEWAY_TIMEOUT, "TIMEOUT", "Statement timed out"),
            Problem::Write(problem) => problem.head(),
            Problem::Store(_) | Problem::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", "Internal error"),
        }
    }

    /// The response. Logs the cause, which the client does not see.
    pub fn response(&self) -> Response<Body> {
        let (status, json) = self.json();
        let mut response = Response::new(Body::from(serde_json::to_vec(&json).unwrap_or_default()));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response.extensions_mut().insert(ProblemSummary { code: json.code, detail: json.detail });
        self.set_header(&mut response);
        response
    }

    /// The problem for GraphQL: the message, and the object for `extensions`.
    pub(crate) fn extensions(&self) -> (String, impl Serialize + use<>) {
        let (_, mut json) = self.json();
        if let Problem::Statement(_) | Problem::Input(_) | Problem::Write(WriteProblem::Input(_)) = self {
            json.code = "BAD_REQUEST";
        }
        (json.detail.clone(), json)
    }

    fn json(&self) -> (StatusCode, ProblemJson) {
        let (status, code, title) = self.head();
        match self {
            Problem::Store(error @ store::Error::TooExpensive { .. }) => tracing::warn!(%error, "refused a statement"),
            Problem::Store(error) if status.is_server_error() => outage_log::log(status.as_u16(), error),
            Problem::Internal(error) => tracing::error!(status = status.as_u16(), error, "request failed"),
            Problem::Write(WriteProblem::InDoubt(error)) => tracing::error!(%error, "a write may have been done or not"),
            _ => {}
        }
        let fault_json = |code, path: &str, message: &str| InputFault { code, path: path.to_owned(), message: message.to_owned() };
        let json = ProblemJson {
            kind: format!("urn:peristyle:problem:{}", code.to_lowercase().replace('_', "-")),
            title,
            status: status.as_u16(),
            detail: self.to_string(),
            code,
            errors: match self {
                Problem::Statement(error) => {
                    Some(error.faults.iter().map(|fault| fault_json(fault.code.as_str(), &fault.path, &fault.message)).collect())
                }
                Problem::Input(faults) | Problem::Exists(_, faults) => Some(faults.clone()),
                Problem::Write(problem) => problem.errors(),
                _ => None,
            },
        };
        (status, json)
    }

    fn set_header(&self, response: &mut Response<Body>) {
        if let Some((name, value)) = self.header(self.head().0) {
            response.headers_mut().insert(name, value);
        }
    }

    fn header(&self, status: StatusCode) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Problem::ContentEncoding(_) => Some((ACCEPT_ENCODING, HeaderValue::from_static("identity"))),
            Problem::MethodNotAllowed(allowed) => Some((ALLOW, HeaderValue::from_static(allowed))),
            Problem::Unauthenticated => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Problem::InvalidToken(_) => Some((WWW_AUTHENTICATE, INVALID_TOKEN)),
            // A retry does not help.
            Problem::Store(store::Error::NotReady(_)) => None,
            // A retry may do it twice.
            Problem::Write(WriteProblem::InDoubt(_)) => None,
            _ if status == StatusCode::SERVICE_UNAVAILABLE => Some((RETRY_AFTER, HeaderValue::from_static("2"))),
            _ => None,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        self.response()
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        match error {
            // The rows tell that this statement cannot be continued.
            store::Error::PageEnd(fault) => Problem::Statement(fault),
            other => Problem::Store(other),
        }
    }
}

/// What a client hears of a failure of the database. The log has the error itself.
fn store_detail(error: &store::Error) -> Cow<'static, str> {
    Cow::Borrowed(match error {
        store::Error::Overloaded => "every database connection is busy; try again shortly",
        store::Error::Unavailable(_) => "the database is unavailable; try again shortly",
        store::Error::TooExpensive { .. } => {
            "the database expects this statement to cost more than is allowed here (QUERY_MAX_COST); filter and order by fields that have \
             an index, ask for fewer rows with `limit`, or use `list` where no total is needed"
        }
        store::Error::TooManyRows { .. } => {
            "the answer has more related rows than are allowed here (QUERY_MAX_ROWS); give its relations a `limit`, or ask for fewer rows \
             with `limit`"
        }
        store::Error::NotReady(_) => {
            "the table or view of a resource is missing or not ready, such as a materialized view that was never refreshed; it must be fixed in the database, and the log names it"
        }
        store::Error::Unsupported(refusal) if !refusal.distant_relations().is_empty() => {
            return Cow::Owned(format!(
                "the database does not support this statement for distributed tables; rows of several servers meet in {}; leave out one of \
                 these, or ask for them in `relations`; a retry does not help, and the log has the reason",
                refusal.distant_relations().join(", ")
            ));
        }
        store::Error::Unsupported(_) => {
            "the database does not support this statement, such as for a distributed or foreign table; a retry does not help, and the log has the reason"
        }
        store::Error::Timeout => "the statement ran longer than `DATABASE_TIMEOUT` allows; narrow it with `where` or `limit`",
        _ => INTERNAL,
    })
}

/// The message of the one fault, or the number of faults.
fn fault_summary<'m>(what: &str, mut messages: impl ExactSizeIterator<Item = &'m str>) -> String {
    match (messages.len(), messages.next()) {
        (1, Some(message)) => message.to_owned(),
        (query::error::MAX_FAULTS, _) => {
            format!("the {what} has {max} faults or more; `errors` lists the first {max}", max = query::error::MAX_FAULTS)
        }
        (count, _) => format!("the {what} has {count} faults; each is listed in `errors`"),
    }
}

fn rights_title(fault: RightsFault) -> &'static str {
    match fault {
        RightsFault::NotHeld => "Right not held",
        RightsFault::LastAdministrator => "Last administrator",
        RightsFault::BuiltIn => "Built-in role",
    }
}

fn rights_code(fault: RightsFault) -> &'static str {
    match fault {
        RightsFault::NotHeld => "NOT_HELD",
        RightsFault::LastAdministrator => "LAST_ADMINISTRATOR",
        RightsFault::BuiltIn => "BUILT_IN_ROLE",
    }
}
