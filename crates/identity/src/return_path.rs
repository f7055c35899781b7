//! The path a browser returns to after it signed in: one of the hub itself, or one of an app of a satellite. Anything else becomes `/`.

use crate::form;

const MAX_HUB_PATH_BYTES: usize = 32 * 1024;
/// A satellite stores the path during a login: room for a page with its filters, and for many logins at once.
const MAX_APP_PATH_BYTES: usize = 2 * 1024;
/// How often the path of an app may be percent-encoded; ordinary ones are encoded once.
const MAX_DECODINGS: usize = 4;

/// A path of this hub with its query. It is safe in a `Location` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubReturnPath(String);

impl HubReturnPath {
    /// Reads a `continue` parameter, decoded once. The path may hold letters, digits, `-`, `_`, single dots and single slashes: without
    /// `@`, `%`, `\`, `:` and `//` no browser reads another host into it.
    pub fn read(text: Option<&str>) -> Self {
        HubReturnPath(text.filter(|text| is_hub_path(text)).unwrap_or("/").to_owned())
    }

    /// A path of this program with a query that this program wrote.
    pub(crate) fn to(path: &'static str, query: &str) -> Self {
        HubReturnPath(format!("{path}?{query}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_hub_path(text: &str) -> bool {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    text.len() <= MAX_HUB_PATH_BYTES
        && path.starts_with('/')
        && path.bytes().all(plain)
        && !path.contains("//")
        && !path.split('/').any(|segment| segment.starts_with('.'))
        && query.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&byte))
}

/// A path of an app with its query and fragment. The app may give it to a browser: it never leads to another origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppReturnPath(String);

impl AppReturnPath {
    /// Whether it is this path of the app, or one below it.
    pub fn is_below(&self, path: &str) -> bool {
        self.0.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
    }

    /// Reads a `return_to` parameter. However often it is decoded, no browser or router may take a part of it for another host.
    pub fn read(text: Option<&str>) -> Self {
        AppReturnPath(text.filter(|text| is_app_path(text)).unwrap_or("/").to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_app_path(text: &str) -> bool {
    let path = &text[..text.find(['?', '#']).unwrap_or(text.len())];
    text.len() <= MAX_APP_PATH_BYTES && is_plain(text) && is_path(path) && stays_a_path(path)
}

/// Browsers drop tabs and line breaks, and take a backslash for a slash.
fn is_plain(text: &str) -> bool {
    !text.chars().any(|character| character.is_control() || character == '\\')
}

fn is_path(text: &str) -> bool {
    text.starts_with('/') && !text.contains("//") && !text.split('/').any(|segment| [".", ".."].contains(&segment))
}

fn stays_a_path(path: &str) -> bool {
    let mut path = path.to_owned();
    for _ in 0..MAX_DECODINGS {
        if !path.contains('%') {
            return true;
        }
        match form::decode(&path) {
            Some(decoded) if is_plain(&decoded) && is_path(&decoded) => path = decoded,
            _ => return false,
        }
    }
    false
}
