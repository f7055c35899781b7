//! Changes of the hub's records, for the command line and for HTTP. Each is checked, is one transaction, and writes an audit event.

mod account;
mod app;
mod client;
mod role;
mod tenant;

use identity::account::rights::RightsFault;
use identity::account::{Account, RolePermissions, is_invisible};
use identity::audit_event::{AuditEvent, ChangedRecord, RecordChange};
use serde_json::{Map, Value};
use store::hub_records::audit_log::{self, AuditContext};
use store::hub_records::{Records, Transaction, accounts, rights};
use uuid::Uuid;

use crate::random::NoRandomness;

pub use account::AccountChange;
pub(crate) use account::check_meta;
pub use app::AppChange;
pub(crate) use app::{MAX_APP_URL_BYTES, check_app_url, describe_app};
pub use client::ClientChange;
pub(crate) use client::describe_client;
pub(crate) use role::describe_role;
pub use role::{PermissionsChange, RoleChange};
pub(crate) use tenant::describe_tenant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// May do everything: it has the database.
    CommandLine,
    /// An account. Its permissions are read in the transaction of the change, since another change may just have removed them.
    Account(Uuid),
}

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

/// The change of a string that can be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NullableChange {
    #[default]
    Keep,
    Clear,
    Set(String),
}

impl From<Option<String>> for NullableChange {
    /// An absent value keeps the stored one.
    fn from(value: Option<String>) -> Self {
        value.map_or(NullableChange::Keep, NullableChange::Set)
    }
}

impl NullableChange {
    /// The value after the change.
    fn apply<'a>(&'a self, stored: Option<&'a str>) -> Option<&'a str> {
        match self {
            NullableChange::Keep => stored,
            NullableChange::Clear => None,
            NullableChange::Set(value) => Some(value),
        }
    }

    /// The value after the change. Only a new value is parsed.
    fn parse(&self, stored: Option<String>, parse: impl FnOnce(&str) -> Result<String, AdminError>) -> Result<Option<String>, AdminError> {
        match self {
            NullableChange::Keep => Ok(stored),
            NullableChange::Clear => Ok(None),
            NullableChange::Set(value) => parse(value).map(Some),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("the permission {0} is needed")]
    Forbidden(&'static str),
    /// The change would break a rule about rights, such as: an actor grants only what it holds.
    #[error("{0}")]
    Rights(#[from] RightsFault),
    #[error("{0}")]
    Invalid(String),
    /// A value names a record that does not exist. `path` is a JSON Pointer to the value in the input.
    #[error("{message}")]
    UnknownReference { path: String, message: String },
    #[error("{0}")]
    NotFound(String),
    /// A record with the same unique values exists. `fields` are those of the input, as far as they are known.
    #[error("{message}")]
    Exists { message: String, fields: Vec<&'static str> },
    #[error("{0}")]
    Randomness(#[from] NoRandomness),
    #[error("{0}")]
    Store(#[from] store::Error),
}

fn invalid(fault: impl std::fmt::Display) -> AdminError {
    AdminError::Invalid(fault.to_string())
}

/// The refusal of a record that exists already, with the fields that say so.
fn taken(what: &str, fields: &[&'static str]) -> AdminError {
    AdminError::Exists { message: format!("{what} exists already"), fields: fields.to_vec() }
}

/// Names the record in the database's error "exists already".
fn exists(what: &str, fields: &[&'static str]) -> impl Fn(store::Error) -> AdminError {
    move |error| match error {
        store::Error::Exists => taken(what, fields),
        other => AdminError::Store(other),
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Administration<'a> {
    pub records: &'a Records,
    pub actor: Actor,
    pub audit_context: AuditContext<'a>,
}

struct ChangeTransaction {
    records: Transaction,
    /// As the transaction sees it; none is the command line, which may do everything.
    actor: Option<Account>,
}

impl Administration<'_> {
    /// Begins a change. A lock makes changes run one after another, so that none rests on rights that another removes.
    async fn begin(&self, permission: &'static str) -> Result<ChangeTransaction, AdminError> {
        let mut records = self.records.begin().await?;
        rights::lock(&mut records).await?;
        let actor = match self.actor {
            Actor::CommandLine => None,
            Actor::Account(id) => {
                let account = accounts::by_id(&mut records, id).await?.filter(Account::may_sign_in);
                Some(account.ok_or(AdminError::Forbidden(permission))?)
            }
        };
        let tx = ChangeTransaction { records, actor };
        tx.require(permission)?;
        Ok(tx)
    }

    async fn audit(&self, tx: &mut ChangeTransaction, record: ChangedRecord, change: RecordChange) -> Result<(), AdminError> {
        let actor = match self.actor {
            Actor::CommandLine => None,
            Actor::Account(id) => Some(id),
        };
        Ok(audit_log::append(&mut tx.records, &AuditEvent::Changed { record, change, actor }, self.audit_context).await?)
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
            Some(actor) if !actor.rights.hold(permission) => Err(AdminError::Forbidden(permission)),
            _ => Ok(()),
        }
    }

    fn may_grant(&self, holding: &RolePermissions) -> Result<(), AdminError> {
        self.actor.as_ref().map_or(Ok(()), |actor| Ok(actor.rights.may_grant(holding)?))
    }

    fn may_admit(&self, tenants: &[Uuid]) -> Result<(), AdminError> {
        self.actor.as_ref().map_or(Ok(()), |actor| Ok(actor.rights.may_admit(&actor.tenants, tenants)?))
    }

    /// The account, if it exists and the actor may change it: an actor cannot take over an account that holds more.
    async fn changeable_account(&mut self, id: Uuid) -> Result<Account, AdminError> {
        let account = accounts::by_id(&mut self.records, id).await?.filter(|account| account.deleted_at.is_none());
        let account = account.ok_or_else(|| AdminError::NotFound(format!("there is no account {id}")))?;
        if let Some(actor) = &self.actor {
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

pub(crate) const MAX_NAME_BYTES: usize = 200;

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
