//! Pages that a browser gets where a program gets JSON.

use store::hub_records::Bind;

use crate::support::proxy::{Proxy, ProxyMode};
use crate::support::{BACKENDS, Backend, Response, Server, get};
use crate::test_hub::{PASSWORD, TestHub, authorize, cookie, posted, setup, verifier};

/// The `Accept` header of a browser that opens a URL.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

/// Checks for a page in the design of the hub that forbids framing and scripts.
fn assert_page(answer: &Response) {
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{}", answer.text());
    assert_eq!((answer.header("x-frame-options"), answer.header("cache-control")), (Some("DENY"), Some("no-store")));
    let policy = answer.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'") && !policy.contains("script-src"));
    let text = answer.text();
    for piece in ["<html lang=\"en\"", "/sign-in/style.css", "<h1>", "viewport"] {
        assert!(text.contains(piece), "{piece} in {text}");
    }
    assert!(answer.header("x-request-id").is_some() && answer.header("content-encoding").is_none());
}

/// A second process of the hub, which reaches PostgreSQL through a proxy.
async fn serve_through_proxy(hub: &TestHub) -> (Server, Proxy) {
    let (_, rest) = hub.database.url.split_once('@').expect("a DSN");
    let (host, name) = rest.split_once('/').expect("a name");
    let proxy = Proxy::to(host.to_owned()).await;
    (setup().serve_at(&format!("postgres://postgres@{}/{name}", proxy.address)).await, proxy)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_path_is_a_page_for_a_browser_and_a_problem_for_a_program() {
    // contract I39.1
    let hub = TestHub::start(Backend::Sqlite).await;
    for path in ["/nowhere", "/sign-in/nowhere", "/api/nowhere", "/api/shop/nowhere/list", "/auth/callback", "/%3Cscript%3E"] {
        let page = hub.send(&get(path).header("accept", BROWSER)).await;
        assert_eq!(page.status(), 404, "{path}");
        assert_page(&page);
        assert!(page.text().contains("<h1>There is nothing here</h1>") && page.text().contains("<a href=\"/\">"), "{}", page.text());
        assert!(!page.text().contains("script>") && page.header("vary").is_some_and(|vary| vary.contains("accept")), "{}", page.text());
        for accept in ["*/*", "application/json", "application/json, text/html;q=0.5", "text/html;q=0"] {
            let answer = hub.send(&get(path).header("accept", accept)).await;
            assert_eq!(answer.problem(404)["code"], "NOT_FOUND", "{path} {accept}");
            assert!(answer.header("vary").is_some_and(|vary| vary.contains("accept")), "a cache must keep page and problem apart");
        }
        assert_eq!(hub.send(&get(path)).await.problem(404)["code"], "NOT_FOUND", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_for_programs_shows_a_page_to_a_browser() {
    // contract I39.1
    let hub = TestHub::start(Backend::Sqlite).await;
    let cases = [
        ("/token", 405, "This address is for programs", "invalid_request"),
        ("/api/o-auth/token", 405, "This address is for programs", "invalid_request"),
        ("/session", 405, "This address is for programs", "invalid_request"),
        ("/introspect", 405, "This address is for programs", "invalid_request"),
        ("/revoke", 405, "This address is for programs", "invalid_request"),
        ("/api/shop/opens/list", 405, "This address is for programs", "METHOD_NOT_ALLOWED"),
        ("/events", 401, "This address is for programs", "invalid_client"),
        ("/userinfo", 401, "This address is for programs", "UNAUTHENTICATED"),
        ("/api/iam/me", 401, "This address is for programs", "UNAUTHENTICATED"),
        ("/auth/me", 401, "This address is for programs", "UNAUTHENTICATED"),
    ];
    for (path, status, heading, code) in cases {
        let page = hub.send(&get(path).header("accept", BROWSER)).await;
        assert_eq!(page.status(), status, "{path}");
        assert_page(&page);
        assert!(page.text().contains(&format!("<h1>{heading}</h1>")) && page.text().contains(code), "{path}: {}", page.text());
        assert_eq!(page.header("allow").is_some(), status == 405, "{path}");
        let basic = page.header("www-authenticate").is_some_and(|value| value.starts_with("Basic"));
        assert!(!basic, "{path}: a browser would show its own password dialog");
        let answer = hub.send(&get(path)).await;
        assert_eq!(answer.status(), status);
        assert!(answer.header("content-type").is_some_and(|kind| kind.ends_with("json")), "{path}");
    }
    // A proxy forwards the headers of a browser and reads the answer itself.
    let verify = hub.send(&get("/auth/verify").header("accept", BROWSER)).await;
    assert_eq!(verify.problem(401)["code"], "UNAUTHENTICATED");
    // A browser posts a form to a path that takes none.
    let form = hub.send(&posted("/sign-in/style.css", &[("a", "b")]).header("accept", BROWSER)).await;
    assert_eq!(form.status(), 405);
    assert_page(&form);
    // A program that posts JSON gets JSON, even if it accepts HTML.
    let program = hub.send(&crate::support::post("/api/shop/nowhere/list", "{}").header("accept", "text/html")).await;
    program.problem(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_outage_shows_a_page_and_keeps_the_entered_username() {
    // contract I39.2
    let hub = TestHub::start(Backend::Postgres).await;
    let (server, proxy) = serve_through_proxy(&hub).await;
    let return_path = authorize(&verifier(), &[]);
    let sign_in = posted("/sign-in", &[("username", "ada"), ("password", PASSWORD), ("continue", &return_path)]);
    assert_eq!(server.send(&sign_in).await.status(), 303);
    proxy.set(ProxyMode::Disconnect);
    let page = server.send(&get(&return_path).header("accept", BROWSER)).await;
    assert_eq!((page.status(), page.header("retry-after").is_some()), (503, true));
    assert_page(&page);
    assert!(page.text().contains("<a href=\"\">Try again</a>"), "{}", page.text());
    // The form keeps the username and the return path. No session begins.
    let form = server.send(&sign_in).await;
    assert_eq!((form.status(), form.header("set-cookie"), form.header("retry-after").is_some()), (503, None, true));
    let text = form.text();
    for piece in ["role=\"alert\"", "action=\"/sign-in\"", "value=\"ada\"", "name=\"continue\" value=\"/authorize?"] {
        assert!(text.contains(piece), "{piece} in {text}");
    }
    assert!(!text.contains(PASSWORD));
    proxy.set(ProxyMode::Forward);
    assert_eq!(server.send(&sign_in).await.status(), 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_of_an_app_shows_a_plain_message_and_details_for_the_developer() {
    // contract I39.4, attack 81
    let hub = TestHub::start(Backend::Sqlite).await;
    let cases = [
        (
            ("redirect_uri", "https://evil.test/callback"),
            "not registered for it",
            "redirect_uri",
            "Exactly the redirect that is registered",
        ),
        (
            ("redirect_uri", "https://shop.test/callback/"),
            "not registered for it",
            "redirect_uri",
            "Exactly the redirect that is registered",
        ),
        (("redirect_uri", ""), "did not say where", "redirect_uri", "Exactly the redirect that is registered"),
        (("client_id", "nobody"), "does not know it", "client_id", "an active client of this hub"),
        (("code_challenge", ""), "made a mistake", "code_challenge", "43 characters of base64url"),
        (("code_challenge_method", "plain"), "made a mistake", "code_challenge_method", "S256"),
        (("response_type", "token"), "made a mistake", "response_type", "code"),
        (("state", ""), "made a mistake", "state", "at most 8000 bytes"),
        (("prompt", "sing"), "made a mistake", "prompt", "none, login, select_account or consent"),
        (("max_age", "x"), "made a mistake", "max_age", "a whole number of seconds"),
        (("id_token_hint", "x"), "made a mistake", "id_token_hint", "an id_token of this hub"),
    ];
    for (change, words, parameter, expected) in cases {
        let page = hub.send(&get(&authorize(&verifier(), &[change])).header("accept", BROWSER)).await;
        assert!([400, 401].contains(&page.status()), "{change:?}");
        assert_page(&page);
        let text = page.text();
        let (person, developer) = text.split_once("For the developer").unwrap_or_else(|| panic!("{change:?}: {text}"));
        assert!(person.contains(words) && person.contains("Go back to the app"), "{change:?}: {person}");
        assert!(!person.contains(parameter) && !person.contains('_'), "{change:?}: no jargon for the person: {person}");
        assert!(developer.contains(&format!("<dd>{parameter}</dd>")) && developer.contains(expected), "{change:?}: {developer}");
        // The page shows neither the registered nor the sent redirect URI.
        assert!(!text.contains("shop.test") && !text.contains("evil.test"), "{change:?}: {text}");
    }
    let twice = format!("{}&state=s-2", authorize(&verifier(), &[]));
    let page = hub.send(&get(&twice).header("accept", BROWSER)).await;
    assert!(page.status() == 400 && page.text().contains("A parameter is repeated."), "{}", page.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_link_works_after_an_outage() {
    // contract I39.2
    let hub = TestHub::start(Backend::Postgres).await;
    let (server, proxy) = serve_through_proxy(&hub).await;
    let link = hub.add_password_link().await;
    let text = link.expose();
    let set = posted("/password", &[("link", text.as_str()), ("password", "a brand new one")]);
    proxy.set(ProxyMode::Disconnect);
    let page = server.send(&set).await;
    assert_eq!(page.status(), 503);
    assert_page(&page);
    let again = format!("<a href=\"/password?link={}\">Try again</a>", text.as_str());
    assert!(page.text().contains(&again) && !page.text().contains("a brand new one"), "{}", page.text());
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    proxy.set(ProxyMode::Forward);
    assert_eq!(server.send(&set).await.status(), 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_page_tells_equal_browsers_apart_by_time_and_client_address() {
    // contract I22.31
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let cookie = hub.sign_in().await;
        for _ in 0..2 {
            hub.sign_in().await;
        }
        // Three sign-ins of one browser from different client addresses.
        let moved = "UPDATE peristyle.session SET address = $1 WHERE id = $2";
        let listed = store::hub_records::sessions::of_account(&hub.records, hub.account, None, 10, crate::test_hub::now()).await.unwrap();
        for (number, seen) in listed.seen.iter().enumerate() {
            let address = format!("203.0.113.{number}");
            hub.records.run(moved, &[Bind::Text(&address), Bind::Id(seen.session.id)]).await.unwrap();
        }
        let page = hub.send(&get("/").header("cookie", &cookie)).await.text();
        let labels: Vec<&str> = page.match_indices("aria-label=\"Sign out ").map(|(at, _)| &page[at..at + 120]).collect();
        assert_eq!(labels.len(), 2, "{page}");
        assert_ne!(labels[0].split('>').next(), labels[1].split('>').next());
        for seen in &listed.seen {
            let signed_in_at = peristyle::clock::rfc3339(seen.session.authenticated_at);
            assert!(page.contains(&format!("Signed in <time datetime=\"{signed_in_at}\">")), "{signed_in_at} in {page}");
        }
        assert!(page.contains("Last used just now") && page.contains("from 203.0.113.1"), "{page}");
        assert!(page.contains("<label for=\"present\">Current password</label>"), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_page_leads_to_the_records_of_the_hub_only_if_the_account_may_read_some() {
    // contract I22.6
    let hub = TestHub::start(Backend::Sqlite).await;
    for (name, permissions, expected) in
        [("keeper", &["iam.account.get"][..], true), ("clerk", &["shop.note.get"], false), ("nobody", &[], false)]
    {
        hub.add_account(name, permissions).await;
        let signed = hub.send(&posted("/sign-in", &[("username", name), ("password", PASSWORD)])).await;
        let page = hub.send(&get("/").header("cookie", &cookie(&signed))).await;
        assert_eq!((page.status(), page.text().contains("href=\"/docs\"")), (200, expected), "{name}");
    }
}
