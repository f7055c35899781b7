//! The `hub_session` cookie: a token for the hub itself, with a kind and an audience that no access token has.

use uuid::Uuid;

use crate::json::Object;
use crate::token::{Claims, RegisteredClaims, uuid};

/// The claims of the cookie. Whether the session is live, its row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSessionClaims {
    pub common: RegisteredClaims,
    /// `sid`: the session.
    pub session: Uuid,
}

impl HubSessionClaims {
    /// The audience of a hub's session cookies. It is no client id, because those have no slash.
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

    fn read(common: RegisteredClaims, members: &Object) -> Option<Self> {
        Some(HubSessionClaims { session: uuid(members, "sid")?, common })
    }
}
