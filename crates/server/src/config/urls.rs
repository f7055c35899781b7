//! Settings that are URLs, DSNs or networks. A message never repeats a DSN, since it may hold a password.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use store::Database;

use super::{Config, ConfigError, Setting, invalid};

pub(super) fn database_url(setting: &Setting<'_>, default: &str) -> Result<String, ConfigError> {
    let url = setting.value.unwrap_or(default);
    let is_known = is_postgres(url) || has_scheme(url, "sqlite://") || url == "sqlite::memory:";
    if url.starts_with("sqlite://") && url.contains('?') {
        return Err(invalid(setting.name, url, "sqlite://PATH, without parameters after a `?`"));
    }
    if is_known {
        checked(setting, url)
    } else {
        Err(invalid(setting.name, &scheme_only(url), "sqlite://PATH, sqlite::memory: or postgres://…"))
    }
}

/// The DSN, if it is well-formed. The message names the part that is not, and repeats no secret.
fn checked(setting: &Setting<'_>, url: &str) -> Result<String, ConfigError> {
    Database::check_url(url).map_err(|error| ConfigError { variable: setting.name, problem: error.to_string() })?;
    Ok(url.to_owned())
}

pub(super) fn read_url(setting: &Setting<'_>, primary: &str) -> Result<Option<String>, ConfigError> {
    let Some(url) = setting.value else { return Ok(None) };
    if !is_postgres(url) {
        return Err(invalid(setting.name, &scheme_only(url), "postgres://…, the DSN of a PostgreSQL read replica"));
    }
    if !is_postgres(primary) {
        let problem = "SQLite has no read replicas; accepted is postgres://… together with a DATABASE_URL of postgres://…";
        return Err(ConfigError { variable: setting.name, problem: problem.to_owned() });
    }
    checked(setting, url).map(Some)
}

/// The DSN for writes, another role or another address of the same PostgreSQL.
pub(super) fn write_url(setting: &Setting<'_>, primary: &str) -> Result<Option<String>, ConfigError> {
    let Some(url) = setting.value else { return Ok(None) };
    if !is_postgres(url) {
        return Err(invalid(setting.name, &scheme_only(url), "postgres://…, the DSN for writes to the database of DATABASE_URL"));
    }
    if !is_postgres(primary) {
        let problem = "SQLite has one writer, which uses the file of DATABASE_URL; accepted is postgres://… together with a DATABASE_URL of \
                       postgres://…";
        return Err(ConfigError { variable: setting.name, problem: problem.to_owned() });
    }
    checked(setting, url).map(Some)
}

pub(super) fn redis_url(setting: &Setting<'_>) -> Result<Option<String>, ConfigError> {
    let Some(url) = setting.value else { return Ok(None) };
    match store::replica_state::check_redis_url(url) {
        Ok(()) => Ok(Some(url.to_owned())),
        Err(error) => Err(ConfigError { variable: setting.name, problem: error.to_string() }),
    }
}

/// An origin: scheme, host and optional port. One trailing slash is dropped; a path is refused.
pub(super) fn origin(name: &'static str, text: &str) -> Result<String, ConfigError> {
    let bare = text.strip_suffix('/').unwrap_or(text);
    if identity::origin::is_origin(bare) {
        return Ok(bare.to_owned());
    }
    Err(invalid(name, text, "an origin such as https://api.example.com, without a path"))
}

/// An origin of APP_CORS_ORIGIN, spelled as browsers send it.
pub(super) fn cors_origin(text: &str) -> Result<String, ConfigError> {
    origin("APP_CORS_ORIGIN", text).map(|origin| identity::origin::spelled(&origin))
}

fn is_postgres(url: &str) -> bool {
    has_scheme(url, "postgres://") || has_scheme(url, "postgresql://")
}

fn has_scheme(url: &str, scheme: &str) -> bool {
    url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty())
}

fn scheme_only(url: &str) -> String {
    if !url.contains(':') {
        return "…".to_owned();
    }
    let scheme: String = url.chars().take_while(|character| *character != ':').take(20).collect();
    format!("{scheme}:…")
}

/// An item of TRUSTED_PROXIES: an IP address or a network. An IPv4 address in IPv6 notation counts as IPv4.
pub(super) fn trusted_network(text: &str) -> Result<IpNet, ConfigError> {
    let address = text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
    let accepted = "a comma-separated list of IP addresses and networks such as 10.0.0.1, 10.2.0.0/16";
    address.or_else(|_| text.parse()).map_err(|_| invalid("TRUSTED_PROXIES", text, accepted))
}

impl Config {
    /// The settings after the listener is bound: an app URL that was made from LISTEN gets the real port.
    pub(crate) fn listening_at(&self, listen: SocketAddr) -> Self {
        let is_default = self.app_url == format!("http://{}", self.listen);
        let app_url = if is_default { format!("http://{listen}") } else { self.app_url.clone() };
        Config { listen, app_url, ..self.clone() }
    }
}
