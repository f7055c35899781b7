//! What ends with what, carried out: sessions, the codes that came out of them, and families of grants.

use identity::event::Event;
use identity::moment::Moment;
use identity::session::{Ended, Ending, Extent, end as ended};
use identity::token::security_event::{Happening, Subject};
use uuid::Uuid;

use crate::Error;
use crate::events::{self, Occasion};
use crate::holding::hold_account;
use crate::records::{Bind, Records, Row, Transaction};

/// What was ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Over {
    /// Sessions, and whose.
    pub sessions: Vec<(Uuid, Uuid)>,
    /// Families.
    pub families: Vec<Uuid>,
}

impl Over {
    fn add(&mut self, more: Over) {
        self.sessions.extend(more.sessions);
        self.families.extend(more.families);
    }
}

/// Ends what an ending ends, and notes it, in a transaction of its own. A cause (a replay, a reuse) is noted in place of the single
/// families.
pub async fn end(records: &Records, ending: &Ending, cause: Option<&Event>, occasion: Occasion<'_>) -> Result<Over, Error> {
    let mut transaction = records.begin().await?;
    let over = carry_out(&mut transaction, ending, occasion.now).await?;
    match cause {
        Some(cause) => events::append(&mut transaction, cause, occasion).await?,
        None => note(&mut transaction, &over, occasion).await?,
    }
    transaction.commit().await?;
    Ok(over)
}

/// Ends the session that a family came out of, with all that it gave, and in any case the family, and notes it. Which session that is is
/// asked again afterwards: a sign-in in the same browser, for which ending the session waits, moves the family on to another.
pub async fn end_session_of(records: &Records, family: Uuid, occasion: Occasion<'_>) -> Result<Over, Error> {
    const SQL: &str = "SELECT session_id FROM peristyle.family WHERE id = $1 AND session_id IS NOT NULL";
    let mut transaction = records.begin().await?;
    let (mut over, mut ended) = (Over::default(), None);
    while let Some(row) = transaction.run(SQL, &[Bind::Id(family)]).await?.first() {
        let session = row.id(0)?;
        if ended.replace(session) == Some(session) {
            break;
        }
        over.add(carry_out(&mut transaction, &Ending::Logout(session), occasion.now).await?);
    }
    over.add(carry_out(&mut transaction, &Ending::FamilyEnded(family), occasion.now).await?);
    note(&mut transaction, &over, occasion).await?;
    transaction.commit().await?;
    Ok(over)
}

/// Ends what an ending ends inside a transaction; the caller notes what it is about.
pub async fn carry_out(transaction: &mut Transaction, ending: &Ending, now: Moment) -> Result<Over, Error> {
    let Ended { sessions, families } = ended(ending);
    // What is about to begin for the account has begun, and ends, or waits, and then finds that it may not.
    if let Ending::LogoutEverywhere(account) | Ending::AccountClosed(account) | Ending::PasswordChanged { account, .. } = ending {
        hold_account(transaction, *account).await?;
    }
    // In this order: a code that is being redeemed is waited for, and its family ended with the others.
    let sessions = end_sessions(transaction, &sessions, now).await?;
    remove_codes(transaction, ending, &sessions).await?;
    let families = end_families(transaction, &families, now).await?;
    announce(transaction, ending, &families)?;
    let sessions = sessions.iter().map(|row| Ok((row.id(0)?, row.id(1)?))).collect::<Result<_, Error>>()?;
    Ok(Over { sessions, families: families.iter().map(|row| row.id(0)).collect::<Result<_, _>>()? })
}

/// Tells those who may have cached what is over now: the account or the client where all of it is, each family otherwise.
fn announce(transaction: &mut Transaction, ending: &Ending, families: &[Row]) -> Result<(), Error> {
    match ending {
        Ending::LogoutEverywhere(account) | Ending::AccountClosed(account) => {
            transaction.announce(Happening::SessionRevoked, Subject::Account(*account));
        }
        Ending::PasswordChanged { account, .. } => {
            transaction.announce(Happening::CredentialChange, Subject::Account(*account));
            transaction.announce(Happening::SessionRevoked, Subject::Account(*account));
        }
        Ending::ClientClosed(client) => transaction.announce(Happening::SessionRevoked, Subject::Client(client.clone())),
        Ending::Logout(_) | Ending::FamilyEnded(_) => {
            for row in families {
                transaction.announce(Happening::SessionRevoked, Subject::Family { family: row.id(0)?, account: row.id(1)? });
            }
        }
    }
    Ok(())
}

/// Notes each session and each family.
pub async fn note(transaction: &mut Transaction, over: &Over, occasion: Occasion<'_>) -> Result<(), Error> {
    for (session, account) in &over.sessions {
        let event = Event::SessionEnded { account: *account, session: *session };
        events::append(&mut *transaction, &event, occasion).await?;
    }
    for family in &over.families {
        events::append(&mut *transaction, &Event::Revoked { family: *family }, occasion).await?;
    }
    Ok(())
}

async fn end_sessions(transaction: &mut Transaction, extent: &Extent, now: Moment) -> Result<Vec<Row>, Error> {
    const ONE: &str = "UPDATE peristyle.session SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL RETURNING id, account_id";
    const ALL: &str = "UPDATE peristyle.session SET ended_at = $2 WHERE account_id = $1 AND ended_at IS NULL RETURNING id, account_id";
    const BUT: &str =
        "UPDATE peristyle.session SET ended_at = $2 WHERE account_id = $1 AND id <> $3 AND ended_at IS NULL RETURNING id, account_id";
    let now = Bind::moment(now);
    match extent {
        Extent::One(session) => transaction.run(ONE, &[Bind::Id(*session), now]).await,
        Extent::OfAccount(account) => transaction.run(ALL, &[Bind::Id(*account), now]).await,
        Extent::OfAccountBut { account, session } => transaction.run(BUT, &[Bind::Id(*account), now, Bind::Id(*session)]).await,
        Extent::Nothing | Extent::OfSession(_) | Extent::OfClient(_) => Ok(Vec::new()),
    }
}

async fn remove_codes(transaction: &mut Transaction, ending: &Ending, sessions: &[Row]) -> Result<(), Error> {
    const OF_SESSIONS: &str = "DELETE FROM peristyle.code WHERE session_id IN (SELECT unnest($1)) AND used_by IS NULL";
    const OF_ACCOUNT: &str = "DELETE FROM peristyle.code WHERE account_id = $1 AND used_by IS NULL";
    const OF_CLIENT: &str = "DELETE FROM peristyle.code WHERE client_id = $1 AND used_by IS NULL";
    match ending {
        Ending::FamilyEnded(_) => return Ok(()),
        Ending::ClientClosed(client) => transaction.run(OF_CLIENT, &[Bind::Text(client.as_str())]).await?,
        Ending::Logout(_) => {
            let sessions: Vec<Uuid> = sessions.iter().map(|row| row.id(0)).collect::<Result<_, _>>()?;
            transaction.run(OF_SESSIONS, &[Bind::Ids(&sessions)]).await?
        }
        // Every family of the account ends with these, so no code of it may become one later.
        Ending::LogoutEverywhere(account) | Ending::AccountClosed(account) | Ending::PasswordChanged { account, .. } => {
            transaction.run(OF_ACCOUNT, &[Bind::Id(*account)]).await?
        }
    };
    Ok(())
}

async fn end_families(transaction: &mut Transaction, extent: &Extent, now: Moment) -> Result<Vec<Row>, Error> {
    const ONE: &str = "UPDATE peristyle.family SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL RETURNING id, account_id";
    const OF_SESSION: &str =
        "UPDATE peristyle.family SET ended_at = $2 WHERE session_id = $1 AND ended_at IS NULL RETURNING id, account_id";
    const OF_ACCOUNT: &str =
        "UPDATE peristyle.family SET ended_at = $2 WHERE account_id = $1 AND ended_at IS NULL RETURNING id, account_id";
    const BUT: &str = "UPDATE peristyle.family SET ended_at = $2 WHERE account_id = $1 AND (session_id IS NULL OR session_id <> $3) \
                       AND ended_at IS NULL RETURNING id, account_id";
    const OF_CLIENT: &str = "UPDATE peristyle.family SET ended_at = $2 WHERE client_id = $1 AND ended_at IS NULL RETURNING id, account_id";
    let now = Bind::moment(now);
    match extent {
        Extent::One(family) => transaction.run(ONE, &[Bind::Id(*family), now]).await,
        Extent::OfSession(session) => transaction.run(OF_SESSION, &[Bind::Id(*session), now]).await,
        Extent::OfAccount(account) => transaction.run(OF_ACCOUNT, &[Bind::Id(*account), now]).await,
        Extent::OfAccountBut { account, session } => transaction.run(BUT, &[Bind::Id(*account), now, Bind::Id(*session)]).await,
        Extent::OfClient(client) => transaction.run(OF_CLIENT, &[Bind::Text(client.as_str()), now]).await,
        Extent::Nothing => Ok(Vec::new()),
    }
}
