//! What attackers try with tokens: each is refused, and in the same words.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::stage::{Stage, part};
use crate::support::{Place, get};

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_token_is_refused() {
    // contract I5.2, I5.6
    let stage = Stage::start(Place::Sqlite).await;
    let tokens = stage.tokens().await;
    let good = tokens["access_token"].as_str().unwrap();
    let (claims, signature) = (good.split('.').nth(1).unwrap(), good.split('.').nth(2).unwrap());
    let kid = part(&tokens["access_token"], 0)["kid"].clone();
    let encode = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let headers = [
        // attack 18
        json!({"alg": "none", "typ": "at+jwt", "kid": kid}),
        // attack 19
        json!({"alg": "HS256", "typ": "at+jwt", "kid": kid}),
        // attack 20
        json!({"alg": "RS256", "typ": "at+jwt", "kid": kid, "jku": "https://evil.test/jwks.json"}),
        // attack 21
        json!({"alg": "RS256", "typ": "at+jwt", "kid": "../../etc/passwd"}),
        json!({"alg": "RS256", "typ": "at+jwt", "kid": ["a"]}),
        // attack 27
        json!({"alg": "RS256", "typ": "at+jwt", "kid": kid, "crit": ["b64"], "b64": false}),
    ];
    let mut forged: Vec<String> = headers.into_iter().map(|header| format!("{}.{claims}.{signature}", encode(header))).collect();
    forged.push(format!("{}.{claims}.", encode(json!({"alg": "none", "typ": "at+jwt", "kid": kid}))));
    forged.push(format!("{good}="));
    // attack 26
    let mut late = part(&tokens["access_token"], 1);
    late["exp"] = json!(253_402_300_799_i64);
    forged.push(format!("{}.{}.{signature}", good.split('.').next().unwrap(), encode(late)));
    // attack 25
    forged.push(tokens["refresh_token"].as_str().unwrap().to_owned());
    forged.push(tokens["id_token"].as_str().unwrap().to_owned());
    for token in forged {
        let answer = stage.send(&get("/api/iam/me").header("authorization", &format!("Bearer {token}"))).await;
        assert_eq!(answer.problem(401)["code"], "INVALID_TOKEN");
        assert!(!answer.text().contains(signature));
    }
    // attack 37: a token in the address is not looked at
    assert_eq!(stage.send(&get(&format!("/api/iam/me?access_token={good}"))).await.problem(401)["code"], "UNAUTHENTICATED");
}
