//! Tries whether a SQLite file takes changes, without changing it.

use rusqlite::{Connection, ErrorCode};

use super::Sqlite;
use crate::Error;
use crate::error::needs_folder;

impl Sqlite {
    /// Why no write of this process can succeed, if the file or its folder does not let it.
    pub(crate) async fn refuses_writes(&self) -> Result<Option<String>, Error> {
        let (sqlite, file) = (self.clone(), self.describe());
        let tried = tokio::task::spawn_blocking(move || sqlite.connection().map(|connection| try_write(&connection))).await;
        match tried.map_err(|error| Error::Unexpected(error.to_string()))?? {
            Ok(()) => Ok(None),
            Err(error) => {
                let code = error.sqlite_error().map_or(0, |error| error.extended_code);
                match error.sqlite_error_code() {
                    // Another process writes, so it can be done.
                    Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Ok(None),
                    Some(ErrorCode::ReadOnly) if !needs_folder(code) => {
                        Ok(Some(format!("{file} is read-only for this user; make it writable for it")))
                    }
                    Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Ok(Some(format!(
                        "this user may not write to the folder of {file}, and SQLite keeps files beside it while it changes it; make the folder writable for this user"
                    ))),
                    _ => Err(error.into()),
                }
            }
        }
    }
}

/// Begins a change, for which SQLite opens its journal, and takes it back. It writes nothing into the file.
fn try_write(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA query_only = OFF; BEGIN IMMEDIATE")?;
    let version: i64 = connection.query_row("PRAGMA main.user_version", [], |row| row.get(0))?;
    connection.execute_batch(&format!("PRAGMA main.user_version = {version}; ROLLBACK"))
}
