//! Proof Key for Code Exchange.

use identity::error::ErrorCode;
use identity::pkce::{Challenge, Verifier};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

#[test]
fn the_example_of_rfc_7636_appendix_b_holds() {
    let verifier = Verifier::parse(VERIFIER).unwrap();
    assert_eq!(verifier.challenge().as_str(), CHALLENGE);
    assert!(Challenge::parse(CHALLENGE).unwrap().admits(&verifier));
}

// attack 1
#[test]
fn another_verifier_is_not_admitted() {
    let challenge = Challenge::parse(CHALLENGE).unwrap();
    assert!(!challenge.admits(&Verifier::from_random([1; 32])));
    assert!(!Challenge::parse(VERIFIER).unwrap().admits(&Verifier::parse(VERIFIER).unwrap()), "a plain comparison would admit this one");
}

// attack 2, attack 3 // contract I1.4
#[test]
fn a_challenge_is_needed_and_s256_is_the_only_method() {
    for method in [None, Some("S256")] {
        assert!(Challenge::read(Some(CHALLENGE), method).is_ok(), "{method:?}");
    }
    for method in ["plain", "s256", "S512", "none", " S256"] {
        assert_eq!(Challenge::read(Some(CHALLENGE), Some(method)).unwrap_err().code(), ErrorCode::InvalidRequest, "{method}");
    }
    assert_eq!(Challenge::read(None, None).unwrap_err().code(), ErrorCode::InvalidRequest);
}

// attack 3
#[test]
fn a_challenge_has_43_characters_of_base64url() {
    let long = format!("{CHALLENGE}A");
    for wrong in
        ["", "abc", &CHALLENGE[1..], &long, &CHALLENGE.replace('-', "+"), &CHALLENGE.replace('-', "="), &CHALLENGE.replace('-', "é")]
    {
        assert_eq!(Challenge::read(Some(wrong), None).unwrap_err().code(), ErrorCode::InvalidRequest, "{wrong}");
    }
}

#[test]
fn a_spelling_that_no_digest_has_meets_no_verifier() {
    // The last character of 43 carries two stray bits; a reader that dropped them would take N for M.
    let noncanonical = format!("{}N", &CHALLENGE[..42]);
    assert!(!Challenge::parse(&noncanonical).unwrap().admits(&Verifier::parse(VERIFIER).unwrap()));
}

// attack 4
#[test]
fn a_verifier_has_43_to_128_unreserved_characters() {
    for length in [43, 128] {
        assert!(Verifier::parse(&"a".repeat(length)).is_some(), "{length}");
    }
    for length in [0, 1, 42, 129, 10_000] {
        assert!(Verifier::parse(&"a".repeat(length)).is_none(), "{length}");
    }
    assert!(Verifier::parse(&format!("{}-._~", "a".repeat(40))).is_some());
    for foreign in ["+", "/", "=", " ", "%", "\n", "é", "\0"] {
        assert!(Verifier::parse(&format!("{}{foreign}", "a".repeat(50))).is_none(), "{foreign:?}");
    }
}

#[test]
fn a_verifier_does_not_show_itself() {
    assert_eq!(format!("{:?}", Verifier::parse(VERIFIER).unwrap()), "Verifier(…)");
}
