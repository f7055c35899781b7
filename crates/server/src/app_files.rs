//! `APP_FILES`: serves the files of a single-page app at paths that have no route. They are read once, at the start.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_FRAME_OPTIONS};
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use percent_encoding::percent_decode_str;

use crate::boot_error::BootError;
use crate::http::etag::StaticDocument;
use crate::problem::{NO_SUCH_PATH, Problem};

/// Allows only the app's own files and this server, nothing inline, no frame.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; \
     manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);
/// The file for every path of the app's own router.
const INDEX: &str = "/index.html";
/// The first segments of our own paths. The app has nothing below them.
const RESERVED: [&str; 7] = ["api", "auth", "docs", "graphql", "health", "metrics", "ready"];
/// A folder with more than this was named by mistake.
const MAX_FILES: usize = 5_000;
const MAX_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct AppFiles(Arc<HashMap<String, StaticDocument>>);

impl AppFiles {
    /// Reads a folder. Hidden files, and links that lead out of the folder, are skipped.
    pub fn read(folder: &Path) -> Result<Self, BootError> {
        let unread = |path: &Path, error: &std::io::Error| BootError(format!("APP_FILES: {} cannot be read: {error}", path.display()));
        let root = folder.canonicalize().map_err(|error| unread(folder, &error))?;
        let mut files = HashMap::new();
        let mut size = 0;
        for (address, path) in found(&root).map_err(|error| unread(folder, &error))? {
            size += path.metadata().map_err(|error| unread(&path, &error))?.len();
            if size > MAX_BYTES || files.len() >= MAX_FILES {
                let problem = format!("holds more than {MAX_FILES} files or {} MiB, which is no app", MAX_BYTES / 1024 / 1024);
                return Err(BootError(format!("APP_FILES: {} {problem}", folder.display())));
            }
            let bytes = std::fs::read(&path).map_err(|error| unread(&path, &error))?;
            let kind = kind(&address);
            files.insert(address, StaticDocument::new(kind, bytes));
        }
        if !files.contains_key(INDEX) {
            return Err(BootError(format!("APP_FILES: {} holds no index.html, which answers every path of an app", folder.display())));
        }
        tracing::info!(files = files.len(), "read the files of the app");
        Ok(AppFiles(Arc::new(files)))
    }

    /// The file at a path; the index for a path without a file extension.
    pub(crate) fn answer(&self, request: &Request) -> Response {
        let Some(file) = self.find(request.uri().path()) else { return NO_SUCH_PATH.response() };
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Problem::MethodNotAllowed("GET, HEAD").response();
        }
        let mut response = file.answer(request.headers());
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, POLICY);
        // The URL of the redirect after a sign-in holds a code.
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        response
    }

    fn find(&self, path: &str) -> Option<&StaticDocument> {
        let path = percent_decode_str(path).decode_utf8().ok()?;
        let mut segments = path.split('/').skip(1);
        if segments.next().is_some_and(is_reserved) {
            return None;
        }
        let is_page = path.rsplit('/').next().is_some_and(|last| !last.contains('.'));
        self.0.get(path.as_ref()).or_else(|| self.0.get(INDEX).filter(|_| is_page))
    }
}

fn is_reserved(first: &str) -> bool {
    first.starts_with('.') || RESERVED.contains(&first)
}

fn found(root: &Path) -> std::io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let mut open = vec![(root.to_owned(), String::new())];
    while let Some((folder, base)) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('.') {
                continue;
            }
            let address = format!("{base}/{name}");
            if base.is_empty() && is_reserved(&name) {
                tracing::warn!("APP_FILES: {address} is skipped, since this server has its own paths there");
                continue;
            }
            let kind = entry.file_type()?;
            // A link to a file inside the folder counts: Kubernetes mounts files so.
            let path = if kind.is_symlink() { entry.path().canonicalize().ok() } else { Some(entry.path()) };
            match path {
                Some(path) if kind.is_dir() => open.push((path, address)),
                Some(path) if path.is_file() && path.starts_with(root) => found.push((address, path)),
                _ => tracing::warn!("APP_FILES: {address} is skipped: it is not a regular file, or it links outside the folder"),
            }
        }
    }
    Ok(found)
}

fn kind(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "txt" | "md" => "text/plain; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "xml" => "application/xml",
        "wasm" => "application/wasm",
        "pdf" => "application/pdf",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "otf" => "font/otf",
        _ => "application/octet-stream",
    }
}
