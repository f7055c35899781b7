//! The public halves of the signing keys and where each stands, so that all replicas of a hub agree.

use identity::keys::PublicKey;
use identity::keys::rotation::{KeyRecord, KeyRing, KeyState};
use query::sql::Dialect;

use crate::Error;
use crate::records::{Bind, Row, Run, Transaction, unexpected};

/// Lets rotations happen one after the other; readers go on.
pub async fn lock(transaction: &mut Transaction) -> Result<(), Error> {
    if transaction.dialect() == Dialect::Postgres {
        transaction.run("LOCK TABLE peristyle.signing_key IN SHARE ROW EXCLUSIVE MODE", &[]).await?;
    }
    Ok(())
}

/// The ring, or nothing before the first key.
pub async fn load(on: impl Run) -> Result<Option<KeyRing>, Error> {
    let rows = on.rows("SELECT public_key, state, moment FROM peristyle.signing_key ORDER BY kid", &[]).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let records = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    KeyRing::load(records).map(Some).map_err(|fault| Error::Setting(fault.to_string()))
}

fn read(row: &Row) -> Result<KeyRecord, Error> {
    let key = PublicKey::from_jwk(row.text(0)?.as_bytes()).map_err(|_| unexpected(0, "a public key"))?;
    let moment = row.moment(2)?;
    let state = match row.text(1)? {
        "announced" => KeyState::Announced { since: moment },
        "signing" => KeyState::Signing { since: moment },
        "retired" => KeyState::Retired { until: moment },
        _ => return Err(unexpected(1, "a state")),
    };
    Ok(KeyRecord { key, state })
}

/// Keeps the ring in place of the one before. The caller holds [`lock`] since it loaded that.
pub async fn save(transaction: &mut Transaction, ring: &KeyRing) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO peristyle.signing_key (kid, public_key, state, moment) VALUES ($1, $2, $3, $4)";
    transaction.run("DELETE FROM peristyle.signing_key", &[]).await?;
    for record in ring.records() {
        let (state, moment) = match record.state {
            KeyState::Announced { since } => ("announced", since),
            KeyState::Signing { since } => ("signing", since),
            KeyState::Retired { until } => ("retired", until),
        };
        let key = record.key.to_jwk().to_string();
        let binds = [Bind::Text(record.key.id().as_str()), Bind::Json(&key), Bind::Text(state), Bind::moment(moment)];
        transaction.run(SQL, &binds).await?;
    }
    Ok(())
}
