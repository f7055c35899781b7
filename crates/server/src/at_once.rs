//! A task that is woken while it runs goes on at once.
//!
//! The HTTP library wakes its own connection for every request that has a body. To the runtime that is a task that gives way: it is
//! queued again, and another thread is woken to take it, which then waits for the next event in the place of this one. So every request
//! would cost two switches between threads, for something that is ready already.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// How often it goes on before others have their turn.
const TURNS: usize = 8;

/// A future that goes on at once where it woke itself.
#[derive(Debug)]
pub(crate) struct AtOnce<F> {
    future: Pin<Box<F>>,
    bell: Arc<Bell>,
    waker: Waker,
}

#[derive(Debug, Default)]
struct Bell {
    rung: AtomicBool,
    /// Who is to be woken, while the future is not at work.
    task: AtomicWaker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<F> AtOnce<F> {
    pub(crate) fn new(future: F) -> Self {
        let bell = Arc::new(Bell::default());
        AtOnce { future: Box::pin(future), waker: Waker::from(bell.clone()), bell }
    }
}

impl<F: Future> Future for AtOnce<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let AtOnce { future, bell, waker } = self.get_mut();
        for _ in 0..TURNS {
            bell.task.take();
            bell.rung.swap(false, Ordering::AcqRel);
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(output);
            }
            // In this order: what rings before it is seen below, and what rings after it wakes the task.
            bell.task.register(context.waker());
            if !bell.rung.load(Ordering::Acquire) {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::task::noop_waker;

    use super::*;

    /// Counts how often a task is woken.
    #[derive(Default)]
    struct Count(std::sync::atomic::AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Polls a future once that wakes itself so many times; says how often it was polled and its task woken.
    fn polled(wakes: usize) -> (usize, usize, bool) {
        let count = Arc::new(Count::default());
        let mut polls = 0;
        let future = poll_fn(|context| {
            polls += 1;
            if polls > wakes {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        });
        let is_ready = Pin::new(&mut AtOnce::new(future)).poll(&mut Context::from_waker(&count.clone().into())).is_ready();
        (polls, count.0.load(Ordering::Relaxed), is_ready)
    }

    #[test]
    fn what_wakes_itself_goes_on_without_its_task_being_woken() {
        assert_eq!(polled(0), (1, 0, true));
        assert_eq!(polled(TURNS - 1), (TURNS, 0, true));
    }

    #[test]
    fn what_wakes_itself_again_and_again_gives_way() {
        let (polls, woken, is_ready) = polled(usize::MAX);
        assert_eq!((polls, is_ready), (TURNS, false));
        assert!(woken >= 1, "and comes back");
    }

    #[test]
    fn what_is_woken_later_wakes_its_task_once() {
        let count = Arc::new(Count::default());
        let mut inner = noop_waker();
        let mut future = AtOnce::new(poll_fn(|context| {
            inner = context.waker().clone();
            Poll::<()>::Pending
        }));
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&count.clone().into())).is_pending());
        drop(future);
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        inner.wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }
}
