//! The descriptions that a hub serves.

use serde_json::{Value, json};

use crate::admin_hub::{AdminHub, text};
use crate::support::{Backend, get};

#[tokio::test(flavor = "multi_thread")]
async fn openapi_describes_the_operations_and_the_oauth_endpoints_of_a_hub() {
    // contract I29.1
    let hub = AdminHub::start(Backend::Sqlite).await;
    let document = hub.stage.send(&get("/api/openapi.json")).await.good();
    for path in [
        "/api/iam/accounts/paginate",
        "/api/iam/events/list",
        "/api/hub/apps-accounts/find/{id}",
        "/token",
        "/api/o-auth/token",
        "/authorize",
        "/session",
        "/logout",
        "/revoke",
        "/introspect",
        "/events",
        "/api/o-auth/events",
        "/userinfo",
        "/api/iam/me",
        "/.well-known/jwks.json",
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server",
    ] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    let create = &document["paths"]["/api/iam/accounts/create"]["post"];
    assert_eq!((&create["operationId"], &create["x-permission"]), (&json!("iamCreateAccount"), &json!(["iam.account.create"])));
    assert_eq!(create["security"], json!([{"bearer": []}]));
    for status in ["201", "400", "401", "403", "409", "413", "415"] {
        assert!(create["responses"][status].is_object(), "{status}");
    }
    let rotate = &document["paths"]["/api/o-auth/clients/rotate-secret/{id}"]["post"];
    assert_eq!(rotate["responses"]["200"]["content"]["application/json"]["schema"]["$ref"], "#/components/schemas/OAuthClientSecret");
    let input = &document["components"]["schemas"]["OAuthCreateClientInput"];
    assert_eq!((&input["required"], &input["additionalProperties"]), (&json!(["id", "name", "redirect"]), &json!(false)));
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    assert_eq!(document["components"]["securitySchemes"]["client"]["scheme"], "basic");
    // A resource of the manifest needs the same token.
    let notes = &document["paths"]["/api/shop/notes/list"]["post"];
    assert_eq!((&notes["security"], notes["responses"]["401"].is_object()), (&json!([{"bearer": []}]), true));
    assert_eq!(document["paths"]["/api/shop/opens/list"]["post"]["security"], json!([{"bearer": []}, {}]));
    let codes = document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"].to_string();
    for code in ["INVALID_INPUT", "EXISTS", "NOT_HELD", "LAST_ADMINISTRATOR", "BUILT_IN_ROLE"] {
        assert!(codes.contains(code), "{code}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_refusal_of_an_invalid_token_is_described_everywhere() {
    // contract E6.6, I29.1
    let hub = AdminHub::start(Backend::Sqlite).await;
    let document = hub.stage.send(&get("/api/openapi.json")).await.good();
    let mut refused = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        let Some(operation) = item.get("get") else { continue };
        let answer = hub.stage.send(&get(path).header("authorization", "Bearer x")).await;
        let responses = &operation["responses"];
        assert!(responses[answer.status().to_string()].is_object(), "{path} answers {}", answer.status());
        if answer.header("content-type") == Some("application/problem+json") {
            assert_eq!(answer.problem(401)["code"], "INVALID_TOKEN", "{path}");
            assert!(["500", "503", "504"].iter().all(|status| responses[status].is_object()), "{path}: what looking a token up can bring");
            assert_eq!(operation["security"][0], json!({"bearer": []}), "{path}");
            refused += 1;
        }
    }
    assert!(refused >= 12, "{refused}");
    for path in ["/health", "/ready", "/api/openapi.json", "/.well-known/jwks.json"] {
        assert_eq!(document["paths"][path]["get"]["security"], json!([{"bearer": []}, {}]), "{path}");
    }
}

/// Executes an operation and checks its request and its answer against the document.
async fn checked_answer(hub: &AdminHub, document: &Value, (token, path, id): (&str, &str, &str), payload: Value) -> Value {
    let content = &document["paths"][format!("/api/{path}")]["post"]["requestBody"]["content"];
    if content.is_object() {
        let whole = json!({"allOf": [content["application/json"]["schema"]], "components": document["components"]});
        let accepts = |body: Value| jsonschema::draft202012::new(&whole).expect("a schema").is_valid(&body);
        assert!(accepts(json!({ "payload": payload })) && !accepts(payload.clone()) && !accepts(json!({})), "{path}: {payload}");
    }
    let answer = hub.by(token, &path.replace("{id}", id), &payload).await;
    let status = answer.status().to_string();
    let schema = &document["paths"][format!("/api/{path}")]["post"]["responses"][&status]["content"]["application/json"]["schema"];
    let body = answer.json();
    assert!(schema.is_object() && body.get("code").is_none_or(|_| status.starts_with('2')), "{path}: {body}");
    let whole = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::draft202012::new(&whole).expect("a schema");
    let faults: Vec<String> = validator.iter_errors(&body).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{path}: {body}: {faults:?}");
    for extra in [json!({"another": 1}), json!({"id": 1})] {
        let mut wrong = body.clone();
        wrong.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        assert!(!validator.is_valid(&wrong), "{path}: {wrong}");
    }
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_match_their_schemas_with_and_without_permission_to_read() {
    // contract I29.1, I25.3
    let hub = AdminHub::start(Backend::Sqlite).await;
    let document = hub.stage.send(&get("/api/openapi.json")).await.good();
    let needed = ["oAuth.client.create", "oAuth.client.update", "iam.role.create", "iam.role.update", "iam.account.create"];
    let more = ["iam.account.update", "iam.tenant.create", "hub.app.create", "hub.appAccount.create", "iam.session.delete"];
    let (_, blind) = hub.account("blind", &[needed, more].concat()).await;
    for (name, token, sees) in [("seen", &hub.token, true), ("unseen", &blind, false)] {
        let client = json!({"id": name, "name": "A", "redirect": "https://a.example/callback"});
        let ask = async |path: &str, id: &str, body: Value| checked_answer(&hub, &document, (token, path, id), body).await;
        let made = ask("o-auth/clients/create", "", client).await;
        assert_eq!((made.get("redirect").is_some(), made["secret"].is_string()), (sees, true), "{made}");
        let rotated = ask("o-auth/clients/rotate-secret/{id}", name, json!({})).await;
        assert!(rotated["previousCountsFor"].is_number(), "{rotated}");
        let role = ask("iam/roles/create", "", json!({"name": name})).await;
        assert_eq!(role.as_object().unwrap().len() == 1, !sees, "{role}");
        ask("iam/roles/update/{id}", text(&role["id"]), json!({"name": format!("{name}-2")})).await;
        ask("iam/tenants/create", "", json!({"name": name})).await;
        let account = ask("iam/accounts/create", "", json!({"username": name})).await;
        let account = text(&account["id"]);
        ask("iam/accounts/invite/{id}", account, json!({})).await;
        ask("iam/accounts/end-sessions/{id}", account, json!({})).await;
        let app = ask("hub/apps/create", "", json!({"code": name})).await;
        ask("hub/apps-accounts/create", "", json!({"appId": app["id"], "accountId": account})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn introspection_shows_the_mutations_of_a_hub() {
    // contract I29.1
    let hub = AdminHub::start(Backend::Sqlite).await;
    let document = "{ __schema { mutationType { fields { name args { name type { kind ofType { name } } } type { name } } } } }";
    let answer = hub.graphql(None, document, json!({})).await;
    let fields = answer["data"]["__schema"]["mutationType"]["fields"].as_array().expect("fields").clone();
    let names: Vec<&str> = fields.iter().map(|field| text(&field["name"])).collect();
    for name in
        ["iamCreateAccount", "iamUpdateAccount", "iamDeleteAccount", "oAuthRotateClientSecret", "hubCreateAppAccount", "iamEndSession"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
    let find = |name: &str| fields.iter().find(|field| field["name"] == name).expect("a field").clone();
    let update: Value = find("iamUpdateAccount");
    assert_eq!(update["args"][0], json!({"name": "id", "type": {"kind": "NON_NULL", "ofType": {"name": "ID"}}}));
    assert_eq!(update["args"][1], json!({"name": "payload", "type": {"kind": "NON_NULL", "ofType": {"name": "IamUpdateAccountInput"}}}));
    let schema = hub.stage.send(&get("/graphql/schema.graphql")).await.text();
    for text in ["An email to sign in with. Null empties it.", "they replace those it has. Null empties the list.", "Null is refused."] {
        assert!(schema.contains(text), "{text}");
    }
    assert_eq!((&update["type"]["name"], &find("oAuthCreateClient")["type"]["name"]), (&json!("IamAccount"), &json!("OAuthClientSecret")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_docs_page_shows_the_hub_s_resources_to_accounts_that_may_read_them() {
    // contract I29.1, E8.2
    let hub = AdminHub::start(Backend::Sqlite).await;
    let names = async |token: Option<&str>| {
        let request = get("/docs/resources.json");
        let request = token.map_or(request.clone(), |token| request.header("authorization", token));
        let seen = hub.stage.send(&request).await.good();
        seen["resources"].as_array().unwrap().iter().map(|resource| text(&resource["name"]).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(None).await, ["shop.open"]);
    let (_, reader) = hub.account("reader", &["iam.event.get"]).await;
    let seen = names(Some(&reader)).await;
    assert!(seen.contains(&"iam.event".to_owned()) && !seen.contains(&"iam.account".to_owned()), "{seen:?}");
    assert!(names(Some(&hub.token)).await.len() >= 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn introspect_avoids_every_type_name_of_a_hub() {
    // contract G1.8
    let hub = AdminHub::start(Backend::Sqlite).await;
    let schema = hub.data("{ __schema { types { name } } }", Value::Null).await;
    let names: Vec<&str> = schema["__schema"]["types"].as_array().expect("types").iter().map(|kind| text(&kind["name"])).collect();
    let of_the_hub = names.iter().filter(|name| !name.starts_with("__") && !name.starts_with("Shop"));
    let unknown: Vec<&&str> = of_the_hub.filter(|name| !store::introspect::OWN_TYPES.contains(*name)).collect();
    assert_eq!(unknown, [] as [&&str; 0]);
    // No record of a hub has this type, but every schema declares it.
    let gone: Vec<&&str> = store::introspect::OWN_TYPES.iter().filter(|name| !names.contains(name) && **name != "Float").collect();
    assert_eq!(gone, [] as [&&str; 0]);
}
