//! How long tokens live, and how far the clocks of two machines may differ.

/// How far the clocks of two machines may differ.
pub const LEEWAY_SECONDS: i64 = 30;
/// The longest life of any token. A verifier refuses a token that claims more, also with a valid signature.
pub const MAX_TOKEN_SECONDS: i64 = 86_400;
pub const MAX_REFRESH_SECONDS: i64 = 366 * 86_400;
/// The default life of an access token.
pub const ACCESS_TOKEN_SECONDS: i64 = 3_600;
/// The default life of a refresh token.
pub const REFRESH_TOKEN_SECONDS: i64 = 2_592_000;

/// How long the tokens of a client live, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    access: i64,
    refresh: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("access tokens live 1 to {MAX_TOKEN_SECONDS} seconds, refresh tokens 1 to {MAX_REFRESH_SECONDS}")]
pub struct LifetimeFault;

impl Lifetimes {
    pub fn new(access_seconds: i64, refresh_seconds: i64) -> Result<Self, LifetimeFault> {
        let fits = (1..=MAX_TOKEN_SECONDS).contains(&access_seconds) && (1..=MAX_REFRESH_SECONDS).contains(&refresh_seconds);
        fits.then_some(Lifetimes { access: access_seconds, refresh: refresh_seconds }).ok_or(LifetimeFault)
    }

    pub fn access_seconds(self) -> i64 {
        self.access
    }

    pub fn refresh_seconds(self) -> i64 {
        self.refresh
    }
}

impl Default for Lifetimes {
    fn default() -> Self {
        Lifetimes { access: ACCESS_TOKEN_SECONDS, refresh: REFRESH_TOKEN_SECONDS }
    }
}
