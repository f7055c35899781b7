//! Changes to accounts, roles, tenants, clients and apps, the same for the command line and over HTTP: each checked, each noted in the
//! audit log, each in one transaction.

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

pub(crate) use account::check_meta;
pub use account::{AccountChange, NewAccount};
pub use app::AppChange;
pub(crate) use app::{LONGEST_ADDRESS, check_address, describe_app};
pub(crate) use client::describe_client;
pub use client::{ClientChange, NewClient};
pub use role::RoleChange;
pub(crate) use role::describe_role;
pub(crate) use tenant::describe_tenant;

/// Who changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Whoever may run commands on the database holds everything already.
    CommandLine,
    /// An account. What it may do is read in the transaction of the change: it may have been taken away a moment ago.
    Account(Uuid),
}

/// How a record is named: as people call it, or by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// A role's name, an app's code.
    Name(&'a str),
    /// Its id.
    Id(Uuid),
}

impl std::fmt::Display for Which<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Which::Name(name) => write!(out, "{name:?}"),
            Which::Id(id) => write!(out, "{id}"),
        }
    }
}

/// Why a change was refused.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The actor lacks a permission.
    #[error("the permission {0} is needed")]
    Forbidden(&'static str),
    /// The change would give or take what nobody may.
    #[error("{0}")]
    Rights(#[from] RightsFault),
    /// Something in it is malformed.
    #[error("{0}")]
    Invalid(String),
    /// It names something that does not exist.
    #[error("{message}")]
    Absent {
        /// Where the name stands, as a JSON Pointer into what was sent.
        path: String,
        /// What does not exist.
        message: String,
    },
    /// What it is about does not exist.
    #[error("{0}")]
    Unknown(String),
    /// What it would make exists already.
    #[error("{0}")]
    Exists(String),
    /// Nothing secret can be made.
    #[error("{0}")]
    Chance(#[from] NoRandomness),
    /// The database.
    #[error("{0}")]
    Store(#[from] store::Error),
}

impl Fault {
    fn invalid(fault: impl std::fmt::Display) -> Self {
        Fault::Invalid(fault.to_string())
    }

    /// The database's "exists already" with a name to it.
    fn named(error: store::Error, what: &str) -> Self {
        match error {
            store::Error::Exists => Fault::Exists(format!("{what} exists already")),
            other => Fault::Store(other),
        }
    }
}

/// The administration of a hub, on behalf of somebody.
#[derive(Clone, Copy, Debug)]
pub struct Administration<'a> {
    /// Where the records are.
    pub records: &'a Records,
    /// On whose behalf.
    pub actor: Actor,
    /// When, and from where.
    pub occasion: AuditContext<'a>,
}

/// A change that is being made.
struct Work {
    transaction: Transaction,
    power: Power,
}

/// What whoever makes a change may do, as their transaction sees it.
enum Power {
    Operator,
    Account(Box<Account>),
}

impl Administration<'_> {
    /// Begins a change that needs this permission. Changes are made one after the other, so that none rests on rights that another one
    /// is taking away, and so that administrators are counted right.
    async fn begin(&self, permission: &'static str) -> Result<Work, Fault> {
        let mut transaction = self.records.begin().await?;
        rights::lock(&mut transaction).await?;
        let power = match self.actor {
            Actor::CommandLine => Power::Operator,
            Actor::Account(id) => {
                let account = accounts::by_id(&mut transaction, id).await?.filter(Account::may_sign_in);
                Power::Account(Box::new(account.ok_or(Fault::Forbidden(permission))?))
            }
        };
        let work = Work { transaction, power };
        work.need(permission)?;
        Ok(work)
    }

    /// Notes a change.
    async fn note(&self, work: &mut Work, record: ChangedRecord, change: RecordChange) -> Result<(), Fault> {
        let actor = match self.actor {
            Actor::CommandLine => None,
            Actor::Account(id) => Some(id),
        };
        Ok(audit_log::append(&mut work.transaction, &AuditEvent::Changed { record, change, actor }, self.occasion).await?)
    }

    /// Notes a change as the last step of its transaction, and makes it count.
    async fn finish(&self, mut work: Work, record: ChangedRecord, change: RecordChange) -> Result<(), Fault> {
        self.note(&mut work, record, change).await?;
        Ok(work.transaction.commit().await?)
    }
}

impl Work {
    fn need(&self, permission: &'static str) -> Result<(), Fault> {
        match &self.power {
            Power::Account(actor) if !actor.rights.hold(permission) => Err(Fault::Forbidden(permission)),
            _ => Ok(()),
        }
    }

    /// Nobody grants what they do not hold.
    fn may_grant(&self, holding: &RolePermissions) -> Result<(), Fault> {
        match &self.power {
            Power::Operator => Ok(()),
            Power::Account(actor) => Ok(actor.rights.may_grant(holding)?),
        }
    }

    /// Nobody lets others into a tenant that is closed to themselves.
    fn may_admit(&self, tenants: &[Uuid]) -> Result<(), Fault> {
        match &self.power {
            Power::Operator => Ok(()),
            Power::Account(actor) => Ok(actor.rights.may_admit(&actor.tenants, tenants)?),
        }
    }

    /// The account, if it exists and the actor may act on it: nobody takes over an account that holds more.
    async fn touchable(&mut self, id: Uuid) -> Result<Account, Fault> {
        let account = accounts::by_id(&mut self.transaction, id).await?.filter(|account| account.deleted_at.is_none());
        let account = account.ok_or_else(|| Fault::Unknown(format!("there is no account {id}")))?;
        if let Power::Account(actor) = &self.power {
            actor.rights.may_act_on(&account.rights)?;
            actor.rights.may_admit(&actor.tenants, &account.tenants)?;
        }
        Ok(account)
    }
}

/// The fields of a record by their names, for what the audit log and the commands tell of it. Never a secret.
fn fields<const COUNT: usize>(pairs: [(&str, Value); COUNT]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The most bytes of a name that people read.
pub(crate) const LONGEST_READABLE: usize = 200;

/// A name that people read: something in it, not too long, nothing that cannot be seen.
pub(crate) fn readable(what: &str, text: &str) -> Result<String, Fault> {
    let fits = !text.is_empty()
        && text.len() <= LONGEST_READABLE
        && text.trim() == text
        && !text.chars().any(|letter| letter.is_control() || is_invisible(letter));
    if fits {
        Ok(text.to_owned())
    } else {
        Err(Fault::Invalid(format!(
            "{what} is 1 to {LONGEST_READABLE} bytes without characters that cannot be seen and without spaces at its ends"
        )))
    }
}
