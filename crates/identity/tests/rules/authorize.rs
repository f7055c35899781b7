//! The authorize endpoint.

use identity::authorize::{self, AuthorizeDecision, CODE_SECONDS, Request, login_hint};
use identity::client::{Client, GrantType};
use identity::error::ErrorCode;
use identity::form;
use identity::parameters::Parameters;
use identity::return_path::HubReturnPath;
use identity::session::LiveSession;

use crate::support::*;

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const GOOD: [(&str, &str); 5] =
    [("client_id", "shop"), ("redirect_uri", CALLBACK), ("state", "s t&a=te"), ("code_challenge", CHALLENGE), ("response_type", "code")];

fn fault(pairs: &[(&str, &str)], client: Option<&Client>) -> ErrorCode {
    authorize::check(&parameters(pairs), client).expect_err("a fault").code()
}

fn checked(pairs: &[(&str, &str)]) -> Request {
    authorize::check(&parameters(pairs), Some(&client())).expect("a good request")
}

fn decided(pairs: &[(&str, &str)], session: Option<LiveSession>) -> AuthorizeDecision {
    checked(pairs).decide(session, ISSUER, NOW)
}

/// The parameters of an address.
fn answer(address: &str) -> Vec<(String, String)> {
    form::pairs(address.strip_prefix(&format!("{CALLBACK}?")).expect("the registered address")).unwrap()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

// contract I1.1
#[test]
fn without_a_session_the_sign_in_page_comes_first_and_continues_the_same_request() {
    let AuthorizeDecision::SignIn(continuation) = decided(&GOOD, None) else { panic!("sign in first") };
    let query = continuation.as_str().strip_prefix("/authorize?").expect("a path of the hub");
    let again = Parameters::read(form::pairs(query).unwrap()).unwrap();
    for (name, value) in GOOD {
        assert_eq!(again.get(name), Some(value));
    }
    assert!(authorize::check(&again, Some(&client())).is_ok());
}

// attack 10 // contract I1.2
#[test]
fn with_a_session_the_browser_goes_to_the_redirect_with_code_state_and_issuer() {
    let AuthorizeDecision::Grant(granted) = decided(&with(&GOOD, "scope", "openid shop"), Some(session())) else { panic!("a grant") };
    let (record, address) = granted.issue(&code(), NOW);
    assert_eq!(answer(&address), [pair("code", &code().expose()), pair("state", "s t&a=te"), pair("iss", ISSUER)]);
    assert_eq!(record.digest, code().digest());
    assert_eq!(record.client.as_str(), "shop");
    assert_eq!(record.redirect.as_str(), CALLBACK);
    assert_eq!(record.challenge.as_str(), CHALLENGE);
    assert_eq!((record.account, record.session, record.authenticated_at), (ACCOUNT, SESSION, NOW));
    assert_eq!(record.scope.unwrap().as_str(), "openid shop");
    assert_eq!((record.expires_at, record.used_by), (seconds(CODE_SECONDS), None));
}

// attack 12
#[test]
fn an_unknown_or_inactive_client_is_invalid_client() {
    assert_eq!(fault(&GOOD, None), ErrorCode::InvalidClient);
    assert_eq!(fault(&GOOD, Some(&Client { is_active: false, ..client() })), ErrorCode::InvalidClient);
    assert_eq!(fault(&GOOD, Some(&other_client())), ErrorCode::InvalidClient, "a row of another client");
    assert_eq!(fault(&with(&GOOD, "client_id", ""), None), ErrorCode::InvalidRequest);
}

// attack 11, attack 14 // contract I1.3
#[test]
fn a_redirect_that_differs_in_one_byte_is_a_fault_and_never_a_redirect() {
    for other in [
        "",
        "https://app.example/callback/",
        "https://app.example/callback?",
        "https://app.example/callback?x=1",
        "https://app.example/callback#x",
        "https://app.example/Callback",
        "https://APP.example/callback",
        "https://app.example:443/callback",
        "https://app.example/x/../callback",
        "https://app.example//callback",
        "https://app.example/%63allback",
        "https://user@app.example/callback",
        "https://app.example.evil.example/callback",
        "https://app.example@evil.example/callback",
        "https://evil.example/https://app.example/callback",
        "http://app.example/callback",
        "https://app.example/callback\r\nX: y",
        " https://app.example/callback",
        "https://xn--app.example/callback",
        "javascript:alert(1)",
        "//app.example/callback",
        "/callback",
    ] {
        assert_eq!(fault(&with(&GOOD, "redirect_uri", other), Some(&client())), ErrorCode::InvalidRequest, "{other}");
    }
}

// attack 3 // contract I1.5
#[test]
fn a_repeated_parameter_is_refused_whatever_its_name() {
    for name in ["client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method", "prompt", "unknown"] {
        let pairs = vec![pair(name, "x"), pair("other", "y"), pair(name, "x")];
        assert_eq!(Parameters::read(pairs).unwrap_err().code(), ErrorCode::InvalidRequest, "{name}");
    }
}

// attack 2, attack 3, attack 30
#[test]
fn what_else_is_missing_or_malformed_is_invalid_request() {
    for (name, value) in [
        ("state", ""),
        ("state", "a\r\nb"),
        ("state", "\0"),
        ("code_challenge", ""),
        ("code_challenge", "short"),
        ("code_challenge_method", "plain"),
        ("response_mode", "fragment"),
        ("client_secret", "sesame"),
        ("prompt", "none login"),
        ("prompt", "dance"),
        ("max_age", "-1"),
        ("max_age", "soon"),
        ("max_age", "+1"),
        ("nonce", "a\nb"),
    ] {
        assert_eq!(fault(&with(&GOOD, name, value), Some(&client())), ErrorCode::InvalidRequest, "{name}={value}");
    }
    let long = "x".repeat(9_000);
    for name in ["state", "nonce", "scope"] {
        assert_eq!(fault(&with(&GOOD, name, &long), Some(&client())), ErrorCode::InvalidRequest, "{name}");
    }
    // Clients seal what they return to in the state, and some write more spaces than they need.
    for (name, value) in [("state", "x".repeat(8_000)), ("scope", " openid  email ".to_owned()), ("scope", " ".to_owned())] {
        checked(&with(&GOOD, name, &value));
    }
}

// contract I1.8
#[test]
fn what_openid_names_and_the_hub_does_not_do_has_its_own_code() {
    for (name, value, code) in [
        ("response_type", "token", ErrorCode::UnsupportedResponseType),
        ("response_type", "code token", ErrorCode::UnsupportedResponseType),
        ("response_type", "Code", ErrorCode::UnsupportedResponseType),
        ("request", "eyJ", ErrorCode::RequestNotSupported),
        ("request_uri", "https://evil.example", ErrorCode::RequestUriNotSupported),
    ] {
        assert_eq!(fault(&with(&GOOD, name, value), Some(&client())), code, "{name}={value}");
        assert_eq!(fault(&with(&GOOD, name, value), None), ErrorCode::InvalidClient, "the client comes first");
    }
}

// contract I1.9
#[test]
fn a_login_hint_goes_on_to_the_sign_in_page_if_it_can_be_a_name() {
    for (hint, kept) in [("ada@example.com", Some("ada@example.com")), ("Ä & b", Some("Ä & b")), ("a\nb", None), (&"x".repeat(400), None)]
    {
        let AuthorizeDecision::SignIn(again) = checked(&with(&GOOD, "login_hint", hint)).decide(None, ISSUER, NOW) else {
            panic!("signed in")
        };
        assert_eq!(login_hint(&again).as_deref(), kept, "{hint}");
    }
    for path in ["/", "/account?login_hint=x", "/authorize?a=%FF&login_hint=x"] {
        assert_eq!(login_hint(&HubReturnPath::read(Some(path))), None, "{path}");
    }
}

#[test]
fn response_type_may_be_left_out_and_unknown_parameters_are_passed_over() {
    let pairs = with(&with(&GOOD, "response_type", ""), "utm_source", "x");
    assert!(matches!(decided(&pairs, Some(session())), AuthorizeDecision::Grant(_)));
}

#[test]
fn a_client_without_the_grant_is_unauthorized() {
    let mut client = client();
    client.grants.remove(&GrantType::AuthorizationCode);
    assert_eq!(fault(&GOOD, Some(&client)), ErrorCode::UnauthorizedClient);
}

// attack 10 // contract I1.6
#[test]
fn prompt_none_without_a_session_answers_the_client_with_login_required() {
    let pairs = with(&GOOD, "prompt", "none");
    let AuthorizeDecision::LoginRequired(address) = decided(&pairs, None) else { panic!("no page may be shown") };
    assert_eq!(answer(&address), [pair("error", "login_required"), pair("state", "s t&a=te"), pair("iss", ISSUER)]);
    assert!(matches!(decided(&pairs, Some(session())), AuthorizeDecision::Grant(_)));
    assert_eq!(fault(&with(&pairs, "redirect_uri", "https://evil.example"), Some(&client())), ErrorCode::InvalidRequest);
}

// contract I1.6
#[test]
fn prompt_login_asks_again_once() {
    let pairs = with(&GOOD, "prompt", "login");
    assert!(matches!(decided(&pairs, None), AuthorizeDecision::SignIn(_)));
    let AuthorizeDecision::AskAgain(continuation) = decided(&pairs, Some(session())) else { panic!("asked again") };
    let query = continuation.as_str().strip_prefix("/authorize?").unwrap();
    let again = Parameters::read(form::pairs(query).unwrap()).unwrap();
    let request = authorize::check(&again, Some(&client())).unwrap();
    assert!(matches!(request.decide(Some(session()), ISSUER, NOW), AuthorizeDecision::Grant(_)), "not sent round in circles");
}

// contract I1.7
#[test]
fn a_hint_names_who_must_sign_in() {
    let other = Some(uuid::Uuid::from_u128(7));
    let decided = |pairs: &[(&str, &str)], hinted| checked(pairs).hinted(hinted).decide(Some(session()), ISSUER, NOW);
    assert!(matches!(decided(&GOOD, Some(ACCOUNT)), AuthorizeDecision::Grant(_)));
    assert!(matches!(decided(&with(&GOOD, "prompt", "none"), Some(ACCOUNT)), AuthorizeDecision::Grant(_)));
    assert!(matches!(decided(&with(&GOOD, "prompt", "none"), other), AuthorizeDecision::LoginRequired(_)));
    let AuthorizeDecision::AskAgain(continuation) = decided(&with(&GOOD, "id_token_hint", "a.b.c"), other) else { panic!("asked again") };
    assert!(continuation.as_str().ends_with("&id_token_hint=a.b.c"), "it outlives the sign-in");
}

// contract I1.6
#[test]
fn a_session_older_than_max_age_is_asked_again() {
    let old = Some(session_begun(seconds(-100)));
    assert!(matches!(decided(&with(&GOOD, "max_age", "99"), old), AuthorizeDecision::AskAgain(_)));
    assert!(matches!(decided(&with(&GOOD, "max_age", "100"), old), AuthorizeDecision::Grant(_)));
    assert!(matches!(decided(&with(&with(&GOOD, "max_age", "99"), "prompt", "none"), old), AuthorizeDecision::LoginRequired(_)));
    let just_now = Some(session_begun(NOW));
    assert!(
        matches!(decided(&with(&GOOD, "max_age", "0"), just_now), AuthorizeDecision::AskAgain(_)),
        "also within the second of the sign-in"
    );
    assert!(matches!(decided(&with(&GOOD, "max_age", "1"), just_now), AuthorizeDecision::Grant(_)));
    for most in ["99999999999", "99999999999999999999999999"] {
        assert!(matches!(decided(&with(&GOOD, "max_age", most), old), AuthorizeDecision::Grant(_)), "{most}");
    }
}

#[test]
fn nonce_and_the_time_of_the_sign_in_are_bound_to_the_code() {
    let old = Some(session_begun(seconds(-100)));
    let AuthorizeDecision::Grant(granted) = decided(&with(&GOOD, "nonce", "n-0S6_WzA2Mj"), old) else { panic!("a grant") };
    let (record, _) = granted.issue(&code(), NOW);
    assert_eq!((record.nonce.as_deref(), record.authenticated_at), (Some("n-0S6_WzA2Mj"), seconds(-100)));
}

#[test]
fn an_account_that_may_not_use_the_app_is_denied_at_the_redirect() {
    let AuthorizeDecision::Grant(granted) = decided(&GOOD, Some(session())) else { panic!("a grant") };
    assert_eq!(answer(&granted.deny()), [pair("error", "access_denied"), pair("state", "s t&a=te"), pair("iss", ISSUER)]);
}
