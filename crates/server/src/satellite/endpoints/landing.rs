//! The page at the redirect URI, where the hub sends browsers with a code: the app's, or one of our own for a login that began there.

use axum::http::{Method, request::Parts};
use identity::form;
use identity::login::LoginRecord;
use identity::origin::spelled;
use identity::parameters::Parameters;
use identity::secret_token::LoginState;

use crate::satellite::Satellite;

use super::login::KIND;

/// Our own pages where people sign in.
const PAGES: [&str; 2] = ["/docs", "/graphql"];

/// The pages of the app, if this process or another server of its origin has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppPages {
    Served,
    None,
}

impl Satellite {
    /// Whether the hub sends browsers back to this origin, so that our own pages can finish a login.
    pub(crate) fn finishes_logins(&self) -> bool {
        self.0.settings.redirect.origin() == spelled(&self.0.app_url)
    }

    /// The page of our own that finishes the login which this request brings back from the hub.
    pub(crate) async fn landing_page(&self, request: &Parts, app: AppPages) -> Option<&'static str> {
        let is_landing = matches!(request.method, Method::GET | Method::HEAD)
            && request.uri.path() == self.0.settings.redirect.path()
            && !request.uri.path().starts_with("/docs/")
            && self.finishes_logins();
        if !is_landing {
            return None;
        }
        let began = self.page_of_login(request.uri.query().unwrap_or_default()).await;
        began.or((app == AppPages::None).then_some("/docs"))
    }

    /// The page where the login of a `state` began. It leaves the login for the callback.
    async fn page_of_login(&self, query: &str) -> Option<&'static str> {
        let parameters = form::pairs(query).and_then(Parameters::read).ok()?;
        let state = LoginState::parse(parameters.get("state")?)?;
        let sealed = self.0.shared.peek(KIND, state.digest().as_bytes()).await.ok()??;
        let login = LoginRecord::open(&sealed, &state)?;
        PAGES.into_iter().find(|page| login.return_to.is_below(page))
    }
}
