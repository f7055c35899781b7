//! One new connection to one host: TCP, TLS, login and the first statement, within one time limit.

use std::io::ErrorKind::{HostUnreachable, NetworkUnreachable, TimedOut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Error as DriverError, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

use super::host::PostgresHost;
use super::host_state::AttemptEnd;
use super::server_role::{ROLE, ServerRole, WantedRole};

/// How long a connection that nobody uses any more may wait for answers that are still to come.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The only encoding that holds every string of a client.
const ACCEPTED_ENCODING: &str = "UTF8";

/// The oldest major version that the tests run on.
const MIN_VERSION: u32 = 13;

/// What a new connection is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptRequest<'r> {
    pub(super) role: WantedRole,
    /// The statement to run first; none if a login is enough.
    pub(super) setup: Option<&'r str>,
    pub(super) limit: Duration,
}

/// A new connection.
pub(super) struct RawConnection {
    pub(super) client: Client,
    pub(super) driver: DriverTask,
    pub(super) host: Arc<PostgresHost>,
    /// Whether a server in another role is preferred.
    pub(super) is_spare: bool,
    /// The version and the encoding that the server reports. A pooler may report none.
    version: Option<String>,
    encoding: Option<String>,
}

/// Why there is no new connection.
#[derive(Debug)]
pub(super) struct AttemptFailure {
    pub(super) end: AttemptEnd,
    pub(super) kind: FailureKind,
    pub(super) reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// All connections that the server allows are taken.
    TooManyConnections,
    /// The server is not what the DSN asks for.
    OtherRole,
    Other,
}

/// The task that sends and receives for a connection. It ends when the client is dropped and all answers have come, which may be never. So
/// it is aborted a while after it was dropped, and the server learns that nobody waits.
pub(super) struct DriverTask(Option<JoinHandle<()>>);

impl Drop for DriverTask {
    fn drop(&mut self) {
        let Some(task) = self.0.take().filter(|task| !task.is_finished()) else { return };
        let Ok(runtime) = Handle::try_current() else { return task.abort() };
        runtime.spawn(async move {
            let abort = task.abort_handle();
            if tokio::time::timeout(CLOSE_TIMEOUT, task).await.is_err() {
                abort.abort();
            }
        });
    }
}

impl RawConnection {
    /// Refuses a server that is too old, and a database in another encoding.
    pub(super) fn check_server(&self) -> Result<(), Error> {
        if let Some(version) = self.version.as_deref().filter(|version| major(version).is_some_and(|major| major < MIN_VERSION)) {
            return Err(Error::Setting(format!("the server is PostgreSQL {version}; accepted is PostgreSQL {MIN_VERSION} or newer")));
        }
        match self.encoding.as_deref() {
            None | Some(ACCEPTED_ENCODING) => Ok(()),
            Some(other) => Err(Error::Setting(format!(
                "the encoding of the database is {other}; accepted is {ACCEPTED_ENCODING}: make a new one (createdb -E UTF8 -T template0) and load the data into it"
            ))),
        }
    }

    /// The first value of an answer, without preparing anything.
    pub(super) async fn first_value(&self, sql: &str) -> Result<Option<String>, Error> {
        Ok(first_row(&self.client, sql).await?.map(|[first, _]| first))
    }
}

/// Makes a new connection to a host.
pub(super) async fn connect(
    host: &Arc<PostgresHost>,
    tls: &MakeRustlsConnect,
    request: AttemptRequest<'_>,
) -> Result<RawConnection, AttemptFailure> {
    let began = Instant::now();
    let end = tokio::time::Instant::from_std(began + request.limit);
    let late = |end, what: &str| {
        let reason = format!("no answer{what} within {} s", request.limit.as_secs_f32());
        AttemptFailure { end, kind: FailureKind::Other, reason }
    };
    let refused = |error: DriverError| refusal(error, began.elapsed() < host.timeouts.probe_delay);
    let logged_in = tokio::time::timeout_at(end, log_in(host, tls)).await;
    let mut connection = logged_in.map_err(|_| late(AttemptEnd::NoAnswer, ""))?.map_err(refused)?;
    let Some(first) = first_statement(request) else { return Ok(connection) };
    let answered = tokio::time::timeout_at(end, first_row(&connection.client, &first)).await;
    let row = answered.map_err(|_| late(AttemptEnd::LoginOnly, " to a statement"))?.map_err(refused)?;
    if let (Some([is_standby, read_only]), true) = (row, request.role != WantedRole::Any) {
        let server = ServerRole { is_standby: is_standby == "t", takes_writes: read_only == "off" };
        match request.role.refusal(server) {
            None => {}
            Some(_) if request.role == WantedRole::PreferStandby => connection.is_spare = true,
            Some(reason) => {
                return Err(AttemptFailure { end: AttemptEnd::Refused, kind: FailureKind::OtherRole, reason: reason.to_owned() });
            }
        }
    }
    Ok(connection)
}

/// Everything that is asked and set first, in one round trip.
fn first_statement(request: AttemptRequest<'_>) -> Option<String> {
    match (request.role, request.setup) {
        (WantedRole::Any, setup) => setup.map(str::to_owned),
        (_, setup) => Some(format!("{ROLE}; {}", setup.unwrap_or_default())),
    }
}

async fn log_in(host: &Arc<PostgresHost>, tls: &MakeRustlsConnect) -> Result<RawConnection, DriverError> {
    let (client, connection) = host.config.connect(tls.clone()).await?;
    let [version, encoding] = ["server_version", "server_encoding"].map(|name| connection.parameter(name).map(str::to_owned));
    let driver = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a PostgreSQL connection ended");
        }
    });
    Ok(RawConnection { client, driver: DriverTask(Some(driver)), host: host.clone(), is_spare: false, version, encoding })
}

/// The first two values of the first row of an answer; an absent one is empty.
async fn first_row(client: &Client, sql: &str) -> Result<Option<[String; 2]>, DriverError> {
    let answer = client.simple_query(sql).await?;
    let mut rows = answer.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some([0, 1].map(|index| row.try_get(index).ok().flatten().unwrap_or_default().to_owned())),
        _ => None,
    });
    Ok(rows.next())
}

/// A refused connection is a sign of life. The system may also give up waiting, or know no way to the host.
fn refusal(error: DriverError, is_at_once: bool) -> AttemptFailure {
    let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    let end = match cause {
        Some(HostUnreachable | NetworkUnreachable) if is_at_once => AttemptEnd::Unreachable,
        Some(TimedOut | HostUnreachable | NetworkUnreachable) => AttemptEnd::NoAnswer,
        _ => AttemptEnd::Refused,
    };
    let has_no_room = error.code().is_some_and(|code| code.code() == "53300");
    let reason = match Error::from(error) {
        Error::Unavailable(reason) => reason,
        other => other.to_string(),
    };
    AttemptFailure { end, kind: if has_no_room { FailureKind::TooManyConnections } else { FailureKind::Other }, reason }
}

/// The major of a version such as `16.14 (Debian 16.14-1)` or `18beta1`.
fn major(version: &str) -> Option<u32> {
    let end = version.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(version.len());
    version[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn the_major_is_the_number_at_the_front_of_a_version() {
        let versions =
            [("9.6.24", 9), ("12.22", 12), ("13.23", 13), ("16.14 (Debian 16.14-1.pgdg12+1)", 16), ("18beta1", 18), ("20devel", 20)];
        for (version, expected) in versions {
            assert_eq!(major(version), Some(expected), "{version}");
        }
        for unknown in ["", "devel", "99999999999.1"] {
            assert_eq!(major(unknown), None, "{unknown}");
        }
    }
}
