//! A TCP proxy between the store and PostgreSQL that can stop forwarding, or close a connection as soon as PostgreSQL answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    Forwarding,
    /// Connections are accepted and stay open, and nothing is forwarded to PostgreSQL.
    Frozen,
    /// Requests are forwarded. The first answer closes its connection instead; new connections forward everything.
    LosingAnswers,
}

/// How many connections a proxy accepted.
pub type Accepted = Arc<AtomicUsize>;

/// Starts a proxy; returns the URL of the database through it, and a sender that sets its mode.
pub async fn start(url: &str) -> (String, watch::Sender<Proxy>) {
    let (url, mode, _) = start_counting(url).await;
    (url, mode)
}

/// Starts a proxy that also counts its connections.
pub async fn start_counting(url: &str) -> (String, watch::Sender<Proxy>, Accepted) {
    let (start, rest) = url.split_once('@').expect("a user");
    let (server, database) = rest.split_once('/').expect("a database");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let proxied = format!("{start}@{}/{database}", listener.local_addr().expect("an address"));
    let (mode, server) = (watch::Sender::new(Proxy::Forwarding), server.to_owned());
    let (shared, accepted) = (mode.clone(), Accepted::default());
    let count = accepted.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let server = TcpStream::connect(&server).await.expect("PostgreSQL");
            let is_new = *shared.borrow() == Proxy::LosingAnswers;
            tokio::spawn(forward(client, server, (shared.subscribe(), is_new)));
        }
    });
    (proxied, mode, accepted)
}

/// `is_new` says that the connection was opened while answers were lost, so that it forwards them.
async fn forward(client: TcpStream, server: TcpStream, (mode, is_new): (watch::Receiver<Proxy>, bool)) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let mut frozen = mode.clone();
    let requests = async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(size @ 1..) = from_client.read(&mut buffer).await {
            if frozen.wait_for(|mode| *mode != Proxy::Frozen).await.is_err() || to_server.write_all(&buffer[..size]).await.is_err() {
                return;
            }
        }
    };
    let answers = async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(size @ 1..) = from_server.read(&mut buffer).await {
            let is_lost = *mode.borrow() == Proxy::LosingAnswers && !is_new;
            if is_lost || to_client.write_all(&buffer[..size]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = requests => {}
        () = answers => {}
    }
}
