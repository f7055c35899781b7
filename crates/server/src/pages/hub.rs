//! The hub's pages: the sign-in form, who is signed in, and refusals that a person can read. Plain documents that work without scripts;
//! every text that is not ours goes through [`escaped`].

mod account;
mod notice;
mod refusal;

use axum::body::Body;
use axum::http::Response;
use identity::parameters::Parameters;

use crate::problem::oauth::OauthError as Fault;

use super::document::{Document, Scripts, Style, escaped, sentence};

pub(crate) use account::{AccountPage, ChangeRefused, Field, Here, SessionLine, account};
pub(crate) use notice::Notice;
pub(crate) use refusal::{dead_link, refusal, refusal_at};

/// What a password needs, said before it is asked for.
const PASSWORD_HINT: &str = "At least 8 characters. Several words in a row are easy to remember and hard to guess.";

/// What the sign-in page shows.
#[derive(Debug)]
pub(crate) struct SignIn<'a> {
    /// Where it goes on to.
    pub(crate) continuation: &'a str,
    /// What one signs in to.
    pub(crate) app: Option<&'a str>,
    /// The name that was typed before.
    pub(crate) name: &'a str,
    /// What has just been done.
    pub(crate) notice: Option<Notice>,
    /// Why that did not do.
    pub(crate) refusal: Option<&'a Fault>,
}

/// The sign-in page.
pub(crate) fn sign_in(page: &SignIn<'_>) -> Response<Body> {
    let lead = match page.app {
        Some(app) => format!("to continue to <strong>{}</strong>", escaped(app)),
        None => "to your account".to_owned(),
    };
    let notice = page.notice.map_or_else(String::new, Notice::told);
    let refusal = page.refusal.map_or_else(String::new, refused);
    let described = if page.refusal.is_some() { INVALID } else { "" };
    // Who has typed a name already goes on with the password.
    let (first, second) = if page.name.is_empty() { (" autofocus", "") } else { ("", " autofocus") };
    let password = format!(
        "<input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" required{second}{described}>"
    );
    let body = format!(
        "<div class=\"sheet\"><h1>Sign in</h1><p class=\"lead\">{lead}</p>{notice}{refusal}\
         <form method=\"post\" action=\"/sign-in\">\
         <input type=\"hidden\" name=\"continue\" value=\"{}\">\
         <label for=\"username\">Username or email</label>\
         <input id=\"username\" name=\"username\" type=\"text\" value=\"{}\" autocomplete=\"username\" autocapitalize=\"none\" spellcheck=\"false\" required{first}{described}>\
         <label for=\"password\">Password</label>{}\
         <button class=\"primary\" type=\"submit\">Sign in</button></form></div>",
        escaped(page.continuation),
        escaped(page.name),
        with_reveal(&password, "password", "password")
    );
    let title = page.app.map_or_else(|| "Sign in".to_owned(), |app| format!("Sign in to {app}"));
    told(&title, "", &body, page.refusal)
}

/// The form behind a one-time link. Its address is the link itself, so nobody is told where this page was.
pub(crate) fn set_password(link: &str, name: &str, refusal: Option<&Fault>) -> Response<Body> {
    let refused = refusal.map_or_else(String::new, refused);
    let invalid = if refusal.is_some() { " aria-invalid=\"true\"" } else { "" };
    let describes = if refusal.is_some() { "refusal hint" } else { "hint" };
    let name = escaped(name);
    let password = format!(
        "<input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"new-password\" minlength=\"8\" required autofocus aria-describedby=\"{describes}\"{invalid}>"
    );
    let body = format!(
        "<div class=\"sheet\"><h1>Choose a password</h1><p class=\"lead\">for <strong>{name}</strong></p>{refused}\
         <form method=\"post\" action=\"/password\"><input type=\"hidden\" name=\"link\" value=\"{}\">{}\
         <label for=\"password\">New password</label>{}\
         <p class=\"hint\" id=\"hint\">{PASSWORD_HINT}</p>\
         <button class=\"primary\" type=\"submit\">Set password</button></form></div>",
        escaped(link),
        for_password_managers(&name),
        with_reveal(&password, "password", "new password")
    );
    told("Choose a password", "", &body, refusal)
}

/// Asks before signing out.
pub(crate) fn confirm_logout(parameters: &Parameters) -> Response<Body> {
    let kept = ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"];
    let hidden: String = kept
        .iter()
        .filter_map(|name| Some(format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", escaped(parameters.get(name)?))))
        .collect();
    let body = format!(
        "<div class=\"sheet\"><h1>Sign out?</h1><p class=\"lead\">This ends your session here and in the apps you opened with it.</p>\
         <form method=\"post\" action=\"/logout\">{hidden}<button class=\"primary\" type=\"submit\" autofocus>Sign out</button></form>\
         <p class=\"aside\"><a href=\"/\">Stay signed in</a></p></div>"
    );
    document("Sign out?", "", &body)
}

/// Says that it is done.
pub(crate) fn signed_out() -> Response<Body> {
    let body = "<div class=\"sheet\"><h1>Signed out</h1><p class=\"lead\">You can close this page.</p>\
                <p><a href=\"/sign-in\">Sign in again</a></p></div>";
    document("Signed out", "", body)
}

/// A page with a form that takes a password, and may show a refusal: the title says so first, since that is what is read out first, and
/// the status goes with it.
fn told(title: &str, class: &str, body: &str, refusal: Option<&Fault>) -> Response<Body> {
    let page = |title: &str| Document { title, class, style: Style::Hub, scripts: Scripts::ShowPassword, body }.answer();
    let Some(fault) = refusal else { return page(title) };
    let mut response = page(&format!("Error: {title}"));
    fault.mark(&mut response);
    response
}

/// A page of the hub without a form that takes a password.
fn document(title: &str, class: &str, body: &str) -> Response<Body> {
    Document { title, class, style: Style::Hub, scripts: Scripts::None, body }.answer()
}

/// A password input with a button that shows what was typed. The script of the page makes the button appear.
fn with_reveal(input: &str, id: &str, what: &str) -> String {
    format!(
        "<div class=\"secret\">{input}<button type=\"button\" class=\"reveal\" data-input=\"{id}\" data-what=\"{what}\" \
         aria-controls=\"{id}\" aria-label=\"Show {what}\" hidden>Show</button></div>"
    )
}

/// Marks an input that a refusal is about.
const INVALID: &str = " aria-describedby=\"refusal\" aria-invalid=\"true\"";

/// Password managers look for the name that a password is for in an input that is no hidden one.
fn for_password_managers(escaped_name: &str) -> String {
    format!(
        "<input class=\"unseen\" type=\"text\" name=\"username\" value=\"{escaped_name}\" autocomplete=\"username\" readonly tabindex=\"-1\" aria-hidden=\"true\">"
    )
}

/// A refusal that is announced. Who is to wait is told for how long.
fn refused(fault: &Fault) -> String {
    match fault {
        Fault::Throttled(..=1) => alert("Too many failed attempts. Try again in a second."),
        Fault::Throttled(seconds @ ..120) => alert(&format!("Too many failed attempts. Try again in {seconds} seconds.")),
        Fault::Throttled(seconds) => alert(&format!("Too many failed attempts. Try again in {} minutes.", (seconds + 59) / 60)),
        _ => alert(&fault.told().1),
    }
}

fn alert(text: &str) -> String {
    format!("<p class=\"refusal\" id=\"refusal\" role=\"alert\">{}</p>", escaped(&sentence(text)))
}
