//! What an account may change of others, and what it may not, whoever asks and however.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use identity::account::{AccountKind, Rights};
use identity::link::LinkPurpose;
use identity::moment::Moment;
use identity::password::{Password, PasswordHash};
use peristyle::administration::{AccountChange, Actor, Administration, Fault, NewAccount};
use serde_json::json;
use store::events::Occasion;
use store::records::Records;
use store::{Database, DatabaseSettings, accounts};
use uuid::Uuid;

fn named(name: &str, roles: &[&str]) -> NewAccount {
    NewAccount {
        kind: AccountKind::User,
        username: Some(name.to_owned()),
        email: None,
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        tenants: Vec::new(),
        meta: serde_json::Map::new(),
        password: None,
    }
}

fn on<'a>(records: &'a Records, actor: &'a Actor) -> Administration<'a> {
    Administration { records, actor, occasion: Occasion { now: Moment::from_unix(1_800_000_000), address: None } }
}

// contract I12.4
#[tokio::test]
async fn nobody_grants_or_takes_over_what_they_do_not_hold() {
    let database = Database::open("sqlite::memory:", &DatabaseSettings::default()).expect("a database");
    let records = Records::of(&database).expect("records");
    records.migrate().await.expect("steps");
    let operator = on(&records, &Actor::CommandLine);
    let root = operator.create_account(named("root", &["administrator"])).await.expect("an account");
    operator.create_role("clerk", &["shop.order.get".to_owned()]).await.expect("a role");
    operator.create_role("boss", &["shop.order.delete".to_owned()]).await.expect("a role");
    let boss = operator.create_account(named("boss", &["boss"])).await.expect("an account");

    let held = ["iam.account.create", "iam.account.update", "iam.account.delete", "iam.role.create", "iam.role.update", "shop.order.get"];
    let rights = Rights::from_json(&json!({ "all": held })).expect("rights");
    let actor = Actor::Account { id: Uuid::from_u128(7), rights };
    let desk = on(&records, &actor);
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
    assert!(matches!(desk.create_role("new", &["shop.order.delete".to_owned()]).await, Err(Fault::Rights(_))));
    let more = ["shop.order.get".to_owned(), "shop.order.delete".to_owned()];
    assert!(matches!(desk.update_role("clerk", None, Some(&more)).await, Err(Fault::Rights(_))));
    assert!(matches!(desk.update_role("boss", None, Some(&[])).await, Err(Fault::Rights(_))), "nor taken away");
    assert!(matches!(desk.remove_role("clerk").await, Err(Fault::Forbidden("iam.role.delete"))));
    assert!(matches!(desk.create_tenant(None, "north", "North").await, Err(Fault::Forbidden("iam.tenant.create"))));
}
