//! OpenTelemetry traces, decoded by the official definitions of the protocol.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post as on_post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AttributeValue;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use peristyle::config::{ParentDecision, Sampler, TraceSettings};
use prost::Message;
use serde_json::json;

use crate::program::Folder;
use crate::slow_statements::metrics_address;
use crate::support::{BACKENDS, Setup, get, post, shop, until};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const UNSAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

/// A receiver of traces, as a collector is one.
struct Receiver {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Receiver {
    async fn open() -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = requests.clone();
        let receive = async move |headers: HeaderMap, body: Bytes| received.lock().unwrap().push((headers, body));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let task =
            tokio::spawn(async move { axum::serve(listener, Router::new().route("/v1/traces", on_post(receive))).await.expect("served") });
        Receiver { address, requests, task }
    }

    fn settings(&self, sampler: Sampler) -> TraceSettings {
        settings(self.address, sampler)
    }

    fn resource_spans(&self) -> Vec<ResourceSpans> {
        let requests = self.requests.lock().unwrap();
        let decode = |(_, body): &(HeaderMap, Bytes)| ExportTraceServiceRequest::decode(body.clone()).expect("a message").resource_spans;
        requests.iter().flat_map(decode).collect()
    }

    fn spans(&self) -> Vec<Span> {
        self.resource_spans().into_iter().flat_map(|spans| spans.scope_spans).flat_map(|spans| spans.spans).collect()
    }

    /// Waits until the span of the request with this id came.
    async fn span_of(&self, id: &str) -> Span {
        let find = || self.spans().into_iter().find(|span| attribute(span, "peristyle.request_id") == Some(id.to_owned()));
        until("the span comes", async || find().is_some()).await;
        find().expect("a span")
    }

    fn has_text(&self, text: &str) -> bool {
        self.requests.lock().unwrap().iter().any(|(_, body)| body.windows(text.len()).any(|window| window == text.as_bytes()))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn settings(address: SocketAddr, sampler: Sampler) -> TraceSettings {
    TraceSettings {
        endpoint: format!("http://{address}/v1/traces"),
        headers: Vec::new(),
        service_name: "peristyle".to_owned(),
        sampler,
        ignored: Vec::new(),
    }
}

const ALWAYS: Sampler = Sampler { ratio: 1.0, parent: ParentDecision::Followed };

fn attribute(span: &Span, key: &str) -> Option<String> {
    let value = span.attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?.value.as_ref()?;
    match value {
        AttributeValue::StringValue(text) => Some(text.clone()),
        AttributeValue::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

// contract B5.6, B5.8
#[tokio::test]
async fn a_request_has_a_span_and_each_of_its_statements_a_child() {
    for backend in BACKENDS {
        let (database, receiver) = (shop::database(backend).await, Receiver::open().await);
        let mut setup = Setup::new(shop::MANIFEST);
        setup.traces = Some(receiver.settings(ALWAYS));
        let server = setup.serve(&database).await;
        let body = json!({ "query": { "where": { "name": { "ne": "marker-a" }, "visits": { "ne": 777_777 } }, "limit": 2, "relations": { "orders": true } } });
        let asked = post("/api/shop/customers/paginate", body.to_string())
            .header("traceparent", PARENT)
            .header("x-request-id", "paged")
            .header("authorization", "Bearer marker-b")
            .header("cookie", "marker-c=1");
        asked.send(server.address).await.good();
        post("/api/shop/customers/find/424242", "").header("x-request-id", "by-id").send(server.address).await.problem(404);
        post("/api/shop/items/list", "").header("x-request-id", "streamed").send(server.address).await.good();
        let document = json!({ "query": "{ shopFindItem(query: {where: {label: {eq: \"marker-d\"}}}) { id } shopGetCustomers { id } }" });
        post("/graphql", document.to_string()).header("x-request-id", "graphql").send(server.address).await.good();
        get("/marker-e?marker-f=1").header("x-request-id", "nowhere").send(server.address).await.problem(404);

        let request = receiver.span_of("paged").await;
        assert_eq!(hex(&request.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736", "{backend:?}");
        assert_eq!(hex(&request.parent_span_id), "00f067aa0ba902b7");
        assert_eq!((request.name.as_str(), request.kind()), ("POST /api/{context}/{plural}/{operation}", SpanKind::Server));
        assert!(request.start_time_unix_nano > 0 && request.end_time_unix_nano >= request.start_time_unix_nano);
        for (key, value) in [
            ("http.request.method", "POST"),
            ("http.route", "/api/{context}/{plural}/{operation}"),
            ("http.response.status_code", "200"),
            ("peristyle.resource", "shop.customer"),
            ("peristyle.operation", "paginate"),
        ] {
            assert_eq!(attribute(&request, key).as_deref(), Some(value), "{key}");
        }
        let children = |parent: &Span| {
            let mut children = receiver.spans();
            children.retain(|span| span.parent_span_id == parent.span_id && span.trace_id == parent.trace_id);
            children.sort_by_key(|span| span.start_time_unix_nano);
            children
        };
        let statements = children(&request);
        let parts: Vec<_> = statements.iter().map(|span| attribute(span, "peristyle.statement.part").expect("a part")).collect();
        assert_eq!(parts, ["rows", "related", "total"], "{backend:?}");
        for (span, rows) in statements.iter().zip(["2", "3", "1"]) {
            assert_eq!(span.kind(), SpanKind::Client);
            assert_eq!(attribute(span, "db.response.returned_rows").as_deref(), Some(rows), "{backend:?} {}", span.name);
            assert_eq!(attribute(span, "peristyle.statement.shape").map(|shape| shape.len()), Some(16));
            assert!(attribute(span, "db.query.text").is_some_and(|sql| sql.starts_with("SELECT") || sql.starts_with("WITH")), "{span:?}");
            assert!(span.start_time_unix_nano >= request.start_time_unix_nano && span.end_time_unix_nano <= request.end_time_unix_nano);
        }
        let by_id = receiver.span_of("by-id").await;
        assert_eq!(
            (by_id.name.as_str(), attribute(&by_id, "http.response.status_code").as_deref()),
            ("POST /api/{context}/{plural}/{operation}/{id}", Some("404"))
        );
        let streamed = receiver.span_of("streamed").await;
        let [rows] = &children(&streamed)[..] else { panic!("one statement") };
        assert_eq!(attribute(rows, "db.response.returned_rows").as_deref(), Some("2500"), "{backend:?}");
        let graphql = receiver.span_of("graphql").await;
        assert_eq!((graphql.name.as_str(), children(&graphql).len()), ("POST /graphql", 2));
        assert!(
            attribute(&graphql, "peristyle.resource").is_some_and(|names| names.contains("shop.item") && names.contains("shop.customer"))
        );
        assert_eq!(receiver.span_of("nowhere").await.name, "GET", "a path that is no route is not named");
        let resource = receiver.resource_spans()[0].resource.clone().expect("a resource");
        assert!(resource.attributes.iter().any(|attribute| attribute.key == "service.name"));
        for secret in ["marker-", "777777", "424242", "Ana", "item number"] {
            assert!(!receiver.has_text(secret), "{secret} in a span");
        }
        assert!(server.metrics_text().contains("peristyle_trace_spans_total{outcome=\"dropped\"} 0"));
    }
}

// contract B5.6
#[tokio::test]
async fn a_failed_statement_and_a_server_error_are_errors_in_the_trace() {
    for backend in BACKENDS {
        let (database, receiver) = (shop::database(backend).await, Receiver::open().await);
        let mut setup = Setup::new(shop::MANIFEST);
        setup.traces = Some(receiver.settings(ALWAYS));
        let server = setup.serve(&database).await;
        database.execute("ALTER TABLE items RENAME COLUMN label TO gone").await;
        post("/api/shop/items/list", r#"{"query":{"limit":1}}"#).header("x-request-id", "failed").send(server.address).await.problem(500);
        let request = receiver.span_of("failed").await;
        assert_eq!(
            (request.status.as_ref().expect("a status").code(), attribute(&request, "error.type").as_deref()),
            (StatusCode::Error, Some("500"))
        );
        let statement = receiver.spans().into_iter().find(|span| span.parent_span_id == request.span_id).expect("a statement");
        assert_eq!(statement.status.expect("a status").code(), StatusCode::Error, "{backend:?}");
    }
}

// contract B5.6
#[tokio::test]
async fn the_sampler_and_the_caller_decide_what_is_traced() {
    let database = shop::database(BACKENDS[1]).await;
    let never = Sampler { ratio: 0.0, parent: ParentDecision::Followed };
    for (sampler, parent, is_traced) in [
        (ALWAYS, None, true),
        (ALWAYS, Some(UNSAMPLED), false),
        (ALWAYS, Some("nonsense"), true),
        (Sampler { parent: ParentDecision::Ignored, ..ALWAYS }, Some(UNSAMPLED), true),
        (never, None, false),
        (never, Some(PARENT), true),
        (Sampler { parent: ParentDecision::Ignored, ..never }, Some(PARENT), false),
    ] {
        let receiver = Receiver::open().await;
        let mut setup = Setup::new(shop::MANIFEST);
        setup.traces = Some(receiver.settings(sampler));
        let (state, config) = setup.boot(&database.url).await.expect("a server");
        let tracer = state.tracer.clone().expect("a tracer");
        let metrics = Arc::default();
        let (authenticator, budgets) = (state.authenticator.clone(), state.queries.budgets.clone());
        let router = peristyle::router::router(state, &config, Arc::clone(&metrics));
        let server = crate::support::Server::start(router, (&config, authenticator, budgets), metrics);
        let mut asked = post("/api/shop/items/list", r#"{"query":{"limit":1}}"#);
        if let Some(parent) = parent {
            asked = asked.header("traceparent", parent);
        }
        asked.send(server.address).await.good();
        tracer.flush().await;
        assert_eq!(receiver.spans().len(), if is_traced { 2 } else { 0 }, "{sampler:?} {parent:?}");
    }
}

// contract W3.18
#[tokio::test]
async fn the_span_of_a_write_names_its_sql() {
    const MEMOS: &str = "CREATE TABLE memos (id integer PRIMARY KEY, text text)";
    let manifest = "[resource.shop.memo.write]\ncreate = true\nupdate = true\n[resource.shop.memo.fields]\n\
        id = { type = \"int\", key = true, write = \"create\" }\ntext = { type = \"text\", write = true }\n";
    for backend in BACKENDS {
        let (database, receiver) = (shop::database(backend).await, Receiver::open().await);
        database.execute(MEMOS).await;
        let mut setup = Setup::new(manifest);
        setup.traces = Some(receiver.settings(ALWAYS));
        let server = setup.serve(&database).await;
        for (path, operation, id) in [("create", "INSERT", "created"), ("update/1", "UPDATE", "updated")] {
            let body = json!({ "payload": { "text": "x" } });
            let body = if id == "created" { json!({ "payload": { "id": 1, "text": "x" } }) } else { body };
            let asked = post(&format!("/api/shop/memos/{path}"), body.to_string()).header("x-request-id", id);
            assert!(asked.send(server.address).await.status() < 300, "{backend:?} {path}");
            let request = receiver.span_of(id).await;
            let children = receiver.spans().into_iter().filter(|span| span.parent_span_id == request.span_id);
            let named: Vec<(String, String)> = children
                .map(|span| (attribute(&span, "db.operation.name").unwrap(), attribute(&span, "peristyle.statement.part").unwrap()))
                .collect();
            let pair = |operation: &str, part: &str| (operation.to_owned(), part.to_owned());
            assert!(named.contains(&pair(operation, "write")) && named.contains(&pair("SELECT", "rows")), "{backend:?} {named:?}");
        }
    }
}

// contract B5.7
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_never_answers_delays_no_request_and_spans_are_dropped_and_counted() {
    let database = shop::database(BACKENDS[1]).await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let mut setup = Setup::new(shop::MANIFEST);
    setup.traces = Some(settings(silent.local_addr().expect("an address"), ALWAYS));
    let server = setup.serve(&database).await;
    // Twenty fields a request: more spans than the queue and a batch hold.
    let fields = (0..20).map(|number| format!("f{number}: shopFindItem {{ id }} ")).collect::<Vec<_>>().concat();
    let document = json!({ "query": format!("{{ {fields} }}") }).to_string();
    for _ in 0..150 {
        assert!(post("/graphql", &document).send(server.address).await.good()["errors"].is_null());
    }
    let text = server.metrics_text();
    let dropped = text.lines().find_map(|line| line.strip_prefix("peristyle_trace_spans_total{outcome=\"dropped\"} ")).expect("a count");
    let dropped: u64 = dropped.parse().expect("a number");
    assert!((1..=3_150).contains(&dropped), "{dropped}");
    assert!(text.contains("peristyle_trace_spans_total{outcome=\"exported\"} 0"));
    drop(silent);
}

// contract B5.6, B5.7
#[tokio::test]
async fn the_last_spans_are_sent_before_the_process_ends() {
    let (folder, receiver) = (Folder::shop(), Receiver::open().await);
    let endpoint = format!("http://{}", receiver.address);
    folder.write("headers", "authorization=Bearer%20sesame\n");
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS_FILE", "headers"),
        ("OTEL_SERVICE_NAME", "corner-shop"),
        ("LOG", "debug"),
        ("METRICS_LISTEN", "127.0.0.1:0"),
    ];
    let mut serving = folder.serve(&variables);
    let metrics = metrics_address(&mut serving);
    assert!(get("/metrics").send(metrics).await.text().contains("peristyle_trace_spans_total"));
    post("/api/shop/customers/list", "").header("traceparent", PARENT).header("x-request-id", "last").send(serving.address).await.good();
    let log = tokio::task::spawn_blocking(move || serving.stop()).await.expect("stopped");
    assert!(log.contains("trace=4bf92f3577b34da6a3ce929d0e0e4736") || log.contains("trace=\"4bf92f3577b34da6a3ce929d0e0e4736\""), "{log}");
    assert!(!log.contains("sesame"), "{log}");
    let spans = receiver.spans();
    assert_eq!(spans.len(), 2, "{spans:?}");
    let requests = receiver.requests.lock().unwrap();
    assert_eq!(requests[0].0["content-type"], "application/x-protobuf");
    assert_eq!(requests[0].0["authorization"], "Bearer sesame");
    drop(requests);
    let resource = receiver.resource_spans()[0].resource.clone().expect("a resource");
    let name = resource.attributes.iter().find(|attribute| attribute.key == "service.name").and_then(|name| name.value.clone()?.value);
    assert_eq!(name, Some(AttributeValue::StringValue("corner-shop".to_owned())));
}

// contract B5.7
#[tokio::test]
async fn a_receiver_that_is_down_stops_nothing() {
    let folder = Folder::shop();
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let endpoint = format!("http://{}", free.local_addr().expect("an address"));
    drop(free);
    let serving = folder.serve(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    post("/api/shop/customers/list", "").send(serving.address).await.good();
    serving.stop();
}
