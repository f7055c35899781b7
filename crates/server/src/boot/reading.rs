//! What a boot reads from the database, from the next host if one falls silent.

use futures_util::future::BoxFuture;
use store::{Database, Error, Reachability};

use crate::boot_error::{BootError, unanswered};

/// Reads, and reads again if the connection was lost and other hosts may answer. A refusal names the variable.
pub(super) async fn read<'d, T>(
    variable: &str,
    database: &Database,
    read: impl Fn() -> BoxFuture<'d, Result<T, Error>>,
) -> Result<T, BootError> {
    let mut answer = read().await;
    if let Err(Error::Unavailable(reason)) = &answer
        && database.hosts().len() > 1
        && database.reachability() == Reachability::Reachable
        && !database.is_silent()
    {
        tracing::info!("{variable}: {reason}; the next host is tried");
        answer = read().await;
    }
    answer.map_err(|error| match error {
        Error::Timeout => unanswered(&database.describe()),
        error => BootError(format!("{variable}: {error}")),
    })
}
