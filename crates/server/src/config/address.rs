//! Addresses in the environment. Those that may hold a password are not repeated in a message.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

use super::{Config, ConfigError, Variable, wrong};

/// The scheme decides; the database itself reads the rest.
pub(super) fn database_url(variable: &Variable<'_>, default: &str) -> Result<String, ConfigError> {
    let url = variable.value.unwrap_or(default);
    let is_known = is_postgres(url) || names(url, "sqlite://") || url == "sqlite::memory:";
    if url.starts_with("sqlite://") && url.contains('?') {
        return Err(wrong(variable.variable, url, "sqlite://PATH, without parameters after a `?`"));
    }
    if is_known {
        Ok(url.to_owned())
    } else {
        Err(wrong(variable.variable, &scheme(url), "sqlite://PATH, sqlite::memory: or postgres://…"))
    }
}

/// The address of a replica of the database at `primary`.
pub(super) fn read_url(variable: &Variable<'_>, primary: &str) -> Result<Option<String>, ConfigError> {
    let Some(url) = variable.value else { return Ok(None) };
    if !is_postgres(url) {
        return Err(wrong(variable.variable, &scheme(url), "postgres://…, the address of a PostgreSQL replica"));
    }
    if !is_postgres(primary) {
        let problem =
            "found a replica of a SQLite database, which has none; accepted is postgres://… beside a DATABASE_URL of postgres://…";
        return Err(ConfigError { variable: variable.variable, problem: problem.to_owned() });
    }
    Ok(Some(url.to_owned()))
}

pub(super) fn redis_url(variable: &Variable<'_>) -> Result<Option<String>, ConfigError> {
    let Some(url) = variable.value else { return Ok(None) };
    match store::replica_state::check_redis_url(url) {
        Ok(()) => Ok(Some(url.to_owned())),
        Err(error) => Err(ConfigError { variable: variable.variable, problem: error.to_string() }),
    }
}

/// An origin: scheme and host, perhaps a port; one trailing slash is dropped, a path is refused.
pub(super) fn origin(variable: &'static str, text: &str) -> Result<String, ConfigError> {
    let bare = text.strip_suffix('/').unwrap_or(text);
    if identity::origin::is_origin(bare) {
        return Ok(bare.to_owned());
    }
    Err(wrong(variable, text, "an origin such as https://api.example.com, without a path"))
}

/// An origin of `APP_CORS_ORIGIN`, as browsers spell it: what they send is compared with it.
pub(super) fn cors_origin(text: &str) -> Result<String, ConfigError> {
    origin("APP_CORS_ORIGIN", text).map(|origin| identity::origin::spelled(&origin))
}

fn is_postgres(url: &str) -> bool {
    names(url, "postgres://") || names(url, "postgresql://")
}

fn names(url: &str, scheme: &str) -> bool {
    url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty())
}

fn scheme(url: &str) -> String {
    let scheme: String = url.chars().take_while(|character| *character != ':').take(20).collect();
    format!("{scheme}:…")
}

/// One address, or all addresses of a network. One of IPv4 is the same when it is written as IPv6 would carry it.
pub(super) fn network(text: &str) -> Option<IpNet> {
    let one = text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
    one.ok().or_else(|| text.parse().ok())
}

impl Config {
    /// The same process once it is known where it listens: an address that was taken from there is the real one.
    pub(crate) fn listening_at(&self, listen: SocketAddr) -> Self {
        let is_default = self.app_url == format!("http://{}", self.listen);
        let app_url = if is_default { format!("http://{listen}") } else { self.app_url.clone() };
        Config { listen, app_url, ..self.clone() }
    }
}
