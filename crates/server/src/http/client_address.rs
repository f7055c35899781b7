//! The client address of a request: the peer of the connection, or the address that a trusted proxy forwards.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::http::{Extensions, HeaderMap};
use ipnet::IpNet;

/// The peer of the connection. The listener puts it into each request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// The client address. The router puts it into each request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl ClientAddress {
    /// The client address of a request; the peer for a request that did not pass the router.
    pub(crate) fn of(extensions: &Extensions) -> IpAddr {
        let client = extensions.get::<ClientAddress>().map(|client| client.0);
        client.or_else(|| extensions.get::<Peer>().map(|peer| peer.0)).unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Proxies(Arc<[IpNet]>);

impl Proxies {
    pub fn new(trusted: &[IpNet]) -> Self {
        Proxies(trusted.into())
    }

    /// The client address by `X-Forwarded-For`. Each proxy appends its peer, so the list is read from its end, as far as trusted proxies
    /// wrote it.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer;
        // Split as bytes: a client can begin the list with bytes that are no UTF-8, and must not hide behind the proxy by that.
        let forwarded = headers.get_all("x-forwarded-for").iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        for item in forwarded.rev() {
            match std::str::from_utf8(item).ok().and_then(client_address) {
                Some(address) if self.trusts(client) => client = address,
                _ => break,
            }
        }
        client
    }

    /// Whether the client uses https, by the `X-Forwarded-Proto` of the proxy that connected. Only the last value is the proxy's own; a
    /// client may have sent the others.
    pub fn is_secure(&self, peer: IpAddr, headers: &HeaderMap) -> bool {
        let last = headers.get_all("x-forwarded-proto").iter().next_back();
        let nearest = last.and_then(|value| value.as_bytes().rsplit(|byte| *byte == b',').next());
        self.trusts(peer) && nearest.is_some_and(|scheme| scheme.trim_ascii().eq_ignore_ascii_case(b"https"))
    }

    /// Whether an address is a trusted proxy. An IPv4-mapped IPv6 address counts as IPv4.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|trusted| trusted.contains(&address.to_canonical()))
    }
}

/// The address of an entry of `X-Forwarded-For`. Some proxies add a port, and an IPv6 address may be in brackets.
fn client_address(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let bracketed = || entry.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok();
    let with_port = || entry.parse::<SocketAddr>().ok();
    entry.parse().ok().or_else(|| with_port().map(|socket| socket.ip())).or_else(|| bracketed().map(IpAddr::V6))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn headers(name: &'static str, values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).expect("a header"))).collect()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        // contract B1.5
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
            // The client sent bytes that are no UTF-8 before the entry of the proxy.
            ("10.0.0.1", "caf\u{e9}, 203.0.113.9", "203.0.113.9"),
        ] {
            let headers = headers("x-forwarded-for", &[forwarded]);
            assert_eq!(proxies.client(address(peer), &headers), address(expected), "{peer} for {forwarded}");
        }
    }

    #[test]
    fn a_port_behind_a_client_address_is_left_out() {
        // contract B1.5, attack 80
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
            // An entry without an address ends the list.
            ("203.0.113.9:port", "10.0.0.1"),
            ("203.0.113.9:99999", "10.0.0.1"),
            ("203.0.113.9:", "10.0.0.1"),
            ("[203.0.113.9]", "10.0.0.1"),
            ("[2001:db8::1", "10.0.0.1"),
            ("2001:db8::1]", "10.0.0.1"),
            ("[]", "10.0.0.1"),
            ("example.com:80", "10.0.0.1"),
        ] {
            let headers = headers("x-forwarded-for", &[forwarded]);
            assert_eq!(proxies.client(address("10.0.0.1"), &headers), address(expected), "{forwarded}");
        }
    }

    #[test]
    fn the_scheme_is_the_last_value_of_a_trusted_proxy() {
        // contract B1.5
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
            let headers = headers("x-forwarded-proto", forwarded);
            assert_eq!(proxies.is_secure(address(peer), &headers), expected, "{peer} for {forwarded:?}");
        }
    }
}
