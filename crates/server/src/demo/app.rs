//! The example app of `examples/app`: compiled into the binary, and written to a folder that the satellite serves.

use std::path::Path;

macro_rules! files {
    ($($name:literal)+) => { [$(($name, include_str!(concat!("../../../../examples/app/", $name)))),+] };
}

const FILES: [(&str, &str); 19] = files! {
    "account.js" "api.js" "chart.js" "dom.js" "filters.js" "format.js" "index.html" "inspector.js" "list.js"
    "main.js" "mark.svg" "problem.js" "resources.js" "router.js" "session.js" "statement.js" "style.css"
    "table.js" "tokens.js"
};

pub(super) fn unpack(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder)?;
    FILES.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
}
