//! The hub's own records as resources: a manifest compiled into the binary, for the same engine and the same permission check as any
//! other.

use query::manifest::{Manifest, ManifestError};
use query::sql::Dialect;

/// The manifest as it stands on PostgreSQL, where the tables have a schema of their own.
const MANIFEST: &str = include_str!("resources.toml");

/// The resource whose rows are who asks.
pub(crate) const ACCOUNT: &str = "iam.account";

/// The manifest in the words of a database.
pub(crate) fn manifest(dialect: Dialect) -> Result<Manifest, ManifestError> {
    match dialect {
        Dialect::Postgres => Manifest::read(MANIFEST),
        Dialect::Sqlite => Manifest::read(&MANIFEST.replace("\"peristyle.", "\"peristyle_")),
    }
}
