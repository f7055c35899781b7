//! A TCP proxy between a server and PostgreSQL, Redis or a hub. A test can disconnect, freeze and redirect it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the proxy does with connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyMode {
    Forward,
    /// Closes open connections, and new ones at once.
    Disconnect,
    /// Keeps connections open and forwards nothing.
    Freeze,
    /// Forwards until a request reads the tables of PostgreSQL, and is [`ProxyMode::Freeze`] from then on. It needs a connection without TLS.
    FreezeAtTables,
    /// Forwards a write to PostgreSQL, and closes its connection instead of forwarding the answer. It needs a connection without TLS and
    /// without prepared statements, so that the proxy sees the SQL.
    LoseWrites,
    /// The same, for a COMMIT only.
    LoseCommits,
}

#[derive(Debug)]
pub struct Proxy {
    pub address: SocketAddr,
    mode: Arc<watch::Sender<ProxyMode>>,
    target: Arc<watch::Sender<String>>,
    accepted: Arc<AtomicUsize>,
}

impl Proxy {
    /// Starts a proxy to this host and port.
    pub async fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mode = Arc::new(watch::Sender::new(ProxyMode::Forward));
        let target = Arc::new(watch::Sender::new(target));
        let accepted = Arc::new(AtomicUsize::new(0));
        let (current_mode, current_target, count) = (mode.clone(), target.clone(), accepted.clone());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                if *current_mode.borrow() != ProxyMode::Disconnect {
                    let target = current_target.borrow().clone();
                    tokio::spawn(forward(near, target, current_mode.clone()));
                }
            }
        });
        Proxy { address, mode, target, accepted }
    }

    /// Sends new connections to this host and port.
    pub fn redirect(&self, target: String) {
        self.target.send_replace(target);
    }

    /// How many connections it has accepted.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub fn set(&self, mode: ProxyMode) {
        self.mode.send_replace(mode);
    }
}

async fn forward(near: TcpStream, target: String, shared: Arc<watch::Sender<ProxyMode>>) {
    let Ok(far) = TcpStream::connect(target).await else { return };
    let mode = shared.subscribe();
    let (near_reads, near_writes) = near.into_split();
    let (far_reads, far_writes) = far.into_split();
    let (mut disconnected, is_lost) = (mode.clone(), AtomicBool::new(false));
    let request = |mode: ProxyMode, bytes: &[u8]| {
        if mode.loses(bytes) {
            is_lost.store(true, Ordering::SeqCst);
        }
        if mode == ProxyMode::FreezeAtTables && contains(bytes, b"pg_catalog.pg_inherits") {
            shared.send_replace(ProxyMode::Freeze);
        }
        Passage::Forward
    };
    let answer = |_: ProxyMode, _: &[u8]| if is_lost.load(Ordering::SeqCst) { Passage::Close } else { Passage::Forward };
    tokio::select! {
        () = copy(near_reads, far_writes, mode.clone(), request) => {}
        () = copy(far_reads, near_writes, mode, answer) => {}
        _ = disconnected.wait_for(|mode| *mode == ProxyMode::Disconnect) => {}
    }
}

impl ProxyMode {
    /// Whether the answer to this request is lost.
    fn loses(self, request: &[u8]) -> bool {
        let statements: &[&[u8]] = match self {
            ProxyMode::LoseWrites => &[b"COMMIT\0", b"INSERT INTO ", b"UPDATE peristyle.", b"DELETE FROM "],
            ProxyMode::LoseCommits => &[b"COMMIT\0"],
            _ => &[],
        };
        statements.iter().any(|statement| contains(request, statement))
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

enum Passage {
    Forward,
    Close,
}

async fn copy(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut mode: watch::Receiver<ProxyMode>,
    passage: impl Fn(ProxyMode, &[u8]) -> Passage,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(size @ 1..) = from.read(&mut buffer).await {
        let current = *mode.borrow();
        // The other branches may not have seen the mode yet.
        if current == ProxyMode::Disconnect || matches!(passage(current, &buffer[..size]), Passage::Close) {
            return;
        }
        if mode.wait_for(|mode| *mode != ProxyMode::Freeze).await.is_err() || to.write_all(&buffer[..size]).await.is_err() {
            return;
        }
    }
}
