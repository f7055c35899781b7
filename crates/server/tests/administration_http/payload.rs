//! The body of an operation holds its input as `payload`. Null empties a field, and an absent field stays.

use serde_json::{Value, json};

use crate::admin_hub::{AdminHub, text};
use crate::support::{BACKENDS, Backend, post};

#[tokio::test(flavor = "multi_thread")]
async fn null_empties_a_field_and_an_absent_field_stays() {
    // contract I25.7
    for backend in BACKENDS {
        let hub = AdminHub::start(backend).await;
        let tenant = hub.create("iam/tenants/create", json!({"name": "North"})).await["id"].clone();
        let role = hub.create("iam/roles/create", json!({"name": "clerk", "description": "Sells", "permissions": ["shop.note.get"]})).await;
        let account = json!({
            "username": "bo", "email": "bo@example.com", "roles": ["clerk"], "tenants": [tenant], "tags": ["a"], "scopes": ["b"],
            "meta": {"region": "north"},
        });
        let account = hub.create("iam/accounts/create", account).await;
        let update = format!("iam/accounts/update/{}", text(&account["id"]));
        // An empty payload changes nothing but the time.
        let same = hub.rest(&update, json!({})).await.good();
        for (name, value) in account.as_object().unwrap().iter().filter(|(name, _)| *name != "updatedAt") {
            assert_eq!(same[name], *value, "{backend:?}: {name}");
        }
        let emptied = hub.rest(&update, json!({"email": null, "tags": null, "scopes": null, "meta": null, "tenants": null})).await.good();
        assert_eq!((&emptied["email"], &emptied["username"]), (&json!(null), &json!("bo")));
        assert_eq!((&emptied["tags"], &emptied["scopes"], &emptied["meta"]), (&json!([]), &json!([]), &json!({})));
        assert_eq!((&emptied["tenants"], &emptied["dTenants"], &emptied["roles"][0]["name"]), (&json!([]), &json!([]), &json!("clerk")));
        assert_eq!(hub.rest(&update, json!({"roles": null})).await.good()["dPermissions"], json!({"all": []}));
        // The last name to sign in with stays.
        let problem = hub.rest(&update, json!({"username": null})).await.problem(400);
        assert_eq!((&problem["errors"][0]["code"], &problem["errors"][0]["path"]), (&json!("IN105"), &json!("/payload")), "{problem}");
        assert_eq!(problem["errors"][0]["message"], "an account needs a username or an email");
        // A code that was the username becomes the email.
        let renamed = hub.rest(&update, json!({"username": null, "email": "bo@example.org"})).await.good();
        assert_eq!(
            (&renamed["username"], &renamed["email"], &renamed["code"]),
            (&json!(null), &json!("bo@example.org"), &json!("bo@example.org"))
        );

        let update = format!("iam/roles/update/{}", text(&role["id"]));
        let changed = hub.rest(&update, json!({"description": null})).await.good();
        assert_eq!((&changed["description"], &changed["permissions"][0]["name"]), (&json!(null), &json!("shop.note.get")));
        assert_eq!(hub.rest(&update, json!({"permissions": null})).await.good()["permissions"], json!([]));

        let app = hub.create("hub/apps/create", json!({"code": "shop", "url": "https://shop.test/"})).await;
        let update = format!("hub/apps/update/{}", text(&app["id"]));
        assert_eq!(hub.rest(&update, json!({"name": "Shop"})).await.good()["url"], "https://shop.test/");
        assert_eq!(hub.rest(&update, json!({"url": null})).await.good()["url"], json!(null));
        let bare = hub.create("hub/apps/create", json!({"code": "bare", "url": null})).await;
        assert_eq!(bare["url"], json!(null));
        let bare = hub.create("iam/accounts/create", json!({"username": "bare", "email": null, "meta": null, "roles": null})).await;
        assert_eq!((&bare["email"], &bare["meta"], &bare["roles"]), (&json!(null), &json!({}), &json!([])));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_body_takes_the_payload_alone() {
    // contract I25.3, I26.1
    let hub = AdminHub::start(Backend::Sqlite).await;
    let refused = async |path: &str, body: Value| {
        let problem = hub.post(path, body).await.problem(400);
        let faults = problem["errors"].as_array().expect("faults").clone();
        let parts = |fault: &Value| ["code", "path", "message"].map(|part| text(&fault[part]).to_owned());
        faults.iter().map(parts).collect::<Vec<_>>()
    };
    let old_form = |name: &str| {
        let message = format!("the body takes only the key `payload`; put the input below it: `{{\"payload\": {{\"{name}\": …}}}}`");
        ["IN102".to_owned(), format!("/{name}"), message]
    };
    let found = refused("iam/roles/create", json!({"name": "clerk", "permissions": []})).await;
    assert_eq!(found, [old_form("name"), old_form("permissions")]);
    let found = refused("iam/roles/create", json!({"input": {"name": "clerk"}})).await;
    assert_eq!(found, [["IN102", "/input", "the body takes only the key `payload`"].map(str::to_owned)]);
    let found = refused("iam/roles/create", json!({"paylod": {"name": "clerk"}})).await;
    assert_eq!(found, [["IN102", "/paylod", "the body takes only the key `payload` (did you mean `payload`?)"].map(str::to_owned)]);
    let found = refused("iam/roles/create", json!({})).await;
    let message = "`payload` is needed: an object with the keys `name`, `description`, `permissions`";
    assert_eq!(found, [["IN104", "/payload", message].map(str::to_owned)]);
    let found = refused("iam/roles/create", json!([])).await;
    assert_eq!(found, [["IN103", "", "an object with the key `payload` is expected; found an array"].map(str::to_owned)]);
    let found = refused("iam/roles/create", json!({"payload": null})).await;
    assert_eq!(found, [["IN103", "/payload", "an object is expected; found null"].map(str::to_owned)]);
    // One answer has the faults of the body and of the payload.
    let found = refused("iam/roles/create", json!({"dryRun": true, "payload": {"nam": "clerk"}})).await;
    let places: Vec<(&str, &str)> = found.iter().map(|[code, path, _]| (code.as_str(), path.as_str())).collect();
    assert_eq!(places, [("IN102", "/dryRun"), ("IN102", "/payload/nam"), ("IN104", "/payload/name")]);
    assert_eq!(hub.post("iam/roles/create", json!({"payload": {"name": "clerk"}})).await.status(), 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_without_input_needs_no_payload() {
    // contract I25.3, W3.13
    let hub = AdminHub::start(Backend::Sqlite).await;
    let account = hub.create("iam/accounts/create", json!({"username": "bo"})).await;
    let path = format!("/api/iam/accounts/end-sessions/{}", text(&account["id"]));
    let send = async |body: &str| hub.stage.send(&post(&path, body).header("authorization", &hub.token)).await;
    for body in ["", "{}", "{\"payload\": {}}"] {
        send(body).await.good();
    }
    // A caller with a token needs no content type for an empty body, in a browser either; another type is refused.
    let bare = || crate::support::Request::new("POST", &path).header("authorization", &hub.token).header("origin", "https://app.test");
    hub.stage.send(&bare()).await.good();
    for refused in [bare().header("content-type", "text/plain"), bare().header("content-type", "application/vnd.api+json").body("{}")] {
        hub.stage.send(&refused).await.problem(415);
    }
    for (body, place, message) in [
        ("{\"payload\": {\"days\": 7}}", "/payload/days", "`iamEndAccountSessions` takes no input"),
        ("{\"days\": 7}", "/days", "the body takes only the key `payload`"),
    ] {
        let fault = &send(body).await.problem(400)["errors"][0];
        assert_eq!((&fault["code"], &fault["path"], &fault["message"]), (&json!("IN102"), &json!(place), &json!(message)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn graphql_leaves_out_the_key_of_an_absent_variable_and_keeps_null() {
    // contract I25.7
    let hub = AdminHub::start(Backend::Sqlite).await;
    let account = hub.create("iam/accounts/create", json!({"username": "bo", "email": "bo@example.com", "tags": ["a"]})).await;
    let document = "mutation ($id: ID!, $email: String, $tags: [String!], $meta: JSON) {
        iamUpdateAccount(id: $id, payload: {email: $email, tags: $tags, meta: {region: $meta}}) { email tags meta }
    }";
    let update = async |variables: Value| {
        let mut all = json!({"id": account["id"]});
        all.as_object_mut().unwrap().extend(variables.as_object().unwrap().clone());
        hub.data(document, all).await["iamUpdateAccount"].clone()
    };
    assert_eq!(update(json!({})).await, json!({"email": "bo@example.com", "tags": ["a"], "meta": {}}));
    assert_eq!(update(json!({"tags": null, "meta": 1})).await, json!({"email": "bo@example.com", "tags": [], "meta": {"region": 1}}));
    assert_eq!(update(json!({"email": null})).await, json!({"email": null, "tags": [], "meta": {}}));
    // A default counts as a value.
    let document = "mutation ($id: ID!, $code: String = null) { iamUpdateAccount(id: $id, payload: {code: $code}) { code } }";
    let answer = hub.graphql(Some(&hub.token), document, json!({"id": account["id"]})).await;
    let fault = &answer["errors"][0]["extensions"]["errors"][0];
    assert_eq!((&fault["code"], &fault["path"]), (&json!("IN103"), &json!("/payload/code")), "{answer}");
    // A whole payload as a variable: null empties, absent stays.
    let document =
        "mutation ($id: ID!, $payload: IamUpdateAccountInput!) { iamUpdateAccount(id: $id, payload: $payload) { email username } }";
    let variables = json!({"id": account["id"], "payload": {"username": null, "email": "bo@example.com"}});
    let changed = hub.data(document, variables).await;
    assert_eq!(changed["iamUpdateAccount"], json!({"email": "bo@example.com", "username": null}));
}
