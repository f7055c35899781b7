//! An account as the hub tells it, read strictly: whose it is, what it may do, and how a manifest and `/auth/me` see it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::HeaderValue;
use query::policy::Viewer;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::caller::viewer_of_row;
use crate::query_service::MAX_RECORD_BYTES;

use super::hub_client::{Answer, Ask, Lane, Upstream};

const PATH: &str = "/graphql";
const QUERY: &str = r#"{"query":"{ iamMeAccount { id type code email username isActive tags scopes dPermissions dTenants meta createdAt updatedAt deletedAt roles { id name } tenants { id code name } } }"}"#;
/// Whatever a hub tells fits.
const MOST_BYTES: usize = MAX_RECORD_BYTES;
/// What a GraphQL server calls a token that is not good.
const REFUSALS: [&str; 3] = ["UNAUTHENTICATED", "INVALID_TOKEN", "FORBIDDEN"];

/// An account that a good token is of.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: Uuid,
    pub(crate) viewer: Arc<Viewer>,
    /// The whole account, as JSON.
    pub(crate) row: Bytes,
}

/// What the hub says of a token.
#[derive(Clone, Debug)]
pub(super) enum Word {
    /// Whose it is.
    Good(Arc<Member>),
    /// It is not good, or not any more.
    Refused,
    /// Nothing that helps.
    Nothing,
}

/// Asks the hub for the account of a token whose `sub` is known.
pub(super) async fn ask(upstream: &Upstream, token: &str, subject: Uuid) -> Word {
    let Ok(mut bearer) = HeaderValue::from_str(&format!("Bearer {token}")) else { return Word::Refused };
    bearer.set_sensitive(true);
    let body = Some(("application/json", QUERY.to_owned()));
    match upstream.send(Lane::Reads, Ask { path: PATH, body, authorization: Some(bearer), most_bytes: MOST_BYTES }).await {
        Ok(answer) => {
            let word = read(&answer, subject);
            if let Word::Nothing = word {
                tracing::warn!(status = answer.status, "the hub's answer about an account is not understood");
            }
            word
        }
        Err(trouble) => {
            tracing::warn!(%trouble, "the hub could not be asked for an account");
            Word::Nothing
        }
    }
}

fn read(answer: &Answer, subject: Uuid) -> Word {
    match answer.status {
        200 => {}
        // A page is no word of the hub, but of something that stands before it.
        401 | 403 if answer.body.is_empty() || object(&answer.body).is_some() => return Word::Refused,
        _ => return Word::Nothing,
    }
    let Some(mut answer) = object(&answer.body) else { return Word::Nothing };
    match answer.get_mut("data").and_then(|data| data.get_mut("iamMeAccount")).map(Value::take) {
        Some(Value::Object(account)) => of_row(&account, subject),
        Some(Value::Null) | None if is_refusal(answer.get("errors")) => Word::Refused,
        // Nobody is behind the token, and nothing went wrong.
        Some(Value::Null) if !answer.contains_key("errors") => Word::Refused,
        _ => Word::Nothing,
    }
}

fn object(body: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(body).ok()
}

fn is_refusal(errors: Option<&Value>) -> bool {
    let codes = errors.and_then(Value::as_array).into_iter().flatten().filter_map(|error| error["extensions"]["code"].as_str());
    codes.into_iter().any(|code| REFUSALS.contains(&code))
}

fn of_row(account: &Map<String, Value>, subject: Uuid) -> Word {
    let id = account.get("id").and_then(Value::as_str).and_then(|id| Uuid::try_parse(id).ok());
    let (Some(id), Some(viewer)) = (id, viewer_of_row(account)) else { return Word::Nothing };
    if id != subject {
        tracing::error!("the hub answered with the account of somebody else than the token's; the token is refused");
        return Word::Refused;
    }
    // A hub that does not speak of closing and removing accounts at all answers for those that are neither.
    let closed = account.get("isActive").is_some_and(|active| *active != Value::Bool(true));
    let removed = account.get("deletedAt").is_some_and(|at| !at.is_null());
    if closed || removed {
        return Word::Refused;
    }
    let Ok(row) = serde_json::to_vec(account) else { return Word::Nothing };
    Word::Good(Arc::new(Member { id, viewer: Arc::new(viewer), row: row.into() }))
}
