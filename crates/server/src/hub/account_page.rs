//! `/`: who is signed in, their sessions, and what they can do about both.

use std::fmt::Write;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::SET_COOKIE;
use axum::http::{Method, Response};
use identity::account::Account;
use identity::error::{Error, ErrorCode};
use identity::event::{Change, Event, Record};
use identity::parameters::Parameters;
use identity::password::Password;
use identity::session::{Ending, LiveSession};
use uuid::Uuid;

use crate::chance;
use crate::error::oauth::{Fault, Redirection, redirect};
use crate::pages::hub::{self as pages, escaped};

use super::incoming::{self, Sender};
use super::{Hub, credentials, name_of, session};

const WRONG: Error = Error::new(ErrorCode::InvalidGrant, "the present password is wrong");
const SHORT: Error = Error::new(ErrorCode::InvalidGrant, "a password has 8 characters at least and 1024 bytes at most");
const UNKNOWN: Error = Error::new(ErrorCode::InvalidRequest, "there is no such action");

pub(super) async fn answer(hub: &Hub, request: Request) -> Response<Body> {
    let answered = match *request.method() {
        Method::GET | Method::HEAD => {
            let sender = incoming::bare(hub, request);
            shown(hub, &sender, None).await
        }
        Method::POST => acted(hub, request).await,
        _ => Err(Fault::Method("GET, POST")),
    };
    answered.unwrap_or_else(|fault| pages::refusal(&fault))
}

async fn shown(hub: &Hub, sender: &Sender, refusal: Option<&Fault>) -> Result<Response<Body>, Fault> {
    let Some((live, account)) = session::live(hub, sender).await? else {
        return Ok(redirect(Redirection::SeeOther, "/sign-in"));
    };
    let mut rows = String::new();
    for seen in store::sessions::of_account(hub.records(), account.id, chance::now()).await? {
        let id = seen.session.id;
        let here = if id == live.id() { " (this one)" } else { "" };
        // Writing to a String cannot fail.
        _ = write!(
            rows,
            "<li><span>{}{here}<small>last used {} from {}</small></span><form method=\"post\" action=\"/\">\
             <input type=\"hidden\" name=\"action\" value=\"end\"><input type=\"hidden\" name=\"session\" value=\"{id}\">\
             <button class=\"small\" type=\"submit\">End</button></form></li>",
            escaped(seen.device.as_deref().unwrap_or("unknown device")),
            ago(chance::now().since(seen.last_used_at)),
            escaped(seen.address.as_deref().unwrap_or("somewhere")),
        );
    }
    let email = account.email.as_deref().map_or_else(String::new, |email| format!("<p>{}</p>", escaped(email)));
    let refused = refusal.map_or_else(String::new, |fault| pages::refused(fault.told().1));
    let body = format!(
        "<h1>{}</h1>{email}{refused}<h2>Sessions</h2><ul>{rows}</ul>\
         <form method=\"post\" action=\"/\"><input type=\"hidden\" name=\"action\" value=\"everywhere\"><button type=\"submit\">Sign out everywhere</button></form>\
         <h2>Change password</h2><form method=\"post\" action=\"/\"><input type=\"hidden\" name=\"action\" value=\"password\">\
         <input type=\"hidden\" name=\"username\" autocomplete=\"username\" value=\"{}\">\
         <label for=\"present\">Present password</label><input id=\"present\" name=\"present\" type=\"password\" autocomplete=\"current-password\" required>\
         <label for=\"chosen\">New password</label><input id=\"chosen\" name=\"chosen\" type=\"password\" autocomplete=\"new-password\" minlength=\"8\" required>\
         <button type=\"submit\">Change password</button></form>",
        escaped(name_of(&account)),
        escaped(name_of(&account)),
    );
    let mut response = pages::document("Your account", "wide", &body);
    if let Some(fault) = refusal {
        fault.mark(&mut response);
    }
    Ok(response)
}

async fn acted(hub: &Hub, request: Request) -> Result<Response<Body>, Fault> {
    let (sender, body) = incoming::posted(hub, request).await?;
    sender.refuse_foreign(hub.issuer())?;
    let Some((live, account)) = session::live(hub, &sender).await? else {
        return Ok(redirect(Redirection::SeeOther, "/sign-in"));
    };
    match body.get("action") {
        Some("end") => end_one(hub, &sender, &account, body.get("session")).await?,
        Some("everywhere") => {
            store::endings::end(hub.records(), &Ending::LogoutEverywhere(account.id), None, sender.occasion()).await?;
            let mut response = redirect(Redirection::SeeOther, "/sign-in");
            response.headers_mut().insert(SET_COOKIE, session::farewell(hub)?);
            return Ok(response);
        }
        Some("password") => {
            if let Err(fault) = change(hub, &sender, (&account, live), &body).await {
                return shown(hub, &sender, Some(&fault)).await;
            }
        }
        _ => return Err(UNKNOWN.into()),
    }
    Ok(redirect(Redirection::SeeOther, "/"))
}

/// Ends one session, if it is the account's own.
async fn end_one(hub: &Hub, sender: &Sender, account: &Account, id: Option<&str>) -> Result<(), Fault> {
    let id: Uuid = id.and_then(|id| id.parse().ok()).ok_or(UNKNOWN)?;
    let sessions = store::sessions::of_account(hub.records(), account.id, chance::now()).await?;
    if sessions.iter().any(|seen| seen.session.id == id) {
        store::endings::end(hub.records(), &Ending::Logout(id), None, sender.occasion()).await?;
    }
    Ok(())
}

/// Sets a new password, for who knows the present one; it ends everything but this session.
async fn change(hub: &Hub, sender: &Sender, (account, live): (&Account, LiveSession), body: &Parameters) -> Result<(), Fault> {
    let present = Password::presented(body.get("present").unwrap_or_default()).map_err(|_| WRONG)?;
    let chosen = Password::chosen(body.get("chosen").unwrap_or_default()).map_err(|_| SHORT)?;
    // Behind the same throttle as a sign-in: a browser left open must not be a place to guess.
    let judged = credentials::judge(hub, name_of(account), present, sender).await?;
    judged.admitted().filter(|found| found.id == account.id).ok_or(WRONG)?;
    let hash = hub.hasher().admit()?.make(chosen).await?;
    let ending = Ending::PasswordChanged { account: account.id, kept: Some(live.id()) };
    let event = Event::Changed { record: Record::Account(account.id), change: Change::CredentialChanged, actor: Some(account.id) };
    let mut transaction = hub.records().begin().await?;
    store::accounts::set_credential(&mut transaction, account.id, &hash, chance::now()).await?;
    store::endings::carry_out(&mut transaction, &ending, chance::now()).await?;
    store::events::append(&mut transaction, &event, sender.occasion()).await?;
    transaction.commit().await?;
    Ok(())
}

fn ago(seconds: i64) -> String {
    match seconds {
        ..120 => "just now".to_owned(),
        120..7_200 => format!("{} minutes ago", seconds / 60),
        _ => format!("{} hours ago", seconds / 3_600),
    }
}
