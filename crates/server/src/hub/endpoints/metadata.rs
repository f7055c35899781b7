//! `/.well-known/…`: the metadata of the hub (OpenID Connect Discovery and RFC 8414, one document for both) and its key set.

use axum::extract::State;
use axum::http::request::Parts;
use axum::response::Response;
use serde_json::json;

use crate::http::etag::StaticDocument;
use crate::hub::Hub;
use crate::problem::Problem;

/// The metadata. As on every endpoint, a token that is not valid is refused.
pub(super) async fn answer(State(hub): State<Hub>, request: Parts) -> Result<Response, Problem> {
    hub.caller(&request.headers, &request.extensions).await?;
    Ok(hub.0.metadata.answer(&request.headers))
}

pub(super) async fn key_set(State(hub): State<Hub>, request: Parts) -> Result<Response, Problem> {
    hub.caller(&request.headers, &request.extensions).await?;
    Ok(hub.0.keys.current().document.answer(&request.headers))
}

pub(in crate::hub) fn document(issuer: &str) -> StaticDocument {
    let at = |path: &str| format!("{issuer}{path}");
    let methods = json!(["client_secret_basic", "client_secret_post"]);
    let document = json!({
        "issuer": issuer,
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "userinfo_endpoint": at("/userinfo"),
        "jwks_uri": at("/.well-known/jwks.json"),
        "end_session_endpoint": at("/logout"),
        "revocation_endpoint": at("/revoke"),
        "introspection_endpoint": at("/introspect"),
        "events_endpoint": at("/events"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token", "password"],
        "code_challenge_methods_supported": ["S256"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "introspection_endpoint_auth_methods_supported": methods,
        "scopes_supported": ["openid", "profile", "email"],
        "claims_supported": [
            "iss", "sub", "aud", "exp", "iat", "nbf", "auth_time", "nonce", "at_hash", "sid", "email", "email_verified",
            "preferred_username", "updated_at",
        ],
        "prompt_values_supported": ["none", "login", "select_account", "consent"],
        "authorization_response_iss_parameter_supported": true,
        "request_parameter_supported": false,
        "request_uri_parameter_supported": false,
        "claims_parameter_supported": false,
    });
    StaticDocument::new("application/json", document.to_string())
}
