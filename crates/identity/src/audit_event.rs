//! Audit events, with their data. No variant can hold a secret or the name typed at sign-in: people type passwords into the wrong field.

mod changed_fields;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::client::{ClientId, GrantType};
use crate::error::ErrorCode;

pub use changed_fields::ChangedFields;

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum SignInRefusal {
        /// Name and password do not match, or there is no such name.
        Credentials = "credentials",
        Inactive = "inactive",
        Throttled = "throttled",
        /// Posted by a page of another origin.
        CrossOrigin = "cross-origin",
        /// The access token for a session is missing or unsuitable.
        Token = "token",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationRefusal {
    Permission(&'static str),
    /// It would grant, or act on, rights that the account lacks.
    NotHeld,
    LastAdministrator,
    BuiltInRole,
    /// The client of the token is not marked to administer.
    Client,
}

impl OperationRefusal {
    pub const fn as_str(self) -> &'static str {
        match self {
            OperationRefusal::Permission(_) => "permission",
            OperationRefusal::NotHeld => "not-held",
            OperationRefusal::LastAdministrator => "last-administrator",
            OperationRefusal::BuiltInRole => "built-in-role",
            OperationRefusal::Client => "client",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ChangedRecord {
    Account(Uuid),
    Client(ClientId),
    Role(Uuid),
    Tenant(Uuid),
    App(Uuid),
    // An account on the list of an app.
    Listing { app: Uuid, account: Uuid },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordChange {
    Created,
    Updated(ChangedFields),
    Removed,
    CredentialChanged,
    LinkMade,
    /// Signed out of one or all sessions by an administrator.
    SignedOut,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AuditEvent {
    SignedIn { account: Uuid, session: Uuid },
    SignInRefused { account: Option<Uuid>, reason: SignInRefusal },
    ClientRefused { client: Option<ClientId> },
    GrantRefused { client: Option<ClientId>, grant: Option<GrantType>, error: ErrorCode },
    CodeIssued { account: Uuid, client: ClientId },
    Granted { account: Uuid, client: ClientId, grant: GrantType, family: Uuid },
    // A used code came again, and its family was revoked.
    CodeReplayed { client: ClientId, family: Uuid },
    // A refresh token came again within the retry window and got the same successor.
    RefreshRepeated { account: Uuid, client: ClientId, family: Uuid },
    // A used refresh token came again, and its family was revoked.
    RefreshReused { client: ClientId, family: Uuid },
    // A family was revoked by its client or its account.
    Revoked { family: Uuid },
    SessionEnded { account: Uuid, session: Uuid },
    // `actor` is `None` for the command line.
    Changed { record: ChangedRecord, change: RecordChange, actor: Option<Uuid> },
    // `operation` is a name such as `iamUpdateAccount`.
    OperationRefused { actor: Uuid, operation: String, reason: OperationRefusal },
    // A signing key was announced, began to sign, or was dropped.
    KeyRotated { key: String, state: &'static str },
}

impl AuditEvent {
    pub const fn name(&self) -> &'static str {
        match self {
            AuditEvent::SignedIn { .. } => "sign-in.succeeded",
            AuditEvent::SignInRefused { .. } => "sign-in.refused",
            AuditEvent::ClientRefused { .. } => "client.refused",
            AuditEvent::GrantRefused { .. } => "grant.refused",
            AuditEvent::CodeIssued { .. } => "code.issued",
            AuditEvent::Granted { grant: GrantType::RefreshToken, .. } => "grant.refreshed",
            AuditEvent::Granted { .. } => "grant.issued",
            AuditEvent::CodeReplayed { .. } => "code.replayed",
            AuditEvent::RefreshRepeated { .. } => "refresh.repeated",
            AuditEvent::RefreshReused { .. } => "refresh.reused",
            AuditEvent::Revoked { .. } => "grant.revoked",
            AuditEvent::SessionEnded { .. } => "session.ended",
            AuditEvent::Changed { record, change, .. } => changed(record, change),
            AuditEvent::OperationRefused { .. } => "administration.refused",
            AuditEvent::KeyRotated { .. } => "key.rotated",
        }
    }

    pub fn data(&self) -> Map<String, Value> {
        let mut data = Data(Map::new());
        match self {
            AuditEvent::SignedIn { account, session } | AuditEvent::SessionEnded { account, session } => {
                data.text("account", account).text("session", session)
            }
            AuditEvent::SignInRefused { account, reason } => data.some("account", account.as_ref()).text("reason", reason.as_str()),
            AuditEvent::ClientRefused { client } => data.some("client", client.as_ref()),
            AuditEvent::GrantRefused { client, grant, error } => {
                let grant = grant.map(GrantType::as_str);
                data.some("client", client.as_ref()).some("grant", grant.as_ref()).text("error", error.as_str())
            }
            AuditEvent::CodeIssued { account, client } => data.text("account", account).text("client", client),
            AuditEvent::Granted { account, client, grant, family } => {
                data.text("account", account).text("client", client).text("grant", grant.as_str()).text("family", family)
            }
            AuditEvent::RefreshRepeated { account, client, family } => {
                data.text("account", account).text("client", client).text("family", family)
            }
            AuditEvent::CodeReplayed { client, family } | AuditEvent::RefreshReused { client, family } => {
                data.text("client", client).text("family", family)
            }
            AuditEvent::Revoked { family } => data.text("family", family),
            AuditEvent::OperationRefused { actor, operation, reason } => {
                if let OperationRefusal::Permission(permission) = reason {
                    data.text("permission", *permission);
                }
                data.text("actor", actor).text("operation", operation).text("reason", reason.as_str())
            }
            AuditEvent::Changed { record, actor, change } => {
                data.some("actor", actor.as_ref());
                if let RecordChange::Updated(altered) = change {
                    altered.write(&mut data.0);
                }
                match record {
                    ChangedRecord::Account(id) => data.text("account", id),
                    ChangedRecord::Client(id) => data.text("client", id),
                    ChangedRecord::Role(id) => data.text("role", id),
                    ChangedRecord::Tenant(id) => data.text("tenant", id),
                    ChangedRecord::App(id) => data.text("app", id),
                    ChangedRecord::Listing { app, account } => data.text("app", app).text("account", account),
                }
            }
            AuditEvent::KeyRotated { key, state } => data.text("key", key).text("state", *state),
        };
        data.0
    }
}

struct Data(Map<String, Value>);

impl Data {
    fn text(&mut self, name: &str, value: &(impl ToString + ?Sized)) -> &mut Self {
        self.0.insert(name.to_owned(), value.to_string().into());
        self
    }

    fn some(&mut self, name: &str, value: Option<&impl ToString>) -> &mut Self {
        if let Some(value) = value {
            self.text(name, value);
        }
        self
    }
}

const fn changed(record: &ChangedRecord, change: &RecordChange) -> &'static str {
    match (record, change) {
        (ChangedRecord::Account(_), RecordChange::Created) => "account.created",
        (ChangedRecord::Account(_), RecordChange::Updated(_)) => "account.updated",
        (ChangedRecord::Account(_), RecordChange::Removed) => "account.removed",
        (ChangedRecord::Account(_), RecordChange::CredentialChanged) => "account.password-changed",
        (ChangedRecord::Account(_), RecordChange::LinkMade) => "account.link-made",
        (ChangedRecord::Account(_), RecordChange::SignedOut) => "account.signed-out",
        (ChangedRecord::Client(_), RecordChange::Created) => "client.created",
        (ChangedRecord::Client(_), RecordChange::Updated(_) | RecordChange::LinkMade | RecordChange::SignedOut) => "client.updated",
        (ChangedRecord::Client(_), RecordChange::Removed) => "client.removed",
        (ChangedRecord::Client(_), RecordChange::CredentialChanged) => "client.secret-changed",
        (ChangedRecord::Role(_), RecordChange::Created) => "role.created",
        (ChangedRecord::Role(_), RecordChange::Removed) => "role.removed",
        (ChangedRecord::Role(_), _) => "role.updated",
        (ChangedRecord::Tenant(_), RecordChange::Created) => "tenant.created",
        (ChangedRecord::Tenant(_), RecordChange::Removed) => "tenant.removed",
        (ChangedRecord::Tenant(_), _) => "tenant.updated",
        (ChangedRecord::App(_), RecordChange::Created) => "app.created",
        (ChangedRecord::App(_), RecordChange::Removed) => "app.removed",
        (ChangedRecord::App(_), _) => "app.updated",
        (ChangedRecord::Listing { .. }, RecordChange::Removed) => "app.account-removed",
        (ChangedRecord::Listing { .. }, _) => "app.account-added",
    }
}
