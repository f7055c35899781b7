//! `/userinfo` (OpenID Connect): the claims of the account of an access token, which may also be in a form.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, Response};
use identity::error::{Error, ErrorCode};
use identity::parameters::Parameters;
use identity::token::AccessClaims;
use identity::{bearer, form};
use serde_json::json;

use crate::http::bearer_token::refused;
use crate::http::body::{self, MAX_SIGN_IN_BYTES};
use crate::hub::form_request::RequestContext;
use crate::hub::{Hub, name_of};
use crate::problem::Problem;
use crate::response::json_no_store;

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Result<Response<Body>, Problem> {
    if !matches!(*request.method(), Method::GET | Method::HEAD | Method::POST) {
        return Err(Problem::MethodNotAllowed("GET, POST"));
    }
    let (head, content) = request.into_parts();
    let form = form_of(&head, content).await?;
    let context = RequestContext::of(&hub.0.proxies, head);
    let header = bearer::read(&context.authorization()).map_err(|error| Problem::InvalidToken(error.description()))?;
    let text = bearer::or_posted(header, form.get("access_token")).map_err(unreadable)?;
    let token = hub.verify::<AccessClaims>(text.ok_or(Problem::Unauthenticated)?, hub.issuer()).map_err(refused)?;
    let found = hub.active_family(&token).await.map_err(Problem::of_records)?;
    let account = found.ok_or(Problem::InvalidToken("the access token was revoked"))?.account;
    let mut claims =
        json!({ "sub": account.id.to_string(), "preferred_username": name_of(&account), "updated_at": account.updated_at.unix() });
    if let Some(email) = &account.email {
        claims["email"] = json!(email);
        // An administrator entered it; nobody verified it.
        claims["email_verified"] = json!(false);
    }
    Ok(json_no_store(claims.to_string()))
}

/// The parameters of a form. Other bodies are ignored.
async fn form_of(head: &Parts, content: Body) -> Result<Parameters, Problem> {
    let is_form = |kind: &str| kind.eq_ignore_ascii_case("application/x-www-form-urlencoded");
    if head.method != Method::POST || !body::is_media_type(&head.headers, is_form) {
        return Ok(Parameters::default());
    }
    let bytes = body::bytes(content, MAX_SIGN_IN_BYTES).await?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Problem::Malformed("the form is not UTF-8"))?;
    form::pairs(text).and_then(Parameters::read).map_err(unreadable)
}

fn unreadable(error: Error) -> Problem {
    match error.code() {
        ErrorCode::InvalidRequest => Problem::Malformed(error.description()),
        _ => Problem::InvalidToken(error.description()),
    }
}
