//! Changes to accounts, roles, tenants, clients and apps, the same for the command line and over HTTP: each checked, each noted in the
//! audit log, each in one transaction.

mod account;
mod app;
mod client;
mod role;
mod session;
mod tenant;

use identity::account::rights::RightsFault;
use identity::account::{Holding, Rights};
use identity::event::{Change, Event, Record};
use store::events::{self, Occasion};
use store::records::{Records, Transaction};
use uuid::Uuid;

use crate::chance::NoRandomness;

pub use account::{AccountChange, NewAccount};
pub use app::AppChange;
pub use client::{ClientChange, NewClient};

/// Who changes something.
#[derive(Clone, Debug)]
pub enum Actor {
    /// Whoever may run commands on the database holds everything already.
    CommandLine,
    /// An account, with what it may do.
    Account {
        /// Who.
        id: Uuid,
        /// What it may do.
        rights: Rights,
    },
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
    pub actor: &'a Actor,
    /// When, and from where.
    pub occasion: Occasion<'a>,
}

impl Administration<'_> {
    fn need(&self, permission: &'static str) -> Result<(), Fault> {
        match self.actor {
            Actor::CommandLine => Ok(()),
            Actor::Account { rights, .. } if rights.hold(permission) => Ok(()),
            Actor::Account { .. } => Err(Fault::Forbidden(permission)),
        }
    }

    /// Nobody grants what they do not hold.
    fn may_grant(&self, holding: &Holding) -> Result<(), Fault> {
        match self.actor {
            Actor::CommandLine => Ok(()),
            Actor::Account { rights, .. } => Ok(rights.may_grant(holding)?),
        }
    }

    /// Nobody takes over an account that holds more.
    fn may_act_on(&self, other: &Rights) -> Result<(), Fault> {
        match self.actor {
            Actor::CommandLine => Ok(()),
            Actor::Account { rights, .. } => Ok(rights.may_act_on(other)?),
        }
    }

    /// Notes a change.
    async fn note(&self, transaction: &mut Transaction, record: Record, change: Change) -> Result<(), Fault> {
        let actor = match self.actor {
            Actor::CommandLine => None,
            Actor::Account { id, .. } => Some(*id),
        };
        Ok(events::append(transaction, &Event::Changed { record, change, actor }, self.occasion).await?)
    }

    /// Notes a change as the last step of its transaction, and makes it count.
    async fn finish(&self, mut transaction: Transaction, record: Record, change: Change) -> Result<(), Fault> {
        self.note(&mut transaction, record, change).await?;
        Ok(transaction.commit().await?)
    }
}

/// A name that people read: something in it, not too long, nothing that cannot be seen.
fn readable(what: &str, text: &str) -> Result<String, Fault> {
    let fits = !text.is_empty() && text.len() <= 200 && text.trim() == text && !text.chars().any(char::is_control);
    if fits {
        Ok(text.to_owned())
    } else {
        Err(Fault::Invalid(format!("{what} is 1 to 200 bytes without control characters and without spaces at its ends")))
    }
}
