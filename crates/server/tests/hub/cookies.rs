//! The session cookie under HTTPS: a second cookie has the prefix `__Host-`, which no neighbouring host can set.

use crate::support::{BACKENDS, Backend, Request, Response, get};
use crate::test_hub::{PASSWORD, TestHub, authorize, posted, setup, verifier};

const ISSUER: &str = "https://hub.example";

async fn https_hub(backend: Backend) -> TestHub {
    let mut setup = setup();
    setup.app_url = Some(ISSUER.to_owned());
    TestHub::with(backend, &setup).await
}

/// The values of all `set-cookie` headers.
fn set_cookies(answer: &Response) -> Vec<String> {
    let headers = answer.head.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    headers.map(|(_, value)| value.clone()).collect()
}

/// The plain and the prefixed cookie, as a browser sends them back.
fn cookie_pair(answer: &Response) -> (String, String) {
    let pairs: Vec<String> = set_cookies(answer).iter().map(|text| text.split(';').next().unwrap().to_owned()).collect();
    let [plain, prefixed] = <[String; 2]>::try_from(pairs).expect("two cookies");
    assert!(plain.starts_with("hub_session=") && prefixed.starts_with("__Host-hub_session="), "{plain} {prefixed}");
    (plain, prefixed)
}

fn sign_in(name: &str) -> Request {
    posted("/sign-in", &[("username", name), ("password", PASSWORD)]).header("origin", ISSUER)
}

#[tokio::test(flavor = "multi_thread")]
async fn under_https_a_browser_is_signed_in_only_by_the_prefixed_cookie() {
    // contract I22.24, attack 66
    for backend in BACKENDS {
        let hub = https_hub(backend).await;
        hub.add_account("eve", &[]).await;
        let answer = hub.send(&sign_in("ada")).await;
        for text in set_cookies(&answer) {
            for piece in ["; HttpOnly", "; SameSite=Lax", "; Max-Age=28800", "; Path=/", "; Secure"] {
                assert!(text.contains(piece), "{text}");
            }
            assert!(!text.contains("Domain"), "{text}");
        }
        let (plain, prefixed) = cookie_pair(&answer);
        assert_eq!(plain.strip_prefix("hub_session="), prefixed.strip_prefix("__Host-hub_session="));
        let gets_code = async |request: Request, cookies: &str| {
            let answer = hub.send(&request.header("cookie", cookies)).await;
            answer.header("location").expect("a redirect").starts_with("https://shop.test/callback?")
        };
        let authorize_request = || get(&authorize(&verifier(), &[]));
        let signed_in = async |cookies: &str| gets_code(authorize_request().header("sec-fetch-site", "none"), cookies).await;
        assert!(signed_in(&format!("{plain}; {prefixed}")).await);
        assert!(signed_in(&prefixed).await);
        // A neighbouring host can plant its own plain cookie, alone, before or after the others.
        let (planted, _) = cookie_pair(&hub.send(&sign_in("eve")).await);
        assert!(!signed_in(&planted).await, "a planted cookie does not sign in");
        assert!(!signed_in(&plain).await, "a plain cookie alone does not sign in");
        for cookies in
            [format!("{planted}; {plain}; {prefixed}"), format!("{prefixed}; {plain}; {planted}"), format!("{planted}; {prefixed}")]
        {
            assert!(signed_in(&cookies).await, "a planted cookie does not sign out");
            let page = hub.send(&get("/").header("cookie", &cookies)).await.text();
            assert!(page.contains("ada@example.com") && !page.contains("eve@example.com"), "{page}");
            assert!(gets_code(authorize_request(), &cookies).await, "the prefixed cookie wins");
        }
        // No host can plant a cookie in a program, so the plain cookie is enough there.
        assert!(gets_code(authorize_request(), &plain).await);
        assert!(!gets_code(authorize_request(), &format!("{plain}; {planted}")).await, "cookies of two accounts sign in neither");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_clears_both_cookies() {
    // contract I22.24, attack 66
    let hub = https_hub(Backend::Sqlite).await;
    for (path, pairs) in [("/logout", &[][..]), ("/", &[("action", "everywhere")][..])] {
        let (plain, prefixed) = cookie_pair(&hub.send(&sign_in("ada")).await);
        let request = posted(path, pairs).header("origin", ISSUER).header("cookie", &format!("{plain}; {prefixed}"));
        let answer = hub.send(&request).await;
        assert_eq!(cookie_pair(&answer), ("hub_session=".to_owned(), "__Host-hub_session=".to_owned()), "{path}");
        assert!(
            set_cookies(&answer).iter().all(|text| text.contains("; Max-Age=0") && text.contains("; Secure") && text.contains("; Path=/"))
        );
        assert_eq!(hub.send(&get("/").header("cookie", &prefixed)).await.status(), 303, "the session has ended");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_from_a_token_sets_both_cookies_and_plain_http_sets_one() {
    // contract I22.24, I22.4
    let hub = https_hub(Backend::Sqlite).await;
    let tokens = hub.tokens().await;
    let answer = hub.send(&posted("/session", &[("access_token", tokens["access_token"].as_str().unwrap())])).await;
    assert_eq!(answer.status(), 204);
    let (_, prefixed) = cookie_pair(&answer);
    assert_eq!(hub.send(&get("/").header("cookie", &prefixed)).await.status(), 200);
    let plain = TestHub::start(Backend::Sqlite).await;
    let answer = plain.send(&posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)])).await;
    assert!(set_cookies(&answer).len() == 1 && set_cookies(&answer)[0].starts_with("hub_session="), "{:?}", set_cookies(&answer));
}
