//! One-time links: an invitation or a password reset that lets whoever holds it set one account's password, once and for a while.

use uuid::Uuid;

use crate::moment::Moment;
use crate::opaque::{Digest, LinkToken, purpose};

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPurpose {
    /// A first password.
    Invitation,
    /// A new password.
    Reset,
}

impl LinkPurpose {
    /// How long it can be used: an invitation waits for its reader, a reset was asked for a moment ago.
    pub const fn seconds(self) -> i64 {
        match self {
            LinkPurpose::Invitation => 7 * 86_400,
            LinkPurpose::Reset => 3_600,
        }
    }

    /// The stable word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            LinkPurpose::Invitation => "invitation",
            LinkPurpose::Reset => "reset",
        }
    }
}

/// What is kept of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRecord {
    /// The SHA-256 of its token.
    pub digest: Digest<purpose::Link>,
    /// Whose password it sets.
    pub account: Uuid,
    /// What it is for.
    pub purpose: LinkPurpose,
    /// When it is over.
    pub expires_at: Moment,
    /// When it was used.
    pub used_at: Option<Moment>,
}

/// A link that cannot be used; which of the reasons it is, its holder is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the link is unknown, expired or used")]
pub struct DeadLink;

impl LinkRecord {
    /// A new link. Making one ends every earlier link of the account.
    pub fn make(token: &LinkToken, account: Uuid, purpose: LinkPurpose, now: Moment) -> Self {
        LinkRecord { digest: token.digest(), account, purpose, expires_at: now.plus(purpose.seconds()), used_at: None }
    }

    /// Whose password may be set now. The caller sets `used_at` where it is still empty, in the transaction that sets the password; if
    /// that changes no row, the link is dead. Showing the form uses nothing up: mail programs open links on their own.
    pub fn open(record: Option<&LinkRecord>, now: Moment) -> Result<Uuid, DeadLink> {
        record.filter(|link| link.used_at.is_none() && now < link.expires_at).map(|link| link.account).ok_or(DeadLink)
    }
}
