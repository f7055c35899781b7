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

/// What a variable of every account holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableKind {
    Id,
    Text,
    Bool,
    Ids,
    Texts,
}

/// What a variable holds; none for those below `$account.meta`, which each account has its own.
pub(crate) fn variable_kind(name: &str) -> Option<VariableKind> {
    Some(match name.strip_prefix("$account.")? {
        "id" => VariableKind::Id,
        "type" | "code" | "email" | "username" => VariableKind::Text,
        "isActive" => VariableKind::Bool,
        "dTenants" => VariableKind::Ids,
        "tags" | "scopes" => VariableKind::Texts,
        name if name.starts_with("dPermissions.") => VariableKind::Texts,
        _ => return None,
    })
}
