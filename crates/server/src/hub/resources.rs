//! The hub's own records as resources: a manifest in the binary, read by the same engine as every other.

use query::manifest::{Manifest, ManifestError};
use query::sql::Dialect;

/// The manifest for PostgreSQL, where the tables have a schema of their own.
const MANIFEST: &str = include_str!("resources.toml");

pub(crate) const ACCOUNT: &str = "iam.account";

pub(crate) fn manifest(dialect: Dialect) -> Result<Manifest, ManifestError> {
    match dialect {
        Dialect::Postgres => Manifest::read(MANIFEST),
        Dialect::Sqlite => Manifest::read(&MANIFEST.replace("\"peristyle.", "\"peristyle_")),
    }
}
