//! Texts that are sent, by what they are: each is checked before anything is looked up, and says what would have been accepted.

use identity::account::{AccountKind, MAX_NAME_BYTES, MAX_PERMISSION_BYTES, Names, Permission};
use identity::client::{ClientId, GrantType, MAX_ID_BYTES, MAX_REDIRECT_BYTES, Redirect};
use identity::password::{MAX_HASH_BYTES, MAX_PASSWORD_BYTES, Password, PasswordHash};
use uuid::Uuid;

use crate::administration::{LONGEST_ADDRESS, LONGEST_READABLE, check_address, readable};

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// What people read.
    Name,
    Username,
    Email,
    Uuid,
    ClientId,
    Redirect,
    /// Where an app is.
    Address,
    /// The name or the id of a role.
    Role,
    Permission,
    Grant,
    AccountType,
    Password,
    PasswordHash,
}

const GRANTS: [&str; 3] = [GrantType::AuthorizationCode.as_str(), GrantType::RefreshToken.as_str(), GrantType::Password.as_str()];
const ACCOUNT_TYPES: [&str; 2] = [AccountKind::User.as_str(), AccountKind::Service.as_str()];

impl Text {
    /// Whether a text fits, or what would have.
    pub(crate) fn check(self, text: &str) -> Result<(), String> {
        let told = |fault: &dyn std::fmt::Display| fault.to_string();
        match self {
            Text::Name | Text::Role => readable("a name", text).map(drop).map_err(|fault| told(&fault)),
            // A username that is an email passes by itself; whether it is the account's own is seen later.
            Text::Username => Names::check(Some(text), text.contains('@').then_some(text)).map(drop).map_err(|fault| told(&fault)),
            Text::Email => Names::check(None, Some(text)).map(drop).map_err(|fault| told(&fault)),
            Text::Uuid => {
                Uuid::try_parse(text).map(drop).map_err(|_| "a uuid is expected, such as `6f1c0f6e-5a0e-4e0c-9d53-1c2f0a7b9e11`".to_owned())
            }
            Text::ClientId => ClientId::parse(text).map(drop).map_err(|fault| told(&fault)),
            Text::Redirect => Redirect::register(text).map(drop).map_err(|fault| told(&fault)),
            Text::Address => check_address(text).map_err(str::to_owned),
            Text::Permission => Permission::parse(text).map(drop).map_err(|fault| told(&fault)),
            Text::Password => Password::chosen(text).map(drop).map_err(|fault| told(&fault)),
            Text::PasswordHash => PasswordHash::parse(text).map(drop).map_err(|fault| told(&fault)),
            Text::Grant | Text::AccountType => {
                let words = self.words().unwrap_or_default();
                if words.contains(&text) { Ok(()) } else { Err(format!("one of {} is expected", query::wording::words(words))) }
            }
        }
    }

    /// The words it is one of, where they are few.
    pub(crate) fn words(self) -> Option<&'static [&'static str]> {
        match self {
            Text::Grant => Some(&GRANTS),
            Text::AccountType => Some(&ACCOUNT_TYPES),
            _ => None,
        }
    }

    /// The most bytes it may have.
    pub(crate) fn longest(self) -> usize {
        match self {
            Text::Name | Text::Role => LONGEST_READABLE,
            Text::Username | Text::Email => MAX_NAME_BYTES,
            // Also in braces, and as a URN.
            Text::Uuid => 45,
            Text::ClientId => MAX_ID_BYTES,
            Text::Permission => MAX_PERMISSION_BYTES,
            Text::Password => MAX_PASSWORD_BYTES,
            Text::PasswordHash => MAX_HASH_BYTES,
            Text::Redirect => MAX_REDIRECT_BYTES,
            Text::Address => LONGEST_ADDRESS,
            Text::Grant | Text::AccountType => 20,
        }
    }
}
