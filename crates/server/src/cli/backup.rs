//! `peristyle backup`: copies the SQLite file of `DATABASE_URL` while a server writes to it.

use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use store::{BackupError, BackupProgress, BackupStage, BackupStep, Database};
use tempfile::NamedTempFile;

use crate::config::Config;
use crate::{boot, listen};

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
    if file.as_os_str() == "-" {
        return Err(CommandError("a backup is a file, and is not printed; accepted is a path, such as backup.db".to_owned()));
    }
    boot::require_sqlite_file("DATABASE_URL", &config.database_url)?;
    refuse_database_itself(Path::new(source), &file)?;
    let exists = || CommandError(format!("{} exists already; --force replaces it", file.display()));
    if !force && file.symlink_metadata().is_ok() {
        return Err(exists());
    }
    // The file that a link leads to is replaced, not the link.
    let target = file.canonicalize().unwrap_or_else(|_| file.clone());
    let unwritable = |error: &dyn Display| CommandError(format!("{} cannot be written: {error}", file.display()));
    // In the same folder, so that it can be renamed. Only its owner can read it.
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
    let temporary = tempfile::Builder::new().prefix(".peristyle-backup-").tempfile_in(&folder);
    // The error of this library shows the name of the temporary file.
    let temporary = temporary.map_err(|error| unwritable(&std::io::Error::from(error.kind())))?;
    let (done, temporary) = copy(source.to_owned(), temporary).await?.map_err(|error| match error {
        BackupError::Source(error) => CommandError(format!("DATABASE_URL: {error}")),
        BackupError::Target(reason) => unwritable(&reason),
        BackupError::Stopped => CommandError("the backup was stopped; no file was written".to_owned()),
    })?;
    temporary.as_file().sync_all().map_err(|error| unwritable(&error))?;
    let persisted = if force { temporary.persist(&target) } else { temporary.persist_noclobber(&target) };
    persisted.map_err(|error| if error.error.kind() == ErrorKind::AlreadyExists { exists() } else { unwritable(&error.error) })?;
    std::fs::File::open(&folder).and_then(|folder| folder.sync_all()).map_err(|error| unwritable(&error))?;
    let bytes = done.pages * done.page_bytes;
    let text = format!("copied {source} to {}: {bytes} bytes", file.display());
    print_change(&OutputFormat::of(json).choose(&text, &json!({ "source": source, "file": file.display().to_string(), "bytes": bytes })))
}

/// Refuses the database and the files that SQLite keeps beside it: a server that has them open would lose its database.
fn refuse_database_itself(source: &Path, file: &Path) -> Result<(), CommandError> {
    let id = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
    let database = source.canonicalize().unwrap_or_else(|_| source.to_owned());
    let is_database = ["", "-wal", "-shm", "-journal"].iter().any(|end| {
        let mut own = database.clone().into_os_string();
        own.push(end);
        let own = Path::new(&own);
        // The file beside the database may not exist yet. Then its folder and its name tell.
        let is_beside = file.file_name() == own.file_name() && folder_of(file) == folder_of(own);
        is_beside || id(own).is_some_and(|own| Some(own) == id(file))
    });
    if is_database {
        return Err(CommandError(format!("{} is the database itself, or belongs to it; accepted is another path", file.display())));
    }
    Ok(())
}

fn folder_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().ok()
}

/// Copies on a thread of its own. A signal stops it, and the temporary file is removed.
async fn copy(
    source: String,
    temporary: NamedTempFile,
) -> Result<Result<(BackupProgress, NamedTempFile), BackupError>, tokio::task::JoinError> {
    let stop = Arc::new(AtomicBool::new(false));
    let is_stopped = stop.clone();
    let mut copying = tokio::task::spawn_blocking(move || {
        let mut reported = Instant::now();
        let done = store::backup(&source, temporary.path(), |stage| {
            if reported.elapsed() >= REPORT_INTERVAL {
                reported = Instant::now();
                report(stage);
            }
            if is_stopped.load(Ordering::Relaxed) { BackupStep::Stop } else { BackupStep::Continue }
        });
        done.map(|done| (done, temporary))
    });
    tokio::select! {
        copied = &mut copying => copied,
        () = listen::signal() => {
            stop.store(true, Ordering::Relaxed);
            copying.await
        }
    }
}

fn report(stage: BackupStage) {
    let text = match stage {
        BackupStage::Waiting => "waiting: another process has locked the SQLite file".to_owned(),
        BackupStage::Copying(done) => {
            let percent = done.copied * 100 / done.pages.max(1);
            format!("copied {percent} % of {} MiB", (done.pages * done.page_bytes) >> 20)
        }
    };
    // A closed standard error does not stop the backup.
    _ = writeln!(std::io::stderr(), "{text}");
}
