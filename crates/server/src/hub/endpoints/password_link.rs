//! `/password?link=…`: the page behind an invitation or a reset, where whoever holds the link sets one account's password, once. Showing
//! the form uses nothing up, since mail programs open links on their own.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, Response};
use identity::account::Account;
use identity::error::{Error, ErrorCode};
use identity::form;
use identity::link::LinkRecord;
use identity::opaque::LinkToken;
use identity::parameters::Parameters;
use identity::password::Password;

use crate::clock;
use crate::hub::credentials::{self, Renewal, Right};
use crate::hub::form_request::{self, RequestContext};
use crate::hub::{Hub, name_of};
use crate::pages::hub::{self as pages, Notice};
use crate::problem::oauth::OauthError;
use crate::response::{Redirection, redirect};

const DEAD: Error = Error::new(ErrorCode::InvalidRequest, "the link is unknown, expired or used");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Response<Body> {
    let hub = &hub;
    let answered = match *request.method() {
        Method::GET | Method::HEAD => shown(hub, request).await,
        Method::POST => set(hub, request).await,
        _ => Err(OauthError::Method("GET, POST")),
    };
    answered.unwrap_or_else(|fault| match &fault {
        OauthError::Rule(error) if *error == DEAD => pages::dead_link(&fault),
        _ => pages::refusal(&fault),
    })
}

async fn shown(hub: &Hub, request: Request) -> Result<Response<Body>, OauthError> {
    let sender = form_request::bare(hub, request);
    let parameters = sender.parameters()?;
    let (token, account) = opened(hub, &parameters).await?;
    Ok(pages::set_password(&token.expose(), name_of(&account), None))
}

async fn set(hub: &Hub, request: Request) -> Result<Response<Body>, OauthError> {
    let (sender, body) = form_request::posted(hub, request).await?;
    hub.refuse_foreign(&sender).await?;
    match renewed(hub, &sender, &body).await {
        // The link is in the body: to open this address again would lose it.
        Err(fault) if fault.is_temporary() => {
            let link = form::encode(body.get("link").unwrap_or_default());
            Ok(pages::refusal_at(&fault, &format!("/password?link={link}")))
        }
        answered => answered,
    }
}

async fn renewed(hub: &Hub, sender: &RequestContext, body: &Parameters) -> Result<Response<Body>, OauthError> {
    let (token, account) = opened(hub, body).await?;
    let Ok(password) = Password::chosen(body.get("password").unwrap_or_default()) else {
        return Ok(pages::set_password(&token.expose(), name_of(&account), Some(&credentials::UNFIT.into())));
    };
    let hash = hub.hasher().admit()?.make(password).await?;
    let mut transaction = hub.records().begin().await?;
    if !store::links::take(&mut transaction, &token.digest(), clock::now()).await? {
        return Err(DEAD.into());
    }
    let renewal = Renewal { account: account.id, hash: &hash, right: Right::Link };
    if !credentials::renew(transaction, &renewal, sender).await? {
        return Err(DEAD.into());
    }
    Ok(redirect(Redirection::SeeOther, &Notice::PasswordSet.at("/sign-in"))?)
}

/// The link that is shown, and whose password it sets.
async fn opened(hub: &Hub, parameters: &Parameters) -> Result<(LinkToken, Account), OauthError> {
    let token = parameters.get("link").and_then(LinkToken::parse).ok_or(DEAD)?;
    let row = store::links::load(hub.records(), &token.digest()).await?;
    let id = LinkRecord::open(row.as_ref(), clock::now()).map_err(|_| DEAD)?;
    let account = store::accounts::by_id(hub.records(), id).await?;
    Ok((token, account.filter(|account| account.deleted_at.is_none()).ok_or(DEAD)?))
}
