//! A client's redirect URI: checked once, at registration, and then compared byte for byte.

use crate::form;
use crate::origin::{host, is_loopback, spelled};

pub const MAX_REDIRECT_BYTES: usize = 2_000;
/// The parameters that the hub adds. In a registered query they would make the answer ambiguous.
const OURS: [&str; 5] = ["code", "state", "iss", "error", "error_description"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectFault {
    #[error("a redirect must be an absolute http or https URL in printable ASCII of at most 2000 characters")]
    NotAbsolute,
    #[error("a redirect must not have a fragment")]
    Fragment,
    /// `user@host`
    #[error("a redirect must not hold a user or a password")]
    User,
    #[error("the host or the port of the redirect is malformed")]
    Host,
    #[error("a redirect must be https, except for localhost, 127.0.0.0/8 and [::1]")]
    NotSecure,
    #[error("the query of a redirect must not hold code, state, iss or error")]
    Query,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    text: String,
    /// As browsers spell it.
    origin: String,
}

impl Redirect {
    /// Checks a redirect URI for registration, or reads a registered one.
    pub fn register(text: &str) -> Result<Self, RedirectFault> {
        let url = AbsoluteUrl::read(text)?;
        if text.contains('#') {
            return Err(RedirectFault::Fragment);
        }
        if !url.secure && !is_loopback(url.host) {
            return Err(RedirectFault::NotSecure);
        }
        let pairs = form::pairs(text.split_once('?').map_or("", |(_, query)| query)).map_err(|_| RedirectFault::Query)?;
        if pairs.iter().any(|(name, _)| OURS.contains(&name.as_str())) {
            return Err(RedirectFault::Query);
        }
        Ok(Redirect { origin: spelled(url.origin), text: text.to_owned() })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its origin: scheme, host and port, as browsers spell them.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether a presented URI is this one, byte for byte.
    pub fn is(&self, presented: &str) -> bool {
        self.text == presented
    }

    /// Its path, without the query.
    pub fn path(&self) -> &str {
        let url = self.text.split('?').next().unwrap_or(&self.text);
        let host = url.find("://").map_or(0, |scheme| scheme + "://".len());
        url[host..].find('/').map_or("/", |path| &url[host + path..])
    }

    /// Whether another URL has the same origin, for the redirect after a logout. The rules of a redirect URI do not apply to it.
    pub fn shares_origin(&self, url: &str) -> bool {
        AbsoluteUrl::read(url).is_ok_and(|other| spelled(other.origin) == self.origin)
    }

    /// The URI with these parameters added to its query.
    pub fn with<'a>(&self, parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
        let separator = match self.text.split_once('?') {
            None => "?",
            Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
            Some(_) => "&",
        };
        format!("{}{separator}{}", self.text, form::write(parameters))
    }
}

struct AbsoluteUrl<'a> {
    secure: bool,
    host: &'a str,
    origin: &'a str,
}

impl<'a> AbsoluteUrl<'a> {
    fn read(text: &'a str) -> Result<Self, RedirectFault> {
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte));
        if !printable || text.len() > MAX_REDIRECT_BYTES || !escapes_are_whole(text) {
            return Err(RedirectFault::NotAbsolute);
        }
        let (secure, scheme) = match text {
            _ if text.starts_with("https://") => (true, "https://"),
            _ if text.starts_with("http://") => (false, "http://"),
            _ => return Err(RedirectFault::NotAbsolute),
        };
        let rest = &text[scheme.len()..];
        let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        if authority.contains('@') {
            return Err(RedirectFault::User);
        }
        let host = host(authority).ok_or(RedirectFault::Host)?;
        Ok(AbsoluteUrl { secure, host, origin: &text[..scheme.len() + authority.len()] })
    }
}

fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit()))
}
