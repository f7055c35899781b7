//! The names of permissions, `context.resource.action`, and the catalogue of known ones.

use std::collections::BTreeSet;

pub const MAX_PERMISSION_BYTES: usize = 128;

/// The permissions of the hub's own records.
const BUILT_IN: [(&str, &[&str]); 9] = [
    ("iam.account", &["get", "create", "update", "delete"]),
    ("iam.role", &["get", "create", "update", "delete"]),
    ("iam.permission", &["get"]),
    ("iam.tenant", &["get", "create", "update", "delete"]),
    ("iam.session", &["get", "delete"]),
    ("iam.event", &["get"]),
    ("oAuth.client", &["get", "create", "update", "delete"]),
    ("hub.app", &["get", "create", "update", "delete"]),
    ("hub.appAccount", &["get", "create", "update", "delete"]),
];

/// The permission to see the SQL of a statement. It belongs to no resource and is the only name with two words.
pub const EXPLAIN: &str = "peristyle.explain";

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Permission(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a permission is context.resource.action: three words of letters, digits, - and _, each beginning with a letter; or peristyle.explain"
)]
pub struct PermissionFault;

impl Permission {
    pub fn parse(text: &str) -> Result<Self, PermissionFault> {
        let is_word = |word: &str| {
            word.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        let fits = text.len() <= MAX_PERMISSION_BYTES && text.split('.').count() == 3 && text.split('.').all(is_word);
        (fits || text == EXPLAIN).then(|| Permission(text.to_owned())).ok_or(PermissionFault)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

shown_as_text!(Permission);

/// All permissions that the hub knows: its own, those of its manifest, and those of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPermissions(BTreeSet<Permission>);

impl KnownPermissions {
    /// The hub's own permissions and these.
    pub fn new(others: impl IntoIterator<Item = Permission>) -> Self {
        let own = BUILT_IN.iter().flat_map(|(resource, actions)| actions.iter().map(move |action| format!("{resource}.{action}")));
        KnownPermissions(own.chain([EXPLAIN.to_owned()]).map(Permission).chain(others).collect())
    }

    pub fn permissions(&self) -> &BTreeSet<Permission> {
        &self.0
    }
}
