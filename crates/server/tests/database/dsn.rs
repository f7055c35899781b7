//! DSNs of PostgreSQL: TCP, Unix socket, TLS and several hosts, as libpq reads them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Setup, variable};
use crate::{MANIFEST, database, port};

/// How a server with this DSN is connected, or why it does not start.
async fn session(url: &str) -> Result<Value, String> {
    let setup = Setup::new(MANIFEST);
    setup.boot(url).await.map_err(|error| error.to_string())?;
    Ok(setup.serve_at(url).await.post("/api/shop/sessions/find", "").await.good())
}

fn socket_folder() -> String {
    variable("PERISTYLE_TEST_SOCKET")
}

// contract B1.2
#[tokio::test]
async fn a_dsn_can_name_tcp_hosts_and_unix_sockets() {
    let database = database().await;
    let (name, port) = (database.name(), port());
    for url in [
        format!("postgres://postgres@127.0.0.1:{port}/{name}"),
        format!("postgresql://postgres@localhost:{port}/{name}"),
        // Parameters of the query win, as in libpq.
        format!("postgres://postgres@127.0.0.1/{name}?port={port}"),
        format!("postgres://postgres@/{name}?host=nowhere.invalid,127.0.0.1&port=1,{port}"),
        format!("postgres://postgres@/{name}?host=nowhere.invalid,127.0.0.1&port={port}&client_encoding=UTF8&gssencmode=prefer"),
    ] {
        assert_eq!(session(&url).await.expect(&url)["client"], "127.0.0.1", "{url}");
    }
    let encoded = socket_folder().replace('/', "%2F");
    for url in [
        format!("postgres://postgres@{encoded}:{port}/{name}"),
        format!("postgres://{encoded}:{port}/{name}?user=postgres"),
        format!("postgres:///{name}?host={encoded}&port={port}&user=postgres"),
        format!("postgres:///{name}?host={}&port={port}&user=postgres", socket_folder()),
        format!("postgres://postgres@{encoded}:{port}/{name}?sslmode=disable"),
        format!("postgres://postgres@{encoded}:{port}/{name}?sslmode=prefer"),
    ] {
        assert_eq!(session(&url).await.expect(&url), json!({"encrypted": false, "client": null}), "{url}");
    }
}

// contract B1.2
#[tokio::test]
async fn a_unix_socket_ignores_sslmode_as_libpq_does() {
    let database = database().await;
    let encoded = socket_folder().replace('/', "%2F");
    let authority = variable("PERISTYLE_TEST_AUTHORITY");
    for options in ["sslmode=require".to_owned(), format!("sslmode=verify-full&sslrootcert={authority}")] {
        let url = format!("postgres://postgres@{encoded}:{}/{}?{options}", port(), database.name());
        assert_eq!(session(&url).await.expect(&url), json!({"encrypted": false, "client": null}), "{url}");
    }
}

/// A certificate authority that did not sign the certificate of PostgreSQL.
fn untrusted_authority(folder: &Path) -> PathBuf {
    let path = folder.join("stranger.crt");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=stranger", "-keyout"])
        .arg(folder.join("stranger.key"))
        .arg("-out")
        .arg(&path)
        .stderr(Stdio::null())
        .status();
    assert!(made.expect("openssl runs").success());
    path
}

// contract B1.2
#[tokio::test]
async fn tls_follows_sslmode_and_sslrootcert() {
    let database = database().await;
    let folder = tempfile::tempdir().expect("a folder");
    let authority = variable("PERISTYLE_TEST_AUTHORITY");
    let untrusted = untrusted_authority(folder.path()).display().to_string();
    for (host, mode, root, expected) in [
        ("127.0.0.1", "disable", None, Some(false)),
        ("127.0.0.1", "prefer", None, Some(true)),
        ("127.0.0.1", "require", None, Some(true)),
        ("127.0.0.1", "require", Some(&authority), Some(true)),
        ("127.0.0.1", "require", Some(&untrusted), None),
        ("127.0.0.1", "verify-ca", Some(&authority), Some(true)),
        ("127.0.0.1", "verify-ca", Some(&untrusted), None),
        ("localhost", "verify-full", Some(&authority), Some(true)),
        ("localhost", "verify-full", Some(&untrusted), None),
        ("127.0.0.1", "verify-full", Some(&authority), None),
        ("localhost", "verify-full", None, None),
    ] {
        let root = root.map_or(String::new(), |path| format!("&sslrootcert={path}"));
        let url = format!("postgres://postgres:sesame@{host}:{}/{}?sslmode={mode}{root}", port(), database.name());
        match (session(&url).await, expected) {
            (Ok(session), Some(encrypted)) => assert_eq!(session["encrypted"], encrypted, "{url}"),
            (Err(message), None) => {
                assert!(message.starts_with("DATABASE_URL: ") && !message.contains("sesame") && message.lines().count() == 1, "{message}");
            }
            (found, _) => panic!("{url}: {found:?}"),
        }
    }
    for (options, word) in [
        ("sslmode=sometimes", "sslmode"),
        ("sslmode=verify-full&sslrootcert=/nowhere/root.crt", "/nowhere/root.crt"),
        ("sslmode=verify-ca&sslrootcert=/dev/null", "sslrootcert"),
    ] {
        let url = format!("postgres://postgres:sesame@localhost:{}/{}?{options}", port(), database.name());
        let message = session(&url).await.expect_err(options);
        assert!(message.starts_with("DATABASE_URL: ") && message.contains(word) && !message.contains("sesame"), "{message}");
    }
}

// contract B1.2
#[tokio::test]
async fn the_first_reachable_host_of_a_dsn_is_used() {
    let database = database().await;
    // A free port.
    let dead = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let url = format!("postgres://postgres@127.0.0.1:{dead},127.0.0.1:{}/{}", port(), database.name());
    assert_eq!(session(&url).await.expect("the second host")["client"], "127.0.0.1");
    let unreachable = format!("postgres://postgres:sesame@127.0.0.1:{dead}/{}", database.name());
    let message = session(&unreachable).await.expect_err("nothing listens");
    assert!(message.starts_with("DATABASE_URL: ") && message.lines().count() == 1 && !message.contains("sesame"), "{message}");
    let missing = format!("postgres://postgres@127.0.0.1:{}/no_such_database", port());
    let message = session(&missing).await.expect_err("no such database");
    assert!(message.starts_with("DATABASE_URL: "), "{message}");
}
