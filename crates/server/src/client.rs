//! Who is at the other end: the one who connected, or whom a trusted proxy says it stands for.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;

/// The address of the one who connected, put into each request by the listener.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// The proxies whose word counts.
#[derive(Clone, Debug, Default)]
pub struct Proxies(Arc<[IpAddr]>);

impl Proxies {
    /// These addresses.
    pub fn new(trusted: &[IpAddr]) -> Self {
        Proxies(trusted.into())
    }

    /// The client's address. Each proxy appends whom it heard from, so the list is read from its end, and only as far as it
    /// was written by proxies that are trusted.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer;
        let forwarded: Vec<&str> = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok()).collect();
        for item in forwarded.iter().flat_map(|value| value.split(',')).rev() {
            if !self.0.contains(&client) {
                break;
            }
            match item.trim().parse() {
                Ok(address) => client = address,
                Err(_) => break,
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed() {
        // contract B1.5
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let proxies = Proxies::new(&[address("10.0.0.1"), address("10.0.0.2")]);
        for (peer, forwarded, expected) in [
            ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
            ("10.0.0.1", "203.0.113.9, 10.0.0.2", "203.0.113.9"),
            ("10.0.0.1", "1.2.3.4, 203.0.113.9", "203.0.113.9"),
            ("198.51.100.7", "203.0.113.9", "198.51.100.7"),
            ("10.0.0.1", "nonsense", "10.0.0.1"),
            ("10.0.0.1", "", "10.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-for", forwarded.parse().expect("a header"));
            assert_eq!(proxies.client(address(peer), &headers), address(expected), "{peer} for {forwarded}");
        }
    }
}
