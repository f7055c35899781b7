//! Name and password are traded for tokens.

use identity::account::Account;
use identity::client::{Client, GrantType};
use identity::error::Error;
use identity::grant::Fresh;
use identity::grant::password::{Outcome, REFUSED, decide};
use identity::password::{Rehash, Verdict};
use identity::scope::Scope;

use crate::support::*;

const RIGHT: Verdict = Verdict::Matches { rehash: Rehash::Current };

fn outcome(client: &Client, account: Option<&Account>, verdict: Verdict) -> Outcome {
    let scope = Scope::parse("shop");
    decide(proven(client), (account, verdict), scope.as_ref(), Fresh { family: FAMILY, refresh: refresh() }, NOW)
}

fn refused(outcome: Outcome) -> Error {
    match outcome {
        Outcome::Refused(error) => error,
        other @ Outcome::Grant(_) => panic!("{other:?}"),
    }
}

// contract I7.4
#[test]
fn a_right_password_begins_a_family_without_a_session() {
    let Outcome::Grant(begin) = outcome(&client(), Some(&ana()), RIGHT) else { panic!("granted") };
    assert_eq!((begin.family.account, begin.family.session, begin.family.authenticated_at), (ACCOUNT, None, NOW));
    assert_eq!(begin.issue.scope().map(Scope::as_str), Some("shop"));
    assert_eq!(begin.refresh.digest, refresh().digest());
}

// attack 31 // contract I7.4
#[test]
fn every_refusal_is_the_same() {
    let closed = Account { is_active: false, ..ana() };
    let removed = Account { deleted_at: Some(NOW), ..ana() };
    let mut without = client();
    without.grants.remove(&GrantType::Password);
    for refusal in [
        outcome(&client(), None, Verdict::Differs),
        outcome(&client(), Some(&ana()), Verdict::Differs),
        outcome(&client(), None, RIGHT),
        outcome(&client(), Some(&closed), RIGHT),
        outcome(&client(), Some(&removed), RIGHT),
        outcome(&client(), Some(&Account::anonymous()), RIGHT),
        outcome(&without, Some(&ana()), RIGHT),
    ] {
        assert_eq!(refused(refusal), REFUSED);
    }
}
