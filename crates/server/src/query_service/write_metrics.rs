//! Counts writes by resource, operation and outcome.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// The writes of this process. Resources, operations and outcomes are words of the manifest or of ours, so no client can add a label.
#[derive(Clone, Debug, Default)]
pub struct WriteMetrics(Family<Vec<(&'static str, String)>, Counter>);

impl WriteMetrics {
    pub(super) fn count(&self, resource: &str, operation: &'static str, outcome: &'static str) {
        let labels = vec![("resource", resource.to_owned()), ("operation", operation.to_owned()), ("outcome", outcome.to_owned())];
        self.0.get_or_create(&labels).inc();
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("peristyle_writes", "Writes to resources, by resource, operation and outcome", self.0.clone());
    }
}
