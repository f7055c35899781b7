//! The endpoints of a satellite, and the path of each.

mod callback;
mod landing;
mod login;
mod logout;
mod refresh;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::any;

use crate::http::admission::admit;

use super::Satellite;

pub(crate) use landing::AppPages;

/// The routes of a satellite: each endpoint at `/auth` and at `/api/auth`.
pub(crate) fn routes<S>(satellite: &Satellite) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let endpoints = ["/auth", "/api/auth"].into_iter().fold(Router::new(), |router, base| {
        let at = |name: &str| format!("{base}/{name}");
        router
            .route(&at("login"), any(login::answer))
            .route(&at("callback"), any(callback::answer))
            .route(&at("refresh"), any(refresh::answer))
            .route(&at("logout"), any(logout::answer))
    });
    endpoints.route_layer(from_fn_with_state(satellite.0.budgets.identity.clone(), admit)).with_state(satellite.clone())
}
