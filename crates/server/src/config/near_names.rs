//! Finds an environment variable that looks like a setting and is none, such as DATABSE_URL.

use std::collections::HashMap;
use std::ffi::OsString;

use super::{ConfigError, ConfigErrors, VARIABLES};

/// Variables of other programs with names this close to a setting.
const FOREIGN: [&str; 14] = [
    "AUTH_CLIENT_ID",
    "AUTH_CLIENT_SECRET",
    "AUTH_REDIRECT_URI",
    "AUTH_REDIRECT_URL",
    "DATABASE_READ_USER",
    "DATABASE_WRITE_USER",
    "OAUTH2_CLIENT_ID",
    "OAUTH2_CLIENT_SECRET",
    "OAUTH2_REDIRECT_URI",
    "OAUTH2_REDIRECT_URL",
    "OAUTH_CLIENT_URI",
    "PIDFILE",
    "SSL_CERTFILE",
    "SSL_CRT_FILE",
];

/// Names that are far from the setting that they mean: other settings name a file so.
const SYNONYMS: [(&str, &str); 5] = [
    ("OAUTH_PRIVATE_KEY", "OAUTH_PRIVATE_KEY_PATH"),
    ("OAUTH_PRIVATE_KEY_FILE", "OAUTH_PRIVATE_KEY_PATH"),
    ("OAUTH_STRATEGIES", "OAUTH_STRATEGY"),
    ("PERISTYLE_MANIFEST_FILE", "PERISTYLE_MANIFEST"),
    ("PERISTYLE_MANIFEST_PATH", "PERISTYLE_MANIFEST"),
];

/// Some write the name of the program before every setting.
const PREFIX: &str = "PERISTYLE";
/// How many typing errors the prefix may have.
const MAX_PREFIX_DISTANCE: usize = 2;

/// An error for each variable that is probably meant as a setting that is not set.
pub(super) fn find(environment: impl Iterator<Item = (OsString, OsString)>, values: &HashMap<&'static str, String>) -> ConfigErrors {
    let has_value = |name: &str| values.get(name).is_some_and(|value| !value.is_empty());
    // The setting itself, or the variable that names its file.
    let is_set = |name: &str| has_value(name) || has_value(&format!("{name}_FILE")) || name.strip_suffix("_FILE").is_some_and(has_value);
    let mut names: Vec<String> =
        environment.filter(|(_, value)| !value.is_empty()).filter_map(|(name, _)| name.into_string().ok()).collect();
    names.sort_unstable();
    let errors = names.iter().filter_map(|name| {
        let variable = meant(name).filter(|variable| !is_set(variable))?;
        Some(ConfigError { variable, problem: format!("is not set; {name:?} is set and is no setting; rename or remove it") })
    });
    ConfigErrors(errors.collect())
}

/// The setting that a name probably means, if it is not a setting itself.
fn meant(name: &str) -> Option<&'static str> {
    let known = || VARIABLES.split(' ');
    if FOREIGN.contains(&name) || known().any(|known| known == name) {
        return None;
    }
    let upper = name.to_ascii_uppercase();
    if let Some((_, setting)) = SYNONYMS.iter().find(|(synonym, _)| *synonym == upper) {
        return Some(*setting);
    }
    let forms = [Some(upper.as_str()), without_prefix(&upper)];
    let near = forms.into_iter().flatten().flat_map(|form| known().map(move |known| (form, known)));
    let near = near.filter(|(form, known)| form == known || is_near(form, known));
    near.min_by_key(|(form, known)| distance(form, known)).map(|(_, known)| known)
}

/// The name after the name of the program, which may be misspelled too.
fn without_prefix(name: &str) -> Option<&str> {
    let (prefix, rest) = name.split_once('_')?;
    (distance(prefix, PREFIX) <= MAX_PREFIX_DISTANCE).then_some(rest)
}

/// Whether a few typing errors make the setting. A short name is close to too many others.
fn is_near(name: &str, known: &str) -> bool {
    match known.len() {
        0..6 => false,
        6..10 => distance(name, known) <= 1,
        10..14 => distance(name, known) <= 2,
        _ => distance(name, known) <= 3,
    }
}

/// The cost to type one name as the other. A missing, an extra or two swapped letters cost 1; another letter costs 2, since it often makes
/// another word: APP_URL and API_URL.
fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len().abs_diff(other.len()) > 2 {
        return usize::MAX;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let replaced = rows[i - 1][j - 1] + if one[i - 1] == other[j - 1] { 0 } else { 2 };
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(pairs: &[(&str, &str)], set: &[(&'static str, &str)]) -> Option<String> {
        let environment = pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let values = set.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        find(environment, &values).ok().err().map(|errors| errors.to_string())
    }

    #[test]
    fn a_misspelled_setting_is_refused_with_the_name_that_is_meant() {
        // contract B1.21
        for (found, meant) in [
            ("OAUTH_STRATGY", "OAUTH_STRATEGY"),
            ("OAUTH_STRATEGI", "OAUTH_STRATEGY"),
            ("OATUH_STRATGEY", "OAUTH_STRATEGY"),
            ("AUTH_STRATEGY", "OAUTH_STRATEGY"),
            ("oauth_strategy", "OAUTH_STRATEGY"),
            ("DATABSE_URL", "DATABASE_URL"),
            ("DATABASE_URI", "DATABASE_URL"),
            ("DATABASEURL", "DATABASE_URL"),
            ("PERISTYLE_DATABASE_URL", "DATABASE_URL"),
            ("PERISTYL_DATABASE_URL", "DATABASE_URL"),
            ("PERISTYLE_OAUTH_STRATGY", "OAUTH_STRATEGY"),
            ("PERISTYLE_LISTN", "LISTEN"),
            ("OAUTH_PRIVATE_KEY_FILE", "OAUTH_PRIVATE_KEY_PATH"),
            ("PERISTYLE_MANIFEST_FILE", "PERISTYLE_MANIFEST"),
            ("OAUTH_STRATEGIE", "OAUTH_STRATEGY"),
            ("OAUTH_STRATEGIES", "OAUTH_STRATEGY"),
            ("TRUSTED_PROXYS", "TRUSTED_PROXIES"),
            ("DATABASE_RAED_URL", "DATABASE_READ_URL"),
            ("OAUTH_REDIRECT_URL", "OAUTH_REDIRECT_URI"),
            ("PERISTYLE_MANIFST", "PERISTYLE_MANIFEST"),
            ("LISTNE", "LISTEN"),
            ("APP_ULR", "APP_URL"),
            ("MAX_CONNECTION", "MAX_CONNECTIONS"),
        ] {
            let message = refusal(&[(found, "sesame")], &[]).unwrap_or_else(|| panic!("{found} passes"));
            assert_eq!(message, format!("{meant}: is not set; {found:?} is set and is no setting; rename or remove it"));
        }
        let both = refusal(&[("REDIS_ULR", "x"), ("DATABSE_URL", "x")], &[]).expect("a refusal");
        assert!(both.contains("DATABASE_URL: ") && both.contains("REDIS_URL: ") && both.lines().count() == 1, "{both}");
    }

    #[test]
    fn variables_of_other_programs_pass() {
        // contract B1.21
        let names = "PATH HOME LANG USER TERM SHELL PWD TMPDIR PORT HOST CI DEBUG \
            LISTEN_FDS LISTEN_PID LISTEN_FDNAMES MEMORY_PRESSURE_WATCH MEMORY_PRESSURE_WRITE JOURNAL_STREAM INVOCATION_ID SYSTEMD_EXEC_PID \
            NOTIFY_SOCKET LOGS_DIRECTORY STATE_DIRECTORY CREDENTIALS_DIRECTORY LOGNAME LOG_DIR LOG_LEVEL LOG_FILE LOGS LOGO \
            DATABASE_PORT DATABASE_NAME DATABASE_HOST DATABASE_USER DATABASE_PASSWORD DATABASE_SSL DATABASE_SERVICE_HOST DATABASE_POOL_SIZE \
            DATABASE_PORT_5432_TCP PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE PGSSLMODE POSTGRES_URL POSTGRES_DB DB_URL \
            API_URL WEB_URL APP_URI APP_NAME APP_ENV APP_PORT APP_KEY REDIS_URI REDIS_HOST REDIS_PORT REDIS_TLS_URL \
            PERISTYLE_APP_SERVICE_HOST PERISTYLE_APP_PORT PERISTYLE_REDIS_PORT PERISTYLE_DATABASE_PORT PERISTYLE_HUB_PORT_4000_TCP_PROTO \
            AUTH_REDIRECT_URL OAUTH2_REDIRECT_URL SSL_CRT_FILE DATABASE_READ_USER DATABASE_WRITE_USER OAUTH_CLIENT_URI \
            OAUTH2_CLIENT_ID AUTH_CLIENT_SECRET OAUTH_TOKEN OAUTH_CLIENT_NAME SSL_CERT_DIR SSL_CERTFILE PIDFILE \
            PERISTYLE_PORT PERISTYLE_SERVICE_HOST PERISTYLE_SERVICE_PORT PERISTYLE_PORT_4000_TCP_ADDR PERISTYLE_TEST_POSTGRES PERISTYLE_BINARY \
            KUBERNETES_SERVICE_HOST KUBERNETES_PORT_443_TCP GITHUB_ACTIONS GITLAB_CI DOCKER_HOST HOSTNAME LISTENER METRICS_PORT \
            OTEL_RESOURCE_ATTRIBUTES OTEL_TRACES_SAMPLER OTEL_METRICS_EXPORTER TRUSTED_PROXY MAX_CLIENTS STREAM_URL";
        for name in names.split_whitespace() {
            assert_eq!(refusal(&[(name, "x")], &[]), None, "{name}");
        }
    }

    #[test]
    fn a_name_passes_beside_the_setting_itself_and_without_a_value() {
        assert_eq!(refusal(&[("DATABASE_URI", "x")], &[("DATABASE_URL", "sqlite://x.db")]), None);
        assert!(refusal(&[("DATABASE_URI", "x")], &[("DATABASE_URL", "")]).is_some(), "an empty value counts as not set");
        assert_eq!(refusal(&[("DATABASE_URI", "")], &[]), None);
        assert_eq!(refusal(&[("DATABASE_URI", "x")], &[("DATABASE_URL_FILE", "dsn")]), None, "a file has the value");
        assert_eq!(refusal(&[("OAUTH2_CLIENT_SECRETS", "x")], &[("OAUTH_CLIENT_SECRET_FILE", "secret")]), None);
        assert_eq!(refusal(&[("DATABASE_URL_FIL", "x")], &[("DATABASE_URL", "sqlite://x.db")]), None);
    }

    #[test]
    fn every_setting_passes() {
        for name in VARIABLES.split(' ') {
            assert_eq!(refusal(&[(name, "x")], &[]), None, "{name}");
        }
    }
}
