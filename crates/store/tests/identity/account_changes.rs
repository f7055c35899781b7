//! What is told of changes: each kind, to whom, and in which order.

use std::collections::BTreeSet;

use identity::account::Permission;
use identity::revocation::Revocation;
use identity::token::AccountChange;
use identity::token::security_event::{ChangeKind, Subject};
use store::hub_records::rights::{self, AffectedAccounts};
use store::hub_records::roles::{self, RoleRecord};
use store::hub_records::tenants::{self, Tenant};
use store::hub_records::{Bind, Records, Run, Transaction};
use store::hub_records::{account_changes, accounts, revocation};
use uuid::Uuid;

use crate::world::{NOW, World, account, at, id, purge, records};

async fn told(records: &Records, after: i64) -> Vec<(ChangeKind, Subject)> {
    account_changes::after(records, after, 1_000)
        .await
        .expect("changes")
        .into_iter()
        .map(|change| (change.happening, change.subject))
        .collect()
}

async fn newest(records: &Records) -> i64 {
    account_changes::range(records).await.expect("numbers").newest
}

async fn change(records: &Records, change: impl AsyncFnOnce(&mut Transaction)) -> Vec<(ChangeKind, Subject)> {
    let before = newest(records).await;
    let mut transaction = records.begin().await.expect("a transaction");
    rights::lock(&mut transaction).await.expect("held");
    change(&mut transaction).await;
    transaction.commit().await.expect("committed");
    told(records, before).await
}

pub(crate) async fn numbers_are_given_in_the_order_of_commits_and_none_is_skipped(url: &str) {
    // contract I36.3
    const WRITERS: usize = 12;
    const EACH: usize = 20;
    let records = records(url).await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        // Half of them in what could be another process.
        let own = if writer % 2 == 0 { records.clone() } else { crate::world::records(url).await };
        writers.spawn(async move {
            for _ in 0..EACH {
                let ana = account(&format!("ana-{}", id()));
                accounts::insert(&own, &ana).await.expect("an account");
                let mut transaction = own.begin().await.expect("a transaction");
                accounts::update(&mut transaction, &ana, NOW).await.expect("updated");
                if writer % 3 == 0 {
                    // Given up: it leaves no number behind.
                    drop(transaction);
                    transaction = own.begin().await.expect("a transaction");
                    accounts::update(&mut transaction, &ana, NOW).await.expect("updated");
                }
                transaction.commit().await.expect("committed");
            }
        });
    }
    // Whoever follows by the last number seen sees each number, once and in order.
    let mut seen: Vec<AccountChange> = Vec::new();
    while seen.len() < WRITERS * EACH {
        let after = seen.last().map_or(0, |last| last.sequence);
        seen.extend(account_changes::after(&records, after, 7).await.expect("changes"));
        if let Some(Err(error)) = writers.try_join_next() {
            panic!("{error}");
        }
    }
    let numbers: Vec<i64> = seen.iter().map(|change| change.sequence).collect();
    assert_eq!(numbers, (1..=i64::try_from(WRITERS * EACH).unwrap()).collect::<Vec<_>>());
    let subjects: BTreeSet<String> = seen.iter().map(|change| format!("{:?}", change.subject)).collect();
    assert_eq!(subjects.len(), WRITERS * EACH);
    writers.join_all().await;
    assert_eq!(newest(&records).await, i64::try_from(WRITERS * EACH).unwrap());
}

fn claims(account: Uuid) -> (ChangeKind, Subject) {
    (ChangeKind::ClaimsChange, Subject::Account(account))
}

fn revoked(account: Uuid) -> (ChangeKind, Subject) {
    (ChangeKind::SessionRevoked, Subject::Account(account))
}

pub(crate) async fn every_change_names_its_subject(url: &str) {
    // contract I36.4
    let world = World::at(url).await;
    let (records, ana) = (&world.records, world.account.id);
    let mut clerk = RoleRecord { id: id(), name: "clerk".to_owned(), description: None, permissions: BTreeSet::new() };
    let nothing = change(records, async |transaction| roles::insert(transaction, &clerk, NOW).await.expect("a role")).await;
    assert_eq!(nothing, [], "nobody holds it");
    let given = change(records, async |transaction| {
        accounts::set_roles(transaction, ana, &[clerk.id]).await.expect("given");
        rights::recompute(transaction, AffectedAccounts::Accounts(&[ana])).await.expect("rights");
    });
    assert_eq!(given.await, [claims(ana)], "a role given");
    clerk.permissions = [Permission::parse("shop.order.get").unwrap()].into();
    let changed = change(records, async |transaction| roles::update(transaction, &clerk, NOW).await.expect("changed")).await;
    assert_eq!(changed, [claims(ana)], "a role changed");
    let again = change(records, async |transaction| roles::update(transaction, &clerk, NOW).await.expect("changed")).await;
    assert_eq!(again, [], "nothing differs");
    let tenant = Tenant { id: id(), code: "north".to_owned(), name: "North".to_owned() };
    let joined = change(records, async |transaction| {
        tenants::insert(&mut *transaction, &tenant, NOW).await.expect("a tenant");
        accounts::set_tenants(transaction, ana, &[tenant.id]).await.expect("joined");
        rights::recompute(transaction, AffectedAccounts::Accounts(&[ana])).await.expect("rights");
    });
    assert_eq!(joined.await, [claims(ana)], "a tenant joined");
    assert_eq!(change(records, async |transaction| tenants::remove(transaction, tenant.id).await.expect("removed")).await, [claims(ana)]);
    assert_eq!(change(records, async |transaction| roles::remove(transaction, clerk.id).await.expect("removed")).await, [claims(ana)]);
    let renamed = change(records, async |transaction| accounts::update(transaction, &world.account, NOW).await.expect("updated")).await;
    assert_eq!(renamed, [claims(ana)], "its own fields changed");

    let (family, _) = world.family().await;
    let before = newest(records).await;
    revocation::revoke(records, &Revocation::FamilyRevoked(family), None, at(1)).await.expect("ended");
    let ended = (ChangeKind::SessionRevoked, Subject::Family { family, account: ana });
    assert_eq!(told(records, before).await, [ended]);
    let (family, _) = world.family().await;
    let before = newest(records).await;
    revocation::revoke(records, &Revocation::Logout(world.session.id), None, at(1)).await.expect("ended");
    assert_eq!(told(records, before).await, [(ChangeKind::SessionRevoked, Subject::Family { family, account: ana })], "signed out");
    for (ending, expected) in [
        (Revocation::LogoutEverywhere(ana), vec![revoked(ana)]),
        (
            Revocation::PasswordChanged { account: ana, kept: None },
            vec![(ChangeKind::CredentialChange, Subject::Account(ana)), revoked(ana)],
        ),
        (Revocation::AccountClosed(ana), vec![revoked(ana)]),
        (Revocation::ClientClosed(world.client.id.clone()), vec![(ChangeKind::SessionRevoked, Subject::Client(world.client.id.clone()))]),
    ] {
        let before = newest(records).await;
        revocation::revoke(records, &ending, None, at(1)).await.expect("ended");
        assert_eq!(told(records, before).await, expected, "{ending:?}");
    }
    let removed = change(records, async |transaction| accounts::remove(transaction, ana, NOW).await.expect("removed")).await;
    assert_eq!(removed, [revoked(ana)]);
    let heard = account_changes::clients_of(records, &[ana, id()], &[family, id()]).await.expect("clients");
    let clients = BTreeSet::from([world.client.id.clone()]);
    assert_eq!(heard, [(ana, clients.clone()), (family, clients)].into(), "who was granted something hears of it");
}

pub(crate) async fn many_changes_of_one_transaction_are_announced_as_one(url: &str) {
    // contract I36.5
    let records = records(url).await;
    let role = RoleRecord { id: id(), name: "clerk".to_owned(), description: None, permissions: BTreeSet::new() };
    let holders: Vec<_> = (0..40).map(|number| account(&format!("holder-{number}"))).collect();
    let given = change(&records, async |transaction| {
        roles::insert(transaction, &role, NOW).await.expect("a role");
        for holder in &holders {
            accounts::insert(&mut *transaction, holder).await.expect("an account");
            accounts::set_roles(transaction, holder.id, &[role.id]).await.expect("given");
        }
    });
    assert_eq!(given.await, [], "nothing was computed yet");
    let changed = RoleRecord { permissions: [Permission::parse("shop.order.get").unwrap()].into(), ..role };
    let told = change(&records, async |transaction| roles::update(transaction, &changed, NOW).await.expect("changed")).await;
    assert_eq!(told, [(ChangeKind::ClaimsChange, Subject::Everybody)]);
}

pub(crate) async fn the_change_feed_is_purged_from_its_smallest_number(url: &str) {
    // contract I36.6
    let records = records(url).await;
    for number in 0..4 {
        let ana = account(&format!("ana-{number}"));
        accounts::insert(&records, &ana).await.expect("an account");
        change(&records, async |transaction| accounts::update(transaction, &ana, NOW).await.expect("updated")).await;
    }
    // The clock may have been set back: an older time on a newer number leaves no hole.
    let aged = "UPDATE peristyle.account_change SET at = $2 WHERE sequence = $1";
    records.run(aged, &[Bind::Number(3), Bind::timestamp(NOW.plus(-2 * 86_400))]).await.expect("aged");
    for number in [1, 2, 4] {
        records.run(aged, &[Bind::Number(number), Bind::timestamp(NOW)]).await.expect("aged");
    }
    purge(&records, NOW).await;
    let numbers = account_changes::range(&records).await.expect("numbers");
    assert_eq!((numbers.oldest, numbers.newest), (4, 4));
    assert_eq!([2, 3, 4, 5].map(|after| numbers.reach(after)), [false, true, true, false]);
    purge(&records, NOW.plus(2 * 86_400)).await;
    let numbers = account_changes::range(&records).await.expect("numbers");
    assert_eq!((numbers.oldest, numbers.newest), (5, 4), "numbers go on where they were");
    assert_eq!([3, 4].map(|after| numbers.reach(after)), [false, true]);
    assert!(records.row("SELECT 1 FROM peristyle.account_change", &[]).await.expect("a read").is_none());
}
