//! Access tokens as a satellite reads them.

use identity::token::{BearerClaims, Expectation, ExpiryClock, TokenFault, Unverified};
use serde_json::{Value, json};

use crate::support::*;
use crate::token::changed;

const SHOP: Expectation<'static> = Expectation { issuer: ISSUER, audiences: &["shop"], now: NOW, end: ExpiryClock::Issuers };

fn read(payload: Value) -> Result<BearerClaims, TokenFault> {
    let token = changed(json!({}), payload);
    Unverified::read(&token)?.verify_bearer(KEY.public(), &SHOP).map(identity::token::Verified::into_claims)
}

fn expected() -> BearerClaims {
    BearerClaims { account: ACCOUNT, family: Some(FAMILY), expires_at: seconds(3_600) }
}

// contract I31.7
#[test]
fn the_names_that_a_hub_gives_are_its_own_affair() {
    assert_eq!(read(json!({})), Ok(expected()));
    for name in ["jti", "client_id"] {
        for value in [json!(null), json!("01J9:x/y"), json!("x".repeat(255)), json!(FAMILY.to_string().to_uppercase())] {
            assert_eq!(read(json!({name: value})), Ok(expected()), "{name} {value}");
        }
    }
    for value in [json!(null), json!("session-17"), json!(FAMILY.to_string().to_uppercase())] {
        assert_eq!(read(json!({"sid": value})), Ok(BearerClaims { family: None, ..expected() }), "{value}");
    }
    for name in ["jti", "sid", "client_id"] {
        for value in [json!(""), json!("a b"), json!("a\0"), json!("x".repeat(256)), json!(7), json!(["x"]), json!({})] {
            assert_eq!(read(json!({name: value})), Err(TokenFault::Claims), "{name} {value}");
        }
    }
    assert_eq!(read(json!({"scope": ["openid"]})), Err(TokenFault::Claims));
}

// contract I31.7
#[test]
fn issuer_audience_account_and_end_are_needed_always() {
    for name in ["iss", "aud", "sub", "exp"] {
        assert_eq!(read(json!({name: null})), Err(TokenFault::Claims), "{name}");
    }
    for (payload, fault) in [
        (json!({"sub": "ada"}), TokenFault::Claims),
        (json!({"aci": FAMILY.to_string()}), TokenFault::Claims),
        (json!({"iss": "https://other.example"}), TokenFault::Issuer),
        (json!({"aud": [ISSUER, "other"]}), TokenFault::Audience),
        (json!({"iat": NOW.unix() - 7_200, "exp": NOW.unix() - 30}), TokenFault::Expired),
        (json!({"nbf": NOW.unix() + 31}), TokenFault::NotYet),
        (json!({"exp": NOW.unix() + 86_401}), TokenFault::Claims),
    ] {
        assert_eq!(read(payload.clone()), Err(fault), "{payload}");
    }
    let cookie = changed(json!({"typ": "hub-session+jwt"}), json!({}));
    assert_eq!(Unverified::read(&cookie).unwrap().verify_bearer(KEY.public(), &SHOP).unwrap_err(), TokenFault::Kind);
}

// contract I31.7
#[test]
fn a_token_that_does_not_say_when_it_began_has_a_day_left_at_most() {
    assert_eq!(read(json!({"iat": null})), Ok(expected()));
    assert_eq!(read(json!({"iat": null, "nbf": null})), Ok(expected()));
    assert!(read(json!({"iat": null, "exp": NOW.unix() - 29})).is_ok(), "clocks may differ");
    assert!(read(json!({"iat": null, "exp": NOW.unix() + 86_430})).is_ok());
    assert_eq!(read(json!({"iat": null, "exp": NOW.unix() + 86_431})), Err(TokenFault::Claims));
    assert_eq!(read(json!({"iat": null, "nbf": NOW.unix() + 31})), Err(TokenFault::NotYet));
    assert_eq!(read(json!({"iat": "now"})), Err(TokenFault::Claims));
}
