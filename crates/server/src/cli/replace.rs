//! A file that is written whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Gives a file this text. One that was there keeps what it had until all of the new text is on the disk.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link goes on to lead where it led; what is no file, such as a terminal, has nothing to lose.
    let Some(file) = fs::canonicalize(path).ok().filter(|path| path.is_file()) else { return fs::write(path, text) };
    let beside = beside(&file);
    let written = write(&beside, text, &file).and_then(|()| fs::rename(&beside, &file));
    if written.is_err() {
        _ = fs::remove_file(&beside);
    }
    written
}

/// A name that no file of somebody else's has.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    file.with_file_name(name)
}

fn write(beside: &Path, text: &str, like: &Path) -> io::Result<()> {
    let mut file = fs::File::create(beside)?;
    file.set_permissions(fs::metadata(like)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
