//! The example app of `examples/app`, compiled in and unpacked for the satellite to serve.

use std::path::Path;

/// A file under its own name.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../examples/app/", $name)))
    };
}

const FILES: [(&str, &str); 1] = [file!("index.html")];

/// Writes the files into a folder of their own.
pub(super) fn unpack(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder)?;
    FILES.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
}
