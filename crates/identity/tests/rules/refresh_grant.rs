//! A refresh token is traded for its successor.

use identity::account::Account;
use identity::client::{Client, ClientId, GrantType};
use identity::error::ErrorCode;
use identity::grant::refresh_token::{PresentedToken, RefreshDecision, Rotation, SuccessorSecrets, TokenRows, decide, is_active};
use identity::grant::sealed::Sealed;
use identity::grant::{Admission, FAMILY_SECONDS, Family, GRACE_SECONDS, RefreshRecord, RefreshRules, RefreshState, Terms};
use identity::scope::Scope;
use identity::secret_token::RefreshToken;
use identity::timestamp::Timestamp;

use crate::support::*;

fn successor() -> RefreshToken {
    RefreshToken::from_random([6; 32])
}

fn family() -> Family {
    Family {
        id: FAMILY,
        client: ClientId::parse("shop").unwrap(),
        account: ACCOUNT,
        session: Some(SESSION),
        scope: Scope::parse("openid shop"),
        begun_by: Some(GrantType::AuthorizationCode),
        begun_at: NOW,
        authenticated_at: NOW,
        ended_at: None,
    }
}

struct Try {
    client: Client,
    token: RefreshToken,
    scope: Option<&'static str>,
    record: RefreshRecord,
    family: Family,
    account: Option<Account>,
    admission: Admission,
    outage_seconds: i64,
    now: Timestamp,
}

impl Try {
    fn good() -> Self {
        let record = RefreshRecord { digest: refresh().digest(), family: FAMILY, expires_at: seconds(1_000), state: RefreshState::Live };
        Try {
            client: client(),
            token: refresh(),
            scope: None,
            record,
            family: family(),
            account: Some(ana()),
            admission: Admission::Admitted,
            outage_seconds: 0,
            now: NOW,
        }
    }

    /// The same token again, after it was rotated at `NOW`.
    fn again(now: Timestamp) -> Self {
        let RefreshDecision::Rotate(rotation) = Try::good().outcome() else { panic!("rotated") };
        Try { record: RefreshRecord { state: rotation.state, ..Try::good().record }, now, ..Try::good() }
    }

    fn found(&self) -> TokenRows<'_> {
        let account = self.account.as_ref();
        TokenRows { record: &self.record, family: &self.family, account, admission: self.admission, outage_seconds: self.outage_seconds }
    }

    fn outcome(&self) -> RefreshDecision {
        let scope = self.scope.and_then(Scope::parse);
        let presented = PresentedToken { client: proven(&self.client), token: &self.token, scope: scope.as_ref() };
        // Another successor each time: only the first may ever be seen.
        decide(presented, Some(self.found()), SuccessorSecrets { successor: successor(), nonce: [1; 12] }, terms(self.now))
    }

    fn refused(&self) -> ErrorCode {
        match self.outcome() {
            RefreshDecision::Refused(error) => error.code(),
            other => panic!("{other:?}"),
        }
    }
}

fn rotated(outcome: RefreshDecision) -> Box<Rotation> {
    match outcome {
        RefreshDecision::Rotate(rotation) => rotation,
        other => panic!("{other:?}"),
    }
}

// contract I4.1
#[test]
fn each_use_gives_one_successor_with_a_life_of_its_own() {
    let rotation = rotated(Try { now: seconds(500), ..Try::good() }.outcome());
    assert_eq!(rotation.digest, refresh().digest());
    assert_eq!(rotation.successor.digest, successor().digest());
    assert_eq!((rotation.successor.family, rotation.successor.expires_at), (FAMILY, seconds(500 + 2_592_000)));
    assert_eq!(rotation.successor.state, RefreshState::Live);
    assert_eq!(rotation.issue.refresh_token().expose(), successor().expose());
    assert_eq!(rotation.issue.family().id, FAMILY);
}

// attack 67 // contract I4.6
#[test]
fn a_family_ends_at_its_age_however_often_it_is_refreshed() {
    let old = |age: i64| Try { family: Family { begun_at: seconds(-age), ..family() }, ..Try::good() };
    let day = 86_400;
    let last = rotated(old(FAMILY_SECONDS - day).outcome());
    assert_eq!(last.successor.expires_at, seconds(day), "no token reaches beyond it");
    assert_eq!(rotated(old(FAMILY_SECONDS - 1).outcome()).successor.expires_at, seconds(1));
    for age in [FAMILY_SECONDS, FAMILY_SECONDS + 1, 10 * FAMILY_SECONDS] {
        assert_eq!(old(age).refused(), ErrorCode::InvalidGrant, "{age}");
        assert!(!is_active(proven(&client()), &refresh(), old(age).found(), terms(NOW)));
        let again = Try { family: old(age).family, ..Try::again(NOW) };
        assert_eq!(again.refused(), ErrorCode::InvalidGrant, "nor is it repeated then");
        let late = Try { family: old(age).family, ..Try::again(seconds(1_000)) };
        assert_eq!(late.refused(), ErrorCode::InvalidGrant, "there is nothing to end any more");
    }
    assert_eq!(old(FAMILY_SECONDS - day).found().expires_at(RefreshRules::default()), seconds(1_000), "or sooner, by its client");
}

// attack 34 // contract I4.2
#[test]
fn a_repeat_within_the_grace_gets_the_same_successor() {
    for later in [-5, 0, 1, 10, GRACE_SECONDS] {
        let mut again = Try::again(seconds(later));
        let presented = PresentedToken { client: proven(&again.client), token: &again.token, scope: None };
        let fresh = SuccessorSecrets { successor: RefreshToken::from_random([99; 32]), nonce: [2; 12] };
        let RefreshDecision::Repeat(issue) = decide(presented, Some(again.found()), fresh, terms(again.now)) else {
            panic!("a repeat after {later} s")
        };
        assert_eq!(issue.refresh_token().expose(), successor().expose());
        again.client = other_client();
        assert_eq!(again.refused(), ErrorCode::InvalidGrant, "another client gets nothing");
    }
}

// attack 34 // contract I4.2
#[test]
fn a_later_repeat_ends_the_family() {
    for later in [GRACE_SECONDS + 1, 60, 1_000_000] {
        let outcome = Try::again(seconds(later)).outcome();
        assert!(matches!(outcome, RefreshDecision::Reuse { family: FAMILY, error } if error.code() == ErrorCode::InvalidGrant), "{later}");
    }
}

// attack 34 // contract I4.7
#[test]
fn time_in_which_no_hub_could_answer_does_not_count() {
    let again = |later: i64, outage_seconds: i64| Try { outage_seconds, ..Try::again(seconds(later)) };
    for (later, outage, late) in [(31, 0, true), (31, 1, false), (90, 60, false), (90, 59, true), (86_400, 86_370, false)] {
        assert_eq!(again(later, outage).found().late_since(terms(seconds(later))).is_some(), late, "{later} {outage}");
        assert_eq!(matches!(again(later, outage).outcome(), RefreshDecision::Repeat(_)), !late);
        assert_eq!(matches!(again(later, outage).outcome(), RefreshDecision::Reuse { .. }), late);
    }
    assert_eq!(Try::good().found().late_since(terms(seconds(500))), None, "it was not used yet");
    let rules = RefreshRules { grace_seconds: 1, ..RefreshRules::default() };
    assert_eq!(again(2, 0).found().late_since(Terms { now: seconds(2), rules }), Some(NOW));
}

// attack 35 // contract I4.3
#[test]
fn another_client_gets_nothing_and_ends_nothing() {
    assert_eq!(Try { client: other_client(), ..Try::good() }.refused(), ErrorCode::InvalidGrant);
    assert_eq!(Try { client: other_client(), ..Try::again(seconds(60)) }.refused(), ErrorCode::InvalidGrant);
}

// attack 35 // contract I4.4
#[test]
fn an_ended_family_and_a_closed_account_get_nothing() {
    let ended = Family { ended_at: Some(NOW), ..family() };
    assert_eq!(Try { family: ended.clone(), ..Try::good() }.refused(), ErrorCode::InvalidGrant);
    assert_eq!(Try { family: ended, ..Try::again(NOW) }.refused(), ErrorCode::InvalidGrant, "not even the retry of a moment ago");
    assert_eq!(Try { admission: Admission::Refused, ..Try::good() }.refused(), ErrorCode::InvalidGrant);
    assert_eq!(Try { account: None, ..Try::good() }.refused(), ErrorCode::InvalidGrant);
    assert_eq!(Try { account: Some(Account { is_active: false, ..ana() }), ..Try::good() }.refused(), ErrorCode::InvalidGrant);
    assert_eq!(Try { token: successor(), ..Try::good() }.refused(), ErrorCode::InvalidGrant, "a row of another token");
}

#[test]
fn an_expired_token_is_refused_and_ends_nothing() {
    assert!(matches!(Try { now: seconds(999), ..Try::good() }.outcome(), RefreshDecision::Rotate(_)));
    assert_eq!(Try { now: seconds(1_000), ..Try::good() }.refused(), ErrorCode::InvalidGrant);
    let none = decide(
        PresentedToken { client: proven(&client()), token: &refresh(), scope: None },
        None,
        SuccessorSecrets { successor: successor(), nonce: [0; 12] },
        terms(NOW),
    );
    assert!(matches!(none, RefreshDecision::Refused(error) if error.code() == ErrorCode::InvalidGrant));
}

// contract I23.2
#[test]
fn a_token_is_active_while_it_would_be_traded_for_a_new_one() {
    let alone = Client { grants: [GrantType::Password].into(), ..client() };
    for (tried, active) in [
        (Try::good(), true),
        (Try { now: seconds(999), ..Try::good() }, true),
        (Try { now: seconds(1_000), ..Try::good() }, false),
        (Try { client: alone, ..Try::good() }, false),
        (Try { client: other_client(), ..Try::good() }, false),
        (Try { token: successor(), ..Try::good() }, false),
        (Try { family: Family { ended_at: Some(NOW), ..family() }, ..Try::good() }, false),
        (Try { admission: Admission::Refused, ..Try::good() }, false),
        (Try { account: Some(Account { is_active: false, ..ana() }), ..Try::good() }, false),
        (Try::again(NOW), false),
        (Try::again(seconds(60)), false),
    ] {
        assert_eq!(is_active(proven(&tried.client), &tried.token, tried.found(), terms(tried.now)), active);
        assert_eq!(matches!(tried.outcome(), RefreshDecision::Rotate(_)), active);
    }
}

// attack 36 // contract I4.5
#[test]
fn scope_is_narrowed_and_never_widened() {
    let scope = |asked: Option<&'static str>| {
        let rotation = rotated(Try { scope: asked, ..Try::good() }.outcome());
        rotation.issue.scope().map(|scope| scope.as_str().to_owned())
    };
    assert_eq!(scope(None).as_deref(), Some("openid shop"));
    assert_eq!(scope(Some("shop")).as_deref(), Some("shop"));
    for wider in ["admin", "shop admin", "SHOP"] {
        assert_eq!(Try { scope: Some(wider), ..Try::good() }.refused(), ErrorCode::InvalidScope);
    }
    let nothing = Family { scope: None, ..family() };
    assert_eq!(Try { scope: Some("shop"), family: nothing, ..Try::good() }.refused(), ErrorCode::InvalidScope);
}

// attack 9
#[test]
fn the_successor_at_rest_can_be_read_with_its_predecessor_alone() {
    let RefreshState::Rotated { successor: sealed, .. } = Try::again(NOW).record.state else { panic!("rotated") };
    assert_eq!(sealed.as_bytes().len(), 60);
    assert!(!sealed.as_bytes().windows(32).any(|window| window == [6; 32]));
    assert_eq!(format!("{sealed:?}"), "Sealed(…)");
    let mut broken = Try::again(NOW);
    let mut bytes = sealed.as_bytes().to_vec();
    bytes[20] ^= 1;
    broken.record.state = RefreshState::Rotated { at: NOW, successor: Sealed::from_bytes(&bytes).unwrap() };
    assert_eq!(broken.refused(), ErrorCode::ServerError);
    assert!(Sealed::from_bytes(&bytes[1..]).is_none());
}

#[test]
fn nothing_secret_shows_in_debug() {
    let shown = format!("{:?} {:?}", Try::good().outcome(), Try::again(NOW).outcome());
    for secret in [refresh().expose(), successor().expose()] {
        assert!(!shown.contains(secret.as_str()));
    }
}
