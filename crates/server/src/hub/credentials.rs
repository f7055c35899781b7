//! A name and a password, judged: behind one throttle, with the same work and the same answer whether or not there is such a name. The
//! sign-in page and the password grant both come here.

use std::time::Duration;

use identity::account::Account;
use identity::error::{Error, ErrorCode};
use identity::event::{Change, Event, Record, SignInRefusal};
use identity::password::{Password, PasswordHash, Proof};
use identity::session::{Ending, LiveSession};
use store::accounts::Known;
use store::failures::Watch;
use store::records::Transaction;
use tokio::time::Instant;
use tracing::Instrument;
use uuid::Uuid;

use crate::clock;
use crate::problem::oauth::OauthError;

use super::Hub;
use super::form_request::RequestContext;

/// How long one waits for the outcome of attempts that are made at the same time.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is told of a new password that is none.
pub(super) const UNFIT: Error = Error::new(ErrorCode::InvalidRequest, "a password has 8 characters at least and 1024 bytes at most");

/// What came of it. A wrong password and an unknown name look alike.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) account: Option<Account>,
    pub(super) proof: Option<Proof>,
}

impl Judged {
    /// Whoever it is, if they may sign in, and what they have proven.
    pub(super) fn admitted(&self) -> Option<(&Account, &Proof)> {
        self.account.as_ref().filter(|account| account.may_sign_in()).zip(self.proof.as_ref())
    }
}

/// Judges an attempt, and counts it.
pub(super) async fn judge(hub: &Hub, name: &str, password: Password, sender: &RequestContext) -> Result<Judged, OauthError> {
    let known = store::accounts::known(hub.records(), name, &sender.address).await?;
    judge_known(hub, name, known, password, sender).await
}

/// The same where it was looked up already whose name it is.
pub(super) async fn judge_known(
    hub: &Hub,
    name: &str,
    known: Option<Known>,
    password: Password,
    sender: &RequestContext,
) -> Result<Judged, OauthError> {
    let (hub, name, sender) = (hub.clone(), name.to_owned(), sender.clone());
    // Whoever goes away while their password is compared has not failed, and must not have escaped being counted: it is finished for them.
    let judged = async move { count(&hub, &name, known, password, &sender).await };
    tokio::spawn(judged.in_current_span()).await.map_err(|_| OauthError::Internal("judging a sign-in broke off"))?
}

async fn count(hub: &Hub, name: &str, known: Option<Known>, password: Password, sender: &RequestContext) -> Result<Judged, OauthError> {
    let records = hub.records();
    let watch = Watch::sign_in(name, &sender.address, known.as_ref());
    let (account, hash) = known.map_or((None, None), |known| (Some(known.account), known.hash));
    let id = account.as_ref().map(|account| account.id);
    let deadline = Instant::now() + PATIENCE;
    let (ticket, standing, attempt) = loop {
        let ticket = hub.hasher().admit()?;
        let standing = hub.undecided().enter(watch.counters().to_vec());
        // The attempt is counted before the hash is computed, so that parallel guesses count.
        let refused = match store::failures::attempt(records, &watch, clock::now()).await? {
            Ok(attempt) => break (ticket, standing, attempt),
            Err(refused) => refused,
        };
        // Its place is for those who may try.
        drop(ticket);
        if !standing.others(&refused, deadline).await {
            let event = Event::SignInRefused { account: id, reason: SignInRefusal::Throttled };
            hub.note_refusal(&event, sender).await?;
            return Err(OauthError::Throttled(refused.seconds));
        }
    };
    let proof = ticket.compare(hash, password.clone()).await?;
    let mut judged = Judged { account, proof };
    if let Some((account, proof)) = judged.admitted() {
        judged.proof = renewed(hub, account.id, proof.clone(), password).await?;
    }
    if judged.admitted().is_some() {
        store::failures::succeeded(records, &watch, clock::now()).await?;
        standing.forgiven();
    } else {
        store::failures::failed(records, &watch, attempt).await?;
        let reason = if judged.proof.is_some() { SignInRefusal::Inactive } else { SignInRefusal::Credentials };
        note_compared(hub, id, reason, sender).await?;
    }
    Ok(judged)
}

/// Keeps a password under today's parameters, where its hash is out of date. If that is not the kept one any more, another sign-in may
/// have done the same a moment before, so it is compared with what is kept now.
async fn renewed(hub: &Hub, account: Uuid, proof: Proof, password: Password) -> Result<Option<Proof>, OauthError> {
    if proof.renewed().is_none() || store::accounts::rehash(hub.records(), account, &proof).await? {
        return Ok(Some(proof));
    }
    let kept = store::accounts::credential_of(hub.records(), account).await?;
    hub.hasher().admit()?.compare(kept, password).await
}

/// Notes that a password was compared and did not count, whatever it was that was refused. A row each time: how many are compared is
/// bounded by the delays after failures.
pub(super) async fn note_compared(
    hub: &Hub,
    account: Option<Uuid>,
    reason: SignInRefusal,
    sender: &RequestContext,
) -> Result<(), store::Error> {
    store::events::append(hub.records(), &Event::SignInRefused { account, reason }, sender.occasion()).await
}

/// Somebody's new password, and why they may set it.
#[derive(Debug)]
pub(super) struct Renewal<'a> {
    pub(super) account: Uuid,
    pub(super) hash: &'a PasswordHash,
    pub(super) right: Right<'a>,
}

/// Why somebody may set a password.
#[derive(Clone, Copy, Debug)]
pub(super) enum Right<'a> {
    /// They held a link, which is used up.
    Link,
    /// They know the present one, in a session, which lives on.
    Present(&'a Proof, LiveSession),
}

/// Sets a password that its owner chose, as the end of a transaction. What was granted before ends, and all of it is noted. `false` if the
/// right to do so has ended in the meantime: nothing of the transaction counts then.
pub(super) async fn renew(mut transaction: Transaction, renewal: &Renewal<'_>, sender: &RequestContext) -> Result<bool, store::Error> {
    let Renewal { account, hash, right } = *renewal;
    let occasion = sender.occasion();
    let kept = match right {
        Right::Link => {
            store::accounts::set_credential(&mut transaction, account, hash, occasion.now).await?;
            None
        }
        Right::Present(proof, session) => {
            let replaced = store::accounts::replace_credential(&mut transaction, account, proof, hash, occasion.now).await?;
            if !replaced || store::sessions::owner(&mut transaction, session.id(), occasion.now).await? != Some(account) {
                return Ok(false);
            }
            Some(session.id())
        }
    };
    let over = store::endings::carry_out(&mut transaction, &Ending::PasswordChanged { account, kept }, occasion.now).await?;
    let event = Event::Changed { record: Record::Account(account), change: Change::CredentialChanged, actor: Some(account) };
    store::events::append(&mut transaction, &event, occasion).await?;
    store::endings::note(&mut transaction, &over, occasion).await?;
    transaction.commit().await?;
    Ok(true)
}
