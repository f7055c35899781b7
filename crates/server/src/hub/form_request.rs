//! A request to an endpoint of the hub, read: its parameters from a form or a JSON object.

use axum::extract::Request;
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use identity::error::{Error, ErrorCode};
use identity::form;
use identity::parameters::Parameters;
use query::json::{self, Json};

use crate::http::body::{self, MOST_BYTES_TO_SIGN_IN};
use crate::problem::oauth::OauthError;

use super::Hub;

pub(crate) use crate::http::request_context::{RequestContext, wants_page};

/// Parameters as they came.
pub(crate) type Pairs = Vec<(String, String)>;

/// A request without a body.
pub(crate) fn bare(hub: &Hub, request: Request) -> RequestContext {
    RequestContext::of(hub.proxies(), request.into_parts().0)
}

/// A POST with its parameters.
pub(crate) async fn posted(hub: &Hub, request: Request) -> Result<(RequestContext, Parameters), OauthError> {
    let (sender, pairs) = posted_pairs(hub, request).await?;
    Ok((sender, Parameters::read(pairs?)?))
}

/// A POST with the parameters of its body as they came.
pub(crate) async fn posted_pairs(hub: &Hub, request: Request) -> Result<(RequestContext, Result<Pairs, Error>), OauthError> {
    if request.method() != Method::POST {
        return Err(OauthError::Method("POST"));
    }
    let (head, content) = request.into_parts();
    let sender = RequestContext::of(hub.proxies(), head);
    let bytes = body::bytes(content, MOST_BYTES_TO_SIGN_IN).await?;
    let kinds = sender.values(&CONTENT_TYPE);
    let kind = kinds.first().map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    let pairs = match (kinds.len(), kind.as_deref()) {
        (1, Some("application/x-www-form-urlencoded")) => {
            std::str::from_utf8(&bytes).map_err(|_| malformed("the body is no UTF-8")).and_then(form::pairs)
        }
        (1, Some("application/json")) => of_json(&bytes),
        (0, None) if bytes.is_empty() => Ok(Vec::new()),
        _ => return Err(OauthError::MediaType),
    };
    Ok((sender, pairs))
}

const fn malformed(description: &'static str) -> Error {
    Error::new(ErrorCode::InvalidRequest, description)
}

/// The members of a JSON object, which are texts; one that is null counts as left out.
fn of_json(bytes: &[u8]) -> Result<Pairs, Error> {
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
