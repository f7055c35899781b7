//! What holds for any input.

use identity::client::Redirect;
use identity::form;
use identity::keys::KeySet;
use identity::password::PasswordHash;
use identity::pkce::{Challenge, Verifier};
use identity::return_path::HubReturnPath;
use identity::scope::Scope;
use identity::secret_token::RefreshToken;
use identity::throttle::{Evidence, Failures, longest_delay};
use identity::token::Unverified;
use proptest::prelude::*;

use crate::support::seconds;

proptest! {
    #[test]
    fn an_opaque_token_is_read_as_it_was_written(bytes: [u8; 32]) {
        let token = RefreshToken::from_random(bytes);
        let again = RefreshToken::parse(&token.expose()).unwrap();
        prop_assert_eq!(again.expose(), token.expose());
        prop_assert_eq!(again.digest(), token.digest());
    }

    #[test]
    fn two_texts_are_never_one_token(text in "[A-Za-z0-9_-]{43}") {
        if let Some(token) = RefreshToken::parse(&text) {
            prop_assert_eq!(token.expose().to_string(), text);
        }
    }

    #[test]
    fn a_verifier_meets_its_own_challenge_and_no_other(one: [u8; 32], other: [u8; 32]) {
        let (verifier, stranger) = (Verifier::from_random(one), Verifier::from_random(other));
        let challenge = Challenge::parse(verifier.challenge().as_str()).unwrap();
        prop_assert!(challenge.admits(&verifier));
        prop_assert_eq!(challenge.admits(&stranger), one == other);
    }

    #[test]
    fn any_verifier_that_is_read_has_a_challenge_that_is_read(text in "[A-Za-z0-9._~-]{43,128}") {
        let verifier = Verifier::parse(&text).unwrap();
        prop_assert!(Challenge::read(Some(verifier.challenge().as_str()), Some("S256")).unwrap().admits(&verifier));
    }

    #[test]
    fn a_form_is_read_as_it_was_written(pairs in prop::collection::vec((".{1,20}", ".{0,20}"), 0..20)) {
        let text = form::write(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        prop_assert!(text.is_ascii());
        prop_assert_eq!(form::pairs(&text).unwrap(), pairs);
    }

    // attack 13
    #[test]
    fn a_continuation_never_leaves_the_hub(text in r"[/\\@:.?#%a-z0-9\t\n ]{0,40}") {
        let read = HubReturnPath::read(Some(&text));
        let path = read.as_str().split('?').next().unwrap();
        prop_assert!(path.starts_with('/') && !path.contains("//") && !path.contains(['\\', '@', ':', '%', '#']));
        prop_assert!(read.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
    }

    // attack 11
    #[test]
    fn a_redirect_is_itself_and_nothing_else(path in "[a-z/.]{0,20}", other in ".{0,40}") {
        let text = format!("https://app.example/{path}");
        let redirect = Redirect::register(&text).unwrap();
        prop_assert!(redirect.is(&text));
        prop_assert_eq!(redirect.is(&other), other == text);
        prop_assert!(redirect.with([("state", other.as_str())]).bytes().all(|byte| byte.is_ascii_graphic()));
    }

    #[test]
    fn nothing_that_a_stranger_sends_ends_the_process(text in ".{0,300}", bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Unverified::read(&text);
        let _ = Unverified::read(&format!("eyJhbGciOiJSUzI1NiJ9.{text}.AAAA"));
        let _ = KeySet::read(&bytes);
        let _ = PasswordHash::parse(&text);
        let _ = Redirect::register(&text);
        let _ = Redirect::register(&format!("https://{text}"));
        let _ = form::pairs(&text);
        let _ = Scope::parse(&text);
    }

    #[test]
    fn password_hashes_of_any_cost_are_read_or_refused(name in "argon2id|argon2i|scrypt|pbkdf2-sha256|2b", costs: [u32; 3], tail in "[$./A-Za-z0-9]{0,80}") {
        let [a, b, c] = costs;
        let _ = PasswordHash::parse(&format!("${name}$v=19$m={a},t={b},p={c}${tail}"));
        let _ = PasswordHash::parse(&format!("${name}$ln={a},r={b},p={c}${tail}"));
        let _ = PasswordHash::parse(&format!("scrypt${a}$salt${b}${c}${tail}"));
        let _ = PasswordHash::parse(&format!("${name}${a}${tail}"));
    }

    // attack 36
    #[test]
    fn a_narrowed_scope_is_never_wider(granted in "[abc]( [abc]){0,3}", asked in "[abcd]( [abcd]){0,3}") {
        let (granted, asked) = (Scope::parse(&granted).unwrap(), Scope::parse(&asked).unwrap());
        if let Ok(Some(scope)) = Scope::narrow(Some(&granted), Some(&asked)) {
            prop_assert!(scope.as_str().split(' ').all(|word| granted.has(word)));
        }
        prop_assert_eq!(Scope::narrow(None, Some(&asked)).is_err(), true);
    }

    // attack 32
    #[test]
    fn a_throttle_never_locks_for_good(counts: [u32; 3], last in -10_000_i64..10_000, now in -10_000_i64..10_000) {
        let failures = |count| Failures { count, last: Some(seconds(last)), ..Failures::default() };
        let [pair, address, account] = counts;
        let evidence = Evidence { pair: failures(pair), address: failures(address), account: failures(account), ..Evidence::default() };
        prop_assert!((0..=900).contains(&longest_delay(&evidence, seconds(now)).1));
        prop_assert_eq!(longest_delay(&evidence, seconds(last + 900)).1, 0);
    }
}
