//! The access token of a request (RFC 6750): from the `Authorization` header, and where OpenID Connect wants it from a form. One in the
//! address is not looked at, since addresses are logged.

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
            let fits = scheme.eq_ignore_ascii_case("bearer") && is_token(token);
            fits.then_some(Some(token)).ok_or(MALFORMED)
        }
        _ => Err(Error::request("there is more than one Authorization header")),
    }
}

/// The token of the header, or the one of a form where one may stand there in place of it.
pub fn or_posted<'a>(header: Option<&'a str>, posted: Option<&'a str>) -> Result<Option<&'a str>, Error> {
    match (header, posted) {
        (header, None) => Ok(header),
        (None, Some(token)) if is_token(token) => Ok(Some(token)),
        (None, Some(_)) => Err(Error::new(ErrorCode::InvalidToken, "the form holds no access token")),
        (Some(_), Some(_)) => Err(Error::request("the access token is shown twice, in the Authorization header and in the form")),
    }
}

fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// What a cache may know a token by: who reads it cannot show the token.
pub fn digest(token: &str) -> [u8; 32] {
    crate::opaque::sha256(token.as_bytes())
}
