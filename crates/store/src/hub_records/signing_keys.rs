//! The public keys of the hub and the state of each, shared by all replicas.

use identity::keys::PublicKey;
use identity::keys::rotation::{KeyRecord, KeyRing, KeyState};

use crate::Error;
use crate::hub_records::{Bind, Row, Run, Transaction, unexpected};

/// Lets one rotation happen at a time; readers do not wait.
pub async fn lock(transaction: &mut Transaction) -> Result<(), Error> {
    if transaction.dialect().is_postgres() {
        transaction.run("LOCK TABLE peristyle.signing_key IN SHARE ROW EXCLUSIVE MODE", &[]).await?;
    }
    Ok(())
}

/// The key ring; `None` before the first key.
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
    let at = row.timestamp(2)?;
    let state = match row.text(1)? {
        "announced" => KeyState::Announced { since: at },
        "signing" => KeyState::Signing { since: at },
        "retired" => KeyState::Retired { until: at },
        _ => return Err(unexpected(1, "a state")),
    };
    Ok(KeyRecord { key, state })
}

/// Replaces the key ring. The caller has held [`lock`] since it loaded the old one.
pub async fn save(transaction: &mut Transaction, ring: &KeyRing) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO peristyle.signing_key (kid, public_key, state, moment) VALUES ($1, $2, $3, $4)";
    transaction.run("DELETE FROM peristyle.signing_key", &[]).await?;
    for record in ring.records() {
        let (state, at) = match record.state {
            KeyState::Announced { since } => ("announced", since),
            KeyState::Signing { since } => ("signing", since),
            KeyState::Retired { until } => ("retired", until),
        };
        let key = record.key.to_jwk().to_string();
        let binds = [Bind::Text(record.key.id().as_str()), Bind::Json(&key), Bind::Text(state), Bind::timestamp(at)];
        transaction.run(SQL, &binds).await?;
    }
    Ok(())
}
