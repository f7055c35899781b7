//! `POST /token`: looks up the rows of a grant, lets `identity` decide, and saves the decision in one transaction.

use axum::extract::{Request, State};
use axum::response::Response;
use identity::audit_event::{AuditEvent, SignInRefusal};
use identity::client::{Authenticated, Client, GrantType};
use identity::error::{Error, ErrorCode};
use identity::grant::authorization_code::{self, CodeDecision, PresentedCode};
use identity::grant::password::{self, PasswordDecision};
use identity::grant::refresh_token::{self, PresentedToken, RefreshDecision, SuccessorSecrets};
use identity::grant::{FamilySecrets, IssuedTokens};
use identity::parameters::Parameters;
use identity::revocation::Revocation;
use identity::scope::Scope;
use identity::secret_token::{Code, RefreshToken};
use identity::token_request::{Credentials, GrantRequest};
use serde_json::{Map, Value};
use store::hub_records::codes::{self, Redeemed};
use store::hub_records::token_families::{self, FamilyStart, FoundToken, Rotated};
use store::hub_records::unknown_secrets::UnknownSecret;
use store::hub_records::{accounts, audit_log, heartbeats, revocation};
use uuid::Uuid;

use crate::hub::form_request::{self, RequestContext};
use crate::hub::{Hub, client_authentication, credentials};
use crate::problem::oauth::OauthError;
use crate::response::json_no_store;
use crate::{clock, random};

/// A concurrent request that was faster is seen at the next try.
const MAX_TRIES: usize = 3;
const RACED: OauthError = OauthError::Internal("a row changed at each try");
const CLOSED: Error = Error::new(ErrorCode::InvalidGrant, "the account or the app is closed");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Result<Response, OauthError> {
    let (context, body) = form_request::posted(&hub, request).await?;
    let credentials = client_authentication::read(&hub, &context, &body).await?;
    let issue = TokenRequest { hub: &hub, context: &context, credentials: &credentials, body: &body }.execute().await?;
    hub.0.metrics.tokens_issued(body.get("grant_type"));
    Ok(json_no_store(token_json(&hub, &issue)?))
}

/// RFC 6749, section 5.1.
fn token_json(hub: &Hub, issue: &IssuedTokens) -> Result<String, OauthError> {
    let now = clock::now();
    let access = hub.0.keys.sign(&issue.access_claims(hub.issuer(), random::uuid(), now))?;
    let mut answer = Map::new();
    if let Some(claims) = issue.id_claims(hub.issuer(), &access, now) {
        answer.insert("id_token".to_owned(), hub.0.keys.sign(&claims)?.into());
    }
    answer.insert("access_token".to_owned(), access.into());
    answer.insert("token_type".to_owned(), "Bearer".into());
    answer.insert("expires_in".to_owned(), issue.expires_in().into());
    answer.insert("refresh_token".to_owned(), issue.refresh_token().expose().as_str().into());
    answer.insert("scope".to_owned(), issue.scope().map_or("", Scope::as_str).into());
    Ok(Value::Object(answer).to_string())
}

struct TokenRequest<'a> {
    hub: &'a Hub,
    context: &'a RequestContext,
    credentials: &'a Credentials,
    body: &'a Parameters,
}

impl TokenRequest<'_> {
    /// Executes the grant. It looks up the client together with the rows of the grant, in one query; they count only once the client is
    /// authenticated.
    async fn execute(&self) -> Result<IssuedTokens, OauthError> {
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
        let (records, digest) = (self.hub.records(), code.digest());
        for _ in 0..MAX_TRIES {
            let rows = codes::look_up(records, self.credentials.id(), &digest).await?;
            let (client, request) = self.authenticate(rows.as_ref().map(|rows| &rows.client)).await?;
            let GrantRequest::AuthorizationCode { redirect_uri, verifier, .. } = request else { return Err(RACED) };
            let presented = PresentedCode { client, redirect_uri: &redirect_uri, verifier: &verifier };
            let found = rows.as_ref().and_then(|rows| rows.code.as_ref());
            let (row, account) = (found.map(|(row, _)| row), found.map(|(_, account)| account));
            match authorization_code::decide(presented, row, account, fresh()?, self.hub.terms()) {
                CodeDecision::Redeem(redemption) => {
                    match codes::redeem(records, &redemption, client.client(), self.context.audit_context()).await? {
                        Redeemed::Done => return Ok(redemption.start.issue),
                        Redeemed::Late => {}
                        Redeemed::Refused => return Err(self.refuse(client, Some(GrantType::AuthorizationCode), CLOSED).await?),
                    }
                }
                CodeDecision::Replay { family, error } => {
                    let event = AuditEvent::CodeReplayed { client: client.client().id.clone(), family };
                    return Err(self.revoke(family, &event, error).await?);
                }
                CodeDecision::Refused(error) => {
                    let unknown = found.is_none().then_some(UnknownSecret::Code(&digest));
                    if let Some(refusal) = self.refuse_row(client, GrantType::AuthorizationCode, error, unknown).await? {
                        return Err(refusal);
                    }
                }
            }
        }
        Err(RACED)
    }

    async fn refresh(&self, token: &RefreshToken) -> Result<IssuedTokens, OauthError> {
        let (records, digest) = (self.hub.records(), token.digest());
        for _ in 0..MAX_TRIES {
            let rows = token_families::look_up(records, self.credentials.id(), &digest).await?;
            let (client, request) = self.authenticate(rows.as_ref().map(|rows| &rows.client)).await?;
            let GrantRequest::RefreshToken { scope, .. } = request else { return Err(RACED) };
            let presented = PresentedToken { client, token, scope: scope.as_ref() };
            let mut found = rows.as_ref().and_then(|rows| rows.found.as_ref()).map(FoundToken::as_rows);
            let is_unknown = found.is_none();
            let fresh = SuccessorSecrets { successor: RefreshToken::from_random(random::bytes()?), nonce: random::bytes()? };
            let terms = self.hub.terms();
            if let Some((found, at)) = found.as_mut().and_then(|found| found.late_since(terms).map(|at| (found, at))) {
                found.outage_seconds = heartbeats::seconds_between(records, at, terms.now).await?;
            }
            match refresh_token::decide(presented, found, fresh, terms) {
                RefreshDecision::Rotate(rotation) => {
                    if let Rotated::Done = token_families::rotate(records, &rotation, self.context.audit_context()).await? {
                        return Ok(rotation.issue);
                    }
                }
                RefreshDecision::Repeat(issue) => {
                    let (client, family) = (client.client().id.clone(), issue.family().id);
                    let event = AuditEvent::RefreshRepeated { account: issue.family().account, client, family };
                    audit_log::append(records, &event, self.context.audit_context()).await?;
                    return Ok(*issue);
                }
                RefreshDecision::Reuse { family, error } => {
                    let event = AuditEvent::RefreshReused { client: client.client().id.clone(), family };
                    return Err(self.revoke(family, &event, error).await?);
                }
                RefreshDecision::Refused(error) => {
                    let unknown = is_unknown.then_some(UnknownSecret::RefreshToken(&digest));
                    if let Some(refusal) = self.refuse_row(client, GrantType::RefreshToken, error, unknown).await? {
                        return Err(refusal);
                    }
                }
            }
        }
        Err(RACED)
    }

    /// `password`. It also refuses unknown grant types.
    async fn sign_in(&self) -> Result<IssuedTokens, OauthError> {
        let name = self.body.get("username").unwrap_or_default();
        let found = accounts::login_candidate_at(self.hub.records(), self.credentials.id(), name, &self.context.address).await?;
        let (found, known) = found.map_or((None, None), |(client, known)| (Some(client), known));
        let (client, request) = self.authenticate(found.as_ref()).await?;
        let GrantRequest::Password { username, password, scope } = request else { return Err(RACED) };
        let checked = credentials::check_known(self.hub, &username, known, password, self.context).await?;
        let proven = checked.account.as_ref().zip(checked.proof);
        let grant = Some(GrantType::Password);
        match password::decide(client, proven, scope.as_ref(), fresh()?, self.hub.terms()) {
            PasswordDecision::Grant(entry) => {
                match token_families::begin(self.hub.records(), &entry, client.client(), self.context.audit_context()).await? {
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
            PasswordDecision::Refused(error) => Err(error.into()),
        }
    }

    /// Revokes the family of a code or a refresh token that was used twice.
    async fn revoke(&self, family: Uuid, event: &AuditEvent, error: Error) -> Result<OauthError, OauthError> {
        revocation::revoke(self.hub.records(), &Revocation::FamilyRevoked(family), Some(event), self.context.audit_context()).await?;
        Ok(error.into())
    }

    async fn refuse(&self, client: Authenticated<'_>, grant: Option<GrantType>, error: Error) -> Result<OauthError, OauthError> {
        self.hub.note_refusal(&refusal(client, grant, error), self.context.audit_context()).await?;
        Ok(error.into())
    }

    /// Refuses a code or a refresh token. None if it was looked up at a database that misses its row: look it up again.
    async fn refuse_row(
        &self,
        client: Authenticated<'_>,
        grant: GrantType,
        error: Error,
        unknown: Option<UnknownSecret<'_>>,
    ) -> Result<Option<OauthError>, OauthError> {
        let Some(secret) = unknown else { return self.refuse(client, Some(grant), error).await.map(Some) };
        let is_refused = self.hub.refuse_unknown(secret, &refusal(client, Some(grant), error), self.context.audit_context()).await?;
        Ok(is_refused.then(|| error.into()))
    }
}

/// The client is authenticated, but its users send it codes and tokens, and at a satellite anybody can.
fn refusal(client: Authenticated<'_>, grant: Option<GrantType>, error: Error) -> AuditEvent {
    AuditEvent::GrantRefused { client: Some(client.client().id.clone()), grant, error: error.code() }
}

fn fresh() -> Result<FamilySecrets, OauthError> {
    Ok(FamilySecrets { family: random::uuid(), refresh: RefreshToken::from_random(random::bytes()?) })
}
