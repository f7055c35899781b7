//! A request to an endpoint of the hub, read: its parameters from a form or a JSON object, who sent it, and from where.

use std::net::{IpAddr, Ipv6Addr};

use axum::extract::Request;
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderName, ORIGIN, USER_AGENT};
use axum::http::{HeaderMap, Method};
use identity::error::{Error, ErrorCode};
use identity::form;
use identity::origin::{Provenance, provenance};
use identity::parameters::Parameters;
use query::json::{self, Json};
use store::events::Occasion;

use crate::chance;
use crate::error::oauth::Fault;

use super::Hub;

/// No request of these endpoints needs more.
const MOST_BYTES: usize = 64 * 1024;
const LONGEST_DEVICE: usize = 200;
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What is known of a request beside its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    headers: HeaderMap,
    /// The query of the address.
    pub(crate) query: Option<String>,
    /// Where it came from, as it is counted and shown.
    pub(crate) address: String,
}

impl Sender {
    fn of(hub: &Hub, head: axum::http::request::Parts) -> Self {
        let address = hub.address(&head.headers, &head.extensions);
        Sender { query: head.uri.query().map(str::to_owned), headers: head.headers, address }
    }

    /// Every value of `Authorization`; one that is no text counts as something else than none.
    pub(crate) fn authorization(&self) -> Vec<&str> {
        self.values(&AUTHORIZATION)
    }

    fn values(&self, name: &HeaderName) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect()
    }

    /// Refuses what a page of somebody else made a browser send.
    pub(crate) fn refuse_foreign(&self, hub: &Hub) -> Result<(), Fault> {
        match provenance(&self.values(&ORIGIN), &self.values(&SEC_FETCH_SITE), hub.issuer()) {
            Provenance::Own => Ok(()),
            Provenance::Foreign => Err(Fault::CrossOrigin),
        }
    }

    /// Every cookie of this name: a sibling domain can set one beside ours.
    pub(crate) fn cookies<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        let pairs = self.values(&COOKIE).into_iter().flat_map(|value| value.split(';'));
        pairs.filter_map(move |pair| pair.trim().split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value))
    }

    /// What an event notes of it.
    pub(crate) fn occasion(&self) -> Occasion<'_> {
        Occasion { now: chance::now(), address: Some(&self.address) }
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
    headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).any(|value| value.to_ascii_lowercase().contains("text/html"))
}

/// A request without a body.
pub(crate) fn bare(hub: &Hub, request: Request) -> Sender {
    Sender::of(hub, request.into_parts().0)
}

/// A POST with its parameters.
pub(crate) async fn posted(hub: &Hub, request: Request) -> Result<(Sender, Parameters), Fault> {
    if request.method() != Method::POST {
        return Err(Fault::Method("POST"));
    }
    let (head, body) = request.into_parts();
    let sender = Sender::of(hub, head);
    let bytes = crate::body::bytes(body).await?;
    if bytes.len() > MOST_BYTES {
        return Err(Fault::TooLarge);
    }
    let kinds = sender.values(&CONTENT_TYPE);
    let kind = kinds.first().map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    let pairs = match (kinds.len(), kind.as_deref()) {
        (1, Some("application/x-www-form-urlencoded")) => {
            form::pairs(std::str::from_utf8(&bytes).map_err(|_| malformed("the body is no UTF-8"))?)?
        }
        (1, Some("application/json")) => of_json(&bytes)?,
        (0, None) if bytes.is_empty() => Vec::new(),
        _ => return Err(Fault::MediaType),
    };
    Ok((sender, Parameters::read(pairs)?))
}

const fn malformed(description: &'static str) -> Error {
    Error::new(ErrorCode::InvalidRequest, description)
}

/// The members of a JSON object, which are texts; one that is null counts as left out.
fn of_json(bytes: &[u8]) -> Result<Vec<(String, String)>, Error> {
    let Ok(Json::Object(entries)) = json::strict(bytes) else {
        return Err(malformed("the body is no JSON object whose names are unique"));
    };
    let mut pairs = Vec::new();
    for (name, value) in entries {
        match value {
            Json::Text(text) => pairs.push((name, text)),
            Json::Null => {}
            _ => return Err(malformed("the members of the body are texts")),
        }
    }
    Ok(pairs)
}

/// An address as failures are counted by it: of IPv6 the network, since one line has as many addresses as it likes.
pub(super) fn network(address: IpAddr) -> String {
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
    fn one_line_is_one_address() {
        // contract I11.1
        let network = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(network("203.0.113.9"), "203.0.113.9");
        assert_eq!(network("::ffff:203.0.113.9"), "203.0.113.9");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2::1"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    }
}
