//! Requests to the token endpoint.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use identity::client::GrantType;
use identity::error::{Error, ErrorCode};
use identity::form;
use identity::parameters::Parameters;
use identity::token_request::{Credentials, GrantRequest};

use crate::support::*;

fn basic(text: &str) -> String {
    format!("Basic {}", STANDARD.encode(text))
}

fn read(authorization: &[&str], query: Option<&str>, body: &[(&str, &str)]) -> Result<(String, String), Error> {
    let credentials = Credentials::read(authorization, query, &parameters(body))?;
    Ok((credentials.id().to_owned(), credentials.secret().to_owned()))
}

fn fault(authorization: &[&str], query: Option<&str>, body: &[(&str, &str)]) -> ErrorCode {
    read(authorization, query, body).expect_err("a fault").code()
}

const BODY: [(&str, &str); 2] = [("client_id", "shop"), ("client_secret", "secret")];

// contract I8.1
#[test]
fn a_client_shows_itself_by_basic_or_in_the_body() {
    let expected = Ok(("shop".to_owned(), "secret".to_owned()));
    assert_eq!(read(&[&basic("shop:secret")], None, &[]), expected);
    assert_eq!(read(&[&basic("shop:secret").replace("Basic", "bASIC")], None, &[]), expected);
    assert_eq!(read(&[&basic("shop:secret")], None, &[("client_id", "shop")]), expected);
    assert_eq!(read(&[], None, &BODY), expected);
    assert_eq!(read(&[], Some("trace=1"), &BODY), expected);
    // A token of somebody is no client.
    assert_eq!(read(&["Bearer a.b.c"], None, &BODY), expected);
    assert_eq!(fault(&["Basic"], None, &BODY), ErrorCode::InvalidRequest);
    assert_eq!(fault(&["Bearer a.b.c", "Bearer a.b.c"], None, &BODY), ErrorCode::InvalidRequest);
    assert_eq!(fault(&["Bearer a.b.c"], None, &BODY[..1]), ErrorCode::InvalidClient);
}

// attack 29 // contract I8.1
#[test]
fn both_parts_of_basic_are_form_decoded() {
    for (text, id, secret) in [
        ("a%3Ab:c", "a:b", "c"),
        ("a:b:c", "a", "b:c"),
        ("a+b:c+d", "a b", "c d"),
        ("a%2Bb:%25", "a+b", "%"),
        ("%C3%A9:%F0%9F%94%91", "é", "🔑"),
        (":", "", ""),
    ] {
        assert_eq!(read(&[&basic(text)], None, &[]), Ok((id.to_owned(), secret.to_owned())), "{text}");
    }
    for text in ["nocolon", "a%:b", "a%zz:b", "a:%FF"] {
        assert_eq!(fault(&[&basic(text)], None, &[]), ErrorCode::InvalidClient, "{text}");
    }
}

// attack 29 // contract I8.2
#[test]
fn two_ways_at_once_are_invalid_request() {
    assert_eq!(fault(&[&basic("shop:secret")], None, &BODY), ErrorCode::InvalidRequest);
    assert_eq!(fault(&[&basic("shop:secret")], None, &[("client_secret", "secret")]), ErrorCode::InvalidRequest);
    assert_eq!(fault(&[&basic("shop:secret")], None, &[("client_id", "other")]), ErrorCode::InvalidRequest);
    assert_eq!(fault(&[&basic("shop:secret"), &basic("shop:secret")], None, &[]), ErrorCode::InvalidRequest);
}

#[test]
fn no_way_at_all_is_invalid_client() {
    assert_eq!(fault(&[], None, &[]), ErrorCode::InvalidClient);
    assert_eq!(fault(&[], None, &[("client_id", "shop")]), ErrorCode::InvalidClient);
    assert_eq!(fault(&[], None, &[("client_secret", "secret")]), ErrorCode::InvalidClient);
    for header in ["", "Basic", "Basic !!!", "Bearer abc", "Basic YTpi=", "YTpi"] {
        assert_eq!(fault(&[header], None, &[]), ErrorCode::InvalidClient, "{header}");
    }
}

// attack 30, attack 37 // contract I8.2
#[test]
fn nothing_of_a_token_request_may_stand_in_the_address() {
    for query in ["client_secret=x", "client%5Fsecret=x", "a=b&code=x", "grant_type=password", "refresh_token", "password=", "%zz=1"] {
        assert_eq!(fault(&[&basic("shop:secret")], Some(query), &[]), ErrorCode::InvalidRequest, "{query}");
    }
}

fn grant(body: &[(&str, &str)]) -> Result<GrantRequest, ErrorCode> {
    GrantRequest::read(proven(&client()), &parameters(body)).map_err(Error::code)
}

// contract I8.3
#[test]
fn each_grant_has_what_it_needs() {
    let code = code().expose().to_string();
    let verifier = verifier();
    let full = [("grant_type", "authorization_code"), ("code", &code), ("redirect_uri", CALLBACK), ("code_verifier", verifier.expose())];
    assert!(matches!(grant(&full), Ok(GrantRequest::AuthorizationCode { .. })));
    for name in ["grant_type", "code", "redirect_uri", "code_verifier"] {
        assert_eq!(grant(&with(&full, name, "")).unwrap_err(), ErrorCode::InvalidRequest, "{name}");
    }
    for (name, value) in [("code", "guess"), ("code_verifier", "short")] {
        assert_eq!(grant(&with(&full, name, value)).unwrap_err(), ErrorCode::InvalidGrant, "{name}");
    }

    let refresh = refresh().expose().to_string();
    assert!(matches!(
        grant(&[("grant_type", "refresh_token"), ("refresh_token", &refresh), ("scope", "a b")]),
        Ok(GrantRequest::RefreshToken { scope: Some(_), .. })
    ));
    assert_eq!(grant(&[("grant_type", "refresh_token")]).unwrap_err(), ErrorCode::InvalidRequest);
    assert_eq!(grant(&[("grant_type", "refresh_token"), ("refresh_token", "guess")]).unwrap_err(), ErrorCode::InvalidGrant);
    assert_eq!(
        grant(&[("grant_type", "refresh_token"), ("refresh_token", &refresh), ("scope", "a\"")]).unwrap_err(),
        ErrorCode::InvalidScope
    );

    let full = [("grant_type", "password"), ("username", "ana"), ("password", "correct horse")];
    assert!(matches!(grant(&full), Ok(GrantRequest::Password { .. })));
    for name in ["username", "password"] {
        assert_eq!(grant(&with(&full, name, "")).unwrap_err(), ErrorCode::InvalidRequest, "{name}");
    }
    // attack 33
    assert_eq!(grant(&with(&full, "password", &"x".repeat(1_000_000))).unwrap_err(), ErrorCode::InvalidRequest);
}

#[test]
fn an_unknown_grant_is_unsupported_and_one_not_held_unauthorized() {
    for word in ["client_credentials", "Password", "implicit", "urn:ietf:params:oauth:grant-type:device_code"] {
        assert_eq!(grant(&[("grant_type", word)]).unwrap_err(), ErrorCode::UnsupportedGrantType, "{word}");
    }
    for held in GrantType::ALL {
        let mut client = client();
        client.grants.remove(&held);
        let refused = GrantRequest::read(proven(&client), &parameters(&[("grant_type", held.as_str())])).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::UnauthorizedClient, "{held:?}");
    }
}

// attack 47
#[test]
fn forms_are_read_strictly() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        form::pairs("a=1&b=%C3%A9+x&c&=d&&a=2").unwrap(),
        [pair("a", "1"), pair("b", "é x"), pair("c", ""), pair("", "d"), pair("a", "2")]
    );
    for malformed in ["a=%", "a=%1", "a=%zz", "a=%FF", "%=1", "a=%+1"] {
        assert_eq!(form::pairs(malformed).unwrap_err().code(), ErrorCode::InvalidRequest, "{malformed}");
    }
    let many = "a=1&".repeat(form::MAX_PARAMETERS + 1);
    assert_eq!(form::pairs(&many).unwrap_err().code(), ErrorCode::InvalidRequest);
    assert_eq!(Parameters::read(form::pairs("a=1&a=1").unwrap()).unwrap_err().code(), ErrorCode::InvalidRequest);
}

// attack 37
#[test]
fn nothing_secret_shows_in_debug() {
    let body = parameters(&[
        ("grant_type", "password"),
        ("username", "ana"),
        ("password", "correct horse"),
        ("client_secret", "hush"),
        ("client_id", "shop"),
    ]);
    let credentials = Credentials::read(&[], None, &body).unwrap();
    let request = GrantRequest::read(proven(&client()), &body).unwrap();
    let shown = format!("{body:?} {credentials:?} {request:?}");
    assert!(!shown.contains("correct horse") && !shown.contains("hush"), "{shown}");
}

#[test]
fn every_error_has_its_word_and_a_description_that_fits_the_wire() {
    let words: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(words.len(), ErrorCode::ALL.len());
    for error in [
        Credentials::read(&[], None, &parameters(&[])).unwrap_err(),
        grant(&[]).map_err(|code| Error::new(code, "x")).unwrap_err(),
        identity::grant::password::REFUSED,
    ] {
        assert!(error.description().bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\'));
        assert_eq!(error.to_string(), format!("{}: {}", error.code().as_str(), error.description()));
    }
}
