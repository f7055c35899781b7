//! What was good when it was looked at, and is not any more when it is saved: passwords, tokens, codes and sessions that change in between.

use identity::grant::authorization_code;
use identity::password::{Password, PasswordHash, Proof};
use identity::password_link::{LinkPurpose, LinkRecord};
use identity::pkce::Verifier;
use identity::revocation::Revocation;
use identity::secret_token::{Code, LinkToken};
use identity::session::Session;
use store::hub_records::Records;
use store::hub_records::codes::Redeemed;
use store::hub_records::sessions::PreviousSession;
use store::hub_records::token_families::FamilyStart;
use store::hub_records::{accounts, codes, password_links, revocation, sessions, token_families};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::support::{Postgres, connect};
use crate::world::{IMPORTED, NOW, World, at, hash, id, prove, random, set_password, sign_in};

fn another() -> PasswordHash {
    PasswordHash::make(&Password::presented("battery staple").unwrap(), [2; 16]).unwrap()
}

/// Another password, as an administrator sets it, up to the commit.
async fn change(world: &World) -> store::hub_records::Transaction {
    let mut transaction = world.records.begin().await.expect("a transaction");
    accounts::set_credential(&mut transaction, world.account.id, &another(), NOW).await.expect("a password");
    let ending = Revocation::PasswordChanged { account: world.account.id, kept: None };
    revocation::revoke_in(&mut transaction, &ending, NOW.plus(1)).await.expect("ended");
    transaction
}

async fn live(world: &World) -> Vec<Uuid> {
    let listed = sessions::of_account(&world.records, world.account.id, None, 10, NOW).await.expect("a list");
    listed.seen.iter().map(|seen| seen.session.id).collect()
}

pub(crate) async fn a_password_that_was_changed_since_it_was_compared_begins_nothing(url: &str) {
    // contract I9.9
    let world = World::at(url).await;
    let (proof, session) = (prove(hash()), Session::begin(id(), world.account.id, NOW));
    change(&world).await.commit().await.expect("changed");
    assert!(!sign_in(&world.records, &session, &proof, PreviousSession::Own(world.session.id)).await.expect("an answer"));
    let entry = world.entry(proof.clone());
    assert_eq!(token_families::begin(&world.records, &entry, &world.client, at(1)).await.expect("an answer"), FamilyStart::Lapsed);
    assert_eq!(token_families::load(&world.records, entry.start.family.id).await.expect("a read"), None);
    assert!(live(&world).await.is_empty());

    let mut transaction = world.records.begin().await.expect("a transaction");
    assert!(!accounts::replace_credential(&mut transaction, world.account.id, &proof, hash(), NOW).await.expect("an answer"));
    transaction.commit().await.expect("committed");
    assert_eq!(accounts::credential_of(&world.records, world.account.id).await.expect("a read"), Some(another()));
}

pub(crate) async fn a_password_counts_under_the_hash_that_its_own_sign_in_made_of_it(url: &str) {
    // contract I9.9
    let world = World::at(url).await;
    let imported = PasswordHash::parse(IMPORTED).unwrap();
    set_password(&world.records, world.account.id, &imported).await;
    let (first, mut session) = (prove(&imported), Session::begin(id(), world.account.id, NOW));
    assert!(accounts::rehash(&world.records, world.account.id, &first).await.expect("kept anew"));
    assert!(sign_in(&world.records, &session, &first, PreviousSession::Nothing).await.expect("an answer"));
    let begun = token_families::begin(&world.records, &world.entry(first.clone()), &world.client, at(0)).await.expect("an answer");
    assert_eq!(begun, FamilyStart::Done);
    assert!(
        !accounts::rehash(&world.records, world.account.id, &first).await.expect("an answer"),
        "another sign-in is told that it was late"
    );
    let kept = accounts::credential_of(&world.records, world.account.id).await.expect("a read").expect("a hash");
    session.id = id();
    assert!(sign_in(&world.records, &session, &prove(&kept), PreviousSession::Nothing).await.expect("an answer"), "and compares again");

    let mut transaction = world.records.begin().await.expect("a transaction");
    assert!(accounts::replace_credential(&mut transaction, world.account.id, &first, &another(), NOW).await.expect("an answer"));
    transaction.commit().await.expect("committed");
    session.id = id();
    assert!(!sign_in(&world.records, &session, &first, PreviousSession::Nothing).await.expect("an answer"));
}

pub(crate) async fn a_code_whose_session_was_taken_over_begins_a_family_of_the_new_one(url: &str) {
    // contract I9.8
    let world = World::at(url).await;
    let (code, verifier) = world.code().await;
    let authorization_code::CodeDecision::Redeem(early) = world.decide(&code, &verifier).await else { panic!("not redeemed") };
    let session = Session::begin(id(), world.account.id, NOW);
    assert!(sign_in(&world.records, &session, &prove(hash()), PreviousSession::Own(world.session.id)).await.expect("an answer"));
    assert_eq!(codes::redeem(&world.records, &early, &world.client, at(0)).await.expect("an answer"), Redeemed::Late);
    let authorization_code::CodeDecision::Redeem(late) = world.decide(&code, &verifier).await else { panic!("not redeemed") };
    assert_eq!(codes::redeem(&world.records, &late, &world.client, at(0)).await.expect("an answer"), Redeemed::Done);
    let family = late.start.family.id;
    let over = revocation::revoke(&world.records, &Revocation::Logout(session.id), None, at(1)).await.expect("ended");
    assert_eq!(over.families, [family], "and ends with it");
}

pub(crate) async fn a_client_revokes_the_current_session_of_a_family(url: &str) {
    // contract I23.3
    let world = World::at(url).await;
    let family = world.family().await.0;
    let session = Session::begin(id(), world.account.id, NOW);
    assert!(sign_in(&world.records, &session, &prove(hash()), PreviousSession::Own(world.session.id)).await.expect("an answer"));
    let over = revocation::revoke_session_of(&world.records, family, at(1)).await.expect("ended");
    assert_eq!((over.sessions, over.families), (vec![(session.id, world.account.id)], vec![family]));
    let over = revocation::revoke_session_of(&world.records, family, at(2)).await.expect("nothing");
    assert_eq!((over.sessions.len(), over.families.len()), (0, 0), "and once");
    let alone = world.entry(prove(hash()));
    assert_eq!(token_families::begin(&world.records, &alone, &world.client, at(2)).await.expect("an answer"), FamilyStart::Done);
    let over = revocation::revoke_session_of(&world.records, alone.start.family.id, at(3)).await.expect("ended");
    assert_eq!((over.sessions.len(), over.families), (0, vec![alone.start.family.id]), "where there is no session, the family");
}

/// Waits until so many in this database wait for a lock.
async fn blocked(world: &World, many: i64) {
    const SQL: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    for _ in 0..500 {
        if world.records.run(SQL, &[]).await.expect("a count")[0].number(0).expect("a number") >= many {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("fewer than {many} wait");
}

/// A world on PostgreSQL, and somebody who watches it and gets in its way.
async fn contested() -> (Postgres, World, Client) {
    let database = Postgres::with("").await;
    let (world, watch) = (World::at(&database.url).await, connect(&database.url).await);
    (database, world, watch)
}

/// From now on everybody waits who has something to note.
async fn stop_notes(watch: &Client) {
    watch.batch_execute("BEGIN; LOCK TABLE peristyle.event IN EXCLUSIVE MODE").await.expect("a lock");
}

async fn go_on(watch: &Client) {
    watch.batch_execute("COMMIT").await.expect("unlocked");
}

fn spawn_sign_in(records: &Records, session: &Session, before: PreviousSession) -> tokio::task::JoinHandle<bool> {
    let (records, session, proof) = (records.clone(), session.clone(), prove(hash()));
    tokio::spawn(async move { sign_in(&records, &session, &proof, before).await.expect("an answer") })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_waits_for_a_change_of_the_password_and_is_refused() {
    // contract I9.9
    let (database, world, _) = contested().await;
    let session = Session::begin(id(), world.account.id, NOW);
    let transaction = change(&world).await;
    let signing_in = spawn_sign_in(&world.records, &session, PreviousSession::Nothing);
    blocked(&world, 1).await;
    transaction.commit().await.expect("changed");
    assert!(!signing_in.await.expect("a task"));
    assert!(live(&world).await.is_empty());

    set_password(&world.records, world.account.id, hash()).await;
    let (entry, transaction) = (world.entry(prove(hash())), change(&world).await);
    let granting = {
        let (world, entry) = (world.clone(), entry.clone());
        tokio::spawn(async move { token_families::begin(&world.records, &entry, &world.client, at(0)).await.expect("an answer") })
    };
    blocked(&world, 1).await;
    transaction.commit().await.expect("changed");
    assert_eq!(granting.await.expect("a task"), FamilyStart::Lapsed);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_password_waits_for_a_sign_in_and_ends_it() {
    // contract I9.9
    let (database, world, watch) = contested().await;
    let session = Session::begin(id(), world.account.id, NOW);
    stop_notes(&watch).await;
    let signing_in = spawn_sign_in(&world.records, &session, PreviousSession::Nothing);
    blocked(&world, 1).await;
    let changing = {
        let world = world.clone();
        tokio::spawn(async move { change(&world).await.commit().await.expect("changed") })
    };
    blocked(&world, 2).await;
    go_on(&watch).await;
    assert!(signing_in.await.expect("a task"));
    changing.await.expect("a task");
    assert!(live(&world).await.is_empty());
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_ends_the_session_of_a_family_ends_the_one_that_takes_it_over() {
    // contract I23.3, I9.8
    let (database, world, watch) = contested().await;
    let family = world.family().await.0;
    let session = Session::begin(id(), world.account.id, NOW);
    stop_notes(&watch).await;
    let signing_in = spawn_sign_in(&world.records, &session, PreviousSession::Own(world.session.id));
    blocked(&world, 1).await;
    let ending = {
        let records = world.records.clone();
        tokio::spawn(async move { revocation::revoke_session_of(&records, family, at(1)).await.expect("ended") })
    };
    blocked(&world, 2).await;
    go_on(&watch).await;
    assert!(signing_in.await.expect("a task"));
    let over = ending.await.expect("a task");
    assert_eq!((over.sessions, over.families), (vec![(session.id, world.account.id)], vec![family]));
    assert!(live(&world).await.is_empty());
    database.drop().await;
}

/// What an account lives through; whatever comes of it, it is no fault.
async fn live_through(world: &World, proof: &Proof, number: u32) -> Result<(), store::Error> {
    let (records, account) = (&world.records, world.account.id);
    let session = Session::begin(id(), account, NOW);
    match number % 8 {
        0 => drop(sign_in(records, &session, proof, PreviousSession::Own(world.session.id)).await?),
        1 => drop(token_families::begin(records, &world.entry(proof.clone()), &world.client, at(0)).await?),
        2 => {
            let mut transaction = records.begin().await?;
            accounts::set_credential(&mut transaction, account, hash(), NOW).await?;
            revocation::revoke_in(&mut transaction, &Revocation::PasswordChanged { account, kept: None }, NOW).await?;
            transaction.commit().await?;
        }
        3 => {
            let mut transaction = records.begin().await?;
            accounts::replace_credential(&mut transaction, account, proof, hash(), NOW).await?;
            revocation::revoke_in(&mut transaction, &Revocation::PasswordChanged { account, kept: Some(session.id) }, NOW).await?;
            transaction.commit().await?;
        }
        4 => drop(revocation::revoke(records, &Revocation::LogoutEverywhere(account), None, at(0)).await?),
        5 => {
            let token = LinkToken::from_random(random());
            let mut transaction = records.begin().await?;
            password_links::insert(&mut transaction, &LinkRecord::make(&token, account, LinkPurpose::Reset, NOW), NOW).await?;
            transaction.commit().await?;
            let mut transaction = records.begin().await?;
            if password_links::use_up(&mut transaction, &token.digest(), NOW).await? {
                accounts::set_credential(&mut transaction, account, hash(), NOW).await?;
                transaction.commit().await?;
            }
        }
        6 => {
            let mut transaction = records.begin().await?;
            accounts::update(&mut transaction, &world.account, NOW).await?;
            transaction.commit().await?;
        }
        _ => {
            if sign_in(records, &session, proof, PreviousSession::Nothing).await? {
                let world = World { session: session.clone(), ..world.clone() };
                let (code, verifier) = (Code::from_random(random()), Verifier::from_random(random()));
                if codes::insert(records, &world.record(&code, &verifier), at(0)).await?
                    && let authorization_code::CodeDecision::Redeem(redemption) = world.decide(&code, &verifier).await
                {
                    codes::redeem(records, &redemption, &world.client, at(0)).await?;
                    revocation::revoke_session_of(records, redemption.start.family.id, at(0)).await?;
                }
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_begins_and_what_ends_at_once_never_wait_for_each_other() {
    // contract I9.9
    let (database, world, _) = contested().await;
    let lives = (0..8).map(|start| {
        let (world, proof) = (world.clone(), prove(hash()));
        tokio::spawn(async move {
            for number in start..start + 64 {
                live_through(&world, &proof, number).await.expect("no fault");
            }
        })
    });
    for life in lives.collect::<Vec<_>>() {
        life.await.expect("a life");
    }
    database.drop().await;
}
