//! Accepts HTTP/1 connections within limits of number and time, and finishes requests in flight at the end.

mod connection;

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::header::{CONNECTION, HeaderValue};
use axum::http::{Request, Response};
use futures_util::TryFutureExt;
use futures_util::future::Either;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tower::{Service, ServiceExt};

use crate::budget::{Activity, AddressLimit, Budgets, ConnectionSlot, ConnectionSlotKind, Connections, Overloaded};
use crate::config::Config;
use crate::http::body;
use crate::http::client_address::{Peer, Proxies};
use crate::problem::Problem;

use connection::Connection;

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// The same for a connection beyond the limits.
const OVERFLOW_HEAD_TIMEOUT: Duration = Duration::from_secs(2);
/// How long requests in flight may take after the process is asked to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The send buffer of the system. A larger one would hide a client that takes nothing.
const SEND_BUFFER_BYTES: u32 = 256 * 1024;
const BACKLOG: u32 = 1024;
/// Open files beside the connections of clients: databases, keys, standard streams.
const OTHER_FILES: u64 = 512;

pub fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Connections inherit the size.
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Raises the limit of open files to what the connections need, if the system allows it.
pub fn raise_file_limit(connections: usize) {
    let needed = connections as u64 + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    let raised = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    if setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum }).is_err() || raised < needed {
        tracing::warn!(
            "the system allows {raised} open files, and {connections} connections need {needed}; raise the limit (LimitNOFILE, ulimit -n) or lower MAX_CONNECTIONS"
        );
    }
}

#[derive(Clone, Debug)]
pub struct Limits {
    connections: Connections,
    proxies: Proxies,
    /// How long a client may take nothing of a response.
    write_timeout: Duration,
}

impl Limits {
    pub fn new(budgets: &Budgets, config: &Config) -> Self {
        let proxies = Proxies::new(&config.trusted_proxies);
        Limits { connections: budgets.connections.clone(), proxies, write_timeout: config.database.stall_timeout }
    }

    /// The limits of a listener for few clients, such as the one for metrics.
    pub(crate) fn small(config: &Config) -> Self {
        Limits { connections: Connections::new(64, 64), proxies: Proxies::default(), write_timeout: config.database.stall_timeout }
    }

    fn address_limit(&self, peer: &SocketAddr) -> AddressLimit {
        if self.proxies.trusts(peer.ip()) { AddressLimit::Off } else { AddressLimit::On }
    }
}

/// Serves until `stop` resolves, then lets requests in flight finish.
pub async fn serve<S>(listener: TcpListener, service: S, limits: Limits, stop: impl Future<Output = ()>)
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let leave = watch::Sender::new(());
    let mut stop = pin!(stop);
    loop {
        let (stream, peer) = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Most likely out of file descriptors: wait instead of spinning.
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        // Beyond the overflow a connection is closed without a response.
        let Some(slot) = limits.connections.admit(peer.ip(), limits.address_limit(&peer)) else { continue };
        let accepted = Accepted { slot, peer: Peer(peer.ip()), leave: leave.subscribe() };
        accepted.serve(stream, service.clone(), limits.write_timeout);
    }
    drop(listener);
    tracing::info!("stopping: finishing requests in flight");
    _ = leave.send(());
    tokio::select! {
        () = leave.closed() => tracing::info!("stopped"),
        () = tokio::time::sleep(SHUTDOWN_TIMEOUT) => {
            tracing::warn!("stopped with requests still in flight after {} s", SHUTDOWN_TIMEOUT.as_secs());
        }
    }
}

struct Accepted {
    slot: ConnectionSlot,
    peer: Peer,
    leave: watch::Receiver<()>,
}

impl Accepted {
    fn serve<S>(self, stream: TcpStream, service: S, write_timeout: Duration)
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        let Accepted { slot, peer, mut leave } = self;
        let (kind, activity) = (slot.kind, slot.activity.clone());
        // Responses are written whole, so Nagle's algorithm would only cost time.
        _ = stream.set_nodelay(true);
        let stream = Connection::new(stream, write_timeout, activity.clone());
        let (truncation, of_requests) = (stream.truncation.clone(), activity.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            if kind == ConnectionSlotKind::Overflow && !is_probe(request.uri().path()) {
                return Either::Left(no_room());
            }
            let (version, truncation, activity) = (request.version(), truncation.clone(), of_requests.clone());
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(activity.clone());
            let work = Work::begin(activity);
            Either::Right(service.clone().oneshot(request).map_ok(move |answer| truncation.watch(version, work.until_answered(answer))))
        });
        let head_timeout = if kind == ConnectionSlotKind::Overflow { OVERFLOW_HEAD_TIMEOUT } else { HEAD_TIMEOUT };
        let mut builder = Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(head_timeout).max_buf_size(MAX_HEAD_BYTES);
        builder.keep_alive(kind == ConnectionSlotKind::Regular);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            let _slot = slot;
            let mut connection = pin!(connection);
            let mut is_leaving = false;
            loop {
                tokio::select! {
                    biased;
                    ended = connection.as_mut() => {
                        if let Err(error) = ended {
                            tracing::debug!(%error, "a connection failed");
                        }
                        return;
                    }
                    _ = leave.changed(), if !is_leaving => {
                        is_leaving = true;
                        connection.as_mut().graceful_shutdown();
                    }
                    () = activity.closed() => return tracing::debug!("closed an idle connection for a new one"),
                }
            }
        });
    }
}

/// The paths that a load balancer asks, also of a full process.
pub(crate) fn is_probe(path: &str) -> bool {
    matches!(path, "/health" | "/ready")
}

fn no_room() -> Ready<Result<Response<Body>, Infallible>> {
    let mut answer = Problem::Overloaded(Overloaded::Busy).response();
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    ready(Ok(answer))
}

/// A request in work. Its connection is not closed for another one.
struct Work(Arc<Activity>);

impl Work {
    fn begin(activity: Arc<Activity>) -> Self {
        activity.begin_work();
        Work(activity)
    }

    /// Ends the work when the response is there, or, for a stream, when it is sent.
    fn until_answered(self, answer: Response<Body>) -> Response<Body> {
        if answer.body().size_hint().exact().is_some() {
            return answer;
        }
        answer.map(|body| body::holding(body, self))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.end_work();
    }
}

/// Resolves at SIGTERM or SIGINT. It listens from the call on.
pub fn signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            tracing::error!("cannot listen to signals; only SIGKILL ends the process");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
