//! Reads a request to an endpoint of the hub: its parameters from a form or a JSON object.

use axum::extract::Request;
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use identity::error::{Error, ErrorCode};
use identity::form;
use identity::parameters::Parameters;
use query::json::{self, Json};

use crate::http::body::{self, MAX_SIGN_IN_BYTES};
use crate::problem::oauth::OauthError;

use super::Hub;

pub(crate) use crate::http::request_context::{RequestContext, wants_page};

/// Parameters in their order, names not unique.
pub(crate) type Pairs = Vec<(String, String)>;

pub(crate) fn bare(hub: &Hub, request: Request) -> RequestContext {
    RequestContext::of(&hub.0.proxies, request.into_parts().0)
}

pub(crate) async fn posted(hub: &Hub, request: Request) -> Result<(RequestContext, Parameters), OauthError> {
    let (context, pairs) = posted_pairs(hub, request).await?;
    Ok((context, Parameters::read(pairs?)?))
}

pub(crate) async fn posted_pairs(hub: &Hub, request: Request) -> Result<(RequestContext, Result<Pairs, Error>), OauthError> {
    if request.method() != Method::POST {
        return Err(OauthError::Method("POST"));
    }
    let (head, content) = request.into_parts();
    let context = RequestContext::of(&hub.0.proxies, head);
    let bytes = body::bytes(content, MAX_SIGN_IN_BYTES).await?;
    let kinds = context.values(&CONTENT_TYPE);
    let kind = kinds.first().map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    let pairs = match (kinds.len(), kind.as_deref()) {
        (1, Some("application/x-www-form-urlencoded")) => {
            std::str::from_utf8(&bytes).map_err(|_| malformed("the body is not UTF-8")).and_then(form::pairs)
        }
        (1, Some("application/json")) => of_json(&bytes),
        (0, None) if bytes.is_empty() => Ok(Vec::new()),
        _ => return Err(OauthError::MediaType(body::found_media_type(context.headers()))),
    };
    Ok((context, pairs))
}

const fn malformed(description: &'static str) -> Error {
    Error::new(ErrorCode::InvalidRequest, description)
}

/// The members of a JSON object of strings. A member that is null counts as missing.
fn of_json(bytes: &[u8]) -> Result<Pairs, Error> {
    let Ok(Json::Object(entries)) = json::strict(bytes) else {
        return Err(malformed("the body must be a JSON object with unique names"));
    };
    let mut pairs = Vec::new();
    for (name, value) in entries {
        match value {
            Json::Text(text) => pairs.push((name, text)),
            Json::Null => {}
            _ => return Err(malformed("the members of the body must be strings")),
        }
    }
    Ok(pairs)
}
