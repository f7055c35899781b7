//! `POST /docs/token`: a short token for the page `/docs`, by the session of the browser. Only a page of this origin gets one.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use identity::error::{Error, ErrorCode};
use identity::session::PAGE_TOKEN_SECONDS;
use serde_json::json;

use crate::clock;
use crate::http::body::found_media_type;
use crate::hub::form_request;
use crate::hub::{Hub, session_cookie};
use crate::problem::oauth::OauthError;
use crate::response::{json_no_store, no_content};

const NO_PAGE: Error = Error::new(ErrorCode::InvalidRequest, "only a page of this server gets this token; a program uses POST /token");

/// 204 without a session.
pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Result<Response, OauthError> {
    if request.method() != Method::POST {
        return Err(OauthError::Method("POST"));
    }
    let context = form_request::bare(&hub, request);
    hub.refuse_cross_origin(&context).await?;
    if !context.is_browser() {
        return Err(NO_PAGE.into());
    }
    // A page of another origin cannot send this type without asking first, and no origin is allowed to.
    if context.values(&CONTENT_TYPE) != ["application/json"] {
        return Err(OauthError::NotJson(found_media_type(context.headers())));
    }
    let Some((session, _)) = session_cookie::live(&hub, &context).await? else { return Ok(no_content()) };
    let token = hub.0.keys.sign(&session.page_claims(hub.issuer(), clock::now()))?;
    Ok(json_no_store(json!({ "access_token": token, "token_type": "Bearer", "expires_in": PAGE_TOKEN_SECONDS }).to_string()))
}
