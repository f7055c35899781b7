//! A TCP proxy between the store and PostgreSQL that can stop forwarding, or close a connection as soon as PostgreSQL answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    Forwarding,
    /// Connections are accepted and stay open, and nothing is forwarded to PostgreSQL.
    Frozen,
    /// The same for connections from before. New ones forward everything.
    OldFrozen,
    /// Requests are forwarded. The first answer closes its connection instead; new connections forward everything.
    LosingAnswers,
    /// Everything is forwarded but requests to cancel a statement.
    LosingCancels,
}

/// How a request to cancel a statement begins: its length, and its code.
const CANCEL_REQUEST: [u8; 8] = [0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e];

/// How many connections a proxy accepted, and how many of them its clients have closed.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    accepted: Arc<AtomicUsize>,
    closed: Arc<AtomicUsize>,
}

impl Connections {
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub fn open(&self) -> usize {
        self.accepted() - self.closed.load(Ordering::SeqCst)
    }
}

/// Starts a proxy; returns the URL of the database through it, and a sender that sets its mode.
pub async fn start(url: &str) -> (String, watch::Sender<Proxy>) {
    let (url, mode, _) = start_counting(url).await;
    (url, mode)
}

/// Starts a proxy that also counts its connections.
pub async fn start_counting(url: &str) -> (String, watch::Sender<Proxy>, Connections) {
    let (start, rest) = url.split_once('@').expect("a user");
    let (server, database) = rest.split_once('/').expect("a database");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let proxied = format!("{start}@{}/{database}", listener.local_addr().expect("an address"));
    let (mode, server) = (watch::Sender::new(Proxy::Forwarding), server.to_owned());
    let (shared, connections) = (mode.clone(), Connections::default());
    let counted = connections.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            counted.accepted.fetch_add(1, Ordering::SeqCst);
            let server = TcpStream::connect(&server).await.expect("PostgreSQL");
            let made_in = *shared.borrow();
            tokio::spawn(forward(client, server, (shared.subscribe(), made_in), counted.clone()));
        }
    });
    (proxied, mode, connections)
}

/// Whether a connection that was made in one mode forwards in another.
fn is_frozen(mode: Proxy, made_in: Proxy) -> bool {
    match mode {
        Proxy::Frozen => true,
        Proxy::OldFrozen => made_in != Proxy::OldFrozen,
        Proxy::Forwarding | Proxy::LosingAnswers | Proxy::LosingCancels => false,
    }
}

async fn forward(client: TcpStream, server: TcpStream, (mode, made_in): (watch::Receiver<Proxy>, Proxy), connections: Connections) {
    let mut first = [0; CANCEL_REQUEST.len()];
    if made_in == Proxy::LosingCancels && client.peek(&mut first).await.is_ok() && first == CANCEL_REQUEST {
        return;
    }
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (sender, mut received) = mpsc::unbounded_channel::<Vec<u8>>();
    // Reads while nothing is forwarded too, to see when the client closes the connection.
    tokio::spawn(async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(size @ 1..) = from_client.read(&mut buffer).await {
            if sender.send(buffer[..size].to_vec()).is_err() {
                break;
            }
        }
        connections.closed.fetch_add(1, Ordering::SeqCst);
    });
    let mut frozen = mode.clone();
    let requests = async move {
        while let Some(bytes) = received.recv().await {
            if frozen.wait_for(|mode| !is_frozen(*mode, made_in)).await.is_err() || to_server.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    let answers = async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(size @ 1..) = from_server.read(&mut buffer).await {
            let is_lost = *mode.borrow() == Proxy::LosingAnswers && made_in != Proxy::LosingAnswers;
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
