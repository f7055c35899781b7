//! What an error of PostgreSQL means for a write.

use tokio_postgres::error::DbError;

use crate::writes::{Again, DatabaseRefusal, RefusalKind, SessionError};

pub(super) fn session_error(error: &DbError) -> Option<SessionError> {
    let code = error.code().code();
    if matches!(code, "40001" | "40P01") {
        return Some(SessionError::Again(Again::Conflict));
    }
    if crate::error::is_stale(error) {
        return Some(SessionError::Again(Again::Stale));
    }
    let constraint = |kind| {
        let name = error.constraint().or_else(|| remote_name(error, "constraint")).unwrap_or_default();
        DatabaseRefusal::Constraint { name: name.to_owned(), kind }
    };
    let refusal = match code {
        "23505" => constraint(RefusalKind::Unique),
        // The table of the error is the one with the foreign key; the diagnosis knows whether that is its own.
        "23503" | "23001" => constraint(RefusalKind::InUse),
        "23502" => {
            let column = error.column().or_else(|| remote_name(error, "column"));
            DatabaseRefusal::Columns { columns: column.map(str::to_owned).into_iter().collect(), kind: RefusalKind::Other }
        }
        "23514" | "23P01" => constraint(RefusalKind::Other),
        "22003" => DatabaseRefusal::Range,
        // Integrity, data, WITH CHECK OPTION, and what a trigger raises.
        _ if ["22", "23", "44", "P0"].iter().any(|class| code.starts_with(class)) => DatabaseRefusal::Other,
        _ => return None,
    };
    tracing::debug!(code, message = error.message(), "the database refused a write");
    Some(SessionError::Refused(refusal))
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
