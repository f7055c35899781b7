//! A client's redirect address: judged once, when it is registered, and from then on compared byte for byte.

use crate::form;
use crate::origin::host;

const LONGEST: usize = 2_000;
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
    /// How many bytes of it are the origin.
    origin: usize,
}

impl Redirect {
    /// Judges an address for registration, or reads a registered one.
    pub fn register(text: &str) -> Result<Self, RedirectFault> {
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte));
        if !printable || text.len() > LONGEST || !escapes_are_whole(text) {
            return Err(RedirectFault::NotAbsolute);
        }
        if text.contains('#') {
            return Err(RedirectFault::Fragment);
        }
        let (secure, scheme) = match text {
            _ if text.starts_with("https://") => (true, "https://"),
            _ if text.starts_with("http://") => (false, "http://"),
            _ => return Err(RedirectFault::NotAbsolute),
        };
        let rest = &text[scheme.len()..];
        let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
        if authority.contains('@') {
            return Err(RedirectFault::User);
        }
        let host = host(authority).ok_or(RedirectFault::Host)?;
        if !secure && !is_loopback(host) {
            return Err(RedirectFault::NotSecure);
        }
        let pairs = form::pairs(text.split_once('?').map_or("", |(_, query)| query)).map_err(|_| RedirectFault::Query)?;
        if pairs.iter().any(|(name, _)| OURS.contains(&name.as_str())) {
            return Err(RedirectFault::Query);
        }
        Ok(Redirect { origin: scheme.len() + authority.len(), text: text.to_owned() })
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its origin: scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.text[..self.origin]
    }

    /// Whether a presented address is this one, byte for byte.
    pub fn is(&self, presented: &str) -> bool {
        self.text == presented
    }

    /// Whether another address lies at the same origin, for the way back after a logout.
    pub fn shares_origin(&self, address: &str) -> bool {
        Redirect::register(address).is_ok_and(|other| other.origin() == self.origin())
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

fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit()))
}

fn is_loopback(host: &str) -> bool {
    let numbers: Vec<&str> = host.split('.').collect();
    let is_127 = numbers.len() == 4 && numbers[0] == "127" && numbers.iter().all(|number| number.parse::<u8>().is_ok());
    host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || is_127
}
