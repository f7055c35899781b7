//! Carries out a revocation: ends sessions, the codes that came out of them and token families, and announces it to satellites.

use identity::audit_event::AuditEvent;
use identity::revocation::{Revocation, RevocationScope, Selection};
use identity::timestamp::Timestamp;
use identity::token::security_event::{ChangeKind, Subject};
use uuid::Uuid;

use crate::Error;
use crate::hub_records::audit_log::{self, AuditContext};
use crate::hub_records::{Bind, Records, Row, Transaction};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revoked {
    pub sessions: Vec<(Uuid, Uuid)>,
    pub families: Vec<Uuid>,
}

impl Revoked {
    fn add(&mut self, more: Revoked) {
        self.sessions.extend(more.sessions);
        self.families.extend(more.families);
    }
}

/// Revokes and logs in a transaction of its own. The log has the cause (a replay, a reuse) if there is one, else each session and family.
pub async fn revoke(
    records: &Records,
    revocation: &Revocation,
    cause: Option<&AuditEvent>,
    context: AuditContext<'_>,
) -> Result<Revoked, Error> {
    let mut transaction = records.begin().await?;
    let revoked = revoke_in(&mut transaction, revocation, context.now).await?;
    match cause {
        Some(cause) => audit_log::append(&mut transaction, cause, context).await?,
        None => log(&mut transaction, &revoked, context).await?,
    }
    transaction.commit().await?;
    Ok(revoked)
}

/// Revokes a family and its session. Reads the session again after each step: a sign-in in the same browser moves the family meanwhile.
pub async fn revoke_session_of(records: &Records, family: Uuid, context: AuditContext<'_>) -> Result<Revoked, Error> {
    const SQL: &str = "SELECT session_id FROM peristyle.family WHERE id = $1 AND session_id IS NOT NULL";
    let mut transaction = records.begin().await?;
    let (mut revoked, mut last) = (Revoked::default(), None);
    while let Some(row) = transaction.run(SQL, &[Bind::Id(family)]).await?.first() {
        let session = row.id(0)?;
        if last.replace(session) == Some(session) {
            break;
        }
        revoked.add(revoke_in(&mut transaction, &Revocation::Logout(session), context.now).await?);
    }
    revoked.add(revoke_in(&mut transaction, &Revocation::FamilyRevoked(family), context.now).await?);
    log(&mut transaction, &revoked, context).await?;
    transaction.commit().await?;
    Ok(revoked)
}

pub async fn revoke_in(transaction: &mut Transaction, revocation: &Revocation, now: Timestamp) -> Result<Revoked, Error> {
    let RevocationScope { sessions, families } = revocation.scope();
    // A sign-in or grant of the account either committed before and ends here, or waits for this row and is refused.
    if let Revocation::LogoutEverywhere(account) | Revocation::AccountClosed(account) | Revocation::PasswordChanged { account, .. } =
        revocation
    {
        transaction.lock_account(*account).await?;
    }
    // The order matters: this waits for a code that is being redeemed, and then ends its family with the others.
    let sessions = end_sessions(transaction, &sessions, now).await?;
    remove_codes(transaction, revocation, &sessions).await?;
    let families = end_families(transaction, &families, now).await?;
    announce(transaction, revocation, &families)?;
    let sessions = sessions.iter().map(|row| Ok((row.id(0)?, row.id(1)?))).collect::<Result<_, Error>>()?;
    Ok(Revoked { sessions, families: families.iter().map(|row| row.id(0)).collect::<Result<_, _>>()? })
}

/// Announces the account or the client if all of it is revoked, else each family, so that satellites drop what they cached.
fn announce(transaction: &mut Transaction, revocation: &Revocation, families: &[Row]) -> Result<(), Error> {
    match revocation {
        Revocation::LogoutEverywhere(account) | Revocation::AccountClosed(account) => {
            transaction.announce_change(ChangeKind::SessionRevoked, Subject::Account(*account));
        }
        Revocation::PasswordChanged { account, .. } => {
            transaction.announce_change(ChangeKind::CredentialChange, Subject::Account(*account));
            transaction.announce_change(ChangeKind::SessionRevoked, Subject::Account(*account));
        }
        Revocation::ClientClosed(client) => transaction.announce_change(ChangeKind::SessionRevoked, Subject::Client(client.clone())),
        Revocation::Logout(_) | Revocation::FamilyRevoked(_) => {
            for row in families {
                let subject = Subject::Family { family: row.id(0)?, account: row.id(1)? };
                transaction.announce_change(ChangeKind::SessionRevoked, subject);
            }
        }
    }
    Ok(())
}

pub async fn log(transaction: &mut Transaction, revoked: &Revoked, context: AuditContext<'_>) -> Result<(), Error> {
    for (session, account) in &revoked.sessions {
        let event = AuditEvent::SessionEnded { account: *account, session: *session };
        audit_log::append(&mut *transaction, &event, context).await?;
    }
    for family in &revoked.families {
        audit_log::append(&mut *transaction, &AuditEvent::Revoked { family: *family }, context).await?;
    }
    Ok(())
}

/// Ends the rows of a table that a condition selects by `$1`.
macro_rules! end {
    ($table:literal, $condition:literal) => {
        concat!("UPDATE peristyle.", $table, " SET ended_at = $2 WHERE ", $condition, " AND ended_at IS NULL RETURNING id, account_id")
    };
}

async fn end_sessions(transaction: &mut Transaction, selection: &Selection, now: Timestamp) -> Result<Vec<Row>, Error> {
    let now = Bind::timestamp(now);
    match selection {
        Selection::One(session) => transaction.run(end!("session", "id = $1"), &[Bind::Id(*session), now]).await,
        Selection::OfAccount(account) => transaction.run(end!("session", "account_id = $1"), &[Bind::Id(*account), now]).await,
        Selection::OfAccountBut { account, session } => {
            let binds = [Bind::Id(*account), now, Bind::Id(*session)];
            transaction.run(end!("session", "account_id = $1 AND id <> $3"), &binds).await
        }
        Selection::Nothing | Selection::OfSession(_) | Selection::OfClient(_) => Ok(Vec::new()),
    }
}

async fn remove_codes(transaction: &mut Transaction, revocation: &Revocation, sessions: &[Row]) -> Result<(), Error> {
    const OF_SESSIONS: &str = "DELETE FROM peristyle.code WHERE session_id IN (SELECT unnest($1)) AND used_by IS NULL";
    const OF_ACCOUNT: &str = "DELETE FROM peristyle.code WHERE account_id = $1 AND used_by IS NULL";
    const OF_CLIENT: &str = "DELETE FROM peristyle.code WHERE client_id = $1 AND used_by IS NULL";
    match revocation {
        Revocation::FamilyRevoked(_) => return Ok(()),
        Revocation::ClientClosed(client) => transaction.run(OF_CLIENT, &[Bind::Text(client.as_str())]).await?,
        Revocation::Logout(_) => {
            let sessions: Vec<Uuid> = sessions.iter().map(|row| row.id(0)).collect::<Result<_, _>>()?;
            transaction.run(OF_SESSIONS, &[Bind::Ids(&sessions)]).await?
        }
        // Every family of the account ends, so none of its codes may become one later.
        Revocation::LogoutEverywhere(account) | Revocation::AccountClosed(account) | Revocation::PasswordChanged { account, .. } => {
            transaction.run(OF_ACCOUNT, &[Bind::Id(*account)]).await?
        }
    };
    Ok(())
}

async fn end_families(transaction: &mut Transaction, selection: &Selection, now: Timestamp) -> Result<Vec<Row>, Error> {
    const BUT: &str = end!("family", "account_id = $1 AND (session_id IS NULL OR session_id <> $3)");
    let now = Bind::timestamp(now);
    match selection {
        Selection::One(family) => transaction.run(end!("family", "id = $1"), &[Bind::Id(*family), now]).await,
        Selection::OfSession(session) => transaction.run(end!("family", "session_id = $1"), &[Bind::Id(*session), now]).await,
        Selection::OfAccount(account) => transaction.run(end!("family", "account_id = $1"), &[Bind::Id(*account), now]).await,
        Selection::OfAccountBut { account, session } => transaction.run(BUT, &[Bind::Id(*account), now, Bind::Id(*session)]).await,
        Selection::OfClient(client) => transaction.run(end!("family", "client_id = $1"), &[Bind::Text(client.as_str()), now]).await,
        Selection::Nothing => Ok(Vec::new()),
    }
}
