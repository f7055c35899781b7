//! Where the endpoints and the pages of a hub are.

mod account_page;
mod authorize;
mod events;
mod introspect;
mod logout;
pub(crate) mod me;
pub(super) mod metadata;
mod password_link;
mod revoke;
mod sign_in;
mod token;
mod userinfo;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::{MethodRouter, any, get};

use crate::app_state::Service;
use crate::authenticator::Caller;
use crate::http::admission;
use crate::pages;

use super::{Hub, session_cookie};

/// A handler that holds the hub. Its future is boxed, so that these rare and large ones do not make every other request larger.
macro_rules! serve {
    ($hub:expr, $handler:path) => {{
        let hub = $hub.clone();
        move |request: axum::extract::Request| {
            let hub = hub.clone();
            async move {
                Box::pin(async move {
                    match admission::admit(&hub.budgets().identity, request).await {
                        Ok((request, _slot)) => $handler(&hub, request).await,
                        Err(fault) => fault.response(),
                    }
                })
                .await
            }
        }
    }};
}
/// A page that a browser is led to and no script fetches.
#[derive(Clone, Copy, Debug)]
enum Page {
    Account,
    Authorize,
    Logout,
    SignIn,
    Password,
}

/// Where they are. An answer of theirs that a script of another origin could read would be a code that it could read, so that whatever
/// stands here is hidden from scripts, and none of them is served anywhere else.
const PAGES: [(&str, Page); 7] = [
    ("/", Page::Account),
    ("/authorize", Page::Authorize),
    ("/api/o-auth/authorize", Page::Authorize),
    ("/logout", Page::Logout),
    ("/api/o-auth/logout", Page::Logout),
    ("/sign-in", Page::SignIn),
    ("/password", Page::Password),
];

impl Page {
    fn served(self, hub: &Hub) -> MethodRouter<Service> {
        match self {
            Page::Account => any(serve!(hub, account_page::answer)),
            Page::Authorize => any(serve!(hub, authorize::answer)),
            Page::Logout => any(serve!(hub, logout::answer)),
            Page::SignIn => any(serve!(hub, sign_in::answer)),
            Page::Password => any(serve!(hub, password_link::answer)),
        }
    }
}

/// Whether what stands at a path is hidden from scripts of other origins, whatever CORS allows.
pub(crate) fn is_hidden_from_scripts(path: &str) -> bool {
    PAGES.iter().any(|(page, _)| *page == path)
}

/// The endpoints, each at the root and under `/api/o-auth`, and the pages.
pub(crate) fn routes(hub: &Hub) -> Router<Service> {
    let endpoints = |router: Router<Service>, base: &str| {
        let at = |name: &str| format!("{base}/{name}");
        router
            .route(&at("token"), any(serve!(hub, token::answer)))
            .route(&at("session"), any(serve!(hub, session_cookie::answer)))
            .route(&at("revoke"), any(serve!(hub, revoke::answer)))
            .route(&at("introspect"), any(serve!(hub, introspect::answer)))
            .route(&at("events"), any(serve!(hub, events::answer)))
    };
    let (metadata, served) = (hub.0.metadata.clone(), hub.0.metadata.clone());
    let keys = hub.clone();
    let pages = PAGES.iter().fold(Router::new(), |router, (path, page)| router.route(path, page.served(hub)));
    endpoints(endpoints(pages, ""), "/api/o-auth")
        .route("/.well-known/openid-configuration", get(async move |_: Caller, headers: HeaderMap| metadata.answer(&headers)))
        .route("/.well-known/oauth-authorization-server", get(async move |_: Caller, headers: HeaderMap| served.answer(&headers)))
        .route("/.well-known/jwks.json", get(async move |_: Caller, headers: HeaderMap| keys.keys().current().document().answer(&headers)))
        .route("/userinfo", any(serve!(hub, userinfo::answer)))
        .route("/api/iam/me", get(me::answer))
        .merge(pages::Style::Hub.route())
}
