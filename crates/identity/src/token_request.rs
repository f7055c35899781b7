//! A request to the token endpoint, read in two steps: first the client's credentials, and after authentication the grant.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::client::{Authenticated, GrantType};
use crate::error::{Error, ErrorCode};
use crate::form;
use crate::grant::{authorization_code, refresh_token};
use crate::parameters::Parameters;
use crate::password::Password;
use crate::pkce::Verifier;
use crate::scope::Scope;
use crate::secret_token::{Code, RefreshToken};

/// Names that are refused in the URL: URLs are logged and stored in histories. Unknown names are ignored (RFC 6749, 3.2).
const REFUSED_IN_URL: [&str; 13] = [
    "client_id",
    "client_secret",
    "code",
    "code_verifier",
    "end_session",
    "grant_type",
    "password",
    "redirect_uri",
    "refresh_token",
    "scope",
    "token",
    "token_type_hint",
    "username",
];

/// The id and secret of a request. `Debug` shows neither.
#[derive(Clone)]
pub struct Credentials {
    id: String,
    secret: Zeroizing<String>,
}

redacted!(Credentials);

impl Credentials {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Reads the credentials from `Authorization` or from the body. It refuses both at once, and a secret in the URL.
    pub fn read(authorization: &[&str], query: Option<&str>, body: &Parameters) -> Result<Self, Error> {
        refuse_in_url(query)?;
        let in_body = (body.get("client_id"), body.get("client_secret"));
        // A token in the header does not authenticate a client: it is ignored if the body has credentials.
        let authorization = match (authorization, in_body) {
            ([header], (Some(_), Some(_))) if !is_basic(header) => &[],
            _ => authorization,
        };
        match (authorization, in_body) {
            ([], (Some(id), Some(secret))) => Ok(Credentials { id: id.to_owned(), secret: Zeroizing::new(secret.to_owned()) }),
            ([], _) => Err(Error::client("client authentication is missing: HTTP Basic, or client_id and client_secret in the body")),
            ([_], (_, Some(_))) => Err(Error::request("the client authenticates twice: by HTTP Basic and in the body")),
            ([header], (id, None)) => {
                let credentials = basic(header).ok_or(Error::client("the Authorization header is not HTTP Basic with id and secret"))?;
                if id.is_some_and(|id| id != credentials.id) {
                    return Err(Error::request("client_id in the body differs from that of HTTP Basic"));
                }
                Ok(credentials)
            }
            _ => Err(Error::request("there is more than one Authorization header")),
        }
    }
}

fn is_basic(header: &str) -> bool {
    header.split(' ').next().is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic"))
}

/// RFC 6749, 2.3.1: id and secret are form-encoded, joined by a colon, then in base64.
fn basic(header: &str) -> Option<Credentials> {
    let (_, text) = header.split_once(' ').filter(|_| is_basic(header))?;
    let decoded = Zeroizing::new(String::from_utf8(STANDARD.decode(text.trim_matches(' ')).ok()?).ok()?);
    let (id, secret) = decoded.split_once(':')?;
    Some(Credentials { id: form::decode(id)?, secret: Zeroizing::new(form::decode(secret)?) })
}

fn refuse_in_url(query: Option<&str>) -> Result<(), Error> {
    let pairs = form::pairs(query.unwrap_or_default())?;
    if pairs.iter().any(|(name, _)| REFUSED_IN_URL.contains(&name.as_str())) {
        return Err(Error::request("parameters of this endpoint must be in the body, not in the URL"));
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub enum GrantRequest {
    AuthorizationCode { code: Code, redirect_uri: String, verifier: Verifier },
    // The scope may be narrower; `None` for the same.
    RefreshToken { token: RefreshToken, scope: Option<Scope> },
    Password { username: String, password: Password, scope: Option<Scope> },
}

impl GrantRequest {
    /// Reads the grant of an authenticated client, which must hold it.
    pub fn read(client: Authenticated<'_>, body: &Parameters) -> Result<Self, Error> {
        let word = body.get("grant_type").ok_or(Error::request("grant_type is missing"))?;
        let unsupported =
            Error::new(ErrorCode::UnsupportedGrantType, "grant_type must be one of authorization_code, refresh_token, password");
        let grant = GrantType::from_word(word).ok_or(unsupported)?;
        if !client.client().grants.contains(&grant) {
            return Err(Error::new(
                ErrorCode::UnauthorizedClient,
                "the client may not use this grant_type; `peristyle client update --grant …` on the hub allows it",
            ));
        }
        match grant {
            GrantType::AuthorizationCode => {
                let code = body.get("code").ok_or(Error::request("code is missing"))?;
                let redirect_uri = body.get("redirect_uri").ok_or(Error::request("redirect_uri is missing"))?;
                let verifier = body.get("code_verifier").ok_or(Error::request("code_verifier is missing"))?;
                Ok(GrantRequest::AuthorizationCode {
                    code: Code::parse(code).ok_or(authorization_code::UNKNOWN)?,
                    redirect_uri: redirect_uri.to_owned(),
                    verifier: Verifier::parse(verifier).ok_or(authorization_code::MISMATCH)?,
                })
            }
            GrantType::RefreshToken => {
                let token = body.get("refresh_token").ok_or(Error::request("refresh_token is missing"))?;
                let scope = Scope::read(body.get("scope"))?;
                Ok(GrantRequest::RefreshToken { token: RefreshToken::parse(token).ok_or(refresh_token::UNKNOWN)?, scope })
            }
            GrantType::Password => {
                let username = body.get("username").ok_or(Error::request("username is missing"))?;
                let password = body.get("password").ok_or(Error::request("password is missing"))?;
                let password = Password::presented(password).map_err(|_| Error::request("password is longer than 1024 bytes"))?;
                Ok(GrantRequest::Password { username: username.to_owned(), password, scope: Scope::read(body.get("scope"))? })
            }
        }
    }
}
