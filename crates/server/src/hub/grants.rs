//! The work of the token endpoint: looks up rows, lets `identity` decide, and saves the decision in one transaction.

use identity::audit_event::{AuditEvent, SignInRefusal};
use identity::client::{Authenticated, Client, GrantType};
use identity::error::{Error, ErrorCode};
use identity::grant::{FamilySecrets, IssuedTokens, authorization_code, password, refresh_token};
use identity::parameters::Parameters;
use identity::revocation::Revocation;
use identity::secret_token::{Code, RefreshToken};
use identity::token_request::{Credentials, GrantRequest};
use store::hub_records::codes::Redeemed;
use store::hub_records::token_families::{FamilyStart, Rotated};

use crate::problem::oauth::OauthError;
use crate::random;

use super::form_request::RequestContext;
use super::{Hub, client_authentication, credentials};

/// A concurrent request that was faster is seen at the next try.
const MAX_TRIES: usize = 3;
const RACED: OauthError = OauthError::Internal("a row changed at each try");
const CLOSED: Error = Error::new(ErrorCode::InvalidGrant, "the account or the app is closed");

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
    pub(super) async fn execute(&self) -> Result<IssuedTokens, OauthError> {
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
    async fn redeem(&self, code: &Code) -> Result<IssuedTokens, OauthError> {
        let records = self.hub.records();
        for _ in 0..MAX_TRIES {
            let rows = store::hub_records::codes::look_up(records, self.credentials.id(), &code.digest()).await?;
            let (client, request) = self.authenticate(rows.as_ref().map(|rows| &rows.client)).await?;
            let GrantRequest::AuthorizationCode { redirect_uri, verifier, .. } = request else { return Err(RACED) };
            let presented = authorization_code::PresentedCode { client, redirect_uri: &redirect_uri, verifier: &verifier };
            let found = rows.as_ref().and_then(|rows| rows.code.as_ref());
            let (row, account) = (found.map(|(row, _)| row), found.map(|(_, account)| account));
            match authorization_code::decide(presented, row, account, fresh()?, self.hub.terms()) {
                authorization_code::CodeDecision::Redeem(redemption) => {
                    match store::hub_records::codes::redeem(records, &redemption, client.client(), self.context.occasion()).await? {
                        Redeemed::Done => return Ok(redemption.start.issue),
                        Redeemed::Late => {}
                        Redeemed::Refused => return Err(self.refuse(client, Some(GrantType::AuthorizationCode), CLOSED).await?),
                    }
                }
                authorization_code::CodeDecision::Replay { family, error } => {
                    let event = AuditEvent::CodeReplayed { client: client.client().id.clone(), family };
                    store::hub_records::revocation::revoke(
                        records,
                        &Revocation::FamilyRevoked(family),
                        Some(&event),
                        self.context.occasion(),
                    )
                    .await?;
                    return Err(error.into());
                }
                authorization_code::CodeDecision::Refused(error) => {
                    return Err(self.refuse(client, Some(GrantType::AuthorizationCode), error).await?);
                }
            }
        }
        Err(RACED)
    }

    /// `refresh_token`: rotates a refresh token.
    async fn refresh(&self, token: &RefreshToken) -> Result<IssuedTokens, OauthError> {
        let records = self.hub.records();
        for _ in 0..MAX_TRIES {
            let rows = store::hub_records::token_families::look_up(records, self.credentials.id(), &token.digest()).await?;
            let (client, request) = self.authenticate(rows.as_ref().map(|rows| &rows.client)).await?;
            let GrantRequest::RefreshToken { scope, .. } = request else { return Err(RACED) };
            let presented = refresh_token::PresentedToken { client, token, scope: scope.as_ref() };
            let mut found = rows.as_ref().and_then(|rows| rows.found.as_ref()).map(store::hub_records::token_families::FoundToken::as_rows);
            let fresh = refresh_token::SuccessorSecrets { successor: RefreshToken::from_random(random::bytes()?), nonce: random::bytes()? };
            let terms = self.hub.terms();
            if let Some((found, at)) = found.as_mut().and_then(|found| found.late_since(terms).map(|at| (found, at))) {
                found.outage_seconds = store::hub_records::heartbeats::seconds_between(records, at, terms.now).await?;
            }
            match refresh_token::decide(presented, found, fresh, terms) {
                refresh_token::RefreshDecision::Rotate(rotation) => {
                    match store::hub_records::token_families::rotate(records, &rotation, self.context.occasion()).await? {
                        Rotated::Done => return Ok(rotation.issue),
                        Rotated::Late => {}
                    }
                }
                refresh_token::RefreshDecision::Repeat(issue) => {
                    let (client, family) = (client.client().id.clone(), issue.family().id);
                    let event = AuditEvent::RefreshRepeated { account: issue.family().account, client, family };
                    store::hub_records::audit_log::append(records, &event, self.context.occasion()).await?;
                    return Ok(*issue);
                }
                refresh_token::RefreshDecision::Reuse { family, error } => {
                    let event = AuditEvent::RefreshReused { client: client.client().id.clone(), family };
                    store::hub_records::revocation::revoke(
                        records,
                        &Revocation::FamilyRevoked(family),
                        Some(&event),
                        self.context.occasion(),
                    )
                    .await?;
                    return Err(error.into());
                }
                refresh_token::RefreshDecision::Refused(error) => {
                    return Err(self.refuse(client, Some(GrantType::RefreshToken), error).await?);
                }
            }
        }
        Err(RACED)
    }

    /// `password`. It also refuses unknown grant types.
    async fn sign_in(&self) -> Result<IssuedTokens, OauthError> {
        let name = self.body.get("username").unwrap_or_default();
        let found =
            store::hub_records::accounts::login_candidate_at(self.hub.records(), self.credentials.id(), name, &self.context.address)
                .await?;
        let (found, known) = found.map_or((None, None), |(client, known)| (Some(client), known));
        let (client, request) = self.authenticate(found.as_ref()).await?;
        let GrantRequest::Password { username, password, scope } = request else { return Err(RACED) };
        let checked = credentials::check_known(self.hub, &username, known, password, self.context).await?;
        let proven = checked.account.as_ref().zip(checked.proof);
        let grant = Some(GrantType::Password);
        match password::decide(client, proven, scope.as_ref(), fresh()?, self.hub.terms()) {
            password::PasswordDecision::Grant(entry) => {
                match store::hub_records::token_families::begin(self.hub.records(), &entry, client.client(), self.context.occasion())
                    .await?
                {
                    FamilyStart::Done => Ok(entry.start.issue),
                    FamilyStart::Refused => Err(self.refuse(client, grant, CLOSED).await?),
                    // The password changed after it was compared.
                    FamilyStart::Lapsed => {
                        let account = Some(entry.start.family.account);
                        credentials::record_failure(self.hub, account, SignInRefusal::Credentials, self.context).await?;
                        Err(password::REFUSED.into())
                    }
                }
            }
            // `credentials` has recorded it.
            password::PasswordDecision::Refused(error) => Err(error.into()),
        }
    }

    async fn refuse(&self, client: Authenticated<'_>, grant: Option<GrantType>, error: Error) -> Result<OauthError, OauthError> {
        // The client is authenticated, but its users send it codes and tokens, and at a satellite anybody can.
        let event = AuditEvent::GrantRefused { client: Some(client.client().id.clone()), grant, error: error.code() };
        self.hub.note_refusal(&event, self.context).await?;
        Ok(error.into())
    }
}

fn fresh() -> Result<FamilySecrets, OauthError> {
    Ok(FamilySecrets { family: random::uuid(), refresh: RefreshToken::from_random(random::bytes()?) })
}
