//! The access token of a request (RFC 6750): from the `Authorization` header alone. One in the address or in a form is not looked at,
//! since addresses are logged.

use crate::error::{Error, ErrorCode};

const MALFORMED: Error = Error::new(ErrorCode::InvalidToken, "the Authorization header holds no Bearer token");

/// The token, given the values of `Authorization` as they came; none without a header. A header that is there and holds no token is an
/// error: a caller that tries to say who it is is never taken for nobody.
pub fn read<'a>(authorization: &[&'a str]) -> Result<Option<&'a str>, Error> {
    match authorization {
        [] => Ok(None),
        [header] => {
            let (scheme, token) = header.split_once(' ').ok_or(MALFORMED)?;
            let token = token.trim_matches(' ');
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
            let fits = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.bytes().all(is_token);
            fits.then_some(Some(token)).ok_or(MALFORMED)
        }
        _ => Err(Error::request("there is more than one Authorization header")),
    }
}

/// What a cache may know a token by: who reads it cannot show the token.
pub fn digest(token: &str) -> [u8; 32] {
    crate::opaque::sha256(token.as_bytes())
}
