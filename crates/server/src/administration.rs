//! Changes of accounts, roles, tenants, clients, apps and sessions, for the command line and for HTTP. Each change is checked, is one
//! transaction, and writes an audit event.

mod account;
mod app;
mod client;
mod role;
mod session;
mod tenant;

use identity::account::rights::RightsFault;
use identity::account::{Account, RolePermissions, is_invisible};
use identity::audit_event::{AuditEvent, ChangedRecord, RecordChange};
use serde_json::{Map, Value};
use store::hub_records::audit_log::{self, AuditContext};
use store::hub_records::{Records, Transaction};
use store::hub_records::{accounts, rights};
use uuid::Uuid;

use crate::random::NoRandomness;

pub use account::AccountChange;
pub(crate) use account::check_meta;
pub use app::AppChange;
pub(crate) use app::{MAX_APP_URL_BYTES, check_app_url, describe_app};
pub use client::ClientChange;
pub(crate) use client::describe_client;
pub use role::RoleChange;
pub(crate) use role::describe_role;
pub(crate) use tenant::describe_tenant;

/// The actor of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// May do everything: it has the database.
    CommandLine,
    /// An account. Its permissions are read in the transaction of the change, since another change may just have removed them.
    Account(Uuid),
}

/// Names a role or an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOrId<'a> {
    /// The name of a role, the code of an app.
    Name(&'a str),
    Id(Uuid),
}

impl std::fmt::Display for NameOrId<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NameOrId::Name(name) => write!(out, "{name:?}"),
            NameOrId::Id(id) => write!(out, "{id}"),
        }
    }
}

/// Why a change was refused.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("the permission {0} is needed")]
    Forbidden(&'static str),
    /// The change would break a rule about rights, such as: an actor grants only what it holds.
    #[error("{0}")]
    Rights(#[from] RightsFault),
    /// A value is invalid.
    #[error("{0}")]
    Invalid(String),
    /// A value names a record that does not exist. `path` is a JSON Pointer to the value in the input.
    #[error("{message}")]
    UnknownReference { path: String, message: String },
    /// The record to change does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The record to create exists already.
    #[error("{0}")]
    Exists(String),
    #[error("{0}")]
    Randomness(#[from] NoRandomness),
    #[error("{0}")]
    Store(#[from] store::Error),
}

fn invalid(fault: impl std::fmt::Display) -> AdminError {
    AdminError::Invalid(fault.to_string())
}

/// Names the record in the database's error "exists already".
fn exists(what: &str) -> impl Fn(store::Error) -> AdminError {
    move |error| match error {
        store::Error::Exists => AdminError::Exists(format!("{what} exists already")),
        other => AdminError::Store(other),
    }
}

/// The administration of a hub, on behalf of one actor.
#[derive(Clone, Copy, Debug)]
pub struct Administration<'a> {
    pub records: &'a Records,
    pub actor: Actor,
    /// The time and the client address for the audit log.
    pub occasion: AuditContext<'a>,
}

/// The transaction of one change.
struct ChangeTransaction {
    records: Transaction,
    actor: ActorRights,
}

/// What the actor may do, as the transaction sees it.
enum ActorRights {
    Everything,
    Account(Box<Account>),
}

impl Administration<'_> {
    /// Begins a change that needs this permission. A lock makes changes run one after another, so that none rests on rights that
    /// another removes, and the count of administrators stays right.
    async fn begin(&self, permission: &'static str) -> Result<ChangeTransaction, AdminError> {
        let mut records = self.records.begin().await?;
        rights::lock(&mut records).await?;
        let actor = match self.actor {
            Actor::CommandLine => ActorRights::Everything,
            Actor::Account(id) => {
                let account = accounts::by_id(&mut records, id).await?.filter(Account::may_sign_in);
                ActorRights::Account(Box::new(account.ok_or(AdminError::Forbidden(permission))?))
            }
        };
        let tx = ChangeTransaction { records, actor };
        tx.require(permission)?;
        Ok(tx)
    }

    /// Writes the audit event of a change.
    async fn audit(&self, tx: &mut ChangeTransaction, record: ChangedRecord, change: RecordChange) -> Result<(), AdminError> {
        let actor = match self.actor {
            Actor::CommandLine => None,
            Actor::Account(id) => Some(id),
        };
        Ok(audit_log::append(&mut tx.records, &AuditEvent::Changed { record, change, actor }, self.occasion).await?)
    }

    /// Writes the audit event as the last step, and commits.
    async fn finish(&self, mut tx: ChangeTransaction, record: ChangedRecord, change: RecordChange) -> Result<(), AdminError> {
        self.audit(&mut tx, record, change).await?;
        Ok(tx.records.commit().await?)
    }
}

impl ChangeTransaction {
    fn require(&self, permission: &'static str) -> Result<(), AdminError> {
        match &self.actor {
            ActorRights::Account(actor) if !actor.rights.hold(permission) => Err(AdminError::Forbidden(permission)),
            _ => Ok(()),
        }
    }

    /// An actor can grant only what it holds.
    fn may_grant(&self, holding: &RolePermissions) -> Result<(), AdminError> {
        match &self.actor {
            ActorRights::Everything => Ok(()),
            ActorRights::Account(actor) => Ok(actor.rights.may_grant(holding)?),
        }
    }

    /// An actor can add accounts only to its own tenants.
    fn may_admit(&self, tenants: &[Uuid]) -> Result<(), AdminError> {
        match &self.actor {
            ActorRights::Everything => Ok(()),
            ActorRights::Account(actor) => Ok(actor.rights.may_admit(&actor.tenants, tenants)?),
        }
    }

    /// The account, if it exists and the actor may change it: an actor cannot take over an account that holds more.
    async fn changeable_account(&mut self, id: Uuid) -> Result<Account, AdminError> {
        let account = accounts::by_id(&mut self.records, id).await?.filter(|account| account.deleted_at.is_none());
        let account = account.ok_or_else(|| AdminError::NotFound(format!("there is no account {id}")))?;
        if let ActorRights::Account(actor) = &self.actor {
            actor.rights.may_act_on(&account.rights)?;
            actor.rights.may_admit(&actor.tenants, &account.tenants)?;
        }
        Ok(account)
    }
}

/// The fields of a record by name, for the audit log and the command line. Never a secret.
fn fields<const COUNT: usize>(pairs: [(&str, Value); COUNT]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The length of a display name, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 200;

/// Checks a display name.
pub(crate) fn parse_name(what: &str, text: &str) -> Result<String, AdminError> {
    let fits = !text.is_empty()
        && text.len() <= MAX_NAME_BYTES
        && text.trim() == text
        && !text.chars().any(|letter| letter.is_control() || is_invisible(letter));
    if fits {
        return Ok(text.to_owned());
    }
    let accepted = format!("has 1 to {MAX_NAME_BYTES} bytes, no invisible characters, and no spaces at its ends");
    Err(AdminError::Invalid(format!("{what} {accepted}")))
}
