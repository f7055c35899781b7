//! Privilege escalation: no account grants or takes over more than it holds, and a hub keeps an administrator.

use peristyle::random;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::admin_hub::{AdminHub, text};
use crate::support::{BACKENDS, Backend, Request, until};
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
async fn an_account_grants_and_takes_over_only_what_it_holds() {
    // contract I27.1, I12.4
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let (keeper, token) = hub.account("keeper", &KEEPER).await;
        let boss = hub.create("iam/roles/create", json!({"name": "boss", "permissions": ["shop.note.delete"]})).await;
        let (chief, _) = hub.account("chief", &["shop.note.delete"]).await;
        let (clerk, _) = hub.account("clerk", &["shop.note.get"]).await;
        let role = "00000000-0000-4000-8000-000000000001";
        let mut attempts: Vec<(String, Value)> = vec![
            ("iam/accounts/create".to_owned(), json!({"username": "x", "roles": ["administrator"]})),
            ("iam/accounts/create".to_owned(), json!({"username": "x", "roles": [role]})),
            ("iam/accounts/create".to_owned(), json!({"username": "x", "roles": ["boss"]})),
            (format!("iam/accounts/update/{clerk}"), json!({"roles": ["boss"]})),
            // Not to its own account either.
            (format!("iam/accounts/update/{keeper}"), json!({"roles": ["administrator"]})),
            ("iam/roles/create".to_owned(), json!({"name": "mine", "permissions": ["shop.note.get", "shop.note.delete"]})),
            (format!("iam/roles/update/{}", text(&boss["id"])), json!({"permissions": []})),
            (format!("iam/roles/delete/{}", text(&boss["id"])), json!({})),
        ];
        for holder in [chief, hub.root] {
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
            let problem = hub.by(&token, path, input).await.problem(403);
            assert_eq!(problem["code"], "NOT_HELD", "{path} {input}");
        }
        for path in ["iam/roles/update", "iam/roles/delete"] {
            assert_eq!(hub.rest(&format!("{path}/{role}"), json!({})).await.problem(403)["code"], "BUILT_IN_ROLE");
        }
        let mutation = format!("mutation {{ iamResetAccount(id: \"{}\") {{ link }} }}", hub.root);
        let answer = hub.graphql(Some(&token), &mutation, json!({})).await;
        assert_eq!((&answer["errors"][0]["extensions"]["code"], &answer["data"]["iamResetAccount"]), (&json!("NOT_HELD"), &json!(null)));
        // It can change accounts that hold no more than it does, including its own.
        hub.by(&token, &format!("iam/accounts/reset/{clerk}"), &json!({})).await.good();
        hub.by(&token, &format!("iam/accounts/update/{keeper}"), &json!({"email": "k@example.com"})).await.good();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_adds_others_only_to_its_own_tenants() {
    // contract I27.1
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let (keeper, token) = hub.account("keeper", &KEEPER).await;
        let north = hub.create("iam/tenants/create", json!({"name": "North"})).await["id"].clone();
        let south = hub.create("iam/tenants/create", json!({"name": "South"})).await["id"].clone();
        hub.rest(&format!("iam/accounts/update/{keeper}"), json!({"tenants": [north]})).await.good();
        let made = hub.by(&token, "iam/accounts/create", &json!({"username": "n", "tenants": [north]})).await;
        assert_eq!(made.status(), 201, "{}", made.text());
        let strange = hub.create("iam/accounts/create", json!({"username": "s", "tenants": [south]})).await;
        for (path, input) in [
            ("iam/accounts/create".to_owned(), json!({"username": "x", "tenants": [south]})),
            (format!("iam/accounts/update/{keeper}"), json!({"tenants": [north, south]})),
            (format!("iam/accounts/reset/{}", text(&strange["id"])), json!({})),
            (format!("iam/accounts/set-password/{}", text(&strange["id"])), json!({"password": "battery staple"})),
        ] {
            assert_eq!(hub.by(&token, &path, &input).await.problem(403)["code"], "NOT_HELD", "{path}");
        }
        // The removal of a tenant takes it from its members.
        let (remover, removes) = hub.account("remover", &["iam.tenant.get", "iam.tenant.delete"]).await;
        let path = format!("iam/tenants/delete/{}", text(&south));
        assert_eq!(hub.by(&removes, &path, &json!({})).await.problem(403)["code"], "NOT_HELD");
        hub.rest(&format!("iam/accounts/update/{remover}"), json!({"tenants": [south]})).await.good();
        hub.by(&removes, &path, &json!({})).await.good();
        // Creating a missing tenant needs the permission for that too.
        let (_, warden) = hub.account("warden", &["iam.account.get", "iam.account.create", "iam.tenant.update"]).await;
        let fresh = json!({"username": "x", "tenants": [random::uuid().to_string()]});
        let problem = hub.by(&warden, "iam/accounts/create", &fresh).await.problem(403);
        assert!(problem["code"] == "FORBIDDEN" && text(&problem["detail"]).contains("iam.tenant.create"), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_the_hub_does_not_know_needs_the_same_right() {
    // contract I27.1
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let maker: Vec<&str> = KEEPER.into_iter().chain(["iam.tenant.create", "iam.tenant.delete"]).collect();
        let (id, token) = hub.account("maker", &maker).await;
        // A satellite may have rows of it.
        let unknown = random::uuid().to_string();
        let removed = hub.create("iam/tenants/create", json!({"name": "North"})).await["id"].clone();
        hub.rest(&format!("iam/tenants/delete/{}", text(&removed)), json!({})).await.good();
        for tenant in [json!(unknown), removed] {
            for (path, input) in [
                (format!("iam/accounts/update/{id}"), json!({"tenants": [tenant]})),
                ("iam/accounts/create".to_owned(), json!({"username": "x", "tenants": [tenant]})),
            ] {
                assert_eq!(hub.by(&token, &path, &input).await.problem(403)["code"], "NOT_HELD", "{path} {input}");
            }
        }
        // An account with the tenant permissions can assign every tenant, also a new one.
        let (_, warden) = hub.account("warden", &[&maker[..], &["iam.tenant.update"]].concat()).await;
        let made = hub.by(&warden, "iam/accounts/create", &json!({"username": "x", "tenants": [unknown]})).await;
        assert_eq!((made.status(), &made.json()["dTenants"]), (201, &json!([unknown])), "{}", made.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_ends_when_the_password_or_the_rights_of_its_account_change() {
    // contract I9.6, I27.1
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let role = hub.create("iam/roles/create", json!({"name": "clerk", "permissions": ["shop.note.get"]})).await;
        let made = json!({"username": "bo", "password": PASSWORD, "roles": ["clerk"]});
        let account = text(&hub.create("iam/accounts/create", made).await["id"]).to_owned();
        let update = format!("iam/accounts/update/{account}");
        let link = async || {
            let made = hub.rest(&format!("iam/accounts/reset/{account}"), json!({})).await.good();
            text(&made["link"]).split_once("link=").expect("a link").1.to_owned()
        };
        let redeemed = async |link: &str| {
            let answer = hub.stage.send(&posted("/password", &[("link", link), ("password", PASSWORD)])).await;
            answer.status()
        };
        for (path, input) in [
            (format!("iam/accounts/set-password/{account}"), json!({"password": PASSWORD})),
            (format!("iam/roles/update/{}", text(&role["id"])), json!({"permissions": ["shop.note.get", "iam.account.get"]})),
            (update.clone(), json!({"tenants": [random::uuid().to_string()]})),
            (update.clone(), json!({"tenants": []})),
            (update.clone(), json!({"roles": []})),
            (update.clone(), json!({"roles": ["administrator"]})),
        ] {
            let link = link().await;
            hub.rest(&path, input.clone()).await.good();
            assert_eq!(redeemed(&link).await, 400, "{path} {input}");
        }
        hub.rest(&update, json!({"roles": []})).await.good();
        // A change of the own password ends the link; other changes of the account do not.
        let page = hub.stage.send(&posted("/sign-in", &[("username", "bo"), ("password", PASSWORD)])).await;
        let (session, dead) = (cookie(&page), link().await);
        let change = [("action", "password"), ("present", PASSWORD), ("chosen", PASSWORD)];
        assert_eq!(hub.stage.send(&posted("/", &change).header("cookie", &session)).await.status(), 303);
        assert_eq!(redeemed(&dead).await, 400);
        let alive = link().await;
        hub.rest(&update, json!({"email": "bo@example.com", "roles": []})).await.good();
        assert_eq!((redeemed(&alive).await, redeemed(&alive).await), (303, 400));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_rights_stop_counting_concurrently() {
    // contract I27.1, I27.3
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let (second, token) = hub.administrator("second").await;
        hub.create("iam/roles/create", json!({"name": "reader", "permissions": ["iam.account.get"]})).await;
        // An account can remove its own rights, and they are gone.
        hub.by(&token, &format!("iam/accounts/update/{second}"), &json!({"roles": ["reader"]})).await.good();
        let back = hub.by(&token, &format!("iam/accounts/update/{second}"), &json!({"roles": ["administrator"]})).await;
        assert_eq!(back.problem(403)["code"], "FORBIDDEN");
        hub.rest(&format!("iam/accounts/update/{second}"), json!({"isActive": false})).await.good();
        assert_eq!(hub.by(&token, "iam/accounts/create", &json!({"username": "x"})).await.problem(401)["code"], "INVALID_TOKEN");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_administrator_cannot_be_removed_in_any_way() {
    // contract I27.2, I12.5
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let root = hub.root;
        for (path, input) in [
            (format!("iam/accounts/delete/{root}"), json!({})),
            (format!("iam/accounts/update/{root}"), json!({"isActive": false})),
            (format!("iam/accounts/update/{root}"), json!({"roles": []})),
        ] {
            assert_eq!(hub.rest(&path, input).await.problem(403)["code"], "LAST_ADMINISTRATOR", "{path}");
        }
        assert_eq!(hub.post("iam/accounts/list", json!({})).await.status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_administrators_who_remove_each_other_one_stays() {
    // contract I27.2
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        for (name, path, input) in [
            ("removed", "iam/accounts/delete", json!({})),
            ("closed", "iam/accounts/update", json!({"isActive": false})),
            ("demoted", "iam/accounts/update", json!({"roles": []})),
        ] {
            let (ana, ana_token) = hub.administrator(&format!("ana-{name}")).await;
            let (bo, bo_token) = hub.administrator(&format!("bo-{name}")).await;
            for id in active_administrators(&hub).await.into_iter().filter(|id| ![ana, bo].contains(id)) {
                demote(&hub, id).await;
            }
            let attempt = |token: &str, victim: Uuid| AdminHub::request(token, &format!("{path}/{victim}"), &input);
            let statuses = concurrently(&hub, [attempt(&ana_token, bo), attempt(&bo_token, ana)]).await;
            let left = active_administrators(&hub).await;
            assert!(left.len() == 1 && [ana, bo].contains(&left[0]), "{backend:?}, {name}: {left:?}, {statuses:?}");
            assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{backend:?}, {name}: {statuses:?}");
        }
    }
}

/// Sends both requests so that both begin before either ends; returns their statuses. On PostgreSQL it locks the audit log, which a
/// change writes last, until both wait for it.
async fn concurrently(hub: &AdminHub, requests: [Request; 2]) -> Vec<u16> {
    let address = hub.stage.server.address;
    let held = match hub.stage.database.backend {
        Backend::Postgres => {
            let client = hub.stage.database.client().await;
            client.batch_execute("BEGIN; LOCK TABLE peristyle.event IN EXCLUSIVE MODE").await.unwrap();
            Some(client)
        }
        Backend::Sqlite => None,
    };
    let sent = requests.map(|request| tokio::spawn(async move { request.send(address).await }));
    if let Some(client) = held {
        until("both wait", async || hub.stage.database.sessions("wait_event_type = 'Lock'").await == 2).await;
        client.batch_execute("COMMIT").await.unwrap();
    }
    let mut statuses = Vec::new();
    for answer in sent {
        statuses.push(answer.await.unwrap().status());
    }
    statuses
}

/// The active administrators.
async fn active_administrators(hub: &AdminHub) -> Vec<Uuid> {
    let accounts = store::hub_records::accounts::list(&hub.stage.records, 1_000, 0).await.unwrap();
    accounts.into_iter().filter(|account| account.is_active && account.rights.are_everything()).map(|account| account.id).collect()
}

async fn demote(hub: &AdminHub, id: Uuid) {
    let mut transaction = hub.stage.records.begin().await.unwrap();
    store::hub_records::accounts::set_roles(&mut transaction, id, &[]).await.unwrap();
    transaction.commit().await.unwrap();
    store::hub_records::rights::refresh(&hub.stage.records, id).await.unwrap();
}
