//! The page of who is signed in: their sessions, and their password.

use std::fmt::Write;

use axum::body::Body;
use axum::http::Response;
use uuid::Uuid;

use crate::problem::oauth::OauthError as Fault;

use super::super::document::escaped;
use super::{INVALID, Notice, PASSWORD_HINT, for_password_managers, refused, told, with_reveal};

/// What the page shows.
#[derive(Debug)]
pub(crate) struct AccountPage<'a> {
    /// Whom the forms are for.
    pub(crate) id: Uuid,
    /// Who it is.
    pub(crate) name: &'a str,
    pub(crate) email: Option<&'a str>,
    /// Their sessions: the one they are in, then the one used last.
    pub(crate) sessions: Vec<SessionLine>,
    /// How many more there are.
    pub(crate) more: i64,
    /// What has just been done.
    pub(crate) notice: Option<Notice>,
    /// Why the password was not changed.
    pub(crate) refusal: Option<&'a ChangeRefused>,
}

/// A session in the list.
#[derive(Debug)]
pub(crate) struct SessionLine {
    pub(crate) id: Uuid,
    /// Whether it is the one of this very browser.
    pub(crate) here: Here,
    /// What it is used with.
    pub(crate) device: String,
    /// When it began, as RFC 3339.
    pub(crate) signed_in_at: String,
    /// When it was used last, such as "5 minutes ago".
    pub(crate) used: String,
    /// The client address it began from.
    pub(crate) address: Option<String>,
}

/// Whether a session is the one that the page is shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Here {
    Yes,
    No,
}

/// A new password that was not taken.
#[derive(Debug)]
pub(crate) struct ChangeRefused {
    pub(crate) fault: Fault,
    /// Which input is to be looked at again.
    pub(crate) field: Field,
}

/// An input of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Present,
    Chosen,
}

/// The page.
pub(crate) fn account(page: &AccountPage<'_>) -> Response<Body> {
    let name = escaped(page.name);
    let email = page.email.filter(|email| *email != page.name);
    let email = email.map_or_else(String::new, |email| format!("<p class=\"lead\">{}</p>", escaped(email)));
    let notice = page.notice.map_or_else(String::new, Notice::told);
    let body = format!(
        "<div class=\"sheet who\"><div><p class=\"hint\">Signed in as</p><h1>{name}</h1>{email}</div>\
         <form method=\"post\" action=\"/logout\"><button type=\"submit\">Sign out</button></form></div>{notice}{}{}",
        sessions(page),
        password(page, &name)
    );
    told("Your account", "wide", &body, page.refusal.map(|refused| &refused.fault))
}

/// What a form does, and for whom: by the time it is sent, somebody else may be signed in.
fn action(page: &AccountPage<'_>, word: &str) -> String {
    format!("<input type=\"hidden\" name=\"action\" value=\"{word}\"><input type=\"hidden\" name=\"account\" value=\"{}\">", page.id)
}

fn sessions(page: &AccountPage<'_>) -> String {
    let mut rows = String::new();
    for line in &page.sessions {
        let device = escaped(&line.device);
        let from = line.address.as_deref().map_or_else(String::new, |address| format!(" from {}", escaped(address)));
        let (moment, time) = (escaped(&line.signed_in_at), escaped(&readable(&line.signed_in_at)));
        let end = match line.here {
            Here::Yes => "<span class=\"badge\">This browser</span>".to_owned(),
            Here::No => format!(
                "<form method=\"post\" action=\"/\">{}<input type=\"hidden\" name=\"session\" value=\"{}\">\
                 <button type=\"submit\" aria-label=\"Sign out {device}, signed in {time}{from}\">Sign out</button></form>",
                action(page, "end"),
                line.id
            ),
        };
        // Writing to a String cannot fail.
        _ = write!(
            rows,
            "<li><div><span class=\"device\">{device}</span><span class=\"hint\">Signed in <time datetime=\"{moment}\">{time}</time>{from}</span>\
             <span class=\"hint\">Last used {}</span></div>{end}</li>",
            line.used
        );
    }
    let more = if page.more > 0 { format!("<p class=\"hint\">And {} more.</p>", page.more) } else { String::new() };
    format!(
        "<section class=\"sheet\" aria-labelledby=\"sessions\"><h2 id=\"sessions\">Where you are signed in</h2><ul>{rows}</ul>{more}\
         <form method=\"post\" action=\"/\">{}\
         <button type=\"submit\" aria-describedby=\"everywhere\">Sign out everywhere</button>\
         <p class=\"hint\" id=\"everywhere\">Ends every session, this one too, and signs you out of the apps you opened.</p></form></section>",
        action(page, "everywhere")
    )
}

fn password(page: &AccountPage<'_>, escaped_name: &str) -> String {
    let (alert, present, chosen) = match page.refusal {
        None => (String::new(), String::new(), " aria-describedby=\"hint\""),
        Some(refusal) if refusal.field == Field::Present => {
            (refused(&refusal.fault), format!(" autofocus{INVALID}"), " aria-describedby=\"hint\"")
        }
        Some(refusal) => (refused(&refusal.fault), String::new(), " autofocus aria-describedby=\"refusal hint\" aria-invalid=\"true\""),
    };
    let current = format!("<input id=\"present\" name=\"present\" type=\"password\" autocomplete=\"current-password\" required{present}>");
    let new =
        format!("<input id=\"chosen\" name=\"chosen\" type=\"password\" autocomplete=\"new-password\" minlength=\"8\" required{chosen}>");
    format!(
        "<section class=\"sheet\" aria-labelledby=\"change\"><h2 id=\"change\">Change your password</h2>{alert}\
         <form method=\"post\" action=\"/\">{}{}\
         <label for=\"present\">Current password</label>{}\
         <label for=\"chosen\">New password</label>{}\
         <p class=\"hint\" id=\"hint\">{PASSWORD_HINT} Changing it signs you out everywhere else.</p>\
         <button class=\"primary\" type=\"submit\">Change password</button></form></section>",
        action(page, "password"),
        for_password_managers(escaped_name),
        with_reveal(&current, "present", "current password"),
        with_reveal(&new, "chosen", "new password")
    )
}

/// A moment of RFC 3339 as people read it, `2026-01-15 09:30:00 UTC`: to the second, since that may be all that tells two browsers apart.
fn readable(moment: &str) -> String {
    format!("{} UTC", moment.trim_end_matches('Z').replacen('T', " ", 1))
}
