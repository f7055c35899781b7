//! Tokens and their verification.

use identity::client::ClientId;
use identity::keys::PrivateKey;
use identity::session::{LiveSession, Session};
use identity::token::jws::MAX_TOKEN_BYTES;
use identity::token::{
    self, AccessClaims, Expectation, ExpiryClock, HubSessionClaims, IdClaims, PageClaims, RegisteredClaims, TokenFault, Unverified,
    Verified,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::*;

const HUB: Expectation<'static> = Expectation { issuer: ISSUER, audiences: &[ISSUER], now: NOW, end: ExpiryClock::Own };

fn common() -> RegisteredClaims {
    RegisteredClaims {
        issuer: ISSUER.to_owned(),
        subject: ACCOUNT,
        audiences: vec!["shop".to_owned(), ISSUER.to_owned()],
        issued_at: NOW,
        expires_at: seconds(3_600),
    }
}

fn access() -> AccessClaims {
    AccessClaims {
        common: common(),
        client: ClientId::parse("shop").unwrap(),
        family: FAMILY,
        id: Uuid::from_u128(9),
        scope: Some("openid shop".to_owned()),
    }
}

fn verify(token: &str, expected: &Expectation<'_>) -> Result<Verified<AccessClaims>, TokenFault> {
    Unverified::read(token)?.verify(KEY.public(), expected)
}

fn good() -> (Value, Value) {
    parts(&token::sign(&access(), &KEY).unwrap())
}

/// A token of the hub's own key with one member of the header and one of the payload changed (`null` removes it).
pub(crate) fn changed(header: Value, payload: Value) -> String {
    let (mut good_header, mut good_payload) = good();
    for (good, change) in [(&mut good_header, header), (&mut good_payload, payload)] {
        for (name, value) in change.as_object().unwrap() {
            match value {
                Value::Null => good.as_object_mut().unwrap().remove(name),
                value => good.as_object_mut().unwrap().insert(name.clone(), value.clone()),
            };
        }
    }
    forge(&good_header.to_string(), &good_payload.to_string(), &KEY)
}

fn header(change: Value) -> Result<Verified<AccessClaims>, TokenFault> {
    verify(&changed(change, json!({})), &HUB)
}

fn payload(change: Value) -> Result<Verified<AccessClaims>, TokenFault> {
    verify(&changed(json!({}), change), &HUB)
}

// contract I5.1
#[test]
fn an_access_token_says_what_rfc_9068_wants_and_comes_back_as_it_was() {
    let token = token::sign(&access(), &KEY).unwrap();
    let (header, payload) = parts(&token);
    assert_eq!(header, json!({"alg": "RS256", "typ": "at+jwt", "kid": KEY.public().id().as_str()}));
    let now = NOW.unix();
    assert_eq!(
        payload,
        json!({
            "iss": ISSUER, "sub": ACCOUNT.to_string(), "aci": ACCOUNT.to_string(), "aud": ["shop", ISSUER], "client_id": "shop",
            "jti": Uuid::from_u128(9).to_string(), "sid": FAMILY.to_string(), "iat": now, "nbf": now, "exp": now + 3_600, "scope": "openid shop",
        })
    );
    assert_eq!(verify(&token, &HUB).unwrap().claims(), &access());
    let without_scope = AccessClaims { scope: None, ..access() };
    let token = token::sign(&without_scope, &KEY).unwrap();
    assert_eq!(parts(&token).1["scope"], "", "no scope was asked, and it is said");
    assert_eq!(verify(&token, &HUB).unwrap().claims(), &without_scope);
    assert!(header_is_ignored(&["jwk", "jku", "x5u", "x5c"]));
}

// attack 20
fn header_is_ignored(names: &[&str]) -> bool {
    names.iter().all(|name| header(json!({*name: "https://evil.example/keys"})).is_ok())
}

// attack 18, attack 19 // contract I5.2
#[test]
fn only_rs256_is_an_algorithm() {
    for algorithm in ["none", "None", "HS256", "RS384", "RS512", "PS256", "ES256", "EdDSA", "rs256", "RS256 ", ""] {
        assert_eq!(header(json!({"alg": algorithm})).unwrap_err(), TokenFault::Algorithm, "{algorithm}");
    }
    for algorithm in [json!(null), json!(["RS256"]), json!({"alg": "RS256"}), json!(256)] {
        assert_eq!(header(json!({"alg": algorithm})).unwrap_err(), TokenFault::Algorithm);
    }
    let token = token::sign(&access(), &KEY).unwrap();
    let (signed, _) = token.rsplit_once('.').unwrap();
    assert_eq!(verify(&format!("{signed}."), &HUB).unwrap_err(), TokenFault::Signature);
    assert_eq!(verify(signed, &HUB).unwrap_err(), TokenFault::Malformed);
}

// attack 20 // contract I5.2
#[test]
fn a_key_in_the_header_is_no_key() {
    let (_, payload) = good();
    let header = json!({"alg": "RS256", "typ": "at+jwt", "kid": KEY.public().id().as_str(), "jwk": OTHER_KEY.public().to_jwk()});
    assert_eq!(verify(&forge(&header.to_string(), &payload.to_string(), &OTHER_KEY), &HUB).unwrap_err(), TokenFault::Signature);
}

// attack 21
#[test]
fn a_key_id_is_a_short_name_of_a_known_key() {
    let long = "k".repeat(129);
    for kid in [json!(null), json!(""), json!("a\0b"), json!("a b"), json!(long), json!(["a"]), json!(1), json!({"a": 1}), json!("ключ")]
    {
        assert_eq!(header(json!({"kid": kid})).unwrap_err(), TokenFault::UnknownKey, "{kid}");
    }
    for kid in ["../../etc/passwd", "' OR 1=1 --", "unknown"] {
        assert_eq!(header(json!({"kid": kid.replace(' ', "_")})).unwrap_err(), TokenFault::UnknownKey, "{kid}");
    }
}

#[test]
fn another_key_does_not_verify() {
    let token = token::sign(&access(), &OTHER_KEY).unwrap();
    assert_eq!(verify(&token, &HUB).unwrap_err(), TokenFault::UnknownKey);
    let read = Unverified::read(&token).unwrap();
    assert!(read.verify::<AccessClaims>(OTHER_KEY.public(), &HUB).is_ok());
}

// attack 25 // contract I5.3
#[test]
fn no_kind_of_token_passes_as_another() {
    let session = token::sign(&Session::begin(SESSION, ACCOUNT, NOW).claims(ISSUER), &KEY).unwrap();
    let id = IdClaims { common: common(), authenticated_at: NOW, nonce: None, access_token_hash: None, session: None };
    let id = token::sign(&id, &KEY).unwrap();
    let access = token::sign(&access(), &KEY).unwrap();
    let live =
        LiveSession::of(&cookie(&Session::begin(SESSION, ACCOUNT, NOW)), Some(&Session::begin(SESSION, ACCOUNT, NOW)), Some(&ana()), NOW);
    let page = token::sign(&live.unwrap().page_claims(ISSUER, NOW), &KEY).unwrap();
    let (own, pages) = (HubSessionClaims::audience(ISSUER), PageClaims::audience(ISSUER));
    let everything = Expectation { issuer: ISSUER, audiences: &[ISSUER, "shop", &own, &pages], now: NOW, end: ExpiryClock::Own };
    let read = |token: &str| {
        let token = Unverified::read(token).unwrap();
        [
            token.verify::<AccessClaims>(KEY.public(), &everything).is_ok(),
            token.verify::<HubSessionClaims>(KEY.public(), &everything).is_ok(),
            token.verify::<IdClaims>(KEY.public(), &everything).is_ok(),
            token.verify::<PageClaims>(KEY.public(), &everything).is_ok(),
        ]
    };
    assert_eq!(read(&access), [true, false, false, false]);
    assert_eq!(read(&session), [false, true, false, false]);
    assert_eq!(read(&id), [false, false, true, false]);
    assert_eq!(read(&page), [false, false, false, true]);
    assert!(Unverified::read(&page).unwrap().verify_bearer(KEY.public(), &everything).is_err(), "nor at a satellite");
    let others =
        ["JWT", "at+jwt ", "application/", "application/JWT", "application/application/at+jwt", "text/at+jwt", "applicatioé/at+jwt"];
    for kind in [json!(null), json!(["at+jwt"])].into_iter().chain(others.map(Value::from)) {
        assert_eq!(header(json!({"typ": kind})).unwrap_err(), TokenFault::Kind, "{kind}");
    }
    for kind in ["AT+JWT", "application/at+jwt", "Application/At+Jwt"] {
        assert!(header(json!({"typ": kind})).is_ok(), "{kind}");
    }
}

// attack 25 // contract I5.4
#[test]
fn issuer_and_audience_are_compared_byte_for_byte() {
    for issuer in ["https://hub.example/", "https://HUB.example", "http://hub.example", "https://hub.example.evil.example", ""] {
        assert_eq!(payload(json!({"iss": issuer})).unwrap_err(), TokenFault::Issuer, "{issuer}");
    }
    let token = token::sign(&access(), &KEY).unwrap();
    assert!(verify(&token, &Expectation { audiences: &["shop"], ..HUB }).is_ok());
    assert!(verify(&token, &Expectation { audiences: &["other", "shop"], ..HUB }).is_ok());
    for audience in ["other", "Shop", "shop ", "", "hub.example"] {
        assert_eq!(verify(&token, &Expectation { audiences: &[audience], ..HUB }).unwrap_err(), TokenFault::Audience, "{audience}");
    }
    assert_eq!(verify(&token, &Expectation { audiences: &[], ..HUB }).unwrap_err(), TokenFault::Audience);
    assert!(payload(json!({"aud": ISSUER})).is_ok(), "one audience may stand without brackets");
    let many: Vec<String> = (0..17).map(|_| ISSUER.to_owned()).collect();
    for audience in [json!(null), json!([]), json!([1]), json!([ISSUER, 1]), json!({}), json!(true), json!(many)] {
        assert_eq!(payload(json!({"aud": audience})).unwrap_err(), TokenFault::Claims, "{audience}");
    }
}

// attack 26 // contract I5.5
#[test]
fn times_are_seconds_of_a_sane_range() {
    let now = NOW.unix();
    for name in ["exp", "iat", "nbf"] {
        for value in [json!("1800000000"), json!(-1), json!(-0.5), json!(9e300), json!([now]), json!(u64::MAX), json!(true)] {
            assert_eq!(payload(json!({name: value})).unwrap_err(), TokenFault::Claims, "{name} {value}");
        }
        assert_eq!(payload(json!({name: 253_402_300_800_i64})).unwrap_err(), TokenFault::Claims, "{name} in the year 10000");
        let later = if name == "exp" { 3_600 } else { 0 };
        for fraction in [0.0, 0.25, 0.999] {
            let good = payload(json!({name: (now + later) as f64 + fraction})).unwrap();
            assert_eq!((good.claims().common.issued_at, good.claims().expires_at()), (NOW, seconds(3_600)), "{name} {fraction}");
        }
    }
    assert_eq!(payload(json!({"exp": null})).unwrap_err(), TokenFault::Claims);
    assert_eq!(payload(json!({"iat": null})).unwrap_err(), TokenFault::Claims);
    assert_eq!(payload(json!({"exp": 253_402_300_799_i64})).unwrap_err(), TokenFault::Claims, "no token lives until the year 9999");
    assert_eq!(payload(json!({"exp": now + 86_401})).unwrap_err(), TokenFault::Claims);
    assert_eq!(payload(json!({"exp": now})).unwrap_err(), TokenFault::Claims, "a token that never lived");
    let (head, body) = good();
    let huge = body.to_string().replace(&format!("\"exp\":{}", now + 3_600), "\"exp\":1e400");
    assert_eq!(verify(&forge(&head.to_string(), &huge, &KEY), &HUB).unwrap_err(), TokenFault::Malformed);
}

// attack 26 // contract I5.5
#[test]
fn thirty_seconds_of_skew_are_allowed_and_no_more() {
    let token = token::sign(&access(), &KEY).unwrap();
    let at = |later: i64| verify(&token, &Expectation { now: seconds(later), end: ExpiryClock::Issuers, ..HUB }).map(|_| ());
    assert_eq!(at(-30), Ok(()));
    assert_eq!(at(-31), Err(TokenFault::NotYet));
    assert_eq!(at(3_629), Ok(()));
    assert_eq!(at(3_630), Err(TokenFault::Expired));
    assert_eq!(payload(json!({"nbf": NOW.unix() + 31})).unwrap_err(), TokenFault::NotYet);
    assert!(payload(json!({"nbf": NOW.unix() + 30})).is_ok());
    assert_eq!(payload(json!({"iat": NOW.unix() + 31})).unwrap_err(), TokenFault::NotYet, "issued in the future");
    let at_its_issuer = |later: i64| verify(&token, &Expectation { now: seconds(later), ..HUB }).map(|_| ());
    assert_eq!(at_its_issuer(-30), Ok(()), "replicas of a hub are different machines");
    assert_eq!(at_its_issuer(3_599), Ok(()));
    assert_eq!(at_its_issuer(3_600), Err(TokenFault::Expired), "its own end it knows");
}

// attack 27 // contract I5.6
#[test]
fn json_that_two_readers_could_read_in_two_ways_is_refused() {
    let (head, body) = good();
    let (head, body) = (head.to_string(), body.to_string());
    let twice = |text: &str, member: &str| format!("{{{member},{}", &text[1..]);
    let refused = |head: &str, body: &str| verify(&forge(head, body, &KEY), &HUB).unwrap_err();
    assert_eq!(refused(&twice(&head, r#""alg":"none""#), &body), TokenFault::Malformed);
    assert_eq!(refused(&twice(&head, r#""kid":"x""#), &body), TokenFault::Malformed);
    for member in [r#""sub":"x""#, r#""exp":1"#, r#""s\u0075b":"x""#] {
        assert_eq!(refused(&head, &twice(&body, member)), TokenFault::Malformed, "{member}");
    }
    assert_eq!(refused(&head, &twice(&body, r#""extra":{"a":1,"a":2}"#)), TokenFault::Malformed, "in any depth");
    assert_eq!(refused(&head, &format!("{body}{{}}")), TokenFault::Malformed, "trailing data");
    assert_eq!(refused(&head, &format!("{body}\0")), TokenFault::Malformed);
    assert_eq!(refused(&head, "[]"), TokenFault::Malformed);
    assert_eq!(refused(&head, "\"x\""), TokenFault::Malformed);
    let deep = format!(r#""extra":{}{}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(refused(&head, &twice(&body, &deep)), TokenFault::Malformed);
    assert_eq!(refused(&twice(&head, r#""crit":["b64"],"b64":false"#), &body), TokenFault::Critical);
    assert_eq!(refused(&twice(&head, r#""crit":["exp"]"#), &body), TokenFault::Critical);
    assert_eq!(refused(&twice(&head, r#""b64":true"#), &body), TokenFault::Critical);
}

// attack 27 // contract I5.6
#[test]
fn a_token_has_one_spelling() {
    let token = token::sign(&access(), &KEY).unwrap();
    // 256 bytes leave four stray bits in the last of 342 characters.
    let last = token.chars().last().unwrap();
    let stray = char::from_u32(last as u32 + 1).unwrap();
    for other in [
        format!("{}{stray}", &token[..token.len() - 1]),
        format!("{token}="),
        format!("{token}."),
        format!("{token}\n"),
        format!(" {token}"),
        format!(".{token}"),
        token.replacen('.', "..", 1),
        token.replacen('.', "=.", 1),
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "a.b.c".to_owned(),
    ] {
        assert_eq!(verify(&other, &HUB).unwrap_err(), TokenFault::Malformed, "{other}");
    }
    assert!(payload(json!({"more": "x".repeat(8_000)})).is_ok());
    assert_eq!(payload(json!({"more": "x".repeat(MAX_TOKEN_BYTES)})).unwrap_err(), TokenFault::Malformed, "well signed and too long");
    assert!(header(json!({"more": "x".repeat(2_000)})).is_ok());
    assert_eq!(header(json!({"more": "x".repeat(4_000)})).unwrap_err(), TokenFault::Malformed);
}

#[test]
fn a_changed_byte_anywhere_is_refused() {
    let token = token::sign(&access(), &KEY).unwrap();
    for index in (0..token.len()).step_by(7) {
        let mut bytes = token.clone().into_bytes();
        bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
        assert!(verify(std::str::from_utf8(&bytes).unwrap(), &HUB).is_err(), "{index}");
    }
}

// attack 50
#[test]
fn the_subject_is_an_account_and_its_two_names_agree() {
    for subject in [json!(null), json!("shop"), json!(1), json!(ACCOUNT.to_string().to_uppercase()), json!(ACCOUNT.simple().to_string())] {
        assert_eq!(payload(json!({"sub": subject})).unwrap_err(), TokenFault::Claims, "{subject}");
    }
    assert_eq!(payload(json!({"aci": FAMILY.to_string()})).unwrap_err(), TokenFault::Claims);
    assert_eq!(payload(json!({"client_id": ACCOUNT.to_string()})).unwrap_err(), TokenFault::Claims);
    for name in ["client_id", "sid", "jti"] {
        assert_eq!(payload(json!({name: null})).unwrap_err(), TokenFault::Claims, "{name}");
    }
}

// contract I5.7
#[test]
fn the_session_cookie_lives_for_eight_hours_and_has_its_own_audience() {
    let session = Session::begin(SESSION, ACCOUNT, NOW);
    let token = token::sign(&session.claims(ISSUER), &KEY).unwrap();
    let (header, payload) = parts(&token);
    assert_eq!((&header["typ"], &payload["aud"]), (&json!("hub-session+jwt"), &json!("https://hub.example/session")));
    assert_eq!(payload["exp"].as_i64().unwrap() - payload["iat"].as_i64().unwrap(), 8 * 3_600);
    let own = HubSessionClaims::audience(ISSUER);
    let expected = Expectation { audiences: &[&own], ..HUB };
    let verified: Verified<HubSessionClaims> = Unverified::read(&token).unwrap().verify(KEY.public(), &expected).unwrap();
    assert_eq!((verified.claims().session, verified.claims().common.subject), (SESSION, ACCOUNT));
    assert!(Unverified::read(&token).unwrap().verify::<HubSessionClaims>(KEY.public(), &HUB).is_err());
}

#[test]
fn the_hash_of_openid_connects_example_holds() {
    assert_eq!(IdClaims::hash_of("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"), "77QmUPtjPfzWtF2AnpK9RQ");
}

#[test]
fn an_expired_id_token_is_still_a_hint_and_nothing_else() {
    let claims =
        IdClaims { common: common(), authenticated_at: NOW, nonce: Some("n".into()), access_token_hash: None, session: Some(SESSION) };
    let sign = |key: &PrivateKey| token::sign(&claims, key).unwrap();
    let token = sign(&KEY);
    let later = seconds(1_000_000);
    let hint = Unverified::read(&token).unwrap();
    assert_eq!(IdClaims::read_hint(&hint, KEY.public(), ISSUER, later).unwrap().into_claims(), claims);
    assert_eq!(
        hint.verify::<IdClaims>(KEY.public(), &Expectation { audiences: &["shop"], now: later, ..HUB }).unwrap_err(),
        TokenFault::Expired
    );
    assert_eq!(IdClaims::read_hint(&hint, KEY.public(), "https://other.example", later).unwrap_err(), TokenFault::Issuer);
    assert!(IdClaims::read_hint(&Unverified::read(&sign(&OTHER_KEY)).unwrap(), KEY.public(), ISSUER, later).is_err());
    let access = token::sign(&access(), &KEY).unwrap();
    assert_eq!(IdClaims::read_hint(&Unverified::read(&access).unwrap(), KEY.public(), ISSUER, NOW).unwrap_err(), TokenFault::Kind);
}

#[test]
fn a_token_does_not_show_itself() {
    let token = token::sign(&access(), &KEY).unwrap();
    let shown = format!("{:?}", Unverified::read(&token).unwrap());
    assert_eq!(shown, format!("Unverified({}, …)", KEY.public().id()));
}
