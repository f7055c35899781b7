//! Where in its app a browser goes after a login: a path of the app itself, and `/` in place of anything else.

use crate::form;

/// It is kept while somebody signs in: long enough for the address of a page with its filters, short enough for many logins at once.
const LONGEST: usize = 2 * 1024;
/// How often a path may be encoded; ordinary ones are once.
const DEEPEST: usize = 4;

/// A path of an app with its query and fragment. An app may give it to a browser as it stands: it never leads to another origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppPath(String);

impl AppPath {
    /// Reads a `return_to` parameter, decoded once. An app's paths may hold whatever addresses may; but nothing in one, however often
    /// it is decoded, may look to a browser or to a router like the beginning of another address.
    pub fn read(text: Option<&str>) -> Self {
        match text {
            Some(text) if is_own(text) => AppPath(text.to_owned()),
            _ => AppPath("/".to_owned()),
        }
    }

    /// The path, query and fragment.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_own(text: &str) -> bool {
    // Browsers drop tabs and line breaks, and take a backslash for a slash.
    let plain = |text: &str| !text.chars().any(|character| character.is_control() || character == '\\');
    let path = &text[..text.find(['?', '#']).unwrap_or(text.len())];
    text.len() <= LONGEST && plain(text) && is_path(path) && stays_a_path(path, plain)
}

fn is_path(text: &str) -> bool {
    text.starts_with('/') && !text.contains("//") && !text.split('/').any(|segment| [".", ".."].contains(&segment))
}

fn stays_a_path(path: &str, plain: impl Fn(&str) -> bool) -> bool {
    let mut path = path.to_owned();
    for _ in 0..DEEPEST {
        if !path.contains('%') {
            return true;
        }
        match form::decode(&path) {
            Some(decoded) if plain(&decoded) && is_path(&decoded) => path = decoded,
            _ => return false,
        }
    }
    false
}
