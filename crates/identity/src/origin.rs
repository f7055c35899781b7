//! Origins: how one is spelled, and whether a request that changes something was made by one of our own pages. A browser says where a
//! request comes from; a program that says nothing has no cookies of anybody to misuse.

// Addresses as values, without anything that could reach them.
use core::net::{Ipv4Addr, Ipv6Addr};

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// Whether a text is an origin: `http://` or `https://`, a host, perhaps a port, and nothing else.
pub fn is_origin(text: &str) -> bool {
    let authority = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    authority.is_some_and(|authority| host(authority).is_some())
}

/// The host of an authority that is a name, an IPv4 address or an IPv6 address in brackets, and whose port, if it has one, is a port.
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
        let fits = (1..=LONGEST_LABEL).contains(&label.len());
        fits && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    // Browsers take what ends in a number for an IPv4 address.
    let is_number = labels().next_back().is_some_and(|label| label.bytes().all(|digit| digit.is_ascii_digit()));
    host.len() <= LONGEST_NAME && labels().all(is_label) && (!is_number || host.parse::<Ipv4Addr>().is_ok())
}

fn is_port(text: &str) -> bool {
    !text.starts_with('0') && text.bytes().all(|digit| digit.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// One of our pages, or a program.
    Own,
    /// A page of somebody else.
    Foreign,
}

/// Judges the values of `Origin` and `Sec-Fetch-Site` as they came, each perhaps missing or repeated, against our own origin.
///
/// Foreign are: any `Origin` but our own, any `Sec-Fetch-Site` but `same-origin` and `none`, and `Origin: null` unless the browser says
/// `same-origin` (as it does for a form on a page with `Referrer-Policy: no-referrer`). A repeated header is foreign: no browser sends one.
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

/// An origin as browsers spell it: in lower case, and without the port that its scheme has anyway. Operators need not.
pub fn spelled(origin: &str) -> String {
    let lower = origin.to_ascii_lowercase();
    let usual = if lower.starts_with("https://") { ":443" } else { ":80" };
    lower.strip_suffix(usual).map(str::to_owned).unwrap_or(lower)
}
