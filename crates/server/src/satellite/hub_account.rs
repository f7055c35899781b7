//! Fetches the account of a token from the hub, and reads the answer strictly.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::HeaderValue;
use query::policy::Viewer;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::caller::viewer_of_row;
use crate::query_service::MAX_RECORD_BYTES;

use super::hub_client::{HubClient, HubRequest, HubResponse, Lane};

const PATH: &str = "/graphql";
const QUERY: &str = r#"{"query":"{ iamMeAccount { id type code email username isActive tags scopes dPermissions dTenants meta createdAt updatedAt deletedAt roles { id name } tenants { id code name } } }"}"#;
const MAX_BYTES: usize = MAX_RECORD_BYTES;
/// The error codes of GraphQL for a token that is not valid.
const REFUSALS: [&str; 3] = ["UNAUTHENTICATED", "INVALID_TOKEN", "FORBIDDEN"];

#[derive(Debug)]
pub(crate) struct HubAccount {
    pub(crate) id: Uuid,
    pub(crate) viewer: Arc<Viewer>,
    pub(crate) row: Bytes,
}

#[derive(Clone, Debug)]
pub(super) enum Lookup {
    Found(Arc<HubAccount>),
    Refused,
    Unavailable,
}

pub(super) async fn fetch(hub_client: &HubClient, token: &str, subject: Uuid) -> Lookup {
    let Ok(mut bearer) = HeaderValue::from_str(&format!("Bearer {token}")) else { return Lookup::Refused };
    bearer.set_sensitive(true);
    let body = Some(("application/json", QUERY.to_owned()));
    match hub_client.send(Lane::Reads, HubRequest { path: PATH, body, authorization: Some(bearer), max_bytes: MAX_BYTES }).await {
        Ok(answer) => {
            let lookup = read(&answer, subject);
            if let Lookup::Unavailable = lookup {
                tracing::warn!(status = answer.status, "cannot read the account that the hub answered");
            }
            lookup
        }
        Err(error) => {
            tracing::warn!(%error, "could not fetch an account from the hub");
            Lookup::Unavailable
        }
    }
}

fn read(answer: &HubResponse, subject: Uuid) -> Lookup {
    match answer.status {
        200 => {}
        // A page comes from a proxy in front of the hub, not from the hub.
        401 | 403 if answer.body.is_empty() || object(&answer.body).is_some() => return Lookup::Refused,
        _ => return Lookup::Unavailable,
    }
    let Some(mut answer) = object(&answer.body) else { return Lookup::Unavailable };
    match answer.get_mut("data").and_then(|data| data.get_mut("iamMeAccount")).map(Value::take) {
        Some(Value::Object(account)) => of_row(&account, subject),
        Some(Value::Null) | None if is_refusal(answer.get("errors")) => Lookup::Refused,
        // The token has no account.
        Some(Value::Null) if !answer.contains_key("errors") => Lookup::Refused,
        _ => Lookup::Unavailable,
    }
}

fn object(body: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(body).ok()
}

fn is_refusal(errors: Option<&Value>) -> bool {
    let codes = errors.and_then(Value::as_array).into_iter().flatten().filter_map(|error| error["extensions"]["code"].as_str());
    codes.into_iter().any(|code| REFUSALS.contains(&code))
}

fn of_row(account: &Map<String, Value>, subject: Uuid) -> Lookup {
    let id = account.get("id").and_then(Value::as_str).and_then(|id| Uuid::try_parse(id).ok());
    let (Some(id), Some(viewer)) = (id, viewer_of_row(account)) else { return Lookup::Unavailable };
    if id != subject {
        tracing::error!("the hub answered with another account than the token's; the token is refused");
        return Lookup::Refused;
    }
    // A hub without these fields answers only for active accounts.
    let closed = account.get("isActive").is_some_and(|active| *active != Value::Bool(true));
    let removed = account.get("deletedAt").is_some_and(|at| !at.is_null());
    if closed || removed {
        return Lookup::Refused;
    }
    let Ok(row) = serde_json::to_vec(account) else { return Lookup::Unavailable };
    Lookup::Found(Arc::new(HubAccount { id, viewer: Arc::new(viewer), row: row.into() }))
}
