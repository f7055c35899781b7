//! What an account may change of others, and what it may not, whoever asks and however.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use identity::account::AccountKind;
use identity::password::{Password, PasswordHash};
use identity::password_link::LinkPurpose;
use identity::timestamp::Timestamp;
use peristyle::administration::{AccountChange, Actor, Administration, AppChange, Fault, NewAccount, RoleChange, Which};
use store::hub_records::Records;
use store::hub_records::accounts;
use store::hub_records::audit_log::AuditContext;
use store::{Database, DatabaseSettings};

fn named(name: &str, roles: &[&str]) -> NewAccount {
    NewAccount {
        kind: AccountKind::User,
        code: None,
        username: Some(name.to_owned()),
        email: None,
        tags: Vec::new(),
        scopes: Vec::new(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        tenants: Vec::new(),
        meta: serde_json::Map::new(),
        password: None,
    }
}

fn holding(names: &[&str]) -> RoleChange {
    RoleChange { permissions: Some(names.iter().map(|name| (*name).to_owned()).collect()), ..RoleChange::default() }
}

fn on(records: &Records, actor: Actor) -> Administration<'_> {
    Administration { records, actor, occasion: AuditContext { now: Timestamp::from_unix(1_800_000_000), address: None } }
}

// contract I12.4
#[tokio::test]
async fn nobody_grants_or_takes_over_what_they_do_not_hold() {
    let database = Database::open("sqlite::memory:", &DatabaseSettings::default()).expect("a database");
    let records = Records::of(&database).expect("records");
    records.migrate().await.expect("steps");
    let operator = on(&records, Actor::CommandLine);
    let root = operator.create_account(named("root", &["administrator"])).await.expect("an account");
    operator.create_role("clerk", holding(&["shop.order.get"])).await.expect("a role");
    operator.create_role("boss", holding(&["shop.order.delete"])).await.expect("a role");
    let boss = operator.create_account(named("boss", &["boss"])).await.expect("an account");

    let held = [
        "iam.account.create",
        "iam.account.update",
        "iam.account.delete",
        "iam.session.delete",
        "iam.role.create",
        "iam.role.update",
        "shop.order.get",
    ];
    operator.create_role("keeper", holding(&held)).await.expect("a role");
    let keeper = operator.create_account(named("keeper", &["keeper"])).await.expect("an account");
    let desk = on(&records, Actor::Account(keeper.id));
    let clerk = desk.create_account(named("clerk", &["clerk"])).await.expect("what is held can be given");
    for role in ["administrator", "boss"] {
        assert!(matches!(desk.create_account(named("x", &[role])).await, Err(Fault::Rights(_))), "{role}");
        let change = AccountChange { roles: Some(vec![role.to_owned()]), ..AccountChange::default() };
        assert!(matches!(desk.update_account(clerk.id, change).await, Err(Fault::Rights(_))), "{role}");
    }
    assert_eq!(accounts::by_login(&records, "x").await.expect("a read"), None, "nothing is half-written");
    let hash = PasswordHash::make(&Password::chosen("correct horse").unwrap(), [1; 16]).unwrap();
    for account in [root.id, boss.id] {
        assert!(matches!(desk.set_password(account, &hash).await, Err(Fault::Rights(_))));
        assert!(matches!(desk.make_link(account, LinkPurpose::Reset).await, Err(Fault::Rights(_))));
        assert!(matches!(desk.remove_account(account).await, Err(Fault::Rights(_))));
        assert!(matches!(desk.end_sessions_of(account).await, Err(Fault::Rights(_))));
    }
    desk.set_password(clerk.id, &hash).await.expect("who holds less can be helped");
    assert!(matches!(desk.create_role("new", holding(&["shop.order.delete"])).await, Err(Fault::Rights(_))));
    let more = holding(&["shop.order.get", "shop.order.delete"]);
    assert!(matches!(desk.update_role(Which::Name("clerk"), more).await, Err(Fault::Rights(_))));
    assert!(matches!(desk.update_role(Which::Name("boss"), holding(&[])).await, Err(Fault::Rights(_))), "nor taken away");
    assert!(matches!(desk.remove_role(Which::Name("clerk")).await, Err(Fault::Forbidden("iam.role.delete"))));
    assert!(matches!(desk.create_tenant(None, "north", "North").await, Err(Fault::Forbidden("iam.tenant.create"))));

    // What was held a moment ago does not count.
    operator
        .update_account(keeper.id, AccountChange { roles: Some(vec!["clerk".to_owned()]), ..AccountChange::default() })
        .await
        .expect("less");
    assert!(matches!(desk.create_account(named("y", &[])).await, Err(Fault::Forbidden("iam.account.create"))));
    operator.remove_account(keeper.id).await.expect("gone");
    assert!(matches!(desk.remove_account(clerk.id).await, Err(Fault::Forbidden("iam.account.delete"))));
}

// contract I16.1
#[tokio::test]
async fn a_removal_that_did_not_happen_is_not_noted() {
    let database = Database::open("sqlite::memory:", &DatabaseSettings::default()).expect("a database");
    let records = Records::of(&database).expect("records");
    records.migrate().await.expect("steps");
    let operator = on(&records, Actor::CommandLine);
    let ana = operator.create_account(named("ana", &[])).await.expect("an account");
    operator.create_app("shop", AppChange::default()).await.expect("an app");
    let events = async || store::hub_records::audit_log::newest(&records, 50).await.expect("events").len();
    let before = events().await;
    assert!(!operator.expel(Which::Name("shop"), ana.id).await.expect("an answer"));
    assert_eq!(events().await, before);
    operator.admit(Which::Name("shop"), ana.id).await.expect("an answer").expect("a row");
    assert!(operator.expel(Which::Name("shop"), ana.id).await.expect("an answer"));
    assert_eq!(events().await, before + 2);
}
