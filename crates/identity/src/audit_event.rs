//! Audit events: one variant for each kind of event, with its data. No variant can hold a secret. Typed names are not stored, because
//! people type passwords into the wrong field.

mod changed_fields;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::client::{ClientId, GrantType};
use crate::error::ErrorCode;

pub use changed_fields::ChangedFields;

/// Why a sign-in was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignInRefusal {
    /// Name and password do not match, or there is no such name.
    Credentials,
    /// The account is not active.
    Inactive,
    /// Too many failures.
    Throttled,
    /// Posted by a page of another origin.
    CrossOrigin,
    /// The access token for a session is missing or unsuitable.
    Token,
}

impl SignInRefusal {
    /// The stable word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            SignInRefusal::Credentials => "credentials",
            SignInRefusal::Inactive => "inactive",
            SignInRefusal::Throttled => "throttled",
            SignInRefusal::CrossOrigin => "cross-origin",
            SignInRefusal::Token => "token",
        }
    }
}

/// Why an administrative operation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationRefusal {
    /// The account lacks this permission.
    Permission(&'static str),
    /// It would grant, or act on, rights that the account lacks.
    NotHeld,
    /// No active administrator would be left.
    LastAdministrator,
    /// The role is built in.
    BuiltInRole,
    /// The client of the token is not marked to administer.
    Client,
}

impl OperationRefusal {
    /// The stable word for it.
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

/// The record of a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ChangedRecord {
    /// An account.
    Account(Uuid),
    /// A client.
    Client(ClientId),
    /// A role.
    Role(Uuid),
    /// A tenant.
    Tenant(Uuid),
    /// An app.
    App(Uuid),
    /// An account on the list of an app.
    Listing {
        /// The app.
        app: Uuid,
        /// The account.
        account: Uuid,
    },
}

/// The kind of a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordChange {
    /// Created.
    Created,
    /// Updated, in these fields.
    Updated(ChangedFields),
    /// Removed.
    Removed,
    /// Given a new password or secret.
    CredentialChanged,
    /// Given a password link.
    LinkMade,
    /// Signed out of one or all sessions by an administrator.
    SignedOut,
}

/// An audit event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AuditEvent {
    /// An account signed in at the page.
    SignedIn {
        /// The account.
        account: Uuid,
        /// The new session.
        session: Uuid,
    },
    /// A sign-in was refused.
    SignInRefused {
        /// The account, if the name is known.
        account: Option<Uuid>,
        /// The reason.
        reason: SignInRefusal,
    },
    /// A client failed to authenticate.
    ClientRefused {
        /// The client, if it is known.
        client: Option<ClientId>,
    },
    /// A grant was refused.
    GrantRefused {
        /// The client, if it is known.
        client: Option<ClientId>,
        /// The grant, if it is known.
        grant: Option<GrantType>,
        /// The answered error.
        error: ErrorCode,
    },
    /// A code was issued.
    CodeIssued {
        /// The account.
        account: Uuid,
        /// The client.
        client: ClientId,
    },
    /// Tokens were granted.
    Granted {
        /// The account.
        account: Uuid,
        /// The client.
        client: ClientId,
        /// The grant.
        grant: GrantType,
        /// The family.
        family: Uuid,
    },
    /// A used code came again, and its family was revoked.
    CodeReplayed {
        /// The client.
        client: ClientId,
        /// The revoked family.
        family: Uuid,
    },
    /// A refresh token came again within the retry window and got the same successor.
    RefreshRepeated {
        /// The account.
        account: Uuid,
        /// The client.
        client: ClientId,
        /// The family.
        family: Uuid,
    },
    /// A used refresh token came again, and its family was revoked.
    RefreshReused {
        /// The client.
        client: ClientId,
        /// The revoked family.
        family: Uuid,
    },
    /// A family was revoked by its client or its account.
    Revoked {
        /// The family.
        family: Uuid,
    },
    /// A session was revoked.
    SessionEnded {
        /// The account.
        account: Uuid,
        /// The session.
        session: Uuid,
    },
    /// A record was changed.
    Changed {
        /// The record.
        record: ChangedRecord,
        /// The change.
        change: RecordChange,
        /// The account that did it; `None` for the command line.
        actor: Option<Uuid>,
    },
    /// An administrative operation was refused.
    OperationRefused {
        /// The account that tried it.
        actor: Uuid,
        /// Its name, such as `iamUpdateAccount`.
        operation: String,
        /// The reason.
        reason: OperationRefusal,
    },
    /// A signing key was announced, began to sign, or was dropped.
    KeyRotated {
        /// The key.
        key: String,
        /// Its new state.
        state: &'static str,
    },
}

impl AuditEvent {
    /// The stable name.
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

    /// The data for the log and the table.
    pub fn data(&self) -> Map<String, Value> {
        let mut data = Data(Map::new());
        match self {
            AuditEvent::SignedIn { account, session } => data.text("account", account).text("session", session),
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
            AuditEvent::SessionEnded { account, session } => data.text("account", account).text("session", session),
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
