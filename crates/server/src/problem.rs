//! Problems as clients see them: the only module that chooses statuses.

mod graphql;
pub(crate) mod oauth;

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, ALLOW, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use identity::account::rights::RightsFault;
use identity::client::ClientId;
use query::error::Fault;
use serde::Serialize;

use crate::budget::Overloaded;

pub(crate) use graphql::MediaType;
pub use graphql::Refusal;

/// Something a request cannot get, told as `application/problem+json`.
#[derive(Debug)]
pub enum Problem {
    /// The statement has faults.
    Statement(query::error::Error),
    /// The caller may not.
    Forbidden,
    /// The caller has not said who they are.
    Unauthenticated,
    /// The caller's token is not good.
    InvalidToken(&'static str),
    /// No such path, or no such row.
    NotFound(&'static str),
    /// Another method is meant.
    MethodNotAllowed(&'static str),
    /// The body is larger than 1 MiB.
    TooLarge,
    /// The body is no JSON by its own word.
    MediaType,
    /// The body did not come in time.
    SlowBody,
    /// The body broke off.
    BrokenBody,
    /// The address or a header is not what the endpoint reads.
    Malformed(&'static str),
    /// The input of an operation has faults.
    Input(Vec<InputFault>),
    /// The caller may, but lacks this permission for a part of it.
    Lacking(&'static str),
    /// The caller may, but the client of their token is not marked to change the hub's records.
    ClientMayNotAdminister(ClientId),
    /// The change would give or take what nobody may.
    Rights(RightsFault),
    /// What would be made exists already.
    Exists(String),
    /// Too many passwords are being hashed.
    Busy,
    /// A budget of the process is used up.
    Overloaded(Overloaded),
    /// The body is compressed, which is not read.
    ContentEncoding,
    /// The request names a host that this process does not answer to.
    Misdirected,
    /// A GraphQL request that cannot be answered, and why.
    Graphql(Refusal, String),
    /// The hub is out of reach, so that nobody can be known.
    Identity,
    /// The database's side.
    Store(store::Error),
    /// A fault of ours; what it is, only the log tells.
    Internal(&'static str),
}

/// One fault of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFault {
    /// What kind of fault.
    pub code: &'static str,
    /// A JSON Pointer into what was sent.
    pub path: String,
    /// What was found and what is accepted.
    pub message: String,
}

/// The code and the detail of a problem, as an extension of its response, so that a page can show them.
#[derive(Clone, Debug)]
pub(crate) struct ProblemSummary {
    pub(crate) code: &'static str,
    pub(crate) detail: Cow<'static, str>,
}

/// RFC 6750's word for a token that is not good.
const INVALID_TOKEN: HeaderValue = HeaderValue::from_static("Bearer error=\"invalid_token\"");

/// The problem of an address that leads nowhere.
pub(crate) const NOWHERE: Problem = Problem::NotFound("there is nothing at this address");

impl From<query::error::Error> for Problem {
    fn from(error: query::error::Error) -> Self {
        Problem::Statement(error)
    }
}

impl From<Overloaded> for Problem {
    fn from(overloaded: Overloaded) -> Self {
        Problem::Overloaded(overloaded)
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        Problem::Store(error)
    }
}

/// A kind of problem as a description tells it.
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) title: &'static str,
    /// A header that comes with it, and what it says.
    pub(crate) header: Option<(&'static str, &'static str)>,
}

/// Every problem that reading has, for the descriptions.
pub(crate) fn told() -> Vec<Told> {
    let fault = query::error::Error { faults: Vec::new() };
    let unavailable = store::Error::Unavailable(String::new());
    let every = [
        Problem::Statement(fault),
        Problem::BrokenBody,
        Problem::Malformed(""),
        Problem::Unauthenticated,
        Problem::InvalidToken(""),
        Problem::Forbidden,
        NOWHERE,
        Problem::MethodNotAllowed("GET"),
        Problem::SlowBody,
        Problem::TooLarge,
        Problem::MediaType,
        Problem::ContentEncoding,
        Problem::Internal(""),
        Problem::Identity,
        Problem::Misdirected,
        Problem::Store(unavailable),
        Problem::Store(store::Error::Overloaded),
        Problem::Store(store::Error::TooExpensive { cost: 0.0, max: 0.0 }),
        Problem::Store(store::Error::NotReady(String::new())),
        Problem::Store(store::Error::Timeout),
    ];
    every.iter().map(Problem::told).collect()
}

/// Every problem that only the operations of administration have.
pub(crate) fn told_of_operations() -> Vec<Told> {
    let rights = [RightsFault::NotHeld, RightsFault::LastAdministrator, RightsFault::BuiltIn].map(Problem::Rights);
    let others = [Problem::Input(Vec::new()), Problem::Exists(String::new())];
    let client = ClientId::parse("client").map(Problem::ClientMayNotAdminister);
    others.iter().chain(&rights).chain(&client).map(Problem::told).collect()
}

/// RFC 9457, with our code and the statement's faults.
#[derive(Serialize)]
struct Wire<'p> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: String,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<WireFault<'p>>>,
}

#[derive(Serialize)]
struct WireFault<'p> {
    code: &'static str,
    path: &'p str,
    message: &'p str,
}

impl<'p> From<&'p Fault> for WireFault<'p> {
    fn from(fault: &'p Fault) -> Self {
        WireFault { code: fault.code.as_str(), path: &fault.path, message: &fault.message }
    }
}

impl<'p> From<&'p InputFault> for WireFault<'p> {
    fn from(fault: &'p InputFault) -> Self {
        WireFault { code: fault.code, path: &fault.path, message: &fault.message }
    }
}

/// How a problem is told.
struct Face {
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    detail: String,
}

impl Problem {
    /// What was asked is no statement of the caller's that could be narrowed: a hub's own records, or whether the database answers.
    pub(crate) fn of_records(error: store::Error) -> Self {
        Problem::Store(match error {
            store::Error::Timeout => store::Error::Unavailable(error.to_string()),
            other => other,
        })
    }

    fn told(&self) -> Told {
        let Face { status, code, title, .. } = self.face();
        let header = self.header(status).map(|(name, _)| match name {
            ALLOW => ("Allow", "The method that is meant"),
            ACCEPT_ENCODING => ("Accept-Encoding", "The encodings in which a body is read"),
            WWW_AUTHENTICATE => ("WWW-Authenticate", "How a caller says who they are"),
            _ => ("Retry-After", "Seconds to wait before trying again"),
        });
        Told { status: status.as_u16(), code, title, header }
    }

    fn face(&self) -> Face {
        let face = |status, code, title, detail: &str| Face { status, code, title, detail: detail.to_owned() };
        match self {
            Problem::Statement(error) => {
                let detail = counted("statement", error.faults.iter().map(|fault| fault.message.as_str()));
                face(StatusCode::BAD_REQUEST, "INVALID_STATEMENT", "The statement is not valid", &detail)
            }
            Problem::Input(faults) => {
                let detail = counted("input", faults.iter().map(|fault| fault.message.as_str()));
                face(StatusCode::BAD_REQUEST, "INVALID_INPUT", "The input is not valid", &detail)
            }
            Problem::Lacking(permission) => {
                face(StatusCode::FORBIDDEN, "FORBIDDEN", "Not allowed", &format!("this needs the permission {permission}"))
            }
            Problem::Rights(fault) => face(StatusCode::FORBIDDEN, rights_code(*fault), "Not yours to give or take", &fault.to_string()),
            Problem::ClientMayNotAdminister(client) => {
                let detail = format!(
                    "the access token is of the client {client}, whose flag administers is off, so that it may not change records of the hub; `peristyle client update --id {client} --administers true` turns it on"
                );
                face(StatusCode::FORBIDDEN, "CLIENT_MAY_NOT_ADMINISTER", "Client may not administer", &detail)
            }
            Problem::Exists(detail) => face(StatusCode::CONFLICT, "EXISTS", "Exists already", detail),
            Problem::Busy => {
                let detail = "too many passwords are being hashed; try again shortly";
                face(StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", "Too busy", detail)
            }
            Problem::Overloaded(overloaded) => face(StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", "Too busy", &overloaded.to_string()),
            Problem::ContentEncoding => face(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UNSUPPORTED_CONTENT_ENCODING",
                "Unsupported content encoding",
                "a body is sent as it is, without Content-Encoding",
            ),
            Problem::Misdirected => face(
                StatusCode::MISDIRECTED_REQUEST,
                "MISDIRECTED",
                "Host not served",
                "this server does not answer to the host of the request; ALLOWED_HOSTS and APP_URL say which hosts it answers to",
            ),
            Problem::Forbidden => face(StatusCode::FORBIDDEN, "FORBIDDEN", "Not allowed", "the permission this needs is missing"),
            Problem::Unauthenticated => {
                face(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "Not signed in", "this needs an access token: Authorization: Bearer …")
            }
            Problem::InvalidToken(detail) => face(StatusCode::UNAUTHORIZED, "INVALID_TOKEN", "Token not accepted", detail),
            Problem::NotFound(detail) => face(StatusCode::NOT_FOUND, "NOT_FOUND", "Not found", detail),
            Problem::MethodNotAllowed(allowed) => {
                face(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "Method not allowed", &format!("this address takes {allowed}"))
            }
            Problem::TooLarge => face(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", "Body too large", "a body has at most 1 MiB"),
            Problem::MediaType => face(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UNSUPPORTED_MEDIA_TYPE",
                "Unsupported media type",
                "a body is sent as application/json, in UTF-8",
            ),
            Problem::SlowBody => face(StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", "Body too slow", "the body did not arrive in time"),
            Problem::BrokenBody => face(StatusCode::BAD_REQUEST, "BROKEN_BODY", "Body broken off", "the body ended before it was whole"),
            Problem::Malformed(detail) => face(StatusCode::BAD_REQUEST, "BAD_REQUEST", "Request malformed", detail),
            Problem::Graphql(refusal, detail) => refusal.face(detail),
            Problem::Identity => face(
                StatusCode::SERVICE_UNAVAILABLE,
                "IDENTITY_UNAVAILABLE",
                "Hub out of reach",
                "the hub that knows the accounts cannot be reached; try again shortly",
            ),
            Problem::Store(store::Error::Overloaded) => {
                face(StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", "Too busy", "every database connection is busy; try again shortly")
            }
            Problem::Store(store::Error::Unavailable(_)) => face(
                StatusCode::SERVICE_UNAVAILABLE,
                "DATABASE_UNAVAILABLE",
                "Database out of reach",
                "the database cannot be reached; try again shortly",
            ),
            Problem::Store(store::Error::TooExpensive { .. }) => face(
                StatusCode::UNPROCESSABLE_ENTITY,
                "TOO_EXPENSIVE",
                "Statement too expensive",
                "the database expects this statement to cost more than is allowed here (QUERY_MAX_COST); filter and order by fields that \
                 have an index, ask for fewer rows with `limit`, or use `list` where no total is needed",
            ),
            Problem::Store(store::Error::NotReady(_)) => face(
                StatusCode::SERVICE_UNAVAILABLE,
                "RESOURCE_NOT_READY",
                "Resource not ready",
                "what this is read from is not ready, such as a materialized view that was never filled; it can be read once that is mended in the database",
            ),
            Problem::Store(store::Error::Timeout) => face(
                StatusCode::GATEWAY_TIMEOUT,
                "TIMEOUT",
                "Statement timed out",
                "the statement ran longer than allowed; narrow it with `where` or `limit`",
            ),
            Problem::Store(_) | Problem::Internal(_) => face(
                StatusCode::INTERNAL_SERVER_ERROR,
                "INTERNAL",
                "Internal error",
                "something went wrong on our side; the log has the request's id",
            ),
        }
    }

    /// The problem as an answer. What only the log may know is logged here, once.
    pub fn response(&self) -> Response<Body> {
        let (status, wire) = self.wire();
        let mut response = Response::new(Body::from(serde_json::to_vec(&wire).unwrap_or_default()));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response.extensions_mut().insert(ProblemSummary { code: wire.code, detail: wire.detail.into() });
        self.mark(&mut response);
        response
    }

    /// The same object as GraphQL carries it: the message, and the problem for `extensions`.
    pub(crate) fn extensions(&self) -> (String, impl Serialize + '_) {
        let (_, mut wire) = self.wire();
        if let Problem::Statement(_) | Problem::Input(_) = self {
            wire.code = "BAD_REQUEST";
        }
        (wire.detail.clone(), wire)
    }

    fn wire(&self) -> (StatusCode, Wire<'_>) {
        let Face { status, code, title, detail } = self.face();
        match self {
            Problem::Store(error @ store::Error::TooExpensive { .. }) => tracing::warn!(%error, "a statement was refused"),
            Problem::Store(error) if status.is_server_error() => tracing::error!(status = status.as_u16(), %error, "a request failed"),
            Problem::Internal(error) => tracing::error!(status = status.as_u16(), error, "a request failed"),
            _ => {}
        }
        let wire = Wire {
            kind: format!("urn:peristyle:problem:{}", code.to_lowercase().replace('_', "-")),
            title,
            status: status.as_u16(),
            detail,
            code,
            errors: match self {
                Problem::Statement(error) => Some(error.faults.iter().map(WireFault::from).collect()),
                Problem::Input(faults) => Some(faults.iter().map(WireFault::from).collect()),
                _ => None,
            },
        };
        (status, wire)
    }

    fn mark(&self, response: &mut Response<Body>) {
        if let Some((name, value)) = self.header(self.face().status) {
            response.headers_mut().insert(name, value);
        }
    }

    fn header(&self, status: StatusCode) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Problem::ContentEncoding => Some((ACCEPT_ENCODING, HeaderValue::from_static("identity"))),
            Problem::MethodNotAllowed(allowed) => Some((ALLOW, HeaderValue::from_static(allowed))),
            Problem::Unauthenticated => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Problem::InvalidToken(_) => Some((WWW_AUTHENTICATE, INVALID_TOKEN)),
            // Time alone does not help.
            Problem::Store(store::Error::NotReady(_)) => None,
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

/// The one fault, or how many there are.
fn counted<'m>(what: &str, mut messages: impl ExactSizeIterator<Item = &'m str>) -> String {
    match (messages.len(), messages.next()) {
        (1, Some(message)) => message.to_owned(),
        (query::error::MOST_FAULTS, _) => {
            format!("the {what} has {} faults or more; so many are listed in `errors`", query::error::MOST_FAULTS)
        }
        (count, _) => format!("the {what} has {count} faults; each is listed in `errors`"),
    }
}

fn rights_code(fault: RightsFault) -> &'static str {
    match fault {
        RightsFault::NotHeld => "NOT_HELD",
        RightsFault::LastAdministrator => "LAST_ADMINISTRATOR",
        RightsFault::BuiltIn => "BUILT_IN_ROLE",
    }
}
