//! The bearer token of a request, and the refusal of a token that is not valid.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use identity::token::TokenFault;

use crate::problem::Problem;

pub(crate) fn read(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(AUTHORIZATION).iter().map(|value| value.to_str().unwrap_or("?"));
    let token = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(one), None) => identity::bearer::read(&[one]),
        (Some(one), Some(other)) => identity::bearer::read(&[one, other]),
    };
    token.map_err(|error| Problem::InvalidToken(error.description()))
}

/// The refusal of a token. Only expiry is named, since a client can act on it.
pub(crate) fn refused(fault: TokenFault) -> Problem {
    Problem::InvalidToken(match fault {
        TokenFault::Expired => "the access token has expired",
        _ => "the access token is not valid for this server; sign in again",
    })
}
