//! Admits requests to identity endpoints: reads the body first, so that a slow client holds no slot, then waits for the client's turn.

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::Response;
use axum::middleware::Next;
use futures_util::stream;

use crate::budget::{CallerKey, FairQueue};
use crate::problem::Problem;
use crate::problem::oauth::OauthError;

use super::body::{self, MAX_SIGN_IN_BYTES};
use super::client_address::ClientAddress;

/// Runs an endpoint with the body read, while it holds a slot of the queue.
pub(crate) async fn admit(State(queue): State<FairQueue>, request: Request, next: Next) -> Result<Response<Body>, OauthError> {
    let caller = CallerKey::of_address(ClientAddress::of(request.extensions()));
    let (head, content) = request.into_parts();
    let content = match body::bytes(content, MAX_SIGN_IN_BYTES).await {
        Ok(bytes) => Body::from(bytes),
        // The endpoint refuses these bodies itself, after it checked the method and the headers.
        Err(Problem::TooLarge) => Body::from(vec![b' '; MAX_SIGN_IN_BYTES + 1]),
        Err(_) => Body::from_stream(stream::iter([Err::<Bytes, _>(std::io::Error::other("the body broke off"))])),
    };
    let _slot = queue.acquire(caller).await.map_err(|_| OauthError::Busy)?;
    Ok(next.run(Request::from_parts(head, content)).await)
}
