//! Permissions of a token, and the records of the hub as resources.

use serde_json::json;

use crate::support::{BACKENDS, Request, get, post};
use crate::test_hub::{TestHub, bearer};

async fn bearer_of(hub: &TestHub, name: &str) -> String {
    bearer(&hub.tokens_of(name).await["access_token"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_401_without_a_token_and_403_with_one() {
    // contract I24.1
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        hub.add_account("bob", &[]).await;
        let notes = post("/api/shop/notes/list", "");
        let anonymous = hub.send(&notes).await;
        assert_eq!(anonymous.header("www-authenticate"), Some("Bearer"));
        assert_eq!(anonymous.problem(401)["code"], "UNAUTHENTICATED");
        let bob = bearer_of(&hub, "bob").await;
        assert_eq!(hub.send(&notes.clone().header("authorization", &bob)).await.problem(403)["code"], "FORBIDDEN");
        let ada = bearer_of(&hub, "ada").await;
        assert_eq!(hub.send(&notes.clone().header("authorization", &ada)).await.good(), json!([{"id": 1}]));
        // An invalid token gets 401 even where no token is needed.
        let open = post("/api/shop/opens/list", "");
        assert_eq!(hub.send(&open).await.status(), 200);
        for header in ["Bearer x", "Bearer", "Basic eDp5", "Bearer a.b.c"] {
            for request in [open.clone(), get("/docs/resources.json"), post("/graphql", r#"{"query":"{ __typename }"}"#)] {
                let answer = hub.send(&request.header("authorization", header)).await;
                assert_eq!((answer.status(), answer.header("www-authenticate")), (401, Some("Bearer error=\"invalid_token\"")), "{header}");
            }
        }
        store::hub_records::accounts::by_id(&hub.records, hub.account).await.unwrap();
        let mut account = store::hub_records::accounts::by_id(&hub.records, hub.account).await.unwrap().unwrap();
        account.is_active = false;
        let mut transaction = hub.records.begin().await.unwrap();
        store::hub_records::accounts::update(&mut transaction, &account, crate::test_hub::now()).await.unwrap();
        transaction.commit().await.unwrap();
        // attack 35: a closed account gets 401 at once
        assert_eq!(hub.send(&notes.header("authorization", &ada)).await.status(), 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_records_of_the_hub_are_resources_without_their_secrets() {
    // contract I24.2, I24.3, I12.2
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let names = [
            "iam.account.get",
            "iam.role.get",
            "iam.permission.get",
            "iam.tenant.get",
            "oAuth.client.get",
            "hub.app.get",
            "hub.appAccount.get",
        ];
        hub.add_account("root", &names).await;
        let root = bearer_of(&hub, "root").await;
        let ask = |path: &str, body: &str| post(path, body).header("authorization", &root);
        for plural in ["iam/accounts", "iam/roles", "iam/permissions", "iam/tenants", "o-auth/clients", "hub/apps", "hub/apps-accounts"] {
            assert_eq!(hub.send(&post(&format!("/api/{plural}/paginate"), "")).await.status(), 401);
            let text = hub.send(&ask(&format!("/api/{plural}/paginate"), "")).await;
            assert_eq!(text.status(), 200, "{plural}: {}", text.text());
            for word in ["argon2", "hash", "secret"] {
                assert!(!text.text().to_lowercase().contains(word), "{plural}: {}", text.text());
            }
        }
        let loaded = r#"{"query":{"where":{"username":{"eq":"root"}},"relations":{"roles":{"relations":{"permissions":true}}}}}"#;
        let rows = hub.send(&ask("/api/iam/accounts/list", loaded)).await.good();
        assert_eq!(rows[0]["roles"][0]["permissions"].as_array().map(Vec::len), Some(names.len()), "{rows}");
        assert_eq!(rows[0]["dPermissions"]["all"].as_array().map(Vec::len), Some(names.len()));
        let everything = r#"{"query":{"where":{"name":{"eq":"administrator"}},"relations":{"permissions":true}}}"#;
        let held = hub.send(&ask("/api/iam/roles/list", everything)).await.good()[0]["permissions"].as_array().map(Vec::len);
        let by_role = r#"{"query":{"where":{"roles":{"name":{"eq":"administrator"}}}}}"#;
        let found = hub.send(&ask("/api/iam/permissions/paginate", by_role)).await.good()["total"].clone();
        let known = hub.send(&ask("/api/iam/permissions/paginate", "")).await.good()["total"].clone();
        assert_eq!((json!(held), &found), (known.clone(), &known), "the built-in role holds every permission");
        for field in ["secretHash", "secret", "previousSecretHash"] {
            let body = json!({"query": {"where": {field: {"eq": "x"}}}}).to_string();
            assert_eq!(hub.send(&ask("/api/o-auth/clients/list", &body)).await.status(), 400);
        }
        let query = json!({"query": "{ hubPaginateAppsAccounts { total } oAuthGetClients { id redirect grants } iamMeAccount { id username dPermissions roles { name } } }"});
        let answer = hub.send(&ask("/graphql", &query.to_string())).await.good();
        assert_eq!(answer["data"]["hubPaginateAppsAccounts"]["total"], 0, "{answer}");
        assert_eq!(answer["data"]["iamMeAccount"]["username"], "root", "{answer}");
        assert_eq!(answer["data"]["iamMeAccount"]["roles"].as_array().map(Vec::len), Some(1));
        let anonymous = hub
            .send(
                &Request::new("POST", "/graphql").header("content-type", "application/json").body(r#"{"query":"{ iamMeAccount { id } }"}"#),
            )
            .await
            .json();
        assert_eq!(anonymous["data"]["iamMeAccount"], json!(null));
        assert_eq!(anonymous["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{anonymous}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_larger_than_one_chunk_is_answered_completely() {
    // contract I24.3
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let token = bearer_of(&hub, "ada").await;
        let meta = json!({"words": "x".repeat(3_000_000)}).to_string();
        let binds = [store::hub_records::Bind::Json(&meta), store::hub_records::Bind::Id(hub.account)];
        hub.records.run("UPDATE peristyle.account SET meta = $1 WHERE id = $2", &binds).await.unwrap();
        for path in ["/api/iam/me", "/auth/me"] {
            let me = hub.send(&get(path).header("authorization", &token)).await.good();
            assert_eq!(me["meta"]["words"].as_str().map(str::len), Some(3_000_000), "{path}");
        }
        let request = post("/graphql", r#"{"query":"{ iamMeAccount { username meta } }"}"#).header("authorization", &token);
        assert_eq!(hub.send(&request).await.good()["data"]["iamMeAccount"]["username"], "ada");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_that_are_pending_count_in_every_answer() {
    // contract I15.8
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        hub.add_account("root", &["iam.account.get"]).await;
        let (ada, root) = (bearer_of(&hub, "ada").await, bearer_of(&hub, "root").await);
        let notes = || post("/api/shop/notes/list", "").header("authorization", &ada);
        assert_eq!(hub.send(&notes()).await.status(), 200);
        // As a change of a role leaves them that more accounts hold than one transaction writes.
        let mut transaction = hub.records.begin().await.unwrap();
        let all = "INSERT INTO peristyle.pending_rights (kind, id, after) SELECT 'role', role_id, account_id FROM peristyle.account_role";
        transaction.run(all, &[]).await.unwrap();
        transaction.run("DELETE FROM peristyle.role_permission WHERE permission = 'shop.note.get'", &[]).await.unwrap();
        transaction.commit().await.unwrap();
        assert_eq!(hub.send(&notes()).await.status(), 403);
        let me = hub.send(&get("/api/iam/me").header("authorization", &ada)).await.good();
        assert_eq!(me["dPermissions"]["all"], json!([]));
        let query = json!({"query": {"where": {"username": {"eq": "ada"}}}}).to_string();
        let listed = hub.send(&post("/api/iam/accounts/list", query).header("authorization", &root)).await.good();
        assert_eq!(listed[0]["dPermissions"], me["dPermissions"]);
    }
}
