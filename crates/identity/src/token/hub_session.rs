//! The `hub_session` cookie: a token for the hub itself, with a kind and an audience that no access token has.

use uuid::Uuid;

use crate::json::Object;
use crate::session::{SESSION_SECONDS, Session};
use crate::token::{Claims, Common, uuid};

/// What the cookie says. Whether the session still lives, its row tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSessionClaims {
    /// The common claims.
    pub common: Common,
    /// `sid`: the session.
    pub session: Uuid,
}

impl HubSessionClaims {
    /// The claims of a session's cookie.
    pub fn of(session: &Session, issuer: &str) -> Self {
        HubSessionClaims {
            common: Common {
                issuer: issuer.to_owned(),
                subject: session.account,
                audiences: vec![HubSessionClaims::audience(issuer)],
                // The account may have proven itself long before.
                issued_at: session.expires_at.plus(-SESSION_SECONDS),
                expires_at: session.expires_at,
            },
            session: session.id,
        }
    }

    /// The audience of a hub's session cookies: no client's id, since those hold no slash.
    pub fn audience(issuer: &str) -> String {
        format!("{issuer}/session")
    }
}

impl Claims for HubSessionClaims {
    const TYPE: &'static str = "hub-session+jwt";

    fn write(&self) -> Object {
        let mut members = self.common.write();
        members.insert("sid".into(), self.session.to_string().into());
        members
    }

    fn read(common: Common, members: &Object) -> Option<Self> {
        Some(HubSessionClaims { session: uuid(members, "sid")?, common })
    }
}
