//! The context of a request to an identity endpoint: client address, origin, cookies, headers.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, ORIGIN, USER_AGENT};
use axum::http::uri::PathAndQuery;
use axum::http::{Extensions, HeaderMap, Uri};
use identity::error::Error;
use identity::form;
use identity::origin::{Provenance, is_other_local_name, provenance};
use identity::parameters::Parameters;
use store::hub_records::audit_log::AuditContext;

use crate::clock;
use crate::http::accept;
use crate::http::client_address::{Peer, Proxies};
use crate::problem::oauth::OauthError;

const MAX_USER_AGENT: usize = 200;
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

#[derive(Clone)]
pub(crate) struct RequestContext {
    headers: HeaderMap,
    pub(crate) query: Option<String>,
    /// The client address, as the throttle and the audit log have it.
    pub(crate) address: String,
    /// Whether a trusted proxy says that the client uses https.
    by_https: bool,
}

/// Headers hold secrets, tokens and cookies; queries hold codes.
impl fmt::Debug for RequestContext {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RequestContext").field("address", &self.address).field("by_https", &self.by_https).finish_non_exhaustive()
    }
}

/// Whether a browser sent a request: browsers send `Origin` or `Sec-Fetch-Site`, and no script of a page can leave them out.
pub(crate) fn is_from_browser(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) || headers.contains_key(SEC_FETCH_SITE)
}

impl RequestContext {
    pub(crate) fn of(proxies: &Proxies, head: axum::http::request::Parts) -> Self {
        let address = address(proxies, &head.headers, &head.extensions);
        let by_https = proxies.is_secure(peer(&head.extensions), &head.headers);
        RequestContext { query: head.uri.query().map(str::to_owned), headers: head.headers, address, by_https }
    }

    pub(crate) fn parameters(&self) -> Result<Parameters, Error> {
        form::pairs(self.query.as_deref().unwrap_or_default()).and_then(Parameters::read)
    }

    /// Whether cookies get `Secure`, given our own URL.
    pub(crate) fn is_secure(&self, own_url: &str) -> bool {
        self.by_https || own_url.starts_with("https://")
    }

    /// Every value of `Authorization`. One that is no UTF-8 still counts as a value.
    pub(crate) fn authorization(&self) -> Vec<&str> {
        self.values(&AUTHORIZATION)
    }

    pub(crate) fn values(&self, name: &HeaderName) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Refuses a request that a page of another origin sent, given our own origin.
    pub(crate) fn refuse_cross_origin(&self, own: &str) -> Result<(), OauthError> {
        match provenance(&self.values(&ORIGIN), &self.values(&SEC_FETCH_SITE), own) {
            Provenance::Own => Ok(()),
            Provenance::Foreign => Err(OauthError::CrossOrigin(own.to_owned())),
        }
    }

    /// Whether a browser sent it.
    pub(crate) fn is_browser(&self) -> bool {
        is_from_browser(&self.headers)
    }

    /// Whether a page of another site sent it. `SameSite=Lax` cookies then come only with a GET.
    pub(crate) fn is_cross_site(&self) -> bool {
        self.values(&SEC_FETCH_SITE) == ["cross-site"]
    }

    pub(crate) fn origin(&self) -> Option<&str> {
        match self.values(&ORIGIN)[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Every cookie of this name. A sibling domain can set one beside ours.
    pub(crate) fn cookies<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        let pieces = self.headers.get_all(COOKIE).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
        // A cookie that is no UTF-8 is not ours, and must not hide ours.
        let pairs = pieces.filter_map(|piece| std::str::from_utf8(piece).ok()?.trim().split_once('='));
        pairs.filter(move |(key, _)| *key == name).map(|(_, value)| value)
    }

    pub(crate) fn audit_context(&self) -> AuditContext<'_> {
        AuditContext { now: clock::now(), address: Some(&self.address) }
    }

    pub(crate) fn wants_page(&self) -> bool {
        wants_page(&self.headers)
    }

    pub(crate) fn user_agent(&self) -> Option<String> {
        let text = self.headers.get(USER_AGENT)?.to_str().ok()?;
        Some(text.chars().take(MAX_USER_AGENT).collect())
    }
}

pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    accept::prefers(headers, "text/html", "application/json")
}

/// The same page at APP_URL, for a browser that names this machine in another way: the cookies of `localhost` are not those of `127.0.0.1`.
pub(crate) fn page_at_app_url(app_url: &str, headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let host = headers.get(HOST)?.to_str().ok()?;
    let is_page = wants_page(headers) && is_other_local_name(app_url, host);
    is_page.then(|| format!("{app_url}{}", uri.path_and_query().map_or("/", PathAndQuery::as_str)))
}

/// The client address, as the throttle and the audit log have it.
pub(crate) fn address(proxies: &Proxies, headers: &HeaderMap, extensions: &Extensions) -> String {
    network(proxies.client(peer(extensions), headers))
}

fn peer(extensions: &Extensions) -> IpAddr {
    extensions.get::<Peer>().map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |peer| peer.0)
}

/// An address as failures are counted by it. For IPv6 it is the /64 network, since one line has that many addresses.
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
    fn a_cookie_that_is_no_utf8_hides_no_other() {
        // attack 42
        let mut request = axum::http::Request::get("/");
        for value in [&b"theme=caf\xff; hub_session=one"[..], b"hub_session=two; x=\xc3\xa9", b"hub_session=\xff"] {
            request = request.header(COOKIE, axum::http::HeaderValue::from_bytes(value).expect("a header"));
        }
        let (head, ()) = request.body(()).expect("a request").into_parts();
        let context = RequestContext::of(&Proxies::new(&[]), head);
        assert_eq!(context.cookies("hub_session").collect::<Vec<_>>(), ["one", "two"]);
    }

    #[test]
    fn an_ipv6_network_is_one_client_address() {
        // contract I11.1
        let network = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(network("203.0.113.9"), "203.0.113.9");
        assert_eq!(network("::ffff:203.0.113.9"), "203.0.113.9");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2::1"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    }
}
