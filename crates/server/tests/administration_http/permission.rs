//! Permissions are checked before the input is read.

use peristyle::random;
use serde_json::json;

use crate::admin_hub::{AdminHub, administers, text};
use crate::support::{BACKENDS, Backend, Database, Request, Setup, get, post};

/// Every operation: its path, its mutation, its permission.
const OPERATIONS: [(&str, &str, &str); 23] = [
    ("iam/accounts/create", "iamCreateAccount(payload: {}) { id }", "iam.account.create"),
    ("iam/accounts/update/x", "iamUpdateAccount(id: \"x\", payload: {}) { id }", "iam.account.update"),
    ("iam/accounts/delete/x", "iamDeleteAccount(id: \"x\") { id }", "iam.account.delete"),
    ("iam/accounts/invite/x", "iamInviteAccount(id: \"x\") { id }", "iam.account.update"),
    ("iam/accounts/reset/x", "iamResetAccount(id: \"x\") { id }", "iam.account.update"),
    ("iam/accounts/set-password/x", "iamSetAccountPassword(id: \"x\", payload: {}) { id }", "iam.account.update"),
    ("iam/accounts/end-sessions/x", "iamEndAccountSessions(id: \"x\") { id }", "iam.session.delete"),
    ("iam/sessions/end/x", "iamEndSession(id: \"x\") { id }", "iam.session.delete"),
    ("iam/roles/create", "iamCreateRole(payload: {name: \"\"}) { id }", "iam.role.create"),
    ("iam/roles/update/x", "iamUpdateRole(id: \"x\", payload: {}) { id }", "iam.role.update"),
    ("iam/roles/delete/x", "iamDeleteRole(id: \"x\") { id }", "iam.role.delete"),
    ("iam/tenants/create", "iamCreateTenant(payload: {name: \"\"}) { id }", "iam.tenant.create"),
    ("iam/tenants/update/x", "iamUpdateTenant(id: \"x\", payload: {}) { id }", "iam.tenant.update"),
    ("iam/tenants/delete/x", "iamDeleteTenant(id: \"x\") { id }", "iam.tenant.delete"),
    ("o-auth/clients/create", "oAuthCreateClient(payload: {id: \"\", name: \"\", redirect: \"\"}) { id }", "oAuth.client.create"),
    ("o-auth/clients/update/x", "oAuthUpdateClient(id: \"x\", payload: {}) { id }", "oAuth.client.update"),
    ("o-auth/clients/rotate-secret/x", "oAuthRotateClientSecret(id: \"x\") { id }", "oAuth.client.update"),
    ("o-auth/clients/delete/x", "oAuthDeleteClient(id: \"x\") { id }", "oAuth.client.delete"),
    ("hub/apps/create", "hubCreateApp(payload: {code: \"\"}) { id }", "hub.app.create"),
    ("hub/apps/update/x", "hubUpdateApp(id: \"x\", payload: {}) { id }", "hub.app.update"),
    ("hub/apps/delete/x", "hubDeleteApp(id: \"x\") { id }", "hub.app.delete"),
    ("hub/apps-accounts/create", "hubCreateAppAccount(payload: {appId: \"\", accountId: \"\"}) { id }", "hub.appAccount.create"),
    ("hub/apps-accounts/delete/x", "hubDeleteAppAccount(id: \"x\") { id }", "hub.appAccount.delete"),
];

#[tokio::test(flavor = "multi_thread")]
async fn without_the_permission_the_input_is_not_read() {
    // contract I25.2
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let cookie = hub.stage.sign_in().await;
        let all: Vec<&str> = OPERATIONS.iter().map(|(_, _, permission)| *permission).collect();
        let mut holders = std::collections::HashMap::new();
        for permission in &all {
            if !holders.contains_key(permission) {
                let others: Vec<&str> = all.iter().filter(|other| *other != permission).copied().collect();
                let name = permission.replace('.', "-");
                holders.insert(*permission, hub.account(&name, &others).await.1);
            }
        }
        for (path, mutation, permission) in OPERATIONS {
            let address = format!("/api/{path}");
            for body in ["", "{", "{\"nonsense\": 1}"] {
                let nobody = hub.stage.send(&post(&address, body)).await;
                assert_eq!(nobody.header("www-authenticate"), Some("Bearer"), "{path}");
                assert_eq!(nobody.problem(401)["code"], "UNAUTHENTICATED", "{path}");
                assert!(!nobody.text().contains(permission), "{}", nobody.text());
                // A session cookie is no token: a web page cannot make a browser change anything.
                let riding = hub.stage.send(&post(&address, body).header("cookie", &cookie)).await;
                assert_eq!(riding.problem(401)["code"], "UNAUTHENTICATED", "{path}");
                let lacking = hub.stage.send(&post(&address, body).header("authorization", &holders[permission])).await;
                let problem = lacking.problem(403);
                assert_eq!(problem["code"], "FORBIDDEN", "{path}");
                assert_eq!(problem["detail"], format!("this needs the permission {permission}"), "{path}");
            }
            let document = format!("mutation {{ {mutation} }}");
            let request = post("/graphql", json!({"query": document}).to_string());
            for (request, code) in [
                (request.clone(), "UNAUTHENTICATED"),
                (request.clone().header("cookie", &cookie), "UNAUTHENTICATED"),
                (request.clone().header("authorization", &holders[permission]), "FORBIDDEN"),
            ] {
                let answer = hub.stage.send(&request).await.good();
                assert_eq!(answer["errors"][0]["extensions"]["code"], code, "{mutation}: {answer}");
            }
            // With the permission, the input is refused.
            let allowed = hub.rest(path, json!({"nonsense": 1})).await;
            assert!([400, 404].contains(&allowed.status()), "{path}: {}", allowed.text());
            let wrong = hub.stage.send(&get(&address).header("authorization", &hub.token)).await;
            assert_eq!((wrong.status(), wrong.header("allow")), (405, Some("POST")), "{path}");
        }
        for path in
            ["iam/accounts/destroy/x", "iam/accounts/create/x", "iam/accounts/update", "iam/permissions/create", "shop/notes/update"]
        {
            assert_eq!(hub.rest(path, json!({})).await.problem(404)["code"], "NOT_FOUND", "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_an_unmarked_client_changes_nothing() {
    // contract I25.5, attack 64
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        administers(&hub.stage, false).await;
        let (_, lacking) = hub.account("lacking", &["iam.account.get"]).await;
        for (path, mutation, _) in OPERATIONS {
            for body in ["", "{", "{\"nonsense\": 1}"] {
                let answer = hub.stage.send(&post(&format!("/api/{path}"), body).header("authorization", &hub.token)).await;
                let problem = answer.problem(403);
                assert_eq!(problem["code"], "CLIENT_MAY_NOT_ADMINISTER", "{path}");
                assert!(text(&problem["detail"]).contains("client update --id shop --administers true"), "{problem}");
                let both = hub.stage.send(&post(&format!("/api/{path}"), body).header("authorization", &lacking)).await;
                assert_eq!(both.problem(403)["code"], "FORBIDDEN", "who may not at all hears nothing of clients");
            }
            let answer = hub.graphql(Some(&hub.token), &format!("mutation {{ {mutation} }}"), json!({})).await;
            assert_eq!(answer["errors"][0]["extensions"]["code"], "CLIENT_MAY_NOT_ADMINISTER", "{mutation}: {answer}");
        }
        // Reads are not affected.
        hub.post("iam/accounts/list", json!({})).await.good();
        let clients = hub.post("o-auth/clients/list", json!({})).await.good();
        assert_eq!(clients[0]["administers"], false, "{clients}");
        assert_eq!(hub.data("{ iamMeAccount { username } }", json!({})).await["iamMeAccount"]["username"], "root");
        // The same token counts exactly while its client is marked.
        administers(&hub.stage, true).await;
        let made = hub.create("o-auth/clients/create", json!({"id": "web", "name": "Web", "redirect": "https://web.test/back"})).await;
        assert_eq!(made["administers"], false, "{made}");
        let marked = hub.rest("o-auth/clients/update/web", json!({"administers": true})).await.good();
        assert_eq!(marked["administers"], true);
        assert_eq!(
            hub.rest("o-auth/clients/update/web", json!({"name": "Web 2"})).await.good()["administers"],
            true,
            "what is left out stays"
        );
        let own = hub.rest("o-auth/clients/update/shop", json!({"administers": false})).await;
        assert_eq!(own.good()["administers"], false);
        assert_eq!(
            hub.rest("o-auth/clients/update/shop", json!({"administers": true})).await.problem(403)["code"],
            "CLIENT_MAY_NOT_ADMINISTER"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_needs_only_the_permission_that_it_names() {
    // contract I25.2
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let app = text(&hub.create("hub/apps/create", json!({"code": "till"})).await["id"]).to_owned();
        let mut holders = std::collections::HashMap::new();
        for (path, _, permission) in OPERATIONS {
            if !holders.contains_key(permission) {
                holders.insert(permission, hub.account(&permission.replace('.', "-"), &[permission]).await.1);
            }
            // A valid input, for a missing record or a new one.
            let body = match path {
                "iam/accounts/create" => json!({"username": "bo"}),
                "iam/accounts/set-password/x" => json!({"password": "long enough"}),
                "iam/roles/create" => json!({"name": "nothing"}),
                "iam/tenants/create" => json!({"name": "North"}),
                "o-auth/clients/create" => json!({"id": "till", "name": "Till", "redirect": "https://till.test/back"}),
                "hub/apps/create" => json!({"code": "shelf"}),
                "hub/apps-accounts/create" => json!({"appId": app, "accountId": hub.root.to_string()}),
                _ => json!({}),
            };
            let (address, status) = match path.strip_suffix("/x") {
                Some(address) => (format!("{address}/{}", random::uuid()), 404),
                None => (path.to_owned(), 201),
            };
            let answer = hub.by(&holders[permission], &address, &body).await;
            assert_eq!(answer.status(), status, "{path}: {}", answer.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_may_change_but_not_read_gets_only_the_key() {
    // contract I25.3
    let hub = AdminHub::start(Backend::Sqlite).await;
    let (_, blind) = hub.account("blind", &["iam.tenant.create", "iam.account.create"]).await;
    let tenant = hub.by(&blind, "iam/tenants/create", &json!({"name": "North"})).await;
    assert_eq!((tenant.status(), tenant.json().as_object().map(serde_json::Map::len)), (201, Some(1)), "{}", tenant.text());
    assert_eq!(text(&tenant.json()["id"]).len(), 36);
    let document = "mutation { iamCreateTenant(payload: {name: \"South\"}) { id name } }";
    let answer = hub.graphql(Some(&blind), document, json!({})).await;
    assert_eq!(answer["data"]["iamCreateTenant"]["name"], json!(null), "{answer}");
    let error = &answer["errors"][0];
    assert_eq!((&error["extensions"]["code"], &error["path"]), (&json!("FORBIDDEN"), &json!(["iamCreateTenant", "name"])), "{answer}");
    // Relations need their own permissions.
    let (_, half) = hub.account("half", &["iam.account.create", "iam.account.get", "iam.tenant.get"]).await;
    let account = hub.by(&half, "iam/accounts/create", &json!({"username": "bo"})).await.json();
    assert_eq!((account.get("roles"), &account["tenants"]), (None, &json!([])), "{account}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relation_that_a_document_selects_needs_its_permission() {
    // contract G1.4, I25.3
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let made = "mutation { iamCreateRole(payload: {name: \"clerk\", permissions: [\"iam.role.get\"]}) { id permissions { name roles { name } } accounts { id } } }";
        let role = hub.data(made, json!({})).await["iamCreateRole"].take();
        assert_eq!(role["accounts"], json!([]), "{role}");
        assert_eq!(role["permissions"][0]["name"], "iam.role.get", "{role}");
        let holders = role["permissions"][0]["roles"].as_array().unwrap();
        assert!(holders.contains(&json!({"name": "clerk"})) && holders.contains(&json!({"name": "administrator"})), "{role}");
        // A refused relation refuses the operation, and nothing changes.
        let (_, half) = hub.account("half", &["iam.account.create", "iam.account.get", "iam.tenant.get"]).await;
        let document = "mutation { iamCreateAccount(payload: {username: \"bo\"}) { username tenants { id } roles { name } } }";
        let answer = hub.graphql(Some(&half), document, json!({})).await;
        assert_eq!(answer["data"]["iamCreateAccount"], json!(null), "{answer}");
        assert_eq!(answer["errors"][0]["extensions"]["errors"][0]["path"], "/query/relations/roles", "{answer}");
        let answer = hub.graphql(Some(&half), &document.replace("roles { name }", ""), json!({})).await;
        assert_eq!(answer["data"]["iamCreateAccount"], json!({"username": "bo", "tenants": []}), "{answer}");
        // Of the own account, roles and tenants need no permission; other relations do.
        let own = "{ iamMeAccount { username roles { name } tenants { id } } }";
        let answer = hub.graphql(Some(&half), own, json!({})).await;
        assert_eq!(answer["data"]["iamMeAccount"]["username"], "half", "{answer}");
        assert!(answer["data"]["iamMeAccount"]["roles"].is_array(), "{answer}");
        for wider in ["apps { id }", "sessions { id }", "roles { accounts { id } }"] {
            let document = format!("{{ iamMeAccount {{ username {wider} }} }}");
            let refused = hub.graphql(Some(&half), &document, json!({})).await;
            assert_eq!(refused["data"]["iamMeAccount"], json!(null), "{refused}");
            let seen = hub.data(&document, json!({})).await["iamMeAccount"].take();
            assert_eq!(seen["username"], "root", "{seen}");
            let relation = wider.split(' ').next().unwrap();
            assert!(seen[relation].is_array(), "{seen}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_administration_without_a_hub() {
    // contract I25.1, I29.1
    let database = Database::with(Backend::Sqlite, "SELECT 1").await;
    let server = Setup::new("").serve(&database).await;
    for (path, _, _) in OPERATIONS {
        assert_eq!(server.post(&format!("/api/{path}"), "{}").await.problem(404)["code"], "NOT_FOUND", "{path}");
    }
    let ask =
        |query: &str| Request::new("POST", "/graphql").header("content-type", "application/json").body(json!({"query": query}).to_string());
    let schema = server.send(&ask("{ __schema { mutationType { name } types { name } } }")).await.good();
    assert_eq!(schema["data"]["__schema"]["mutationType"], json!(null));
    assert!(!schema.to_string().contains("Iam") && !schema.to_string().contains("Deleted"), "{schema}");
    let openapi = server.get("/api/openapi.json").await.text();
    for word in ["/api/iam", "securitySchemes", "INVALID_INPUT", "/token", "Problem401\":{\"$ref"] {
        assert!(!openapi.contains(word), "{word}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_permission_to_see_sql_can_be_granted() {
    // contract E5.4
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let role = hub.rest("iam/roles/create", json!({"name": "tuner", "permissions": ["peristyle.explain", "iam.account.get"]})).await;
        assert_eq!(role.status(), 201, "{}", role.text());
        let (_, reader) = hub.account("reader", &["iam.account.get"]).await;
        let (_, tuner) = hub.account("tuner", &["iam.account.get", "peristyle.explain"]).await;
        assert_eq!(hub.post_by(&reader, "iam/accounts/explain", &json!({})).await.problem(403)["code"], "FORBIDDEN");
        assert_eq!(hub.post_by(&tuner, "iam/accounts/explain", &json!({})).await.status(), 200);
        assert_eq!(hub.rest("iam/roles/create", json!({"name": "odd", "permissions": ["peristyle.other"]})).await.status(), 400);
    }
}
