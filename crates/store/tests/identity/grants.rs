//! Codes, families, refresh tokens and what ends them.

use identity::audit_event::AuditEvent;
use identity::client::GrantType;
use identity::error::ErrorCode;
use identity::grant::authorization_code::CodeRecord;
use identity::grant::{authorization_code, refresh_token};
use identity::pkce::Verifier;
use identity::revocation::Revocation;
use identity::secret_token::{Code, RefreshToken};
use store::hub_records::Run;
use store::hub_records::apps::{Access, App};
use store::hub_records::codes::Redeemed;
use store::hub_records::sessions::PreviousSession;
use store::hub_records::token_families::Rotated;
use store::hub_records::unknown_secrets::{self, UnknownSecret};
use store::hub_records::{accounts, apps, audit_log, clients, codes, revocation, sessions, token_families};
use uuid::Uuid;

use crate::world::{NOW, World, account, at, hash, id, prove, random, set_password, sign_in};

pub(crate) async fn one_of_five_hundred_redemptions_wins(url: &str) {
    // attack 7, contract I15.3
    let world = World::at(url).await;
    let other = World { records: store::hub_records::Records::of(&crate::support::open(url)).expect("another process"), ..world.clone() };
    let (code, verifier) = world.code().await;
    let mut tasks = Vec::new();
    for number in 0..500 {
        let (world, code, verifier) = (if number % 2 == 0 { world.clone() } else { other.clone() }, code.clone(), verifier.clone());
        tasks.push(tokio::spawn(async move {
            match world.decide(&code, &verifier).await {
                authorization_code::CodeDecision::Redeem(redemption) => {
                    codes::redeem(&world.records, &redemption, &world.client, at(0)).await.expect("a redemption") == Redeemed::Done
                }
                authorization_code::CodeDecision::Replay { .. } => false,
                authorization_code::CodeDecision::Refused(error) => panic!("{error}"),
            }
        }));
    }
    let mut winners = 0;
    for task in tasks {
        winners += usize::from(task.await.expect("a task"));
    }
    assert_eq!(winners, 1);
    let count = "SELECT (SELECT count(*) FROM peristyle.family), (SELECT count(*) FROM peristyle.refresh_token)";
    let row = world.records.row(count, &[]).await.expect("a read").expect("a row");
    assert_eq!((row.number(0).unwrap(), row.number(1).unwrap()), (1, 1), "nothing is half-written");

    // attack 5
    let authorization_code::CodeDecision::Replay { family, .. } = world.decide(&code, &verifier).await else { panic!("no replay") };
    let cause = AuditEvent::CodeReplayed { client: world.client.id.clone(), family };
    revocation::revoke(&world.records, &Revocation::FamilyRevoked(family), Some(&cause), at(1)).await.expect("ended");
    let family = token_families::load(&world.records, family).await.expect("a read").expect("a family").family;
    assert_eq!(family.ended_at, Some(NOW.plus(1)));
    // attack 6
    let wrong = Verifier::from_random(random());
    assert!(matches!(world.decide(&code, &wrong).await, authorization_code::CodeDecision::Refused(_)));
}

pub(crate) async fn a_session_that_ended_takes_its_codes_with_it(url: &str) {
    // contract I15.4
    let world = World::at(url).await;
    let (code, verifier) = world.code().await;
    let authorization_code::CodeDecision::Redeem(redemption) = world.decide(&code, &verifier).await else { panic!("not redeemed") };
    let over = revocation::revoke(&world.records, &Revocation::Logout(world.session.id), None, at(1)).await.expect("ended");
    assert_eq!(over.sessions, [(world.session.id, world.account.id)]);
    assert!(matches!(world.decide(&code, &verifier).await, authorization_code::CodeDecision::Refused(_)), "the code is gone");
    let redeemed = codes::redeem(&world.records, &redemption, &world.client, at(1)).await.expect("an answer");
    assert_eq!(redeemed, Redeemed::Late, "who looked it up before comes too late");
    let record: CodeRecord = world.record(&Code::from_random(random()), &verifier);
    assert!(!codes::insert(&world.records, &record, at(2)).await.expect("an answer"), "and no new one is made");
}

pub(crate) async fn a_refresh_token_has_one_successor_under_any_race(url: &str) {
    // attack 34, contract I15.3
    let world = World::at(url).await;
    let (family, token) = world.family().await;
    let mut tasks = Vec::new();
    for _ in 0..60 {
        let (world, token) = (world.clone(), token.clone());
        tasks.push(tokio::spawn(async move {
            loop {
                match world.refresh(&token, NOW.plus(1)).await {
                    refresh_token::RefreshDecision::Rotate(rotation) => {
                        if token_families::rotate(&world.records, &rotation, at(1)).await.expect("a rotation") == Rotated::Done {
                            return rotation.issue.refresh_token().expose().to_string();
                        }
                    }
                    refresh_token::RefreshDecision::Repeat(issue) => return issue.refresh_token().expose().to_string(),
                    other => panic!("{other:?}"),
                }
            }
        }));
    }
    let mut successors = std::collections::BTreeSet::new();
    for task in tasks {
        successors.insert(task.await.expect("a task"));
    }
    assert_eq!(successors.len(), 1, "everybody got the same successor");
    let rows = "SELECT count(*) FROM peristyle.refresh_token";
    assert_eq!(world.records.row(rows, &[]).await.unwrap().unwrap().number(0).unwrap(), 2);
    let refreshed = "SELECT count(*) FROM peristyle.event WHERE kind = 'grant.refreshed' AND account_id IS NOT NULL AND client_id = 'web'";
    assert_eq!(world.records.row(refreshed, &[]).await.unwrap().unwrap().number(0).unwrap(), 1, "and one rotation was noted");

    assert!(
        matches!(world.refresh(&token, NOW.plus(90)).await, refresh_token::RefreshDecision::Reuse { family: found, .. } if found == family)
    );
    let cause = AuditEvent::RefreshReused { client: world.client.id.clone(), family };
    revocation::revoke(&world.records, &Revocation::FamilyRevoked(family), Some(&cause), at(30)).await.expect("ended");
    let successor = identity::secret_token::RefreshToken::parse(successors.first().unwrap()).unwrap();
    assert!(
        matches!(world.refresh(&successor, NOW.plus(31)).await, refresh_token::RefreshDecision::Refused(_)),
        "the whole family is over"
    );
    let found = token_families::of_refresh_token(&world.records, &successor.digest()).await.expect("a read").expect("a family");
    assert_eq!((found.id, found.ended_at), (family, Some(NOW.plus(30))));
}

async fn lives(world: &World, family: Uuid) -> bool {
    let family = token_families::load(&world.records, family).await.expect("a read").expect("a family").family;
    family.ended_at.is_none()
}

pub(crate) async fn a_revocation_ends_its_scope_and_nothing_else(url: &str) {
    // attack 35, contract I9.2
    let world = World::at(url).await;
    let first = world.family().await.0;
    let second_session = identity::session::Session::begin(id(), world.account.id, NOW);
    assert!(sign_in(&world.records, &second_session, &prove(hash()), PreviousSession::Nothing).await.expect("a session"));
    let second_world = World { session: second_session.clone(), ..world.clone() };
    let second = second_world.family().await.0;
    for (first, limit, expected) in [(None, 10, 2), (Some(world.session.id), 1, 1), (Some(second_session.id), 1, 1), (None, 0, 0)] {
        let listed = sessions::of_account(&world.records, world.account.id, first, limit, NOW).await.expect("a list");
        assert_eq!((listed.seen.len(), listed.all), (expected, if limit == 0 { 0 } else { 2 }), "{limit}");
        assert!(first.is_none_or(|first| listed.seen[0].session.id == first));
    }

    revocation::revoke(&world.records, &Revocation::Logout(world.session.id), None, at(1)).await.expect("ended");
    assert_eq!((lives(&world, first).await, lives(&world, second).await), (false, true));
    let (session, account) = sessions::load(&world.records, world.session.id, NOW.plus(1)).await.expect("a read").expect("a session");
    assert_eq!((session.ended_at, account.id), (Some(NOW.plus(1)), world.account.id));

    let kept = Revocation::PasswordChanged { account: world.account.id, kept: Some(second_session.id) };
    revocation::revoke(&world.records, &kept, None, at(2)).await.expect("ended");
    assert!(!lives(&world, second).await);
    let (session, _) = sessions::load(&world.records, second_session.id, NOW.plus(90)).await.expect("a read").expect("a session");
    assert_eq!(session.ended_at, None, "the session in which it was changed lives on");
    let seen = sessions::list(&world.records, 10, NOW.plus(90)).await.expect("a list");
    assert_eq!(seen.iter().map(|seen| (seen.session.id, seen.last_used_at)).collect::<Vec<_>>(), [(second_session.id, NOW.plus(90))]);

    let third = second_world.family().await.0;
    revocation::revoke(&world.records, &Revocation::ClientClosed(world.client.id.clone()), None, at(3)).await.expect("ended");
    assert!(!lives(&world, third).await);
    let fourth = second_world.family().await.0;
    let over = revocation::revoke(&world.records, &Revocation::AccountClosed(world.account.id), None, at(4)).await.expect("ended");
    assert_eq!((over.sessions, over.families), (vec![(second_session.id, world.account.id)], vec![fourth]));
    let names: Vec<String> = audit_log::newest(&world.records, 2).await.unwrap().into_iter().map(|event| event.name).collect();
    assert_eq!(names, ["session.ended", "grant.revoked"]);
}

pub(crate) async fn a_closed_app_admits_those_who_are_listed(url: &str) {
    // contract I15.5
    let mut world = World::at(url).await;
    let mut app = App { id: id(), code: "shop".to_owned(), name: "Shop".to_owned(), url: None, access: Access::Open };
    apps::insert(&world.records, &app, NOW).await.expect("an app");
    world.client.app = Some(app.id);
    clients::update(&world.records, &world.client, NOW).await.expect("a client");
    world.family().await;
    world.family().await;
    assert_eq!(
        apps::members(&world.records, app.id).await.expect("a list"),
        [(world.account.id, Some(NOW))],
        "one row, by the first grant"
    );

    app.access = Access::Closed;
    apps::update(&world.records, &app, NOW).await.expect("closed");
    world.family().await;
    apps::expel(&world.records, app.id, world.account.id).await.expect("expelled");
    assert_eq!(apps::admission(&world.records, &world.client, world.account.id).await.expect("an answer"), apps::Admission::Refused);
    let (code, verifier) = world.code().await;
    let authorization_code::CodeDecision::Redeem(redemption) = world.decide(&code, &verifier).await else { panic!("not decided") };
    let redeemed = codes::redeem(&world.records, &redemption, &world.client, at(0)).await.expect("an answer");
    assert_eq!(redeemed, Redeemed::Refused);
    assert_eq!(token_families::load(&world.records, redemption.start.family.id).await.expect("a read"), None, "nothing is half-written");
    apps::admit(&world.records, id(), app.id, world.account.id, NOW).await.expect("listed");
    world.family().await;
}

pub(crate) async fn a_closed_account_begins_nothing(url: &str) {
    // attack 35
    let world = World::at(url).await;
    let (code, verifier) = world.code().await;
    let authorization_code::CodeDecision::Redeem(redemption) = world.decide(&code, &verifier).await else { panic!("not decided") };
    let mut closed = world.account.clone();
    closed.is_active = false;
    let mut transaction = world.records.begin().await.expect("a transaction");
    accounts::update(&mut transaction, &closed, NOW).await.expect("closed");
    transaction.commit().await.expect("committed");
    assert_eq!(codes::redeem(&world.records, &redemption, &world.client, at(0)).await.expect("an answer"), Redeemed::Refused);
    let begun = token_families::begin(&world.records, &world.entry(prove(hash())), &world.client, at(0)).await.expect("an answer");
    assert_eq!(begun, token_families::FamilyStart::Lapsed);
    let session = identity::session::Session::begin(id(), world.account.id, NOW);
    assert!(!sign_in(&world.records, &session, &prove(hash()), PreviousSession::Nothing).await.expect("an answer"));
}

pub(crate) async fn a_sign_in_takes_the_place_of_the_session_before_or_leaves_it(url: &str) {
    // contract I9.8, I15.3
    let world = World::at(url).await;
    let family = world.family().await.0;
    let stranger = account("eve");
    accounts::insert(&world.records, &stranger).await.expect("an account");
    set_password(&world.records, stranger.id, hash()).await;
    let proof = prove(hash());
    let begin = async |account: Uuid, before: PreviousSession| {
        let session = identity::session::Session::begin(id(), account, NOW);
        sign_in(&world.records, &session, &proof, before).await.map(|begun| begun.then_some(session.id))
    };
    let live = async |account: Uuid| {
        let listed = sessions::of_account(&world.records, account, None, 10, NOW).await.expect("a list");
        listed.seen.iter().map(|seen| seen.session.id).collect::<Vec<_>>()
    };
    let own = begin(world.account.id, PreviousSession::Own(world.session.id)).await.expect("an answer").expect("a session");
    assert_eq!((live(world.account.id).await, lives(&world, family).await), (vec![own], true));
    let other = begin(stranger.id, PreviousSession::Other(own)).await.expect("an answer").expect("a session");
    assert_eq!((live(world.account.id).await, lives(&world, family).await), (vec![], false));

    // Whatever step fails, nothing is left behind: neither a session without a cookie nor one that ended for nothing.
    world.records.run("ALTER TABLE peristyle.family RENAME COLUMN session_id TO mislaid", &[]).await.expect("a broken table");
    let before = audit_log::newest(&world.records, 50).await.expect("events").len();
    assert!(begin(stranger.id, PreviousSession::Own(other)).await.is_err());
    assert!(begin(world.account.id, PreviousSession::Other(other)).await.is_err());
    assert_eq!((live(world.account.id).await, live(stranger.id).await), (vec![], vec![other]));
    assert_eq!(audit_log::newest(&world.records, 50).await.expect("events").len(), before);
}

pub(crate) async fn the_refusal_of_an_unknown_secret_is_written_unless_it_has_a_row(url: &str) {
    // contract I4.8
    let world = World::at(url).await;
    let (code, _) = world.code().await;
    let (_, token) = world.family().await;
    let (client, grant) = (Some(world.client.id.clone()), Some(GrantType::RefreshToken));
    let event = AuditEvent::GrantRefused { client, grant, error: ErrorCode::InvalidGrant };
    let (code, token) = (code.digest(), token.digest());
    let (no_code, no_token) = (Code::from_random(random()).digest(), RefreshToken::from_random(random()).digest());
    for (secret, is_unknown) in [
        (UnknownSecret::Code(&code), false),
        (UnknownSecret::RefreshToken(&token), false),
        (UnknownSecret::Code(&no_code), true),
        (UnknownSecret::RefreshToken(&no_token), true),
    ] {
        let count = async || audit_log::newest(&world.records, 100).await.expect("events").len();
        let before = count().await;
        assert_eq!(unknown_secrets::refuse(&world.records, secret, &event, at(2)).await.expect("an answer"), is_unknown);
        assert_eq!(count().await - before, usize::from(is_unknown), "one row, or none");
        assert_eq!(unknown_secrets::is_absent(&world.records, secret).await.expect("an answer"), is_unknown);
        assert_eq!(count().await - before, usize::from(is_unknown));
    }
    let noted = audit_log::newest(&world.records, 1).await.expect("events").remove(0);
    assert_eq!((noted.name.as_str(), noted.at, noted.address.as_deref()), (event.name(), NOW.plus(2), Some("203.0.113.7")));
    assert_eq!(noted.data, event.data());
}
