//! The pages of the hub, which work without scripts. Their templates are in `templates/hub/`.

pub(super) mod notice;
mod refusal;

use std::sync::LazyLock;

use askama::Template;
use aws_lc_rs::digest::{SHA256, digest};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use identity::parameters::Parameters;
use uuid::Uuid;

use crate::html::{self, CONTENT_POLICY};
use crate::problem::oauth::OauthError;

pub(super) use notice::Notice;
pub(super) use refusal::{dead_link, refusal, refusal_at};

const SHOW_PASSWORD_SCRIPT: &str = include_str!("pages/password.js");
/// The content policy of these pages. It names the script by its hash, so that no other script runs.
static POLICY_WITH_SCRIPT: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = STANDARD.encode(digest(&SHA256, SHOW_PASSWORD_SCRIPT.as_bytes()));
    HeaderValue::from_str(&format!("{CONTENT_POLICY}; script-src 'sha256-{hash}'")).unwrap_or(HeaderValue::from_static(CONTENT_POLICY))
});

#[derive(Debug, Template)]
#[template(path = "hub/sign_in.html")]
pub(super) struct SignInPage<'a> {
    pub(super) return_path: &'a str,
    /// The name of the app that the person signs in to.
    pub(super) app: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) notice: Option<Notice>,
    pub(super) refusal: Option<&'a OauthError>,
}

pub(super) fn sign_in(page: &SignInPage<'_>) -> Response {
    password_page(page, page.refusal)
}

#[derive(Debug, Template)]
#[template(path = "hub/set_password.html")]
struct SetPasswordPage<'a> {
    link: &'a str,
    name: &'a str,
    refusal: Option<&'a OauthError>,
}

pub(super) fn set_password(link: &str, name: &str, refusal: Option<&OauthError>) -> Response {
    password_page(&SetPasswordPage { link, name, refusal }, refusal)
}

#[derive(Debug, Template)]
#[template(path = "hub/confirm_logout.html")]
struct ConfirmLogoutPage<'a> {
    parameters: Vec<(&'static str, &'a str)>,
}

/// Asks before signing out, and keeps the parameters of the request for the answer.
pub(super) fn confirm_logout(parameters: &Parameters) -> Response {
    let kept = ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"];
    let parameters = kept.into_iter().filter_map(|name| Some((name, parameters.get(name)?))).collect();
    html::response(&ConfirmLogoutPage { parameters })
}

#[derive(Debug, Template)]
#[template(path = "hub/signed_out.html")]
struct SignedOutPage;

pub(super) fn signed_out() -> Response {
    html::response(&SignedOutPage)
}

#[derive(Debug, Template)]
#[template(path = "hub/account.html")]
pub(super) struct AccountPage<'a> {
    pub(super) id: Uuid,
    pub(super) name: &'a str,
    pub(super) email: Option<&'a str>,
    /// Whether `/docs` has something for the account.
    pub(super) may_read_records: bool,
    /// The session of this browser, then the others, the one used last first.
    pub(super) sessions: Vec<SessionRow>,
    pub(super) more: i64,
    pub(super) notice: Option<Notice>,
    pub(super) refusal: Option<&'a PasswordRefusal>,
}

#[derive(Debug)]
pub(super) struct SessionRow {
    pub(super) id: Uuid,
    pub(super) is_current: bool,
    pub(super) device: String,
    /// As RFC 3339.
    pub(super) signed_in_at: String,
    pub(super) last_used: String,
    pub(super) client_address: Option<String>,
}

#[derive(Debug)]
pub(super) struct PasswordRefusal {
    pub(super) error: OauthError,
    pub(super) input: PasswordInput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PasswordInput {
    Current,
    New,
}

impl AccountPage<'_> {
    fn refuses(&self, input: PasswordInput) -> bool {
        self.refusal.is_some_and(|refusal| refusal.input == input)
    }
}

pub(super) fn account(page: &AccountPage<'_>) -> Response {
    password_page(page, page.refusal.map(|refusal| &refusal.error))
}

/// A time of RFC 3339 as people read it: `2026-01-15 09:30:00 UTC`. Seconds may be all that tells two browsers apart.
fn readable_time(time: &str) -> String {
    format!("{} UTC", time.trim_end_matches('Z').replacen('T', " ", 1))
}

/// A page with a password input, with the status of the refusal that it shows.
fn password_page(page: &impl Template, refusal: Option<&OauthError>) -> Response {
    let mut response = html::response(page);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, POLICY_WITH_SCRIPT.clone());
    if let Some(error) = refusal {
        error.mark(&mut response);
    }
    response
}

fn alert_text(error: &OauthError) -> String {
    match error {
        OauthError::Throttled(..=1) => "Too many failed attempts. Try again in a second.".to_owned(),
        OauthError::Throttled(seconds @ ..120) => format!("Too many failed attempts. Try again in {seconds} seconds."),
        OauthError::Throttled(seconds) => format!("Too many failed attempts. Try again in {} minutes.", (seconds + 59) / 60),
        _ => html::sentence(&error.to_string()),
    }
}
