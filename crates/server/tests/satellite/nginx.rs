//! `/auth/verify` with nginx: `auth_request` checks each request to an app without authentication.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tokio::net::TcpStream;

use crate::fake_hub::{FakeAnswer, FakeHub};
use crate::pair::Pair;
use crate::support::{Request, get, until};

/// The configuration of the guide, with the ports of a test.
fn configuration(folder: &str, listen: SocketAddr, satellite: SocketAddr, app: SocketAddr) -> String {
    let guide = include_str!("../../../../docs/guide/satellite.md");
    let block = guide.split("```nginx\n").nth(1).and_then(|text| text.split("```").next()).expect("a configuration in the guide");
    let server = block
        .replace("listen 443 ssl;", &format!("listen {listen};"))
        .replace("http://127.0.0.1:4001", &format!("http://{satellite}"))
        .replace("http://127.0.0.1:9000", &format!("http://{app}"));
    let own: String = server
        .lines()
        .filter(|line| !line.trim_start().starts_with("ssl_") && !line.contains("server_name"))
        .fold(String::new(), |text, line| text + line + "\n");
    let temporary: String =
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|kind| format!("{kind}_temp_path {folder}/{kind};\n")).concat();
    format!(
        "daemon off;\nworker_processes 1;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{own}}}\n"
    )
}

struct Nginx {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Nginx {
    async fn start(satellite: SocketAddr, app: SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_str().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
        std::fs::write(folder.path().join("nginx.conf"), configuration(place, address, satellite, app)).unwrap();
        // If root starts nginx, its workers run as another user.
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| std::path::Path::new(path).exists());
        let program = program.expect("nginx is not installed: run ./scripts/test, which installs it");
        let child = Command::new(program)
            .args(["-p", place, "-e", &format!("{place}/error.log"), "-c", &format!("{place}/nginx.conf")])
            .stderr(Stdio::piped())
            .spawn()
            .expect("nginx runs");
        let nginx = Nginx { child, address, _folder: folder };
        until("nginx listens", async || TcpStream::connect(address).await.is_ok()).await;
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM ends the workers too; SIGKILL would leave them.
        _ = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        _ = self.child.wait();
    }
}

fn with_token(request: Request, token: &Value) -> Request {
    request.header("authorization", &format!("Bearer {}", token.as_str().unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_forwards_authenticated_requests_with_account_headers() {
    // contract I32.2, attack 46
    let pair = Pair::start().await;
    let app = FakeHub::start().await;
    app.set_answer("/reports", FakeAnswer::text(200, "the report"));
    let nginx = Nginx::start(pair.satellite.address, app.address).await;
    let tokens = pair.login().await;
    let token = &tokens["access_token"];

    let anonymous = get("/reports").send(nginx.address).await;
    assert_eq!((anonymous.status(), anonymous.header("www-authenticate")), (401, Some("Bearer")));
    let bad = get("/reports").header("authorization", "Bearer x.y.z").send(nginx.address).await;
    assert_eq!((bad.status(), bad.header("www-authenticate")), (401, Some("Bearer error=\"invalid_token\"")));
    assert_eq!(app.requests_to("/reports"), 0);

    // nginx replaces account headers of the client, and forwards the body.
    let good = with_token(Request::new("POST", "/reports").body("x=1"), token).header("x-account-id", "somebody-else");
    let good = good.header("x-account-tenants", "all").send(nginx.address).await;
    assert_eq!((good.status(), good.text().as_str()), (200, "the report"));
    let request = app.last_request_to("/reports");
    assert!(request.contains(&format!("x-account-id: {}", pair.hub.account)) && request.contains("x-account-username: ada"), "{request}");
    assert!(!request.contains("somebody-else") && !request.contains("x-account-tenants: all"), "{request}");

    // Bob lacks the permission in the configuration.
    pair.hub.add_account("bob", &[]).await;
    let bob = pair.hub.tokens_of("bob").await;
    assert_eq!(with_token(get("/reports"), &bob["access_token"]).send(nginx.address).await.status(), 403);
    // nginx answers 500 if the satellite answers 503.
    pair.proxy.set(crate::support::proxy::ProxyMode::Disconnect);
    let fresh = pair.hub.tokens().await;
    assert_eq!(with_token(get("/reports"), &fresh["access_token"]).send(nginx.address).await.status(), 500);
    assert_eq!(with_token(get("/reports"), token).send(nginx.address).await.status(), 200);
}
