//! The audit events of changes and of refused changes.

use serde_json::{Value, json};

use crate::admin_hub::{AdminHub, text};
use crate::support::{BACKENDS, Backend, post};

/// The data of the newest event, which must be this one.
async fn newest(hub: &AdminHub, name: &str) -> Value {
    let event = hub.events().await.pop().expect("an event");
    assert_eq!(event["event"], name, "{event}");
    event["data"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_names_the_changed_fields_and_shows_no_private_values() {
    // contract I27.20
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        hub.create("iam/roles/create", json!({"name": "clerk", "permissions": ["shop.note.get"]})).await;
        let tenant = hub.create("iam/tenants/create", json!({"name": "North"})).await["id"].clone();
        let new = json!({"username": "bo", "email": "bo@example.com", "meta": {"pin": "marker-1"}});
        let id = text(&hub.create("iam/accounts/create", new).await["id"]).to_owned();
        let change = json!({
            "email": "bob@example.com", "isActive": false, "roles": ["clerk"], "tenants": [tenant], "tags": ["marker-2"],
            "meta": {"pin": "marker-3"}, "username": "bo",
        });
        hub.rest(&format!("iam/accounts/update/{id}"), change.clone()).await.good();
        let data = newest(&hub, "account.updated").await;
        assert_eq!(data["changed"], json!(["email", "isActive", "meta", "roles", "tags", "tenants"]), "{data}");
        let values = json!({
            "isActive": {"from": true, "to": false},
            "roles": {"added": ["clerk"], "removed": []},
            "tenants": {"added": [tenant], "removed": []},
        });
        assert_eq!(data["values"], values, "{data}");
        assert!(!data.to_string().contains("marker") && !data.to_string().contains("example.com"), "{data}");
        // The same update again changes nothing.
        hub.rest(&format!("iam/accounts/update/{id}"), change).await.good();
        let data = newest(&hub, "account.updated").await;
        assert_eq!((&data["changed"], data.get("values")), (&json!([]), None), "{data}");
        // A new code follows the username.
        hub.rest(&format!("iam/accounts/update/{id}"), json!({"username": "robert"})).await.good();
        let data = newest(&hub, "account.updated").await;
        assert_eq!((&data["changed"], data.get("values")), (&json!(["code", "username"]), None), "{data}");
        hub.rest(&format!("iam/accounts/set-password/{id}"), json!({"password": "marker-password"})).await.good();
        let data = newest(&hub, "account.password-changed").await;
        assert_eq!(data.as_object().map(serde_json::Map::len), Some(2), "account and actor: {data}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_of_roles_clients_tenants_and_apps_name_their_fields_too() {
    // contract I27.20
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let id = |made: &Value| text(&made["id"]).to_owned();
        let role = id(&hub.create("iam/roles/create", json!({"name": "clerk", "permissions": ["shop.note.get", "shop.a.get"]})).await);
        let change = json!({"name": "seller", "permissions": ["shop.note.get", "shop.b.get"]});
        hub.rest(&format!("iam/roles/update/{role}"), change).await.good();
        let data = newest(&hub, "role.updated").await;
        assert_eq!(data["changed"], json!(["name", "permissions"]));
        let permissions = json!({"added": ["shop.b.get"], "removed": ["shop.a.get"]});
        assert_eq!(data["values"], json!({"name": {"from": "clerk", "to": "seller"}, "permissions": permissions}));

        let tenant = id(&hub.create("iam/tenants/create", json!({"name": "North"})).await);
        hub.rest(&format!("iam/tenants/update/{tenant}"), json!({"name": "South"})).await.good();
        let data = newest(&hub, "tenant.updated").await;
        assert_eq!((&data["changed"], &data["values"]["name"]), (&json!(["name"]), &json!({"from": "North", "to": "South"})));

        let app = id(&hub.create("hub/apps/create", json!({"code": "till"})).await);
        hub.rest(&format!("hub/apps/update/{app}"), json!({"isClosed": true, "url": "https://till.example/"})).await.good();
        let data = newest(&hub, "app.updated").await;
        assert_eq!(data["changed"], json!(["isClosed", "url"]));
        assert_eq!(data["values"]["isClosed"], json!({"from": false, "to": true}));
        assert_eq!(data["values"]["url"], json!({"from": null, "to": "https://till.example/"}));

        let client = json!({"id": "till", "name": "Till", "redirect": "https://till.example/callback"});
        let secret = text(&hub.create("o-auth/clients/create", client).await["secret"]).to_owned();
        let change = json!({
            "redirect": "https://till.example/back", "grants": ["authorization_code"], "accessTokenSeconds": 600, "isActive": false,
        });
        hub.rest("o-auth/clients/update/till", change).await.good();
        let data = newest(&hub, "client.updated").await;
        assert_eq!(data["changed"], json!(["accessTokenSeconds", "grants", "isActive", "redirect"]), "{data}");
        assert_eq!(data["values"]["grants"], json!({"added": [], "removed": ["refresh_token"]}));
        let redirect = json!({"from": "https://till.example/callback", "to": "https://till.example/back"});
        assert_eq!(data["values"]["redirect"], redirect);
        let renewed = hub.rest("o-auth/clients/rotate-secret/till", json!({})).await.good();
        let data = newest(&hub, "client.secret-changed").await;
        assert!(!data.to_string().contains(&secret) && !data.to_string().contains(text(&renewed["secret"])), "{data}");
        assert_eq!(data.get("changed"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_change_is_an_event_with_actor_operation_and_reason() {
    // contract I27.21, attack 82
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let (keeper, token) = hub.account("keeper", &["iam.account.get", "iam.account.update", "iam.account.create"]).await;
        let refused = async |operation: &str, reason: &str| {
            let event = hub.events().await.pop().expect("an event");
            assert_eq!(event["event"], "administration.refused", "{event}");
            assert_eq!((&event["data"]["operation"], &event["data"]["reason"]), (&json!(operation), &json!(reason)), "{event}");
            assert_eq!(event["address"], "127.0.0.1", "{event}");
            event
        };
        // A permission that the actor does not hold.
        hub.by(&token, &format!("iam/accounts/reset/{}", hub.root), &json!({})).await.problem(403);
        let event = refused("iamResetAccount", "not-held").await;
        assert_eq!(event["actorId"], json!(keeper.to_string()), "{event}");
        // An operation without its permission, refused before the input is read.
        hub.by(&token, &format!("iam/accounts/delete/{}", hub.root), &json!("marker")).await.problem(403);
        let event = refused("iamDeleteAccount", "permission").await;
        assert_eq!((&event["data"]["permission"], &event["actorId"]), (&json!("iam.account.delete"), &json!(keeper.to_string())));
        // A missing permission for a part of the change.
        let made = json!({"username": "x", "tenants": ["11111111-1111-4111-8111-111111111111"]});
        hub.by(&token, "iam/accounts/create", &made).await.problem(403);
        refused("iamCreateAccount", "not-held").await;
        // By GraphQL.
        let mutation = format!("mutation {{ iamDeleteAccount(id: \"{}\") {{ id }} }}", hub.root);
        hub.graphql(Some(&token), &mutation, json!({})).await;
        refused("iamDeleteAccount", "permission").await;
        // A change that nobody may make.
        hub.rest(&format!("iam/accounts/delete/{}", hub.root), json!({})).await.problem(403);
        let event = refused("iamDeleteAccount", "last-administrator").await;
        assert_eq!(event["actorId"], json!(hub.root.to_string()));
        hub.rest("iam/roles/delete/00000000-0000-4000-8000-000000000001", json!({})).await.problem(403);
        refused("iamDeleteRole", "built-in-role").await;
        // A fault of the input, an unknown record and a missing token are no events.
        let before = hub.events().await.len();
        hub.rest("iam/accounts/create", json!({"username": ""})).await.problem(400);
        hub.rest("iam/accounts/delete/11111111-1111-4111-8111-111111111111", json!({})).await.problem(404);
        hub.stage.send(&post(&format!("/api/iam/accounts/delete/{}", hub.root), "{}")).await.problem(401);
        assert_eq!(hub.events().await.len(), before);
        assert!(!json!(hub.events().await).to_string().contains("marker"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_changes_cannot_flood_the_audit_log() {
    // contract I27.21, attack 82
    let hub = AdminHub::start(Backend::Sqlite).await;
    let (_, token) = hub.account("keeper", &["iam.account.get"]).await;
    for _ in 0..40 {
        hub.by(&token, &format!("iam/accounts/delete/{}", hub.root), &json!({})).await.problem(403);
    }
    let rows = hub.events().await.iter().filter(|event| event["event"] == "administration.refused").count();
    assert_eq!(rows, 10, "the others are counted in one event");
}
