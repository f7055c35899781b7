//! What each operation does, over REST and over GraphQL.

use serde_json::{Value, json};

use crate::admin_hub::{AdminHub, signed_in, text};
use crate::support::{BACKENDS, Backend, get, post};
use crate::test_hub::{CLIENT, PASSWORD, basic, cookie, error, posted};

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_created_changed_and_deleted_over_rest() {
    // contract I25.1, I25.3
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let role = hub.create("iam/roles/create", json!({"name": "clerk", "permissions": ["shop.note.get"]})).await;
        let tenant = "11111111-1111-4111-8111-111111111111";
        let account = hub
            .create(
                "iam/accounts/create",
                json!({
                    "username": "bo", "email": "bo@example.com", "roles": ["clerk"], "tenants": [tenant], "meta": {"region": "north"},
                    "tags": ["new"], "scopes": ["a"], "password": "battery staple",
                }),
            )
            .await;
        let id = text(&account["id"]).to_owned();
        assert_eq!((&account["username"], &account["type"], &account["code"]), (&json!("bo"), &json!("USER"), &json!("bo")));
        assert_eq!(account["dPermissions"]["all"], json!(["shop.note.get"]));
        assert_eq!((&account["dTenants"], &account["meta"]), (&json!([tenant]), &json!({"region": "north"})));
        // The answer equals what a read answers.
        let find = format!("iam/accounts/find/{id}");
        assert_eq!(account, hub.row(&find, json!({"roles": true, "tenants": true})).await);
        let tokens = signed_in(&hub.stage, "bo", "battery staple").await.good();
        let me = get("/api/iam/me").header("authorization", &crate::test_hub::bearer(&tokens["access_token"]));
        assert_eq!(hub.stage.send(&me).await.good()["id"], json!(id));

        let update = format!("iam/accounts/update/{id}");
        let changed = hub.rest(&update, json!({"username": "bob", "roles": [role["id"], "clerk"], "tags": []})).await.good();
        assert_eq!((&changed["username"], &changed["code"], &changed["tags"]), (&json!("bob"), &json!("bob"), &json!([])));
        assert_eq!((&changed["email"], changed["roles"].as_array().map(Vec::len)), (&json!("bo@example.com"), Some(1)));
        assert_eq!(changed["meta"], json!({"region": "north"}), "what is left out stays");
        assert_eq!(hub.rest(&update, json!({"roles": [], "tenants": [], "code": "b"})).await.good()["dPermissions"], json!({"all": []}));

        let hash = "$2b$04$abcdefghijklmnopqrstuuWEkHPgfOFuQwUQZ4fKtEkTt4dTgKYxG";
        for input in [json!({"password": "another password"}), json!({"passwordHash": hash})] {
            let set = hub.rest(&format!("iam/accounts/set-password/{id}"), input).await;
            assert_eq!(set.good()["id"], json!(id));
        }
        // contract I27.3
        assert_eq!(hub.stage.send(&me).await.status(), 401, "what was granted before is over");
        hub.rest(&format!("iam/accounts/set-password/{id}"), json!({"password": "another password"})).await.good();
        let tokens = signed_in(&hub.stage, "bob", "another password").await.good();
        let me = get("/api/iam/me").header("authorization", &crate::test_hub::bearer(&tokens["access_token"]));
        assert_eq!(hub.rest(&update, json!({"isActive": false})).await.good()["isActive"], json!(false));
        assert_eq!(hub.stage.send(&me).await.status(), 401, "closed at once");
        assert_eq!(error(&signed_in(&hub.stage, "bob", "another password").await, 400), "invalid_grant");

        assert_eq!(hub.rest(&format!("iam/accounts/delete/{id}"), json!({})).await.good(), json!({"id": id}));
        assert_eq!(hub.post(&find, json!({})).await.status(), 404);
        assert_eq!(hub.rest(&update, json!({"tags": []})).await.problem(404)["code"], "NOT_FOUND");
        hub.create("iam/accounts/create", json!({"email": "bo@example.com", "type": "SERVICE"})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_shown_once_and_sets_a_password_once() {
    // contract I27.4
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let account = hub.create("iam/accounts/create", json!({"username": "bo"})).await;
        let id = text(&account["id"]);
        let first = hub.rest(&format!("iam/accounts/invite/{id}"), json!({})).await.good();
        assert_eq!(first["expiresIn"], 604_800);
        let second = hub.stage.send(&post(&format!("/api/iam/accounts/reset/{id}"), "").header("authorization", &hub.token)).await.good();
        assert_eq!((&second["expiresIn"], &second["id"]), (&json!(3_600), &json!(id)));
        let token = |answer: &Value| text(&answer["link"]).strip_prefix("http://hub.test/password?link=").expect("an address").to_owned();
        let set = async |token: &str, password: &str| {
            hub.stage.send(&posted("/password", &[("link", token), ("password", password)])).await.status()
        };
        assert_eq!(set(&token(&first), "battery staple").await, 400, "an earlier link ends");
        assert_eq!(set(&token(&second), "battery staple").await, 303);
        assert_eq!(set(&token(&second), "stolen password").await, 400, "it works once");
        signed_in(&hub.stage, "bo", "battery staple").await.good();
        let events = json!(hub.events().await).to_string();
        for secret in [token(&first), token(&second), "battery staple".to_owned()] {
            assert!(!events.contains(&secret), "{secret}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_tenants_apps_and_lists_are_created_changed_and_removed() {
    // contract I25.1, I25.3
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let role = hub.create("iam/roles/create", json!({"name": "clerk", "description": "Sells", "permissions": ["shop.note.get"]})).await;
        assert_eq!((&role["description"], &role["permissions"][0]["name"]), (&json!("Sells"), &json!("shop.note.get")));
        let path = |what: &str, row: &Value| format!("{what}/{}", text(&row["id"]));
        let changed =
            hub.rest(&path("iam/roles/update", &role), json!({"permissions": ["shop.note.get", "shop.note.update"]})).await.good();
        assert_eq!((&changed["name"], changed["permissions"].as_array().map(Vec::len)), (&json!("clerk"), Some(2)));
        assert_eq!(hub.rest(&path("iam/roles/delete", &role), json!({})).await.good(), json!({"id": role["id"]}));

        let own = "22222222-2222-4222-8222-222222222222";
        let tenant = hub.create("iam/tenants/create", json!({"name": "North", "id": own})).await;
        assert_eq!((&tenant["id"], &tenant["code"]), (&json!(own), &json!("North")));
        assert_eq!(hub.rest(&path("iam/tenants/update", &tenant), json!({"code": "n"})).await.good()["code"], "n");
        hub.rest(&path("iam/tenants/delete", &tenant), json!({})).await.good();

        let app = hub.create("hub/apps/create", json!({"code": "shop", "url": "https://shop.test/", "isClosed": true})).await;
        assert_eq!((&app["name"], &app["isClosed"]), (&json!("shop"), &json!(true)));
        let listed = hub.create("hub/apps-accounts/create", json!({"appId": app["id"], "accountId": hub.stage.account.to_string()})).await;
        assert_eq!((&listed["appId"], &listed["accountId"]), (&app["id"], &json!(hub.stage.account.to_string())));
        let again = hub.rest("hub/apps-accounts/create", json!({"appId": app["id"], "accountId": hub.stage.account.to_string()})).await;
        assert_eq!(again.problem(409)["code"], "EXISTS");
        hub.rest(&path("hub/apps-accounts/delete", &listed), json!({})).await.good();
        assert_eq!(hub.rest(&path("hub/apps-accounts/delete", &listed), json!({})).await.status(), 404);
        let opened = hub.rest(&path("hub/apps/update", &app), json!({"isClosed": false, "name": "The shop", "code": "s"})).await.good();
        assert_eq!((&opened["isClosed"], &opened["name"], &opened["code"]), (&json!(false), &json!("The shop"), &json!("s")));
        hub.rest(&path("hub/apps/delete", &app), json!({})).await.good();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_s_secret_is_shown_once_and_renewed_with_an_overlap() {
    // contract I25.3, I27.4
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let app = hub.create("hub/apps/create", json!({"code": "web"})).await;
        let input = json!({"id": "web:1%", "name": "Web", "redirect": "https://web.test/back", "grants": ["password", "refresh_token"], "accessTokenSeconds": 60, "appId": app["id"]});
        let client = hub.create("o-auth/clients/create", input).await;
        let secret = text(&client["secret"]).to_owned();
        assert_eq!(
            (&client["id"], &client["accessTokenSeconds"], &client["refreshTokenSeconds"]),
            (&json!("web:1%"), &json!(60), &json!(2_592_000))
        );
        let ask = |secret: &str| {
            let pairs = [("grant_type", "password"), ("username", "ada"), ("password", PASSWORD)];
            posted("/token", &pairs).header("authorization", &basic("web:1%", secret))
        };
        assert_eq!(hub.stage.send(&ask(&secret)).await.good()["expires_in"], 60);
        let renewed = hub.rest("o-auth/clients/rotate-secret/web%3A1%25", json!({})).await.good();
        assert_eq!((&renewed["id"], &renewed["previousCountsFor"]), (&json!("web:1%"), &json!(86_400)));
        for secret in [&secret, text(&renewed["secret"])] {
            hub.stage.send(&ask(secret)).await.good();
        }
        let changed = hub.rest("o-auth/clients/update/web%3A1%25", json!({"name": "The web", "isActive": false})).await.good();
        assert_eq!((&changed["name"], &changed["isActive"], changed.get("secret")), (&json!("The web"), &json!(false), None));
        assert_eq!(error(&hub.stage.send(&ask(text(&renewed["secret"]))).await, 401), "invalid_client");
        let seen = json!([hub.events().await, hub.post("o-auth/clients/list", json!({})).await.good()]).to_string();
        assert!(!seen.contains(&secret) && !seen.contains(text(&renewed["secret"])), "{seen}");
        assert_eq!(hub.rest("o-auth/clients/delete/web%3A1%25", json!({})).await.good(), json!({"id": "web:1%"}));
        assert_eq!(hub.rest("o-auth/clients/delete/web%3A1%25", json!({})).await.status(), 404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_the_default_grants_unless_others_are_sent() {
    // contract I25.3
    let hub = AdminHub::start(Backend::Sqlite).await;
    for (id, grants, had) in [
        ("unsaid", None, json!(["authorization_code", "refresh_token"])),
        ("none", Some(json!([])), json!([])),
        ("null", Some(json!(null)), json!([])),
        ("one", Some(json!(["password"])), json!(["password"])),
    ] {
        let mut payload = json!({"id": id, "name": "Web", "redirect": "https://web.test/back"});
        payload.as_object_mut().unwrap().extend(grants.map(|grants| ("grants".to_owned(), grants)));
        assert_eq!(hub.create("o-auth/clients/create", payload).await["grants"], had, "{id}");
    }
    assert_eq!(hub.rest("o-auth/clients/update/one", json!({"grants": []})).await.good()["grants"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_and_ended() {
    // contract I28.1, I27.3
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let ada = hub.stage.account.to_string();
        let (one, two) = (hub.stage.sign_in().await, hub.stage.sign_in().await);
        let ask = json!({"query": {"where": {"accountId": {"eq": ada}}, "relations": {"account": true}}});
        let sessions = hub.post("iam/sessions/list", ask.clone()).await.good();
        assert_eq!((sessions.as_array().map(Vec::len), &sessions[0]["account"]["username"]), (Some(2), &json!("ada")), "{sessions}");
        let page = |cookie: &str| get("/").header("cookie", cookie);
        let first = text(&sessions[0]["id"]).to_owned();
        let ended = hub.rest(&format!("iam/sessions/end/{first}"), json!({})).await.good();
        assert_eq!((&ended["sessions"], &ended["grants"]), (&json!(1), &json!(0)));
        let open = [&one, &two];
        let mut left = 0;
        for cookie in open {
            left += usize::from(hub.stage.send(&page(cookie)).await.status() == 200);
        }
        assert_eq!(left, 1, "the other session lives on");
        assert_eq!(hub.rest(&format!("iam/sessions/end/{first}"), json!({})).await.problem(404)["code"], "NOT_FOUND");
        let tokens = hub.stage.tokens().await;
        let all = hub.rest(&format!("iam/accounts/end-sessions/{ada}"), json!({})).await.good();
        assert_eq!((&all["id"], &all["sessions"], &all["grants"]), (&json!(ada), &json!(1), &json!(1)));
        assert_eq!(hub.post("iam/sessions/list", ask).await.good(), json!([]));
        let me = get("/api/iam/me").header("authorization", &crate::test_hub::bearer(&tokens["access_token"]));
        assert_eq!(hub.stage.send(&me).await.status(), 401);
        assert!(!cookie(&hub.stage.send(&posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)])).await).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_an_event_with_its_actor() {
    // contract I27.4, I28.1
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let before = hub.events().await.len();
        let account = hub.create("iam/accounts/create", json!({"username": "bo"})).await;
        let id = text(&account["id"]).to_owned();
        let app = hub.create("hub/apps/create", json!({"code": "a"})).await;
        let listed = hub.create("hub/apps-accounts/create", json!({"appId": app["id"], "accountId": id})).await;
        let steps = [
            format!("hub/apps-accounts/delete/{}", text(&listed["id"])),
            format!("iam/accounts/invite/{id}"),
            format!("iam/accounts/end-sessions/{id}"),
            format!("iam/accounts/delete/{id}"),
        ];
        for path in &steps {
            hub.rest(path, json!({})).await.good();
        }
        // A refused change leaves no event.
        hub.rest("hub/apps/create", json!({"code": "a"})).await.problem(409);
        let events = hub.events().await.split_off(before);
        let names: Vec<&str> = events.iter().map(|event| text(&event["event"])).collect();
        let expected = [
            "account.created",
            "app.created",
            "app.account-added",
            "app.account-removed",
            "account.link-made",
            "account.signed-out",
            "account.removed",
        ];
        assert_eq!(names, expected);
        for event in &events {
            assert_eq!((&event["actorId"], &event["address"]), (&json!(hub.root.to_string()), &json!("127.0.0.1")), "{event}");
        }
        assert_eq!((&events[2]["data"]["app"], &events[2]["accountId"]), (&app["id"], &json!(id)));
        let page = hub
            .post(
                "iam/events/paginate",
                json!({"query": {"limit": 1, "order": [{"field": "sequence", "dir": "desc"}], "relations": {"actor": true}}}),
            )
            .await
            .good();
        assert_eq!((&page["count"], &page["rows"][0]["actor"]["username"]), (&json!(1), &json!("root")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_a_graphql_mutation() {
    // contract I25.1, I25.4
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let document = "mutation ($account: IamCreateAccountInput!, $client: OAuthCreateClientInput!) {
            role: iamCreateRole(payload: {name: \"clerk\", permissions: [\"shop.note.get\"]}) { id name permissions { name } }
            account: iamCreateAccount(payload: $account) { id username isActive roles { name } tenants { id } meta dPermissions __typename }
            tenant: iamCreateTenant(payload: {name: \"North\"}) { id code }
            client: oAuthCreateClient(payload: $client) { id secret previousCountsFor grants }
            app: hubCreateApp(payload: {code: \"web\", isClosed: true}) { id isClosed }
            __typename
        }";
        let variables = json!({
            "account": {"username": "bo", "roles": ["clerk"], "meta": {"deep": [1, {"a": null}]}, "email": null},
            "client": {"id": "web", "name": "Web", "redirect": "https://web.test/"},
        });
        let data = hub.data(document, variables).await;
        // The mutations run in order: the role exists before its account.
        assert_eq!((&data["account"]["roles"], &data["__typename"]), (&json!([{"name": "clerk"}]), &json!("Mutation")));
        assert_eq!((&data["account"]["meta"], &data["account"]["__typename"]), (&json!({"deep": [1, {"a": null}]}), &json!("IamAccount")));
        assert_eq!(
            (&data["client"]["previousCountsFor"], &data["client"]["grants"]),
            (&json!(null), &json!(["authorization_code", "refresh_token"]))
        );
        assert_eq!(text(&data["client"]["secret"]).len(), 43);
        let document = "mutation ($id: ID!, $role: ID!, $tenant: ID!, $app: ID!, $appId: UUID!, $accountId: UUID!) {
            iamUpdateAccount(id: $id, payload: {email: \"bo@example.com\", isActive: true}) { email username }
            iamSetAccountPassword(id: $id, payload: {password: \"battery staple\"}) { id }
            iamInviteAccount(id: $id) { id link expiresIn }
            iamResetAccount(id: $id) { expiresIn }
            iamEndAccountSessions(id: $id) { id sessions grants }
            iamUpdateRole(id: $role, payload: {name: \"seller\"}) { name }
            iamUpdateTenant(id: $tenant, payload: {name: \"South\"}) { name code }
            oAuthUpdateClient(id: \"web\", payload: {name: \"The web\", refreshTokenSeconds: 60}) { name refreshTokenSeconds }
            oAuthRotateClientSecret(id: \"web\") { id secret previousCountsFor }
            hubUpdateApp(id: $app, payload: {name: \"The app\"}) { name }
            hubCreateAppAccount(payload: {appId: $appId, accountId: $accountId}) { id accountId }
        }";
        let (id, role, tenant, app) = (&data["account"]["id"], &data["role"]["id"], &data["tenant"]["id"], &data["app"]["id"]);
        let ids = json!({"id": id, "role": role, "tenant": tenant, "app": app, "appId": app, "accountId": id});
        let changed = hub.data(document, ids.clone()).await;
        assert_eq!(changed["iamUpdateAccount"], json!({"email": "bo@example.com", "username": "bo"}));
        assert!(text(&changed["iamInviteAccount"]["link"]).starts_with("http://hub.test/password?link="));
        assert_eq!((&changed["iamInviteAccount"]["expiresIn"], &changed["iamResetAccount"]["expiresIn"]), (&json!(604_800), &json!(3_600)));
        assert_eq!(changed["iamEndAccountSessions"], json!({"id": id, "sessions": 0, "grants": 0}));
        assert_eq!((&changed["iamUpdateRole"]["name"], &changed["iamUpdateTenant"]["name"]), (&json!("seller"), &json!("South")));
        assert_eq!(changed["oAuthUpdateClient"], json!({"name": "The web", "refreshTokenSeconds": 60}));
        assert_eq!(changed["oAuthRotateClientSecret"]["previousCountsFor"], 86_400);
        assert_eq!(changed["hubCreateAppAccount"]["accountId"], *id);
        signed_in(&hub.stage, "bo", "battery staple").await.good();
        assert_eq!(CLIENT, "shop");
        let listed = changed["hubCreateAppAccount"]["id"].clone();
        let sessions = {
            hub.stage.sign_in().await;
            hub.data("{ iamGetSessions { id } }", json!({})).await
        };
        let document = "mutation ($id: ID!, $role: ID!, $tenant: ID!, $app: ID!, $listed: ID!, $session: ID!) {
            iamEndSession(id: $session) { sessions }
            hubDeleteAppAccount(id: $listed) { id } hubDeleteApp(id: $app) { id } oAuthDeleteClient(id: \"web\") { id }
            iamDeleteTenant(id: $tenant) { id } iamDeleteRole(id: $role) { id } iamDeleteAccount(id: $id) { id }
        }";
        let ids =
            json!({"id": id, "role": role, "tenant": tenant, "app": app, "listed": listed, "session": sessions["iamGetSessions"][0]["id"]});
        let gone = hub.data(document, ids).await;
        assert_eq!((&gone["iamDeleteAccount"]["id"], &gone["oAuthDeleteClient"]["id"]), (id, &json!("web")));
        assert_eq!((&gone["iamEndSession"]["sessions"], &gone["hubDeleteAppAccount"]["id"]), (&json!(1), &listed));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mutations_run_in_order_each_in_its_own_transaction() {
    // contract I25.4
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let document = "mutation {
            a: iamCreateTenant(payload: {name: \"North\"}) { code }
            b: iamCreateTenant(payload: {name: \"North\"}) { code }
            c: iamCreateTenant(payload: {name: \"South\"}) { code }
        }";
        let answer = hub.graphql(Some(&hub.token), document, json!({})).await;
        assert_eq!(answer["data"], json!({"a": {"code": "North"}, "b": null, "c": {"code": "South"}}));
        assert_eq!((&answer["errors"][0]["path"], answer["errors"].as_array().map(Vec::len)), (&json!(["b"]), Some(1)));
        let problem = &answer["errors"][0]["extensions"];
        assert_eq!((&problem["code"], &problem["status"]), (&json!("EXISTS"), &json!(409)));
        let tenants = hub.post("iam/tenants/list", json!({})).await.good();
        assert_eq!(tenants.as_array().map(Vec::len), Some(2));
        // A GET request changes nothing.
        let query = "mutation%20%7B%20iamCreateTenant(payload%3A%7Bname%3A%22West%22%7D)%20%7B%20id%20%7D%20%7D";
        let answer = hub.stage.send(&get(&format!("/graphql?query={query}")).header("authorization", &hub.token)).await;
        assert_eq!((answer.status(), answer.header("allow")), (405, Some("POST")));
        let many: Vec<String> = (0..21).map(|index| format!("t{index}: iamDeleteTenant(id: \"x\") {{ id }}")).collect();
        let answer = hub.graphql(Some(&hub.token), &format!("mutation {{ {} }}", many.join(" ")), json!({})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "GRAPHQL_LIMIT_EXCEEDED", "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_an_app_gets_one_of_its_own() {
    // contract I24.4
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let new = json!({"id": "web", "name": "Web", "redirect": "https://web.test/callback", "grants": ["password", "refresh_token"]});
        let client = hub.create("o-auth/clients/create", new).await;
        let (account, _) = hub.account("bo", &[]).await;
        let listed = async || hub.post("hub/apps-accounts/list", json!({"query": {"relations": {"app": true}}})).await.good();
        assert_eq!(listed().await, json!([]));
        let pairs = [("grant_type", "password"), ("username", "bo"), ("password", PASSWORD)];
        for _ in 0..2 {
            hub.stage.send(&posted("/token", &pairs).header("authorization", &basic("web", text(&client["secret"])))).await.good();
        }
        let rows = listed().await;
        assert_eq!(rows.as_array().map(Vec::len), Some(1), "{rows}");
        assert_eq!((&rows[0]["accountId"], &rows[0]["app"]["name"]), (&json!(account.to_string()), &json!("Web")));
        // A client with an app gets no own app, and an own app is removed with its client.
        hub.create("hub/apps/create", json!({"code": "web"})).await;
        hub.rest("hub/apps/create", json!({"code": "client:other"})).await.problem(400);
        let again = json!({"id": "web", "name": "Web", "redirect": "https://web.test/callback"});
        assert_eq!(hub.rest("o-auth/clients/create", again).await.problem(409)["detail"], "a client with this id exists already");
        hub.rest("o-auth/clients/delete/web", json!({})).await.good();
        assert_eq!(listed().await, json!([]));
        let apps = hub.post("hub/apps/list", json!({})).await.good();
        assert_eq!(apps.as_array().map(Vec::len), Some(1), "{apps}");
        // An own app that another client belongs to stays, and stays closed.
        let client = hub.create("o-auth/clients/create", json!({"id": "a", "name": "A", "redirect": "https://a.test/callback"})).await;
        let shared = json!({"id": "b", "name": "B", "redirect": "https://b.test/callback", "appId": client["appId"]});
        hub.create("o-auth/clients/create", shared).await;
        hub.rest("o-auth/clients/delete/a", json!({})).await.good();
        let other = hub.post("o-auth/clients/find/b", json!({})).await.good();
        assert_eq!((&other["appId"], other["appId"].is_string()), (&client["appId"], true), "{other}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_removal_of_a_closed_app_opens_nothing() {
    // contract I24.4
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let closed = hub.create("hub/apps/create", json!({"code": "shop", "isClosed": true})).await;
        let redirect = "https://web.test/callback";
        let own = hub.create("o-auth/clients/create", json!({"id": "web", "name": "Web", "redirect": redirect})).await;
        hub.rest("o-auth/clients/update/web", json!({"appId": closed["id"]})).await.good();
        hub.create("o-auth/clients/create", json!({"id": "hub", "name": "AdminHub", "redirect": redirect, "appId": closed["id"]})).await;
        let app = async |client: &str| {
            let query = json!({"query": {"where": {"id": {"eq": client}}, "relations": {"app": true}}});
            hub.post("o-auth/clients/list", query).await.good()[0]["app"].clone()
        };
        let delete = async |id: &Value| hub.rest(&format!("hub/apps/delete/{}", text(id)), json!({})).await.good();
        delete(&closed["id"]).await;
        for client in ["web", "hub"] {
            assert_eq!((&app(client).await["code"], &app(client).await["isClosed"]), (&json!(format!("client:{client}")), &json!(true)));
        }
        assert_eq!(app("web").await["id"], own["appId"], "the one that it had before");
        // Its own app is created again, closed and with an empty list.
        delete(&own["appId"]).await;
        assert_eq!((app("web").await["id"] == own["appId"], &app("web").await["isClosed"]), (false, &json!(true)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn graphql_coerces_one_value_to_a_list_and_refuses_a_null_condition() {
    // contract G2.5
    let hub = AdminHub::start(Backend::Sqlite).await;
    let made =
        hub.data(r#"mutation { iamCreateRole(payload: {name: "one", permissions: "iam.role.get"}) { id name } }"#, Value::Null).await;
    assert_eq!(made["iamCreateRole"]["name"], "one");
    let role =
        hub.post("iam/roles/list", json!({"query": {"where": {"name": {"eq": "one"}}, "relations": {"permissions": true}}})).await.good();
    assert_eq!(role[0]["permissions"][0]["name"], "iam.role.get", "{role}");
    // A variable with a default can still be null: the directive then has no condition, and nothing is executed.
    for directive in ["@skip(if: $no)", "@include(if: $no)"] {
        let document = format!(
            r#"mutation ($no: Boolean = true) {{ a: iamCreateRole(payload: {{name: "two", permissions: []}}) {{ ...F }} }} fragment F on IamRole {{ id {directive} }}"#
        );
        let answer = hub.graphql(Some(&hub.token), &document, json!({"no": null})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{answer}");
        assert!(
            answer["data"].is_null() && answer["errors"][0]["message"].as_str().is_some_and(|text| text.contains("found null")),
            "{answer}"
        );
    }
    let roles = hub.post("iam/roles/list", json!({"query": {"where": {"name": {"eq": "two"}}}})).await.good();
    assert_eq!(roles, json!([]));
}
