//! Security event tokens: what a hub tells its clients of changes, and what a client believes of it.

use identity::client::ClientId;
use identity::token::security_event::{ChangeKind, MAX_AGE_SECONDS, Subject};
use identity::token::{
    self, AccessClaims, AccountChange, Expectation, ExpiryClock, HubSessionClaims, IdClaims, RegisteredClaims, TokenFault, Unverified,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::*;

const SATELLITE: Expectation<'static> = Expectation { issuer: ISSUER, audiences: &["shop"], now: NOW, end: ExpiryClock::Issuers };

fn event(happening: ChangeKind, subject: Subject) -> AccountChange {
    AccountChange { sequence: 42, happening, subject, at: seconds(-3) }
}

fn shop() -> ClientId {
    ClientId::parse("shop").unwrap()
}

fn signed(event: &AccountChange) -> String {
    event.sign(ISSUER, &shop(), NOW, &KEY).unwrap()
}

fn read(token: &str, expected: &Expectation<'_>) -> Result<AccountChange, TokenFault> {
    Unverified::read(token)?.verify_security_event(KEY.public(), expected).map(token::Verified::into_claims)
}

/// The good token with some members of its payload changed (`null` removes one).
fn changed(change: &Value) -> Result<AccountChange, TokenFault> {
    let token = signed(&event(ChangeKind::SessionRevoked, Subject::Account(ACCOUNT)));
    let (header, mut payload) = parts(&token);
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => payload.as_object_mut().unwrap().remove(name),
            value => payload.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    read(&forge(&header.to_string(), &payload.to_string(), &KEY), &SATELLITE)
}

// contract I36.1
#[test]
fn a_change_is_told_in_the_words_of_caep_and_comes_back_as_it_was() {
    let at = NOW.unix() - 3;
    let account = json!({"format": "iss_sub", "iss": ISSUER, "sub": ACCOUNT.to_string()});
    let family = json!({"format": "complex", "session": {"format": "opaque", "id": FAMILY.to_string()}, "user": account});
    for (happening, subject, uri, detail, sub_id) in [
        (
            ChangeKind::ClaimsChange,
            Subject::Account(ACCOUNT),
            "token-claims-change",
            json!({"event_timestamp": at, "claims": {"updated_at": at}}),
            account.clone(),
        ),
        (
            ChangeKind::CredentialChange,
            Subject::Account(ACCOUNT),
            "credential-change",
            json!({"event_timestamp": at, "credential_type": "password", "change_type": "update"}),
            account.clone(),
        ),
        (
            ChangeKind::SessionRevoked,
            Subject::Family { family: FAMILY, account: ACCOUNT },
            "session-revoked",
            json!({"event_timestamp": at}),
            family,
        ),
        (
            ChangeKind::SessionRevoked,
            Subject::Client(ClientId::parse("other").unwrap()),
            "session-revoked",
            json!({"event_timestamp": at}),
            json!({"format": "complex", "application": {"format": "opaque", "id": "other"}}),
        ),
        (
            ChangeKind::ClaimsChange,
            Subject::Everybody,
            "token-claims-change",
            json!({"event_timestamp": at, "claims": {"updated_at": at}}),
            json!({"format": "uri", "uri": ISSUER}),
        ),
    ] {
        let event = event(happening, subject);
        let token = signed(&event);
        let (header, payload) = parts(&token);
        assert_eq!(header, json!({"alg": "RS256", "typ": "secevent+jwt", "kid": KEY.public().id().as_str()}));
        let uri = format!("https://schemas.openid.net/secevent/caep/event-type/{uri}");
        assert_eq!(
            payload,
            json!({
                "iss": ISSUER, "iat": NOW.unix(), "jti": "42.shop", "aud": "shop", "txn": "42", "sub_id": sub_id, "events": {uri: detail},
            })
        );
        assert_eq!(read(&token, &SATELLITE).unwrap(), event);
    }
}

// attack 25 // contract I36.2
#[test]
fn a_security_event_is_no_bearer_token_and_no_token_is_a_security_event() {
    let own = HubSessionClaims::audience(ISSUER);
    let everything = Expectation { issuer: ISSUER, audiences: &[ISSUER, "shop", &own], now: NOW, end: ExpiryClock::Own };
    let token = signed(&event(ChangeKind::SessionRevoked, Subject::Account(ACCOUNT)));
    let unverified = Unverified::read(&token).unwrap();
    assert_eq!(unverified.verify::<AccessClaims>(KEY.public(), &everything).unwrap_err(), TokenFault::Kind);
    assert_eq!(unverified.verify::<HubSessionClaims>(KEY.public(), &everything).unwrap_err(), TokenFault::Kind);
    assert_eq!(unverified.verify::<IdClaims>(KEY.public(), &everything).unwrap_err(), TokenFault::Kind);
    // Were its kind forgotten, it would still lack what the others claim.
    let (_, payload) = parts(&token);
    let header = json!({"alg": "RS256", "typ": "at+jwt", "kid": KEY.public().id().as_str()});
    let disguised = forge(&header.to_string(), &payload.to_string(), &KEY);
    let read_as_access = Unverified::read(&disguised).unwrap().verify::<AccessClaims>(KEY.public(), &everything);
    assert_eq!(read_as_access.unwrap_err(), TokenFault::Claims);

    let access = AccessClaims {
        common: RegisteredClaims {
            issuer: ISSUER.to_owned(),
            subject: ACCOUNT,
            audiences: vec!["shop".to_owned(), ISSUER.to_owned()],
            issued_at: NOW,
            expires_at: seconds(60),
        },
        client: shop(),
        family: FAMILY,
        id: Uuid::from_u128(9),
        scope: None,
    };
    let access = token::sign(&access, &KEY).unwrap();
    assert_eq!(read(&access, &everything).unwrap_err(), TokenFault::Kind);
    let (_, payload) = parts(&access);
    let header = json!({"alg": "RS256", "typ": "secevent+jwt", "kid": KEY.public().id().as_str()});
    assert!(read(&forge(&header.to_string(), &payload.to_string(), &KEY), &everything).is_err());
    for claim in [json!({"exp": NOW.unix() + 60}), json!({"sub": ACCOUNT.to_string()}), json!({"jti": null})] {
        assert_eq!(changed(&claim).unwrap_err(), TokenFault::Claims, "{claim}");
    }
}

// contract I36.2
#[test]
fn an_event_of_another_key_issuer_audience_or_time_is_not_believed() {
    assert!(changed(&json!({})).is_ok());
    let event = event(ChangeKind::SessionRevoked, Subject::Account(ACCOUNT));
    let forged = event.sign(ISSUER, &shop(), NOW, &OTHER_KEY).unwrap();
    assert_eq!(read(&forged, &SATELLITE).unwrap_err(), TokenFault::UnknownKey);
    let (header, payload) = parts(&signed(&event));
    let forged = forge(&header.to_string(), &payload.to_string(), &OTHER_KEY);
    assert_eq!(read(&forged, &SATELLITE).unwrap_err(), TokenFault::Signature);
    assert_eq!(changed(&json!({"iss": "https://evil.example"})).unwrap_err(), TokenFault::Issuer);
    for audience in [json!("other"), json!(null), json!(["shop"]), json!(ISSUER)] {
        assert_eq!(changed(&json!({"aud": audience})).unwrap_err(), TokenFault::Audience);
    }
    assert_eq!(changed(&json!({"iat": NOW.unix() + 31})).unwrap_err(), TokenFault::NotYet);
    assert_eq!(changed(&json!({"iat": NOW.unix() - MAX_AGE_SECONDS - 1})).unwrap_err(), TokenFault::Expired);
    let known = "https://schemas.openid.net/secevent/caep/event-type/session-revoked";
    for claim in [
        json!({"iat": "now"}),
        json!({"txn": 42}),
        json!({"txn": "-1"}),
        json!({"txn": "0"}),
        json!({"events": {}}),
        json!({"events": {known: {}}}),
        json!({"events": {"https://evil.example/event": {"event_timestamp": 1}}}),
        json!({"events": {known: {"event_timestamp": 1}, "https://evil.example/event": {}}}),
        json!({"sub_id": {"format": "iss_sub", "iss": "https://evil.example", "sub": ACCOUNT.to_string()}}),
        json!({"sub_id": {"format": "iss_sub", "iss": ISSUER, "sub": "ana"}}),
        json!({"sub_id": {"format": "email", "email": "ana@example.com"}}),
        json!({"sub_id": {"format": "complex", "user": {"format": "iss_sub", "iss": ISSUER, "sub": ACCOUNT.to_string()}}}),
        json!({"sub_id": {"format": "uri", "uri": "https://evil.example"}}),
    ] {
        assert_eq!(changed(&claim).unwrap_err(), TokenFault::Claims, "{claim}");
    }
}

// contract I36.2
#[test]
fn a_family_by_another_name_than_an_id_is_all_of_its_account() {
    let user = json!({"format": "iss_sub", "iss": ISSUER, "sub": ACCOUNT.to_string()});
    let named = json!({"sub_id": {"format": "complex", "session": {"format": "opaque", "id": "session-17"}, "user": user}});
    assert_eq!(changed(&named).unwrap().subject, Subject::Account(ACCOUNT));
}
