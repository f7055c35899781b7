//! The rules for changes of accounts and roles: an account can grant and change only what it holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use identity::account::{Account, AccountKind};
use identity::password::{Password, PasswordHash};
use identity::password_link::LinkPurpose;
use identity::timestamp::Timestamp;
use peristyle::administration::{
    AccountChange, Actor, AdminError, Administration, AppChange, NameOrId, NullableChange, PermissionsChange, RoleChange,
};
use store::hub_records::Records;
use store::hub_records::accounts;
use store::hub_records::audit_log::AuditContext;
use store::{Database, DatabaseSettings};

async fn create(by: Administration<'_>, name: &str, roles: &[&str]) -> Result<Account, AdminError> {
    let roles = Some(roles.iter().map(|role| (*role).to_owned()).collect());
    let new = AccountChange { username: NullableChange::Set(name.to_owned()), roles, ..AccountChange::default() };
    by.create_account(AccountKind::User, new, None).await
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn with_permissions(names: &[&str]) -> RoleChange {
    RoleChange { permissions: PermissionsChange::Replace(strings(names)), ..RoleChange::default() }
}

fn administration(records: &Records, actor: Actor) -> Administration<'_> {
    Administration { records, actor, audit_context: AuditContext { now: Timestamp::from_unix(1_800_000_000), address: None } }
}

// contract I12.4
#[tokio::test]
async fn an_account_grants_and_changes_only_what_it_holds() {
    let database = Database::open("sqlite::memory:", &DatabaseSettings::default()).expect("a database");
    let records = Records::of(&database).expect("records");
    records.migrate().await.expect("steps");
    let operator = administration(&records, Actor::CommandLine);
    let root = create(operator, "root", &["administrator"]).await.expect("an account");
    operator.create_role("clerk", with_permissions(&["shop.order.get"])).await.expect("a role");
    operator.create_role("boss", with_permissions(&["shop.order.delete"])).await.expect("a role");
    let boss = create(operator, "boss", &["boss"]).await.expect("an account");

    let held = [
        "iam.account.create",
        "iam.account.update",
        "iam.account.delete",
        "iam.session.delete",
        "iam.role.create",
        "iam.role.update",
        "shop.order.get",
    ];
    operator.create_role("keeper", with_permissions(&held)).await.expect("a role");
    let keeper = create(operator, "keeper", &["keeper"]).await.expect("an account");
    let by_keeper = administration(&records, Actor::Account(keeper.id));
    let clerk = create(by_keeper, "clerk", &["clerk"]).await.expect("the keeper holds the role");
    for role in ["administrator", "boss"] {
        assert!(matches!(create(by_keeper, "x", &[role]).await, Err(AdminError::Rights(_))), "{role}");
        let change = AccountChange { roles: Some(vec![role.to_owned()]), ..AccountChange::default() };
        assert!(matches!(by_keeper.update_account(clerk.id, change).await, Err(AdminError::Rights(_))), "{role}");
    }
    assert_eq!(accounts::by_login(&records, "x").await.expect("a read"), None, "nothing is half-written");
    let hash = PasswordHash::make(&Password::chosen("correct horse").unwrap(), [1; 16]).unwrap();
    for account in [root.id, boss.id] {
        assert!(matches!(by_keeper.set_password(account, &hash).await, Err(AdminError::Rights(_))));
        assert!(matches!(by_keeper.make_link(account, LinkPurpose::Reset).await, Err(AdminError::Rights(_))));
        assert!(matches!(by_keeper.remove_account(account).await, Err(AdminError::Rights(_))));
        assert!(matches!(by_keeper.end_sessions_of(account).await, Err(AdminError::Rights(_))));
    }
    by_keeper.set_password(clerk.id, &hash).await.expect("the clerk holds less");
    assert!(matches!(by_keeper.create_role("new", with_permissions(&["shop.order.delete"])).await, Err(AdminError::Rights(_))));
    let more = with_permissions(&["shop.order.get", "shop.order.delete"]);
    assert!(matches!(by_keeper.update_role(NameOrId::Name("clerk"), more).await, Err(AdminError::Rights(_))));
    assert!(
        matches!(by_keeper.update_role(NameOrId::Name("boss"), with_permissions(&[])).await, Err(AdminError::Rights(_))),
        "and cannot remove them"
    );
    assert!(matches!(by_keeper.remove_role(NameOrId::Name("clerk")).await, Err(AdminError::Forbidden("iam.role.delete"))));
    assert!(matches!(by_keeper.create_tenant(None, "north", "North").await, Err(AdminError::Forbidden("iam.tenant.create"))));

    // A permission stops counting as soon as it is removed.
    operator
        .update_account(keeper.id, AccountChange { roles: Some(vec!["clerk".to_owned()]), ..AccountChange::default() })
        .await
        .expect("less");
    assert!(matches!(create(by_keeper, "y", &[]).await, Err(AdminError::Forbidden("iam.account.create"))));
    operator.remove_account(keeper.id).await.expect("gone");
    assert!(matches!(by_keeper.remove_account(clerk.id).await, Err(AdminError::Forbidden("iam.account.delete"))));
}

// contract I12.4, I16.5
#[tokio::test]
async fn permissions_that_are_added_and_removed_leave_the_others_of_the_role() {
    let database = Database::open("sqlite::memory:", &DatabaseSettings::default()).expect("a database");
    let records = Records::of(&database).expect("records");
    records.migrate().await.expect("steps");
    let operator = administration(&records, Actor::CommandLine);
    let clerk = NameOrId::Name("clerk");
    let alter = |add: &[&str], remove: &[&str]| RoleChange {
        permissions: PermissionsChange::Alter { add: strings(add), remove: strings(remove) },
        ..RoleChange::default()
    };
    operator.create_role("clerk", with_permissions(&["shop.order.get", "shop.order.update"])).await.expect("a role");
    let role =
        operator.update_role(clerk, alter(&["shop.order.create", "shop.order.get"], &["shop.order.update"])).await.expect("a change");
    let names: Vec<&str> = role.permissions.iter().map(identity::account::Permission::as_str).collect();
    assert_eq!(names, ["shop.order.create", "shop.order.get"]);

    let refused = async |change| operator.update_role(clerk, change).await.expect_err("refused").to_string();
    assert!(refused(alter(&[], &["shop.ordr.get"])).await.contains("does not have the permission shop.ordr.get"));
    assert!(refused(alter(&["a.b.c"], &["a.b.c"])).await.contains("a.b.c is added and removed"));
    assert!(refused(alter(&["order"], &[])).await.contains("context.resource.action"));

    // An account adds only what it holds.
    operator.create_role("keeper", with_permissions(&["iam.role.update", "shop.order.create", "shop.order.get"])).await.expect("a role");
    let keeper = create(operator, "keeper", &["keeper"]).await.expect("an account");
    let by_keeper = administration(&records, Actor::Account(keeper.id));
    assert!(matches!(by_keeper.update_role(clerk, alter(&["shop.order.delete"], &[])).await, Err(AdminError::Rights(_))));
    by_keeper.update_role(clerk, alter(&[], &["shop.order.create"])).await.expect("a change");
}

// contract I16.1
#[tokio::test]
async fn a_removal_that_changes_nothing_has_no_audit_event() {
    let database = Database::open("sqlite::memory:", &DatabaseSettings::default()).expect("a database");
    let records = Records::of(&database).expect("records");
    records.migrate().await.expect("steps");
    let operator = administration(&records, Actor::CommandLine);
    let ana = create(operator, "ana", &[]).await.expect("an account");
    operator.create_app("shop", AppChange::default()).await.expect("an app");
    let events = async || store::hub_records::audit_log::newest(&records, 50).await.expect("events").len();
    let before = events().await;
    assert!(!operator.expel(NameOrId::Name("shop"), ana.id).await.expect("an answer"));
    assert_eq!(events().await, before);
    operator.admit(NameOrId::Name("shop"), ana.id).await.expect("an answer").expect("a row");
    assert!(operator.expel(NameOrId::Name("shop"), ana.id).await.expect("an answer"));
    assert_eq!(events().await, before + 2);
}
