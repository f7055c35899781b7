//! Accounts: their names, their rights, and the limits of what one account may do to another.

pub mod permission;
pub mod rights;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::timestamp::Timestamp;

pub use permission::{EXPLAIN, KnownPermissions, MAX_PERMISSION_BYTES, Permission, PermissionFault};
pub use rights::{ADMINISTRATOR, Rights, Role, RolePermissions};

/// The id of the anonymous account.
pub const ANONYMOUS: Uuid = Uuid::nil();

pub const MAX_NAME_BYTES: usize = 254;

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AccountKind {
        User = "USER",
        Service = "SERVICE",
    }
}

/// An account. Its password is not part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// `id`, and `sub` and `aci` of its tokens.
    pub id: Uuid,
    /// `type`
    pub kind: AccountKind,
    /// `code`: a readable name for lists.
    pub code: String,
    pub email: Option<String>,
    pub username: Option<String>,
    pub is_active: bool,
    pub tags: Vec<String>,
    /// `scopes`: shown, and grants nothing.
    pub scopes: Vec<String>,
    /// `dPermissions`
    pub rights: Rights,
    /// `dTenants`
    pub tenants: Vec<Uuid>,
    pub meta: Map<String, Value>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

impl Account {
    pub fn anonymous() -> Self {
        let beginning = Timestamp::from_unix(0);
        Account {
            id: ANONYMOUS,
            kind: AccountKind::User,
            code: "anonymous".to_owned(),
            email: None,
            username: None,
            is_active: true,
            tags: Vec::new(),
            scopes: Vec::new(),
            rights: Rights::none(),
            tenants: Vec::new(),
            meta: Map::new(),
            created_at: beginning,
            updated_at: beginning,
            deleted_at: None,
        }
    }

    /// Whether it may sign in: active, not removed, and not anonymous.
    pub fn may_sign_in(&self) -> bool {
        self.is_active && self.deleted_at.is_none() && self.id != ANONYMOUS
    }
}

/// The checked names that an account signs in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub username: Option<String>,
    pub email: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    #[error("a username or email must have 1 to 254 characters, no spaces at its ends and no invisible characters")]
    Shape,
    #[error("an email must have one @ with something before and after it, and no space")]
    Email,
    /// The username could be the email of another account.
    #[error("a username with an @ must be the account's own email")]
    Ambiguous,
}

impl Names {
    /// Checks names. A username with an `@` must be the account's own email, or it could receive the sign-in of another person.
    pub fn check(username: Option<&str>, email: Option<&str>) -> Result<Self, NameFault> {
        let invisible = |character: char| character.is_control() || is_invisible(character);
        let shaped = |text: &str| !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.trim() == text && !text.chars().any(invisible);
        if !username.into_iter().chain(email).all(shaped) {
            return Err(NameFault::Shape);
        }
        if let Some(email) = email {
            let parts: Vec<&str> = email.split('@').collect();
            if parts.len() != 2 || parts.iter().any(|part| part.is_empty()) || email.contains(char::is_whitespace) {
                return Err(NameFault::Email);
            }
        }
        let borrowed = username.filter(|username| username.contains('@')).map(login_name);
        if borrowed.is_some() && borrowed != email.map(login_name) {
            return Err(NameFault::Ambiguous);
        }
        Ok(Names { username: username.map(str::to_owned), email: email.map(str::to_owned) })
    }
}

/// Whether a character is invisible: formats, joiners, direction marks, fillers, selectors and tags.
pub const fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The spelling of a name that lookups, uniqueness and the throttle compare: lower case, without spaces at its ends.
pub fn login_name(text: &str) -> String {
    text.trim().to_lowercase()
}
