//! Somebody between a satellite and its hub who writes the stream of changes; everything else is the real hub's.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::support::DEADLINE;

/// A hub whose stream somebody else writes; everything else is the real one's.
pub(crate) struct Impostor {
    pub(crate) address: SocketAddr,
    /// A stream that a satellite opened: what it asked, and the wire.
    streams: mpsc::UnboundedReceiver<(String, TcpStream)>,
}

impl Impostor {
    pub(crate) async fn before(hub: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (opened, streams) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(relay(near, hub, opened.clone()));
            }
        });
        Impostor { address, streams }
    }

    /// The next stream that the satellite opens, answered; and the number after which it wants to hear.
    pub(crate) async fn stream(&mut self) -> (TcpStream, Option<i64>) {
        // A satellite may take its time to find out that nobody speaks.
        let (head, mut wire) = tokio::time::timeout(2 * DEADLINE, self.streams.recv()).await.expect("in time").expect("a stream");
        let begun = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        wire.write_all(begun).await.unwrap();
        let after = head.lines().find_map(|line| line.strip_prefix("last-event-id: ")).map(|number| number.parse().unwrap());
        (wire, after)
    }
}

async fn relay(mut near: TcpStream, hub: SocketAddr, opened: mpsc::UnboundedSender<(String, TcpStream)>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = near.read_u8().await else { return };
        head.push(byte);
    }
    let text = String::from_utf8(head.clone()).unwrap().to_lowercase();
    if text.starts_with("get /events") {
        _ = opened.send((text, near));
        return;
    }
    let mut far = TcpStream::connect(hub).await.unwrap();
    far.write_all(&head).await.unwrap();
    _ = copy_bidirectional(&mut near, &mut far).await;
}

pub(crate) async fn tell(wire: &mut TcpStream, id: i64, event: &str, data: &str) {
    wire.write_all(format!("id: {id}\nevent: {event}\ndata: {data}\n\n").as_bytes()).await.unwrap();
}
