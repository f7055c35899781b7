//! Accounts, permissions and rights.

use std::collections::BTreeSet;

use identity::account::rights::{RightsFault, keep_an_administrator, may_change_role};
use identity::account::{
    ADMINISTRATOR, Account, AccountKind, KnownPermissions, NameFault, Names, Permission, Rights, Role, RolePermissions, login_name,
};
use serde_json::json;
use uuid::Uuid;

use crate::support::*;

const SALES: Uuid = Uuid::from_u128(0x5a1e_0000_0000_4000_8000_0000_0000_0001);
const STOCK: Uuid = Uuid::from_u128(0x5a1e_0000_0000_4000_8000_0000_0000_0002);

fn listed(names: &[&str]) -> BTreeSet<Permission> {
    names.iter().map(|name| Permission::parse(name).unwrap()).collect()
}

fn catalogue() -> KnownPermissions {
    KnownPermissions::new(listed(&["shop.customer.get", "shop.order.get"]))
}

fn rights(names: &[&str]) -> Rights {
    Rights::of(&[Role::new(SALES, listed(names))], &catalogue())
}

fn administrator() -> Rights {
    Rights::of(&[Role::new(ADMINISTRATOR, BTreeSet::new())], &catalogue())
}

#[test]
fn a_permission_is_context_resource_action() {
    for name in ["iam.account.get", "oAuth.client.get", "hub.appAccount.get", "shop.customer.pii", "a.b-c.d_1"] {
        assert_eq!(Permission::parse(name).unwrap().as_str(), name);
    }
    for name in
        ["", "*", "a", "a.b", "a.b.c.d", "a..c", ".b.c", "a.b.", "a.b.*", "a.b.c ", "1.b.c", "ä.b.c", &format!("a.b.{}", "c".repeat(200))]
    {
        assert!(Permission::parse(name).is_err(), "{name}");
    }
}

// contract I12.1
#[test]
fn rights_are_the_union_of_roles_and_each_role_by_its_id() {
    let rights = Rights::of(
        &[Role::new(SALES, listed(&["shop.customer.get", "shop.order.get"])), Role::new(STOCK, listed(&["shop.order.get"]))],
        &catalogue(),
    );
    let expected = json!({
        "all": ["shop.customer.get", "shop.order.get"],
        SALES.to_string(): ["shop.customer.get", "shop.order.get"],
        STOCK.to_string(): ["shop.order.get"],
    });
    assert_eq!(rights.to_json(), expected);
    assert_eq!(Rights::from_json(&expected), Some(rights.clone()));
    assert!(rights.hold("shop.order.get") && !rights.hold("shop.order.delete") && !rights.hold(""));
    assert!(rights.hold("shop.order.get") && !rights.hold("iam.account.get"));
}

// contract I12.2
#[test]
fn an_administrator_holds_everything_also_what_only_a_satellite_knows() {
    let rights = administrator();
    assert!(rights.are_everything() && rights.hold("satellite.thing.get"));
    let spelled: Vec<&str> = rights.all().collect();
    for name in ["iam.account.get", "iam.account.create", "hub.appAccount.get", "oAuth.client.get", "shop.customer.get"] {
        assert!(spelled.contains(&name), "{name}");
    }
    let read = Rights::from_json(&rights.to_json()).unwrap();
    assert!(read.are_everything());
    assert_eq!(Role::new(ADMINISTRATOR, BTreeSet::new()).holding(), &RolePermissions::Everything);
}

#[test]
fn rights_of_another_shape_are_no_rights() {
    for value in [
        json!(null),
        json!([]),
        json!({}),
        json!({"all": null}),
        json!({"all": "shop.order.get"}),
        json!({"all": [1]}),
        json!({"all": [], SALES.to_string(): "x"}),
    ] {
        assert_eq!(Rights::from_json(&value), None, "{value}");
    }
    let named = json!({"all": ["shop.order.get"], "clerk": ["shop.order.delete"]});
    let read = Rights::from_json(&named).unwrap();
    assert!(read.hold("shop.order.get") && !read.hold("shop.order.delete"), "only `all` counts");
}

// contract I12.3
#[test]
fn the_anonymous_account_has_the_nil_id_and_no_permission() {
    let nobody = Account::anonymous();
    assert_eq!(nobody.id.to_string(), "00000000-0000-0000-0000-000000000000");
    assert_eq!(nobody.rights.to_json(), json!({"all": []}));
    assert!(!nobody.may_sign_in());
    assert!(ana().may_sign_in());
}

// attack 35 // contract I12.4
#[test]
fn nobody_grants_what_they_do_not_hold() {
    let some = rights(&["iam.role.update", "shop.customer.get"]);
    assert_eq!(some.may_grant(&RolePermissions::Listed(listed(&["shop.customer.get"]))), Ok(()));
    assert_eq!(some.may_grant(&RolePermissions::Listed(listed(&[]))), Ok(()));
    assert_eq!(some.may_grant(&RolePermissions::Listed(listed(&["shop.customer.get", "shop.order.get"]))), Err(RightsFault::NotHeld));
    assert_eq!(some.may_grant(&RolePermissions::Everything), Err(RightsFault::NotHeld));
    assert_eq!(administrator().may_grant(&RolePermissions::Everything), Ok(()));
    assert_eq!(administrator().may_grant(&RolePermissions::Listed(listed(&["other.thing.get"]))), Ok(()));
    let all_by_name: Vec<String> = administrator().all().map(str::to_owned).collect();
    let all_by_name = rights(&all_by_name.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(all_by_name.may_grant(&RolePermissions::Everything), Err(RightsFault::NotHeld), "all that is known is less than everything");
}

// contract I12.4
#[test]
fn nobody_takes_over_an_account_that_holds_more() {
    let some = rights(&["shop.customer.get"]);
    assert_eq!(some.may_act_on(&Rights::none()), Ok(()));
    assert_eq!(some.may_act_on(&some), Ok(()));
    assert_eq!(some.may_act_on(&rights(&["shop.customer.get", "shop.order.get"])), Err(RightsFault::NotHeld));
    assert_eq!(some.may_act_on(&administrator()), Err(RightsFault::NotHeld));
    assert_eq!(administrator().may_act_on(&administrator()), Ok(()));
    let unspelled = Rights::from_json(&json!({"all": [], ADMINISTRATOR.to_string(): []})).unwrap();
    assert_eq!(some.may_act_on(&unspelled), Err(RightsFault::NotHeld), "an administrator is one whatever is spelled out");
}

// contract I12.5
#[test]
fn the_last_administrator_stays_and_the_role_is_built_in() {
    assert_eq!(keep_an_administrator(1, 0), Err(RightsFault::LastAdministrator));
    assert_eq!(keep_an_administrator(2, 1), Ok(()));
    assert_eq!(keep_an_administrator(0, 0), Ok(()), "a hub that has none yet can still be used");
    assert_eq!(may_change_role(ADMINISTRATOR), Err(RightsFault::BuiltIn));
    assert_eq!(may_change_role(SALES), Ok(()));
}

#[test]
fn names_are_compared_without_case_and_no_username_catches_anothers_email() {
    assert_eq!(login_name(" Ana@Example.COM "), "ana@example.com");
    assert!(Names::check(Some("ana"), Some("ana@example.com")).is_ok());
    assert!(Names::check(Some("Ana@example.com"), Some("ana@example.com")).is_ok());
    assert!(Names::check(None, None).is_ok(), "a program has neither");
    for (username, email, fault) in [
        (Some(""), None, NameFault::Shape),
        (Some(" ana"), None, NameFault::Shape),
        (Some("a\nb"), None, NameFault::Shape),
        (None, Some(""), NameFault::Shape),
        (None, Some("ana"), NameFault::Email),
        (None, Some("@example.com"), NameFault::Email),
        (None, Some("a@b@c"), NameFault::Email),
        (None, Some("a b@c"), NameFault::Email),
        (Some("bo@example.com"), None, NameFault::Ambiguous),
        (Some("bo@example.com"), Some("ana@example.com"), NameFault::Ambiguous),
    ] {
        assert_eq!(Names::check(username, email), Err(fault), "{username:?} {email:?}");
    }
    assert_eq!(Names::check(Some(&"x".repeat(255)), None), Err(NameFault::Shape));
    // Nobody should take one account for another.
    for unseen in ["an\u{200b}a", "ana\u{feff}", "\u{202e}ana", "ana\u{e0041}"] {
        assert_eq!(Names::check(Some(unseen), None), Err(NameFault::Shape), "{unseen:?}");
    }
}

#[test]
fn kinds_of_accounts_have_their_words() {
    for kind in [AccountKind::User, AccountKind::Service] {
        assert_eq!(AccountKind::from_word(kind.as_str()), Some(kind));
    }
    assert_eq!(AccountKind::from_word("user"), None);
}
