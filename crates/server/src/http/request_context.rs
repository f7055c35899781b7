//! Who sent a request to an identity endpoint, and from where: its address, its origin, its cookies, what it accepts.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use axum::http::header::{AUTHORIZATION, COOKIE, HeaderName, ORIGIN, USER_AGENT};
use axum::http::{Extensions, HeaderMap};
use identity::error::Error;
use identity::form;
use identity::origin::{Provenance, provenance};
use identity::parameters::Parameters;
use store::events::Occasion;

use crate::clock;
use crate::http::accept;
use crate::http::client_address::{Peer, Proxies};
use crate::problem::oauth::OauthError;

const LONGEST_DEVICE: usize = 200;
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What is known of a request beside its parameters.
#[derive(Clone)]
pub(crate) struct RequestContext {
    headers: HeaderMap,
    /// The query of the address.
    pub(crate) query: Option<String>,
    /// Where it came from, as it is counted and shown.
    pub(crate) address: String,
    /// Whether a proxy that is trusted says that it came by https.
    by_https: bool,
}

/// Passwords of clients, tokens and cookies stand in headers, and codes in addresses.
impl fmt::Debug for RequestContext {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RequestContext").field("address", &self.address).field("by_https", &self.by_https).finish_non_exhaustive()
    }
}

impl RequestContext {
    pub(crate) fn of(proxies: &Proxies, head: axum::http::request::Parts) -> Self {
        let address = address(proxies, &head.headers, &head.extensions);
        let by_https = proxies.is_secure(peer(&head.extensions), &head.headers);
        RequestContext { query: head.uri.query().map(str::to_owned), headers: head.headers, address, by_https }
    }

    /// The parameters of its address.
    pub(crate) fn parameters(&self) -> Result<Parameters, Error> {
        form::pairs(self.query.as_deref().unwrap_or_default()).and_then(Parameters::read)
    }

    /// Whether cookies of ours, who are known by this address, travel by https alone.
    pub(crate) fn is_secure(&self, own: &str) -> bool {
        self.by_https || own.starts_with("https://")
    }

    /// Every value of `Authorization`; one that is no text counts as something else than none.
    pub(crate) fn authorization(&self) -> Vec<&str> {
        self.values(&AUTHORIZATION)
    }

    pub(crate) fn values(&self, name: &HeaderName) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Refuses what a page of somebody else made a browser send, given our own origin.
    pub(crate) fn refuse_foreign(&self, own: &str) -> Result<(), OauthError> {
        match provenance(&self.values(&ORIGIN), &self.values(&SEC_FETCH_SITE), own) {
            Provenance::Own => Ok(()),
            Provenance::Foreign => Err(OauthError::CrossOrigin(own.to_owned())),
        }
    }

    /// Whether a browser sent it: it says where a request comes from, as browsers always do.
    pub(crate) fn is_browser(&self) -> bool {
        self.headers.contains_key(ORIGIN) || self.headers.contains_key(SEC_FETCH_SITE)
    }

    /// Whether a page of another site made a browser send it. Cookies that are `SameSite=Lax` come along with a GET alone then.
    pub(crate) fn is_cross_site(&self) -> bool {
        self.values(&SEC_FETCH_SITE) == ["cross-site"]
    }

    /// The one origin it names.
    pub(crate) fn origin(&self) -> Option<&str> {
        match self.values(&ORIGIN)[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Every cookie of this name: a sibling domain can set one beside ours.
    pub(crate) fn cookies<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        let pieces = self.headers.get_all(COOKIE).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
        // What is no text is a cookie of somebody else's, and hides none of ours.
        let pairs = pieces.filter_map(|piece| std::str::from_utf8(piece).ok()?.trim().split_once('='));
        pairs.filter(move |(key, _)| *key == name).map(|(_, value)| value)
    }

    /// What an event notes of it.
    pub(crate) fn occasion(&self) -> Occasion<'_> {
        Occasion { now: clock::now(), address: Some(&self.address) }
    }

    /// Whether a page is wanted rather than JSON.
    pub(crate) fn wants_page(&self) -> bool {
        wants_page(&self.headers)
    }

    /// What the sender calls itself, for the list of sessions.
    pub(crate) fn device(&self) -> Option<String> {
        let text = self.headers.get(USER_AGENT)?.to_str().ok()?;
        Some(text.chars().take(LONGEST_DEVICE).collect())
    }
}

/// Whether a page is wanted rather than JSON.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    accept::prefers(headers, "text/html", "application/json")
}

/// Where a request came from, as it is counted and noted.
pub(crate) fn address(proxies: &Proxies, headers: &HeaderMap, extensions: &Extensions) -> String {
    network(proxies.client(peer(extensions), headers))
}

/// Who connected.
fn peer(extensions: &Extensions) -> IpAddr {
    extensions.get::<Peer>().map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |peer| peer.0)
}

/// An address as failures are counted by it: of IPv6 the network, since one line has as many addresses as it likes.
fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_shows_in_debug() {
        // attack 37
        let request = axum::http::Request::get("/authorize?code=sesame").header(AUTHORIZATION, "Basic sesame").header(COOKIE, "a=sesame");
        let (head, ()) = request.body(()).expect("a request").into_parts();
        let shown = format!("{:?}", RequestContext::of(&Proxies::new(&[]), head));
        assert!(shown.starts_with("RequestContext { address: ") && !shown.contains("sesame"), "{shown}");
    }

    #[test]
    fn a_cookie_that_is_no_text_hides_no_other() {
        // attack 42
        let mut request = axum::http::Request::get("/");
        for value in [&b"theme=caf\xff; hub_session=one"[..], b"hub_session=two; x=\xc3\xa9", b"hub_session=\xff"] {
            request = request.header(COOKIE, axum::http::HeaderValue::from_bytes(value).expect("a header"));
        }
        let (head, ()) = request.body(()).expect("a request").into_parts();
        let sender = RequestContext::of(&Proxies::new(&[]), head);
        assert_eq!(sender.cookies("hub_session").collect::<Vec<_>>(), ["one", "two"]);
    }

    #[test]
    fn one_line_is_one_address() {
        // contract I11.1
        let network = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(network("203.0.113.9"), "203.0.113.9");
        assert_eq!(network("::ffff:203.0.113.9"), "203.0.113.9");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2::1"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    }
}
