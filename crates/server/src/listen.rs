//! The accept loop: connections with time limits, and an end that finishes what is in flight.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use futures_util::TryFutureExt;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tower::{Service, ServiceExt};

use crate::abrupt::Connection;
use crate::at_once::AtOnce;
use crate::peer::Peer;

/// How long a client may take to send a request's head, the first one from when it connects.
const HEAD: Duration = Duration::from_secs(15);
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
    let graceful = GracefulShutdown::new();
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
        connection((patient(stream, patience), Peer(peer.ip())), &builder, &graceful, service.clone());
    }
    drop(listener);
    tracing::info!("stopping: no new connections; finishing what is in flight");
    tokio::select! {
        () = graceful.shutdown() => tracing::info!("stopped"),
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

fn connection<S>((stream, peer): (Connection, Peer), builder: &Builder<TokioExecutor>, graceful: &GracefulShutdown, service: S)
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let begun = Arc::new(AtomicBool::new(false));
    let first = begun.clone();
    let breach = stream.breach();
    let service = service_fn(move |request: Request<Incoming>| {
        first.store(true, Ordering::Relaxed);
        let (version, breach) = (request.version(), breach.clone());
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        service.clone().oneshot(request).map_ok(move |answer| breach.watch(version, answer))
    });
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
    let watched = graceful.watch(connection);
    tokio::spawn(AtOnce::new(async move {
        let mut watched = std::pin::pin!(watched);
        let ended = match tokio::time::timeout(HEAD, &mut watched).await {
            Ok(ended) => ended,
            // The library gives a head its time only once it knows the version, and waits for ever to learn it.
            Err(_) if !begun.load(Ordering::Relaxed) => return,
            Err(_) => watched.await,
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        }
    }));
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
