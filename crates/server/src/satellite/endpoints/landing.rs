//! The page at the redirect URI, where the hub sends browsers with a code: the app's, or `/docs` for a login that began there.

use axum::http::{Method, request::Parts};
use identity::form;
use identity::login::LoginRecord;
use identity::origin::spelled;
use identity::parameters::Parameters;
use identity::secret_token::LoginState;

use crate::satellite::Satellite;

use super::login::KIND;

/// The pages of the app, if this process or another server of its origin has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppPages {
    Served,
    None,
}

impl Satellite {
    /// Whether the hub sends browsers back to this origin, so that `/docs` can finish a login.
    pub(crate) fn finishes_logins(&self) -> bool {
        self.0.settings.redirect.origin() == spelled(&self.0.app_url)
    }

    /// Whether `/docs` finishes the login that this request brings back from the hub.
    pub(crate) async fn lands_at_docs(&self, request: &Parts, app: AppPages) -> bool {
        let is_landing = matches!(request.method, Method::GET | Method::HEAD)
            && request.uri.path() == self.0.settings.redirect.path()
            && !request.uri.path().starts_with("/docs/")
            && self.finishes_logins();
        is_landing && (app == AppPages::None || self.began_at_docs(request.uri.query().unwrap_or_default()).await)
    }

    /// Reads the login of a `state` and leaves it for the callback.
    async fn began_at_docs(&self, query: &str) -> bool {
        let Ok(parameters) = form::pairs(query).and_then(Parameters::read) else { return false };
        let Some(state) = parameters.get("state").and_then(LoginState::parse) else { return false };
        let Ok(sealed) = self.0.shared.peek(KIND, state.digest().as_bytes()).await else { return false };
        sealed.and_then(|sealed| LoginRecord::open(&sealed, &state)).is_some_and(|login| login.return_to.is_below("/docs"))
    }
}
