//! Why a process does not start. Every room that takes part in booting can refuse, so it stands below all of them.

/// Why a process cannot start: one message, for the person who starts it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BootError(pub String);

/// Why the database cannot be used, with the variable that could be set otherwise.
pub(crate) fn unusable(error: store::Error) -> BootError {
    BootError(match error {
        store::Error::Timeout => "DATABASE_TIMEOUT: the database did not answer in that time; allow more".to_owned(),
        error => format!("DATABASE_URL: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_takes_too_long_is_told_by_the_variable_that_says_how_long() {
        // contract B1.1
        assert!(unusable(store::Error::Timeout).to_string().starts_with("DATABASE_TIMEOUT: "));
        assert!(unusable(store::Error::Overloaded).to_string().starts_with("DATABASE_URL: "));
    }
}
