//! A code is traded for tokens.

use identity::account::Account;
use identity::client::{Client, ClientId, Redirect};
use identity::error::ErrorCode;
use identity::grant::FamilySecrets;
use identity::grant::authorization_code::CodeRecord;
use identity::grant::authorization_code::{CodeDecision, PresentedCode, decide};
use identity::pkce::Verifier;
use identity::scope::Scope;
use identity::timestamp::Timestamp;
use uuid::Uuid;

use crate::support::*;

fn record() -> CodeRecord {
    CodeRecord {
        digest: code().digest(),
        client: ClientId::parse("shop").unwrap(),
        redirect: Redirect::register(CALLBACK).unwrap(),
        challenge: verifier().challenge(),
        account: ACCOUNT,
        session: SESSION,
        authenticated_at: NOW,
        scope: Scope::parse("openid shop"),
        nonce: Some("n-1".to_owned()),
        expires_at: seconds(60),
        used_by: None,
    }
}

struct Try {
    client: Client,
    redirect: &'static str,
    verifier: Verifier,
    record: Option<CodeRecord>,
    account: Option<Account>,
    now: Timestamp,
}

impl Try {
    fn good() -> Self {
        Try { client: client(), redirect: CALLBACK, verifier: verifier(), record: Some(record()), account: Some(ana()), now: NOW }
    }

    fn outcome(&self) -> CodeDecision {
        let presented = PresentedCode { client: proven(&self.client), redirect_uri: self.redirect, verifier: &self.verifier };
        decide(
            presented,
            self.record.as_ref(),
            self.account.as_ref(),
            FamilySecrets { family: FAMILY, refresh: refresh() },
            terms(self.now),
        )
    }

    fn refused(&self) -> bool {
        matches!(self.outcome(), CodeDecision::Refused(error) if error.code() == ErrorCode::InvalidGrant)
    }
}

// contract I3.1
#[test]
fn a_good_code_begins_a_family_bound_to_client_account_and_session() {
    let CodeDecision::Redeem(redemption) = Try::good().outcome() else { panic!("redeemed") };
    assert_eq!(redemption.code, code().digest());
    let family = &redemption.start.family;
    assert_eq!((family.id, family.account, family.session), (FAMILY, ACCOUNT, Some(SESSION)));
    assert_eq!(family.client.as_str(), "shop");
    assert_eq!(redemption.start.refresh.digest, refresh().digest());
    assert_eq!(redemption.start.refresh.expires_at, seconds(2_592_000));
    let issue = &redemption.start.issue;
    assert_eq!(issue.expires_in(), 3_600);
    assert_eq!(issue.refresh_token().expose(), refresh().expose());
    let claims = issue.access_claims(ISSUER, Uuid::from_u128(1), NOW);
    assert_eq!(claims.common.audiences, ["shop", ISSUER]);
    assert_eq!((claims.account(), claims.family, claims.expires_at()), (ACCOUNT, FAMILY, seconds(3_600)));
    let id = issue.id_claims(ISSUER, "token", NOW).expect("openid was asked");
    assert_eq!((id.nonce.as_deref(), id.authenticated_at, id.session), (Some("n-1"), NOW, Some(SESSION)));
    assert_eq!(id.common.audiences, ["shop"]);
}

#[test]
fn there_is_no_id_token_unless_openid_was_asked() {
    let mut attempt = Try::good();
    attempt.record.as_mut().unwrap().scope = Scope::parse("shop openid2");
    let CodeDecision::Redeem(redemption) = attempt.outcome() else { panic!("redeemed") };
    assert!(redemption.start.issue.id_claims(ISSUER, "token", NOW).is_none());
}

// attack 1, attack 8, attack 11
#[test]
fn a_code_is_refused_to_another_client_redirect_or_verifier() {
    assert!(Try { client: other_client(), ..Try::good() }.refused());
    assert!(Try { redirect: "https://app.example/callback/", ..Try::good() }.refused());
    assert!(Try { verifier: Verifier::from_random([9; 32]), ..Try::good() }.refused());
    assert!(Try { record: None, ..Try::good() }.refused());
    let moved = Client { redirect: Redirect::register("https://new.example/").unwrap(), ..client() };
    assert!(Try { client: moved, ..Try::good() }.refused(), "the client's redirect has changed since");
}

// attack 8 // contract I3.2
#[test]
fn a_code_lives_for_sixty_seconds() {
    assert!(matches!(Try { now: seconds(59), ..Try::good() }.outcome(), CodeDecision::Redeem(_)));
    assert!(Try { now: seconds(60), ..Try::good() }.refused());
}

// attack 5, attack 7 // contract I3.3
#[test]
fn a_replay_that_is_right_in_every_other_way_ends_what_the_code_gave() {
    let used = CodeRecord { used_by: Some(FAMILY), ..record() };
    for now in [NOW, seconds(59), seconds(3_600)] {
        let outcome = Try { record: Some(used.clone()), now, ..Try::good() }.outcome();
        assert!(matches!(outcome, CodeDecision::Replay { family: FAMILY, error } if error.code() == ErrorCode::InvalidGrant));
    }
}

// attack 6 // contract I3.3
#[test]
fn a_replay_with_a_wrong_verifier_or_client_only_fails() {
    let used = || Some(CodeRecord { used_by: Some(FAMILY), ..record() });
    assert!(Try { record: used(), verifier: Verifier::from_random([9; 32]), ..Try::good() }.refused());
    assert!(Try { record: used(), client: other_client(), ..Try::good() }.refused());
    assert!(Try { record: used(), redirect: "https://evil.example/", ..Try::good() }.refused());
}

#[test]
fn an_account_that_was_closed_since_gets_nothing() {
    assert!(Try { account: None, ..Try::good() }.refused());
    assert!(Try { account: Some(Account { is_active: false, ..ana() }), ..Try::good() }.refused());
    assert!(Try { account: Some(Account { deleted_at: Some(NOW), ..ana() }), ..Try::good() }.refused());
    assert!(Try { account: Some(Account { id: FAMILY, ..ana() }), ..Try::good() }.refused(), "another account's row");
}

#[test]
fn nothing_secret_shows_in_debug() {
    let shown = format!("{:?} {:?}", Try::good().outcome(), record());
    for secret in [code().expose(), refresh().expose()] {
        assert!(!shown.contains(secret.as_str()), "{shown}");
    }
    assert!(!shown.contains(verifier().expose()));
}
