//! A hub as an operator runs it: made by the commands, served by the binary, and silent about secrets.

use crate::program::Folder;
use crate::support::{Database, PLACES, Request, get};

const PASSWORD: &str = "marker-password-1";
const REDIRECT: &str = "http://localhost:9/callback";
const VERIFIER: &str = "marker-verifier-0123456789012345678901234567890";
/// Of the verifier, by SHA-256.
fn challenge() -> String {
    identity::pkce::Verifier::parse(VERIFIER).expect("a verifier").challenge().as_str().to_owned()
}

fn form(path: &str, body: &str) -> Request {
    Request::new("POST", path).header("content-type", "application/x-www-form-urlencoded").body(body)
}

// contract B1.7, attack 37
#[tokio::test]
async fn three_commands_make_a_hub_and_its_fullest_log_shows_no_secret() {
    for place in PLACES {
        let database = Database::with(place, "SELECT 1").await;
        let folder = Folder::new();
        let variables = [
            ("OAUTH_STRATEGY", "local-provider"),
            ("DATABASE_URL", database.url.as_str()),
            ("LOG", "trace"),
            ("APP_URL", "http://hub.test"),
        ];
        let secret = folder.furnish_hub(PASSWORD, REDIRECT, &variables);

        let serving = folder.serve(&variables);
        let signed = form("/sign-in", &format!("username=ada&password={PASSWORD}")).send(serving.address).await;
        assert_eq!(signed.status(), 303, "{}", signed.text());
        let cookie = signed.header("set-cookie").and_then(|value| value.split(';').next()).expect("a cookie").to_owned();
        let encoded = REDIRECT.replace(':', "%3A").replace('/', "%2F");
        let path = format!("/authorize?client_id=shop&redirect_uri={encoded}&state=s&scope=openid&code_challenge={}", challenge());
        let led = get(&path).header("cookie", &cookie).send(serving.address).await;
        let location = led.header("location").expect("an address");
        let code = location.split("code=").nth(1).and_then(|rest| rest.split('&').next()).expect("a code").to_owned();
        let who = format!("client_id=shop&client_secret={secret}");
        let redeemed = format!("grant_type=authorization_code&code={code}&redirect_uri={encoded}&code_verifier={VERIFIER}&{who}");
        let tokens = form("/token", &redeemed).send(serving.address).await.good();
        let refresh = tokens["refresh_token"].as_str().expect("a token");
        let next = form("/token", &format!("grant_type=refresh_token&refresh_token={refresh}&{who}")).send(serving.address).await.good();
        let access = next["access_token"].as_str().expect("a token");
        let me = get("/api/iam/me").header("authorization", &format!("Bearer {access}")).send(serving.address).await.good();
        assert_eq!(me["roles"][0]["name"], "administrator", "{me}");
        let log = serving.stop();
        assert!(log.contains("grant.issued") && log.contains("grant.refreshed") && log.contains("sign-in.succeeded"), "{log}");
        let session = cookie.split_once('=').expect("a value").1;
        let next = next["refresh_token"].as_str().expect("a token");
        for hidden in [PASSWORD, VERIFIER, &secret, &code, refresh, next, access, session, "argon2id$"] {
            assert!(!log.contains(hidden), "{place:?}: {hidden} in the log");
        }
    }
}
