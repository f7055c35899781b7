//! The hosts that a request may name (ALLOWED_HOSTS). This stops DNS rebinding: a web page can make its own name resolve to a local
//! address, and would otherwise read a server that listens there alone.

use std::net::{IpAddr, SocketAddr};

use super::{ConfigError, invalid};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHosts {
    /// Names in lower case; a leading dot means every subdomain. Without a list, every name is accepted.
    names: Option<Vec<String>>,
    local: LocalNames,
}

/// Whether unlisted `localhost` and IP addresses are accepted: only a process on this machine can send them to a loopback listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocalNames {
    Accepted,
    MustBeListed,
}

impl AllowedHosts {
    pub const ANY: AllowedHosts = AllowedHosts { names: None, local: LocalNames::Accepted };

    /// The hosts of the list and of APP_URL. Without a list, a loopback listener accepts local names, and any other listener every host.
    pub(super) fn read<'v>(list: impl Iterator<Item = &'v str>, listen: SocketAddr, app_url: &str) -> Result<Self, ConfigError> {
        let mut names = list.map(parse_pattern).collect::<Result<Vec<_>, _>>()?;
        let is_loopback = listen.ip().to_canonical().is_loopback();
        if names.is_empty() && !is_loopback {
            return Ok(AllowedHosts::ANY);
        }
        let own = app_url.split_once("://").map_or(app_url, |(_, authority)| authority);
        names.push(host_name(own));
        Ok(AllowedHosts { names: Some(names), local: if is_loopback { LocalNames::Accepted } else { LocalNames::MustBeListed } })
    }

    pub fn allows(&self, authority: &str) -> bool {
        let Some(names) = &self.names else { return true };
        let host = host_name(authority);
        let is_listed = names.iter().any(|name| *name == host || (name.starts_with('.') && host.ends_with(name)));
        let is_local = || host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        is_listed || (self.local == LocalNames::Accepted && is_local())
    }
}

fn parse_pattern(item: &str) -> Result<String, ConfigError> {
    let name = host_name(item.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(item));
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    let is_address = || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    // The port of a request is ignored, so a pattern must not have one.
    let has_port = name.len() != item.trim_start_matches('*').trim_end_matches('.').len();
    if (is_name(name.trim_start_matches('.')) || is_address()) && !has_port {
        return Ok(name);
    }
    Err(invalid("ALLOWED_HOSTS", item, "a comma-separated list of host names without ports, such as api.example.com, *.example.com"))
}

/// A host without port, in lower case, without a final dot.
fn host_name(authority: &str) -> String {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && (!host.contains(':') || host.ends_with(']')) => host,
        _ => authority,
    };
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(list: &str, listen: &str) -> Result<AllowedHosts, ConfigError> {
        let items = Some(list).filter(|list| !list.is_empty()).into_iter().flat_map(|list| list.split(','));
        AllowedHosts::read(items, listen.parse().expect("an address"), "http://app.example.com:8443")
    }

    #[test]
    fn a_loopback_listener_accepts_local_names_and_the_host_of_its_url() {
        // contract E9.7, attack 55
        let hosts = hosts("", "127.0.0.1:4000").expect("a list");
        for good in
            ["localhost", "LocalHost:4000", "127.0.0.1:4000", "[::1]:4000", "::1", "10.0.0.7", "app.example.com", "App.Example.Com.:1"]
        {
            assert!(hosts.allows(good), "{good}");
        }
        let bad = "evil.example localhost.evil.example 127.0.0.1.evil.example example.com x.app.example.com app.example.com:x";
        for bad in bad.split(' ').chain([""]) {
            assert!(!hosts.allows(bad), "{bad}");
        }
    }

    #[test]
    fn any_other_listener_accepts_every_host_or_those_of_the_list() {
        // contract E9.7
        assert!(hosts("", "0.0.0.0:4000").expect("a list").allows("anything.example"));
        let listed = hosts("api.example.com,*.internal", "0.0.0.0:4000").expect("a list");
        for good in ["api.example.com:443", "a.internal", "a.b.internal", "app.example.com"] {
            assert!(listed.allows(good), "{good}");
        }
        for bad in ["internal", "localhost", "10.0.0.7", "x.api.example.com"] {
            assert!(!listed.allows(bad), "{bad}");
        }
        assert!(hosts("api.example.com", "[::1]:4000").expect("a list").allows("localhost"));
    }

    #[test]
    fn a_list_accepts_only_host_names() {
        for bad in ["https://a.example", "a.example:80", "a b", "", "*", "a.example,,b.example", "*a.example"] {
            assert!(hosts(&format!("x.example,{bad}"), "0.0.0.0:1").is_err(), "{bad}");
        }
    }
}
