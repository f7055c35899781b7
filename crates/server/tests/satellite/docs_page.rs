//! Signing in on `/docs` and `/graphql` of a satellite: which page the hub's redirect opens, and a silent login.

use identity::client::Redirect;

use crate::pair::Pair;
use crate::support::{Setup, get};
use crate::test_hub::{error, parameter};

const OWN: &str = "http://127.0.0.1:4001";

/// A satellite with a redirect URI at its own origin and this path.
async fn own_origin(path: &str, change: impl FnOnce(&mut Setup)) -> Pair {
    let redirect = Redirect::register(&format!("{OWN}{path}")).unwrap();
    Pair::with(|setup| {
        setup.satellite.as_mut().unwrap().redirect = redirect;
        change(setup);
    })
    .await
}

fn app() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "index of the app").unwrap();
    folder
}

/// What a browser sees at the path that the hub sends it to.
async fn landing(pair: &Pair, path: &str, state: &str) -> &'static str {
    let answer = pair.satellite.send(&get(&format!("{path}?code=c-1&state={state}&iss=x")).header("accept", "text/html")).await;
    let text = answer.text();
    let page = ["docs", "graphql"].into_iter().find(|page| text.contains(&format!("/{page}/main.js")));
    if let Some(page) = page {
        assert_eq!(
            (answer.status(), answer.header("referrer-policy"), answer.header("x-frame-options")),
            (200, Some("no-referrer"), Some("DENY"))
        );
        assert!(answer.header("content-security-policy").unwrap().contains("script-src 'self'"));
        // attack 37
        assert!(!text.contains("c-1") && text.contains("data-sign-in=\"satellite\""), "{text}");
        return page;
    }
    if text == "index of the app" { "app" } else { "refusal" }
}

async fn state_of(pair: &Pair, login: &str) -> String {
    parameter(&pair.start_login(login).await.url, "state")
}

// contract E8.9
#[tokio::test(flavor = "multi_thread")]
async fn without_an_app_the_hub_sends_browsers_to_the_page() {
    for path in ["/callback", "/", "/auth/callback", "/docs", "/signed/in"] {
        let pair = own_origin(path, |_| {}).await;
        let state = state_of(&pair, "/auth/login").await;
        assert_eq!(landing(&pair, path, &state).await, "docs", "{path}");
        assert_eq!(landing(&pair, path, "unknown").await, "docs", "{path}");
        let state = state_of(&pair, "/auth/login?return_to=/graphql").await;
        assert_eq!(landing(&pair, path, &state).await, "graphql", "{path}");
        let home = pair.satellite.send(&get("/nowhere").header("accept", "text/html")).await;
        assert!(home.text().contains("<a href=\"/docs\">"), "{}", home.text());
    }
    // A redirect URI of another origin is the app's own.
    let pair = Pair::start().await;
    let state = state_of(&pair, "/auth/login?return_to=/docs").await;
    assert_eq!(landing(&pair, "/callback", &state).await, "refusal");
    assert!(pair.satellite.get("/docs").await.text().contains("data-sign-in=\"elsewhere\""));
}

// contract E8.9
#[tokio::test(flavor = "multi_thread")]
async fn with_an_app_only_a_login_that_began_at_the_page_ends_there() {
    let folder = app();
    let pair = own_origin("/callback", |setup| setup.app = Some(folder.path().to_owned())).await;
    for (login, expected) in [
        ("/auth/login?return_to=/docs", "docs"),
        ("/auth/login?return_to=/docs%23resource=shop.note", "docs"),
        ("/auth/login?return_to=/docs/", "docs"),
        ("/auth/login?return_to=/graphql", "graphql"),
        ("/auth/login?return_to=/graphqls", "app"),
        ("/auth/login", "app"),
        ("/auth/login?return_to=/orders", "app"),
        ("/auth/login?return_to=/docsomething", "app"),
        ("/auth/login?return_to=//docs", "app"),
    ] {
        let state = state_of(&pair, login).await;
        assert_eq!(landing(&pair, "/callback", &state).await, expected, "{login}");
        // The page looks and leaves the login for the callback.
        assert_eq!(landing(&pair, "/callback", &state).await, expected, "{login}");
    }
    for state in ["", "unknown", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        assert_eq!(landing(&pair, "/callback", state).await, "app", "{state}");
    }
    assert_eq!(landing(&pair, "/", "unknown").await, "app");
}

// contract E8.9 // attack 92
#[tokio::test(flavor = "multi_thread")]
async fn the_page_cannot_finish_the_login_of_another_browser() {
    let pair = Pair::start().await;
    let attackers = pair.sign_in_at_hub(pair.start_login("/auth/login?return_to=/docs").await).await;
    let victims = pair.start_login("/auth/login?return_to=/docs").await;
    let post = crate::support::post("/auth/callback", attackers.body()).header("origin", OWN);
    assert_eq!(error(&pair.satellite.send(&post.clone().header("cookie", &victims.cookie)).await, 403), "access_denied");
    assert_eq!(pair.satellite.send(&post).await.status(), 400, "the attempt has used the login up");
}

// contract I30.12
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_login_asks_the_hub_not_to_ask() {
    let pair = Pair::start().await;
    let silent = pair.start_login("/auth/login?return_to=/docs&prompt=none").await;
    assert_eq!(parameter(&silent.url, "prompt"), "none");
    assert!(!pair.start_login("/auth/login").await.url.contains("prompt="));
    // Without a session the hub sends the browser back at once.
    let answer = pair.hub.send(&get(silent.url.strip_prefix(crate::test_hub::ISSUER).unwrap())).await;
    assert_eq!(parameter(answer.header("location").unwrap(), "error"), "login_required");
    for prompt in ["login", "none%20login"] {
        assert_eq!(error(&pair.satellite.get(&format!("/auth/login?prompt={prompt}")).await, 400), "invalid_request", "{prompt:?}");
    }
}
