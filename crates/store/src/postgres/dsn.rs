//! Parses `DATABASE_URL` as libpq does: a parameter of the query part overrides what stands before it.
//!
//! The driver's own parser of URLs appends hosts and ports instead, and its errors do not name what they found. So the URL is split here, and
//! the driver parses the values of the parameters that it knows.

mod hosts;

use std::borrow::Cow;
use std::collections::BTreeMap;

use percent_encoding::{PercentDecode, percent_decode_str};
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use crate::Error;

use super::server_role::WantedRole;
use super::tls::{TlsMode, TlsSettings};
pub(super) use hosts::{Dsn, DsnHost};
use hosts::{hosts, set_timeouts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Driver,
    /// It has no effect: this driver has neither GSSAPI, nor client certificates, nor TLS before 1.2.
    Ignored,
    Here,
}

/// The parameters, each with the values that are accepted. Without a list, any value is.
const PARAMETERS: [(&str, Use, &[&str]); 30] = [
    ("host", Use::Driver, &[]),
    ("hostaddr", Use::Driver, &[]),
    ("port", Use::Driver, &[]),
    ("user", Use::Driver, &[]),
    ("password", Use::Driver, &[]),
    ("dbname", Use::Driver, &[]),
    ("fallback_application_name", Use::Here, &[]),
    ("sslmode", Use::Here, &["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]),
    ("ssl", Use::Here, &["true"]),
    ("sslrootcert", Use::Here, &[]),
    ("options", Use::Driver, &[]),
    ("application_name", Use::Driver, &[]),
    ("connect_timeout", Use::Driver, &[]),
    ("tcp_user_timeout", Use::Here, &[]),
    ("keepalives", Use::Driver, &[]),
    ("keepalives_idle", Use::Driver, &[]),
    ("keepalives_interval", Use::Driver, &[]),
    ("keepalives_retries", Use::Driver, &[]),
    ("target_session_attrs", Use::Here, &WantedRole::WORDS),
    ("channel_binding", Use::Driver, &["disable", "prefer", "require"]),
    ("load_balance_hosts", Use::Driver, &["disable", "random"]),
    ("sslnegotiation", Use::Driver, &["postgres", "direct"]),
    ("client_encoding", Use::Ignored, &["UTF8", "utf8", "UTF-8", "utf-8", "auto"]),
    ("gssencmode", Use::Ignored, &["disable", "prefer"]),
    ("gsslib", Use::Ignored, &[]),
    ("krbsrvname", Use::Ignored, &[]),
    ("sslcertmode", Use::Ignored, &["disable", "allow"]),
    ("sslcompression", Use::Ignored, &[]),
    ("sslsni", Use::Ignored, &["1"]),
    ("ssl_min_protocol_version", Use::Ignored, &["TLSv1", "TLSv1.1", "TLSv1.2"]),
];

/// The parts of a URL, still percent-encoded.
struct Parts<'u> {
    credentials: Option<&'u str>,
    hosts: &'u str,
    database: &'u str,
    query: &'u str,
}

impl<'u> Parts<'u> {
    fn of(url: &'u str) -> Option<Self> {
        let rest = ["postgres://", "postgresql://"].iter().find_map(|start| url.strip_prefix(start))?;
        // A password may hold a question mark, and a parameter may hold an @.
        let before_query = rest.split('?').next().unwrap_or(rest);
        let at = rest.find(['@', '/']).filter(|place| rest[*place..].starts_with('@')).or_else(|| before_query.find('@'));
        let (credentials, rest) = at.map_or((None, rest), |at| (Some(&rest[..at]), &rest[at + 1..]));
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (hosts, database) = place.split_once('/').unwrap_or((place, ""));
        Some(Parts { credentials, hosts, database, query })
    }
}

/// Whether a message may quote the value that it refuses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Value,
    /// The value may be a part of a password.
    Nothing,
}

impl Quote {
    /// For the parts after the credentials. An `@` that is left over may belong to a password that was not percent-encoded.
    fn after(parts: &Parts<'_>) -> Self {
        let left = [parts.hosts, parts.database, parts.query].iter().any(|part| part.contains('@'));
        if left { Quote::Nothing } else { Quote::Value }
    }

    /// For a port, which is a password if the host was forgotten.
    fn port(parts: &Parts<'_>) -> Self {
        if parts.credentials.is_some() { Quote::after(parts) } else { Quote::Nothing }
    }

    fn found(self, value: &str) -> String {
        if self == Quote::Value { format!("found {value:?}") } else { "found something else".to_owned() }
    }
}

/// Parses the URL. No message quotes a secret.
pub(super) fn parse(url: &str) -> Result<Dsn, Error> {
    let parts = Parts::of(url).ok_or_else(|| invalid("it must start with postgres:// or postgresql://"))?;
    check_no_password_left(&parts)?;
    let mut values = authority(&parts)?;
    let mut password = None;
    if let Some(credentials) = parts.credentials {
        let (user, secret) = credentials.split_once(':').map_or((credentials, None), |(user, secret)| (user, Some(secret)));
        values.insert("user", decode(user)?);
        // A password may be no UTF-8.
        password = secret.map(|secret| percent_decoded(secret).map(Cow::from)).transpose()?;
    }
    if !parts.database.is_empty() {
        values.insert("dbname", decode(parts.database)?);
    }
    read_query(parts.query, Quote::after(&parts), &mut values)?;
    check_hosts(&values)?;
    let mut config = driver_config(&values, Quote::after(&parts))?;
    if let Some(password) = password.filter(|_| config.get_password().is_none()) {
        config.password(password);
    }
    if let Some(name) = values.get("fallback_application_name").filter(|_| config.get_application_name().is_none()) {
        config.application_name(name.as_ref());
    }
    set_timeouts(&mut config, &values, Quote::after(&parts))?;
    let mode = values.get("sslmode").and_then(|word| TlsMode::from_word(word)).unwrap_or(TlsMode::Prefer);
    if values.get("sslnegotiation").is_some_and(|word| word == "direct") && mode.driver() != SslMode::Require {
        return Err(invalid("sslnegotiation=direct needs sslmode=require, verify-ca or verify-full"));
    }
    let tls = TlsSettings { mode, root: values.get("sslrootcert").map(ToString::to_string) };
    let role = values.get("target_session_attrs").and_then(|word| WantedRole::from_word(word)).unwrap_or_default();
    Ok(Dsn { config, hosts: hosts(&values), tls, role })
}

/// Refuses an `@` after the credentials: what stands before it may be the end of a password, and messages and logs show hosts.
fn check_no_password_left(parts: &Parts<'_>) -> Result<(), Error> {
    if parts.hosts.contains('@') || parts.database.contains('@') {
        return Err(invalid("write %40 for an @ in the user, the password or the database name"));
    }
    Ok(())
}

type Values<'u> = BTreeMap<&'static str, Cow<'u, str>>;

fn authority<'u>(parts: &Parts<'u>) -> Result<Values<'u>, Error> {
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for one in parts.hosts.split(',').filter(|_| !parts.hosts.is_empty()) {
        let (host, port) = match one.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(None) => return Err(invalid("close the IPv6 address with ]")),
            Some(Some((host, rest))) => (host, rest.strip_prefix(':').unwrap_or(rest)),
            None => one.split_once(':').unwrap_or((one, "")),
        };
        hosts.push(decode(host)?);
        ports.push(decode(port)?);
    }
    let mut values = Values::new();
    if !hosts.is_empty() {
        values.insert("host", hosts.join(",").into());
    }
    if ports.iter().any(|port| !port.is_empty()) {
        let ports = ports.join(",");
        check_ports(&ports, Quote::port(parts))?;
        values.insert("port", ports.into());
    }
    Ok(values)
}

fn read_query<'u>(query: &'u str, quote: Quote, values: &mut Values<'u>) -> Result<(), Error> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (decode(key)?, decode(value)?);
        // libpq's name for a parameter that the driver calls differently.
        let wanted = if key == "keepalives_count" { "keepalives_retries" } else { key.as_ref() };
        let Some((name, _, words)) = PARAMETERS.iter().find(|(name, ..)| *name == wanted) else {
            let named = if quote == Quote::Value { format!("the parameter {key:?}") } else { "a parameter".to_owned() };
            return Err(invalid(&format!("{named} is not supported; take it out")));
        };
        if !words.is_empty() && !words.contains(&value.as_ref()) {
            return Err(invalid(&format!("{name} must be {}; {}", one_of(words), quote.found(&value))));
        }
        match *name {
            "port" => check_ports(&value, quote)?,
            // JDBC's name for it.
            "ssl" => _ = values.insert("sslmode", "require".into()),
            _ => {}
        }
        values.insert(name, value);
    }
    Ok(())
}

/// `a`, or `one of a, b, c`
fn one_of(words: &[&str]) -> String {
    match words {
        [word] => (*word).to_owned(),
        words => format!("one of {}", words.join(", ")),
    }
}

fn check_ports(ports: &str, quote: Quote) -> Result<(), Error> {
    let is_port = |text: &str| text.parse::<u16>().is_ok_and(|port| port > 0) && !text.starts_with('+');
    match ports.split(',').find(|port| !port.is_empty() && !is_port(port)) {
        None => Ok(()),
        Some(port) => Err(invalid(&format!("port: {}; accepted is a whole number from 1 to {}", quote.found(port), u16::MAX))),
    }
}

fn check_hosts(values: &Values<'_>) -> Result<(), Error> {
    let [hosts, addresses, ports] = ["host", "hostaddr", "port"].map(|name| values.get(name).map_or(0, |value| value.split(',').count()));
    let count = hosts.max(addresses);
    let fits = |listed: usize| listed == 0 || listed == count;
    if !fits(hosts) || !fits(addresses) || !(ports == 1 || fits(ports)) {
        return Err(invalid("host, hostaddr and port need equally many entries; one port may stand for all hosts"));
    }
    if addresses == 0 && values.get("host").is_none_or(|hosts| hosts.split(',').any(str::is_empty)) {
        return Err(invalid(
            "the host is missing; accepted is postgres://[user[:password]@]host[:port][/database], or ?host=/path for a socket",
        ));
    }
    Ok(())
}

fn driver_config(values: &Values<'_>, quote: Quote) -> Result<Config, Error> {
    let mut text = String::new();
    for (key, value) in values {
        if !PARAMETERS.iter().any(|(name, used, _)| name == key && *used == Use::Driver) {
            continue;
        }
        let pair = format!("{key}='{}' ", value.replace('\\', "\\\\").replace('\'', "\\'"));
        // Words and ports are checked already; the driver refuses only these two kinds.
        if pair.parse::<Config>().is_err() {
            if *key == "hostaddr" {
                return Err(invalid(&format!("{key}: {}; accepted is an IP address", quote.found(value))));
            }
            return Err(invalid_number(key, value, quote));
        }
        if !["host", "hostaddr", "port"].contains(key) {
            text.push_str(&pair);
        }
    }
    text.parse().map_err(|_: tokio_postgres::Error| invalid("its parameters cannot be used together"))
}

fn decode(text: &str) -> Result<Cow<'_, str>, Error> {
    percent_decoded(text)?.decode_utf8().map_err(|_| invalid("a percent-encoded part is not UTF-8"))
}

/// Refuses a percent sign that encodes nothing, as libpq does: most likely it belongs to a password that was not percent-encoded.
fn percent_decoded(text: &str) -> Result<PercentDecode<'_>, Error> {
    let is_byte = |digits: &str| digits.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit) && two != b"00");
    if text.split('%').skip(1).all(is_byte) {
        return Ok(percent_decode_str(text));
    }
    Err(invalid("write %25 for a percent sign; otherwise two hexadecimal digits other than 00 must follow it"))
}

fn invalid_number(key: &str, value: &str, quote: Quote) -> Error {
    invalid(&format!("{key}: {}; accepted is a whole number", quote.found(value)))
}

fn invalid(reason: &str) -> Error {
    Error::Setting(format!("not a PostgreSQL URL: {reason}"))
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::Host;

    use super::*;

    fn hosts_and_ports(url: &str) -> (Vec<String>, Vec<u16>) {
        let hosts = parse(url).unwrap_or_else(|error| panic!("{url}: {error}")).hosts;
        let name = |host: &DsnHost| match &host.name {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => String::new(),
        };
        (hosts.iter().map(name).collect(), hosts.iter().map(|host| host.port).collect())
    }

    fn refusal(url: &str) -> String {
        parse(url).expect_err(url).to_string()
    }

    // contract B1.2
    #[test]
    fn host_and_port_of_the_query_part_count_as_in_libpq() {
        let of = |hosts: &[&str], ports: &[u16]| (hosts.iter().map(ToString::to_string).collect::<Vec<_>>(), ports.to_vec());
        for (url, expected) in [
            ("postgres://u@127.0.0.1/shop?port=55557", of(&["127.0.0.1"], &[55557])),
            ("postgres://u@h:1/shop?port=2", of(&["h"], &[2])),
            ("postgres://u@/shop?host=a,b&port=1,2", of(&["a", "b"], &[1, 2])),
            ("postgres://u@/shop?host=a,b&port=7", of(&["a", "b"], &[7, 7])),
            ("postgres://u@/shop?host=a%2Cb&port=,2", of(&["a", "b"], &[5432, 2])),
            ("postgres://x:1/shop?host=a", of(&["a"], &[1])),
            ("postgres://a:1,b,[::1]:3/shop", of(&["a", "b", "::1"], &[1, 5432, 3])),
            ("postgres://%2Ftmp,h/shop", of(&["/tmp", "h"], &[5432, 5432])),
            ("postgresql:///shop?host=/tmp&user=me@home", of(&["/tmp"], &[5432])),
        ] {
            assert_eq!(hosts_and_ports(url), expected, "{url}");
        }
        for url in
            ["postgres://a,b/d?port=1,2,3", "postgres://h:0/d", "postgres://h/d?port=x", "postgres://[::1/d", "postgres://h/d?hostaddr=h"]
        {
            assert!(refusal(url).contains("not a PostgreSQL URL"), "{url}");
        }
    }

    // contract B1.2
    #[test]
    fn every_other_parameter_is_honoured_or_refused() {
        let Dsn { config, tls, role, .. } = parse(
            "postgres://u:p%3F@h/d?client_encoding=UTF8&gssencmode=prefer&sslcompression=0&keepalives_count=3&target_session_attrs=read-only&fallback_application_name=x&options=-c%20a%3D'b'&ssl=true",
        )
        .expect("a URL");
        assert_eq!((config.get_application_name(), config.get_options()), (Some("x"), Some("-c a='b'")));
        assert_eq!((config.get_keepalives_retries(), role), (Some(3), WantedRole::ReadOnly));
        assert_eq!((config.get_user(), config.get_password(), config.get_dbname()), (Some("u"), Some(&b"p?"[..]), Some("d")));
        assert_eq!(tls.mode, TlsMode::Require);
        for (word, wanted) in WantedRole::WORDS.into_iter().zip([
            WantedRole::Any,
            WantedRole::ReadWrite,
            WantedRole::ReadOnly,
            WantedRole::Primary,
            WantedRole::Standby,
            WantedRole::PreferStandby,
        ]) {
            assert_eq!(parse(&format!("postgres://h/d?target_session_attrs={word}")).expect("a URL").role, wanted);
        }
        let message = refusal("postgres://h/d?target_session_attrs=master");
        assert!(message.contains("one of any, read-write, read-only, primary, standby, prefer-standby"), "{message}");
        for (parameter, name) in [
            ("sslcert=a.pem", "sslcert"),
            ("gssencmode=require", "gssencmode"),
            ("client_encoding=LATIN1", "client_encoding"),
            ("sslcrl=x", "sslcrl"),
            ("service=shop", "service"),
            ("nonsense=1", "nonsense"),
            ("connect_timeout=soon", "connect_timeout"),
        ] {
            let message = refusal(&format!("postgres://h/d?{parameter}"));
            assert!(message.contains(name), "{message}");
        }
    }

    // contract B1.1
    #[test]
    fn a_message_names_the_value_found_and_the_values_accepted() {
        for (url, found, accepted) in [
            ("postgres://u:p@h:99999/x", "\"99999\"", "1 to 65535"),
            ("postgres://u@h:abc/x", "\"abc\"", "1 to 65535"),
            ("postgres://u@a:1,b:+2/x", "\"+2\"", "1 to 65535"),
            // It could be a user with a password whose host was forgotten.
            ("postgres://h:99999/x", "port: found", "1 to 65535"),
            ("postgres://h/x?port=0", "\"0\"", "1 to 65535"),
            ("postgres://h/x?hostaddr=h", "\"h\"", "an IP address"),
            ("postgres://h/x?connect_timeout=abc", "connect_timeout: found \"abc\"", "a whole number"),
            ("postgres://h/x?tcp_user_timeout=10s", "tcp_user_timeout: found \"10s\"", "a whole number"),
            ("postgres://h/x?keepalives_count=-1", "keepalives_retries: found \"-1\"", "a whole number"),
            ("postgres:///x", "the host is missing", "?host=/path"),
            ("postgres://u@:5432/x", "the host is missing", "host[:port]"),
            ("postgres://a,/x", "the host is missing", "host[:port]"),
            ("postgres://h/x?host=", "the host is missing", "host[:port]"),
        ] {
            let message = refusal(url);
            assert!(message.contains("not a PostgreSQL URL") && message.contains(found) && message.contains(accepted), "{url}: {message}");
        }
        for url in ["postgres://u:50%@h/x", "postgres://u:a%zz@h/x", "postgres://%2/x", "postgres://h/x%00", "postgres://h/x?user=%e"] {
            assert!(refusal(url).contains("write %25"), "{url}");
        }
        assert!(parse("postgres:///x?hostaddr=127.0.0.1&connect_timeout=-1").is_ok());
        assert!(refusal("postgres://h/x?sslnegotiation=direct").contains("sslmode=require"));
        assert!(parse("postgres://h/x?sslnegotiation=direct&sslmode=verify-full").is_ok());
    }

    #[test]
    fn sslmode_and_sslrootcert_are_read_as_in_libpq() {
        let Dsn { config, tls, .. } =
            parse("postgres://u:p@h:5433/d?sslmode=verify-full&sslrootcert=%2Fa%20b.pem&application_name=x").expect("a URL");
        assert_eq!(tls, TlsSettings { mode: TlsMode::VerifyFull, root: Some("/a b.pem".to_owned()) });
        assert_eq!(config.get_application_name(), Some("x"));
        assert!(
            refusal("postgres://h/d?sslmode=maybe")
                .contains("sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full; found \"maybe\"")
        );
    }

    // contract B1.2
    #[test]
    fn an_at_sign_in_a_password_is_refused_unless_it_is_encoded() {
        for url in ["postgres://u:s3@cret@h/d", "postgres://u:s3@cret@h:1/d", "postgres://u:s3@cret/word@h/d", "postgres://u@h/d@e"] {
            let message = refusal(url);
            assert!(message.contains("write %40 for an @") && !message.contains("cret"), "{url}: {message}");
        }
        let Dsn { config, hosts, .. } = parse("postgres://u:s3%40cret@h/d%40e").expect("a URL");
        assert_eq!((config.get_password(), config.get_dbname()), (Some(&b"s3@cret"[..]), Some("d@e")));
        assert_eq!(hosts[0].to_string(), "h:5432");
    }

    #[test]
    fn no_message_quotes_the_password() {
        for url in [
            "postgres://u:sesame@h:notaport/d",
            "postgres://u:sesame@h/d?nonsense=1",
            "postgres://h/d?password=sesame&port=x",
            "sesame",
            // Passwords that should have been encoded, and one without its host.
            "postgres://u:sesame/d",
            "postgres://u:se@sa:sesame@h:1/d",
            "postgres://u:se@sesame@h/d",
            "postgres://u:se@sesame/x@h/d",
            "postgres://u:a/b?sesame@h/d",
            "postgres://u:sesame/b?port=x@h/d",
            "postgres://u:1/b?port=sesame@h/d",
            "postgres://u:1/b?sslmode=sesame@h/d",
        ] {
            let error = refusal(url);
            assert!(!error.contains("sesame"), "{error}");
        }
    }
}
