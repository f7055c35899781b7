//! Counts writes by resource, operation and outcome, and knows their connections.

use std::sync::{Arc, OnceLock};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use store::Writers;

/// The writes of this process. Resources, operations and outcomes are words of the manifest or of ours, so no client can add a label.
#[derive(Clone, Debug, Default)]
pub struct WriteMetrics {
    outcomes: Family<Vec<(&'static str, String)>, Counter>,
    writers: Arc<OnceLock<Writers>>,
}

impl WriteMetrics {
    pub(super) fn count(&self, resource: &str, operation: &'static str, outcome: &'static str) {
        let labels = vec![("resource", resource.to_owned()), ("operation", operation.to_owned()), ("outcome", outcome.to_owned())];
        self.outcomes.get_or_create(&labels).inc();
    }

    /// The connections are made with the first manifest that has writes, and stay.
    pub(crate) fn note_writers(&self, writers: Option<&Writers>) {
        if let Some(writers) = writers {
            self.writers.get_or_init(|| writers.clone());
        }
    }

    pub(super) fn writers(&self) -> Option<&Writers> {
        self.writers.get()
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("peristyle_writes", "Writes to resources, by resource, operation and outcome", self.outcomes.clone());
    }
}
