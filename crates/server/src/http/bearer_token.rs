//! What a caller has shown: the token of a request, and the account that it is of.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use identity::account::Rights;
use identity::token::TokenFault;
use query::policy::{ACCOUNT_FIELDS, Viewer};
use serde_json::{Map, Value};

use crate::problem::Problem;

/// The access token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(AUTHORIZATION).iter().map(|value| value.to_str().unwrap_or("?"));
    let read = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(one), None) => identity::bearer::read(&[one]),
        (Some(one), Some(other)) => identity::bearer::read(&[one, other]),
    };
    read.map_err(|error| Problem::InvalidToken(error.description()))
}

/// A token is refused in the same words whatever is wrong with it, but for its time, which a client can mend.
pub(crate) fn refused(fault: TokenFault) -> Problem {
    Problem::InvalidToken(match fault {
        TokenFault::Expired => "the access token has expired",
        _ => "the access token is not good here",
    })
}

/// An account as the query engine sees it, from what `/auth/me` tells of it. It holds nothing that `dPermissions` does not say.
pub(crate) fn viewer_of_row(account: &Map<String, Value>) -> Option<Viewer> {
    let rights = account.get("dPermissions").and_then(Rights::from_json)?;
    let told = ACCOUNT_FIELDS.iter().filter_map(|key| Some(((*key).to_owned(), account.get(*key)?.clone()))).collect();
    Some(viewer(&rights, Value::Object(told)))
}

/// An account as the query engine sees it: what it holds, and what `$account.…` looks into. An administrator holds also what only this
/// process knows.
pub(crate) fn viewer(rights: &Rights, told: Value) -> Viewer {
    if rights.are_everything() { Viewer::administrator(told) } else { Viewer::new(rights.all().map(str::to_owned), told) }
}
