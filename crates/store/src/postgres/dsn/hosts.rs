//! What a URL says of its hosts and of the timeouts of their connections.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::Error;

use super::super::CONNECT_TIMEOUT;
use super::super::server_role::WantedRole;
use super::super::tls::TlsSettings;
use super::{Quote, Values, invalid_number};

const PORT: u16 = 5432;

/// How long sent data may stay unacknowledged. The system's own limit is about a quarter of an hour.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(10);
/// When and how often the system asks an idle connection for a sign of life.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVE_RETRIES: u32 = 3;

/// What a URL says.
#[derive(Debug)]
pub(in crate::postgres) struct Dsn {
    /// Everything but the hosts.
    pub(in crate::postgres) config: Config,
    pub(in crate::postgres) hosts: Vec<DsnHost>,
    pub(in crate::postgres) tls: TlsSettings,
    pub(in crate::postgres) role: WantedRole,
}

/// One of the hosts: a name, an IP address or both, or the folder of a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::postgres) struct DsnHost {
    pub(in crate::postgres) name: Option<Host>,
    pub(in crate::postgres) address: Option<IpAddr>,
    pub(in crate::postgres) port: u16,
}

impl fmt::Display for DsnHost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.address) {
            (Some(Host::Unix(folder)), _) => write!(out, "{}", folder.join(format!(".s.PGSQL.{}", self.port)).display()),
            (Some(Host::Tcp(name)), _) if name.contains(':') => write!(out, "[{name}]:{}", self.port),
            (Some(Host::Tcp(name)), _) => write!(out, "{name}:{}", self.port),
            (None, Some(address)) => write!(out, "{}", SocketAddr::new(address, self.port)),
            (None, None) => Ok(()),
        }
    }
}

impl Dsn {
    /// The same URL for each of its hosts alone. One host cannot be preferred to another then.
    pub(in crate::postgres) fn each_host(self) -> impl Iterator<Item = Dsn> {
        let Dsn { config, hosts, tls, role } = self;
        let role = if role == WantedRole::PreferStandby { WantedRole::Standby } else { role };
        hosts.into_iter().map(move |host| Dsn { config: config.clone(), hosts: vec![host], tls: tls.clone(), role })
    }

    /// The settings of a connection to this host, at this address of it.
    pub(in crate::postgres) fn config_for(&self, host: &DsnHost, address: Option<IpAddr>) -> Config {
        let mut config = self.config.clone();
        config.port(host.port);
        // As in libpq, a Unix socket never uses TLS.
        config.ssl_mode(if matches!(host.name, Some(Host::Unix(_))) { SslMode::Disable } else { self.tls.mode.driver() });
        match &host.name {
            Some(Host::Tcp(name)) => _ = config.host(name),
            Some(Host::Unix(folder)) => _ = config.host_path(folder),
            // TLS needs a name, which may be an address.
            None => _ = address.map(|address| config.host(address.to_string())),
        }
        if let Some(address) = address {
            config.hostaddr(address);
        }
        config
    }
}

/// Sets the timeouts that the URL leaves out.
pub(super) fn set_timeouts(config: &mut Config, values: &Values<'_>, quote: Quote) -> Result<(), Error> {
    // The driver would take libpq's milliseconds for seconds.
    let milliseconds = match values.get("tcp_user_timeout") {
        None => None,
        Some(text) => Some(text.parse::<u64>().map_err(|_| invalid_number("tcp_user_timeout", text, quote))?),
    };
    match milliseconds {
        None => _ = config.tcp_user_timeout(TCP_USER_TIMEOUT),
        // The system's own.
        Some(0) => {}
        Some(milliseconds) => _ = config.tcp_user_timeout(Duration::from_millis(milliseconds)),
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if !values.contains_key("keepalives_idle") {
        config.keepalives_idle(KEEPALIVE_IDLE);
    }
    if !values.contains_key("keepalives_interval") {
        config.keepalives_interval(KEEPALIVE_INTERVAL);
    }
    if !values.contains_key("keepalives_retries") {
        config.keepalives_retries(KEEPALIVE_RETRIES);
    }
    Ok(())
}

/// The hosts, of which there are as many as of any list; one port counts for all.
pub(super) fn hosts(values: &Values<'_>) -> Vec<DsnHost> {
    let list = |name: &str| values.get(name).map_or_else(Vec::new, |value| value.split(',').map(str::to_owned).collect());
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
    let host = |index: usize| DsnHost {
        name: names.get(index).map(|name| if name.starts_with('/') { Host::Unix(name.into()) } else { Host::Tcp(name.clone()) }),
        address: addresses.get(index).and_then(|address| address.parse().ok()),
        port: ports.get(index).or(ports.first()).and_then(|port| port.parse().ok()).unwrap_or(PORT),
    };
    (0..names.len().max(addresses.len())).map(host).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    // contract B1.2
    #[test]
    fn a_host_without_a_name_has_its_address_as_the_name_of_its_certificate() {
        let dsn = parse("postgres://u@/d?hostaddr=127.0.0.1&sslmode=require").expect("a URL");
        let address = dsn.hosts[0].address;
        let config = dsn.config_for(&dsn.hosts[0], address);
        assert_eq!(config.get_hosts(), [Host::Tcp("127.0.0.1".to_owned())]);
        assert_eq!(config.get_hostaddrs(), [address.expect("an address")]);
    }

    // contract B1.2
    #[test]
    fn a_connection_that_no_longer_answers_is_found_within_seconds() {
        let timeouts = |url: &str| {
            let config = parse(url).expect(url).config;
            let keepalive = (config.get_keepalives_idle(), config.get_keepalives_interval(), config.get_keepalives_retries());
            (config.get_connect_timeout().copied(), config.get_tcp_user_timeout().copied(), keepalive)
        };
        let seconds = Duration::from_secs;
        let found = (Some(seconds(5)), Some(seconds(10)), (seconds(5), Some(seconds(2)), Some(3)));
        assert_eq!(timeouts("postgres://h/d"), found);
        let url = "postgres://h/d?connect_timeout=2&tcp_user_timeout=1500&keepalives_idle=60&keepalives_interval=7&keepalives_count=9";
        assert_eq!(timeouts(url), (Some(seconds(2)), Some(Duration::from_millis(1500)), (seconds(60), Some(seconds(7)), Some(9))));
        assert_eq!(timeouts("postgres://h/d?tcp_user_timeout=0").1, None);
    }
}
