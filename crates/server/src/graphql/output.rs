//! The bytes of an answer, in pieces. A growing answer is never copied to a larger buffer.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

const PIECE_BYTES: usize = 256 * 1024;
/// Fewer bytes are copied; more are shared.
const MIN_SHARED_BYTES: usize = 4 * 1024;

#[derive(Debug, Default)]
pub(super) struct Output {
    pieces: VecDeque<Bytes>,
    open: Vec<u8>,
    closed_bytes: usize,
}

impl From<Vec<u8>> for Output {
    fn from(open: Vec<u8>) -> Self {
        Output { open, ..Output::default() }
    }
}

impl Output {
    pub(super) fn len(&self) -> usize {
        self.closed_bytes + self.open.len()
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    /// A buffer to write to. Call [`Output::close_full_piece`] from time to time.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.open
    }

    /// Begins a new piece if the open one is full.
    pub(super) fn close_full_piece(&mut self) {
        if self.open.len() >= PIECE_BYTES {
            self.close();
            // A buffer that doubles would reserve twice its content.
            self.open.reserve_exact(PIECE_BYTES + PIECE_BYTES / 4);
        }
    }

    pub(super) fn share(&mut self, bytes: &Bytes) {
        if bytes.len() <= MIN_SHARED_BYTES {
            return self.extend(bytes);
        }
        self.close();
        self.closed_bytes += bytes.len();
        self.pieces.push_back(bytes.clone());
    }

    pub(super) fn append(&mut self, other: Output) {
        for piece in &other.pieces {
            self.share(piece);
        }
        if other.open.len() <= MIN_SHARED_BYTES {
            self.extend(&other.open);
        } else {
            self.share(&Bytes::from(other.open));
        }
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.closed_bytes += self.open.len();
            self.pieces.push_back(std::mem::take(&mut self.open).into());
        }
    }

    pub(super) fn into_body(mut self) -> Body {
        if self.pieces.is_empty() {
            return Body::from(self.open);
        }
        self.close();
        Body::new(PiecesBody { left: self.closed_bytes as u64, pieces: self.pieces })
    }
}

struct PiecesBody {
    pieces: VecDeque<Bytes>,
    left: u64,
}

impl HttpBody for PiecesBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.left -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn pieces_are_sent_in_order() {
        let large = Bytes::from(vec![b'x'; MIN_SHARED_BYTES + 1]);
        let mut expected = Vec::new();
        let mut output = Output::default();
        for round in 0..200 {
            let mut part = Output::default();
            part.extend(format!("{round},").as_bytes());
            part.share(&large);
            part.share(&Bytes::from_static(b"small"));
            part.buffer().extend_from_slice(&[b'y'; 3_000]);
            part.close_full_piece();
            expected.extend_from_slice(format!("{round},").as_bytes());
            expected.extend_from_slice(&large);
            expected.extend_from_slice(b"small");
            expected.extend_from_slice(&[b'y'; 3_000]);
            output.append(part);
            output.close_full_piece();
        }
        assert_eq!(output.len(), expected.len());
        let body = output.into_body();
        assert_eq!(body.size_hint().exact(), Some(expected.len() as u64));
        assert_eq!(body.collect().await.expect("a body").to_bytes(), expected);
    }

    #[test]
    fn a_large_answer_reserves_little_more_than_its_bytes() {
        // attack 53
        let mut output = Output::default();
        while output.len() < 16 * PIECE_BYTES {
            output.extend(&[b'x'; 1_000]);
            output.close_full_piece();
        }
        assert!(output.open.capacity() <= 2 * PIECE_BYTES, "{}", output.open.capacity());
        assert!(output.pieces.len() >= 15);
    }
}
