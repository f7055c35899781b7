//! Where the endpoints of a satellite are.

mod callback;
mod login;
mod logout;
mod refresh;

use axum::Router;
use axum::routing::any;

use crate::app_state::Service;
use crate::http::admission;
use crate::problem::oauth::told;

use super::Satellite;

/// A handler that holds the satellite. Its future is boxed, so that these rare ones do not make every other request larger.
macro_rules! serve {
    ($satellite:expr, $handler:path) => {{
        let satellite = $satellite.clone();
        move |request: axum::extract::Request| {
            let satellite = satellite.clone();
            async move {
                let answer = Box::pin(async move {
                    let (request, _slot) = admission::admit(&satellite.0.budgets.identity, request).await?;
                    $handler(&satellite, request).await
                });
                told(answer.await)
            }
        }
    }};
}

/// The endpoints, each at `/auth` and at `/api/auth`.
pub(crate) fn routes(satellite: &Satellite) -> Router<Service> {
    let endpoints = |router: Router<Service>, base: &str| {
        let at = |name: &str| format!("{base}/{name}");
        router
            .route(&at("login"), any(serve!(satellite, login::answer)))
            .route(&at("callback"), any(serve!(satellite, callback::answer)))
            .route(&at("refresh"), any(serve!(satellite, refresh::answer)))
            .route(&at("logout"), any(serve!(satellite, logout::answer)))
    };
    endpoints(endpoints(Router::new(), "/auth"), "/api/auth")
}
