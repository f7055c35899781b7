//! Listening to what replicas publish, over connections that may break: whatever may have been missed is told as everything.

use std::time::Duration;

use ::redis::aio::PubSub;
use futures_util::StreamExt;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::Invalidation;
use super::redis::Redis;

/// How long a connection may be silent before it is asked whether it is still there, and how long it may take to say so.
const SILENCE: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(1);
/// How long after a failed connection the next is tried: longer each time, up to the last.
const PAUSES: [Duration; 4] = [Duration::from_millis(100), Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1)];

/// A subscriber.
#[derive(Debug)]
pub struct Subscription(Heard);

#[derive(Debug)]
enum Heard {
    Memory(broadcast::Receiver<Invalidation>),
    Redis(Box<Listener>),
}

impl Subscription {
    pub(super) fn memory(receiver: broadcast::Receiver<Invalidation>) -> Self {
        Subscription(Heard::Memory(receiver))
    }

    pub(super) fn redis(redis: Redis) -> Self {
        Subscription(Heard::Redis(Box::new(Listener { redis, line: None, ask_at: Instant::now(), failures: 0 })))
    }

    /// What is no longer true next. [`Invalidation::Everything`] is also told whenever a connection begins, the first one included:
    /// what was published before was not heard. Nothing is lost if the wait is given up.
    pub async fn next(&mut self) -> Invalidation {
        match &mut self.0 {
            Heard::Redis(listener) => listener.next().await,
            Heard::Memory(receiver) => match receiver.recv().await {
                Ok(invalidation) => invalidation,
                Err(RecvError::Lagged(_)) => Invalidation::Everything,
                // Nobody is left who could publish.
                Err(RecvError::Closed) => std::future::pending().await,
            },
        }
    }
}

struct Listener {
    redis: Redis,
    line: Option<PubSub>,
    /// When the connection is asked whether it is there; without one, when the next is tried.
    ask_at: Instant,
    failures: usize,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Listener({:?})", self.redis)
    }
}

impl Listener {
    async fn next(&mut self) -> Invalidation {
        loop {
            let Some(line) = &mut self.line else {
                sleep_until(self.ask_at).await;
                if self.connect().await {
                    return Invalidation::Everything;
                }
                continue;
            };
            let message = timeout_at(self.ask_at, line.on_message().next()).await;
            match message {
                Ok(Some(message)) => return Invalidation::of_text(message.get_payload_bytes()),
                Ok(None) => self.broke(),
                Err(_) if timeout(PATIENCE, line.ping::<()>()).await.is_ok_and(|answer| answer.is_ok()) => {
                    self.ask_at = Instant::now() + SILENCE;
                }
                Err(_) => self.broke(),
            }
        }
    }

    async fn connect(&mut self) -> bool {
        match self.redis.listen().await {
            Ok(line) => {
                if self.failures > 0 {
                    tracing::info!("Redis is heard again; what was cached meanwhile is dropped");
                }
                self.failures = 0;
                self.ask_at = Instant::now() + SILENCE;
                self.line = Some(line);
                true
            }
            Err(error) => {
                if self.failures == 0 {
                    tracing::warn!(%error, "Redis is not heard: what other replicas invalidate is learned when it expires");
                }
                self.ask_at = Instant::now() + PAUSES[self.failures.min(PAUSES.len() - 1)];
                self.failures += 1;
                false
            }
        }
    }

    fn broke(&mut self) {
        self.line = None;
        self.ask_at = Instant::now();
    }
}
