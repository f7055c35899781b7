//! Remembers the account of a refresh token that was just rotated: a logout in another tab may still send the old token, of which the hub
//! says only that it is not active.

use std::time::Duration;

use serde_json::{Map, Value};
use store::replica_state::Entry;
use uuid::Uuid;

use crate::clock;

use super::Satellite;

const KIND: &str = "traded";
const STORE_TIMEOUT: Duration = Duration::from_millis(250);

/// The account of a token, and its family if it has an id.
pub(super) type Bearer = (Uuid, Option<Uuid>);

/// Remembers the account of a rotated refresh token, by the new access token and as long as that is valid. Only a token of the hub gets
/// here, so that nobody can fill the replica state.
pub(super) async fn remember(satellite: &Satellite, token: &str, tokens: &Map<String, Value>) {
    let Some(access) = tokens.get("access_token").and_then(Value::as_str) else { return };
    let Ok(verified) = satellite.verify(access).await else { return };
    let claims = verified.claims();
    let seconds = u64::try_from(claims.expires_at.since(clock::now())).unwrap_or_default().max(1);
    let (digest, value) = (identity::bearer::digest(token), written((claims.account, claims.family)));
    let kept =
        tokio::time::timeout(STORE_TIMEOUT, satellite.0.shared.put(KIND, &digest, Entry { value: &value, seconds, owner: None })).await;
    if !matches!(kept, Ok(Ok(()))) {
        tracing::debug!("could not remember a rotated token; a logout with it reaches this satellite by the change feed");
    }
}

pub(super) async fn account_of(satellite: &Satellite, token: &str) -> Option<Bearer> {
    let taken = satellite.0.shared.take(KIND, &identity::bearer::digest(token)).await;
    taken.ok().flatten().as_deref().and_then(read)
}

fn written((account, family): Bearer) -> Vec<u8> {
    [Some(account), family].into_iter().flatten().flat_map(Uuid::into_bytes).collect()
}

fn read(bytes: &[u8]) -> Option<Bearer> {
    let (account, family) = bytes.split_at_checked(16)?;
    let family = if family.is_empty() { None } else { Some(Uuid::from_slice(family).ok()?) };
    Some((Uuid::from_slice(account).ok()?, family))
}
