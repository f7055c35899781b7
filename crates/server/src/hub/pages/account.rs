//! The account page: the account's sessions and its password.

use askama::Template;
use axum::body::Body;
use axum::http::Response;
use uuid::Uuid;

use crate::problem::oauth::OauthError;

use super::{Notice, alert_text, password_page};

#[derive(Debug, Template)]
#[template(path = "hub/account.html")]
pub(in crate::hub) struct AccountPage<'a> {
    pub(in crate::hub) id: Uuid,
    pub(in crate::hub) name: &'a str,
    pub(in crate::hub) email: Option<&'a str>,
    /// The session of this browser, then the others, the one used last first.
    pub(in crate::hub) sessions: Vec<SessionRow>,
    pub(in crate::hub) more: i64,
    pub(in crate::hub) notice: Option<Notice>,
    pub(in crate::hub) refusal: Option<&'a PasswordRefusal>,
}

#[derive(Debug)]
pub(in crate::hub) struct SessionRow {
    pub(in crate::hub) id: Uuid,
    pub(in crate::hub) is_current: bool,
    pub(in crate::hub) device: String,
    /// As RFC 3339.
    pub(in crate::hub) signed_in_at: String,
    /// Such as "5 minutes ago".
    pub(in crate::hub) last_used: String,
    pub(in crate::hub) client_address: Option<String>,
}

#[derive(Debug)]
pub(in crate::hub) struct PasswordRefusal {
    pub(in crate::hub) fault: OauthError,
    pub(in crate::hub) input: PasswordInput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hub) enum PasswordInput {
    Current,
    New,
}

impl AccountPage<'_> {
    fn refuses(&self, input: PasswordInput) -> bool {
        self.refusal.is_some_and(|refusal| refusal.input == input)
    }
}

pub(in crate::hub) fn account(page: &AccountPage<'_>) -> Response<Body> {
    password_page(page, page.refusal.map(|refusal| &refusal.fault))
}

/// A time of RFC 3339 as people read it: `2026-01-15 09:30:00 UTC`. Seconds may be all that tells two browsers apart.
fn readable_time(time: &str) -> String {
    format!("{} UTC", time.trim_end_matches('Z').replacen('T', " ", 1))
}
