//! A cable between a server and what it needs, PostgreSQL or a hub, that can be cut, frozen, mended and laid elsewhere.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the cable does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cable {
    Whole,
    /// Connections end, new ones are closed at once.
    Cut,
    /// Connections stay and nothing moves.
    Frozen,
}

/// The cable.
#[derive(Debug)]
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<watch::Sender<Cable>>,
    target: Arc<watch::Sender<String>>,
}

impl Proxy {
    /// A cable to this address.
    pub async fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(watch::Sender::new(Cable::Whole));
        let target = Arc::new(watch::Sender::new(target));
        let (shared, led) = (state.clone(), target.clone());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                if *shared.borrow() != Cable::Cut {
                    let target = led.borrow().clone();
                    tokio::spawn(carry(near, target, shared.subscribe()));
                }
            }
        });
        Proxy { address, state, target }
    }

    /// New connections go there.
    pub fn lead(&self, target: String) {
        self.target.send_replace(target);
    }

    pub fn set(&self, cable: Cable) {
        self.state.send_replace(cable);
    }
}

async fn carry(near: TcpStream, target: String, state: watch::Receiver<Cable>) {
    let Ok(far) = TcpStream::connect(target).await else { return };
    let (near_reads, near_writes) = near.into_split();
    let (far_reads, far_writes) = far.into_split();
    let mut cut = state.clone();
    tokio::select! {
        () = pump(near_reads, far_writes, state.clone()) => {}
        () = pump(far_reads, near_writes, state) => {}
        _ = cut.wait_for(|cable| *cable == Cable::Cut) => {}
    }
}

async fn pump(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Unpin, mut state: watch::Receiver<Cable>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(size @ 1..) = from.read(&mut buffer).await {
        if state.wait_for(|cable| *cable != Cable::Frozen).await.is_err() || to.write_all(&buffer[..size]).await.is_err() {
            return;
        }
    }
}
