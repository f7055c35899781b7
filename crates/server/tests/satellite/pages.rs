//! Pages that a browser gets from a satellite where a program gets JSON.

use std::net::TcpListener;

use crate::pair::Pair;
use crate::support::proxy::ProxyMode;
use crate::support::{Response, get, until};
use crate::test_hub::{REDIRECT, error};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

fn assert_page(answer: &Response) {
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{}", answer.text());
    assert_eq!((answer.header("x-frame-options"), answer.header("cache-control")), (Some("DENY"), Some("no-store")));
    assert!(answer.header("content-security-policy").is_some_and(|policy| policy.starts_with("default-src 'none'")));
    assert!(answer.text().contains("<h1>") && answer.text().contains("/auth/style.css"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_cannot_start_shows_a_page_with_a_retry_link() {
    // contract I39.3, I34.3
    let nowhere = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let pair = Pair::with(|setup| setup.redis_url = Some(format!("redis://{nowhere}"))).await;
    let page = pair.satellite.send(&get("/auth/login?return_to=/orders").header("accept", BROWSER)).await;
    assert_eq!((page.status(), page.header("retry-after").is_some(), page.header("set-cookie")), (503, true, None));
    assert_page(&page);
    assert!(page.text().contains("<a href=\"\">Try again</a>"), "{}", page.text());
    assert_eq!(error(&pair.satellite.get("/auth/login").await, 503), "temporarily_unavailable");
    let style = pair.satellite.get("/auth/style.css").await;
    assert_eq!((style.status(), style.header("content-type")), (200, Some("text/css; charset=utf-8")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_not_redirected_to_an_unavailable_hub() {
    // contract I39.3
    let pair = Pair::start().await;
    let login = get("/auth/login").header("accept", BROWSER);
    assert_eq!(pair.satellite.send(&login).await.status(), 302);
    for mode in [ProxyMode::Disconnect, ProxyMode::Freeze] {
        pair.proxy.set(mode);
        until("the satellite notices the outage", async || pair.satellite.send(&login).await.status() == 503).await;
        let page = pair.satellite.send(&login).await;
        assert_eq!((page.status(), page.header("retry-after").is_some(), page.header("location")), (503, true, None));
        assert_page(&page);
        assert!(page.text().contains("<a href=\"\">Try again</a>"), "{}", page.text());
        // A program can still start a login.
        assert_eq!(pair.satellite.get("/auth/login").await.status(), 302);
        pair.proxy.set(ProxyMode::Forward);
        until("the hub is available again", async || pair.satellite.send(&login).await.status() == 302).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_path_that_a_browser_opens_by_mistake_shows_a_page() {
    // contract I39.1, I39.3
    let pair = Pair::start().await;
    let app = format!("<a href=\"{}/\">", REDIRECT.strip_suffix("/callback").expect("an origin"));
    let cases = [
        ("/nowhere", 404, "There is nothing here"),
        ("/auth/callback?code=c-1&state=s-1", 405, "Signing in could not be finished"),
        ("/api/auth/callback?error=access_denied&state=s-1", 405, "Signing in could not be finished"),
        ("/auth/refresh", 405, "This address is for programs"),
        ("/auth/logout", 405, "This address is for programs"),
        ("/auth/me", 401, "This address is for programs"),
    ];
    for (path, status, heading) in cases {
        let page = pair.satellite.send(&get(path).header("accept", BROWSER)).await;
        assert_eq!(page.status(), status, "{path}");
        assert_page(&page);
        assert!(page.text().contains(&format!("<h1>{heading}</h1>")) && page.text().contains(&app), "{path}: {}", page.text());
        // attack 37
        assert!(!page.text().contains("c-1") && !page.text().contains("s-1"), "{path}: {}", page.text());
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(pair.satellite.get(path).await.header("content-type").map(|kind| kind.ends_with("json")), Some(true), "{path}");
    }
    let callback = pair.satellite.send(&get("/auth/callback?code=c&state=s").header("accept", BROWSER)).await;
    assert!(callback.text().contains("OAUTH_REDIRECT_URI"), "the page names the setting to change: {}", callback.text());
}
