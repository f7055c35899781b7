//! Checks a name and a password behind the throttle; a wrong password and an unknown name cost the same work. Sets new passwords.

use std::time::Duration;

use identity::account::Account;
use identity::audit_event::{AuditEvent, ChangedRecord, RecordChange, SignInRefusal};
use identity::error::{Error, ErrorCode};
use identity::password::{Password, PasswordHash, Proof};
use identity::revocation::Revocation;
use identity::session::LiveSession;
use store::hub_records::accounts::{self, LoginCandidate};
use store::hub_records::throttle::{self, ThrottleKeys};
use store::hub_records::{Transaction, audit_log, revocation, sessions};
use tokio::time::Instant;
use tracing::Instrument;
use uuid::Uuid;

use crate::clock;
use crate::problem::oauth::OauthError;

use super::Hub;
use super::form_request::RequestContext;
use super::unsettled_attempts::{AttemptOutcome, DecidedAttempt};

const OUTCOME_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) const INVALID_PASSWORD: Error =
    Error::new(ErrorCode::InvalidRequest, "a password has 8 characters at least and 1024 bytes at most");

/// The result of an attempt. A wrong password and an unknown name look alike.
#[derive(Debug)]
pub(super) struct CheckedCredentials {
    pub(super) account: Option<Account>,
    pub(super) proof: Option<Proof>,
}

impl CheckedCredentials {
    pub(super) fn admitted(&self) -> Option<(&Account, &Proof)> {
        self.account.as_ref().filter(|account| account.may_sign_in()).zip(self.proof.as_ref())
    }
}

pub(super) async fn check(hub: &Hub, name: &str, password: Password, context: &RequestContext) -> Result<CheckedCredentials, OauthError> {
    let known = accounts::login_candidate(hub.records(), name, &context.address).await?;
    check_known(hub, name, known, password, context).await
}

/// The same with the account looked up.
pub(super) async fn check_known(
    hub: &Hub,
    name: &str,
    known: Option<LoginCandidate>,
    password: Password,
    context: &RequestContext,
) -> Result<CheckedCredentials, OauthError> {
    let (hub, name, context) = (hub.clone(), name.to_owned(), context.clone());
    // A client that disconnects has not failed, and must not escape the count: the attempt runs to its end.
    let checked = async move {
        let checked = attempt(&hub, &name, known, password, &context).await?;
        hub.0.metrics.sign_in(checked.admitted().map(|_| ()).ok_or(()));
        Ok(checked)
    };
    tokio::spawn(checked.in_current_span()).await.map_err(|_| OauthError::Internal("a sign-in attempt panicked"))?
}

async fn attempt(
    hub: &Hub,
    name: &str,
    known: Option<LoginCandidate>,
    password: Password,
    context: &RequestContext,
) -> Result<CheckedCredentials, OauthError> {
    let records = hub.records();
    let keys = ThrottleKeys::sign_in(name, &context.address, known.as_ref());
    let (account, hash) = known.map_or((None, None), |known| (Some(known.account), known.hash));
    let id = account.as_ref().map(|account| account.id);
    let deadline = Instant::now() + OUTCOME_TIMEOUT;
    let (ticket, pending, attempt) = loop {
        let ticket = hub.hasher().admit()?;
        let pending = hub.0.pending_attempts.enter(keys.counters().to_vec());
        // Counted before the hash is computed, so that parallel guesses count.
        let refused = match throttle::attempt(records, &keys, clock::now()).await? {
            Ok(attempt) => break (ticket, pending, attempt),
            Err(refused) => refused,
        };
        // Others may use the place in the queue.
        drop(ticket);
        if !pending.wait_for_others(&refused, deadline).await {
            let event = AuditEvent::SignInRefused { account: id, reason: SignInRefusal::Throttled };
            hub.note_refusal(&event, context.audit_context()).await?;
            return Err(OauthError::Throttled(refused.seconds));
        }
    };
    let proof = ticket.compare(hash, password.clone()).await?;
    let mut checked = CheckedCredentials { account, proof };
    if let Some((account, proof)) = checked.admitted() {
        checked.proof = rehashed(hub, account.id, proof.clone(), password).await?;
    }
    let outcome = if checked.admitted().is_some() { AttemptOutcome::Succeeded } else { AttemptOutcome::Failed };
    hub.0.unsettled_attempts.settle(records, DecidedAttempt { keys, attempt, outcome, pending }).await?;
    if outcome == AttemptOutcome::Failed {
        let reason = if checked.proof.is_some() { SignInRefusal::Inactive } else { SignInRefusal::Credentials };
        record_failure(hub, id, reason, context).await?;
    }
    Ok(checked)
}

/// Rehashes a password whose hash has old parameters. If the stored hash changed meanwhile, another sign-in may have rehashed it, so the
/// password is compared again.
async fn rehashed(hub: &Hub, account: Uuid, proof: Proof, password: Password) -> Result<Option<Proof>, OauthError> {
    if proof.renewed().is_none() || accounts::rehash(hub.records(), account, &proof).await? {
        return Ok(Some(proof));
    }
    let kept = accounts::credential_of(hub.records(), account).await?;
    hub.hasher().admit()?.compare(kept, password).await
}

/// Records a failed attempt after a password was compared. Each is a row, since the throttle bounds their number.
pub(super) async fn record_failure(
    hub: &Hub,
    account: Option<Uuid>,
    reason: SignInRefusal,
    context: &RequestContext,
) -> Result<(), store::Error> {
    audit_log::append(hub.records(), &AuditEvent::SignInRefused { account, reason }, context.audit_context()).await
}

#[derive(Debug)]
pub(super) struct Renewal<'a> {
    pub(super) account: Uuid,
    pub(super) hash: &'a PasswordHash,
    pub(super) right: Right<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Right<'a> {
    /// A one-time link, which is used up.
    Link,
    /// The present password, in a session that stays active.
    Present(&'a Proof, LiveSession),
}

/// Sets a password at the end of a transaction. Revokes earlier grants and records that. Returns `false`, without a commit, if the right
/// ended meanwhile.
pub(super) async fn renew(mut transaction: Transaction, renewal: &Renewal<'_>, context: &RequestContext) -> Result<bool, store::Error> {
    let Renewal { account, hash, right } = *renewal;
    let audit_context = context.audit_context();
    let kept = match right {
        Right::Link => {
            accounts::set_credential(&mut transaction, account, hash, audit_context.now).await?;
            None
        }
        Right::Present(proof, session) => {
            let replaced = accounts::replace_credential(&mut transaction, account, proof, hash, audit_context.now).await?;
            if !replaced || sessions::owner(&mut transaction, session.id(), audit_context.now).await? != Some(account) {
                return Ok(false);
            }
            Some(session.id())
        }
    };
    let over = revocation::revoke_in(&mut transaction, &Revocation::PasswordChanged { account, kept }, audit_context.now).await?;
    let event =
        AuditEvent::Changed { record: ChangedRecord::Account(account), change: RecordChange::CredentialChanged, actor: Some(account) };
    audit_log::append(&mut transaction, &event, audit_context).await?;
    revocation::log(&mut transaction, &over, audit_context).await?;
    transaction.commit().await?;
    Ok(true)
}
