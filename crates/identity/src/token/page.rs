//! The token of a page of the hub, such as `/docs`: short, bound to the session of the browser, with a kind and an audience of its own.

use uuid::Uuid;

use crate::json::Object;
use crate::token::{Claims, RegisteredClaims, uuid};

/// The claims of a page token. Whether its session is live, the session's row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageClaims {
    pub common: RegisteredClaims,
    /// `sid`: the session.
    pub session: Uuid,
}

impl PageClaims {
    /// The audience of a hub's page tokens. It is no client id, because those have no slash.
    pub fn audience(issuer: &str) -> String {
        format!("{issuer}/docs")
    }
}

impl Claims for PageClaims {
    const TYPE: &'static str = "hub-page+jwt";

    fn write(&self) -> Object {
        let mut members = self.common.write();
        members.insert("sid".into(), self.session.to_string().into());
        members
    }

    fn read(common: RegisteredClaims, members: &Object) -> Option<Self> {
        Some(PageClaims { session: uuid(members, "sid")?, common })
    }
}
