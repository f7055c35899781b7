//! The work of the token endpoint: looks up rows, lets `identity` decide, and saves the decision in one transaction.

use identity::client::{Authenticated, Client, GrantType};
use identity::error::{Error, ErrorCode};
use identity::event::{Event, SignInRefusal};
use identity::grant::{Fresh, Issue, authorization_code, password, refresh_token};
use identity::opaque::{Code, RefreshToken};
use identity::parameters::Parameters;
use identity::session::Ending;
use identity::token_request::{Credentials, GrantRequest};
use store::codes::Redeemed;
use store::families::{Begun, Rotated};

use crate::problem::oauth::OauthError;
use crate::random;

use super::form_request::RequestContext;
use super::{Hub, client_authentication, credentials};

/// A concurrent request that was faster is seen at the next try.
const MAX_TRIES: usize = 3;
const RACED: OauthError = OauthError::Internal("a row changed at each try");
const CLOSED: Error = Error::new(ErrorCode::InvalidGrant, "the account or the app is closed");

/// A request for tokens, with the credentials of its client.
#[derive(Debug)]
pub(super) struct TokenRequest<'a> {
    pub(super) hub: &'a Hub,
    pub(super) context: &'a RequestContext,
    pub(super) credentials: &'a Credentials,
    pub(super) body: &'a Parameters,
}

impl TokenRequest<'_> {
    /// Executes the grant. It looks up the client together with the rows of the grant, in one query; they count only once the client is
    /// authenticated.
    pub(super) async fn execute(&self) -> Result<Issue, OauthError> {
        let code = self.body.get("code").and_then(Code::parse);
        let token = self.body.get("refresh_token").and_then(RefreshToken::parse);
        match (self.body.get("grant_type"), code, token) {
            (Some("authorization_code"), Some(code), _) => self.redeem(&code).await,
            (Some("refresh_token"), _, Some(token)) => self.refresh(&token).await,
            _ => self.sign_in().await,
        }
    }

    async fn authenticate<'c>(&self, client: Option<&'c Client>) -> Result<(Authenticated<'c>, GrantRequest), OauthError> {
        let proven = client_authentication::authenticate(self.hub, self.context, client, self.credentials).await?;
        match GrantRequest::read(proven, self.body) {
            Ok(request) => Ok((proven, request)),
            Err(error) => Err(self.refuse(proven, None, error).await?),
        }
    }

    /// `authorization_code`: redeems a code, once.
    async fn redeem(&self, code: &Code) -> Result<Issue, OauthError> {
        let records = self.hub.records();
        for _ in 0..MAX_TRIES {
            let rows = store::codes::presented(records, self.credentials.id(), &code.digest()).await?;
            let (client, request) = self.authenticate(rows.as_ref().map(|rows| &rows.client)).await?;
            let GrantRequest::AuthorizationCode { redirect_uri, verifier, .. } = request else { return Err(RACED) };
            let presented = authorization_code::Presented { client, redirect_uri: &redirect_uri, verifier: &verifier };
            let found = rows.as_ref().and_then(|rows| rows.code.as_ref());
            let (row, account) = (found.map(|(row, _)| row), found.map(|(_, account)| account));
            match authorization_code::decide(presented, row, account, fresh()?, self.hub.terms()) {
                authorization_code::Outcome::Redeem(redemption) => {
                    match store::codes::redeem(records, &redemption, client.client(), self.context.occasion()).await? {
                        Redeemed::Done => return Ok(redemption.begin.issue),
                        Redeemed::Late => {}
                        Redeemed::Refused => return Err(self.refuse(client, Some(GrantType::AuthorizationCode), CLOSED).await?),
                    }
                }
                authorization_code::Outcome::Replay { family, error } => {
                    let event = Event::CodeReplayed { client: client.client().id.clone(), family };
                    store::endings::end(records, &Ending::FamilyEnded(family), Some(&event), self.context.occasion()).await?;
                    return Err(error.into());
                }
                authorization_code::Outcome::Refused(error) => {
                    return Err(self.refuse(client, Some(GrantType::AuthorizationCode), error).await?);
                }
            }
        }
        Err(RACED)
    }

    /// `refresh_token`: rotates a refresh token.
    async fn refresh(&self, token: &RefreshToken) -> Result<Issue, OauthError> {
        let records = self.hub.records();
        for _ in 0..MAX_TRIES {
            let rows = store::families::presented(records, self.credentials.id(), &token.digest()).await?;
            let (client, request) = self.authenticate(rows.as_ref().map(|rows| &rows.client)).await?;
            let GrantRequest::RefreshToken { scope, .. } = request else { return Err(RACED) };
            let presented = refresh_token::Presented { client, token, scope: scope.as_ref() };
            let mut found = rows.as_ref().and_then(|rows| rows.found.as_ref()).map(store::families::Found::as_rows);
            let fresh = refresh_token::Fresh { successor: RefreshToken::from_random(random::bytes()?), nonce: random::bytes()? };
            let terms = self.hub.terms();
            if let Some((found, at)) = found.as_mut().and_then(|found| found.late_since(terms).map(|at| (found, at))) {
                found.outage_seconds = store::outages::seconds_between(records, at, terms.now).await?;
            }
            match refresh_token::decide(presented, found, fresh, terms) {
                refresh_token::Outcome::Rotate(rotation) => {
                    match store::families::rotate(records, &rotation, self.context.occasion()).await? {
                        Rotated::Done => return Ok(rotation.issue),
                        Rotated::Late => {}
                    }
                }
                refresh_token::Outcome::Repeat(issue) => {
                    let (client, family) = (client.client().id.clone(), issue.family().id);
                    let event = Event::RefreshRepeated { account: issue.family().account, client, family };
                    store::events::append(records, &event, self.context.occasion()).await?;
                    return Ok(*issue);
                }
                refresh_token::Outcome::Reuse { family, error } => {
                    let event = Event::RefreshReused { client: client.client().id.clone(), family };
                    store::endings::end(records, &Ending::FamilyEnded(family), Some(&event), self.context.occasion()).await?;
                    return Err(error.into());
                }
                refresh_token::Outcome::Refused(error) => {
                    return Err(self.refuse(client, Some(GrantType::RefreshToken), error).await?);
                }
            }
        }
        Err(RACED)
    }

    /// `password`. It also refuses unknown grant types.
    async fn sign_in(&self) -> Result<Issue, OauthError> {
        let name = self.body.get("username").unwrap_or_default();
        let found = store::accounts::known_at(self.hub.records(), self.credentials.id(), name, &self.context.address).await?;
        let (found, known) = found.map_or((None, None), |(client, known)| (Some(client), known));
        let (client, request) = self.authenticate(found.as_ref()).await?;
        let GrantRequest::Password { username, password, scope } = request else { return Err(RACED) };
        let checked = credentials::check_known(self.hub, &username, known, password, self.context).await?;
        let proven = checked.account.as_ref().zip(checked.proof);
        let grant = Some(GrantType::Password);
        match password::decide(client, proven, scope.as_ref(), fresh()?, self.hub.terms()) {
            password::Outcome::Grant(entry) => {
                match store::families::begin(self.hub.records(), &entry, client.client(), self.context.occasion()).await? {
                    Begun::Done => Ok(entry.begin.issue),
                    Begun::Refused => Err(self.refuse(client, grant, CLOSED).await?),
                    // The password changed after it was compared.
                    Begun::Lapsed => {
                        let account = Some(entry.begin.family.account);
                        credentials::record_failure(self.hub, account, SignInRefusal::Credentials, self.context).await?;
                        Err(password::REFUSED.into())
                    }
                }
            }
            // `credentials` has recorded it.
            password::Outcome::Refused(error) => Err(error.into()),
        }
    }

    async fn refuse(&self, client: Authenticated<'_>, grant: Option<GrantType>, error: Error) -> Result<OauthError, OauthError> {
        // The client is authenticated, but its users send it codes and tokens, and at a satellite anybody can.
        let event = Event::GrantRefused { client: Some(client.client().id.clone()), grant, error: error.code() };
        self.hub.note_refusal(&event, self.context).await?;
        Ok(error.into())
    }
}

fn fresh() -> Result<Fresh, OauthError> {
    Ok(Fresh { family: random::uuid(), refresh: RefreshToken::from_random(random::bytes()?) })
}
