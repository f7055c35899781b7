//! A satellite that reaches its hub by https: it trusts only the configured certificate authorities.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::program::Folder;
use crate::support::{get, until};

fn openssl(folder: &Folder, arguments: &str) {
    let status = Command::new("openssl").args(arguments.split_whitespace()).current_dir(folder.path("")).stderr(Stdio::null()).status();
    assert!(status.expect("openssl runs").success(), "{arguments}");
}

/// A certificate authority, and its certificate for localhost.
fn certificates(folder: &Folder) {
    openssl(folder, "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout authority.key -out authority.crt");
    openssl(folder, "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr");
    folder.write("extensions", "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n");
    openssl(
        folder,
        "x509 -req -in server.csr -CA authority.crt -CAkey authority.key -CAcreateserial -days 2 -extfile extensions -out server.crt",
    );
}

/// A TLS terminator in front of an address.
fn terminator(folder: &Folder, behind: SocketAddr, listener: TcpListener) {
    let certificate = CertificateDer::from_pem_file(folder.path("server.crt")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(folder.path("server.key")).expect("a key");
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key).expect("a pair");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let (Ok(mut near), Ok(mut far)) = (acceptor.accept(stream).await, TcpStream::connect(behind).await) else { return };
                _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
}

// contract I33.4, attack 23, attack 43
#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_trusts_its_hub_by_certificate() {
    let (hub_folder, folder) = (Folder::new(), Folder::shop());
    certificates(&folder);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let hub_url = format!("https://localhost:{port}");
    let redirect = "http://localhost:9/callback";
    let hub_variables = [("OAUTH_STRATEGY", "local-provider"), ("DATABASE_URL", "sqlite://hub.db"), ("APP_URL", &hub_url)];
    let secret = hub_folder.set_up_hub("a long password", redirect, &hub_variables);
    let hub = hub_folder.serve(&hub_variables);
    terminator(&folder, hub.address, listener);
    folder.run(&["keys", "generate"], &[]).out();
    let variables = |hub_url| {
        [
            ("OAUTH_STRATEGY", "platform-hub"),
            ("OAUTH_HUB_URL", hub_url),
            ("OAUTH_CLIENT_ID", "shop"),
            ("OAUTH_CLIENT_SECRET", secret.as_str()),
            ("OAUTH_REDIRECT_URI", redirect),
            ("SSL_CERT_FILE", "authority.crt"),
        ]
    };
    let trusting = folder.serve(&variables(&hub_url));
    until("the satellite is ready", async || get("/ready").send(trusting.address).await.status() == 200).await;
    // The certificate is for another name.
    let misled = format!("https://127.0.0.1:{port}");
    let mut misled = folder.serve(&variables(&misled));
    misled.line(|line| line.contains("could not fetch the keys of the hub"));
    assert_eq!(get("/ready").send(misled.address).await.status(), 503);
    // No trusted authority signed it.
    openssl(&folder, "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout other.key -out authority.crt");
    let mut doubting = folder.serve(&variables(&hub_url));
    doubting.line(|line| line.contains("could not fetch the keys of the hub"));
    assert_eq!(get("/ready").send(doubting.address).await.status(), 503);
    // A file without authorities is refused at boot.
    for text in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        folder.write("authority.crt", text);
        // contract B1.1
        let message = folder.run(&["serve"], &variables(&hub_url)).refused();
        assert!(message.starts_with("SSL_CERT_FILE: the file \"authority.crt\" holds no certificate; accepted is"), "{message}");
    }
    std::fs::remove_file(folder.path("authority.crt")).expect("a file");
    let message = folder.run(&["serve"], &variables(&hub_url)).refused();
    assert!(message.starts_with("SSL_CERT_FILE: the file \"authority.crt\" cannot be read: No such file"), "{message}");
    // A satellite with an http hub ignores the file.
    assert_eq!(folder.run(&["check"], &variables(&hub_url)).code(), Some(0));
    folder.run(&["check"], &[("SSL_CERT_FILE", "authority.crt")]).good();
}
