//! `peristyle backup`: copies the SQLite file of `DATABASE_URL` while a server writes to it.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use store::{BackupProgress, BackupStep, Database};
use tempfile::NamedTempFile;

use crate::config::Config;
use crate::listen;

use super::CommandError;
use super::output::{OutputFormat, print_change};

/// How often a line reports the progress. A backup that ends sooner has none.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub(super) struct BackupArguments {
    /// The file to write
    file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Print one JSON object for programs
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(config: &Config, arguments: BackupArguments) -> Result<(), CommandError> {
    let BackupArguments { file, force, json } = arguments;
    let Some(source) = Database::sqlite_path(&config.database_url) else {
        return Err(CommandError(match config.database_url.as_str() {
            "sqlite::memory:" => "DATABASE_URL: a database in memory has no file to back up".to_owned(),
            _ => "DATABASE_URL: `peristyle backup` copies SQLite files; use pg_dump to back up PostgreSQL".to_owned(),
        }));
    };
    let exists = || CommandError(format!("{} exists already; --force replaces it", file.display()));
    if !force && file.symlink_metadata().is_ok() {
        return Err(exists());
    }
    let unwritable = |error: std::io::Error| CommandError(format!("{} cannot be written: {error}", file.display()));
    // In the same folder, so that it can be renamed. Only its owner can read it.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
    let temporary = tempfile::Builder::new().prefix(".peristyle-backup-").tempfile_in(&folder).map_err(unwritable)?;
    let (done, temporary) = copy(source.to_owned(), temporary).await?;
    temporary.as_file().sync_all().map_err(unwritable)?;
    let persisted = if force { temporary.persist(&file) } else { temporary.persist_noclobber(&file) };
    persisted.map_err(|error| if error.error.kind() == ErrorKind::AlreadyExists { exists() } else { unwritable(error.error) })?;
    std::fs::File::open(&folder).and_then(|folder| folder.sync_all()).map_err(unwritable)?;
    let bytes = done.pages * done.page_bytes;
    let text = format!("copied {source} to {}: {bytes} bytes", file.display());
    print_change(&OutputFormat::of(json).choose(&text, &json!({ "source": source, "file": file.display().to_string(), "bytes": bytes })))
}

/// Copies on a thread of its own. A signal stops it, and the temporary file is removed.
async fn copy(source: String, temporary: NamedTempFile) -> Result<(BackupProgress, NamedTempFile), CommandError> {
    let stop = Arc::new(AtomicBool::new(false));
    let is_stopped = stop.clone();
    let mut copying = tokio::task::spawn_blocking(move || {
        let mut reported = Instant::now();
        let done = store::backup(&source, temporary.path(), |done| {
            if reported.elapsed() >= REPORT_INTERVAL {
                reported = Instant::now();
                report(done);
            }
            if is_stopped.load(Ordering::Relaxed) { BackupStep::Stop } else { BackupStep::Continue }
        });
        done.map(|done| (done, temporary))
    });
    let copied = tokio::select! {
        copied = &mut copying => copied,
        () = listen::signal() => {
            stop.store(true, Ordering::Relaxed);
            copying.await
        }
    };
    copied?.map_err(|error| match error {
        store::Error::Gone => CommandError("the backup was stopped; no file was written".to_owned()),
        error => CommandError(format!("the backup failed: {error}")),
    })
}

fn report(done: BackupProgress) {
    let percent = done.copied * 100 / done.pages.max(1);
    // A closed standard error does not stop the backup.
    _ = writeln!(std::io::stderr(), "copied {percent} % of {} MiB", (done.pages * done.page_bytes) >> 20);
}
