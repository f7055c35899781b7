//! A name and a password, judged: behind one throttle, with the same work and the same answer whether or not there is such a name. The
//! sign-in page and the password grant both come here.

use identity::account::Account;
use identity::event::{Change, Event, Record, SignInRefusal};
use identity::password::{Password, PasswordHash, Verdict};
use identity::session::Ending;
use identity::throttle;
use store::accounts::Known;
use store::failures::Watch;
use store::records::Transaction;
use tracing::Instrument;
use uuid::Uuid;

use crate::chance;
use crate::error::oauth::Fault;

use super::Hub;
use super::incoming::Sender;

/// What came of it. A wrong password and an unknown name look alike.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) account: Option<Account>,
    pub(super) verdict: Verdict,
}

impl Judged {
    /// Whoever it is, if they may sign in.
    pub(super) fn admitted(&self) -> Option<&Account> {
        self.account.as_ref().filter(|account| account.may_sign_in() && matches!(self.verdict, Verdict::Matches { .. }))
    }
}

/// Judges an attempt, and counts it.
pub(super) async fn judge(hub: &Hub, name: &str, password: Password, sender: &Sender) -> Result<Judged, Fault> {
    let known = store::accounts::known(hub.records(), name, &sender.address).await?;
    judge_known(hub, (name, known), password, sender).await
}

/// The same where it was looked up already whose name it is.
pub(super) async fn judge_known(
    hub: &Hub,
    (name, known): (&str, Option<Known>),
    password: Password,
    sender: &Sender,
) -> Result<Judged, Fault> {
    let (hub, name, sender) = (hub.clone(), name.to_owned(), sender.clone());
    // Whoever goes away while their password is compared has not failed, and must not have escaped being counted: it is finished for them.
    let judged = async move { count(&hub, (&name, known), password, &sender).await };
    tokio::spawn(judged.in_current_span()).await.map_err(|_| Fault::Internal("judging a sign-in broke off"))?
}

async fn count(hub: &Hub, (name, known): (&str, Option<Known>), password: Password, sender: &Sender) -> Result<Judged, Fault> {
    let records = hub.records();
    let ticket = hub.hasher().admit()?;
    let watch = Watch::sign_in(name, &sender.address, known.as_ref());
    let (account, hash) = known.map_or((None, None), |known| (Some(known.account), known.hash));
    let id = account.as_ref().map(|account| account.id);
    // The failure is recorded before the hash is computed, so that parallel guesses count.
    let attempt = match store::failures::attempt(records, &watch, chance::now()).await? {
        Ok(attempt) => attempt,
        Err(verdict) => {
            let event = Event::SignInRefused { account: id, reason: SignInRefusal::Throttled };
            hub.note_refusal(&event, sender).await?;
            let seconds = match verdict {
                throttle::Verdict::Wait(seconds) => seconds,
                throttle::Verdict::Try => 1,
            };
            return Err(Fault::Throttled(seconds));
        }
    };
    let compared = ticket.compare(hash.clone(), password).await?;
    let judged = Judged { account, verdict: compared.verdict };
    if let Some(account) = judged.admitted() {
        store::failures::forgive(records, &watch, attempt, chance::now()).await?;
        if let (Some(before), Some(after)) = (&hash, &compared.renewed) {
            store::accounts::rehash(records, account.id, before, after).await?;
        }
    } else {
        let known = matches!(judged.verdict, Verdict::Matches { .. });
        let reason = if known { SignInRefusal::Inactive } else { SignInRefusal::Credentials };
        store::events::append(records, &Event::SignInRefused { account: id, reason }, sender.occasion()).await?;
    }
    Ok(judged)
}

/// Somebody's new password, and the session, if any, that lives on.
#[derive(Debug)]
pub(super) struct Renewal<'a> {
    pub(super) account: Uuid,
    pub(super) hash: &'a PasswordHash,
    pub(super) kept: Option<Uuid>,
}

/// Sets a password that its owner chose. What was granted before ends, and all of it is noted.
pub(super) async fn renew(transaction: &mut Transaction, renewal: &Renewal<'_>, sender: &Sender) -> Result<(), store::Error> {
    let Renewal { account, hash, kept } = *renewal;
    let occasion = sender.occasion();
    store::accounts::set_credential(&mut *transaction, account, hash, occasion.now).await?;
    let over = store::endings::carry_out(transaction, &Ending::PasswordChanged { account, kept }, occasion.now).await?;
    let event = Event::Changed { record: Record::Account(account), change: Change::CredentialChanged, actor: Some(account) };
    store::events::append(&mut *transaction, &event, occasion).await?;
    store::endings::note(transaction, &over, occasion).await
}
