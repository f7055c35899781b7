//! The settings, read once from the environment. No other file reads environment variables.

mod allowed_hosts;
mod errors;
mod logs;
mod memory_limit;
mod near_names;
pub mod satellite;
mod secret_files;
mod setting;
mod traces;
mod urls;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use identity::grant::{FAMILY_SECONDS, GRACE_SECONDS, MAX_GRACE_SECONDS, RefreshRules};
use identity::strategy::Strategy;
use ipnet::IpNet;
use store::{DatabaseSettings, Mapping, Prepare};

use crate::budget::{BudgetSettings, Budgets};

pub use allowed_hosts::AllowedHosts;
pub use errors::{ConfigError, ConfigErrors};
use logs::{log_filter, slow_statement};
pub use satellite::{Binding, SatelliteSettings, Secret};
use setting::{Environment, Setting, invalid};
pub use traces::{ParentDecision, Sampler, TraceSettings};
use urls::{cors_origin, database_url, origin, read_url, redis_url, trusted_network, write_url};

pub(crate) const DEFAULT_DATABASE_URL: &str = "sqlite://peristyle.db";

#[derive(Clone)]
pub struct Config {
    pub strategy: Strategy,
    /// The private key file; every strategy but `none` needs it.
    pub private_key_path: PathBuf,
    pub key_mode: KeyMode,
    /// The settings of a satellite. An error is reported only by a satellite; other processes do not need them.
    pub satellite: Result<SatelliteSettings, ConfigErrors>,
    pub refresh: RefreshRules,
    /// The DSN of the replica state, if replicas share it.
    pub redis_url: Option<String>,
    pub database_url: String,
    pub database_read_url: Option<String>,
    /// How far a read replica may be behind the primary.
    pub database_read_max_lag: Option<Duration>,
    /// Where writes to resources go, if not to `database_url`.
    pub database_write_url: Option<String>,
    pub database: DatabaseSettings,
    pub manifest: ManifestPath,
    pub listen: SocketAddr,
    pub app_url: String,
    pub app_files: Option<PathBuf>,
    /// Browser origins that can send credentials.
    pub cors_origins: Vec<String>,
    /// The networks of proxies whose forwarding headers are trusted.
    pub trusted_proxies: Vec<IpNet>,
    pub allowed_hosts: AllowedHosts,
    pub budget: BudgetSettings,
    pub metrics_listen: Option<SocketAddr>,
    /// The most rows of an answer, and the most related rows in it; no limit without one.
    pub max_rows: Option<u64>,
    /// How long a statement runs before the log reports it; never without one.
    pub slow_statement: Option<Duration>,
    pub traces: Option<TraceSettings>,
    /// Where `serve` writes its process id, for `peristyle reload`.
    pub pid_file: Option<PathBuf>,
    pub graphql_introspection: Introspection,
    pub log: String,
    pub log_format: LogFormat,
}

/// What happens if other users can read the private key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMode {
    /// A warning: containers mount secrets this way.
    Warn,
    Strict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestPath {
    /// The default path; a missing file means no resources.
    Default(PathBuf),
    /// A configured path; a missing file is an error.
    Named(PathBuf),
}

impl ManifestPath {
    pub fn path(&self) -> &PathBuf {
        match self {
            ManifestPath::Default(path) | ManifestPath::Named(path) => path,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Introspection {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // DSNs hold passwords.
        out.debug_struct("Config")
            .field("strategy", &self.strategy)
            .field("listen", &self.listen)
            .field("manifest", &self.manifest)
            .finish_non_exhaustive()
    }
}

impl Config {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn from_environment() -> Result<Self, ConfigErrors> {
        let mut values = HashMap::new();
        for name in VARIABLES.split(' ') {
            match std::env::var(name) {
                Ok(value) => _ = values.insert(name, value),
                Err(std::env::VarError::NotPresent) => {}
                Err(std::env::VarError::NotUnicode(_)) => {
                    return Err(ConfigError { variable: name, problem: "is not UTF-8".to_owned() }.into());
                }
            }
        }
        let near_names = near_names::find(std::env::vars_os(), &values);
        let read = Self::from_values(&values);
        let mut config = match near_names.ok() {
            Ok(()) => read?,
            Err(mut errors) => {
                errors.0.extend(read.err().into_iter().flat_map(|other| other.0));
                return Err(errors);
            }
        };
        if let Some(traces) = &mut config.traces {
            traces.ignored = traces::ignored(std::env::vars_os());
        }
        Ok(config)
    }

    /// Only LOG_FORMAT, to report that another setting is invalid.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub(crate) fn log_format_alone() -> LogFormat {
        if std::env::var("LOG_FORMAT").is_ok_and(|format| format == "json") { LogFormat::Json } else { LogFormat::Text }
    }

    fn from_values(values: &HashMap<&'static str, String>) -> Result<Self, ConfigErrors> {
        let mut rest = values.clone();
        let mut errors = ConfigErrors::default();
        loop {
            match Self::read(&rest) {
                Ok(config) if errors.0.is_empty() => return Ok(config),
                Ok(config) => {
                    let lacks = config.satellite.err().filter(|_| config.strategy == Strategy::PlatformHub);
                    let lacks: Vec<_> = lacks.into_iter().flat_map(|lacks| lacks.0).filter(|lack| !errors.concern(lack.variable)).collect();
                    errors.0.extend(lacks);
                    return Err(errors);
                }
                Err(error) => {
                    // The next errors are found without this setting, and without those that depend on it.
                    let is_set = rest.remove(error.variable).is_some();
                    if error.variable.starts_with("DATABASE_URL") {
                        rest.retain(|name, _| !name.starts_with("DATABASE_READ_URL") && !name.starts_with("DATABASE_WRITE_URL"));
                    }
                    errors.0.push(error);
                    if !is_set {
                        return Err(errors);
                    }
                }
            }
        }
    }

    fn read(values: &HashMap<&'static str, String>) -> Result<Self, ConfigError> {
        let values = &secret_files::read(values)?;
        let env = Environment(values);
        let setting = |name| env.setting(name);
        let listen: SocketAddr = setting("LISTEN").parse("127.0.0.1:4000", "a socket address such as 127.0.0.1:4000")?;
        let database_url = database_url(&env.secret("DATABASE_URL"), DEFAULT_DATABASE_URL)?;
        let app_url = setting("APP_URL").optional(|url| origin("APP_URL", url))?.unwrap_or_else(|| format!("http://{listen}"));
        let connections = |name| setting(name).optional(|_| setting(name).number(0, 1..=1_000_000));
        let budget = BudgetSettings {
            memory: setting("MEMORY_BUDGET")
                .bytes(memory_limit::default_memory().max(BudgetSettings::MIN_MEMORY), BudgetSettings::MIN_MEMORY)?,
            max_connections: connections("MAX_CONNECTIONS")?,
            max_connections_per_address: connections("MAX_CONNECTIONS_PER_ADDRESS")?,
        };
        Ok(Config {
            strategy: strategy(values.get("OAUTH_STRATEGY").map_or("", String::as_str))?,
            satellite: satellite::read(env)?,
            refresh: RefreshRules {
                family_seconds: setting("REFRESH_FAMILY_MAX_AGE").seconds(FAMILY_SECONDS, FAMILY_MAX_AGE)?,
                grace_seconds: setting("REFRESH_GRACE").seconds(GRACE_SECONDS, 1..=MAX_GRACE_SECONDS)?,
            },
            redis_url: redis_url(&env.secret("REDIS_URL"))?,
            private_key_path: setting("OAUTH_PRIVATE_KEY_PATH").value.unwrap_or(".keys/oauth-private.key").into(),
            key_mode: setting("OAUTH_KEY_MODE").choice(&[("warn", KeyMode::Warn), ("strict", KeyMode::Strict)])?,
            database_read_url: read_url(&env.secret("DATABASE_READ_URL"), &database_url)?,
            database_read_max_lag: setting("DATABASE_READ_MAX_LAG")
                .optional(|_| setting("DATABASE_READ_MAX_LAG").duration(Duration::ZERO))?,
            database_write_url: write_url(&env.secret("DATABASE_WRITE_URL"), &database_url)?,
            database_url,
            database: database_settings(env, &budget)?,
            budget,
            allowed_hosts: AllowedHosts::read(setting("ALLOWED_HOSTS").list(), listen, &app_url)?,
            manifest: match setting("PERISTYLE_MANIFEST").value {
                Some(path) => ManifestPath::Named(path.into()),
                None => ManifestPath::Default("peristyle.toml".into()),
            },
            listen,
            app_url,
            app_files: setting("APP_FILES").value.map(PathBuf::from),
            cors_origins: setting("APP_CORS_ORIGIN").list().map(cors_origin).collect::<Result<_, _>>()?,
            trusted_proxies: setting("TRUSTED_PROXIES").list().map(trusted_network).collect::<Result<_, _>>()?,
            metrics_listen: setting("METRICS_LISTEN")
                .optional(|_| setting("METRICS_LISTEN").parse("", "a socket address such as 127.0.0.1:9100"))?,
            max_rows: setting("QUERY_MAX_ROWS")
                .optional(|_| setting("QUERY_MAX_ROWS").number(0, 1..=1_000_000_000))?
                .map(|rows| rows as u64),
            slow_statement: slow_statement(&setting("LOG_SLOW_STATEMENTS"))?,
            traces: traces::read(env)?,
            pid_file: setting("PID_FILE").value.map(PathBuf::from),
            graphql_introspection: setting("GRAPHQL_INTROSPECTION").choice(&[("on", Introspection::On), ("off", Introspection::Off)])?,
            log: log_filter(setting("LOG").value.unwrap_or("info"))?,
            log_format: setting("LOG_FORMAT").choice(&[("text", LogFormat::Text), ("json", LogFormat::Json)])?,
        })
    }
}

fn database_settings(env: Environment<'_>, budget: &BudgetSettings) -> Result<DatabaseSettings, ConfigError> {
    let setting = |name| env.setting(name);
    let (defaults, pool) = (DatabaseSettings::default(), setting("DATABASE_POOL").number(16, 1..=1000)?);
    let max_cost = setting("QUERY_MAX_COST").optional(|_| setting("QUERY_MAX_COST").number(0, 1..=1_000_000_000_000))?;
    let write_pool = setting("DATABASE_WRITE_POOL").number(defaults.write_pool, 1..=1000)?;
    let reserved_for_writes = Budgets::reserved_for_writes(write_pool);
    Ok(DatabaseSettings {
        pool,
        write_pool,
        reserved_for_writes,
        reserved: Budgets::reserved_connections(pool),
        timeout: setting("DATABASE_TIMEOUT").duration(Duration::from_secs(30))?,
        prepare: setting("DATABASE_PREPARE").choice(&[("on", Prepare::On), ("off", Prepare::Off)])?,
        mapping: setting("DATABASE_MMAP").choice(&[("off", Mapping::Off), ("on", Mapping::On)])?,
        stream_timeout: setting("STREAM_TIMEOUT").duration(defaults.stream_timeout)?,
        max_cost: max_cost.map(|cost| cost as f64),
        memory: budget.bytes_per_statement(pool + write_pool + reserved_for_writes),
        page_cache: defaults.page_cache.min(budget.memory / 8),
        ..defaults
    })
}

const FAMILY_MAX_AGE: RangeInclusive<i64> = 1..=3_650 * 86_400;

const VARIABLES: &str = "\
    OAUTH_STRATEGY OAUTH_PRIVATE_KEY_PATH OAUTH_KEY_MODE OAUTH_HUB_URL OAUTH_HUB_INTERNAL_URL OAUTH_CLIENT_ID \
    OAUTH_CLIENT_SECRET OAUTH_CLIENT_SECRET_FILE OAUTH_REDIRECT_URI OAUTH_AUDIENCES LOGIN_BINDING SSL_CERT_FILE \
    REFRESH_FAMILY_MAX_AGE REFRESH_GRACE REDIS_URL DATABASE_URL DATABASE_READ_URL DATABASE_READ_MAX_LAG DATABASE_WRITE_URL DATABASE_POOL DATABASE_WRITE_POOL DATABASE_TIMEOUT \
    DATABASE_PREPARE DATABASE_MMAP PERISTYLE_MANIFEST LISTEN APP_URL APP_FILES APP_CORS_ORIGIN TRUSTED_PROXIES \
    ALLOWED_HOSTS MEMORY_BUDGET MAX_CONNECTIONS MAX_CONNECTIONS_PER_ADDRESS STREAM_TIMEOUT QUERY_MAX_COST \
    METRICS_LISTEN GRAPHQL_INTROSPECTION LOG LOG_FORMAT DATABASE_URL_FILE DATABASE_READ_URL_FILE DATABASE_WRITE_URL_FILE REDIS_URL_FILE \
    QUERY_MAX_ROWS LOG_SLOW_STATEMENTS PID_FILE OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_ENDPOINT \
    OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_HEADERS_FILE OTEL_SERVICE_NAME \
    OTEL_TRACES_SAMPLER OTEL_TRACES_SAMPLER_ARG";

fn strategy(word: &str) -> Result<Strategy, ConfigError> {
    Strategy::from_word(word).ok_or_else(|| {
        let words = Strategy::ALL.map(Strategy::as_str).join(", ");
        ConfigError { variable: "OAUTH_STRATEGY", problem: format!("found {word:?}; valid options are {words}") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&'static str, &str)]) -> Result<Config, ConfigErrors> {
        Config::from_values(&pairs.iter().map(|(key, value)| (*key, (*value).to_owned())).collect())
    }

    #[test]
    fn every_setting_has_a_default() {
        // contract B1.1
        let config = config(&[]).expect("defaults");
        assert_eq!(config.strategy, Strategy::None);
        assert_eq!(config.database_url, "sqlite://peristyle.db");
        assert_eq!(config.listen.to_string(), "127.0.0.1:4000");
        assert_eq!(config.app_url, "http://127.0.0.1:4000");
        assert_eq!(config.manifest, ManifestPath::Default("peristyle.toml".into()));
        assert_eq!(config.private_key_path, PathBuf::from(".keys/oauth-private.key"));
        assert_eq!((config.database.pool, config.database.timeout), (16, Duration::from_secs(30)));
        assert_eq!((config.refresh.family_seconds, config.refresh.grace_seconds), (90 * 86_400, 30));
    }

    #[test]
    fn an_invalid_setting_is_named_with_what_is_accepted() {
        for (variable, value, accepted) in [
            ("OAUTH_STRATEGY", "None", "none, local-provider, platform-hub"),
            ("OAUTH_STRATEGY", " none", "none, local-provider, platform-hub"),
            ("LISTEN", "localhost", "127.0.0.1:4000"),
            ("DATABASE_URL", "mysql://root:sesame@h/d", "postgres://"),
            ("DATABASE_READ_URL", "sqlite://x.db", "postgres://"),
            ("DATABASE_POOL", "0", "1 to 1000"),
            ("DATABASE_POOL", "+5", "1 to 1000"),
            ("DATABASE_POOL", "5 ", "1 to 1000"),
            ("DATABASE_TIMEOUT", "+5", "30s"),
            ("DATABASE_READ_MAX_LAG", "0", "30s"),
            ("LISTEN", "127.0.0.1:+5", "127.0.0.1:4000"),
            ("METRICS_LISTEN", "127.0.0.1:+5", "127.0.0.1:9100"),
            ("DATABASE_TIMEOUT", "soon", "30s"),
            ("DATABASE_TIMEOUT", "2w", "12h or 90d"),
            ("REFRESH_GRACE", "61s", "from 1s to 60s"),
            ("REFRESH_GRACE", "1500ms", "from 1s to 60s"),
            ("REFRESH_FAMILY_MAX_AGE", "0", "from 1s to 3650d"),
            ("REFRESH_GRACE", "500ms", "a time in whole seconds, from 1s to 60s"),
            ("REFRESH_FAMILY_MAX_AGE", "500ms", "from 1s to 3650d"),
            ("REFRESH_FAMILY_MAX_AGE", "3651d", "from 1s to 3650d"),
            ("DATABASE_PREPARE", "yes", "on or off"),
            ("APP_URL", "https://a.example/path", "without a path"),
            ("APP_URL", "ftp://a.example", "https://"),
            ("APP_CORS_ORIGIN", "https://a.example,*", "without a path"),
            ("TRUSTED_PROXIES", "10.0.0.1,proxy", "IP addresses"),
            ("GRAPHQL_INTROSPECTION", "yes", "on or off"),
            ("OAUTH_KEY_MODE", "lax", "warn or strict"),
            ("LOG_FORMAT", "xml", "text or json"),
            ("LOG", "peristyle=loud", "info"),
            ("LOG", "bogus", "error, warn, info, debug, trace"),
            ("LOG", "info,peristyle", "peristyle=debug"),
            ("REDIS_URL", "zz", "redis://"),
            ("REDIS_URL", "http://:sesame@x", "redis://"),
            ("REDIS_URL", "redis://127.0.0.1:99999", "redis://"),
            ("REDIS_URL", "redis://:sesame@h/-1", "\"-1\"; accepted is redis://"),
            ("REDIS_URL", "redis://h?db=3", "\"db\"; accepted is redis://"),
            ("LOGIN_BINDING", "zz", "on or off"),
            ("OAUTH_HUB_URL", "zz", "an origin such as"),
            ("OAUTH_HUB_URL", "https://a..b", "an origin such as"),
            ("OAUTH_HUB_URL", "http://hub.example.com", "an https origin"),
            ("OAUTH_HUB_INTERNAL_URL", "https://:443", "an origin such as"),
            ("OAUTH_CLIENT_ID", "a b", "; accepted is the id of"),
            ("OAUTH_CLIENT_ID", "00000000-0000-4000-8000-000000000000", "; accepted is the id of"),
            ("OAUTH_CLIENT_SECRET", "sesame\nsesame", "; accepted is the secret that"),
            ("OAUTH_REDIRECT_URI", "/callback", "; accepted is the URL of"),
            ("OAUTH_REDIRECT_URI", "https://a.example/#x", "a fragment; accepted is the URL of"),
            ("APP_URL", "https://a:0", "an origin such as"),
            ("APP_CORS_ORIGIN", "https://a.example,https://a\tb", "an origin such as"),
            ("QUERY_MAX_ROWS", "0", "1 to 1000000000"),
            ("LOG_SLOW_STATEMENTS", "1w", "a time such as 250ms"),
            ("LOG_SLOW_STATEMENTS", "86400001", "at most a day"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "http://localhost:4318"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://u:sesame@h", "http://localhost:4318"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://h", "http://localhost:4318"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=a,sesame", "item 2 is no header; accepted is a comma-separated list"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=sesame%0a", "item 1 is no header; accepted is a comma-separated list"),
            ("OTEL_TRACES_SAMPLER", "sometimes", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "1.5", "a number from 0 to 1"),
            ("OTEL_TRACES_SAMPLER_ARG", "NaN", "a number from 0 to 1"),
            ("DATABASE_URL_FILE", "no/such/file", "accepted is a file with one line"),
        ] {
            let message = config(&[(variable, value)]).expect_err(variable).to_string();
            assert!(message.starts_with(variable) && message.contains(accepted), "{message}");
            assert!(!message.contains("sesame"), "{message}");
        }
    }

    #[test]
    fn a_setting_of_another_strategy_may_be_missing_but_not_invalid() {
        // contract B2.4
        for strategy in ["none", "local-provider", "platform-hub"] {
            let config = |more: (&'static str, &str)| config(&[("OAUTH_STRATEGY", strategy), more]);
            assert!(config(("OAUTH_HUB_URL", "https://hub.example.com")).expect("a start").satellite.is_err());
            assert!(config(("OAUTH_HUB_URL", "hub")).is_err());
            for variable in ["OAUTH_HUB_URL", "OAUTH_HUB_INTERNAL_URL", "APP_URL", "APP_CORS_ORIGIN", "OAUTH_REDIRECT_URI"] {
                let message = config((variable, "https://u:ses@me@h")).expect_err(variable).to_string();
                assert!(message.contains("https://…@h") && !message.contains("ses"), "{message}");
            }
        }
    }

    #[test]
    fn only_postgresql_has_a_read_replica() {
        // contract B1.2
        let read = ("DATABASE_READ_URL", "postgres://u:sesame@h/d");
        assert!(config(&[("DATABASE_URL", "postgres://h/d"), read]).is_ok());
        for primary in ["", "sqlite://x.db", "sqlite::memory:"] {
            let message = config(&[("DATABASE_URL", primary), read]).expect_err(primary).to_string();
            assert!(message.starts_with("DATABASE_READ_URL: ") && message.contains("accepted is postgres://"), "{message}");
            assert!(!message.contains("sesame"), "{message}");
        }
        for url in ["mysql://h/d", "sqlite://x.db", "postgres://"] {
            let message = config(&[("DATABASE_URL", "postgres://h/d"), ("DATABASE_READ_URL", url)]).expect_err(url).to_string();
            assert!(message.ends_with("accepted is postgres://…, the DSN of a PostgreSQL read replica"), "{message}");
        }
    }

    #[test]
    fn an_origin_loses_one_trailing_slash() {
        assert_eq!(config(&[("APP_URL", "https://a.example:8443/")]).map(|config| config.app_url), Ok("https://a.example:8443".to_owned()));
        assert!(config(&[("APP_URL", "https://a.example//")]).is_err());
        // contract E5.2: spelled as browsers send it
        let spelled = config(&[("APP_CORS_ORIGIN", "https://App.Example:443/,http://a.example:80,http://a.example:443")]);
        assert_eq!(
            spelled.map(|config| config.cors_origins),
            Ok(["https://app.example", "http://a.example", "http://a.example:443"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn a_time_may_have_a_unit() {
        for (text, expected) in
            [("5", 5_000), ("5s", 5_000), ("5 s", 5_000), ("250ms", 250), ("2m", 120_000), ("3h", 10_800_000), ("2d", 172_800_000)]
        {
            let config = config(&[("DATABASE_TIMEOUT", text)]).expect(text);
            assert_eq!(config.database.timeout, Duration::from_millis(expected));
        }
    }

    #[test]
    fn refresh_family_max_age_sets_the_lifetime_of_a_token_family() {
        // contract I4.6
        let seconds = |text| config(&[("REFRESH_FAMILY_MAX_AGE", text)]).expect(text).refresh.family_seconds;
        assert_eq!((seconds("30d"), seconds("12h"), seconds("45")), (30 * 86_400, 43_200, 45));
    }

    #[test]
    fn debug_of_a_config_shows_no_dsn() {
        let config = config(&[("DATABASE_URL", "postgres://u:sesame@h/d")]).expect("a DSN");
        assert!(!format!("{config:?}").contains("sesame"));
    }
}
