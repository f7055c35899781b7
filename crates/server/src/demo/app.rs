//! The example app of `examples/app`: compiled into the binary, and written to a folder that the satellite serves.

use std::path::Path;

/// A file and its name.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../examples/app/", $name)))
    };
}

const FILES: [(&str, &str); 19] = [
    file!("account.js"),
    file!("api.js"),
    file!("chart.js"),
    file!("dom.js"),
    file!("filters.js"),
    file!("format.js"),
    file!("index.html"),
    file!("inspector.js"),
    file!("list.js"),
    file!("main.js"),
    file!("mark.svg"),
    file!("problem.js"),
    file!("resources.js"),
    file!("router.js"),
    file!("session.js"),
    file!("statement.js"),
    file!("style.css"),
    file!("table.js"),
    file!("tokens.js"),
];

/// Writes the files into a new folder.
pub(super) fn unpack(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder)?;
    FILES.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
}
