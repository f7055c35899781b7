//! Who is asking.

mod gate;
mod me;
mod shown;
mod verify;

use axum::Router;
use axum::routing::any;

use crate::service::Service;

pub use gate::{Caller, Gate};
pub(crate) use shown::{bearer, refused, viewer, viewer_of_row};

/// Who somebody is, under every strategy: each endpoint at `/auth` and at `/api/auth`.
pub(crate) fn routes() -> Router<Service> {
    let endpoints = |router: Router<Service>, base: &str| {
        router.route(&format!("{base}/me"), any(me::answer)).route(&format!("{base}/verify"), any(verify::answer))
    };
    endpoints(endpoints(Router::new(), "/auth"), "/api/auth")
}
