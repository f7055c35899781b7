//! What is shared through Redis: one connection for all calls, made anew when it breaks, and never waited for long.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use ::redis::aio::{MultiplexedConnection, PubSub};
use ::redis::{AsyncConnectionConfig, Client, ConnectionAddr, FromRedisValue, Pipeline, RedisError};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::{Entry, Error, Key};

/// How long a connection may take, and how long an answer.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long after a failed connection the next is tried: until then calls fail at once.
const PAUSE: Duration = Duration::from_millis(250);
const CHANNEL: &str = "peristyle:invalidate";
const ACCEPTED: &str = "redis://[user[:password]@]host[:port][/database], or rediss:// for TLS";

#[derive(Clone)]
pub(super) struct Redis {
    client: Arc<Client>,
    line: Arc<Mutex<Line>>,
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The rest of the address may hold a password.
        write!(out, "Redis({})", self.client.get_connection_info().addr())
    }
}

/// The connection, if there is one, and when the last one could not be made.
#[derive(Default)]
struct Line {
    open: Option<MultiplexedConnection>,
    /// Tells connections apart, so that one that broke is dropped once.
    number: u64,
    failed: Option<(Instant, Error)>,
}

impl Redis {
    /// Reads the address; connects to nothing yet.
    pub(super) fn open(url: &str) -> Result<Self, Error> {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        if !["redis", "rediss"].contains(&scheme) {
            return Err(unusable("it does not begin with redis:// or rediss://"));
        }
        if url.contains('#') {
            return Err(unusable("it has a fragment"));
        }
        check_rest(url)?;
        // The driver's words for what it refuses name the part, never what stands there.
        let client = Client::open(url).map_err(|error| unusable(error.detail().unwrap_or(&error.category().to_lowercase())))?;
        if matches!(client.get_connection_info().addr(), ConnectionAddr::TcpTls { .. }) {
            // The driver takes whatever the process has chosen; without a choice it would not know which.
            _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        }
        Ok(Redis { client: Arc::new(client), line: Arc::default() })
    }

    pub(super) async fn put(&self, kind: &'static str, key: &Key, entry: &Entry<'_>) -> Result<(), Error> {
        let mut commands = ::redis::pipe();
        // Redis refuses to keep something for no time at all.
        commands.cmd("SET").arg(name(kind, key)).arg(entry.value).arg("EX").arg(entry.seconds.max(1)).ignore();
        self.ask(&commands).await
    }

    pub(super) async fn take(&self, kind: &'static str, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        let name = name(kind, key);
        let mut commands = ::redis::pipe();
        // GETDEL says the same in one word, from Redis 6.2 on.
        commands.atomic().cmd("GET").arg(&name).cmd("DEL").arg(&name).ignore();
        let (value,) = self.ask(&commands).await?;
        Ok(value)
    }

    pub(super) async fn count(&self, kind: &'static str, key: &Key, seconds: u64) -> Result<u64, Error> {
        let name = name(kind, key);
        let mut commands = ::redis::pipe();
        commands.atomic().cmd("SET").arg(&name).arg(0).arg("EX").arg(seconds.max(1)).arg("NX").ignore().cmd("INCR").arg(&name);
        let (count,) = self.ask(&commands).await?;
        Ok(count)
    }

    pub(super) async fn counted(&self, kind: &'static str, key: &Key) -> Result<u64, Error> {
        let mut commands = ::redis::pipe();
        commands.cmd("GET").arg(name(kind, key));
        let (count,): (Option<u64>,) = self.ask(&commands).await?;
        Ok(count.unwrap_or_default())
    }

    pub(super) async fn ping(&self) -> Result<(), Error> {
        let mut commands = ::redis::pipe();
        commands.cmd("PING").ignore();
        self.ask(&commands).await
    }

    pub(super) async fn publish(&self, message: &str) -> Result<(), Error> {
        let mut commands = ::redis::pipe();
        commands.cmd("PUBLISH").arg(CHANNEL).arg(message).ignore();
        self.ask(&commands).await
    }

    /// A connection that hears what is published.
    pub(super) async fn listen(&self) -> Result<PubSub, Error> {
        let listening = async {
            let mut line = self.client.get_async_pubsub().await?;
            line.subscribe(CHANNEL).await?;
            Ok::<_, RedisError>(line)
        };
        let late = |_| Error::Unavailable("no answer in time".to_owned());
        timeout(2 * PATIENCE, listening).await.map_err(late)?.map_err(|error| unavailable(&error))
    }

    /// Sends commands, once more if the connection was found broken: each may happen twice without harm. A value that was taken and
    /// got lost on the way is gone either way, and a count that is one too high only refuses sooner.
    async fn ask<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, Error> {
        let (number, mut connection) = self.connection().await?;
        let error = match commands.query_async(&mut connection).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if !error.is_io_error() {
            return Err(unavailable(&error));
        }
        self.hang_up(number).await;
        if error.is_timeout() {
            return Err(unavailable(&error));
        }
        let (number, mut connection) = self.connection().await?;
        match commands.query_async(&mut connection).await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                self.hang_up(number).await;
                Err(unavailable(&error))
            }
        }
    }

    /// Drops a connection that broke or fell silent, unless it was replaced already.
    async fn hang_up(&self, number: u64) {
        let mut line = self.line.lock().await;
        if line.number == number {
            line.open = None;
        }
    }

    /// The connection, made now if there is none. Others wait for the same one.
    async fn connection(&self) -> Result<(u64, MultiplexedConnection), Error> {
        let mut line = self.line.lock().await;
        if let Some(open) = &line.open {
            return Ok((line.number, open.clone()));
        }
        if let Some((at, error)) = &line.failed
            && at.elapsed() < PAUSE
        {
            return Err(error.clone());
        }
        let settings = AsyncConnectionConfig::new().set_connection_timeout(Some(PATIENCE)).set_response_timeout(Some(PATIENCE));
        match self.client.get_multiplexed_async_connection_with_config(&settings).await {
            Ok(open) => {
                line.number += 1;
                line.open = Some(open.clone());
                line.failed = None;
                Ok((line.number, open))
            }
            Err(error) => {
                let error = unavailable(&error);
                line.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }
}

/// The name of a value: whoever reads Redis learns nothing that could be used elsewhere.
fn name(kind: &'static str, key: &Key) -> String {
    let mut name = format!("peristyle:{kind}:");
    for byte in key {
        _ = write!(name, "{byte:02x}");
    }
    name
}

fn unusable(reason: &str) -> Error {
    Error::Setting(format!("not the address of a Redis: {reason}; accepted is {ACCEPTED}"))
}

/// What follows the host: a number of digits or nothing. The driver takes a sign, and passes over parameters it does not know.
fn check_rest(url: &str) -> Result<(), Error> {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.find(['/', '?']).map_or("", |end| &rest[end..]);
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    // With an @ behind the host, what stands there may be a part of a password that should have been encoded.
    let found = |what: &str, value: &str| if rest.contains('@') { what.to_owned() } else { format!("{what} {value:?}") };
    if let Some(query) = query {
        let name = query.split(['=', '&']).next().unwrap_or_default();
        return Err(unusable(&format!("it has parameters behind a `?`; found {}", found("the parameter", name))));
    }
    let database = path.strip_prefix('/').unwrap_or(path);
    if database.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    Err(unusable(&format!("a database is a whole number from 0; found {}", found("the database", database))))
}

fn unavailable(error: &RedisError) -> Error {
    Error::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_used_is_refused_in_words_and_without_its_password() {
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
        let redis = Redis::open("rediss://user:sesame@redis.example:6380/2").expect("an address");
        assert_eq!(format!("{redis:?}"), "Redis(redis.example:6380)");
    }

    #[test]
    fn a_name_tells_no_more_than_a_digest() {
        // contract I35.5
        assert_eq!(name("login", &[0xab; 32]), format!("peristyle:login:{}", "ab".repeat(32)));
    }
}
