//! Metrics of the process for a scraper, on a listener of its own.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Extensions, HeaderMap};
use axum::routing::get;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use query::catalog::{Catalog, ResourceId};

use crate::budget::{Budgets, Figures};
use crate::http::accept;
use crate::mutex::lock;

/// The upper bounds of the duration buckets, in seconds.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0];
const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A family with one label, whose value is a word of ours.
pub(crate) type Labelled<M> = Family<[(&'static str, &'static str); 1], M>;
type ResourceLabels = Vec<(&'static str, String)>;

#[derive(Debug)]
pub struct Metrics {
    requests: [Counter; 5],
    durations: Histogram,
    in_flight: Gauge,
    resource_requests: Family<ResourceLabels, Counter>,
    resource_durations: Family<ResourceLabels, Histogram, fn() -> Histogram>,
    /// The resources with metrics: those of the manifest that is served now.
    declared: Mutex<Vec<String>>,
    reloads: Labelled<Counter>,
    registry: RwLock<Registry>,
}

/// The metrics of each resource of a manifest, by [`ResourceId`]. Only declared resources are in it, so that no client can add a label.
#[derive(Clone, Debug)]
pub(crate) struct ResourceTable(Arc<[ResourceMetrics]>);

#[derive(Debug)]
struct ResourceMetrics {
    requests: [Counter; 5],
    durations: Histogram,
}

/// The resources that a request named, as an extension of its response.
#[derive(Clone, Debug)]
pub(crate) struct NamedResources(pub(crate) Vec<ResourceId>);

impl Default for Metrics {
    fn default() -> Self {
        let requests = Labelled::<Counter>::default();
        let (durations, in_flight) = (Histogram::new(BUCKETS), Gauge::default());
        let mut registry = Registry::default();
        registry.register("peristyle_requests", "Requests answered, by class of status", requests.clone());
        registry.register("peristyle_request_duration_seconds", "Time until the response begins", durations.clone());
        registry.register("peristyle_requests_in_flight", "Requests being answered", in_flight.clone());
        let requests = STATUS_CLASSES.map(|class| requests.get_or_create_owned(&[("status", class)]));
        let resource_requests = Family::default();
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let resource_durations = Family::new_with_constructor(histogram);
        let help = "Requests that named a resource, by class of status";
        registry.register("peristyle_resource_requests", help, Family::clone(&resource_requests));
        let help = "Time until the response begins to a request that named a resource";
        registry.register("peristyle_resource_request_duration_seconds", help, Family::clone(&resource_durations));
        let reloads = Labelled::<Counter>::default();
        for outcome in ["taken", "refused"] {
            drop(reloads.get_or_create(&[("outcome", outcome)]));
        }
        registry.register("peristyle_reloads", "Reloads of the manifest, by outcome", reloads.clone());
        let (declared, registry) = (Mutex::default(), RwLock::new(registry));
        Metrics { requests, durations, in_flight, resource_requests, resource_durations, declared, reloads, registry }
    }
}

impl Metrics {
    pub fn begin(self: &Arc<Self>) -> Timing {
        self.in_flight.inc();
        Timing { metrics: self.clone(), started: Instant::now() }
    }

    /// Adds the metrics of other modules.
    pub(crate) fn register(&self, add_others: impl FnOnce(&mut Registry)) {
        add_others(&mut self.registry.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// The metrics of a manifest's resources. A resource of the manifest before keeps its figures; one that is gone loses them.
    pub(crate) fn resources(&self, catalog: &Catalog) -> ResourceTable {
        let mut declared = lock(&self.declared);
        for gone in declared.iter().filter(|name| catalog.by_name(name).is_none()) {
            self.resource_durations.remove(&resource_labels(gone, None));
            for class in STATUS_CLASSES {
                self.resource_requests.remove(&resource_labels(gone, Some(class)));
            }
        }
        *declared = catalog.resources().iter().map(|resource| resource.full_name.clone()).collect();
        let metrics = declared.iter().map(|name| ResourceMetrics {
            requests: STATUS_CLASSES.map(|class| self.resource_requests.get_or_create_owned(&resource_labels(name, Some(class)))),
            durations: self.resource_durations.get_or_create_owned(&resource_labels(name, None)),
        });
        ResourceTable(metrics.collect())
    }

    /// Counts a reload of the manifest.
    pub(crate) fn reloaded(&self, outcome: &'static str) {
        self.reloads.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// The metrics in Prometheus' text format: as OpenMetrics, but comments have the whole names of counters, and there is no end mark.
    pub fn text(&self) -> String {
        let text = self.openmetrics();
        let counters: HashSet<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
        let mut out = String::with_capacity(text.len());
        for line in text.lines().filter(|line| *line != "# EOF") {
            match line.strip_prefix("# ").and_then(|comment| comment.split(' ').nth(1)).filter(|name| counters.contains(name)) {
                Some(name) => out.push_str(&line.replacen(name, &format!("{name}_total"), 1)),
                None => out.push_str(line),
            }
            out.push('\n');
        }
        out
    }

    fn openmetrics(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        _ = text::encode(&mut out, &self.registry.read().unwrap_or_else(PoisonError::into_inner));
        out
    }

    pub fn router(self: Arc<Self>) -> Router {
        Router::new().route(
            "/metrics",
            get(async move |headers: HeaderMap| {
                let openmetrics =
                    accept::best(&headers, &[("text/plain", false), ("application/openmetrics-text", true)]).unwrap_or_default();
                if openmetrics { ([(CONTENT_TYPE, OPENMETRICS)], self.openmetrics()) } else { ([(CONTENT_TYPE, PROMETHEUS)], self.text()) }
            }),
        )
    }
}

fn resource_labels(resource: &str, status: Option<&str>) -> ResourceLabels {
    let status = status.map(|status| ("status", status.to_owned()));
    std::iter::once(("resource", resource.to_owned())).chain(status).collect()
}

/// A request in flight. If the client hangs up, it is dropped without an end, and not counted as answered.
#[derive(Debug)]
pub struct Timing {
    metrics: Arc<Metrics>,
    started: Instant,
}

impl Timing {
    /// Counts the response that begins now. Returns the duration in microseconds.
    pub(crate) fn end(self, status: u16, extensions: &Extensions) -> u64 {
        let duration = self.started.elapsed();
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        let Metrics { requests, durations, .. } = &*self.metrics;
        requests[class].inc();
        durations.observe(duration.as_secs_f64());
        let (named, table) = (extensions.get::<NamedResources>(), extensions.get::<ResourceTable>());
        for id in named.map_or(&[][..], |named| &named.0) {
            if let Some(resource) = table.and_then(|table| table.0.get(*id)) {
                resource.requests[class].inc();
                resource.durations.observe(duration.as_secs_f64());
            }
        }
        duration.as_micros() as u64
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        self.metrics.in_flight.dec();
    }
}

/// Writes one gauge for each label set, with the value that it has at the time of the scrape.
pub(crate) fn write_gauges<L: EncodeLabelSet, V: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (L, V)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    values.into_iter().try_for_each(|(labels, value)| family.encode_family(&labels)?.encode_gauge(&value))
}

impl Collector for Budgets {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = self.figures();
        let values = |value: fn(&Figures) -> usize| figures.iter().map(move |(budget, figures)| ([("budget", *budget)], value(figures)));
        write_gauges(&mut encoder, "peristyle_budget_used", "What is held of a budget.", values(|figures| figures.used))?;
        write_gauges(&mut encoder, "peristyle_budget_limit", "What a budget allows.", values(|figures| figures.limit))?;
        write_gauges(&mut encoder, "peristyle_budget_waiting", "Requests that wait for their turn.", values(|figures| figures.waiting))?;
        let help = "Requests that were refused.";
        let mut refused = encoder.encode_descriptor("peristyle_budget_refused", help, None, MetricType::Counter)?;
        figures.iter().try_for_each(|(budget, figures)| {
            refused.encode_family(&[("budget", *budget)])?.encode_counter::<[(&str, &str); 0], _, u64>(&figures.refused, None)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_status_class_and_duration() {
        // contract E5.5
        let metrics = Arc::new(Metrics::default());
        for status in [200, 204, 404, 503] {
            metrics.begin().end(status, &Extensions::new());
        }
        drop(metrics.begin());
        let _in_flight = metrics.begin();
        let text = metrics.text();
        for line in [
            "peristyle_requests_total{status=\"2xx\"} 2",
            "peristyle_requests_total{status=\"4xx\"} 1",
            "peristyle_requests_total{status=\"5xx\"} 1",
            "peristyle_request_duration_seconds_count 4",
            "peristyle_requests_in_flight 1",
            "# TYPE peristyle_requests_total counter",
            "# TYPE peristyle_request_duration_seconds histogram",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("# EOF"), "{text}");
        assert!(metrics.openmetrics().ends_with("# EOF\n"));
    }

    #[test]
    fn the_histogram_counts_what_its_buckets_hold() {
        // contract E5.5
        let metrics = Metrics::default();
        for seconds in [6.0, 7.0, 30.0, 31.0, 100.0] {
            metrics.durations.observe(seconds);
        }
        // A request that was counted by its status and not yet by its duration.
        metrics.requests[1].inc_by(4);
        let text = metrics.text();
        for line in ["bucket{le=\"30.0\"} 3", "bucket{le=\"+Inf\"} 5", "seconds_count 5"] {
            assert!(text.contains(&format!("{line}\n")), "{line} in {text}");
        }
    }

    #[test]
    fn only_declared_resources_are_counted_each_by_its_name() {
        let manifest = "[resource.shop.order.fields]\nid = { type = \"int\", key = true }\n";
        let manifest = query::manifest::Manifest::read(manifest).expect("a manifest");
        let metrics = Arc::new(Metrics::default());
        let catalog = Catalog::resolve(&manifest).expect("a catalog");
        let answered = |table: ResourceTable| {
            let mut extensions = Extensions::new();
            extensions.insert(NamedResources(vec![0, 7]));
            extensions.insert(table);
            metrics.begin().end(200, &extensions);
        };
        answered(metrics.resources(&catalog));
        answered(metrics.resources(&catalog));
        let text = metrics.text();
        for line in [
            "peristyle_resource_requests_total{resource=\"shop.order\",status=\"2xx\"} 2",
            "peristyle_resource_request_duration_seconds_count{resource=\"shop.order\"} 2",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert_eq!(text.matches("peristyle_resource_request_duration_seconds_count").count(), 1, "{text}");
        let before = metrics.resources(&catalog);
        metrics.resources(&Catalog::default());
        answered(before);
        assert!(!metrics.text().contains("shop.order"), "a resource that is gone is not counted");
    }
}
