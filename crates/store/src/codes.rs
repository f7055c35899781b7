//! Authorization codes: kept with the session they came out of, redeemed once.

use identity::account::Account;
use identity::authorize::CodeRecord;
use identity::client::{Client, GrantType};
use identity::event::Event;
use identity::grant::authorization_code::Redemption;
use identity::opaque::{Digest, purpose};
use identity::pkce::Challenge;
use identity::scope::Scope;
use query::sql::Dialect;

use crate::accounts::{self, account_columns};
use crate::clients::{self, client_columns};
use crate::events::{self, Occasion};
use crate::families::{self, Begun, at_once};
use crate::records::{Bind, Records, Row, Run, unexpected};
use crate::{Error, rights};

/// What a request with a code is about.
#[derive(Clone, Debug)]
pub struct Presented {
    /// The client that it names.
    pub client: Client,
    /// The code's row, if there is one, and the account that it names.
    pub code: Option<(CodeRecord, Account)>,
}

/// What became of a redemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redeemed {
    /// It counts.
    Done,
    /// Another request was faster, or the browser signed in again: look the code up and decide again.
    Late,
    /// The account was closed in the meantime, or its app is closed to it. The code is not used up.
    Refused,
}

/// Keeps a code. `false` if its session ended in the meantime: the code must not be handed out then.
pub async fn insert(records: &Records, code: &CodeRecord, occasion: Occasion<'_>) -> Result<bool, Error> {
    // The row of the session is held, so that ending it waits for the code and then removes it.
    const SQL: &str = "INSERT INTO peristyle.code (hash, client_id, account_id, session_id, redirect, challenge, scope, nonce, \
                       authenticated_at, expires_at) SELECT $1, $2, $3, s.id, $5, $6, $7, $8, $9, $10 FROM peristyle.session s \
                       WHERE s.id = $4 AND s.ended_at IS NULL FOR SHARE RETURNING session_id";
    let binds = [
        Bind::digest(&code.digest),
        Bind::Text(code.client.as_str()),
        Bind::Id(code.account),
        Bind::Id(code.session),
        Bind::Text(code.redirect.as_str()),
        Bind::Text(code.challenge.as_str()),
        Bind::maybe(code.scope.as_ref(), |scope| Bind::Text(scope.as_str())),
        Bind::maybe(code.nonce.as_deref(), Bind::Text),
        Bind::moment(code.authenticated_at),
        Bind::moment(code.expires_at),
    ];
    let mut transaction = records.begin().await?;
    if transaction.run(SQL, &binds).await?.is_empty() {
        return Ok(false);
    }
    let event = Event::CodeIssued { account: code.account, client: code.client.clone() };
    events::append(&mut transaction, &event, occasion).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Looks up, at once, the client that a request names and the code that it presents. `None` if there is no such client.
pub async fn presented(records: &Records, client: &str, code: &Digest<purpose::Code>) -> Result<Option<Presented>, Error> {
    const SQL: &str = concat!(
        "SELECT o.client_id, o.account_id, o.session_id, o.redirect, o.challenge, o.scope, o.nonce, o.authenticated_at, o.expires_at, \
         o.used_by, ",
        account_columns!(),
        ", ",
        client_columns!(),
        " FROM peristyle.client c LEFT JOIN (peristyle.code o JOIN peristyle.account a ON a.id = o.account_id) ON o.hash = $2 WHERE c.id = $1"
    );
    if identity::client::ClientId::parse(client).is_err() {
        return Ok(None);
    }
    let Some(row) = records.row(SQL, &[Bind::Text(client), Bind::digest(code)]).await? else { return Ok(None) };
    let client = clients::read(&row, WIDTH + accounts::WIDTH)?;
    let code = if row.is_null(0) { None } else { Some((read(&row, *code)?, accounts::read(&row, WIDTH)?)) };
    Ok(Some(Presented { client, code }))
}

const WIDTH: usize = 10;

fn read(row: &Row, digest: Digest<purpose::Code>) -> Result<CodeRecord, Error> {
    Ok(CodeRecord {
        digest,
        client: row.client(0)?,
        account: row.id(1)?,
        session: row.id(2)?,
        redirect: identity::client::Redirect::register(row.text(3)?).map_err(|_| unexpected(3, "a redirect"))?,
        challenge: Challenge::parse(row.text(4)?).ok_or_else(|| unexpected(4, "a challenge"))?,
        scope: row.maybe_text(5)?.and_then(Scope::parse),
        nonce: row.maybe_text(6)?.map(str::to_owned),
        authenticated_at: row.moment(7)?,
        expires_at: row.moment(8)?,
        used_by: row.maybe_id(9)?,
    })
}

/// Redeems a code: of any number of requests, in any number of processes, one gets `Done`.
pub async fn redeem(records: &Records, redemption: &Redemption, client: &Client, occasion: Occasion<'_>) -> Result<Redeemed, Error> {
    // The row of the account is held first, as it is by what ends codes. The session is the one that was looked up: a code that another
    // has taken over in the meantime must begin a family of that one.
    const USED: &str = "UPDATE peristyle.code SET used_by = $2 WHERE hash = $1 AND used_by IS NULL AND session_id = $4 \
                        AND EXISTS (SELECT 1 FROM peristyle.account WHERE id = $3 FOR SHARE) RETURNING account_id";
    let begin = &redemption.begin;
    rights::refresh(records, begin.family.account).await?;
    if records.dialect() == Dialect::Postgres {
        if at_once::redeem(records, redemption, client, occasion).await? {
            return Ok(Redeemed::Done);
        }
        if !is_unused(records, redemption).await? {
            return Ok(Redeemed::Late);
        }
    }
    // In steps it is told why a code cannot be redeemed.
    let mut transaction = records.begin().await?;
    let family = &begin.family;
    let binds = [Bind::digest(&redemption.code), Bind::Id(family.id), Bind::Id(family.account), Bind::maybe(family.session, Bind::Id)];
    if transaction.run(USED, &binds).await?.is_empty() {
        return Ok(Redeemed::Late);
    }
    if families::insert(&mut transaction, begin, None, client, occasion).await? != Begun::Done {
        return Ok(Redeemed::Refused);
    }
    families::note(&mut transaction, &begin.family, GrantType::AuthorizationCode, occasion).await?;
    transaction.commit().await?;
    Ok(Redeemed::Done)
}

/// Whether a code is as it was looked up, so that whoever is late learns that by one look.
async fn is_unused(records: &Records, redemption: &Redemption) -> Result<bool, Error> {
    const SQL: &str = "SELECT account_id FROM peristyle.code WHERE hash = $1 AND used_by IS NULL AND session_id = $2";
    let binds = [Bind::digest(&redemption.code), Bind::maybe(redemption.begin.family.session, Bind::Id)];
    Ok(!records.run(SQL, &binds).await?.is_empty())
}
