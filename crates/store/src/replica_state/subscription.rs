//! Receives invalidations over connections that may break. After a gap the subscriber drops its whole cache.

use std::time::Duration;

use ::redis::aio::PubSub;
use futures_util::StreamExt;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::Invalidation;
use super::redis::Redis;

/// A silent connection is pinged this often.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const PING_TIMEOUT: Duration = Duration::from_secs(1);
/// The delays between attempts to connect; the last one repeats.
const BACKOFF: [Duration; 4] = [Duration::from_millis(100), Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1)];

#[derive(Debug)]
pub struct Subscription(Receiver);

#[derive(Debug)]
enum Receiver {
    Memory(broadcast::Receiver<Invalidation>),
    Redis(Box<Listener>),
}

impl Subscription {
    pub(super) fn memory(receiver: broadcast::Receiver<Invalidation>) -> Self {
        Subscription(Receiver::Memory(receiver))
    }

    pub(super) fn redis(redis: Redis) -> Self {
        Subscription(Receiver::Redis(Box::new(Listener { redis, connection: None, next_action: Instant::now(), failures: 0 })))
    }

    /// Cancel-safe. Every new connection begins with [`Invalidation::Everything`], since earlier messages were missed.
    pub async fn next(&mut self) -> Invalidation {
        match &mut self.0 {
            Receiver::Redis(listener) => listener.next().await,
            Receiver::Memory(receiver) => match receiver.recv().await {
                Ok(invalidation) => invalidation,
                Err(RecvError::Lagged(_)) => Invalidation::Everything,
                // No publisher is left.
                Err(RecvError::Closed) => std::future::pending().await,
            },
        }
    }
}

struct Listener {
    redis: Redis,
    connection: Option<PubSub>,
    /// When to ping the connection, or without one when to connect.
    next_action: Instant,
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
            let Some(connection) = &mut self.connection else {
                sleep_until(self.next_action).await;
                if self.connect().await {
                    return Invalidation::Everything;
                }
                continue;
            };
            let message = timeout_at(self.next_action, connection.on_message().next()).await;
            match message {
                Ok(Some(message)) => return Invalidation::of_text(message.get_payload_bytes()),
                Ok(None) => self.disconnect(),
                Err(_) if timeout(PING_TIMEOUT, connection.ping::<()>()).await.is_ok_and(|answer| answer.is_ok()) => {
                    self.next_action = Instant::now() + PING_INTERVAL;
                }
                Err(_) => self.disconnect(),
            }
        }
    }

    async fn connect(&mut self) -> bool {
        match self.redis.listen().await {
            Ok(connection) => {
                if self.failures > 0 {
                    tracing::info!("Redis answers again; dropping the cache");
                }
                self.failures = 0;
                self.next_action = Instant::now() + PING_INTERVAL;
                self.connection = Some(connection);
                true
            }
            Err(error) => {
                if self.failures == 0 {
                    tracing::warn!(%error, "Redis is unavailable; cached entries count until they expire");
                }
                self.next_action = Instant::now() + BACKOFF[self.failures.min(BACKOFF.len() - 1)];
                self.failures += 1;
                false
            }
        }
    }

    fn disconnect(&mut self) {
        self.connection = None;
        self.next_action = Instant::now();
    }
}
