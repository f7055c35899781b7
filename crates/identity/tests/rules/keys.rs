//! Keys, key sets and rotation.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use identity::keys::key_set::{MAX_KEY_SET_BYTES, MAX_KEYS};
use identity::keys::rotation::{ANNOUNCED_SECONDS, KeyRecord, KeyRing, KeyState, RETIRED_SECONDS, RotationFault};
use identity::keys::{KeyError, KeyId, KeySet, KeySetFault, PrivateKey, PublicKey};
use identity::lifetime::MAX_TOKEN_SECONDS;
use serde_json::{Value, json};

use crate::support::*;

/// The example of RFC 7638, 3.1.
const MODULUS: &str = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
const THUMBPRINT: &str = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs";

fn example() -> Value {
    json!({"kty": "RSA", "n": MODULUS, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"})
}

fn read(keys: &Value) -> Result<KeySet, KeySetFault> {
    KeySet::read(json!({"keys": keys}).to_string().as_bytes()).map(|(set, _)| set)
}

fn key(change: &Value) -> Value {
    let mut key = example();
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => key.as_object_mut().unwrap().remove(name),
            value => key.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    key
}

// contract I6.1
#[test]
fn a_key_is_named_by_its_rfc_7638_thumbprint() {
    let set = read(&json!([example()])).unwrap();
    assert_eq!(set.keys()[0].id().as_str(), "2011-04-29", "a published name is kept");
    let pem = set.keys()[0].to_pem().unwrap();
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0B"), "{pem}");
    let modulus = URL_SAFE_NO_PAD.decode(MODULUS).unwrap();
    let key = PublicKey::from_components(&modulus, &[1, 0, 1]).unwrap();
    assert_eq!(key.id().as_str(), THUMBPRINT);
    assert_eq!(key.to_jwk(), json!({"kty": "RSA", "use": "sig", "alg": "RS256", "kid": THUMBPRINT, "n": MODULUS, "e": "AQAB"}));
}

#[test]
fn a_private_key_is_written_as_pkcs8_and_read_back() {
    let pem = KEY.to_pem().unwrap();
    assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n") && pem.ends_with("-----END PRIVATE KEY-----\n"));
    assert!(pem.lines().all(|line| line.len() <= 64));
    let again = PrivateKey::from_pem(&pem).unwrap();
    assert_eq!(again.public(), KEY.public());
    assert_eq!(format!("{again:?}"), format!("PrivateKey({}, …)", KEY.public().id()));
}

// attack 49
#[test]
fn what_is_no_private_key_says_why() {
    for (text, fault) in [
        ("", KeyError::NotPem),
        ("hello", KeyError::NotPem),
        ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n", KeyError::Encrypted),
        ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n", KeyError::Encrypted),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", KeyError::Malformed),
        ("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n", KeyError::Malformed),
        (&KEY.public().to_pem().unwrap(), KeyError::NotPem),
    ] {
        assert_eq!(PrivateKey::from_pem(text).unwrap_err(), fault, "{text}");
    }
}

#[test]
fn a_published_set_is_read_back() {
    let set = KeySet::new(vec![KEY.public().clone(), OTHER_KEY.public().clone()]).unwrap();
    let (again, unfit) = KeySet::read(set.to_json().to_string().as_bytes()).unwrap();
    assert!(unfit.is_empty());
    assert_eq!(again, set);
    assert_eq!(again.find(KEY.public().id()), Some(KEY.public()));
    assert_eq!(again.find(&KeyId::parse("unknown").unwrap()), None);
}

// attack 23 // contract I6.2
#[test]
fn a_key_that_does_not_fit_is_passed_over_and_the_good_ones_count() {
    for (change, fault) in [
        (json!({"d": "AQAB"}), KeySetFault::Secret),
        (json!({"p": "AQAB"}), KeySetFault::Secret),
        (json!({"kty": "oct", "k": "AQAB"}), KeySetFault::Secret),
        (json!({"kty": "oct"}), KeySetFault::Secret),
        (json!({"e": "AQ"}), KeySetFault::Weak),
        (json!({"e": "Ag"}), KeySetFault::Weak),
        (json!({"e": "AQAA"}), KeySetFault::Weak),
        (json!({"e": ""}), KeySetFault::Weak),
        (json!({"e": "AAEAAQ"}), KeySetFault::Weak),
        (json!({"e": null}), KeySetFault::Weak),
        (json!({"n": null}), KeySetFault::Weak),
        (json!({"n": "AQAB"}), KeySetFault::Weak),
        (json!({"n": &MODULUS[..172]}), KeySetFault::Weak),
        (json!({"n": format!("{MODULUS}=")}), KeySetFault::Weak),
        (json!({"kty": null}), KeySetFault::Malformed),
    ] {
        for entries in [json!([KEY.public().to_jwk(), key(&change)]), json!([key(&change), KEY.public().to_jwk()])] {
            let (set, unfit) = KeySet::read(json!({"keys": entries}).to_string().as_bytes()).unwrap();
            assert_eq!((set.keys(), unfit), ([KEY.public().clone()].as_slice(), vec![fault]), "{change}");
        }
        assert_eq!(read(&json!([key(&change), key(&change)])).unwrap_err(), fault, "{change}: there is no good one");
    }
    let (set, unfit) = KeySet::read(json!({"keys": [1, KEY.public().to_jwk()]}).to_string().as_bytes()).unwrap();
    assert_eq!((set.keys().len(), unfit), (1, vec![KeySetFault::Malformed]));
    // A private key that is published is nobody's alone any more, under whatever entry.
    let mut leaked = KEY.public().to_jwk();
    leaked["d"] = json!("AQAB");
    for name in [KEY.public().id().as_str(), "another"] {
        leaked["kid"] = json!(name);
        let (set, _) = KeySet::read(json!({"keys": [KEY.public().to_jwk(), leaked, example()]}).to_string().as_bytes()).unwrap();
        assert_eq!((set.find(KEY.public().id()), set.keys().len()), (None, 1), "{name}");
    }
}

// attack 23 // contract I6.2
#[test]
fn a_key_set_that_cannot_be_read_or_contradicts_itself_is_refused_as_a_whole() {
    assert_eq!(read(&json!([example(), example()])).unwrap_err(), KeySetFault::Repeated);
    assert_eq!(read(&json!([])).unwrap_err(), KeySetFault::Empty);
    assert_eq!(read(&json!([1])).unwrap_err(), KeySetFault::Malformed);
    assert_eq!(read(&json!({})).unwrap_err(), KeySetFault::Malformed);
    let many: Vec<Value> = (0..=MAX_KEYS).map(|number| key(&json!({"kid": number.to_string()}))).collect();
    assert_eq!(read(&json!(many)).unwrap_err(), KeySetFault::TooLarge);
    let foreign: Vec<Value> = (0..=MAX_KEYS).map(|number| json!({"kty": "EC", "kid": number.to_string()})).collect();
    assert_eq!(read(&json!(foreign)).unwrap_err(), KeySetFault::TooLarge);
    assert_eq!(KeySet::read(&vec![b' '; MAX_KEY_SET_BYTES + 1]).unwrap_err(), KeySetFault::TooLarge);
    for text in ["", "<html>", "null", "[]", "{}", r#"{"keys":[],"keys":[]}"#, r#"{"keys":[]} x"#] {
        assert_eq!(KeySet::read(text.as_bytes()).unwrap_err(), KeySetFault::Malformed, "{text}");
    }
}

// attack 19, attack 23
#[test]
fn keys_for_anything_else_are_passed_over() {
    for other in [
        json!({"kty": "EC", "crv": "P-256", "x": "AQAB", "y": "AQAB", "kid": "ec"}),
        key(&json!({"use": "enc"})),
        key(&json!({"alg": "RS512"})),
        key(&json!({"alg": "PS256"})),
        key(&json!({"kid": null})),
        key(&json!({"kid": ["x"]})),
        key(&json!({"kid": "x".repeat(200)})),
    ] {
        assert_eq!(read(&json!([other.clone()])).unwrap_err(), KeySetFault::Empty, "{other}");
        assert_eq!(read(&json!([other, KEY.public().to_jwk()])).unwrap().keys().len(), 1);
    }
    assert_eq!(read(&json!([key(&json!({"alg": null, "use": null}))])).unwrap().keys().len(), 1);
}

fn published(ring: &KeyRing, later: i64) -> Vec<KeyId> {
    ring.published(seconds(later)).unwrap().keys().iter().map(|key| key.id().clone()).collect()
}

// contract I6.3
#[test]
fn a_rotation_announces_then_signs_then_retires() {
    let (old, new) = (KEY.public(), OTHER_KEY.public());
    let both = [old.id().clone(), new.id().clone()];
    let ring = KeyRing::begin(old.clone(), NOW);
    assert_eq!((ring.signing(), ring.announced()), (old, None));

    let ring = ring.announce(new.clone(), NOW).unwrap();
    assert_eq!((ring.signing(), ring.announced()), (old, Some(new)));
    assert_eq!(published(&ring, 0), both);
    let early = ring.clone().promote(seconds(ANNOUNCED_SECONDS - 1), ANNOUNCED_SECONDS);
    assert_eq!(early.unwrap_err(), RotationFault::TooEarly(1));

    let mut ring = ring.promote(seconds(ANNOUNCED_SECONDS), ANNOUNCED_SECONDS).unwrap();
    assert_eq!((ring.signing(), ring.announced()), (new, None));
    // No client's setting shortens this: a token of before may have been given the longest life there is.
    let last_token = ANNOUNCED_SECONDS + MAX_TOKEN_SECONDS;
    assert_eq!(published(&ring, last_token), both, "the old key is published while a token of it may live");
    assert!(ring.purge(seconds(last_token)).is_empty());
    let over = last_token + 60 + 30 + 1;
    assert_eq!(published(&ring, over), [new.id().clone()]);
    assert_eq!(ring.purge(seconds(over)), [old.id().clone()]);
    assert_eq!(KeyRing::load(ring.records()), Ok(ring));
}

#[test]
fn a_lost_key_is_replaced_at_once_and_stays_published() {
    let (old, new) = (KEY.public(), OTHER_KEY.public());
    let ring = KeyRing::begin(old.clone(), NOW).replace(new.clone(), NOW).unwrap();
    assert_eq!((ring.signing(), ring.announced()), (new, None));
    assert_eq!(published(&ring, 0), [old.id().clone(), new.id().clone()]);
    assert_eq!(ring.clone().replace(old.clone(), NOW).unwrap_err(), RotationFault::Known);
}

// contract I6.3, I6.2
#[test]
fn no_more_keys_are_announced_than_a_verifier_takes() {
    let named = |number: usize| {
        let entry = key(&json!({"kid": number.to_string()})).to_string();
        PublicKey::from_jwk(entry.as_bytes()).unwrap()
    };
    let mut ring = KeyRing::begin(named(0), NOW);
    for number in 1..MAX_KEYS {
        ring = ring.announce(named(number), NOW).unwrap().promote(NOW, 0).unwrap();
        assert_eq!(published(&ring, 0).len(), number + 1);
    }
    let fault = ring.clone().announce(named(MAX_KEYS), NOW).unwrap_err();
    assert_eq!(fault, RotationFault::Full(RETIRED_SECONDS + 1));
    assert!(fault.to_string().contains("16 keys are published"), "{fault}");
    assert_eq!(ring.clone().replace(named(MAX_KEYS), NOW).unwrap_err(), fault);
    let later = RETIRED_SECONDS + 1;
    let ring = ring.announce(named(MAX_KEYS), seconds(later)).unwrap();
    assert_eq!(published(&ring, later).len(), 2);
}

#[test]
fn a_public_key_is_kept_as_its_entry_and_read_back() {
    let text = KEY.public().to_jwk().to_string();
    assert_eq!(PublicKey::from_jwk(text.as_bytes()).as_ref(), Ok(KEY.public()));
    assert_eq!(PublicKey::from_jwk(b"{}").unwrap_err(), KeySetFault::Malformed);
    assert_eq!(PublicKey::from_jwk(key(&json!({"kid": null})).to_string().as_bytes()).unwrap_err(), KeySetFault::Empty);
}

#[test]
fn a_step_out_of_turn_is_refused() {
    let (old, new) = (KEY.public(), OTHER_KEY.public());
    let ring = KeyRing::begin(old.clone(), NOW);
    assert_eq!(ring.clone().promote(NOW, 0).unwrap_err(), RotationFault::NothingAnnounced);
    assert_eq!(ring.clone().announce(old.clone(), NOW).unwrap_err(), RotationFault::Known);
    let announced = ring.announce(new.clone(), NOW).unwrap();
    assert_eq!(announced.clone().announce(new.clone(), NOW).unwrap_err(), RotationFault::UnderWay);
    let record = |key: &PublicKey, state| KeyRecord { key: key.clone(), state };
    let signing = KeyState::Signing { since: NOW };
    assert_eq!(KeyRing::load(vec![]).unwrap_err(), RotationFault::Contradiction);
    assert_eq!(KeyRing::load(vec![record(old, signing), record(new, signing)]).unwrap_err(), RotationFault::Contradiction);
    let waiting = KeyState::Announced { since: NOW };
    let twice = vec![record(old, signing), record(new, waiting), record(new, waiting)];
    assert_eq!(KeyRing::load(twice).unwrap_err(), RotationFault::Contradiction);
}
