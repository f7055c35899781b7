//! The session cookie under https, where it also has a name that no neighbouring host can set.

use crate::test_hub::{PASSWORD, TestHub, authorize, posted, setup, verifier};
use crate::support::{PLACES, Place, Request, Response, get};

const ISSUER: &str = "https://hub.example";

async fn https_hub(place: Place) -> TestHub {
    let mut setup = setup();
    setup.app_url = Some(ISSUER.to_owned());
    TestHub::with(place, &setup).await
}

/// Every cookie that an answer sets, whole.
fn set(answer: &Response) -> Vec<String> {
    let headers = answer.head.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    headers.map(|(_, value)| value.clone()).collect()
}

/// The plain one and the prefixed one, as a browser sends them back.
fn pair(answer: &Response) -> (String, String) {
    let pairs: Vec<String> = set(answer).iter().map(|text| text.split(';').next().unwrap().to_owned()).collect();
    let [plain, prefixed] = <[String; 2]>::try_from(pairs).expect("two cookies");
    assert!(plain.starts_with("hub_session=") && prefixed.starts_with("__Host-hub_session="), "{plain} {prefixed}");
    (plain, prefixed)
}

fn sign_in(name: &str) -> Request {
    posted("/sign-in", &[("username", name), ("password", PASSWORD)]).header("origin", ISSUER)
}

#[tokio::test(flavor = "multi_thread")]
async fn under_https_a_session_has_a_second_name_that_alone_counts_from_a_browser() {
    // contract I22.24, attack 66
    for place in PLACES {
        let hub = https_hub(place).await;
        hub.add_account("eve", &[]).await;
        let answer = hub.send(&sign_in("ada")).await;
        for text in set(&answer) {
            for piece in ["; HttpOnly", "; SameSite=Lax", "; Max-Age=28800", "; Path=/", "; Secure"] {
                assert!(text.contains(piece), "{text}");
            }
            assert!(!text.contains("Domain"), "{text}");
        }
        let (plain, prefixed) = pair(&answer);
        assert_eq!(plain.strip_prefix("hub_session="), prefixed.strip_prefix("__Host-hub_session="));
        let led = async |request: Request, cookies: &str| {
            let led = hub.send(&request.header("cookie", cookies)).await;
            led.header("location").expect("an address").starts_with("https://shop.test/callback?")
        };
        let asked = || get(&authorize(&verifier(), &[]));
        let signed_in = async |cookies: &str| led(asked().header("sec-fetch-site", "none"), cookies).await;
        assert!(signed_in(&format!("{plain}; {prefixed}")).await);
        assert!(signed_in(&prefixed).await);
        // What a neighbouring host can set: a session of its own, in place of the plain one, before it or behind it.
        let (planted, _) = pair(&hub.send(&sign_in("eve")).await);
        assert!(!signed_in(&planted).await, "nobody acts in the name of who planted it");
        assert!(!signed_in(&plain).await, "nor is anybody's own one enough");
        for cookies in
            [format!("{planted}; {plain}; {prefixed}"), format!("{prefixed}; {plain}; {planted}"), format!("{planted}; {prefixed}")]
        {
            assert!(signed_in(&cookies).await, "nobody is signed out by it");
            let page = hub.send(&get("/").header("cookie", &cookies)).await.text();
            assert!(page.contains("ada@example.com") && !page.contains("eve@example.com"), "{page}");
            assert!(led(asked(), &cookies).await, "whoever knows both names");
        }
        // A program, into which no other host plants anything, may know the plain name alone.
        assert!(led(asked(), &plain).await);
        assert!(!led(asked(), &format!("{plain}; {planted}")).await, "of two accounts neither counts");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_clears_both_cookies() {
    // contract I22.24, attack 66
    let hub = https_hub(Place::Sqlite).await;
    for (path, pairs) in [("/logout", &[][..]), ("/", &[("action", "everywhere")][..])] {
        let (plain, prefixed) = pair(&hub.send(&sign_in("ada")).await);
        let request = posted(path, pairs).header("origin", ISSUER).header("cookie", &format!("{plain}; {prefixed}"));
        let answer = hub.send(&request).await;
        assert_eq!(pair(&answer), ("hub_session=".to_owned(), "__Host-hub_session=".to_owned()), "{path}");
        assert!(set(&answer).iter().all(|text| text.contains("; Max-Age=0") && text.contains("; Secure") && text.contains("; Path=/")));
        assert_eq!(hub.send(&get("/").header("cookie", &prefixed)).await.status(), 303, "the session has ended");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_by_a_token_has_both_names_and_plain_http_has_one() {
    // contract I22.24, I22.4
    let hub = https_hub(Place::Sqlite).await;
    let tokens = hub.tokens().await;
    let answer = hub.send(&posted("/session", &[("access_token", tokens["access_token"].as_str().unwrap())])).await;
    assert_eq!(answer.status(), 204);
    let (_, prefixed) = pair(&answer);
    assert_eq!(hub.send(&get("/").header("cookie", &prefixed)).await.status(), 200);
    let plain = TestHub::start(Place::Sqlite).await;
    let answer = plain.send(&posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)])).await;
    assert!(set(&answer).len() == 1 && set(&answer)[0].starts_with("hub_session="), "{:?}", set(&answer));
}
