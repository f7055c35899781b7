//! Roles and tenants with more members than one transaction writes.

use std::collections::BTreeSet;
use std::time::Duration;

use identity::account::{Permission, Rights};
use identity::password_link::{LinkPurpose, LinkRecord};
use identity::secret_token::LinkToken;
use identity::session::Session;
use identity::token::security_event::Subject;
use serde_json::{Value, json};
use store::hub_records::rights::{self, MAX_PORTION};
use store::hub_records::roles::{self, RoleRecord};
use store::hub_records::tenants::{self, Tenant};
use store::hub_records::token_families::FamilyStart;
use store::hub_records::{Bind, Records, Run, account_changes, accounts, password_links, sessions, token_families};
use uuid::Uuid;

use crate::world::{NOW, World, account, at, hash, id, prove, random, sign_in};

/// Two full portions and a part of one.
const MEMBERS: usize = MAX_PORTION * 2 + 50;

fn clerk(permission: &str) -> RoleRecord {
    let permissions = BTreeSet::from([Permission::parse(permission).unwrap()]);
    RoleRecord { id: Uuid::from_u128(70), name: "clerk".to_owned(), description: None, permissions }
}

fn rights_by(permission: &str) -> Value {
    json!({"all": [permission], Uuid::from_u128(70).to_string(): [permission]})
}

fn north() -> Tenant {
    Tenant { id: Uuid::from_u128(71), code: "north".to_owned(), name: "North".to_owned() }
}

/// A hub with a role and a tenant that many accounts have. Returns the last account too.
async fn crowded(url: &str) -> (World, Uuid) {
    let world = World::at(url).await;
    let records = &world.records;
    let mut transaction = records.begin().await.expect("a transaction");
    rights::lock(&mut transaction).await.expect("held");
    let mut last = world.account.id;
    for number in 1..MEMBERS {
        let member = account(&format!("member{number}"));
        accounts::insert(&mut transaction, &member).await.expect("an account");
        last = last.max(member.id);
    }
    roles::insert(&mut transaction, &clerk("shop.order.get"), NOW).await.expect("a role");
    tenants::insert(&mut transaction, &north(), NOW).await.expect("a tenant");
    for (sql, group) in [
        ("INSERT INTO peristyle.account_role (account_id, role_id) SELECT id, $1 FROM peristyle.account", clerk("shop.order.get").id),
        ("INSERT INTO peristyle.account_tenant (account_id, tenant_id) SELECT id, $1 FROM peristyle.account", north().id),
    ] {
        transaction.run(sql, &[Bind::Id(group)]).await.expect("members");
    }
    transaction.commit().await.expect("committed");
    let mut transaction = records.begin().await.expect("a transaction");
    rights::recompute(&mut transaction, rights::AffectedAccounts::Accounts(&all(records).await)).await.expect("rights");
    transaction.commit().await.expect("committed");
    assert_eq!(stored(records).await, [rights_by("shop.order.get")]);
    (world, last)
}

async fn all(records: &Records) -> Vec<Uuid> {
    let rows = records.run("SELECT id FROM peristyle.account", &[]).await.expect("a read");
    rows.iter().map(|row| row.id(0).unwrap()).collect()
}

/// The different rights that are stored.
async fn stored(records: &Records) -> Vec<Value> {
    let rows = records.run("SELECT DISTINCT d_permissions FROM peristyle.account", &[]).await.expect("a read");
    rows.iter().map(|row| Rights::from_json(&row.json(0).unwrap()).expect("rights").to_json()).collect()
}

/// The rights of an account, by each statement that reads an account.
async fn read(world: &World, account: Uuid, family: Uuid) -> [Value; 4] {
    let records = &world.records;
    let by_id = accounts::by_id(records, account).await.expect("a read").expect("an account");
    let listed = accounts::list(records, 10_000, 0).await.expect("a read");
    let listed = listed.into_iter().find(|listed| listed.id == account).expect("the account");
    let of_family = token_families::load(records, family).await.expect("a read").expect("a family").account;
    let (_, of_session) = sessions::load(records, world.session.id, NOW).await.expect("a read").expect("a session");
    assert!([&by_id, &listed].iter().all(|read| read.tenants == by_id.tenants));
    [by_id, listed, of_family, of_session].map(|account| account.rights.to_json())
}

async fn update(world: &World, role: &RoleRecord) {
    let mut transaction = world.records.begin().await.expect("a transaction");
    rights::lock(&mut transaction).await.expect("held");
    roles::update(&mut transaction, role, NOW).await.expect("updated");
    transaction.commit().await.expect("committed");
}

async fn newest(records: &Records) -> i64 {
    account_changes::range(records).await.expect("a read").newest
}

/// Writes pending rights to the end, and returns the number of portions.
async fn write_all(records: &Records) -> usize {
    let mut portions = 0;
    while rights::recompute_portion(records).await.expect("a portion") {
        portions += 1;
    }
    portions
}

pub(crate) async fn the_rights_of_many_members_are_never_old_and_are_written_in_portions(url: &str) {
    // contract I15.8
    let (world, last) = crowded(url).await;
    let records = &world.records;
    let (family, _) = world.family().await;
    let link = LinkRecord::make(&LinkToken::from_random(random()), last, LinkPurpose::Reset, NOW);
    let mut transaction = records.begin().await.expect("a transaction");
    password_links::insert(&mut transaction, &link, NOW).await.expect("a link");
    transaction.commit().await.expect("committed");

    let before = newest(records).await;
    update(&world, &clerk("shop.order.update")).await;
    assert!(rights::is_pending(records).await.expect("a read"));
    assert_eq!(stored(records).await, [rights_by("shop.order.get")], "no account was written");
    assert_eq!(read(&world, world.account.id, family).await, [(); 4].map(|()| rights_by("shop.order.update")));
    assert!(password_links::load(records, &link.digest).await.expect("a read").is_none(), "contract I9.6");
    rights::refresh(records, world.account.id).await.expect("nothing to do");
    assert_eq!(stored(records).await.len(), 1, "a grant writes no account either");
    let told: Vec<Subject> =
        account_changes::after(records, before, 10).await.expect("changes").into_iter().map(|change| change.subject).collect();
    assert_eq!(told, [Subject::Everybody]);

    // A process writes one portion and ends. Another one goes on.
    assert!(rights::recompute_portion(records).await.expect("a portion"));
    assert_eq!(stored(records).await.len(), 2);
    let other = Records::of(&crate::support::open(url)).expect("another process");
    assert_eq!(write_all(&other).await, 2);
    assert_eq!(stored(records).await, [rights_by("shop.order.update")]);
    assert!(!rights::is_pending(records).await.expect("a read"));
    assert_eq!(newest(records).await, before + 1, "what was announced is not announced again");

    // A second change begins from the first member.
    update(&world, &clerk("shop.order.delete")).await;
    assert!(rights::recompute_portion(records).await.expect("a portion"));
    update(&world, &clerk("shop.order.create")).await;
    assert_eq!(write_all(records).await, 3);
    assert_eq!(stored(records).await, [rights_by("shop.order.create")]);
    assert_eq!(read(&world, last, family).await[0], rights_by("shop.order.create"));
}

pub(crate) async fn a_removed_role_or_tenant_counts_for_nothing_while_its_members_leave(url: &str) {
    // contract I15.8
    let (world, last) = crowded(url).await;
    let records = &world.records;
    let (family, _) = world.family().await;
    let mut transaction = records.begin().await.expect("a transaction");
    rights::lock(&mut transaction).await.expect("held");
    roles::remove(&mut transaction, clerk("shop.order.get").id).await.expect("removed");
    tenants::remove(&mut transaction, north().id).await.expect("removed");
    transaction.commit().await.expect("committed");
    let gone = async || {
        assert_eq!(read(&world, last, family).await[..2], [(); 2].map(|()| json!({"all": []})));
        assert!(accounts::by_id(records, last).await.expect("a read").expect("an account").tenants.is_empty());
        assert!(roles::names_of(records, last).await.expect("a read").is_empty());
    };
    gone().await;
    assert!(tenants::is_leaving(records, north().id).await.expect("a read"));
    assert!(rights::recompute_portion(records).await.expect("a portion"));
    gone().await;
    // An account that is changed meanwhile gets its rights at once.
    let mut transaction = records.begin().await.expect("a transaction");
    rights::lock(&mut transaction).await.expect("held");
    rights::recompute(&mut transaction, rights::AffectedAccounts::Accounts(&[last])).await.expect("rights");
    transaction.commit().await.expect("committed");
    gone().await;
    assert_eq!(write_all(records).await, 5);
    gone().await;
    assert_eq!(stored(records).await, [json!({"all": []})]);
    let left = "SELECT (SELECT count(*) FROM peristyle.account_role), (SELECT count(*) FROM peristyle.account_tenant)";
    let row = records.row(left, &[]).await.expect("a read").expect("a row");
    assert_eq!((row.number(0).unwrap(), row.number(1).unwrap()), (0, 0));
    assert!(!tenants::is_leaving(records, north().id).await.expect("a read"));
}

pub(crate) async fn a_member_signs_in_while_a_role_of_many_changes(url: &str) {
    // contract I15.8
    let (world, _) = crowded(url).await;
    if !world.records.dialect().is_postgres() {
        // SQLite has one writer at a time.
        return;
    }
    let mut transaction = world.records.begin().await.expect("a transaction");
    rights::lock(&mut transaction).await.expect("held");
    roles::update(&mut transaction, &clerk("shop.order.update"), NOW).await.expect("updated");
    let grant = world.entry(prove(hash()));
    let begun = tokio::time::timeout(Duration::from_secs(10), token_families::begin(&world.records, &grant, &world.client, at(0))).await;
    assert_eq!(begun.expect("no wait").expect("an answer"), FamilyStart::Done);
    transaction.commit().await.expect("committed");
    // Between two portions too.
    assert!(rights::recompute_portion(&world.records).await.expect("a portion"));
    let mut change = world.records.begin().await.expect("a transaction");
    rights::lock(&mut change).await.expect("held");
    let (session, proof) = (Session::begin(id(), world.account.id, NOW), prove(hash()));
    let begun = sign_in(&world.records, &session, &proof, sessions::PreviousSession::Nothing);
    assert!(tokio::time::timeout(Duration::from_secs(10), begun).await.expect("no wait").expect("a session"));
}
