//! A TCP proxy between a server and PostgreSQL, Redis or a hub. A test can disconnect, freeze and redirect it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    /// Closes a connection instead of forwarding PostgreSQL's answer to a write. What was written stays. It needs a connection without TLS.
    LoseWrites,
    /// The same, for the answer to a COMMIT only.
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
                    tokio::spawn(forward(near, target, current_mode.subscribe()));
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

async fn forward(near: TcpStream, target: String, mode: watch::Receiver<ProxyMode>) {
    let Ok(far) = TcpStream::connect(target).await else { return };
    let (near_reads, near_writes) = near.into_split();
    let (far_reads, far_writes) = far.into_split();
    let mut disconnected = mode.clone();
    tokio::select! {
        () = copy(near_reads, far_writes, mode.clone(), &[]) => {}
        () = copy(far_reads, near_writes, mode, &WRITES) => {}
        _ = disconnected.wait_for(|mode| *mode == ProxyMode::Disconnect) => {}
    }
}

/// How PostgreSQL's answers to writes begin.
const WRITES: [&[u8]; 4] = [b"COMMIT\0", b"INSERT 0 ", b"UPDATE ", b"DELETE "];

async fn copy(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut mode: watch::Receiver<ProxyMode>,
    lost: &[&[u8]],
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(size @ 1..) = from.read(&mut buffer).await {
        let lost = match *mode.borrow() {
            ProxyMode::LoseWrites => lost,
            ProxyMode::LoseCommits => &lost[..lost.len().min(1)],
            _ => &[],
        };
        if lost.iter().any(|answer| buffer[..size].windows(answer.len()).any(|part| part == *answer)) {
            return;
        }
        if mode.wait_for(|mode| *mode != ProxyMode::Freeze).await.is_err() || to.write_all(&buffer[..size]).await.is_err() {
            return;
        }
    }
}
