//! `/password?link=…`: sets a password by a one-time link. Showing the form does not use up the link, since mail programs open links.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use identity::account::Account;
use identity::error::{Error, ErrorCode};
use identity::form;
use identity::parameters::Parameters;
use identity::password::Password;
use identity::password_link::LinkRecord;
use identity::secret_token::LinkToken;
use store::hub_records::{accounts, password_links};

use crate::clock;
use crate::hub::credentials::{self, Renewal, Right};
use crate::hub::form_request::{self, RequestContext};
use crate::hub::pages::{self, notice};
use crate::hub::{Hub, name_of};
use crate::problem::oauth::OauthError;
use crate::response::{Redirection, redirect};

const DEAD: Error = Error::new(ErrorCode::InvalidRequest, "the link is unknown, expired or used");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Response {
    let answered = match *request.method() {
        Method::GET | Method::HEAD => show(&hub, request).await,
        Method::POST => set(&hub, request).await,
        _ => Err(OauthError::Method("GET, POST")),
    };
    answered.unwrap_or_else(|error| match &error {
        OauthError::Rule(rule) if *rule == DEAD => pages::dead_link(&error),
        _ => pages::refusal(&error),
    })
}

async fn show(hub: &Hub, request: Request) -> Result<Response, OauthError> {
    let context = form_request::bare(hub, request);
    let parameters = context.parameters()?;
    let (token, account) = open_link(hub, &parameters).await?;
    Ok(pages::set_password(&token.expose(), name_of(&account), None))
}

async fn set(hub: &Hub, request: Request) -> Result<Response, OauthError> {
    let (context, body) = form_request::posted(hub, request).await?;
    hub.refuse_cross_origin(&context).await?;
    match set_password(hub, &context, &body).await {
        // The link is in the body; a reload of the URL would lose it.
        Err(error) if error.is_temporary() => {
            let link = form::encode(body.get("link").unwrap_or_default());
            Ok(pages::refusal_at(&error, &format!("/password?link={link}")))
        }
        answered => answered,
    }
}

async fn set_password(hub: &Hub, context: &RequestContext, body: &Parameters) -> Result<Response, OauthError> {
    let (token, account) = open_link(hub, body).await?;
    let Ok(password) = Password::chosen(body.get("password").unwrap_or_default()) else {
        return Ok(pages::set_password(&token.expose(), name_of(&account), Some(&credentials::INVALID_PASSWORD.into())));
    };
    let hash = hub.hasher().admit()?.make(password).await?;
    let mut transaction = hub.records().begin().await?;
    if !password_links::use_up(&mut transaction, &token.digest(), clock::now()).await? {
        return Err(DEAD.into());
    }
    let renewal = Renewal { account: account.id, hash: &hash, right: Right::Link };
    if !credentials::renew(transaction, &renewal, context).await? {
        return Err(DEAD.into());
    }
    Ok(redirect(Redirection::SeeOther, &notice::PASSWORD_SET.at("/sign-in"))?)
}

async fn open_link(hub: &Hub, parameters: &Parameters) -> Result<(LinkToken, Account), OauthError> {
    let token = parameters.get("link").and_then(LinkToken::parse).ok_or(DEAD)?;
    let row = password_links::load(hub.records(), &token.digest()).await?;
    let id = LinkRecord::open(row.as_ref(), clock::now()).map_err(|_| DEAD)?;
    let account = accounts::by_id(hub.records(), id).await?;
    Ok((token, account.filter(|account| account.deleted_at.is_none()).ok_or(DEAD)?))
}
