//! A satellite process: its settings, its start before the hub is up, and a log without secrets.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::hub_fixture::HubFixture;
use crate::program::Folder;
use crate::support::{Backend, Request, Response, get, post, until};

const PASSWORD: &str = "marker-password-2";
const REDIRECT: &str = "http://localhost:9/callback";

/// A free address, for a hub that is started later and again.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port")
}

fn good(hub: &str) -> Vec<(&'static str, &str)> {
    vec![
        ("OAUTH_STRATEGY", "platform-hub"),
        ("OAUTH_HUB_URL", hub),
        ("OAUTH_CLIENT_ID", "shop"),
        ("OAUTH_CLIENT_SECRET", "marker-secret"),
        ("OAUTH_REDIRECT_URI", REDIRECT),
    ]
}

fn but<'a>(variables: &[(&'static str, &'a str)], name: &'static str, value: &'a str) -> Vec<(&'static str, &'a str)> {
    let mut changed: Vec<_> = variables.iter().copied().filter(|(other, _)| *other != name).collect();
    if !value.is_empty() {
        changed.push((name, value));
    }
    changed
}

// contract B2.4, attack 43
#[test]
fn every_setting_of_a_satellite_is_checked_at_boot() {
    let folder = Folder::shop();
    folder.run(&["keys", "generate"], &[]).out();
    folder.write("secret", "marker-secret\n");
    folder.write("two-lines", "marker-secret\nmarker-more\n");
    let good = good("http://127.0.0.1:9");
    for (name, value, word) in [
        ("OAUTH_HUB_URL", "", "is missing"),
        ("OAUTH_HUB_URL", "hub.example.com", "found \"hub.example.com\""),
        ("OAUTH_HUB_URL", "https://hub.example.com/path", "without a path"),
        ("OAUTH_HUB_URL", "http://hub.example.com", "https"),
        ("OAUTH_HUB_INTERNAL_URL", "hub:4000", "an origin"),
        ("OAUTH_CLIENT_ID", "", "is missing"),
        ("OAUTH_CLIENT_ID", "a b", "a client id must have"),
        ("OAUTH_CLIENT_SECRET", "", "OAUTH_CLIENT_SECRET_FILE"),
        ("OAUTH_REDIRECT_URI", "", "is missing"),
        ("OAUTH_REDIRECT_URI", "/callback", "absolute"),
        ("OAUTH_REDIRECT_URI", "http://shop.example.com/callback", "https"),
        ("LOGIN_BINDING", "maybe", "on or off"),
        ("REDIS_URL", "http://:marker-password@cache", "redis"),
    ] {
        let message = folder.run(&["serve"], &but(&good, name, value)).refused();
        assert!(message.starts_with(name) && message.contains(word), "{message}");
        assert!(!message.contains("marker-"), "{message}");
    }
    let without = but(&good, "OAUTH_CLIENT_SECRET", "");
    for (file, word) in [("nowhere", "cannot be read"), ("two-lines", "several lines")] {
        let message = folder.run(&["serve"], &but(&without, "OAUTH_CLIENT_SECRET_FILE", file)).refused();
        assert!(message.starts_with("OAUTH_CLIENT_SECRET_FILE") && message.contains(word) && !message.contains("marker-"), "{message}");
    }
    let message = folder.run(&["serve"], &but(&good, "OAUTH_CLIENT_SECRET_FILE", "secret")).refused();
    assert!(message.starts_with("OAUTH_CLIENT_SECRET:") && message.contains("one of them"), "{message}");
    folder.serve(&but(&without, "OAUTH_CLIENT_SECRET_FILE", "secret")).stop();
}

// contract B2.4
#[test]
fn one_message_names_everything_that_a_satellite_lacks() {
    let folder = Folder::shop();
    folder.run(&["keys", "generate"], &[]).out();
    let message = folder.run(&["serve"], &[("OAUTH_STRATEGY", "platform-hub")]).refused();
    for name in ["OAUTH_HUB_URL", "OAUTH_CLIENT_ID", "OAUTH_REDIRECT_URI", "OAUTH_CLIENT_SECRET"] {
        assert!(message.contains(&format!("{name}: is missing")), "{name} in {message}");
    }
    let some = [("OAUTH_STRATEGY", "platform-hub"), ("OAUTH_HUB_URL", "http://127.0.0.1:9"), ("OAUTH_CLIENT_SECRET", "marker-secret")];
    let message = folder.run(&["serve"], &some).refused();
    assert!(message.starts_with("OAUTH_CLIENT_ID: is missing") && message.contains("OAUTH_REDIRECT_URI: is missing"), "{message}");
    assert!(!message.contains("OAUTH_HUB_URL") && !message.contains("SECRET") && !message.contains("marker-"), "{message}");
}

// contract I31.7
#[tokio::test(flavor = "multi_thread")]
async fn the_log_names_the_audience_and_the_issuer_that_a_satellite_expects() {
    const HUB: &str = "https://hub.example.com";
    let hub = HubFixture::with(Backend::Sqlite, &[("APP_URL", HUB)]).await;
    let serving_hub = hub.serve();
    let hub_url = format!("http://{}", serving_hub.address);
    let folder = Folder::shop();
    folder.run(&["keys", "generate"], &[]).out();
    let mut variables = but(&good(HUB), "OAUTH_CLIENT_ID", "till");
    variables.push(("OAUTH_HUB_INTERNAL_URL", &hub_url));
    variables.push(("OAUTH_AUDIENCES", "kiosk"));
    let mut serving = folder.serve(&variables);
    let satellite = serving.address;
    until("the satellite is ready", async || get("/ready").send(satellite).await.status() == 200).await;
    // The client of this token is `shop`.
    let tokens = hub.password().send(serving_hub.address).await.good();
    let token = tokens["access_token"].as_str().expect("a token");
    for _ in 0..3 {
        let refused = get("/auth/me").header("authorization", &format!("Bearer {token}")).send(satellite).await;
        assert!(!refused.text().contains("till"), "{}", refused.text());
        assert_eq!(refused.problem(401)["code"], "INVALID_TOKEN");
    }
    let line = serving.line(|line| line.contains("another audience"));
    assert!(line.contains("WARN") && line.contains("till, kiosk") && line.contains("OAUTH_AUDIENCES"), "{line}");
    let log = serving.stop();
    assert_eq!(log.matches("another audience").count(), 1, "once a minute: {log}");
    assert!(!log.contains(token), "{log}");
    // A satellite that has the URL of its hub wrong.
    let mut variables = but(&good("https://hub.example.org"), "OAUTH_CLIENT_ID", "shop");
    variables.push(("OAUTH_HUB_INTERNAL_URL", &hub_url));
    let mut serving = folder.serve(&variables);
    let satellite = serving.address;
    until("the satellite is ready", async || get("/ready").send(satellite).await.status() == 200).await;
    get("/auth/me").header("authorization", &format!("Bearer {token}")).send(satellite).await.problem(401);
    let line = serving.line(|line| line.contains("another issuer"));
    assert!(line.contains("WARN") && line.contains("https://hub.example.org") && line.contains("OAUTH_HUB_URL"), "{line}");
    assert!(!serving.stop().contains(token));
    serving_hub.stop();
}

// contract B2.4, I33.1
#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_starts_with_either_key_format_and_without_its_hub() {
    let folder = Folder::shop();
    folder.run(&["keys", "generate"], &[]).out();
    let traditional = Command::new("openssl")
        .args(["rsa", "-traditional", "-in"])
        .arg(folder.path(".keys/oauth-private.key"))
        .arg("-out")
        .arg(folder.path("old.key"))
        .stderr(Stdio::null())
        .status();
    assert!(traditional.expect("openssl runs").success());
    let hub = format!("http://{}", free_address());
    for path in [".keys/oauth-private.key", "old.key"] {
        let serving = folder.serve(&but(&good(&hub), "OAUTH_PRIVATE_KEY_PATH", path));
        assert_eq!(get("/health").send(serving.address).await.status(), 200);
        let waiting = get("/ready").send(serving.address).await;
        assert!(waiting.header("retry-after").is_some());
        assert_eq!(waiting.problem(503)["code"], "IDENTITY_UNAVAILABLE");
        assert!(!waiting.text().contains("127.0.0.1"), "{}", waiting.text());
        serving.stop();
    }
}

// contract B3.2, I33.1
#[test]
fn a_satellite_that_waits_for_its_hub_stops_gracefully() {
    let folder = Folder::shop();
    folder.run(&["keys", "generate"], &[]).out();
    let hub = format!("http://{}", free_address());
    for signal in ["TERM", "INT"] {
        let mut child = folder.command(&["serve"]).envs(good(&hub)).spawn().expect("the program starts");
        let mut err = BufReader::new(child.stderr.take().expect("standard error"));
        let mut log = String::new();
        while !log.contains("could not fetch the keys") {
            assert_ne!(err.read_line(&mut log).expect("UTF-8"), 0, "{log}");
        }
        assert!(log.contains(&format!("cannot connect to {hub}: ")), "{log}");
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
        assert!(sent.expect("kill runs").success());
        err.read_to_string(&mut log).expect("UTF-8");
        assert_eq!(child.wait().expect("an end").code(), Some(0), "{signal}: {log}");
        assert!(!log.contains("serving"), "{log}");
    }
}

fn form(path: &str, body: &str) -> Request {
    Request::new("POST", path).header("content-type", "application/x-www-form-urlencoded").body(body)
}

/// The value of a query parameter; none here needs decoding.
fn parameter<'a>(address: &'a str, name: &str) -> &'a str {
    address.split(['?', '&']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).unwrap_or_else(|| panic!("{name} in {address}"))
}

fn value_of_cookie(answer: &Response) -> String {
    answer.header("set-cookie").and_then(|value| value.split(';').next()).expect("a cookie").to_owned()
}

// contract I33.1, I33.2, I33.3, attack 24, attack 37
#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_survives_outages_of_its_hub_and_its_trace_log_shows_no_secret() {
    let (hub_folder, folder) = (Folder::new(), Folder::shop());
    let place = free_address().to_string();
    let hub_url = format!("http://{place}");
    let hub_variables =
        [("OAUTH_STRATEGY", "local-provider"), ("DATABASE_URL", "sqlite://hub.db"), ("LISTEN", &place), ("APP_URL", &hub_url)];
    let secret = hub_folder.set_up_hub(PASSWORD, REDIRECT, &hub_variables);
    folder.run(&["keys", "generate"], &[]).out();
    let variables = but(&but(&good(&hub_url), "OAUTH_CLIENT_SECRET", &secret), "LOG", "trace");
    let serving = folder.serve(&variables);
    let satellite = serving.address;
    assert_eq!(get("/ready").send(satellite).await.status(), 503);

    let hub = hub_folder.serve(&hub_variables);
    until("the satellite is ready", async || get("/ready").send(satellite).await.status() == 200).await;
    let login = get("/auth/login").send(satellite).await;
    let (binding, address) = (value_of_cookie(&login), login.header("location").expect("an address").to_owned());
    let signed = form("/sign-in", &format!("username=ada&password={PASSWORD}")).send(hub.address).await;
    let session = value_of_cookie(&signed);
    let led = get(address.strip_prefix(&hub_url).expect("the hub")).header("cookie", &session).send(hub.address).await;
    let location = led.header("location").expect("an address");
    let (code, state) = (parameter(location, "code").to_owned(), parameter(location, "state").to_owned());
    let body = json!({ "code": code, "state": state }).to_string();
    let tokens = post("/auth/callback", body).header("origin", &format!("http://{satellite}")).header("cookie", &binding);
    // APP_URL defaults to LISTEN with the real port; the app's own origin is accepted too.
    let tokens = tokens.header("origin", "http://localhost:9").send(satellite).await.good();
    let text = |name: &str| tokens[name].as_str().expect("a token").to_owned();
    let (access, refresh) = (text("access_token"), text("refresh_token"));
    let bearer = format!("Bearer {access}");
    let me = get("/auth/me").header("authorization", &bearer);
    assert_eq!(me.send(satellite).await.good()["username"], "ada");
    let trade = post("/auth/refresh", json!({ "refresh_token": refresh }).to_string());
    let next = trade.send(satellite).await.good();
    let fresh = next["access_token"].as_str().expect("a token").to_owned();

    hub.stop();
    // Cached accounts still work; a request that needs the hub gets 503.
    assert_eq!(me.send(satellite).await.status(), 200);
    let unknown = get("/auth/me").header("authorization", &format!("Bearer {fresh}"));
    let away = unknown.send(satellite).await;
    assert!(away.header("retry-after").is_some() && away.header("www-authenticate").is_none());
    away.problem(503);
    assert_eq!(trade.send(satellite).await.status(), 503);
    assert_eq!(get("/ready").send(satellite).await.status(), 200, "keys bridge an outage");
    assert_eq!(get("/auth/login").send(satellite).await.status(), 302);

    let hub = hub_folder.serve(&hub_variables);
    until("the satellite asks again", async || unknown.send(satellite).await.status() == 200).await;
    hub.stop();
    let log = serving.stop();
    assert!(log.contains("login.finished") && log.contains("DEBUG"), "{log}");
    let (binding, session) = (binding.split_once('=').expect("a value").1, session.split_once('=').expect("a value").1);
    let last = next["refresh_token"].as_str().expect("a token");
    for hidden in [PASSWORD, &secret, &code, &state, &access, &fresh, &refresh, last, binding, session] {
        let found = log.lines().find(|line| line.contains(hidden));
        assert_eq!(found, None, "{hidden} in the log");
    }
}
