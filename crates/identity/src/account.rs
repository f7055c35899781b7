//! Accounts: who somebody is, what their roles let them do, and what nobody may do to another account.

pub mod permission;
pub mod rights;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::moment::Moment;

pub use permission::{Catalogue, EXPLAIN, LONGEST_PERMISSION, Permission, PermissionFault};
pub use rights::{ADMINISTRATOR, Holding, Rights, Role};

/// The id of whoever nobody knows.
pub const ANONYMOUS: Uuid = Uuid::nil();

/// The most bytes of a username or an email address.
pub const LONGEST_NAME: usize = 254;

/// What kind of account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountKind {
    /// A person.
    User,
    /// A program.
    Service,
}

impl AccountKind {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            AccountKind::User => "USER",
            AccountKind::Service => "SERVICE",
        }
    }

    /// The kind a word names.
    pub fn from_word(word: &str) -> Option<Self> {
        [AccountKind::User, AccountKind::Service].into_iter().find(|kind| kind.as_str() == word)
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
    /// `email`
    pub email: Option<String>,
    /// `username`
    pub username: Option<String>,
    /// `isActive`
    pub is_active: bool,
    /// `tags`
    pub tags: Vec<String>,
    /// `scopes`: shown, and grants nothing.
    pub scopes: Vec<String>,
    /// `dPermissions`
    pub rights: Rights,
    /// `dTenants`
    pub tenants: Vec<Uuid>,
    /// `meta`
    pub meta: Map<String, Value>,
    /// `createdAt`
    pub created_at: Moment,
    /// `updatedAt`
    pub updated_at: Moment,
    /// `deletedAt`
    pub deleted_at: Option<Moment>,
}

impl Account {
    /// Whoever nobody knows: no permission, no tenant.
    pub fn anonymous() -> Self {
        let beginning = Moment::from_unix(0);
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

    /// Whether it may be granted anything: active, not removed, and somebody.
    pub fn may_sign_in(&self) -> bool {
        self.is_active && self.deleted_at.is_none() && self.id != ANONYMOUS
    }
}

/// The names by which a person signs in, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// `username`
    pub username: Option<String>,
    /// `email`
    pub email: Option<String>,
}

/// Why names are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// Empty, too long, or with characters that cannot be seen.
    #[error("a username or email is 1 to 254 characters without spaces at its ends and without characters that cannot be seen")]
    Shape,
    /// No address.
    #[error("an email has one @ with something before and after it, and no space")]
    Email,
    /// Another account's email could be taken as a username.
    #[error("a username with an @ must be the account's own email")]
    Ambiguous,
}

impl Names {
    /// Checks names. A username with an `@` must be the account's own email, or it could catch another person's sign-in.
    pub fn check(username: Option<&str>, email: Option<&str>) -> Result<Self, NameFault> {
        let unreadable = |character: char| character.is_control() || is_invisible(character);
        let shaped = |text: &str| !text.is_empty() && text.len() <= LONGEST_NAME && text.trim() == text && !text.chars().any(unreadable);
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

/// Characters that take no place where they are shown: formats, joiners, marks of direction, fillers, selectors and tags.
pub const fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// How a name is compared when somebody signs in: without regard to case and to spaces at its ends. Lookups, uniqueness and throttling
/// all use this one spelling.
pub fn login_name(text: &str) -> String {
    text.trim().to_lowercase()
}
