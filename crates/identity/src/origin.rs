//! Origins, and whether a request comes from one of our own pages. A program that names no origin has no cookies to misuse.

// Only the address types: this crate does no networking.
use core::net::{Ipv4Addr, Ipv6Addr};

const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// Whether a string is an origin: `http://` or `https://`, a host, perhaps a port, and nothing else.
pub fn is_origin(text: &str) -> bool {
    let authority = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    authority.is_some_and(|authority| host(authority).is_some())
}

/// The host of an authority: a name, an IPv4 address or an IPv6 address in brackets, with an optional valid port.
pub(crate) fn host(authority: &str) -> Option<&str> {
    let end = match authority.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    let named = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => is_name(host),
    };
    let has_port = |port: &str| port.strip_prefix(':').is_some_and(is_port);
    (named && (port.is_empty() || has_port(port))).then_some(host)
}

fn is_name(host: &str) -> bool {
    let labels = || host.strip_suffix('.').unwrap_or(host).split('.');
    let is_label = |label: &str| {
        let fits = (1..=MAX_LABEL_BYTES).contains(&label.len());
        fits && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    // Browsers read a name that ends in a number as an IPv4 address.
    let is_number = labels().next_back().is_some_and(|label| label.bytes().all(|digit| digit.is_ascii_digit()));
    host.len() <= MAX_NAME_BYTES && labels().all(is_label) && (!is_number || host.parse::<Ipv4Addr>().is_ok())
}

fn is_port(text: &str) -> bool {
    !text.starts_with('0') && text.bytes().all(|digit| digit.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

/// Whether a host is a name or an address of this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let numbers: Vec<&str> = host.split('.').collect();
    let is_127 = numbers.len() == 4 && numbers[0] == "127" && numbers.iter().all(|number| number.parse::<u8>().is_ok());
    host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || is_127
}

/// Whether an authority is another name of this machine than that of an origin on this machine, at the same port: `localhost:4001` for
/// `http://127.0.0.1:4001`. The cookies of one are not those of the other.
pub fn is_other_local_name(own: &str, authority: &str) -> bool {
    let own = spelled(own);
    let Some((scheme, own_authority)) = own.split_once("://") else { return false };
    let asked = spelled(&format!("{scheme}://{authority}"));
    let asked = asked.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://")).unwrap_or_default();
    let (Some(own_host), Some(host)) = (host(own_authority), host(asked)) else { return false };
    let same_port = own_authority[own_host.len()..] == asked[host.len()..];
    own_host != host && same_port && is_loopback(own_host) && is_loopback(host)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// One of our pages, or a program.
    Own,
    /// A page of another origin.
    Foreign,
}

/// Compares `Origin` and `Sec-Fetch-Site`, each perhaps missing, with our own origin. `Origin: null` is own only if the browser says
/// `same-origin` (as for a form on a page with `Referrer-Policy: no-referrer`). A repeated header is foreign: no browser sends one.
pub fn provenance(origin: &[&str], fetch_site: &[&str], own: &str) -> Provenance {
    let same_origin = fetch_site == ["same-origin"];
    let site_is_ours = same_origin || fetch_site.is_empty() || fetch_site == ["none"];
    let origin_is_ours = match origin {
        [] => true,
        ["null"] => same_origin,
        [one] => *one == spelled(own),
        _ => false,
    };
    if site_is_ours && origin_is_ours { Provenance::Own } else { Provenance::Foreign }
}

/// An origin as browsers spell it: in lower case, without the default port.
pub fn spelled(origin: &str) -> String {
    let lower = origin.to_ascii_lowercase();
    let usual = if lower.starts_with("https://") { ":443" } else { ":80" };
    lower.strip_suffix(usual).map(str::to_owned).unwrap_or(lower)
}
