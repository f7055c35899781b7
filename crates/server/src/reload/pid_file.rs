//! PID_FILE: holds the id of the serving process, which locks it, and beside it the outcome of the last reload, for `peristyle reload`.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

/// Another process may remove the file between opening and locking it; then it is opened again.
const MAX_ATTEMPTS: usize = 10;
/// A process id with its newline is shorter. A longer file is no PID file.
const MAX_BYTES: u64 = 32;
/// A longer status is broken.
const MAX_STATUS_BYTES: u64 = 1024 * 1024;

/// The outcome of a reload. The number grows with each, so that a reader knows which one it sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReloadStatus {
    pub(crate) number: u64,
    pub(crate) outcome: ReloadOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReloadOutcome {
    /// The manifest is being read and checked.
    Reading,
    /// It is served. The number of its resources.
    Taken(usize),
    /// It is not served, and why.
    Refused(String),
}

impl ReloadStatus {
    pub(super) fn reading(number: u64) -> Self {
        ReloadStatus { number, outcome: ReloadOutcome::Reading }
    }

    pub(super) fn taken(number: u64, resources: usize) -> Self {
        ReloadStatus { number, outcome: ReloadOutcome::Taken(resources) }
    }

    pub(super) fn refused(number: u64, reason: String) -> Self {
        ReloadStatus { number, outcome: ReloadOutcome::Refused(reason) }
    }
}

/// The locked file of this process. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
    locked: File,
}

impl PidFile {
    /// Writes the id of this process. A file that a process left behind is taken over; one of a running process is refused.
    pub(crate) fn claim(path: &Path) -> Result<Self, String> {
        let name = path.display();
        refuse_special_file(path)?;
        for _ in 0..MAX_ATTEMPTS {
            let unusable = |error: std::io::Error| format!("the file {name} cannot be written: {error}");
            let mut file =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o644).open(path).map_err(unusable)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let holder = read_id(&mut file).map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
                    return Err(format!("{holder} holds the file {name}; give each process a PID_FILE of its own"));
                }
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
            }
            if !is_at(&file, path) {
                continue;
            }
            if !is_replaceable(&mut file) {
                return Err(format!("the file {name} is no PID file; accepted is a path that is free or holds a process id"));
            }
            // The status of a process that ended says nothing about this one.
            _ = std::fs::remove_file(status_path(path));
            write_id(&mut file).map_err(unusable)?;
            return Ok(PidFile { path: path.to_owned(), locked: file });
        }
        Err(format!("another process keeps replacing {name}; give each process a PID_FILE of its own"))
    }

    /// Replaces the status in one step, so that no reader sees half of it. Only the owner can read it, as it quotes the manifest.
    pub(super) fn write_status(&self, status: &ReloadStatus) -> std::io::Result<()> {
        let path = status_path(&self.path);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, status)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Somebody may have removed the file, and another process made its own there.
        if !is_at(&self.locked, &self.path) {
            return;
        }
        // While the lock is held: the next process creates a file of its own.
        _ = std::fs::remove_file(status_path(&self.path));
        _ = std::fs::remove_file(&self.path);
    }
}

/// The process that holds a PID file.
#[derive(Debug)]
pub(crate) struct RunningServer {
    path: PathBuf,
    id: Pid,
}

impl RunningServer {
    /// The process that serves now. An unlocked file is of a process that ended.
    pub(crate) fn find(path: &Path) -> Result<Self, String> {
        let name = path.display();
        refuse_special_file(path)?;
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(format!("there is no file {name}: no `peristyle serve` with this PID_FILE is running"));
            }
            Err(error) => return Err(format!("the file {name} cannot be read: {error}")),
        };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {}
            Ok(()) => {
                return Err(format!(
                    "the process that wrote the file {name} has ended; no `peristyle serve` with this PID_FILE is running"
                ));
            }
            Err(TryLockError::Error(error)) => return Err(format!("the file {name} cannot be locked: {error}")),
        }
        let id = read_id(&mut file).and_then(Pid::from_raw);
        let id = id.ok_or_else(|| format!("the file {name} holds no process id yet; try again"))?;
        Ok(RunningServer { path: path.to_owned(), id })
    }

    pub(crate) fn id(&self) -> i32 {
        self.id.as_raw_nonzero().get()
    }

    /// Whether the same process still holds the file.
    pub(crate) fn is_running(&self) -> bool {
        RunningServer::find(&self.path).is_ok_and(|running| running.id == self.id)
    }

    pub(crate) fn hang_up(&self) -> Result<(), String> {
        kill_process(self.id, Signal::HUP).map_err(|error| format!("process {} cannot be signalled: {error}", self.id()))
    }

    /// The last status; none before the first reload.
    pub(crate) fn status(&self) -> Option<ReloadStatus> {
        let mut text = Vec::new();
        File::open(status_path(&self.path)).ok()?.take(MAX_STATUS_BYTES).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

fn status_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".reload");
    name.into()
}

/// Refuses a pipe or a device, which could block for ever.
fn refuse_special_file(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(format!("{} is no regular file; accepted is a path that is free or holds a process id", path.display()))
        }
        _ => Ok(()),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let key = |found: std::fs::Metadata| (found.dev(), found.ino());
    file.metadata().ok().map(key).is_some_and(|own| std::fs::metadata(path).ok().map(key) == Some(own))
}

/// Whether a file is new or holds a process id, so that a wrong path destroys nothing.
fn is_replaceable(file: &mut File) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.len() == 0) || read_id(file).is_some()
}

fn read_id(file: &mut File) -> Option<i32> {
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    text.trim_end().parse().ok().filter(|id| *id > 0)
}

fn write_id(file: &mut File) -> std::io::Result<()> {
    use std::io::Seek;
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_file_is_of_one_process_and_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("peristyle.pid");
        assert!(RunningServer::find(&path).expect_err("no file").contains("there is no file"));
        let own = PidFile::claim(&path).expect("a new file");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), format!("{}\n", std::process::id()));
        let refused = PidFile::claim(&path).expect_err("held");
        assert!(refused.starts_with(&format!("process {} holds", std::process::id())), "{refused}");
        let running = RunningServer::find(&path).expect("a process");
        assert!(running.is_running() && running.status().is_none());
        for status in [ReloadStatus::reading(1), ReloadStatus::refused(1, "line 3".to_owned()), ReloadStatus::taken(2, 7)] {
            own.write_status(&status).expect("written");
            assert_eq!(running.status(), Some(status));
        }
        drop(own);
        assert!(!running.is_running() && std::fs::read_dir(folder.path()).expect("a folder").next().is_none(), "nothing is left");
    }

    // contract B5.4
    #[test]
    fn a_process_leaves_the_pid_file_of_another_one_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("peristyle.pid");
        let first = PidFile::claim(&path).expect("a new file");
        std::fs::remove_file(&path).expect("removed");
        let second = PidFile::claim(&path).expect("a free path");
        second.write_status(&ReloadStatus::taken(1, 7)).expect("written");
        drop(first);
        assert_eq!(RunningServer::find(&path).expect("the second").status(), Some(ReloadStatus::taken(1, 7)));
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn a_stale_pid_file_is_taken_over_and_another_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("peristyle.pid");
        std::fs::write(&path, "1\n").expect("a file");
        assert!(RunningServer::find(&path).expect_err("stale").contains("has ended"));
        drop(PidFile::claim(&path).expect("taken over"));
        for text in ["SQLite format 3\0", "-1\n", "12 34\n", "0"] {
            std::fs::write(&path, text).expect("a file");
            assert!(PidFile::claim(&path).expect_err(text).contains("is no PID file"));
            assert_eq!(std::fs::read_to_string(&path).expect("a file"), text, "it is unchanged");
        }
        assert!(PidFile::claim(folder.path()).expect_err("a folder").contains("is no regular file"));
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        assert!(PidFile::claim(&pipe).expect_err("a pipe").contains("is no regular file"));
        assert!(RunningServer::find(&pipe).expect_err("a pipe").contains("is no regular file"));
        assert!(PidFile::claim(&folder.path().join("missing/peristyle.pid")).expect_err("no folder").contains("cannot be written"));
    }
}
