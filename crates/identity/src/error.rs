//! OAuth errors: a code of the RFCs and a fixed English sentence, which never contains input.

/// The codes of RFC 6749, RFC 6750 and OpenID Connect that this service answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    InvalidRequest,
    /// Client authentication failed, or the client is unknown or inactive.
    InvalidClient,
    /// The code, refresh token or password is invalid or expired.
    InvalidGrant,
    /// The client may not use this grant.
    UnauthorizedClient,
    UnsupportedGrantType,
    UnsupportedResponseType,
    RequestNotSupported,
    RequestUriNotSupported,
    /// More scope than was granted.
    InvalidScope,
    InvalidToken,
    /// The account may not use this app.
    AccessDenied,
    /// `prompt=none`, and nobody is signed in (OpenID Connect).
    LoginRequired,
    ServerError,
    TemporarilyUnavailable,
}

impl ErrorCode {
    pub const ALL: [ErrorCode; 14] = [
        ErrorCode::InvalidRequest,
        ErrorCode::InvalidClient,
        ErrorCode::InvalidGrant,
        ErrorCode::UnauthorizedClient,
        ErrorCode::UnsupportedGrantType,
        ErrorCode::UnsupportedResponseType,
        ErrorCode::RequestNotSupported,
        ErrorCode::RequestUriNotSupported,
        ErrorCode::InvalidScope,
        ErrorCode::InvalidToken,
        ErrorCode::AccessDenied,
        ErrorCode::LoginRequired,
        ErrorCode::ServerError,
        ErrorCode::TemporarilyUnavailable,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorCode::InvalidRequest => "invalid_request",
            ErrorCode::InvalidClient => "invalid_client",
            ErrorCode::InvalidGrant => "invalid_grant",
            ErrorCode::UnauthorizedClient => "unauthorized_client",
            ErrorCode::UnsupportedGrantType => "unsupported_grant_type",
            ErrorCode::UnsupportedResponseType => "unsupported_response_type",
            ErrorCode::RequestNotSupported => "request_not_supported",
            ErrorCode::RequestUriNotSupported => "request_uri_not_supported",
            ErrorCode::InvalidScope => "invalid_scope",
            ErrorCode::InvalidToken => "invalid_token",
            ErrorCode::AccessDenied => "access_denied",
            ErrorCode::LoginRequired => "login_required",
            ErrorCode::ServerError => "server_error",
            ErrorCode::TemporarilyUnavailable => "temporarily_unavailable",
        }
    }
}

/// A code and a description for people. The description is a constant, so that it cannot echo input or a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {description}", code.as_str())]
pub struct Error {
    code: ErrorCode,
    description: &'static str,
}

impl Error {
    pub const fn new(code: ErrorCode, description: &'static str) -> Self {
        Error { code, description }
    }

    pub const fn code(self) -> ErrorCode {
        self.code
    }

    /// The sentence: printable ASCII without quotes and backslashes, as RFC 6749 wants `error_description`.
    pub const fn description(self) -> &'static str {
        self.description
    }

    pub(crate) const fn request(description: &'static str) -> Self {
        Error::new(ErrorCode::InvalidRequest, description)
    }

    pub(crate) const fn client(description: &'static str) -> Self {
        Error::new(ErrorCode::InvalidClient, description)
    }

    pub(crate) const fn grant(description: &'static str) -> Self {
        Error::new(ErrorCode::InvalidGrant, description)
    }
}
