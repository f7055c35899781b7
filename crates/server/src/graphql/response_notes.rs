//! What the fields of a request leave for its response, beside their answers: resources for the metrics, and headers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use axum::body::Body;
use axum::http::{HeaderValue, Response};
use query::catalog::ResourceId;

use crate::metrics::NamedResources;
use crate::mutex::lock;
use crate::response::{DRY_RUN, ROW_LIMIT};

#[derive(Debug, Default)]
pub(super) struct ResponseNotes {
    resources: Mutex<BTreeSet<ResourceId>>,
    /// The limit that the server set for a field that names none.
    row_cap: OnceLock<u64>,
    has_changes: AtomicBool,
    has_dry_runs: AtomicBool,
}

/// What became of the rows of a mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MutationEnd {
    Changed,
    DryRun,
}

impl ResponseNotes {
    pub(super) fn name(&self, resources: impl Iterator<Item = ResourceId>) {
        lock(&self.resources).extend(resources);
    }

    pub(super) fn cap_rows(&self, max: u64) {
        _ = self.row_cap.set(max);
    }

    pub(super) fn mutation(&self, end: MutationEnd) {
        let seen = if end == MutationEnd::DryRun { &self.has_dry_runs } else { &self.has_changes };
        seen.store(true, Ordering::Relaxed);
    }

    pub(super) fn apply_to(&self, response: &mut Response<Body>) {
        if let Some(max) = self.row_cap.get() {
            response.headers_mut().insert(ROW_LIMIT, HeaderValue::from(*max));
        }
        // The header says that the request changed nothing.
        if self.has_dry_runs.load(Ordering::Relaxed) && !self.has_changes.load(Ordering::Relaxed) {
            response.headers_mut().insert(DRY_RUN, HeaderValue::from_static("true"));
        }
        response.extensions_mut().insert(NamedResources(lock(&self.resources).iter().copied().collect()));
    }
}
