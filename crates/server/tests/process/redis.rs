//! Redis over TLS, and Redis that is down for a while.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::program::Folder;
use crate::support::{get, until, variable};

/// A Redis that accepts only TLS, with the certificate of the tests' PostgreSQL for `localhost`.
struct Redis(Child);

impl Redis {
    fn start(port: u16) -> Self {
        let folder = PathBuf::from(variable("PERISTYLE_TEST_SOCKET"));
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--tls-port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.arg("--tls-cert-file").arg(folder.join("server.crt")).arg("--tls-key-file").arg(folder.join("server.key"));
        command.arg("--tls-ca-cert-file").arg(variable("PERISTYLE_TEST_AUTHORITY")).args(["--tls-auth-clients", "no"]);
        Redis(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("redis-server starts"))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

// contract I35.4, I35.6
#[tokio::test(flavor = "multi_thread")]
async fn logins_are_shared_over_tls_with_a_trusted_redis_that_is_up() {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let url = format!("rediss://localhost:{port}");
    let authority = variable("PERISTYLE_TEST_AUTHORITY");
    let folder = Folder::shop();
    folder.run(&["keys", "generate"], &[]).out();
    let variables = [
        ("OAUTH_STRATEGY", "platform-hub"),
        ("OAUTH_HUB_URL", "http://127.0.0.1:9"),
        ("OAUTH_CLIENT_ID", "shop"),
        ("OAUTH_CLIENT_SECRET", "marker-secret"),
        ("OAUTH_REDIRECT_URI", "http://localhost:9/callback"),
        ("REDIS_URL", url.as_str()),
        ("SSL_CERT_FILE", authority.as_str()),
    ];
    let trusting = folder.serve(&variables);
    let strange = folder.serve(&variables[..6]);
    let status = async |address| get("/auth/login").send(address).await.status();
    assert_eq!(status(trusting.address).await, 503, "it is not there yet");
    let redis = Redis::start(port);
    until("logins begin", async || status(trusting.address).await == 302).await;
    assert_eq!(status(strange.address).await, 503, "an unknown certificate authority is not trusted");
    drop(redis);
    assert_eq!(status(trusting.address).await, 503);
    let _redis = Redis::start(port);
    until("logins begin again", async || status(trusting.address).await == 302).await;
    let log = trusting.stop() + &strange.stop();
    assert!(!log.contains("marker-") && !log.contains("panicked"), "{log}");
}
