//! Sessions, what ends with what, and whether a grant still stands.

use identity::account::Account;
use identity::client::{Client, ClientId, GrantType};
use identity::error::ErrorCode;
use identity::grant::{Family, status};
use identity::password_link::{LinkPurpose, LinkRecord};
use identity::revocation::{ClientRevocation, Reach, Revocation, RevocationScope, Selection, revoked_by};
use identity::secret_token::LinkToken;
use identity::session::{LiveSession, Session, may_begin_by_token};
use identity::timestamp::Timestamp;
use identity::token::{self, AccessClaims, Expectation, ExpiryClock, PageClaims, RegisteredClaims, Unverified, Verified};
use uuid::Uuid;

use crate::support::*;

fn token(issued_at: Timestamp, now: Timestamp) -> Verified<AccessClaims> {
    let common = RegisteredClaims {
        issuer: ISSUER.to_owned(),
        subject: ACCOUNT,
        audiences: vec!["shop".to_owned(), ISSUER.to_owned()],
        issued_at,
        expires_at: issued_at.plus(3_600),
    };
    let claims = AccessClaims { common, client: ClientId::parse("shop").unwrap(), family: FAMILY, id: Uuid::from_u128(9), scope: None };
    let text = token::sign(&claims, &KEY).unwrap();
    let expected = Expectation { issuer: ISSUER, audiences: &[ISSUER], now, end: ExpiryClock::Own };
    Unverified::read(&text).unwrap().verify(KEY.public(), &expected).unwrap()
}

// contract I9.1
#[test]
fn a_session_lasts_eight_hours_and_can_be_ended() {
    let row = Session::begin(SESSION, ACCOUNT, NOW);
    let cookie = cookie(&row);
    let live = |row: &Session, account: &Account, now: Timestamp| LiveSession::of(&cookie, Some(row), Some(account), now).is_some();
    assert!(live(&row, &ana(), seconds(8 * 3_600 - 1)));
    assert!(!live(&row, &ana(), seconds(8 * 3_600)));
    assert!(!live(&Session { ended_at: Some(NOW), ..row.clone() }, &ana(), NOW));
    assert!(!live(&row, &Account { is_active: false, ..ana() }, NOW), "a closed account");
    assert!(!live(&row, &Account { id: FAMILY, ..ana() }, NOW), "another account");
    assert!(!live(&Session { id: FAMILY, ..row.clone() }, &ana(), NOW), "another session");
    assert!(!live(&Session { account: FAMILY, ..row.clone() }, &Account { id: FAMILY, ..ana() }, NOW), "the session of another account");
    assert!(LiveSession::of(&cookie, None, Some(&ana()), NOW).is_none());
    assert!(LiveSession::of(&cookie, Some(&row), None, NOW).is_none());
}

// contract E8.8
#[test]
fn a_page_token_lasts_five_minutes_and_no_longer_than_its_session() {
    let row = Session::begin(SESSION, ACCOUNT, NOW);
    let session = LiveSession::of(&cookie(&row), Some(&row), Some(&ana()), NOW).unwrap();
    let text = token::sign(&session.page_claims(ISSUER, NOW), &KEY).unwrap();
    let own = PageClaims::audience(ISSUER);
    let verify = |now: Timestamp| {
        let expected = Expectation { issuer: ISSUER, audiences: &[&own], now, end: ExpiryClock::Own };
        Unverified::read(&text).unwrap().verify::<PageClaims>(KEY.public(), &expected)
    };
    assert!(verify(seconds(299)).is_ok() && verify(seconds(300)).is_err());
    let token = verify(NOW).unwrap();
    let live = |row: &Session, account: &Account, now: Timestamp| LiveSession::of_page(&token, Some(row), Some(account), now).is_some();
    assert!(live(&row, &ana(), NOW));
    assert!(!live(&Session { ended_at: Some(NOW), ..row.clone() }, &ana(), NOW));
    assert!(!live(&row, &ana(), seconds(8 * 3_600)));
    assert!(!live(&row, &Account { is_active: false, ..ana() }, NOW), "a closed account");
    assert!(!live(&Session { id: FAMILY, ..row.clone() }, &ana(), NOW), "another session");
    assert!(!live(&Session { account: FAMILY, ..row.clone() }, &Account { id: FAMILY, ..ana() }, NOW), "the session of another account");
}

// attack 35 // contract I9.2
#[test]
fn what_ends_with_what() {
    let of_account = RevocationScope { sessions: Selection::OfAccount(ACCOUNT), families: Selection::OfAccount(ACCOUNT) };
    assert_eq!(
        Revocation::Logout(SESSION).scope(),
        RevocationScope { sessions: Selection::One(SESSION), families: Selection::OfSession(SESSION) }
    );
    assert_eq!(Revocation::LogoutEverywhere(ACCOUNT).scope(), of_account);
    assert_eq!(Revocation::AccountClosed(ACCOUNT).scope(), of_account);
    assert_eq!(Revocation::PasswordChanged { account: ACCOUNT, kept: None }.scope(), of_account);
    assert_eq!(
        Revocation::PasswordChanged { account: ACCOUNT, kept: Some(SESSION) }.scope(),
        RevocationScope {
            sessions: Selection::OfAccountBut { account: ACCOUNT, session: SESSION },
            families: Selection::OfAccount(ACCOUNT)
        }
    );
    let shop = ClientId::parse("shop").unwrap();
    assert_eq!(
        Revocation::ClientClosed(shop.clone()).scope(),
        RevocationScope { sessions: Selection::Nothing, families: Selection::OfClient(shop) }
    );
    assert_eq!(
        Revocation::FamilyRevoked(FAMILY).scope(),
        RevocationScope { sessions: Selection::Nothing, families: Selection::One(FAMILY) }
    );
}

// attack 15, attack 63 // contract I9.3
#[test]
fn a_session_begins_by_a_token_of_a_family_that_began_with_a_password_a_moment_ago() {
    let begins = |issued_at: Timestamp, family: &Family, client: &Client, now: Timestamp| {
        may_begin_by_token(&token(issued_at, now), family, client, now).map_err(identity::error::Error::code)
    };
    assert_eq!(begins(NOW, &family(), &client(), NOW), Ok(()));
    assert_eq!(begins(seconds(299), &family(), &client(), seconds(300)), Ok(()));
    assert_eq!(begins(seconds(301), &family(), &client(), seconds(301)), Err(ErrorCode::InvalidToken), "a new token of an old family");
    for begun_by in [None, Some(GrantType::AuthorizationCode), Some(GrantType::RefreshToken)] {
        assert_eq!(begins(NOW, &Family { begun_by, ..family() }, &client(), NOW), Err(ErrorCode::AccessDenied), "{begun_by:?}");
    }
    let other = Family { id: SESSION, ..family() };
    assert_eq!(begins(NOW, &other, &client(), NOW), Err(ErrorCode::AccessDenied));
    let mut without = client();
    without.grants.remove(&GrantType::Password);
    for client in [without, other_client(), Client { is_active: false, ..client() }] {
        assert_eq!(begins(NOW, &family(), &client, NOW), Err(ErrorCode::AccessDenied));
    }
}

fn family() -> Family {
    Family {
        id: FAMILY,
        client: ClientId::parse("shop").unwrap(),
        account: ACCOUNT,
        session: None,
        scope: None,
        begun_by: Some(GrantType::Password),
        begun_at: NOW,
        authenticated_at: NOW,
        ended_at: None,
    }
}

// contract I9.4
#[test]
fn a_token_stands_as_long_as_its_family_and_its_account_do() {
    let token = token(NOW, NOW);
    assert_eq!(status::account(&token, Some(&family()), Some(&ana())).unwrap().id, ACCOUNT);
    let ended = Family { ended_at: Some(NOW), ..family() };
    let foreign = Family { id: SESSION, ..family() };
    let stolen = Family { account: SESSION, ..family() };
    let other_clients = Family { client: ClientId::parse("other").unwrap(), ..family() };
    for family in [None, Some(&ended), Some(&foreign), Some(&stolen), Some(&other_clients)] {
        assert_eq!(status::account(&token, family, Some(&ana())).unwrap_err().code(), ErrorCode::InvalidToken);
    }
    let closed = Account { is_active: false, ..ana() };
    let other = Account { id: SESSION, ..ana() };
    for account in [None, Some(&closed), Some(&other)] {
        assert_eq!(status::account(&token, Some(&family()), account).unwrap_err().code(), ErrorCode::InvalidToken);
    }
}

#[test]
fn a_client_revokes_and_reads_its_own_tokens_alone() {
    let begun = Family { session: Some(SESSION), ..family() };
    let ended = Family { ended_at: Some(NOW), ..begun.clone() };
    for (revoked, reach, expected) in [
        (&begun, Reach::Family, Some(ClientRevocation::Family(FAMILY))),
        (&begun, Reach::Session, Some(ClientRevocation::SessionOf(FAMILY))),
        (&ended, Reach::Family, None),
        (&ended, Reach::Session, Some(ClientRevocation::SessionOf(FAMILY))),
        (&family(), Reach::Session, Some(ClientRevocation::Family(FAMILY))),
    ] {
        assert_eq!(revoked_by(proven(&client()), revoked, reach), expected);
        assert_eq!(revoked_by(proven(&other_client()), revoked, reach), None);
    }
    assert!(status::may_introspect(proven(&client()), &token(NOW, NOW)));
    assert!(!status::may_introspect(proven(&other_client()), &token(NOW, NOW)));
}

// contract I9.5
#[test]
fn a_link_sets_a_password_once_and_for_a_while() {
    let token = LinkToken::from_random([1; 32]);
    for (purpose, life) in [(LinkPurpose::Reset, 3_600), (LinkPurpose::Invitation, 7 * 86_400)] {
        let link = LinkRecord::make(&token, ACCOUNT, purpose, NOW);
        assert_eq!(link.digest, token.digest());
        assert_eq!(LinkRecord::open(Some(&link), seconds(life - 1)), Ok(ACCOUNT));
        assert!(LinkRecord::open(Some(&link), seconds(life)).is_err());
        assert!(LinkRecord::open(Some(&LinkRecord { used_at: Some(NOW), ..link }), NOW).is_err());
    }
    assert!(LinkRecord::open(None, NOW).is_err());
}
