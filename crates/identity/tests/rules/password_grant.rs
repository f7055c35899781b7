//! Name and password are traded for tokens.

use identity::account::Account;
use identity::client::{Client, GrantType};
use identity::error::Error;
use identity::grant::FamilySecrets;
use identity::grant::password::{PasswordDecision, REFUSED, decide};
use identity::password::{Password, PasswordHash, Proof, Workspace, prove_in};
use identity::scope::Scope;

use crate::support::*;

/// A password that was found right.
fn right() -> Option<Proof> {
    let password = Password::presented("correct horse").unwrap();
    let hash = PasswordHash::make(&password, [7; 16]).unwrap();
    prove_in(&mut Workspace::default(), Some(hash), &password, [8; 16])
}

fn outcome(client: &Client, account: Option<&Account>, proof: Option<Proof>) -> PasswordDecision {
    let scope = Scope::parse("shop");
    decide(proven(client), account.zip(proof), scope.as_ref(), FamilySecrets { family: FAMILY, refresh: refresh() }, terms(NOW))
}

fn refused(outcome: PasswordDecision) -> Error {
    match outcome {
        PasswordDecision::Refused(error) => error,
        other @ PasswordDecision::Grant(_) => panic!("{other:?}"),
    }
}

// contract I7.4
#[test]
fn a_right_password_begins_a_family_without_a_session() {
    let proof = right();
    let PasswordDecision::Grant(entry) = outcome(&client(), Some(&ana()), proof.clone()) else { panic!("granted") };
    assert_eq!(Some(entry.proof), proof, "and only as long as it is the password");
    let begin = entry.start;
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
        outcome(&client(), None, None),
        outcome(&client(), Some(&ana()), None),
        outcome(&client(), None, right()),
        outcome(&client(), Some(&closed), right()),
        outcome(&client(), Some(&removed), right()),
        outcome(&client(), Some(&Account::anonymous()), right()),
        outcome(&without, Some(&ana()), right()),
    ] {
        assert_eq!(refused(refusal), REFUSED);
    }
}
