//! The access token of a request (RFC 6750), from the `Authorization` header or a form. The URL is not read: URLs are logged.

use crate::error::{Error, ErrorCode};

const MALFORMED: Error = Error::new(ErrorCode::InvalidToken, "the Authorization header holds no Bearer token");

/// The token from `Authorization`; `None` without a header. A header without a token is an error, so that it does not become anonymous.
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

/// The token of the header, or else of the form.
pub fn or_posted<'a>(header: Option<&'a str>, posted: Option<&'a str>) -> Result<Option<&'a str>, Error> {
    match (header, posted) {
        (header, None) => Ok(header),
        (None, Some(token)) if is_token(token) => Ok(Some(token)),
        (None, Some(_)) => Err(Error::new(ErrorCode::InvalidToken, "the form holds no access token")),
        (Some(_), Some(_)) => Err(Error::request("the access token is given twice, in the Authorization header and in the form")),
    }
}

fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// The key of a token in a cache: it does not reveal the token.
pub fn digest(token: &str) -> [u8; 32] {
    crate::secret_token::sha256(token.as_bytes())
}
