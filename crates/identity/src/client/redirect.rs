//! A client's redirect address: judged once, when it is registered, and from then on compared byte for byte.

use crate::form;
use crate::origin::{host, spelled};

/// The most bytes of a redirect URI.
pub const LONGEST_REDIRECT: usize = 2_000;
/// What the hub adds to the address; a registered query that has one of them already would make the answer ambiguous.
const OURS: [&str; 5] = ["code", "state", "iss", "error", "error_description"];

/// Why an address is not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectFault {
    /// Not `http://…` or `https://…` in printable ASCII.
    #[error("a redirect is an absolute http or https address in printable ASCII, at most 2000 characters long")]
    NotAbsolute,
    /// `#…`
    #[error("a redirect must not have a fragment")]
    Fragment,
    /// `user@host`
    #[error("a redirect must not hold a user or a password")]
    User,
    /// No host, or a port that is none.
    #[error("the host or the port of the redirect is malformed")]
    Host,
    /// `http` to another machine.
    #[error("a redirect must be https, but for localhost, 127.0.0.0/8 and [::1]")]
    NotSecure,
    /// The hub's own parameters.
    #[error("the query of a redirect must not hold code, state, iss or error")]
    Query,
}

/// An address that may be redirected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    text: String,
    /// As browsers spell it.
    origin: String,
}

impl Redirect {
    /// Judges an address for registration, or reads a registered one.
    pub fn register(text: &str) -> Result<Self, RedirectFault> {
        let address = Address::read(text)?;
        if text.contains('#') {
            return Err(RedirectFault::Fragment);
        }
        if !address.secure && !is_loopback(address.host) {
            return Err(RedirectFault::NotSecure);
        }
        let pairs = form::pairs(text.split_once('?').map_or("", |(_, query)| query)).map_err(|_| RedirectFault::Query)?;
        if pairs.iter().any(|(name, _)| OURS.contains(&name.as_str())) {
            return Err(RedirectFault::Query);
        }
        Ok(Redirect { origin: spelled(address.origin), text: text.to_owned() })
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its origin: scheme, host and port, as browsers spell them.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether a presented address is this one, byte for byte.
    pub fn is(&self, presented: &str) -> bool {
        self.text == presented
    }

    /// Whether another address lies at the same origin, for the way back after a logout. It may hold what a redirect must not: nothing
    /// is read out of it.
    pub fn shares_origin(&self, address: &str) -> bool {
        Address::read(address).is_ok_and(|other| spelled(other.origin) == self.origin)
    }

    /// The address with these parameters added to its query.
    pub fn with<'a>(&self, parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
        let separator = match self.text.split_once('?') {
            None => "?",
            Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
            Some(_) => "&",
        };
        format!("{}{separator}{}", self.text, form::write(parameters))
    }
}

/// An absolute address, as far as every one of them is read alike.
struct Address<'a> {
    secure: bool,
    host: &'a str,
    origin: &'a str,
}

impl<'a> Address<'a> {
    fn read(text: &'a str) -> Result<Self, RedirectFault> {
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte));
        if !printable || text.len() > LONGEST_REDIRECT || !escapes_are_whole(text) {
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
        Ok(Address { secure, host, origin: &text[..scheme.len() + authority.len()] })
    }
}

fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit()))
}

fn is_loopback(host: &str) -> bool {
    let numbers: Vec<&str> = host.split('.').collect();
    let is_127 = numbers.len() == 4 && numbers[0] == "127" && numbers.iter().all(|number| number.parse::<u8>().is_ok());
    host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || is_127
}
