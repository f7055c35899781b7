//! The access token (RFC 9068): its account, client and token family.

use uuid::Uuid;

use crate::client::ClientId;
use crate::json::{self, Object};
use crate::timestamp::Timestamp;
use crate::token::{Claims, RegisteredClaims, account, uuid};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessClaims {
    /// The common claims; `aud` is the client and the issuer.
    pub common: RegisteredClaims,
    pub client: ClientId,
    /// `sid`: the token family. A hub refuses the tokens of a revoked family.
    pub family: Uuid,
    /// `jti`
    pub id: Uuid,
    /// `scope`, written as an empty string if none was requested; it grants nothing.
    pub scope: Option<String>,
}

impl AccessClaims {
    pub fn account(&self) -> Uuid {
        self.common.subject
    }

    pub fn expires_at(&self) -> Timestamp {
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

    fn read(common: RegisteredClaims, members: &Object) -> Option<Self> {
        account(members)?;
        let scope = match members.get("scope") {
            None => None,
            Some(value) => Some(value.as_str()?.to_owned()).filter(|scope| !scope.is_empty()),
        };
        let client = ClientId::parse(json::text(members, "client_id")?).ok()?;
        Some(AccessClaims { client, family: uuid(members, "sid")?, id: uuid(members, "jti")?, scope, common })
    }
}
