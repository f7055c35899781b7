//! What a connection sends and is answered, moved on by whoever waits for the answer.
//!
//! The usual way is a task for each connection. Every trip then passes through one task more on its way out and on its way back, and may
//! have to wait for another thread each time. Here the task of the request does both.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use tokio::runtime::Handle;

/// The half of a connection that moves bytes.
pub(super) struct Driver(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Driver {
    pub(super) fn new(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Driver(Some(Box::pin(work)))
    }

    /// Whether the connection has ended, as far as it can be told without waiting.
    pub(super) fn is_over(&mut self) -> bool {
        self.move_on(Waker::noop());
        self.0.is_none()
    }

    /// Runs a step that waits for nothing but this connection.
    pub(super) async fn drive<T>(&mut self, step: impl Future<Output = T>) -> T {
        let mut step = pin!(step);
        // Whoever drove it last is not to be woken by what is sent now.
        self.move_on(Waker::noop());
        poll_fn(|context| {
            let begun = moved_on(step.as_mut());
            if begun.is_ready() {
                return begun;
            }
            self.move_on(context.waker());
            moved_on(step.as_mut())
        })
        .await
    }

    /// Sends what is to be sent and takes what has arrived.
    fn move_on(&mut self, waker: &Waker) {
        if self.0.as_mut().is_some_and(|work| work.as_mut().poll(&mut Context::from_waker(waker)).is_ready()) {
            self.0 = None;
        }
    }
}

/// Moves a step on. Its connection is moved on at its side, so that nobody has to wake it.
fn moved_on<T>(step: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    step.poll(&mut Context::from_waker(Waker::noop()))
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Says goodbye. Where that has to wait, for an answer that is still on its way, somebody else does it.
        self.move_on(Waker::noop());
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}
