//! What an error of PostgreSQL means for a write.

use tokio_postgres::error::DbError;

use crate::writes::{DatabaseRefusal, RefusalKind, RetryReason, StepError};

/// What a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    /// It changes rows, so that constraints, policies and triggers may refuse it.
    Change,
}

/// Classes of errors that are not about a row: connections, what is not supported, privileges and names, transactions, resources, the
/// operator, the system and foreign servers.
const SYSTEM_CLASSES: [&str; 19] =
    ["08", "0A", "0B", "25", "26", "28", "2D", "3B", "3D", "3F", "40", "42", "53", "55", "57", "58", "F0", "HV", "XX"];

/// The routine of PostgreSQL that refuses a row by a policy of row-level security.
const ROW_POLICY: &str = "ExecWithCheckOptions";
/// `RAISE` in a trigger, with any code.
const RAISE: &str = "exec_stmt_raise";

pub(super) fn step_error(error: &DbError, purpose: Purpose) -> Option<StepError> {
    let code = error.code().code();
    if matches!(code, "40001" | "40P01") {
        return Some(StepError::Retry(RetryReason::Conflict));
    }
    if crate::error::is_stale(error) {
        return Some(StepError::Retry(RetryReason::Stale));
    }
    let constraint = |kind| {
        let name = error.constraint().or_else(|| remote_name(error, "constraint")).unwrap_or_default();
        DatabaseRefusal::Constraint { name: name.to_owned(), kind }
    };
    let refusal = match code {
        "23505" => constraint(RefusalKind::Unique),
        // The table of the error is the one with the foreign key; the diagnosis knows whether that is its own.
        "23503" | "23001" => constraint(RefusalKind::ForeignKey),
        "23502" => {
            let column = error.column().or_else(|| remote_name(error, "column"));
            DatabaseRefusal::Columns { columns: column.map(str::to_owned).into_iter().collect(), kind: RefusalKind::Other }
        }
        "23514" | "23P01" => constraint(RefusalKind::Other),
        "22003" => DatabaseRefusal::Range,
        // A string that is too long, and one that is no label of an enum type.
        "22001" | "22P02" => DatabaseRefusal::Value,
        _ if is_about_row(error, purpose) => DatabaseRefusal::Other,
        _ => return None,
    };
    // The message may quote a value.
    let (constraint, column) = (error.constraint(), error.column());
    tracing::debug!(code, constraint, column, routine = error.routine(), "the database refused a write");
    Some(StepError::Refused(refusal))
}

/// Whether the row is why PostgreSQL refuses a statement: data, integrity, `WITH CHECK OPTION`, and what a trigger raises, also with a code
/// of its own.
fn is_about_row(error: &DbError, purpose: Purpose) -> bool {
    let code = error.code().code();
    match purpose {
        _ if ["22", "23", "44", "P0"].iter().any(|class| code.starts_with(class)) => true,
        Purpose::Read => false,
        Purpose::Change if error.routine() == Some(RAISE) => true,
        Purpose::Change if code == "42501" => error.routine() == Some(ROW_POLICY),
        Purpose::Change => !SYSTEM_CLASSES.iter().any(|class| code.starts_with(class)),
    }
}

/// Citus forwards the message of an error of another server without its parts, so the name is read from the message.
fn remote_name<'e>(error: &'e DbError, what: &str) -> Option<&'e str> {
    name_in(error.message(), what)
}

/// The name after a word such as `constraint "lucky_102018"`, without the number of the shard.
fn name_in<'m>(message: &'m str, what: &str) -> Option<&'m str> {
    let (_, rest) = message.split_once(&format!("{what} \""))?;
    let (name, _) = rest.split_once('"')?;
    match name.rsplit_once('_') {
        Some((base, shard)) if what == "constraint" && !shard.is_empty() && shard.bytes().all(|byte| byte.is_ascii_digit()) => Some(base),
        _ => Some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::name_in;

    #[test]
    fn the_name_of_a_constraint_is_read_from_the_message_of_another_server() {
        let unique = r#"duplicate key value violates unique constraint "customers_email_key_102010""#;
        assert_eq!(name_in(unique, "constraint"), Some("customers_email_key"));
        let reference =
            r#"update or delete on table "customers_102010" violates foreign key constraint "ofk_102018" on table "orders_102018""#;
        assert_eq!(name_in(reference, "constraint"), Some("ofk"));
        let empty = r#"null value in column "line_2" of relation "customers_102012" violates not-null constraint"#;
        assert_eq!(name_in(empty, "column"), Some("line_2"));
        assert_eq!(name_in("it failed", "constraint"), None);
    }
}
