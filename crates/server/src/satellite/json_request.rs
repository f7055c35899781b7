//! A request to an endpoint of the satellite, read: a JSON object of known texts, from a page that may post here.

use axum::extract::Request;
use axum::http::Method;
use identity::error::{Error, ErrorCode};
use query::json::{self, Json};

use crate::http::body::{self, MOST_BYTES_TO_SIGN_IN, is_media_type};
use crate::http::request_context::RequestContext;
use crate::problem::oauth::OauthError;

use super::Satellite;

pub(super) const fn malformed(description: &'static str) -> OauthError {
    OauthError::Rule(Error::new(ErrorCode::InvalidRequest, description))
}

/// The texts of a body, by the keys that were asked for; one that is null or empty counts as left out.
pub(super) struct Texts<const KEYS: usize>([Option<String>; KEYS]);

impl<const KEYS: usize> Texts<KEYS> {
    /// The text of a key by its place, which must be there and not be empty.
    pub(super) fn needed(&mut self, place: usize, missing: &'static str) -> Result<String, OauthError> {
        self.optional(place).ok_or(malformed(missing))
    }

    pub(super) fn optional(&mut self, place: usize) -> Option<String> {
        self.0[place].take().filter(|text| !text.is_empty())
    }
}

/// A POST of a JSON object with these keys and no other. What a page of somebody else made a browser send is refused first.
pub(super) async fn posted<const KEYS: usize>(
    satellite: &Satellite,
    request: Request,
    keys: [&str; KEYS],
    accepted: &'static str,
) -> Result<(RequestContext, Texts<KEYS>), OauthError> {
    if request.method() != Method::POST {
        return Err(OauthError::Method("POST"));
    }
    let (head, content) = request.into_parts();
    let sender = RequestContext::of(&satellite.0.proxies, head);
    refuse_foreign(satellite, &sender)?;
    let bytes = body::bytes(content, MOST_BYTES_TO_SIGN_IN).await?;
    if !is_media_type(sender.headers(), |kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(OauthError::NotJson);
    }
    let Ok(Json::Object(entries)) = json::strict(&bytes) else {
        return Err(malformed("the body is no JSON object whose names are unique"));
    };
    let mut texts = [const { None }; KEYS];
    for (name, value) in entries {
        let place = keys.iter().position(|key| *key == name).ok_or(malformed(accepted))?;
        match value {
            Json::Text(text) => texts[place] = Some(text),
            Json::Null => {}
            _ => return Err(malformed("a member of the body is no text")),
        }
    }
    Ok((sender, Texts(texts)))
}

/// Pages that may post here: our own, the app's at the origin of its callback, and those that CORS allows.
fn refuse_foreign(satellite: &Satellite, sender: &RequestContext) -> Result<(), OauthError> {
    let welcome = |origin: &str| {
        let listed = satellite.0.origins.iter().any(|listed| listed == origin);
        listed || satellite.0.settings.redirect.origin() == origin
    };
    if sender.origin().is_some_and(welcome) {
        return Ok(());
    }
    sender.refuse_foreign(&satellite.0.app_url)
}
