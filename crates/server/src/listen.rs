//! The accept loop: connections with time limits, and an end that finishes what is in flight.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Response, Version};
use futures_util::TryFutureExt;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulConnection;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_io_timeout::TimeoutStream;
use tower::{Service, ServiceExt};

use crate::abrupt::Connection;
use crate::at_once::AtOnce;
use crate::peer::Peer;
use crate::traffic::{Finding, Traffic};

/// How long a client may take to send a request's head, the first one from when it connects.
const HEAD: Duration = Duration::from_secs(15);
/// How often a connection of HTTP/2 is looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How long requests in flight may take once the end has come.
const GRACE: Duration = Duration::from_secs(30);

/// Opens the listener.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves until `stop` resolves, then lets requests in flight finish. A client that takes nothing for as long as `patience`
/// is cut off.
pub async fn serve<S>(listener: TcpListener, service: S, patience: Duration, stop: impl Future<Output = ()>)
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let leave = watch::Sender::new(());
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(64 * 1024);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Duration::from_secs(30)).max_concurrent_streams(128);
    let mut stop = std::pin::pin!(stop);
    loop {
        let (stream, peer) = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: waiting helps, spinning does not.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let arrival = Arrival { stream: patient(stream, patience), peer: Peer(peer.ip()), patience, leave: leave.subscribe() };
        arrival.serve(&builder, service.clone());
    }
    drop(listener);
    tracing::info!("stopping: no new connections; finishing what is in flight");
    _ = leave.send(());
    tokio::select! {
        () = leave.closed() => tracing::info!("stopped"),
        () = tokio::time::sleep(GRACE) => tracing::warn!("stopped with requests still in flight after {} s", GRACE.as_secs()),
    }
}

/// A connection whose writes end when the other side takes nothing for too long.
fn patient(stream: TcpStream, patience: Duration) -> Connection {
    // Answers are written whole; waiting to fill a packet only costs time.
    _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience));
    Connection::new(stream)
}

/// A connection that was accepted.
struct Arrival {
    stream: Connection,
    peer: Peer,
    /// How long a client may take nothing.
    patience: Duration,
    /// Changes when the process is about to end.
    leave: watch::Receiver<()>,
}

impl Arrival {
    fn serve<S>(self, builder: &Builder<TokioExecutor>, service: S)
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        let Arrival { stream, peer, patience, leave } = self;
        let (breach, spoken, traffic) = (stream.breach(), Arc::new(OnceLock::new()), Traffic::new());
        let watch = Watch { spoken: spoken.clone(), traffic: traffic.clone(), patience, leave };
        let service = service_fn(move |request: Request<Incoming>| {
            let (version, breach) = (request.version(), breach.clone());
            _ = spoken.set(version);
            let exchange = (version == Version::HTTP_2).then(|| traffic.begin());
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            service.clone().oneshot(request).map_ok(move |answer| {
                let answer = breach.watch(version, answer);
                match exchange {
                    Some(exchange) => answer.map(|body| exchange.deliver(body)),
                    None => answer,
                }
            })
        });
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
        tokio::spawn(AtOnce::new(watch.over(connection)));
    }
}

/// Watches over a connection until its end.
struct Watch {
    /// The version of its first request.
    spoken: Arc<OnceLock<Version>>,
    traffic: Traffic,
    patience: Duration,
    leave: watch::Receiver<()>,
}

impl Watch {
    async fn over<C>(mut self, connection: C)
    where
        C: GracefulConnection,
        C::Error: fmt::Display,
    {
        let mut connection = pin!(connection);
        let mut look = pin!(tokio::time::sleep(HEAD));
        let (mut is_leaving, mut is_looking, mut is_told) = (false, true, false);
        loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended");
                    }
                    return;
                }
                _ = self.leave.changed(), if !is_leaving => {
                    is_leaving = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = look.as_mut(), if is_looking => match self.spoken.get() {
                    // The library gives a head its time only once it knows the version, and waits for ever to learn it.
                    None => return,
                    Some(version) if *version == Version::HTTP_2 => {
                        match self.traffic.look(Instant::now(), self.patience, HEAD) {
                            Finding::Busy => {}
                            // Whoever does not leave when told to is left.
                            Finding::Idle if is_told => return,
                            Finding::Idle => {
                                is_told = true;
                                connection.as_mut().graceful_shutdown();
                            }
                            Finding::Stalled => return tracing::debug!("a client took nothing of an answer for too long"),
                        }
                        look.as_mut().reset(tokio::time::Instant::now() + LOOK);
                    }
                    // The library keeps the times of the others itself.
                    Some(_) => is_looking = false,
                },
            }
        }
    }
}

/// Resolves when the process is asked to end. It listens from the moment it is made, so that whoever has seen us serve can end us in
/// good order.
pub fn signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            tracing::error!("signals cannot be listened to; the process ends only by force");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
