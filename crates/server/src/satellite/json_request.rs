//! Reads a request to an endpoint of the satellite: a JSON object of known strings, from a page that may post here.

use axum::extract::Request;
use axum::http::Method;
use identity::error::{Error, ErrorCode};
use query::json::{self, Json};

use crate::http::body::{self, MAX_SIGN_IN_BYTES, is_media_type};
use crate::http::request_context::RequestContext;
use crate::problem::oauth::OauthError;

use super::Satellite;

pub(super) const fn malformed(description: &'static str) -> OauthError {
    OauthError::Rule(Error::new(ErrorCode::InvalidRequest, description))
}

/// The strings of a POSTed JSON object with these keys and no other, in this order. One that is null or empty counts as missing. A request
/// from a page of another origin is refused first.
pub(super) async fn posted<const KEYS: usize>(
    satellite: &Satellite,
    request: Request,
    keys: [&str; KEYS],
    accepted: &'static str,
) -> Result<(RequestContext, [Option<String>; KEYS]), OauthError> {
    if request.method() != Method::POST {
        return Err(OauthError::Method("POST"));
    }
    let (head, content) = request.into_parts();
    let context = RequestContext::of(&satellite.0.proxies, head);
    refuse_cross_origin(satellite, &context)?;
    let bytes = body::bytes(content, MAX_SIGN_IN_BYTES).await?;
    if !is_media_type(context.headers(), |kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(OauthError::NotJson(body::found_media_type(context.headers())));
    }
    let Ok(Json::Object(entries)) = json::strict(&bytes) else {
        return Err(malformed("the body must be a JSON object with unique names"));
    };
    let mut texts = [const { None }; KEYS];
    for (name, value) in entries {
        let place = keys.iter().position(|key| *key == name).ok_or(malformed(accepted))?;
        match value {
            Json::Text(text) => texts[place] = Some(text).filter(|text| !text.is_empty()),
            Json::Null => {}
            _ => return Err(malformed("the members of the body must be strings")),
        }
    }
    Ok((context, texts))
}

/// Pages that may post here: our own, those at the origin of the redirect URI, and those of CORS_ORIGINS.
fn refuse_cross_origin(satellite: &Satellite, context: &RequestContext) -> Result<(), OauthError> {
    let is_allowed = |origin: &str| {
        let is_listed = satellite.0.origins.iter().any(|listed| listed == origin);
        is_listed || satellite.0.settings.redirect.origin() == origin
    };
    if context.origin().is_some_and(is_allowed) {
        return Ok(());
    }
    context.refuse_cross_origin(&satellite.0.app_url)
}
