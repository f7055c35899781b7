//! Whose a refresh token was that was traded a moment ago. The hub tells of such a token only that it is not active, yet a logout may come
//! with it, from another tab of the same app, and ends at the hub what it ends.

use std::time::Duration;

use serde_json::{Map, Value};
use store::shared::Entry;
use uuid::Uuid;

use crate::clock;

use super::Satellite;

/// Where they are kept.
const KIND: &str = "traded";
/// How long a refresh waits for that: it is worth no more.
const PATIENCE: Duration = Duration::from_millis(250);

/// The account and, if it has an id, the family of a token.
pub(super) type Bearer = (Uuid, Option<Uuid>);

/// Remembers whose a refresh token was by the access token that it was traded for, and for as long as that one lasts. Only who held a
/// token of the hub gets here, so that nobody fills what replicas share with inventions.
pub(super) async fn remember(satellite: &Satellite, token: &str, tokens: &Map<String, Value>) {
    let Some(access) = tokens.get("access_token").and_then(Value::as_str) else { return };
    let Ok(verified) = satellite.verify(access).await else { return };
    let claims = verified.claims();
    let seconds = u64::try_from(claims.expires_at.since(clock::now())).unwrap_or_default().max(1);
    let (digest, value) = (identity::bearer::digest(token), written((claims.account, claims.family)));
    let kept = tokio::time::timeout(PATIENCE, satellite.0.shared.put(KIND, &digest, Entry { value: &value, seconds, owner: None })).await;
    if !matches!(kept, Ok(Ok(()))) {
        tracing::debug!("a logout with the token before this one will be heard of from the hub alone");
    }
}

/// Whose a refresh token was, if it was traded here or at a replica.
pub(super) async fn whose(satellite: &Satellite, token: &str) -> Option<Bearer> {
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
