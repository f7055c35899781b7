//! Who is at the other end: the one who connected, or whom a trusted proxy says it stands for.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::http::{Extensions, HeaderMap};
use ipnet::IpNet;

/// The address of the one who connected, put into each request by the listener.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// The client address of a request, put into each request by the router: the peer's, or what a trusted proxy says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl ClientAddress {
    /// The client address of a request; one that reached us past the router is known by its peer alone.
    pub(crate) fn of(extensions: &Extensions) -> IpAddr {
        let client = extensions.get::<ClientAddress>().map(|client| client.0);
        client.or_else(|| extensions.get::<Peer>().map(|peer| peer.0)).unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
    }
}

/// The proxies whose word counts.
#[derive(Clone, Debug, Default)]
pub struct Proxies(Arc<[IpNet]>);

impl Proxies {
    /// These networks.
    pub fn new(trusted: &[IpNet]) -> Self {
        Proxies(trusted.into())
    }

    /// The client's address. Each proxy appends whom it heard from, so the list is read from its end, and only as far as it
    /// was written by proxies that are trusted.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer;
        // Items are parted as bytes: a client can begin the list with what is no text, and must not hide behind the proxy by that.
        let forwarded = headers.get_all("x-forwarded-for").iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        for item in forwarded.rev() {
            match std::str::from_utf8(item).ok().and_then(client_address) {
                Some(address) if self.trusts(client) => client = address,
                _ => break,
            }
        }
        client
    }

    /// Whether the client speaks https, by the word of the proxy that connected. A proxy that appends to what it was told appends its own
    /// word at the end; anything before it anybody could have written.
    pub fn is_secure(&self, peer: IpAddr, headers: &HeaderMap) -> bool {
        let told = headers.get_all("x-forwarded-proto").iter().next_back();
        let nearest = told.and_then(|value| value.as_bytes().rsplit(|byte| *byte == b',').next());
        self.trusts(peer) && nearest.is_some_and(|scheme| scheme.trim_ascii().eq_ignore_ascii_case(b"https"))
    }

    /// An address of IPv4 is the same one when it comes by way of IPv6.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|trusted| trusted.contains(&address.to_canonical()))
    }
}

/// The address that an entry of `X-Forwarded-For` names. Some proxies add the port of the connection, and an IPv6 address may stand in
/// brackets.
fn client_address(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let bracketed = || entry.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok();
    let with_port = || entry.parse::<SocketAddr>().ok();
    entry.parse().ok().or_else(|| with_port().map(|socket| socket.ip())).or_else(|| bracketed().map(IpAddr::V6))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed() {
        // contract B1.5
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let proxies = Proxies::new(&["10.0.0.1/32".parse().expect("one"), "10.0.0.2/31".parse().expect("two")]);
        for (peer, forwarded, expected) in [
            ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
            ("10.0.0.1", "203.0.113.9, 10.0.0.2", "203.0.113.9"),
            ("10.0.0.1", "1.2.3.4, 203.0.113.9", "203.0.113.9"),
            ("::ffff:10.0.0.3", "203.0.113.9", "203.0.113.9"),
            ("10.0.0.4", "203.0.113.9", "10.0.0.4"),
            ("198.51.100.7", "203.0.113.9", "198.51.100.7"),
            ("10.0.0.1", "nonsense", "10.0.0.1"),
            ("10.0.0.1", "", "10.0.0.1"),
            // What the client sent itself, before the proxy's own word, is no text.
            ("10.0.0.1", "caf\u{e9}, 203.0.113.9", "203.0.113.9"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-for", HeaderValue::from_bytes(forwarded.as_bytes()).expect("a header"));
            assert_eq!(proxies.client(address(peer), &headers), address(expected), "{peer} for {forwarded}");
        }
    }

    #[test]
    fn a_port_behind_a_client_address_is_left_out() {
        // contract B1.5, attack 80
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let proxies = Proxies::new(&["10.0.0.1/32".parse().expect("one"), "2001:db8::5/128".parse().expect("two")]);
        for (forwarded, expected) in [
            ("203.0.113.9:1234", "203.0.113.9"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            (" 203.0.113.9:1 ", "203.0.113.9"),
            ("203.0.113.9:1234, 10.0.0.1:80", "203.0.113.9"),
            ("203.0.113.9:1234, [2001:db8::5]:443, 10.0.0.1:80", "203.0.113.9"),
            ("1.2.3.4, 203.0.113.9:1234", "203.0.113.9"),
            // What names no address ends the list.
            ("203.0.113.9:port", "10.0.0.1"),
            ("203.0.113.9:99999", "10.0.0.1"),
            ("203.0.113.9:", "10.0.0.1"),
            ("[203.0.113.9]", "10.0.0.1"),
            ("[2001:db8::1", "10.0.0.1"),
            ("2001:db8::1]", "10.0.0.1"),
            ("[]", "10.0.0.1"),
            ("example.com:80", "10.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-for", HeaderValue::from_static(forwarded));
            assert_eq!(proxies.client(address("10.0.0.1"), &headers), address(expected), "{forwarded}");
        }
    }

    #[test]
    fn the_scheme_is_the_nearest_word_of_a_trusted_proxy() {
        // contract B1.5
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let proxies = Proxies::new(&[address("10.0.0.1").into()]);
        for (peer, forwarded, expected) in [
            ("10.0.0.1", &["https"][..], true),
            ("::ffff:10.0.0.1", &["HTTPS"], true),
            ("10.0.0.1", &["http, https"], true),
            ("10.0.0.1", &["http", "https"], true),
            ("10.0.0.1", &["\u{e9}, https"], true),
            ("10.0.0.1", &["https, http"], false),
            ("10.0.0.1", &["https", "http"], false),
            ("10.0.0.1", &["https,"], false),
            ("10.0.0.1", &["httpsx"], false),
            ("10.0.0.1", &[], false),
            ("10.0.0.2", &["https"], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append("x-forwarded-proto", HeaderValue::from_bytes(value.as_bytes()).expect("a header"));
            }
            assert_eq!(proxies.is_secure(address(peer), &headers), expected, "{peer} for {forwarded:?}");
        }
    }
}
