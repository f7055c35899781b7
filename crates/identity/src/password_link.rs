//! Password links: an invitation or a reset that sets the password of one account, once and for a limited time.

use uuid::Uuid;

use crate::secret_token::{Digest, LinkToken, purpose};
use crate::timestamp::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPurpose {
    /// A first password.
    Invitation,
    /// A new password.
    Reset,
}

impl LinkPurpose {
    /// How long it is valid: an invitation waits for its reader, a reset was just requested.
    pub const fn seconds(self) -> i64 {
        match self {
            LinkPurpose::Invitation => 7 * 86_400,
            LinkPurpose::Reset => 3_600,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            LinkPurpose::Invitation => "invitation",
            LinkPurpose::Reset => "reset",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRecord {
    pub digest: Digest<purpose::Link>,
    pub account: Uuid,
    pub purpose: LinkPurpose,
    pub expires_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

/// A link that cannot be used, for an undisclosed reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the link is unknown, expired or used")]
pub struct DeadLink;

impl LinkRecord {
    /// A new link. It replaces every earlier link of the account.
    pub fn make(token: &LinkToken, account: Uuid, purpose: LinkPurpose, now: Timestamp) -> Self {
        LinkRecord { digest: token.digest(), account, purpose, expires_at: now.plus(purpose.seconds()), used_at: None }
    }

    /// The account of a live link. The transaction that sets the password also sets `used_at` if it is still empty; if that changes no
    /// row, the link is dead. Showing the form does not use the link: mail programs open links on their own.
    pub fn open(record: Option<&LinkRecord>, now: Timestamp) -> Result<Uuid, DeadLink> {
        record.filter(|link| link.used_at.is_none() && now < link.expires_at).map(|link| link.account).ok_or(DeadLink)
    }
}
