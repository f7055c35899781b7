//! Secrets in files: the value of `DATABASE_URL` may be in the file that `DATABASE_URL_FILE` names, and so for each setting in the list.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;

use zeroize::Zeroizing;

use super::ConfigError;

/// A setting, the variable that names its file, and what the file holds.
const SECRETS: [(&str, &str, &str); 5] = [
    ("DATABASE_URL", "DATABASE_URL_FILE", "the DSN of the database"),
    ("DATABASE_READ_URL", "DATABASE_READ_URL_FILE", "the DSN of a read replica"),
    ("DATABASE_WRITE_URL", "DATABASE_WRITE_URL_FILE", "the DSN for writes"),
    ("REDIS_URL", "REDIS_URL_FILE", "the DSN of Redis"),
    ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS_FILE", "headers such as authorization=Bearer%20TOKEN"),
];
/// No secret, DSN or list of headers is longer.
const MAX_BYTES: u64 = 64 * 1024;

/// The variable that holds the path of a secret's file. [`read`] puts the content of the file under its name.
pub(super) fn file_variable(name: &str) -> Option<&'static str> {
    SECRETS.iter().find(|(secret, ..)| *secret == name).map(|(_, file, _)| *file)
}

/// The values, with the content of each file in place of its path. No message repeats the content.
pub(super) fn read(values: &HashMap<&'static str, String>) -> Result<HashMap<&'static str, String>, ConfigError> {
    let is_set = |name| values.get(name).is_some_and(|value: &String| !value.is_empty());
    let mut read = values.clone();
    for (secret, file, content) in SECRETS {
        if !is_set(file) {
            continue;
        }
        if is_set(secret) {
            let problem = format!("is set together with {file}; only one of them is accepted");
            return Err(ConfigError { variable: secret, problem });
        }
        let path = &values[file];
        let refused = |reason: String| ConfigError {
            variable: file,
            problem: format!("the file {path:?} {reason}; accepted is a file with one line: {content}"),
        };
        let text = one_line(path).map_err(refused)?;
        read.insert(file, text.to_string());
    }
    Ok(read)
}

/// The one line of a file, without the newline at its end. Not more than a secret is read, since a device never ends.
pub(super) fn one_line(path: &str) -> Result<Zeroizing<String>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let mut text = Zeroizing::new(String::new());
    File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)).map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("has more than {MAX_BYTES} bytes"));
    }
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    if text.chars().any(char::is_control) { Err("has several lines or control characters".to_owned()) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, ConfigErrors};

    fn config(pairs: &[(&'static str, &str)]) -> Result<Config, ConfigErrors> {
        Config::from_values(&pairs.iter().map(|(key, value)| (*key, (*value).to_owned())).collect())
    }

    #[test]
    fn the_dsn_of_a_database_may_be_in_a_file() {
        // contract B5.5
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path.display().to_string()
        };
        let dsn = file("dsn", "postgres://u:sesame@h/d\r\n");
        let redis = file("redis", "redis://:sesame@h");
        let both = [("DATABASE_URL_FILE", dsn.as_str()), ("DATABASE_READ_URL_FILE", dsn.as_str()), ("REDIS_URL_FILE", redis.as_str())];
        let read = config(&both).expect("three files");
        assert_eq!(read.database_url, "postgres://u:sesame@h/d");
        assert_eq!(read.database_read_url.as_deref(), Some("postgres://u:sesame@h/d"));
        assert_eq!(read.redis_url.as_deref(), Some("redis://:sesame@h"));
        assert!(config(&[("DATABASE_URL_FILE", ""), ("DATABASE_URL", "sqlite://x.db")]).is_ok(), "an empty value counts as not set");
        let headers = file("headers", "authorization=Bearer%20sesame");
        let traced = config(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318/"), ("OTEL_EXPORTER_OTLP_HEADERS_FILE", &headers)]);
        let traces = traced.expect("traces").traces.expect("an endpoint");
        assert_eq!((traces.endpoint.as_str(), traces.headers[0].1.as_bytes()), ("http://h:4318/v1/traces", &b"Bearer sesame"[..]));
        assert!(!format!("{traces:?}").contains("sesame"));
        let long = file("long", &"sesame".repeat(20_000));
        let (empty, two, other) = (file("empty", "\n"), file("two", "sesame\nsesame"), file("other", "mysql://sesame"));
        for (variables, start, end) in [
            ([("DATABASE_URL", "sqlite://x.db"), ("DATABASE_URL_FILE", dsn.as_str())], "DATABASE_URL: ", "only one of them is accepted"),
            ([("REDIS_URL", "redis://h"), ("REDIS_URL_FILE", redis.as_str())], "REDIS_URL: ", "only one of them is accepted"),
            (
                [("DATABASE_URL_FILE", empty.as_str()), ("LOG", "info")],
                "DATABASE_URL_FILE: ",
                "is empty; accepted is a file with one line: the DSN of the database",
            ),
            ([("DATABASE_URL_FILE", two.as_str()), ("LOG", "info")], "DATABASE_URL_FILE: ", "the DSN of the database"),
            ([("DATABASE_URL_FILE", other.as_str()), ("LOG", "info")], "DATABASE_URL_FILE: ", "postgres://…"),
            ([("DATABASE_URL_FILE", long.as_str()), ("LOG", "info")], "DATABASE_URL_FILE: ", "the DSN of the database"),
            ([("DATABASE_URL_FILE", "/dev/zero"), ("LOG", "info")], "DATABASE_URL_FILE: ", "the DSN of the database"),
        ] {
            let message = config(&variables).expect_err(start).to_string();
            assert!(message.starts_with(start) && message.ends_with(end) && !message.contains("sesame"), "{message}");
        }
    }
}
