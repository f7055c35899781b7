//! The endpoints and the pages of a hub, and the path of each.

mod account_page;
mod authorize;
mod events;
mod introspect;
mod logout;
mod me;
pub(super) mod metadata;
mod page_token;
mod password_link;
mod revoke;
mod session;
mod sign_in;
mod token;
mod userinfo;

use axum::Router;
use axum::http::request::Parts;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, any, get};

use crate::html::Stylesheet;
use crate::http::admission::admit;
use crate::query_service::QueryService;

use super::Hub;

pub(crate) use me::{ACCOUNT_RELATIONS, account_row};

type PageRoute = fn() -> MethodRouter<Hub>;

/// The pages that a browser navigates to, and the token of a page. A script of another origin that could read their responses could read a
/// code or a token, so CORS never applies to these paths, and no page is served elsewhere.
const PAGES: [(&str, PageRoute); 8] = [
    ("/", || any(account_page::answer)),
    ("/authorize", || any(authorize::answer)),
    ("/api/o-auth/authorize", || any(authorize::answer)),
    ("/logout", || any(logout::answer)),
    ("/api/o-auth/logout", || any(logout::answer)),
    ("/sign-in", || any(sign_in::answer)),
    ("/password", || any(password_link::answer)),
    ("/docs/token", || any(page_token::answer)),
];

pub(crate) fn is_hidden_from_scripts(path: &str) -> bool {
    PAGES.iter().any(|(page, _)| *page == path)
}

/// The routes of a hub. Most endpoints are at the root and below `/api/o-auth`.
pub(crate) fn routes<S>(hub: &Hub, queries: &QueryService) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let endpoints = ["", "/api/o-auth"].into_iter().fold(Router::new(), |router, base| {
        let at = |name: &str| format!("{base}/{name}");
        router
            .route(&at("token"), any(token::answer))
            .route(&at("session"), any(session::answer))
            .route(&at("revoke"), any(revoke::answer))
            .route(&at("introspect"), any(introspect::answer))
            .route(&at("events"), any(events::answer))
    });
    let pages = PAGES.iter().fold(endpoints, |router, (path, page)| router.route(path, page()));
    let admitted = pages
        .route("/userinfo", any(userinfo::answer))
        .route_layer(from_fn_with_state(hub.0.budgets.identity.clone(), admit))
        .with_state(hub.clone());
    let documents = Router::new()
        .route("/.well-known/openid-configuration", get(metadata::answer))
        .route("/.well-known/oauth-authorization-server", get(metadata::answer))
        .route("/.well-known/jwks.json", get(metadata::key_set))
        .with_state(hub.clone());
    let (hub, queries) = (hub.clone(), queries.clone());
    let me = get(async move |request: Parts| Box::pin(me::answer(&hub, &queries, &request)).await);
    admitted.merge(documents).route("/api/iam/me", me).merge(Stylesheet::Hub.route())
}
