//! The access token (RFC 9068): who calls, through which client, out of which family of grants.

use uuid::Uuid;

use crate::client::ClientId;
use crate::json::{self, Object};
use crate::moment::Moment;
use crate::token::{Claims, Common, account, uuid};

/// What an access token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessClaims {
    /// The common claims; `aud` is the client and the issuer.
    pub common: Common,
    /// `client_id`
    pub client: ClientId,
    /// `sid`: the family of grants. A hub refuses the tokens of a family that has ended.
    pub family: Uuid,
    /// `jti`
    pub id: Uuid,
    /// `scope`, as it was asked, and written as the empty text if none was; it grants nothing.
    pub scope: Option<String>,
}

impl AccessClaims {
    /// The account that calls.
    pub fn account(&self) -> Uuid {
        self.common.subject
    }

    /// When it ends.
    pub fn expires_at(&self) -> Moment {
        self.common.expires_at
    }
}

impl Claims for AccessClaims {
    const TYPE: &'static str = "at+jwt";

    fn write(&self) -> Object {
        let mut members = self.common.write();
        members.insert("aci".into(), self.common.subject.to_string().into());
        members.insert("client_id".into(), self.client.as_str().into());
        members.insert("sid".into(), self.family.to_string().into());
        members.insert("jti".into(), self.id.to_string().into());
        members.insert("scope".into(), self.scope.clone().unwrap_or_default().into());
        members
    }

    fn read(common: Common, members: &Object) -> Option<Self> {
        account(members)?;
        let scope = match members.get("scope") {
            None => None,
            Some(value) => Some(value.as_str()?.to_owned()).filter(|scope| !scope.is_empty()),
        };
        let client = ClientId::parse(json::text(members, "client_id")?).ok()?;
        Some(AccessClaims { client, family: uuid(members, "sid")?, id: uuid(members, "jti")?, scope, common })
    }
}
