//! Whether a request that changes something was made by one of our own pages. A browser says where a request comes from; a program that
//! says nothing has no cookies of anybody to misuse.

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
fn spelled(origin: &str) -> String {
    let lower = origin.to_ascii_lowercase();
    let usual = if lower.starts_with("https://") { ":443" } else { ":80" };
    lower.strip_suffix(usual).map(str::to_owned).unwrap_or(lower)
}
