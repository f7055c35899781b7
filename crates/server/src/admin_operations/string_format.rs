//! The formats of the strings in an input. Each string is checked before the database is asked; the error says what is accepted.

use identity::account::{self, AccountKind, MAX_PERMISSION_BYTES, Names, Permission};
use identity::client::{ClientId, GrantType, MAX_ID_BYTES, MAX_REDIRECT_BYTES, Redirect};
use identity::password::{MAX_HASH_BYTES, MAX_PASSWORD_BYTES, Password, PasswordHash};
use uuid::Uuid;

use crate::administration::{MAX_APP_URL_BYTES, MAX_NAME_BYTES, check_app_url, parse_name};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringFormat {
    Name,
    Username,
    Email,
    Uuid,
    ClientId,
    Redirect,
    Url,
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

fn message(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}

impl StringFormat {
    pub(crate) fn check(self, text: &str) -> Result<(), String> {
        match self {
            StringFormat::Name | StringFormat::Role => parse_name("a name", text).map(drop).map_err(message),
            // A username may be the email of the same account, which is checked later.
            StringFormat::Username => Names::check(Some(text), text.contains('@').then_some(text)).map(drop).map_err(message),
            StringFormat::Email => Names::check(None, Some(text)).map(drop).map_err(message),
            StringFormat::Uuid => {
                Uuid::try_parse(text).map(drop).map_err(|_| "a UUID is expected, such as `6f1c0f6e-5a0e-4e0c-9d53-1c2f0a7b9e11`".to_owned())
            }
            StringFormat::ClientId => ClientId::parse(text).map(drop).map_err(message),
            StringFormat::Redirect => Redirect::register(text).map(drop).map_err(message),
            StringFormat::Url => check_app_url(text).map_err(str::to_owned),
            StringFormat::Permission => Permission::parse(text).map(drop).map_err(message),
            StringFormat::Password => Password::chosen(text).map(drop).map_err(message),
            StringFormat::PasswordHash => PasswordHash::parse(text).map(drop).map_err(message),
            StringFormat::Grant | StringFormat::AccountType => {
                let words = self.words().unwrap_or_default();
                if words.contains(&text) { Ok(()) } else { Err(format!("one of {} is expected", query::messages::quoted_list(words))) }
            }
        }
    }

    pub(crate) fn words(self) -> Option<&'static [&'static str]> {
        match self {
            StringFormat::Grant => Some(&GRANTS),
            StringFormat::AccountType => Some(&ACCOUNT_TYPES),
            _ => None,
        }
    }

    pub(crate) fn max_bytes(self) -> usize {
        match self {
            StringFormat::Name | StringFormat::Role => MAX_NAME_BYTES,
            StringFormat::Username | StringFormat::Email => account::MAX_NAME_BYTES,
            // The longest spelling is a URN.
            StringFormat::Uuid => 45,
            StringFormat::ClientId => MAX_ID_BYTES,
            StringFormat::Permission => MAX_PERMISSION_BYTES,
            StringFormat::Password => MAX_PASSWORD_BYTES,
            StringFormat::PasswordHash => MAX_HASH_BYTES,
            StringFormat::Redirect => MAX_REDIRECT_BYTES,
            StringFormat::Url => MAX_APP_URL_BYTES,
            StringFormat::Grant | StringFormat::AccountType => 20,
        }
    }
}
