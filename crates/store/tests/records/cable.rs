//! A cable between the records and PostgreSQL that can freeze, or end as soon as PostgreSQL answers.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the cable does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cable {
    Whole,
    /// Connections stay and nothing moves.
    Frozen,
    /// What is asked arrives; the answer does not, and the connection ends. New connections are whole.
    Deaf,
}

/// A cable to PostgreSQL: its address, and the one who says what it does.
pub(super) async fn lay(url: &str) -> (String, watch::Sender<Cable>) {
    let (start, rest) = url.split_once('@').expect("a user");
    let (target, name) = rest.split_once('/').expect("a database");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let near = format!("{start}@{}/{name}", listener.local_addr().expect("an address"));
    let (state, target) = (watch::Sender::new(Cable::Whole), target.to_owned());
    let shared = state.clone();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(&target).await.expect("PostgreSQL");
            let deaf = *shared.borrow() == Cable::Deaf;
            tokio::spawn(carry(near, far, (shared.subscribe(), deaf)));
        }
    });
    (near, state)
}

async fn carry(near: TcpStream, far: TcpStream, (state, made_deaf): (watch::Receiver<Cable>, bool)) {
    let (mut asked, mut told) = near.into_split();
    let (mut answers, mut asks) = far.into_split();
    let mut frozen = state.clone();
    let thither = async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(size @ 1..) = asked.read(&mut buffer).await {
            if frozen.wait_for(|cable| *cable != Cable::Frozen).await.is_err() || asks.write_all(&buffer[..size]).await.is_err() {
                return;
            }
        }
    };
    let hither = async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(size @ 1..) = answers.read(&mut buffer).await {
            let ended = *state.borrow() == Cable::Deaf && !made_deaf;
            if ended || told.write_all(&buffer[..size]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = thither => {}
        () = hither => {}
    }
}
