//! What nobody can make the administration do: give or take what they do not hold, or leave a hub without an administrator.

use peristyle::chance;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::desk::{Desk, text};
use crate::support::{PLACES, Place, Request, until};
use crate::test_hub::{PASSWORD, cookie, posted};

const KEEPER: [&str; 10] = [
    "iam.account.get",
    "iam.account.create",
    "iam.account.update",
    "iam.account.delete",
    "iam.role.create",
    "iam.role.update",
    "iam.role.delete",
    "iam.session.delete",
    "shop.note.get",
    "iam.tenant.get",
];

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gives_or_takes_over_what_they_do_not_hold() {
    // contract I27.1, I12.4
    for place in PLACES {
        let desk = Desk::start(place).await;
        let (keeper, token) = desk.somebody("keeper", &KEEPER).await;
        let boss = desk.made("iam/roles/create", json!({"name": "boss", "permissions": ["shop.note.delete"]})).await;
        let (chief, _) = desk.somebody("chief", &["shop.note.delete"]).await;
        let (clerk, _) = desk.somebody("clerk", &["shop.note.get"]).await;
        let role = "00000000-0000-4000-8000-000000000001";
        let mut attempts: Vec<(String, Value)> = vec![
            ("iam/accounts/create".to_owned(), json!({"username": "x", "roles": ["administrator"]})),
            ("iam/accounts/create".to_owned(), json!({"username": "x", "roles": [role]})),
            ("iam/accounts/create".to_owned(), json!({"username": "x", "roles": ["boss"]})),
            (format!("iam/accounts/update/{clerk}"), json!({"roles": ["boss"]})),
            // Not to oneself either.
            (format!("iam/accounts/update/{keeper}"), json!({"roles": ["administrator"]})),
            ("iam/roles/create".to_owned(), json!({"name": "mine", "permissions": ["shop.note.get", "shop.note.delete"]})),
            (format!("iam/roles/update/{}", text(&boss["id"])), json!({"permissions": []})),
            (format!("iam/roles/delete/{}", text(&boss["id"])), json!({})),
        ];
        for holder in [chief, desk.root] {
            attempts.extend([
                (format!("iam/accounts/set-password/{holder}"), json!({"password": "battery staple"})),
                (format!("iam/accounts/invite/{holder}"), json!({})),
                (format!("iam/accounts/reset/{holder}"), json!({})),
                (format!("iam/accounts/update/{holder}"), json!({"email": "mine@example.com"})),
                (format!("iam/accounts/update/{holder}"), json!({"isActive": false})),
                (format!("iam/accounts/update/{holder}"), json!({"roles": []})),
                (format!("iam/accounts/end-sessions/{holder}"), json!({})),
                (format!("iam/accounts/delete/{holder}"), json!({})),
            ]);
        }
        for (path, input) in &attempts {
            let problem = desk.by(&token, path, input).await.problem(403);
            assert_eq!(problem["code"], "NOT_HELD", "{path} {input}");
        }
        for path in ["iam/roles/update", "iam/roles/delete"] {
            assert_eq!(desk.rest(&format!("{path}/{role}"), json!({})).await.problem(403)["code"], "BUILT_IN_ROLE");
        }
        let mutation = format!("mutation {{ iamResetAccount(id: \"{}\") {{ link }} }}", desk.root);
        let answer = desk.graphql(Some(&token), &mutation, json!({})).await;
        assert_eq!((&answer["errors"][0]["extensions"]["code"], &answer["data"]["iamResetAccount"]), (&json!("NOT_HELD"), &json!(null)));
        // Who holds no more than oneself can be helped, oneself among them.
        desk.by(&token, &format!("iam/accounts/reset/{clerk}"), &json!({})).await.good();
        desk.by(&token, &format!("iam/accounts/update/{keeper}"), &json!({"email": "k@example.com"})).await.good();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_lets_others_into_a_tenant_that_is_closed_to_themselves() {
    // contract I27.1
    for place in PLACES {
        let desk = Desk::start(place).await;
        let (keeper, token) = desk.somebody("keeper", &KEEPER).await;
        let north = desk.made("iam/tenants/create", json!({"name": "North"})).await["id"].clone();
        let south = desk.made("iam/tenants/create", json!({"name": "South"})).await["id"].clone();
        desk.rest(&format!("iam/accounts/update/{keeper}"), json!({"tenants": [north]})).await.good();
        let made = desk.by(&token, "iam/accounts/create", &json!({"username": "n", "tenants": [north]})).await;
        assert_eq!(made.status(), 201, "{}", made.text());
        let strange = desk.made("iam/accounts/create", json!({"username": "s", "tenants": [south]})).await;
        for (path, input) in [
            ("iam/accounts/create".to_owned(), json!({"username": "x", "tenants": [south]})),
            (format!("iam/accounts/update/{keeper}"), json!({"tenants": [north, south]})),
            (format!("iam/accounts/reset/{}", text(&strange["id"])), json!({})),
            (format!("iam/accounts/set-password/{}", text(&strange["id"])), json!({"password": "battery staple"})),
        ] {
            assert_eq!(desk.by(&token, &path, &input).await.problem(403)["code"], "NOT_HELD", "{path}");
        }
        // Making a tenant on the way takes the permission for that beside the one to give it.
        let (_, warden) = desk.somebody("warden", &["iam.account.get", "iam.account.create", "iam.tenant.update"]).await;
        let fresh = json!({"username": "x", "tenants": [chance::id().to_string()]});
        let problem = desk.by(&warden, "iam/accounts/create", &fresh).await.problem(403);
        assert!(problem["code"] == "FORBIDDEN" && text(&problem["detail"]).contains("iam.tenant.create"), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_the_hub_does_not_know_is_as_closed_as_any() {
    // contract I27.1
    for place in PLACES {
        let desk = Desk::start(place).await;
        let maker: Vec<&str> = KEEPER.into_iter().chain(["iam.tenant.create", "iam.tenant.delete"]).collect();
        let (id, token) = desk.somebody("maker", &maker).await;
        // A satellite may keep rows of it all the same.
        let unknown = chance::id().to_string();
        let removed = desk.made("iam/tenants/create", json!({"name": "North"})).await["id"].clone();
        desk.by(&token, &format!("iam/tenants/delete/{}", text(&removed)), &json!({})).await.good();
        for tenant in [json!(unknown), removed] {
            for (path, input) in [
                (format!("iam/accounts/update/{id}"), json!({"tenants": [tenant]})),
                ("iam/accounts/create".to_owned(), json!({"username": "x", "tenants": [tenant]})),
            ] {
                assert_eq!(desk.by(&token, &path, &input).await.problem(403)["code"], "NOT_HELD", "{path} {input}");
            }
        }
        // Whoever looks after tenants may give every one, also one that is made on the way.
        let (_, warden) = desk.somebody("warden", &[&maker[..], &["iam.tenant.update"]].concat()).await;
        let made = desk.by(&warden, "iam/accounts/create", &json!({"username": "x", "tenants": [unknown]})).await;
        assert_eq!((made.status(), &made.json()["dTenants"]), (201, &json!([unknown])), "{}", made.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_ends_with_the_password_and_the_rights_that_it_was_made_for() {
    // contract I9.6, I27.1
    for place in PLACES {
        let desk = Desk::start(place).await;
        let role = desk.made("iam/roles/create", json!({"name": "clerk", "permissions": ["shop.note.get"]})).await;
        let made = json!({"username": "bo", "password": PASSWORD, "roles": ["clerk"]});
        let account = text(&desk.made("iam/accounts/create", made).await["id"]).to_owned();
        let update = format!("iam/accounts/update/{account}");
        let link = async || {
            let made = desk.rest(&format!("iam/accounts/reset/{account}"), json!({})).await.good();
            text(&made["link"]).split_once("link=").expect("a link").1.to_owned()
        };
        let redeemed = async |link: &str| {
            let answer = desk.stage.send(&posted("/password", &[("link", link), ("password", PASSWORD)])).await;
            answer.status()
        };
        for (path, input) in [
            (format!("iam/accounts/set-password/{account}"), json!({"password": PASSWORD})),
            (format!("iam/roles/update/{}", text(&role["id"])), json!({"permissions": ["shop.note.get", "iam.account.get"]})),
            (update.clone(), json!({"tenants": [chance::id().to_string()]})),
            (update.clone(), json!({"tenants": []})),
            (update.clone(), json!({"roles": []})),
            (update.clone(), json!({"roles": ["administrator"]})),
        ] {
            let link = link().await;
            desk.rest(&path, input.clone()).await.good();
            assert_eq!(redeemed(&link).await, 400, "{path} {input}");
        }
        desk.rest(&update, json!({"roles": []})).await.good();
        // A change of one's own password ends it too; another change of the account does not.
        let page = desk.stage.send(&posted("/sign-in", &[("username", "bo"), ("password", PASSWORD)])).await;
        let (session, dead) = (cookie(&page), link().await);
        let change = [("action", "password"), ("present", PASSWORD), ("chosen", PASSWORD)];
        assert_eq!(desk.stage.send(&posted("/", &change).header("cookie", &session)).await.status(), 303);
        assert_eq!(redeemed(&dead).await, 400);
        let alive = link().await;
        desk.rest(&update, json!({"email": "bo@example.com", "roles": []})).await.good();
        assert_eq!((redeemed(&alive).await, redeemed(&alive).await), (303, 400));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_those_of_the_moment() {
    // contract I27.1, I27.3
    for place in PLACES {
        let desk = Desk::start(place).await;
        let (second, token) = desk.administrator("second").await;
        desk.made("iam/roles/create", json!({"name": "reader", "permissions": ["iam.account.get"]})).await;
        // One's own account can be changed, and what was given away is gone.
        desk.by(&token, &format!("iam/accounts/update/{second}"), &json!({"roles": ["reader"]})).await.good();
        let back = desk.by(&token, &format!("iam/accounts/update/{second}"), &json!({"roles": ["administrator"]})).await;
        assert_eq!(back.problem(403)["code"], "FORBIDDEN");
        desk.rest(&format!("iam/accounts/update/{second}"), json!({"isActive": false})).await.good();
        assert_eq!(desk.by(&token, "iam/accounts/create", &json!({"username": "x"})).await.problem(401)["code"], "INVALID_TOKEN");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_administrator_stays_whatever_is_tried() {
    // contract I27.2, I12.5
    for place in PLACES {
        let desk = Desk::start(place).await;
        let root = desk.root;
        for (path, input) in [
            (format!("iam/accounts/delete/{root}"), json!({})),
            (format!("iam/accounts/update/{root}"), json!({"isActive": false})),
            (format!("iam/accounts/update/{root}"), json!({"roles": []})),
        ] {
            assert_eq!(desk.rest(&path, input).await.problem(403)["code"], "LAST_ADMINISTRATOR", "{path}");
        }
        assert_eq!(desk.rest("iam/accounts/list", json!({})).await.status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_administrators_who_remove_each_other_one_stays() {
    // contract I27.2
    for place in PLACES {
        let desk = Desk::start(place).await;
        for (name, path, input) in [
            ("removed", "iam/accounts/delete", json!({})),
            ("closed", "iam/accounts/update", json!({"isActive": false})),
            ("demoted", "iam/accounts/update", json!({"roles": []})),
        ] {
            let (ana, ana_token) = desk.administrator(&format!("ana-{name}")).await;
            let (bo, bo_token) = desk.administrator(&format!("bo-{name}")).await;
            for id in survivors(&desk).await.into_iter().filter(|id| ![ana, bo].contains(id)) {
                demote(&desk, id).await;
            }
            let attempt = |token: &str, victim: Uuid| Desk::request(token, &format!("{path}/{victim}"), &input);
            let statuses = at_once(&desk, [attempt(&ana_token, bo), attempt(&bo_token, ana)]).await;
            let left = survivors(&desk).await;
            assert!(left.len() == 1 && [ana, bo].contains(&left[0]), "{place:?}, {name}: {left:?}, {statuses:?}");
            assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{place:?}, {name}: {statuses:?}");
        }
    }
}

/// Sends both so that neither can be done before the other has begun; gives their statuses. On PostgreSQL the audit log, the last thing
/// that a change writes, is held until both have come as far as they can.
async fn at_once(desk: &Desk, requests: [Request; 2]) -> Vec<u16> {
    let address = desk.stage.server.address;
    let held = match desk.stage.database.place {
        Place::Postgres => {
            let client = desk.stage.database.client().await;
            client.batch_execute("BEGIN; LOCK TABLE peristyle.event IN EXCLUSIVE MODE").await.unwrap();
            Some(client)
        }
        Place::Sqlite => None,
    };
    let sent = requests.map(|request| tokio::spawn(async move { request.send(address).await }));
    if let Some(client) = held {
        until("both wait", async || desk.stage.database.sessions("wait_event_type = 'Lock'").await == 2).await;
        client.batch_execute("COMMIT").await.unwrap();
    }
    let mut statuses = Vec::new();
    for answer in sent {
        statuses.push(answer.await.unwrap().status());
    }
    statuses
}

/// The administrators that are active.
async fn survivors(desk: &Desk) -> Vec<Uuid> {
    let accounts = store::hub_records::accounts::list(&desk.stage.records, 1_000, 0).await.unwrap();
    accounts.into_iter().filter(|account| account.is_active && account.rights.are_everything()).map(|account| account.id).collect()
}

async fn demote(desk: &Desk, id: Uuid) {
    let mut transaction = desk.stage.records.begin().await.unwrap();
    store::hub_records::accounts::set_roles(&mut transaction, id, &[]).await.unwrap();
    transaction.commit().await.unwrap();
    store::hub_records::rights::refresh(&desk.stage.records, id).await.unwrap();
}
