//! The address, as libpq reads it: what the query part says of host, port and the rest stands above what comes before it.

use std::borrow::Cow;
use std::net::IpAddr;

use percent_encoding::{PercentDecode, percent_decode_str};
use tokio_postgres::Config;

use crate::Error;

use super::tls::{Mode, TlsSettings};

/// What a port is when none is said.
pub(super) const PORT: u16 = 5432;
/// What becomes of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The driver knows it by the same name.
    Driver,
    /// It changes nothing here: GSSAPI is never used, nor a client's certificate, nor TLS before 1.2.
    Nothing,
    /// It is read here.
    Here,
}

/// The parameters whose values are words, with the words that can be honoured, and those that take any value.
const PARAMETERS: [(&str, Use, &[&str]); 30] = [
    ("host", Use::Here, &[]),
    ("hostaddr", Use::Here, &[]),
    ("port", Use::Here, &[]),
    ("user", Use::Here, &[]),
    ("password", Use::Here, &[]),
    ("dbname", Use::Here, &[]),
    ("fallback_application_name", Use::Here, &[]),
    ("sslmode", Use::Here, &["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]),
    ("ssl", Use::Here, &["true"]),
    ("sslrootcert", Use::Here, &[]),
    ("options", Use::Driver, &[]),
    ("application_name", Use::Driver, &[]),
    ("connect_timeout", Use::Driver, &[]),
    ("tcp_user_timeout", Use::Driver, &[]),
    ("keepalives", Use::Driver, &[]),
    ("keepalives_idle", Use::Driver, &[]),
    ("keepalives_interval", Use::Driver, &[]),
    ("keepalives_retries", Use::Driver, &[]),
    ("target_session_attrs", Use::Driver, &["any", "read-write", "read-only"]),
    ("channel_binding", Use::Driver, &["disable", "prefer", "require"]),
    ("load_balance_hosts", Use::Driver, &["disable", "random"]),
    ("sslnegotiation", Use::Driver, &["postgres", "direct"]),
    ("client_encoding", Use::Nothing, &["UTF8", "utf8", "UTF-8", "utf-8", "auto"]),
    ("gssencmode", Use::Nothing, &["disable", "prefer"]),
    ("gsslib", Use::Nothing, &[]),
    ("krbsrvname", Use::Nothing, &[]),
    ("sslcertmode", Use::Nothing, &["disable", "allow"]),
    ("sslcompression", Use::Nothing, &[]),
    ("sslsni", Use::Nothing, &["1"]),
    ("ssl_min_protocol_version", Use::Nothing, &["TLSv1", "TLSv1.1", "TLSv1.2"]),
];

/// An address in its parts, still encoded.
struct Parts<'u> {
    credentials: Option<&'u str>,
    hosts: &'u str,
    database: &'u str,
    query: &'u str,
}

impl<'u> Parts<'u> {
    fn of(url: &'u str) -> Option<Self> {
        let rest = ["postgres://", "postgresql://"].iter().find_map(|start| url.strip_prefix(start))?;
        // A password may hold a question mark, and what is asked may hold an @.
        let before_query = rest.split('?').next().unwrap_or(rest);
        let at = rest.find(['@', '/']).filter(|place| rest[*place..].starts_with('@')).or_else(|| before_query.find('@'));
        let (credentials, rest) = at.map_or((None, rest), |at| (Some(&rest[..at]), &rest[at + 1..]));
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (hosts, database) = place.split_once('/').unwrap_or((place, ""));
        Some(Parts { credentials, hosts, database, query })
    }
}

/// Whether a message may repeat what it found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Found,
    /// It may be a part of a password.
    Nothing,
}

impl Quote {
    /// For what follows the credentials. An `@` that is left over may be of a password that should have been encoded.
    fn after(parts: &Parts<'_>) -> Self {
        let left = [parts.hosts, parts.database, parts.query].iter().any(|part| part.contains('@'));
        if left { Quote::Nothing } else { Quote::Found }
    }

    /// For what follows a host and a colon, which is a password where the host was forgotten.
    fn beside_host(parts: &Parts<'_>) -> Self {
        if parts.credentials.is_some() { Quote::after(parts) } else { Quote::Nothing }
    }

    /// `found "x"`
    fn found(self, value: &str) -> String {
        if self == Quote::Found { format!("found {value:?}") } else { "found something else".to_owned() }
    }
}

/// Where to connect: each list as it was said last.
#[derive(Default)]
struct Places {
    hosts: Vec<String>,
    ports: Vec<u16>,
    addresses: Vec<IpAddr>,
}

/// Reads the address and splits what the driver does not know from it. No message quotes what may be a secret.
pub(super) fn address(url: &str) -> Result<(Config, TlsSettings), Error> {
    let parts = Parts::of(url).ok_or_else(|| setting("it starts with postgres:// or postgresql://"))?;
    let quote = Quote::after(&parts);
    let parameters = parameters(parts.query, quote)?;
    let mut config = driver(&parameters, quote)?;
    let mut tls = TlsSettings { mode: Mode::Prefer, root: None };
    let mut places = authority(parts.hosts, Quote::beside_host(&parts))?;
    if let Some(credentials) = parts.credentials {
        let (user, password) = credentials.split_once(':').map_or((credentials, None), |(user, password)| (user, Some(password)));
        config.user(decode(user)?);
        if let Some(password) = password {
            config.password(Cow::from(encoded(password)?));
        }
    }
    if !parts.database.is_empty() {
        config.dbname(decode(parts.database)?);
    }
    for (key, value) in &parameters {
        match *key {
            "host" => places.hosts = value.split(',').map(str::to_owned).collect(),
            "hostaddr" => places.addresses = value.split(',').map(|one| numeric(one, quote)).collect::<Result<_, _>>()?,
            "port" => places.ports = value.split(',').map(|one| port(one, quote)).collect::<Result<_, _>>()?,
            "user" => _ = config.user(value.as_ref()),
            "password" => _ = config.password(value.as_bytes()),
            "dbname" => _ = config.dbname(value.as_ref()),
            "fallback_application_name" if config.get_application_name().is_none() => _ = config.application_name(value.as_ref()),
            "sslmode" => tls.mode = Mode::from_word(value).unwrap_or(tls.mode),
            "ssl" => tls.mode = Mode::Require,
            "sslrootcert" => tls.root = Some(value.to_string()),
            _ => {}
        }
    }
    settle(&mut config, places)?;
    Ok((config, tls))
}

/// The parameters of the query part, each known and with a value that can be honoured.
fn parameters(query: &str, quote: Quote) -> Result<Vec<(&'static str, Cow<'_, str>)>, Error> {
    let mut parameters = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (decode(key)?, decode(value)?);
        // libpq's name for what the driver calls otherwise.
        let wanted = if key == "keepalives_count" { "keepalives_retries" } else { key.as_ref() };
        let Some((name, _, words)) = PARAMETERS.iter().find(|(name, ..)| *name == wanted) else {
            let named = if quote == Quote::Found { format!("the parameter {key:?}") } else { "a parameter".to_owned() };
            return Err(setting(&format!("{named} is not supported; take it out")));
        };
        if !words.is_empty() && !words.contains(&value.as_ref()) {
            return Err(setting(&format!("{name} is {}; {}", either(words), quote.found(&value))));
        }
        parameters.push((*name, value));
    }
    Ok(parameters)
}

/// `a, b or c`
fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [words @ .., last] => format!("{} or {last}", words.join(", ")),
    }
}

/// What the driver makes of its own parameters.
fn driver(parameters: &[(&str, Cow<'_, str>)], quote: Quote) -> Result<Config, Error> {
    let is_driver = |key: &str| PARAMETERS.iter().any(|(name, of, _)| *name == key && *of == Use::Driver);
    let mut text = String::new();
    for (key, value) in parameters.iter().filter(|(key, _)| is_driver(key)) {
        let escaped = value.replace('\\', "\\\\").replace('\'', "\\'");
        let one = format!("{key}='{escaped}' ");
        // Of those whose words are not checked already, it refuses only what is no number.
        if one.parse::<Config>().is_err() {
            return Err(setting(&format!("{key}: {}; accepted is a whole number", quote.found(value))));
        }
        text.push_str(&one);
    }
    text.parse().map_err(|_: tokio_postgres::Error| setting("its parameters cannot be used together"))
}

fn decode(text: &str) -> Result<Cow<'_, str>, Error> {
    encoded(text)?.decode_utf8().map_err(|_| setting("what is percent-encoded is no UTF-8"))
}

/// A percent sign that encodes nothing was meant to be one, most likely in a password: libpq refuses it too.
fn encoded(text: &str) -> Result<PercentDecode<'_>, Error> {
    let is_byte = |digits: &str| digits.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit) && two != b"00");
    if text.split('%').skip(1).all(is_byte) {
        return Ok(percent_decode_str(text));
    }
    Err(setting("after a percent sign come two hexadecimal digits that are not 00; one that is meant as such is %25"))
}

fn setting(reason: &str) -> Error {
    Error::Setting(format!("not a PostgreSQL address: {reason}"))
}

/// Hosts, and a port for each when one of them has one.
fn authority(text: &str, quote: Quote) -> Result<Places, Error> {
    let mut places = Places::default();
    let mut ports = Vec::new();
    for one in text.split(',').filter(|_| !text.is_empty()) {
        let (host, port) = match one.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(None) => return Err(setting("an IPv6 address ends with ]")),
            Some(Some((host, rest))) => (host, rest.strip_prefix(':').or((!rest.is_empty()).then_some(rest))),
            None => one.split_once(':').map_or((one, None), |(host, port)| (host, Some(port))),
        };
        places.hosts.push(decode(host)?.into_owned());
        ports.push(port.map(decode).transpose()?.unwrap_or_default());
    }
    if ports.iter().any(|port| !port.is_empty()) {
        places.ports = ports.iter().map(|one| port(one, quote)).collect::<Result<_, _>>()?;
    }
    Ok(places)
}

fn port(text: &str, quote: Quote) -> Result<u16, Error> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        _ if text.is_empty() => Ok(PORT),
        Ok(port) if digits && port > 0 => Ok(port),
        _ => Err(setting(&format!("port: {}; accepted is a whole number from 1 to {}", quote.found(text), u16::MAX))),
    }
}

fn numeric(text: &str, quote: Quote) -> Result<IpAddr, Error> {
    text.parse().map_err(|_| setting(&format!("hostaddr: {}; accepted is an IP address", quote.found(text))))
}

fn settle(config: &mut Config, places: Places) -> Result<(), Error> {
    let count = places.hosts.len().max(places.addresses.len());
    let fits = |listed: usize| listed == 0 || listed == count;
    if !fits(places.hosts.len()) || !fits(places.addresses.len()) || !(places.ports.len() == 1 || fits(places.ports.len())) {
        return Err(setting("it has as many of host, hostaddr and port as of the others, or one port for all"));
    }
    if places.addresses.is_empty() && (places.hosts.is_empty() || places.hosts.iter().any(String::is_empty)) {
        return Err(setting(
            "the host is missing; accepted is postgres://[user[:password]@]host[:port][/database], or ?host=/path for a socket",
        ));
    }
    for host in places.hosts {
        config.host(host);
    }
    for address in places.addresses {
        config.hostaddr(address);
    }
    for port in places.ports {
        config.port(port);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::{Host, TargetSessionAttrs};

    use super::*;

    fn places(url: &str) -> (Vec<String>, Vec<u16>) {
        let (config, _) = address(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        let host = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        (config.get_hosts().iter().map(host).collect(), config.get_ports().to_vec())
    }

    fn refusal(url: &str) -> String {
        address(url).expect_err(url).to_string()
    }

    // contract B1.2
    #[test]
    fn the_query_part_says_host_and_port_as_for_libpq() {
        let of = |hosts: &[&str], ports: &[u16]| (hosts.iter().map(ToString::to_string).collect::<Vec<_>>(), ports.to_vec());
        for (url, expected) in [
            ("postgres://u@127.0.0.1/shop?port=55557", of(&["127.0.0.1"], &[55557])),
            ("postgres://u@h:1/shop?port=2", of(&["h"], &[2])),
            ("postgres://u@/shop?host=a,b&port=1,2", of(&["a", "b"], &[1, 2])),
            ("postgres://u@/shop?host=a,b&port=7", of(&["a", "b"], &[7])),
            ("postgres://u@/shop?host=a%2Cb&port=,2", of(&["a", "b"], &[5432, 2])),
            ("postgres://x:1/shop?host=a", of(&["a"], &[1])),
            ("postgres://a:1,b,[::1]:3/shop", of(&["a", "b", "::1"], &[1, 5432, 3])),
            ("postgres://%2Ftmp,h/shop", of(&["/tmp", "h"], &[])),
            ("postgresql:///shop?host=/tmp&user=me@home", of(&["/tmp"], &[])),
        ] {
            assert_eq!(places(url), expected, "{url}");
        }
        for url in
            ["postgres://a,b/d?port=1,2,3", "postgres://h:0/d", "postgres://h/d?port=x", "postgres://[::1/d", "postgres://h/d?hostaddr=h"]
        {
            assert!(refusal(url).contains("not a PostgreSQL address"), "{url}");
        }
    }

    // contract B1.2
    #[test]
    fn every_other_parameter_is_honoured_or_refused() {
        let (config, tls) = address(
            "postgres://u:p%3F@h/d?client_encoding=UTF8&gssencmode=prefer&sslcompression=0&keepalives_count=3&target_session_attrs=read-only&fallback_application_name=x&options=-c%20a%3D'b'&ssl=true",
        )
        .expect("an address");
        assert_eq!((config.get_application_name(), config.get_options()), (Some("x"), Some("-c a='b'")));
        assert_eq!((config.get_keepalives_retries(), config.get_target_session_attrs()), (Some(3), TargetSessionAttrs::ReadOnly));
        assert_eq!((config.get_user(), config.get_password(), config.get_dbname()), (Some("u"), Some(&b"p?"[..]), Some("d")));
        assert_eq!(tls.mode, Mode::Require);
        for word in ["primary", "standby", "prefer-standby"] {
            let message = refusal(&format!("postgres://h/d?target_session_attrs={word}"));
            assert!(message.contains("any, read-write or read-only") && message.contains(word), "{message}");
        }
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
    fn a_message_says_what_was_found_and_what_is_accepted() {
        for (url, found, accepted) in [
            ("postgres://u:p@h:99999/x", "\"99999\"", "1 to 65535"),
            ("postgres://u@h:abc/x", "\"abc\"", "1 to 65535"),
            ("postgres://u@a:1,b:+2/x", "\"+2\"", "1 to 65535"),
            // It could be a user with a password whose host was forgotten.
            ("postgres://h:99999/x", "port: found", "1 to 65535"),
            ("postgres://h/x?port=0", "\"0\"", "1 to 65535"),
            ("postgres://h/x?hostaddr=h", "\"h\"", "an IP address"),
            ("postgres://h/x?connect_timeout=abc", "connect_timeout: found \"abc\"", "a whole number"),
            ("postgres://h/x?keepalives_count=-1", "keepalives_retries: found \"-1\"", "a whole number"),
            ("postgres:///x", "the host is missing", "?host=/path"),
            ("postgres://u@:5432/x", "the host is missing", "host[:port]"),
            ("postgres://a,/x", "the host is missing", "host[:port]"),
            ("postgres://h/x?host=", "the host is missing", "host[:port]"),
        ] {
            let message = refusal(url);
            assert!(
                message.contains("not a PostgreSQL address") && message.contains(found) && message.contains(accepted),
                "{url}: {message}"
            );
        }
        for url in ["postgres://u:50%@h/x", "postgres://u:a%zz@h/x", "postgres://%2/x", "postgres://h/x%00", "postgres://h/x?user=%e"] {
            assert!(refusal(url).contains("meant as such is %25"), "{url}");
        }
        assert!(address("postgres:///x?hostaddr=127.0.0.1&connect_timeout=-1").is_ok());
    }

    #[test]
    fn the_address_knows_libpq_s_words_for_tls() {
        let (config, tls) =
            address("postgres://u:p@h:5433/d?sslmode=verify-full&sslrootcert=%2Fa%20b.pem&application_name=x").expect("an address");
        assert_eq!(tls, TlsSettings { mode: Mode::VerifyFull, root: Some("/a b.pem".to_owned()) });
        assert_eq!(config.get_application_name(), Some("x"));
        assert!(refusal("postgres://h/d?sslmode=maybe").contains("disable, allow, prefer, require, verify-ca or verify-full"));
    }

    #[test]
    fn a_bad_address_does_not_tell_the_password() {
        for url in [
            "postgres://u:sesame@h:notaport/d",
            "postgres://u:sesame@h/d?nonsense=1",
            "postgres://h/d?password=sesame&port=x",
            "sesame",
            // Passwords that should have been encoded, and one without its host.
            "postgres://u:sesame/d",
            "postgres://u:se@sa:sesame@h:1/d",
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
