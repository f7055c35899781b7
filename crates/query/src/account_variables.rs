//! The variables of an account that a manifest can name.

/// The fields of an account that `$account.…` can name.
pub const ACCOUNT_FIELDS: [&str; 11] =
    ["id", "type", "code", "email", "username", "isActive", "tags", "scopes", "dPermissions", "dTenants", "meta"];

/// The variables that every account has. Below `$account.meta` each account has its own.
pub const ACCOUNT_VARIABLES: [&str; 10] = [
    "$account.id",
    "$account.type",
    "$account.code",
    "$account.email",
    "$account.username",
    "$account.isActive",
    "$account.tags",
    "$account.scopes",
    "$account.dTenants",
    "$account.dPermissions.all",
];

pub fn is_account_variable(name: &str) -> bool {
    let is_of_role = |name: &str| name.strip_prefix("$account.dPermissions.").is_some_and(|role| !role.contains('.'));
    ACCOUNT_VARIABLES.contains(&name) || name.starts_with("$account.meta.") || is_of_role(name)
}
