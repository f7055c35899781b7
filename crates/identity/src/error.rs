//! OAuth errors: a code of the RFCs and a fixed English sentence, which never contains input.

words! {
    /// The codes of RFC 6749, RFC 6750 and OpenID Connect that this service answers with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ErrorCode {
        InvalidRequest = "invalid_request",
        /// Client authentication failed, or the client is unknown or inactive.
        InvalidClient = "invalid_client",
        /// The code, refresh token or password is invalid or expired.
        InvalidGrant = "invalid_grant",
        /// The client may not use this grant.
        UnauthorizedClient = "unauthorized_client",
        UnsupportedGrantType = "unsupported_grant_type",
        UnsupportedResponseType = "unsupported_response_type",
        RequestNotSupported = "request_not_supported",
        RequestUriNotSupported = "request_uri_not_supported",
        /// More scope than was granted.
        InvalidScope = "invalid_scope",
        InvalidToken = "invalid_token",
        /// The account may not use this app.
        AccessDenied = "access_denied",
        /// `prompt=none` without a session (OpenID Connect).
        LoginRequired = "login_required",
        ServerError = "server_error",
        TemporarilyUnavailable = "temporarily_unavailable",
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
