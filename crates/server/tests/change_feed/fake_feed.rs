//! A relay between a satellite and its hub. A test writes the change feed; the hub answers everything else.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::support::DEADLINE;

pub(crate) struct FakeFeed {
    pub(crate) address: SocketAddr,
    /// The feeds that satellites opened: the head of the request, and the connection.
    feeds: mpsc::UnboundedReceiver<(String, TcpStream)>,
}

impl FakeFeed {
    pub(crate) async fn in_front_of(hub: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (opened, feeds) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(relay(near, hub, opened.clone()));
            }
        });
        FakeFeed { address, feeds }
    }

    /// Accepts the next feed of a satellite; returns the connection and the last event id.
    pub(crate) async fn accept(&mut self) -> (TcpStream, Option<i64>) {
        // A satellite reconnects only after a timeout.
        let (head, mut wire) = tokio::time::timeout(2 * DEADLINE, self.feeds.recv()).await.expect("in time").expect("a feed");
        let head_of_answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        wire.write_all(head_of_answer).await.unwrap();
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

pub(crate) async fn send_event(wire: &mut TcpStream, id: i64, event: &str, data: &str) {
    wire.write_all(format!("id: {id}\nevent: {event}\ndata: {data}\n\n").as_bytes()).await.unwrap();
}
