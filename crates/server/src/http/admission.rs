//! How requests enter the endpoints of a hub or a satellite: the body is read first, so that a slow client holds no slot, and then the
//! client address takes its turn.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use futures_util::stream;

use crate::budget::{CallerKey, FairQueue, Slot};
use crate::http::body::{self, MOST_BYTES_TO_SIGN_IN};
use crate::http::client_address::ClientAddress;
use crate::problem::Problem;
use crate::problem::oauth::Fault;

/// A request with its body read, and its slot.
pub(crate) async fn admit(queue: &FairQueue, request: Request) -> Result<(Request, Slot), Fault> {
    let caller = CallerKey::of_address(ClientAddress::of(request.extensions()));
    let (head, content) = request.into_parts();
    let content = match body::bytes(content, MOST_BYTES_TO_SIGN_IN).await {
        Ok(bytes) => Body::from(bytes),
        // The endpoint refuses these bodies itself, after what else it has to say of the request.
        Err(Problem::TooLarge) => Body::from(vec![b' '; MOST_BYTES_TO_SIGN_IN + 1]),
        Err(_) => Body::from_stream(stream::iter([Err::<Bytes, _>(std::io::Error::other("the body broke off"))])),
    };
    let slot = queue.acquire(caller).await.map_err(|_| Fault::Busy)?;
    Ok((Request::from_parts(head, content), slot))
}
