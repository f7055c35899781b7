//! Invalid inputs: one answer reports every fault with its code, its pointer and what is accepted.

use serde_json::{Value, json};

use crate::admin_hub::{AdminHub, text};
use crate::support::{BACKENDS, Backend, Response, post};

fn faults(answer: &Response) -> Vec<(String, String)> {
    let problem = answer.problem(400);
    assert_eq!(problem["code"], "INVALID_INPUT", "{problem}");
    let code_and_path = |fault: &Value| {
        assert!(text(&fault["message"]).len() > 10, "{fault}");
        (text(&fault["code"]).to_owned(), text(&fault["path"]).to_owned())
    };
    problem["errors"].as_array().expect("faults").iter().map(code_and_path).collect()
}

/// The code and the path of each conflict.
fn conflicts(answer: &Response) -> Vec<(String, String)> {
    let problem = answer.problem(409);
    let code_and_path = |fault: &Value| (text(&fault["code"]).to_owned(), text(&fault["path"]).to_owned());
    problem["errors"].as_array().expect("faults").iter().map(code_and_path).collect()
}

/// A path, an input, and its faults.
type Case = (&'static str, Value, &'static [(&'static str, &'static str)]);

fn cases() -> Vec<Case> {
    let deep = (0..9).fold(json!(1), |inner, _| json!({ "a": inner }));
    let long = "x".repeat(300);
    let id = "11111111-1111-4111-8111-111111111111";
    vec![
        (
            "iam/accounts/create",
            json!({"usrname": "bo", "email": 7, "roles": "clerk", "tenants": ["x", 1], "meta": [], "isActive": true}),
            &[
                ("IN103", "/payload/email"),
                ("IN102", "/payload/isActive"),
                ("IN103", "/payload/meta"),
                ("IN103", "/payload/roles"),
                ("IN105", "/payload/tenants/0"),
                ("IN103", "/payload/tenants/1"),
                ("IN102", "/payload/usrname"),
            ],
        ),
        ("iam/accounts/create", json!({}), &[("IN105", "/payload")]),
        ("iam/accounts/create", json!({"username": ""}), &[("IN105", "/payload/username")]),
        ("iam/accounts/create", json!({"username": " bo"}), &[("IN105", "/payload/username")]),
        (
            "iam/accounts/create",
            json!({"username": "b\u{0}o", "email": "no address"}),
            &[("IN105", "/payload/email"), ("IN105", "/payload/username")],
        ),
        (
            "iam/accounts/create",
            json!({"username": long, "code": long, "tags": [long, "a\nb"]}),
            &[("IN105", "/payload/code"), ("IN105", "/payload/tags/0"), ("IN105", "/payload/tags/1"), ("IN105", "/payload/username")],
        ),
        ("iam/accounts/create", json!({"username": "ana@example.com"}), &[("IN105", "/payload")]),
        (
            "iam/accounts/create",
            json!({"username": "bo", "type": "ROBOT", "password": "short", "passwordHash": "md5"}),
            &[("IN105", "/payload/password"), ("IN105", "/payload/passwordHash"), ("IN105", "/payload/type")],
        ),
        ("iam/accounts/create", json!({"username": "bo", "meta": {"a": deep}}), &[("IN106", "/payload/meta")]),
        ("iam/accounts/create", json!({"username": "bo", "meta": {"a": "x".repeat(20_000)}}), &[("IN106", "/payload/meta")]),
        ("iam/accounts/create", json!({"username": "bo", "meta": {"a": ["\u{0}"]}}), &[("IN106", "/payload/meta")]),
        ("iam/accounts/create", json!({"username": "bo", "tags": vec!["a"; 1_001]}), &[("IN106", "/payload/tags")]),
        ("iam/accounts/create", json!({"username": "bo", "roles": ["administrator", "nobody"]}), &[("IN107", "/payload/roles/1")]),
        ("iam/accounts/create", json!([1]), &[("IN103", "/payload")]),
        ("iam/accounts/update/nonsense", json!({}), &[("IN108", "/id")]),
        (
            "iam/accounts/update/11111111-1111-4111-8111-111111111111",
            json!({"isActive": "no", "a/b~c": 1}),
            &[("IN102", "/payload/a~1b~0c"), ("IN103", "/payload/isActive")],
        ),
        ("iam/accounts/invite/11111111-1111-4111-8111-111111111111", json!({"days": 7}), &[("IN102", "/payload/days")]),
        ("iam/accounts/set-password/11111111-1111-4111-8111-111111111111", json!({}), &[("IN104", "/payload/password")]),
        (
            "iam/accounts/set-password/11111111-1111-4111-8111-111111111111",
            json!({"password": "x".repeat(1_025)}),
            &[("IN105", "/payload/password")],
        ),
        (
            "iam/roles/create",
            json!({"permissions": ["shop.note.get", "everything", null]}),
            &[("IN105", "/payload/permissions/1"), ("IN103", "/payload/permissions/2"), ("IN104", "/payload/name")],
        ),
        ("iam/accounts/create", json!({"username": "bo", "roles": ["a\u{0}"]}), &[("IN105", "/payload/roles/0")]),
        (
            "iam/roles/create",
            json!({"name": "a\u{0}", "description": "\u{0}"}),
            &[("IN105", "/payload/description"), ("IN105", "/payload/name")],
        ),
        ("iam/roles/create", json!({"name": "administrator\u{200b}"}), &[("IN105", "/payload/name")]),
        ("iam/roles/create", json!({"name": "adm\u{ad}inistrator"}), &[("IN105", "/payload/name")]),
        ("iam/roles/create", json!({"name": null}), &[("IN103", "/payload/name")]),
        (
            "iam/accounts/create",
            json!({"username": null, "email": null, "code": null, "type": null, "password": null, "tags": [null]}),
            &[("IN103", "/payload/code"), ("IN103", "/payload/password"), ("IN103", "/payload/tags/0"), ("IN103", "/payload/type")],
        ),
        ("iam/accounts/create", json!({"username": null, "email": null}), &[("IN105", "/payload")]),
        ("iam/accounts/set-password/11111111-1111-4111-8111-111111111111", json!({"password": null}), &[("IN103", "/payload/password")]),
        (
            "o-auth/clients/update/shop",
            json!({"name": null, "redirect": null, "isActive": null, "administers": null, "appId": null, "accessTokenSeconds": null}),
            &[
                ("IN103", "/payload/accessTokenSeconds"),
                ("IN103", "/payload/administers"),
                ("IN103", "/payload/appId"),
                ("IN103", "/payload/isActive"),
                ("IN103", "/payload/name"),
                ("IN103", "/payload/redirect"),
            ],
        ),
        ("iam/roles/create", json!({"name": 3}), &[("IN103", "/payload/name")]),
        ("iam/tenants/create", json!({"name": "x", "id": "y"}), &[("IN105", "/payload/id")]),
        (
            "o-auth/clients/create",
            json!({"id": id, "name": "x", "redirect": "https://a.test/#x", "grants": ["implicit"], "accessTokenSeconds": 86_401, "refreshTokenSeconds": 1.5}),
            &[
                ("IN105", "/payload/accessTokenSeconds"),
                ("IN105", "/payload/grants/0"),
                ("IN105", "/payload/id"),
                ("IN105", "/payload/redirect"),
                ("IN105", "/payload/refreshTokenSeconds"),
            ],
        ),
        (
            "o-auth/clients/create",
            json!({"id": "a b"}),
            &[("IN105", "/payload/id"), ("IN104", "/payload/name"), ("IN104", "/payload/redirect")],
        ),
        (
            "o-auth/clients/create",
            json!({"id": "a", "name": "x", "redirect": "https://a.test/", "appId": id}),
            &[("IN107", "/payload/appId")],
        ),
        (
            "o-auth/clients/update/shop",
            json!({"id": "b", "redirect": "http://a.test/", "accessTokenSeconds": 0}),
            &[("IN105", "/payload/accessTokenSeconds"), ("IN102", "/payload/id"), ("IN105", "/payload/redirect")],
        ),
        (
            "hub/apps/create",
            json!({"code": "x", "url": "javascript:alert(1)", "isClosed": 1}),
            &[("IN103", "/payload/isClosed"), ("IN105", "/payload/url")],
        ),
        ("hub/apps-accounts/create", json!({"appId": id, "accountId": id}), &[("IN107", "/payload/appId")]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn one_answer_has_every_fault_of_an_input() {
    // contract I26.1, I26.2, I26.3
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let before = hub.events().await.len();
        for (path, input, expected) in cases() {
            let found = faults(&hub.rest(path, input.clone()).await);
            let found: Vec<(&str, &str)> = found.iter().map(|(code, path)| (code.as_str(), path.as_str())).collect();
            assert_eq!(found, expected, "{path} {input}");
        }
        assert_eq!(hub.events().await.len(), before, "nothing was changed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_name_what_is_accepted_and_similar_names() {
    // contract I26.1
    let hub = AdminHub::start(Backend::Sqlite).await;
    let message = async |path: &str, input: Value| {
        let problem = hub.rest(path, input).await.problem(400);
        text(&problem["errors"][0]["message"]).to_owned()
    };
    assert!(message("iam/accounts/create", json!({"usrname": "bo"})).await.contains("did you mean `username`?"));
    assert!(
        message("o-auth/clients/update/shop", json!({"grants": ["x"]})).await.contains("`authorization_code`, `refresh_token`, `password`")
    );
    assert!(message("iam/accounts/create", json!({"username": "bo", "roles": ["nobody"]})).await.contains("\"nobody\""));
    let null = message("o-auth/clients/update/shop", json!({"isActive": null})).await;
    assert_eq!(null, "`isActive` cannot be null; send true or false, or leave it out");
    let null = message("iam/roles/create", json!({"name": null})).await;
    assert_eq!(null, "`name` cannot be null; send a string");
    let hidden = message("iam/accounts/create", json!({"username": "bo", "passwordHash": "sesame-opens"})).await;
    assert!(!hidden.contains("sesame"), "{hidden}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_not_json_objects_are_refused() {
    // contract I26.3
    let hub = AdminHub::start(Backend::Sqlite).await;
    let send = async |request: crate::support::Request| hub.stage.send(&request.header("authorization", &hub.token)).await;
    let create = |body: &str| post("/api/iam/roles/create", body);
    assert_eq!(faults(&send(create("{")).await), [("IN100".to_owned(), String::new())]);
    assert_eq!(faults(&send(create("{\"payload\": {\"name\": ")).await), [("IN100".to_owned(), "/payload/name".to_owned())]);
    let twice = "{\"payload\": {\"name\": \"a\", \"name\": \"b\"}}";
    assert_eq!(faults(&send(create(twice)).await), [("IN101".to_owned(), "/payload/name".to_owned())]);
    assert_eq!(faults(&send(create("{\"payload\": {}, \"payload\": {}}")).await), [("IN101".to_owned(), "/payload".to_owned())]);
    let nested = format!("{{\"payload\": {{\"name\": {}", "[".repeat(5_000));
    assert_eq!(faults(&send(create(&nested)).await)[0].0, "IN106");
    let number = "{\"payload\": {\"username\": \"bo\", \"meta\": {\"a\": 1e400}}}";
    assert_eq!(faults(&send(post("/api/iam/accounts/create", number)).await), [("IN105".to_owned(), "/payload/meta".to_owned())]);
    assert_eq!(
        send(create("name=a").header("content-type", "application/x-www-form-urlencoded")).await.problem(415)["code"],
        "UNSUPPORTED_MEDIA_TYPE"
    );
    assert_eq!(
        send(create(&format!("{{\"payload\": {{\"name\": \"{}\"}}}}", "x".repeat(1_100_000)))).await.problem(413)["code"],
        "BODY_TOO_LARGE"
    );
    let many = json!({"payload": {"name": "a", "permissions": vec!["x"; 500]}}).to_string();
    assert_eq!(faults(&send(create(&many)).await).len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_existing_record_is_409_and_a_missing_one_404() {
    // contract I26.2, I12.6
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let id = "11111111-1111-4111-8111-111111111111";
        let bo = hub.create("iam/accounts/create", json!({"username": "bo", "email": "bo@example.com"})).await;
        let tenant = "22222222-2222-4222-8222-222222222222";
        hub.create("iam/tenants/create", json!({"id": tenant, "name": "n"})).await;
        hub.create("iam/roles/create", json!({"name": "clerk"})).await;
        hub.create("hub/apps/create", json!({"code": "web"})).await;
        let other = hub.create("hub/apps/create", json!({"code": "other"})).await;
        for (path, input, fields) in [
            ("iam/accounts/create".to_owned(), json!({"username": "BO"}), &["username"][..]),
            ("iam/accounts/create".to_owned(), json!({"username": "x", "email": "Bo@Example.com"}), &["email"][..]),
            ("iam/accounts/create".to_owned(), json!({"username": "y", "code": "bo"}), &["code"][..]),
            (format!("iam/accounts/update/{}", text(&bo["id"])), json!({"username": "ada"}), &["username"][..]),
            (format!("iam/accounts/update/{}", text(&bo["id"])), json!({"email": "ADA@example.com"}), &["email"][..]),
            (format!("iam/accounts/update/{}", text(&bo["id"])), json!({"code": "ada"}), &["code"][..]),
            ("iam/roles/create".to_owned(), json!({"name": "clerk"}), &["name"]),
            ("iam/roles/create".to_owned(), json!({"name": "administrator"}), &["name"]),
            ("iam/roles/create".to_owned(), json!({"name": "Administrator"}), &["name"]),
            ("o-auth/clients/create".to_owned(), json!({"id": "shop", "name": "x", "redirect": "https://a.test/"}), &["id"]),
            ("hub/apps/create".to_owned(), json!({"code": "web"}), &["code"]),
            (format!("hub/apps/update/{}", text(&other["id"])), json!({"code": "web"}), &["code"]),
            ("iam/tenants/create".to_owned(), json!({"id": tenant, "name": "x", "code": "n"}), &["id", "code"]),
            ("iam/tenants/create".to_owned(), json!({"name": "n"}), &[""]),
            (
                "iam/accounts/create".to_owned(),
                json!({"username": "bo", "email": "bo@example.com", "code": "ada"}),
                &["username", "email", "code"],
            ),
        ] {
            let answer = hub.rest(&path, input.clone()).await;
            let pointer = |field: &&str| ("EXISTS".to_owned(), format!("/payload/{field}").trim_end_matches('/').to_owned());
            let mut expected: Vec<(String, String)> = fields.iter().map(pointer).collect();
            let mut found = conflicts(&answer);
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{path} {input}");
            assert!(text(&answer.problem(409)["detail"]).contains("exists already"), "{path} {input}");
        }
        for path in [
            "iam/accounts/update",
            "iam/accounts/delete",
            "iam/accounts/invite",
            "iam/accounts/reset",
            "iam/accounts/end-sessions",
            "iam/sessions/end",
            "iam/roles/update",
            "iam/roles/delete",
            "iam/tenants/update",
            "iam/tenants/delete",
            "hub/apps/update",
            "hub/apps/delete",
            "hub/apps-accounts/delete",
        ] {
            assert_eq!(hub.rest(&format!("{path}/{id}"), json!({})).await.problem(404)["code"], "NOT_FOUND", "{path}");
        }
        for path in ["o-auth/clients/update/none", "o-auth/clients/rotate-secret/a%2Fb", "o-auth/clients/delete/%00"] {
            assert_eq!(hub.rest(path, json!({})).await.problem(404)["code"], "NOT_FOUND", "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn graphql_reports_the_same_problem() {
    // contract I26.1, I25.4
    let hub = AdminHub::start(Backend::Sqlite).await;
    let document = "mutation ($payload: OAuthCreateClientInput!) { oAuthCreateClient(payload: $payload) { id } }";
    let payload = json!({"id": "a b", "name": "x", "redirect": "nowhere", "grants": ["implicit"]});
    let answer = hub.graphql(Some(&hub.token), document, json!({"payload": payload})).await;
    let problem = &answer["errors"][0]["extensions"];
    assert_eq!(
        (&problem["code"], &problem["status"], &problem["type"]),
        (&json!("BAD_REQUEST"), &json!(400), &json!("urn:peristyle:problem:invalid-input"))
    );
    let paths: Vec<&str> = problem["errors"].as_array().unwrap().iter().map(|fault| text(&fault["path"])).collect();
    assert_eq!(paths, ["/payload/grants/0", "/payload/id", "/payload/redirect"]);
    let document =
        "mutation { iamCreateAccount(payload: {username: \"bo\", roles: [\"nobody\"]}) { id } iamDeleteAccount(id: \"x\") { id } }";
    let answer = hub.graphql(Some(&hub.token), document, json!({})).await;
    assert_eq!(answer["errors"][0]["extensions"]["errors"][0]["path"], "/payload/roles/0", "{answer}");
    assert_eq!(answer["errors"][1]["extensions"]["errors"][0]["code"], "IN108", "{answer}");
    // GraphQL itself refuses values of the wrong type.
    for document in [
        "mutation { iamCreateRole(payload: {nam: \"a\"}) { id } }",
        "mutation { iamCreateRole(payload: {}) { id } }",
        "mutation { iamCreateRole { id } }",
        "mutation { iamCreateRole(payload: {name: null}) { id } }",
        "mutation { iamCreateRole(input: {name: \"a\"}) { id } }",
    ] {
        let answer = hub.graphql(Some(&hub.token), document, json!({})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED", "{answer}");
    }
}
