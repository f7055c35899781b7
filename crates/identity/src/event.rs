//! What is written into the audit log: one kind for each thing that happens, with the data that belongs to it. No arm can hold a secret,
//! and a name that somebody typed is not kept, since people type passwords into the wrong field.

mod altered;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::client::{ClientId, GrantType};
use crate::error::ErrorCode;

pub use altered::Altered;

/// Why a sign-in was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignInRefusal {
    /// Name and password do not match, or there is no such name.
    Credentials,
    /// The account is not active.
    Inactive,
    /// Too many failures.
    Throttled,
    /// Posted by a page of somebody else.
    CrossOrigin,
    /// The access token that was to begin a session is missing or not good for that.
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

/// Why an operation of administration was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationRefusal {
    /// The account lacks this permission.
    Permission(&'static str),
    /// It would give, or act on, what the account does not hold.
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

/// A record that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Record {
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

/// What was done to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Made.
    Created,
    /// Changed, in these fields.
    Updated(Altered),
    /// Removed.
    Removed,
    /// Given a new password or secret.
    CredentialChanged,
    /// Given a one-time link that sets a password.
    LinkMade,
    /// Signed out, of one session or of all, by somebody who looks after accounts.
    SignedOut,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Somebody signed in at the page.
    SignedIn {
        /// Who.
        account: Uuid,
        /// The session that began.
        session: Uuid,
    },
    /// Somebody did not.
    SignInRefused {
        /// Who it would have been, where the name is known.
        account: Option<Uuid>,
        /// Why.
        reason: SignInRefusal,
    },
    /// A client did not prove itself.
    ClientRefused {
        /// Which, where it is known.
        client: Option<ClientId>,
    },
    /// A request was refused.
    GrantRefused {
        /// Whose, where it is known.
        client: Option<ClientId>,
        /// Which grant, where it was one.
        grant: Option<GrantType>,
        /// The answer.
        error: ErrorCode,
    },
    /// A code was made.
    CodeIssued {
        /// For whom.
        account: Uuid,
        /// Through which client.
        client: ClientId,
    },
    /// Tokens were granted.
    Granted {
        /// To whom.
        account: Uuid,
        /// Through which client.
        client: ClientId,
        /// By which grant; a refresh is `refresh_token`.
        grant: GrantType,
        /// The family.
        family: Uuid,
    },
    /// A used code came again, and what it gave was revoked.
    CodeReplayed {
        /// Whose.
        client: ClientId,
        /// What was revoked.
        family: Uuid,
    },
    /// A refresh token came again within moments, as a retry does, and got the same successor.
    RefreshRepeated {
        /// To whom.
        account: Uuid,
        /// Through which client.
        client: ClientId,
        /// The family.
        family: Uuid,
    },
    /// A used refresh token came again, and its family was revoked.
    RefreshReused {
        /// Whose.
        client: ClientId,
        /// What was revoked.
        family: Uuid,
    },
    /// A family was revoked by its client or its account.
    Revoked {
        /// The family.
        family: Uuid,
    },
    /// A session ended before its time.
    SessionEnded {
        /// Whose.
        account: Uuid,
        /// Which.
        session: Uuid,
    },
    /// A record was changed.
    Changed {
        /// Which.
        record: Record,
        /// How.
        change: Change,
        /// By whom; nobody for the command line.
        actor: Option<Uuid>,
    },
    /// An operation of administration was refused.
    OperationRefused {
        /// To whom.
        actor: Uuid,
        /// Which, by its name: `iamUpdateAccount`.
        operation: String,
        /// Why.
        reason: OperationRefusal,
    },
    /// A signing key was announced, began to sign, or was dropped.
    KeyRotated {
        /// The key.
        key: String,
        /// What became of it.
        state: &'static str,
    },
}

impl Event {
    /// The stable name.
    pub const fn name(&self) -> &'static str {
        match self {
            Event::SignedIn { .. } => "sign-in.succeeded",
            Event::SignInRefused { .. } => "sign-in.refused",
            Event::ClientRefused { .. } => "client.refused",
            Event::GrantRefused { .. } => "grant.refused",
            Event::CodeIssued { .. } => "code.issued",
            Event::Granted { grant: GrantType::RefreshToken, .. } => "grant.refreshed",
            Event::Granted { .. } => "grant.issued",
            Event::CodeReplayed { .. } => "code.replayed",
            Event::RefreshRepeated { .. } => "refresh.repeated",
            Event::RefreshReused { .. } => "refresh.reused",
            Event::Revoked { .. } => "grant.revoked",
            Event::SessionEnded { .. } => "session.ended",
            Event::Changed { record, change, .. } => changed(record, change),
            Event::OperationRefused { .. } => "administration.refused",
            Event::KeyRotated { .. } => "key.rotated",
        }
    }

    /// The data, as the log and the table keep it.
    pub fn data(&self) -> Map<String, Value> {
        let mut data = Data(Map::new());
        match self {
            Event::SignedIn { account, session } => data.text("account", account).text("session", session),
            Event::SignInRefused { account, reason } => data.some("account", account.as_ref()).text("reason", reason.as_str()),
            Event::ClientRefused { client } => data.some("client", client.as_ref()),
            Event::GrantRefused { client, grant, error } => {
                let grant = grant.map(GrantType::as_str);
                data.some("client", client.as_ref()).some("grant", grant.as_ref()).text("error", error.as_str())
            }
            Event::CodeIssued { account, client } => data.text("account", account).text("client", client),
            Event::Granted { account, client, grant, family } => {
                data.text("account", account).text("client", client).text("grant", grant.as_str()).text("family", family)
            }
            Event::RefreshRepeated { account, client, family } => {
                data.text("account", account).text("client", client).text("family", family)
            }
            Event::CodeReplayed { client, family } | Event::RefreshReused { client, family } => {
                data.text("client", client).text("family", family)
            }
            Event::Revoked { family } => data.text("family", family),
            Event::SessionEnded { account, session } => data.text("account", account).text("session", session),
            Event::OperationRefused { actor, operation, reason } => {
                if let OperationRefusal::Permission(permission) = reason {
                    data.text("permission", *permission);
                }
                data.text("actor", actor).text("operation", operation).text("reason", reason.as_str())
            }
            Event::Changed { record, actor, change } => {
                data.some("actor", actor.as_ref());
                if let Change::Updated(altered) = change {
                    altered.write(&mut data.0);
                }
                match record {
                    Record::Account(id) => data.text("account", id),
                    Record::Client(id) => data.text("client", id),
                    Record::Role(id) => data.text("role", id),
                    Record::Tenant(id) => data.text("tenant", id),
                    Record::App(id) => data.text("app", id),
                    Record::Listing { app, account } => data.text("app", app).text("account", account),
                }
            }
            Event::KeyRotated { key, state } => data.text("key", key).text("state", *state),
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

const fn changed(record: &Record, change: &Change) -> &'static str {
    match (record, change) {
        (Record::Account(_), Change::Created) => "account.created",
        (Record::Account(_), Change::Updated(_)) => "account.updated",
        (Record::Account(_), Change::Removed) => "account.removed",
        (Record::Account(_), Change::CredentialChanged) => "account.password-changed",
        (Record::Account(_), Change::LinkMade) => "account.link-made",
        (Record::Account(_), Change::SignedOut) => "account.signed-out",
        (Record::Client(_), Change::Created) => "client.created",
        (Record::Client(_), Change::Updated(_) | Change::LinkMade | Change::SignedOut) => "client.updated",
        (Record::Client(_), Change::Removed) => "client.removed",
        (Record::Client(_), Change::CredentialChanged) => "client.secret-changed",
        (Record::Role(_), Change::Created) => "role.created",
        (Record::Role(_), Change::Removed) => "role.removed",
        (Record::Role(_), _) => "role.updated",
        (Record::Tenant(_), Change::Created) => "tenant.created",
        (Record::Tenant(_), Change::Removed) => "tenant.removed",
        (Record::Tenant(_), _) => "tenant.updated",
        (Record::App(_), Change::Created) => "app.created",
        (Record::App(_), Change::Removed) => "app.removed",
        (Record::App(_), _) => "app.updated",
        (Record::Listing { .. }, Change::Removed) => "app.account-removed",
        (Record::Listing { .. }, _) => "app.account-added",
    }
}
