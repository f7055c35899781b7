//! Writes a file completely or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file. An existing file keeps its old content until all of the new text is on disk.
pub(super) fn atomic_write(path: &Path, text: &str) -> io::Result<()> {
    // Follow a symbolic link. What is not a regular file, such as a terminal, has no content to lose.
    let Some(file) = fs::canonicalize(path).ok().filter(|path| path.is_file()) else { return fs::write(path, text) };
    let mut name = file.file_name().unwrap_or_default().to_owned();
    // The process id keeps the name apart from other files.
    name.push(format!(".{}.new", std::process::id()));
    let temporary = file.with_file_name(name);
    let written = write(&temporary, text, &file).and_then(|()| fs::rename(&temporary, &file));
    if written.is_err() {
        _ = fs::remove_file(&temporary);
    }
    written
}

fn write(path: &Path, text: &str, like: &Path) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.set_permissions(fs::metadata(like)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
