//! Throttling, links, keys, events, and what is removed when it is over.

use identity::account::Account;
use identity::audit_event::AuditEvent;
use identity::keys::rotation::KeyRing;
use identity::keys::{KeyLength, PrivateKey};
use identity::password_link::{LinkPurpose, LinkRecord};
use identity::secret_token::LinkToken;
use identity::throttle::{Familiarity, ThrottleDecision};
use store::hub_records::Run;
use store::hub_records::throttle::{self, ThrottleKeys};
use store::hub_records::{accounts, audit_log, heartbeats, password_links, signing_keys, token_families};

use crate::world::{NOW, World, at, purge, random, records};

pub(crate) async fn failures_count_in_parallel_and_are_forgiven(url: &str) {
    // attack 32, contract I15.6
    let world = World::at(url).await;
    let watch = ThrottleKeys::sign_in("Ana", "203.0.113.7", Some(&known(&world, "203.0.113.7").await));
    let mut tasks = Vec::new();
    for _ in 0..40 {
        let (records, watch) = (world.records.clone(), watch.clone());
        tasks.push(tokio::spawn(async move { throttle::attempt(&records, &watch, NOW).await.expect("an answer").is_ok() }));
    }
    let mut tried = 0;
    for task in tasks {
        tried += usize::from(task.await.expect("a task"));
    }
    assert_eq!(tried, 5, "as many as one after the other");
    let refused = throttle::attempt(&world.records, &watch, NOW).await.expect("an answer");
    let refused = refused.expect_err("five count already");
    assert!(refused.seconds > 0 && refused.counter == watch.counters()[0], "{refused:?}");
    let evidence = throttle::evidence(&world.records, &watch).await.expect("a read");
    assert_eq!((evidence.pair.undecided, evidence.address.undecided, evidence.account.undecided), (5, 5, 5));
    assert_eq!(evidence.address_is, Familiarity::Strange);

    let later = NOW.plus(10);
    throttle::attempt(&world.records, &watch, later).await.expect("an answer").expect("the delay is over");
    throttle::succeeded(&world.records, &watch, later).await.expect("forgiven");
    let evidence = throttle::evidence(&world.records, &watch).await.expect("a read");
    assert_eq!((evidence.pair.count, evidence.pair.undecided), (0, 5), "those have no outcome yet");
    assert_eq!((evidence.address.undecided, evidence.account.undecided), (5, 5));

    let ana = known(&world, "203.0.113.7").await;
    assert_eq!(ana.last_here, Some(later), "the address is familiar");
    let here = ThrottleKeys::sign_in("Ana", "203.0.113.7", Some(&ana));
    assert_eq!(throttle::evidence(&world.records, &here).await.expect("a read").address_is, Familiarity::Familiar);
    let soon = later.plus(100);
    throttle::attempt(&world.records, &here, soon).await.expect("an answer").expect("no delay");
    throttle::succeeded(&world.records, &here, soon).await.expect("forgiven");
    assert_eq!(known(&world, "203.0.113.7").await.last_here, Some(later), "an hour is exact enough");
    let hour = later.plus(3_600);
    throttle::attempt(&world.records, &here, hour).await.expect("an answer").expect("no delay");
    throttle::succeeded(&world.records, &here, hour).await.expect("forgiven");
    assert_eq!(known(&world, "203.0.113.7").await.last_here, Some(hour));

    let client = ThrottleKeys::client("web", "203.0.113.7");
    assert_eq!(throttle::client_failed(&world.records, &client, NOW).await.expect("counted"), ThrottleDecision::Try);
    assert_eq!(throttle::evidence(&world.records, &client).await.expect("a read").pair.count, 1);
    let kept = world.records.run("SELECT key FROM peristyle.failure", &[]).await.expect("a read");
    assert!(kept.iter().all(|row| row.bytes(0).unwrap().len() == 32), "no name is kept");
}

pub(crate) async fn a_success_leaves_the_failures_of_others_as_they_are(url: &str) {
    // contract I11.4, attack 60
    let world = World::at(url).await;
    let mine = ThrottleKeys::sign_in("ana", "203.0.113.7", Some(&known(&world, "203.0.113.7").await));
    let theirs = ThrottleKeys::sign_in("bo", "203.0.113.7", None);
    let seen = async || throttle::evidence(&world.records, &theirs).await.expect("a read");
    let attempt =
        async |watch: &ThrottleKeys, now| throttle::attempt(&world.records, watch, now).await.expect("an answer").expect("no delay");
    let succeeded = async |now| throttle::succeeded(&world.records, &mine, now).await.expect("noted");

    // All in one second: my attempt, theirs, their outcome, mine.
    attempt(&mine, NOW).await;
    let wrong = attempt(&theirs, NOW).await;
    throttle::failed(&world.records, &theirs, wrong).await.expect("noted");
    succeeded(NOW).await;
    let evidence = seen().await;
    assert_eq!((evidence.pair.count, evidence.pair.last), (1, Some(NOW)));
    assert_eq!((evidence.address.count, evidence.address.last, evidence.address.undecided), (1, Some(NOW), 0));

    // Much later: two of mine at once, whatever the order of their outcomes, make no failure younger.
    let later = NOW.plus(1_000);
    attempt(&mine, later).await;
    attempt(&mine, later.plus(1)).await;
    succeeded(later.plus(2)).await;
    succeeded(later.plus(3)).await;
    let evidence = seen().await;
    assert_eq!((evidence.address.count, evidence.address.last, evidence.address.undecided), (1, Some(NOW), 0));

    // An attempt of theirs that is undecided when mine succeeds still counts, and so does its failure.
    let wrong = attempt(&theirs, later.plus(4)).await;
    attempt(&mine, later.plus(4)).await;
    succeeded(later.plus(4)).await;
    assert_eq!((seen().await.address.count, seen().await.address.undecided), (1, 1));
    throttle::failed(&world.records, &theirs, wrong).await.expect("noted");
    assert_eq!((seen().await.address.count, seen().await.address.last), (2, Some(later.plus(4))));
}

pub(crate) async fn an_attack_from_ever_new_addresses_keeps_nobody_out(url: &str) {
    // contract I11.3, attack 61
    let world = World::at(url).await;
    let mut attackers = 0;
    // One of them at least fails in every second that lets them.
    let mut attack = async |now| {
        attackers += 1;
        let watch = ThrottleKeys::sign_in("ana", &format!("198.51.{}.{}", attackers / 256, attackers % 256), None);
        if let Ok(wrong) = throttle::attempt(&world.records, &watch, now).await.expect("an answer") {
            throttle::failed(&world.records, &watch, wrong).await.expect("noted");
        }
    };
    for number in 0..120 {
        attack(NOW.plus(number / 2)).await;
    }
    let owner = ThrottleKeys::sign_in("ana", "203.0.113.7", Some(&known(&world, "203.0.113.7").await));
    let mut waited = 0;
    loop {
        let now = NOW.plus(100 + waited);
        attack(now).await;
        match throttle::attempt(&world.records, &owner, now).await.expect("an answer") {
            Ok(_) => break,
            Err(refused) => waited += refused.seconds.min(1),
        }
        assert!(waited <= 15, "kept out for {waited} seconds");
    }
    assert!(waited > 0, "the attack delays");
}

async fn known(world: &World, address: &str) -> accounts::LoginCandidate {
    let name = world.account.username.as_deref().expect("a username");
    accounts::login_candidate(&world.records, name, address).await.expect("a read").expect("the account")
}

pub(crate) async fn a_password_link_is_used_once(url: &str) {
    // contract I9.5
    let world = World::at(url).await;
    let (old, new) = (LinkToken::from_random(random()), LinkToken::from_random(random()));
    for token in [&old, &new] {
        let record = LinkRecord::make(token, world.account.id, LinkPurpose::Reset, NOW);
        let mut transaction = world.records.begin().await.expect("a transaction");
        password_links::insert(&mut transaction, &record, NOW).await.expect("inserted");
        transaction.commit().await.expect("committed");
        assert_eq!(password_links::load(&world.records, &token.digest()).await.expect("a read"), Some(record));
    }
    assert_eq!(password_links::load(&world.records, &old.digest()).await.expect("a read"), None, "a new link ends the old one");
    let mut taken = 0;
    for seconds in [3_600, 1, 2] {
        let mut transaction = world.records.begin().await.expect("a transaction");
        taken += usize::from(password_links::use_up(&mut transaction, &new.digest(), NOW.plus(seconds)).await.expect("an answer"));
        transaction.commit().await.expect("committed");
    }
    assert_eq!(taken, 1);
    // A link was sent to the email that the account had then, and a closed account sets no password.
    for change in
        [|account: &mut Account| account.email = Some("new@example.com".to_owned()), |account: &mut Account| account.is_active = false]
    {
        let token = LinkToken::from_random(random());
        let mut transaction = world.records.begin().await.expect("a transaction");
        password_links::insert(&mut transaction, &LinkRecord::make(&token, world.account.id, LinkPurpose::Reset, NOW), NOW)
            .await
            .expect("inserted");
        let mut account = accounts::by_id(&mut transaction, world.account.id).await.expect("a read").expect("the account");
        account.tags.push("other".to_owned());
        accounts::update(&mut transaction, &account, NOW).await.expect("updated");
        assert!(password_links::load(&mut transaction, &token.digest()).await.expect("a read").is_some(), "what else changes is no matter");
        change(&mut account);
        accounts::update(&mut transaction, &account, NOW).await.expect("updated");
        assert_eq!(password_links::load(&mut transaction, &token.digest()).await.expect("a read"), None);
        transaction.commit().await.expect("committed");
    }
}

pub(crate) async fn the_key_ring_comes_back(url: &str) {
    // contract I6.3
    let records = records(url).await;
    assert_eq!(signing_keys::load(&records).await.expect("a read"), None);
    let keys: Vec<_> = (0..2).map(|_| PrivateKey::generate(KeyLength::Bits2048).unwrap().public().clone()).collect();
    let ring = KeyRing::begin(keys[0].clone(), NOW).announce(keys[1].clone(), NOW).unwrap().promote(NOW.plus(300), 300).unwrap();
    let mut transaction = records.begin().await.expect("a transaction");
    signing_keys::lock(&mut transaction).await.expect("held");
    signing_keys::save(&mut transaction, &ring).await.expect("saved");
    transaction.commit().await.expect("committed");
    let found = signing_keys::load(&records).await.expect("a read").expect("a ring");
    assert_eq!(found.signing(), &keys[1]);
    assert_eq!(found.records().len(), 2);
    assert_eq!(found.published(NOW).unwrap().keys().len(), 2);
}

pub(crate) async fn expired_rows_are_purged_and_the_rest_stays(url: &str) {
    // contract I15.7
    let world = World::at(url).await;
    let (family, _) = world.family().await;
    let unused = world.code().await;
    let counted = "SELECT (SELECT count(*) FROM peristyle.code), (SELECT count(*) FROM peristyle.family), \
                   (SELECT count(*) FROM peristyle.refresh_token), (SELECT count(*) FROM peristyle.session)";
    let count = async || {
        let row = world.records.row(counted, &[]).await.expect("a read").expect("a row");
        [0, 1, 2, 3].map(|column| row.number(column).unwrap())
    };
    purge(&world.records, NOW).await;
    assert_eq!(count().await, [2, 1, 1, 1], "nothing is over yet");
    purge(&world.records, NOW.plus(3_700)).await;
    assert_eq!(count().await, [1, 1, 1, 1], "the code that was not used is gone, the other stays with its family");
    assert!(token_families::load(&world.records, family).await.expect("a read").is_some());
    purge(&world.records, NOW.plus(3 * 86_400)).await;
    assert_eq!(count().await, [0, 0, 0, 0]);
    drop(unused);
    assert!(!audit_log::newest(&world.records, 10).await.expect("events").is_empty());
    purge(&world.records, NOW.plus(store::hub_records::purge::EVENT_SECONDS)).await;
    assert!(audit_log::newest(&world.records, 10).await.expect("events").is_empty());
}

pub(crate) async fn every_event_is_listed_in_its_order(url: &str) {
    // contract I13.1
    let world = World::at(url).await;
    world.family().await;
    let all = audit_log::newest(&world.records, 10).await.expect("events");
    let names: Vec<&str> = all.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["sign-in.succeeded", "code.issued", "grant.issued"]);
    assert_eq!(all[0].data["account"], world.account.id.to_string());
    assert_eq!((all[0].at, all[0].address.as_deref()), (NOW, Some("203.0.113.7")));
    assert_eq!(audit_log::after(&world.records, all[0].sequence, 10).await.expect("events"), all[1..]);
    assert_eq!(audit_log::newest(&world.records, 1).await.expect("events"), all[2..]);
}

pub(crate) async fn only_committed_events_reach_the_log(url: &str) {
    let world = World::at(url).await;
    let log = tempfile::NamedTempFile::new().expect("a file");
    let told = || std::fs::read_to_string(log.path()).expect("the log");
    let writer = std::sync::Arc::new(log.reopen().expect("the file"));
    let _listening = tracing::subscriber::set_default(tracing_subscriber::fmt().with_writer(writer).finish());
    let event = AuditEvent::SessionEnded { account: world.account.id, session: world.account.id };

    let mut given_up = world.records.begin().await.expect("a transaction");
    audit_log::append(&mut given_up, &event, at(0)).await.expect("noted");
    drop(given_up);
    assert_eq!(told(), "", "it does not count");

    let mut counting = world.records.begin().await.expect("a transaction");
    audit_log::append(&mut counting, &event, at(0)).await.expect("noted");
    assert_eq!(told(), "", "it does not count yet");
    counting.commit().await.expect("committed");
    assert_eq!(told().matches("session.ended").count(), 1);

    let mut counting = world.records.begin().await.expect("a transaction");
    audit_log::append(&mut counting, &event, at(0)).await.expect("noted");
    counting.commit_with("DELETE FROM peristyle.failure", &[]).await.expect("committed");
    audit_log::append(&world.records, &event, at(0)).await.expect("noted");
    assert_eq!(told().matches("session.ended").count(), 3);
}

pub(crate) async fn attempts_that_an_outage_left_pending_are_no_failures(url: &str) {
    // contract I11.5
    let world = World::at(url).await;
    // As fast as the throttle lets them: ten attempts without an outcome, after which the next waits for 64 seconds.
    for seconds in [0, 0, 0, 0, 0, 3, 8, 17, 34, 67] {
        let (lost, plain) = ["ana", "bo"].map(|name| ThrottleKeys::sign_in(name, name, None)).into();
        for keys in [lost, plain] {
            let attempt = throttle::attempt(&world.records, &keys, NOW.plus(seconds)).await.expect("an answer");
            attempt.unwrap_or_else(|delayed| panic!("{seconds}: {delayed:?}"));
        }
    }
    let attempt = async |name: &str, seconds| {
        let keys = ThrottleKeys::sign_in(name, name, None);
        throttle::attempt(&world.records, &keys, NOW.plus(seconds)).await.expect("an answer").is_ok()
    };
    heartbeats::beat(&world.records, None, NOW.plus(126)).await.expect("a heartbeat");
    assert!(!attempt("bo", 128).await, "their process ended, and they count as failures");
    // No hub answered from 100 to 126.
    let outage = "INSERT INTO peristyle.outage (began_at, ended_at) VALUES ($1, $2)";
    let binds = [NOW.plus(100), NOW.plus(126)].map(store::hub_records::Bind::timestamp);
    world.records.run(outage, &binds).await.expect("an outage");
    assert!(attempt("ana", 128).await);
    let evidence = throttle::evidence(&world.records, &ThrottleKeys::sign_in("ana", "ana", None)).await.expect("a read");
    assert_eq!((evidence.pair.count, evidence.pair.undecided), (0, 1));
}
