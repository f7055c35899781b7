//! Who somebody is, for everybody who asks over HTTP.

use axum::Router;
use axum::routing::any;

use crate::app_state::Service;

use super::{me, verify};

/// Who somebody is, under every strategy: each endpoint at `/auth` and at `/api/auth`.
pub(crate) fn routes() -> Router<Service> {
    let endpoints = |router: Router<Service>, base: &str| {
        router.route(&format!("{base}/me"), any(me::answer)).route(&format!("{base}/verify"), any(verify::answer))
    };
    endpoints(endpoints(Router::new(), "/auth"), "/api/auth")
}
