//! What OpenID Connect Core requires of the authorize endpoint.

use crate::support::{BACKENDS, Backend, Request, get, post};
use crate::test_hub::{ISSUER, REDIRECT, TestHub, authorize, error, parameter, posted, verifier};

/// The same request as a form.
fn as_post(url: &str) -> Request {
    let (path, query) = url.split_once('?').expect("a query");
    Request::new("POST", path).header("content-type", "application/x-www-form-urlencoded").body(query)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_to_authorize_works_like_a_get() {
    // contract I21.4
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        for path in ["", "/api/o-auth"] {
            let request = as_post(&format!("{path}{}", authorize(&verifier(), &[("scope", "openid")])));
            let answer = hub.send(&request).await;
            assert_eq!(answer.status(), 302, "{}", answer.text());
            assert!(answer.header("location").unwrap().starts_with("/sign-in?continue=%2Fauthorize"), "{answer:?}");
            let cookie = hub.sign_in().await;
            let answer = hub.send(&request.header("cookie", &cookie)).await;
            assert_eq!((answer.status(), answer.header("cache-control")), (302, Some("no-store")));
            let url = answer.header("location").unwrap();
            assert!(url.starts_with(REDIRECT) && parameter(url, "iss") == ISSUER, "{url}");
            hub.redeem(&parameter(url, "code"), &verifier()).await.good();
        }
        let none = hub.send(&as_post(&authorize(&verifier(), &[("prompt", "none")]))).await;
        assert_eq!(parameter(none.header("location").unwrap(), "error"), "login_required");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cross_site_post_to_authorize_is_redirected_to_a_get() {
    // contract I21.4
    let hub = TestHub::start(Backend::Sqlite).await;
    // A browser sends no SameSite=Lax cookie with a cross-site POST.
    let url = authorize(&verifier(), &[("prompt", "none"), ("max_age", "600"), ("login_hint", "ada"), ("utm_source", "x")]);
    let answer = hub.send(&as_post(&url).header("origin", "https://shop.test").header("sec-fetch-site", "cross-site")).await;
    assert_eq!(answer.status(), 303);
    let again = answer.header("location").unwrap();
    assert!(again.starts_with("/authorize?"), "{again}");
    for name in ["client_id", "redirect_uri", "state", "code_challenge", "prompt", "max_age", "login_hint"] {
        assert_eq!(parameter(again, name), parameter(&url, name), "{name}");
    }
    let cookie = hub.sign_in().await;
    let back = hub.send(&get(again).header("cookie", &cookie).header("sec-fetch-site", "cross-site")).await;
    assert!(back.header("location").unwrap().starts_with(REDIRECT));
    assert!(!parameter(back.header("location").unwrap(), "code").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_to_authorize_answers_the_same_faults_as_a_get() {
    // contract I21.4, I1.5, I1.8, attack 47
    let hub = TestHub::start(Backend::Sqlite).await;
    for (change, status, code) in [
        (("response_type", "token"), 400, "unsupported_response_type"),
        (("response_type", "id_token"), 400, "unsupported_response_type"),
        (("request", "eyJhbGciOiJub25lIn0.e30."), 400, "request_not_supported"),
        (("request_uri", "https://shop.test/request"), 400, "request_uri_not_supported"),
        (("client_id", "nobody"), 401, "invalid_client"),
        (("redirect_uri", "https://evil.test/callback"), 400, "invalid_request"),
        (("code_challenge_method", "plain"), 400, "invalid_request"),
        (("client_secret", "sesame"), 400, "invalid_request"),
    ] {
        let url = authorize(&verifier(), &[change]);
        for request in [get(&url), as_post(&url)] {
            let answer = hub.send(&request).await;
            assert_eq!(error(&answer, status), code, "{change:?}");
            assert!(answer.header("location").is_none());
            let page = hub.send(&request.header("accept", "text/html")).await;
            assert!(page.status() == status && page.text().contains("<h1>"), "{}", page.text());
        }
    }
    let url = authorize(&verifier(), &[]);
    let twice = as_post(&format!("{url}&state=again"));
    assert_eq!(error(&hub.send(&twice).await, 400), "invalid_request");
    // A parameter in body and query is repeated too.
    let both = posted(&url, &[("state", "again")]);
    assert_eq!(error(&hub.send(&both).await, 400), "invalid_request");
    let rows = store::hub_records::audit_log::newest(&hub.records, 2).await.unwrap();
    assert!(rows.iter().all(|row| row.name == "grant.refused"), "{rows:?}");
    assert_eq!(hub.send(&as_post(&url).header("content-type", "text/plain")).await.status(), 415);
    assert_eq!(hub.send(&posted("/authorize", &[("state", &"x".repeat(70_000))])).await.status(), 413);
    assert_eq!(hub.send(&post("/authorize", "{")).await.status(), 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_hint_fills_in_the_username() {
    // contract I1.9, attack 41
    let hub = TestHub::start(Backend::Sqlite).await;
    for (hint, shown) in [("ada@example.com", "value=\"ada@example.com\""), ("\"><script>", "value=\"&quot;&gt;&lt;script&gt;\"")] {
        let redirected = hub.send(&get(&authorize(&verifier(), &[("login_hint", hint)]))).await;
        let page = hub.send(&get(redirected.header("location").unwrap())).await.text();
        // The one script is that of the page.
        assert!(page.contains(shown) && page.matches("<script").count() == 1, "{page}");
        // An entered username wins over the hint.
        let return_path = parameter(redirected.header("location").unwrap(), "continue");
        let typed = posted("/sign-in", &[("username", "somebody"), ("password", "wrong"), ("continue", &return_path)]);
        assert!(hub.send(&typed).await.text().contains("value=\"somebody\""));
    }
}
