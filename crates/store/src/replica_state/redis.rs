//! State in Redis: one connection for all calls, reconnected when it breaks, with short timeouts.

use std::fmt::{Display, Write};
use std::sync::Arc;
use std::time::Duration;

use ::redis::aio::{MultiplexedConnection, PubSub};
use ::redis::{AsyncConnectionConfig, Client, ConnectionAddr, FromRedisValue, Pipeline, RedisError, pipe};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::{Entry, StateError, StateKey};

/// The limit for connecting, and for each answer.
const TIMEOUT: Duration = Duration::from_millis(500);
/// After a failed connection, calls fail at once for this long.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
const CHANNEL: &str = "peristyle:invalidate";
const ACCEPTED: &str = "redis://[user[:password]@]host[:port][/database], or rediss:// for TLS";

#[derive(Clone)]
pub(super) struct Redis {
    client: Arc<Client>,
    state: Arc<Mutex<ConnectionState>>,
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The rest of the URL may hold a password.
        write!(out, "Redis({})", self.client.get_connection_info().addr())
    }
}

#[derive(Default)]
struct ConnectionState {
    open: Option<MultiplexedConnection>,
    /// Counts connections, so that only the broken one is dropped.
    number: u64,
    failed: Option<(Instant, StateError)>,
}

impl Redis {
    pub(super) fn open(url: &str) -> Result<Self, StateError> {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        if !["redis", "rediss"].contains(&scheme) {
            return Err(invalid_url("it does not begin with redis:// or rediss://"));
        }
        if url.contains('#') {
            return Err(invalid_url("it has a fragment"));
        }
        check_rest(url)?;
        // The driver's message names the faulty part, never its value.
        let client = Client::open(url).map_err(|error| invalid_url(error.detail().unwrap_or(&error.category().to_lowercase())))?;
        if matches!(client.get_connection_info().addr(), ConnectionAddr::TcpTls { .. }) {
            // The driver uses the process's default provider, and panics without one.
            _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        }
        Ok(Redis { client: Arc::new(client), state: Arc::default() })
    }

    pub(super) async fn put(&self, kind: &'static str, key: &StateKey, entry: &Entry<'_>) -> Result<(), StateError> {
        // Redis refuses an expiry of zero.
        self.ask(pipe().cmd("SET").arg(name(kind, key)).arg(entry.value).arg("EX").arg(entry.seconds.max(1)).ignore()).await
    }

    pub(super) async fn take(&self, kind: &'static str, key: &StateKey) -> Result<Option<Vec<u8>>, StateError> {
        let name = name(kind, key);
        // GETDEL would need Redis 6.2.
        let (value,) = self.ask(pipe().atomic().cmd("GET").arg(&name).cmd("DEL").arg(&name).ignore()).await?;
        Ok(value)
    }

    pub(super) async fn peek(&self, kind: &'static str, key: &StateKey) -> Result<Option<Vec<u8>>, StateError> {
        let (value,) = self.ask(pipe().cmd("GET").arg(name(kind, key))).await?;
        Ok(value)
    }

    pub(super) async fn count(&self, kind: &'static str, key: &StateKey, seconds: u64) -> Result<u64, StateError> {
        let name = name(kind, key);
        let mut commands = pipe();
        commands.atomic().cmd("SET").arg(&name).arg(0).arg("EX").arg(seconds.max(1)).arg("NX").ignore().cmd("INCR").arg(&name);
        let (count,) = self.ask(&commands).await?;
        Ok(count)
    }

    pub(super) async fn counted(&self, kind: &'static str, key: &StateKey) -> Result<u64, StateError> {
        let (count,): (Option<u64>,) = self.ask(pipe().cmd("GET").arg(name(kind, key))).await?;
        Ok(count.unwrap_or_default())
    }

    pub(super) async fn ping(&self) -> Result<(), StateError> {
        self.ask(pipe().cmd("PING").ignore()).await
    }

    pub(super) async fn publish(&self, message: &str) -> Result<(), StateError> {
        self.ask(pipe().cmd("PUBLISH").arg(CHANNEL).arg(message).ignore()).await
    }

    pub(super) async fn listen(&self) -> Result<PubSub, StateError> {
        let listening = async {
            let mut connection = self.client.get_async_pubsub().await?;
            connection.subscribe(CHANNEL).await?;
            Ok::<_, RedisError>(connection)
        };
        let late = |_| self.no_connection(&"no answer in time");
        timeout(2 * TIMEOUT, listening).await.map_err(late)?.map_err(|error| self.no_connection(&error))
    }

    /// Names the host and the port, and nothing else of the URL.
    fn no_connection(&self, reason: &dyn Display) -> StateError {
        StateError::Unavailable(format!("no connection to {}: {reason}", self.client.get_connection_info().addr()))
    }

    /// Retries once if the connection was broken. That is harmless: a lost value is gone either way, and a count too high refuses sooner.
    async fn ask<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, StateError> {
        let mut retried = false;
        loop {
            let (number, mut connection) = self.connection().await?;
            let error = match commands.query_async(&mut connection).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if retried || error.is_io_error() {
                self.disconnect(number).await;
            }
            if retried || !error.is_io_error() || error.is_timeout() {
                return Err(unavailable(&error));
            }
            retried = true;
        }
    }

    /// Drops a connection that broke or timed out, unless it was replaced already.
    async fn disconnect(&self, number: u64) {
        let mut state = self.state.lock().await;
        if state.number == number {
            state.open = None;
        }
    }

    /// The open connection, or a new one. Concurrent callers wait for the same one.
    async fn connection(&self) -> Result<(u64, MultiplexedConnection), StateError> {
        let mut state = self.state.lock().await;
        if let Some(open) = &state.open {
            return Ok((state.number, open.clone()));
        }
        if let Some((at, error)) = &state.failed
            && at.elapsed() < RETRY_INTERVAL
        {
            return Err(error.clone());
        }
        let settings = AsyncConnectionConfig::new().set_connection_timeout(Some(TIMEOUT)).set_response_timeout(Some(TIMEOUT));
        match self.client.get_multiplexed_async_connection_with_config(&settings).await {
            Ok(open) => {
                state.number += 1;
                state.open = Some(open.clone());
                state.failed = None;
                Ok((state.number, open))
            }
            Err(error) => {
                let error = self.no_connection(&error);
                state.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }
}

/// The name of a value in Redis. It holds a digest only, so a reader of Redis cannot use it elsewhere.
fn name(kind: &'static str, key: &StateKey) -> String {
    let mut name = format!("peristyle:{kind}:");
    for byte in key {
        _ = write!(name, "{byte:02x}");
    }
    name
}

fn invalid_url(reason: &str) -> StateError {
    StateError::Setting(format!("not the URL of a Redis: {reason}; accepted is {ACCEPTED}"))
}

/// Checks the part after the host: a database number or nothing. The driver would accept a sign and ignore unknown parameters.
fn check_rest(url: &str) -> Result<(), StateError> {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.find(['/', '?']).map_or("", |end| &rest[end..]);
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    // An @ behind the host may belong to a password that was not percent-encoded: quote nothing then.
    let found = |what: &str, value: &str| if rest.contains('@') { what.to_owned() } else { format!("{what} {value:?}") };
    if let Some(query) = query {
        let name = query.split(['=', '&']).next().unwrap_or_default();
        return Err(invalid_url(&format!("it has parameters behind a `?`; found {}", found("the parameter", name))));
    }
    let database = path.strip_prefix('/').unwrap_or(path);
    if database.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    Err(invalid_url(&format!("a database is a whole number from 0; found {}", found("the database", database))))
}

fn unavailable(error: &RedisError) -> StateError {
    StateError::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_cannot_be_used_is_refused_without_quoting_its_password() {
        // contract I35.5
        for url in [
            "",
            "localhost:6379",
            "http://:sesame@h",
            "redis://:sesame@h:port",
            "redis://:sesame@",
            "redis://:sesame@h/db",
            "redis://:sesame@0.0.0.0",
            "rediss://:sesame@h/#insecure",
            "redis://:sesame%ff@h",
            "redis://:sesame@h?protocol=9",
            "redis://:sesame@h/99999999999999999999",
            "redis://u:1/sesame@h",
            "redis://u:1?sesame@h",
            "redis://u:1?a=sesame@h",
        ] {
            let error = Redis::open(url).expect_err(url).to_string();
            assert!(error.contains("redis://[user[:password]@]host") && !error.contains("sesame"), "{url}: {error}");
        }
        for (url, found) in [
            ("redis://h/-1", "\"-1\""),
            ("redis://h/+3", "\"+3\""),
            ("redis://h/3/4", "\"3/4\""),
            ("redis://h?db=3", "\"db\""),
            ("redis://:sesame@h/3?db=4&x", "\"db\""),
        ] {
            let error = Redis::open(url).expect_err(url).to_string();
            // contract B1.1
            assert!(error.contains(found) && error.contains("; accepted is redis://") && !error.contains("sesame"), "{url}: {error}");
        }
        for url in ["redis://h", "redis://h/", "redis://h/0", "redis://:sesame@h:1/15"] {
            assert!(Redis::open(url).is_ok(), "{url}");
        }
        let redis = Redis::open("rediss://user:sesame@redis.example:6380/2").expect("a URL");
        assert_eq!(format!("{redis:?}"), "Redis(redis.example:6380)");
    }

    #[test]
    fn a_name_holds_only_a_digest() {
        // contract I35.5
        assert_eq!(name("login", &[0xab; 32]), format!("peristyle:login:{}", "ab".repeat(32)));
    }
}
