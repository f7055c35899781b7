//! Accounts, roles, tenants and clients.

use std::collections::BTreeSet;

use identity::account::{ADMINISTRATOR, Permission};
use identity::password::{Password, PasswordCheck, PasswordHash, verify};
use identity::secret_token::ClientSecret;
use serde_json::json;
use store::Error;
use store::hub_records::rights::{self, AffectedAccounts};
use store::hub_records::roles::RoleRecord;
use store::hub_records::tenants::Tenant;
use store::hub_records::{Bind, Records};
use store::hub_records::{accounts, clients, roles, tenants};
use uuid::Uuid;

use crate::world::{IMPORTED, NOW, World, account, client, id, prove, random, records, set_password};

pub(crate) async fn an_account_comes_back_as_it_was_kept(url: &str) {
    let records = records(url).await;
    let mut ana = account("ana");
    accounts::insert(&records, &ana).await.expect("inserted");
    assert_eq!(accounts::by_id(&records, ana.id).await.expect("a read"), Some(ana.clone()));

    ana.email = None;
    ana.is_active = false;
    ana.tags = vec!["x".to_owned()];
    let mut transaction = records.begin().await.expect("a transaction");
    accounts::update(&mut transaction, &ana, NOW.plus(5)).await.expect("updated");
    transaction.commit().await.expect("committed");
    ana.updated_at = NOW.plus(5);
    assert_eq!(accounts::by_id(&records, ana.id).await.expect("a read"), Some(ana.clone()));

    let mut transaction = records.begin().await.expect("a transaction");
    accounts::remove(&mut transaction, ana.id, NOW.plus(6)).await.expect("removed");
    transaction.commit().await.expect("committed");
    let removed = accounts::by_id(&records, ana.id).await.expect("a read").expect("the row stays");
    assert!(removed.deleted_at == Some(NOW.plus(6)) && !removed.may_sign_in());
    assert_eq!(accounts::by_login(&records, "ana").await.expect("a read"), None);
    accounts::insert(&records, &account("ana")).await.expect("the name is free again");
}

pub(crate) async fn names_are_found_and_unique_whatever_their_case(url: &str) {
    // contract I15.1
    let records = records(url).await;
    let mut ana = account("Änä");
    ana.email = Some("Ana@Example.com".to_owned());
    accounts::insert(&records, &ana).await.expect("inserted");
    let imported = PasswordHash::parse(IMPORTED).unwrap();
    set_password(&records, ana.id, &imported).await;
    for name in ["Änä", "änä", "ÄNÄ", " ana@example.COM "] {
        assert_eq!(accounts::by_login(&records, name).await.expect("a read").expect(name).id, ana.id);
        let known = accounts::login_candidate(&records, name, "203.0.113.7").await.expect("a read").expect(name);
        assert_eq!((known.account.id, known.last_here), (ana.id, None));
        assert!(matches!(verify(known.hash.as_ref(), &Password::presented("correct horse").unwrap()), PasswordCheck::Matches { .. }));
    }
    let mut other = account("änÄ");
    assert!(matches!(accounts::insert(&records, &other).await, Err(Error::Exists)));
    other.username = Some("other".to_owned());
    other.code.replace_range(.., "other");
    other.email = Some("ANA@example.com".to_owned());
    assert!(matches!(accounts::insert(&records, &other).await, Err(Error::Exists)));

    let newer = PasswordHash::make(&Password::chosen("battery staple").unwrap(), [2; 16]).unwrap();
    set_password(&records, ana.id, &newer).await;
    assert!(!accounts::rehash(&records, ana.id, &prove(&imported)).await.expect("nothing"));
    assert_eq!(accounts::credential_of(&records, ana.id).await.expect("a read"), Some(newer), "a password changed in between stays");
}

fn role(name: &str, permissions: &[&str]) -> RoleRecord {
    let permissions = permissions.iter().map(|name| Permission::parse(name).unwrap()).collect();
    RoleRecord { id: id(), name: name.to_owned(), description: None, permissions }
}

async fn rights_of(records: &Records, account: Uuid) -> serde_json::Value {
    accounts::by_id(records, account).await.expect("a read").expect("an account").rights.to_json()
}

pub(crate) async fn rights_follow_roles_permissions_and_memberships(url: &str) {
    // contract I15.2
    let records = records(url).await;
    let (ana, bo, administrator) = (account("ana"), account("bo"), account("root"));
    let (mut clerk, auditor) = (role("clerk", &["shop.order.get"]), role("auditor", &["shop.order.get", "iam.account.get"]));
    let tenant = Tenant { id: id(), code: "north".to_owned(), name: "North".to_owned() };
    let mut transaction = records.begin().await.expect("a transaction");
    rights::lock(&mut transaction).await.expect("held");
    for account in [&ana, &bo, &administrator] {
        accounts::insert(&mut transaction, account).await.expect("an account");
    }
    roles::insert(&mut transaction, &clerk, NOW).await.expect("a role");
    roles::insert(&mut transaction, &auditor, NOW).await.expect("a role");
    tenants::insert(&mut transaction, &tenant, NOW).await.expect("a tenant");
    accounts::set_roles(&mut transaction, ana.id, &[clerk.id, auditor.id]).await.expect("roles");
    accounts::set_roles(&mut transaction, bo.id, &[clerk.id]).await.expect("roles");
    accounts::set_roles(&mut transaction, administrator.id, &[ADMINISTRATOR]).await.expect("roles");
    accounts::set_tenants(&mut transaction, ana.id, &[tenant.id]).await.expect("tenants");
    rights::recompute(&mut transaction, AffectedAccounts::Accounts(&[ana.id, bo.id, administrator.id])).await.expect("rights");
    transaction.commit().await.expect("committed");
    let (clerk_id, auditor_id) = (clerk.id.to_string(), auditor.id.to_string());
    assert_eq!(
        rights_of(&records, ana.id).await,
        json!({"all": ["iam.account.get", "shop.order.get"], clerk_id.clone(): ["shop.order.get"], auditor_id.clone(): ["iam.account.get", "shop.order.get"]})
    );
    assert_eq!(accounts::by_id(&records, ana.id).await.unwrap().unwrap().tenants, [tenant.id]);
    let everything = accounts::by_id(&records, administrator.id).await.unwrap().unwrap().rights;
    assert!(everything.are_everything() && everything.all().any(|name| name == "shop.order.get"), "what a role lists is known");

    clerk.permissions = BTreeSet::from([Permission::parse("shop.order.update").unwrap()]);
    let mut transaction = records.begin().await.expect("a transaction");
    rights::lock(&mut transaction).await.expect("held");
    roles::update(&mut transaction, &clerk, NOW).await.expect("updated");
    transaction.commit().await.expect("committed");
    assert_eq!(rights_of(&records, bo.id).await, json!({"all": ["shop.order.update"], clerk_id: ["shop.order.update"]}));
    let everything = accounts::by_id(&records, administrator.id).await.unwrap().unwrap().rights;
    assert!(everything.all().any(|name| name == "shop.order.update"), "a name that is new is the administrator's too");

    let mut transaction = records.begin().await.expect("a transaction");
    rights::lock(&mut transaction).await.expect("held");
    roles::remove(&mut transaction, clerk.id).await.expect("removed");
    tenants::remove(&mut transaction, tenant.id).await.expect("removed");
    transaction.commit().await.expect("committed");
    assert_eq!(rights_of(&records, bo.id).await, json!({"all": []}));
    assert_eq!(
        rights_of(&records, ana.id).await,
        json!({"all": ["iam.account.get", "shop.order.get"], auditor_id: ["iam.account.get", "shop.order.get"]})
    );
    assert!(accounts::by_id(&records, ana.id).await.unwrap().unwrap().tenants.is_empty());
    assert_eq!(accounts::active_administrators(&records).await.expect("a count"), 1);

    rights::declare(&records, [Permission::parse("shop.label.get").unwrap()], NOW).await.expect("declared");
    let everything = accounts::by_id(&records, administrator.id).await.unwrap().unwrap().rights;
    assert!(everything.all().any(|name| name == "shop.label.get"));
}

pub(crate) async fn the_built_in_role_lists_every_permission(url: &str) {
    // contract I12.2
    let records = records(url).await;
    rights::declare(&records, [Permission::parse("shop.label.get").unwrap()], NOW).await.expect("declared");
    let mut transaction = records.begin().await.expect("a transaction");
    rights::lock(&mut transaction).await.expect("held");
    let named = [Permission::parse("shop.order.get").unwrap()].into_iter().collect();
    let clerk = RoleRecord { id: Uuid::from_u128(70), name: "clerk".to_owned(), description: None, permissions: named };
    roles::insert(&mut transaction, &clerk, NOW).await.expect("inserted");
    transaction.commit().await.expect("committed");
    let every = rights::catalogue(&records).await.expect("a read").permissions().clone();
    assert!(every.contains(&Permission::parse("shop.order.get").unwrap()));
    let listed = async || roles::by_ids(&records, &[ADMINISTRATOR]).await.expect("a read").remove(0).permissions;
    assert_eq!(listed().await, every);
    // A hub of before knew no such rows; the step that is new to it makes them.
    records.run("DELETE FROM peristyle.role_permission WHERE role_id = $1", &[Bind::Id(ADMINISTRATOR)]).await.expect("removed");
    records.run("DELETE FROM peristyle.migration WHERE version = 3", &[]).await.expect("removed");
    records.migrate().await.expect("steps");
    assert_eq!(listed().await, every);
}

pub(crate) async fn rights_changed_by_another_program_are_recomputed_at_the_next_grant(url: &str) {
    // contract I15.2
    let world = World::at(url).await;
    let past = "UPDATE peristyle.account SET d_permissions = $2 WHERE id = $1";
    let binds = [Bind::Id(world.account.id), Bind::Json(r#"{"all": ["iam.account.delete"]}"#)];
    world.records.run(past, &binds).await.expect("updated");
    world.family().await;
    assert_eq!(rights_of(&world.records, world.account.id).await, json!({"all": []}));
}

pub(crate) async fn a_client_comes_back_with_both_its_secrets(url: &str) {
    let records = records(url).await;
    let (one, two) = (ClientSecret::from_random(random()), ClientSecret::from_random(random()));
    let mut kept = client("web:app", &one);
    clients::insert(&records, &kept, NOW).await.expect("inserted");
    assert_eq!(clients::by_id(&records, "web:app").await.expect("a read"), Some(kept.clone()));
    kept.secret = kept.secret.renew(&two, NOW, 60);
    kept.is_active = false;
    clients::update(&records, &kept, NOW).await.expect("updated");
    assert_eq!(clients::by_id(&records, "web:app").await.expect("a read"), Some(kept.clone()));
    assert_eq!(clients::by_id(&records, "no client\0").await.expect("a read"), None);
    clients::remove(&records, &kept.id).await.expect("removed");
    assert_eq!(clients::list(&records).await.expect("a read"), []);
}

pub(crate) async fn a_role_that_changes_while_it_is_given_leaves_nobody_behind(url: &str) {
    // contract I15.2
    let records = records(url).await;
    let ana = account("ana");
    accounts::insert(&records, &ana).await.expect("an account");
    let clerk = role("clerk", &["shop.order.get"]);
    let mut transaction = records.begin().await.expect("a transaction");
    roles::insert(&mut transaction, &clerk, NOW).await.expect("a role");
    transaction.commit().await.expect("committed");
    for round in 0..10 {
        let given = async {
            let mut transaction = records.begin().await.expect("a transaction");
            rights::lock(&mut transaction).await.expect("held");
            let roles = if round % 3 == 2 { vec![] } else { vec![clerk.id] };
            accounts::set_roles(&mut transaction, ana.id, &roles).await.expect("roles");
            rights::recompute(&mut transaction, AffectedAccounts::Accounts(&[ana.id])).await.expect("rights");
            transaction.commit().await.expect("committed");
        };
        let name = format!("shop.order.a{round}");
        let changed = async {
            let mut clerk = clerk.clone();
            clerk.permissions = BTreeSet::from([Permission::parse(&name).unwrap()]);
            let mut transaction = records.begin().await.expect("a transaction");
            rights::lock(&mut transaction).await.expect("held");
            roles::update(&mut transaction, &clerk, NOW).await.expect("updated");
            transaction.commit().await.expect("committed");
        };
        tokio::join!(given, changed);
        let expected = if round % 3 == 2 { json!({"all": []}) } else { json!({"all": [name], clerk.id.to_string(): [name]}) };
        assert_eq!(rights_of(&records, ana.id).await, expected);
    }
}
