//! Why a process does not start.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BootError(pub String);

/// The database cannot be used. The message names the setting to change.
pub(crate) fn unusable(error: store::Error) -> BootError {
    BootError(match error {
        store::Error::Timeout => return unanswered("the database"),
        error => format!("DATABASE_URL: {error}"),
    })
}

/// A statement had no answer in time, although the server let this process in.
pub(crate) fn unanswered(place: &str) -> BootError {
    BootError(format!("DATABASE_TIMEOUT: {place} did not answer in time; allow more, or find out why it is slow"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_of_the_database_names_database_timeout() {
        // contract B1.1
        assert!(unusable(store::Error::Timeout).to_string().starts_with("DATABASE_TIMEOUT: "));
        assert!(unusable(store::Error::Overloaded).to_string().starts_with("DATABASE_URL: "));
    }
}
