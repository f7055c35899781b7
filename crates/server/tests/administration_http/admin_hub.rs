//! A hub with an administrator, and requests for its administration.

use identity::account::ADMINISTRATOR;
use serde_json::{Value, json};
use store::hub_records::Bind;
use uuid::Uuid;

use crate::support::{Backend, Request, Response, post};
use crate::test_hub::{CLIENT, PASSWORD, TestHub, basic, bearer, posted};

pub(crate) struct AdminHub {
    pub(crate) stage: TestHub,
    /// The id of the administrator.
    pub(crate) root: Uuid,
    pub(crate) token: String,
}

impl AdminHub {
    pub(crate) async fn start(backend: Backend) -> Self {
        let stage = TestHub::start(backend).await;
        administers(&stage, true).await;
        let root = administrator(&stage, "root").await;
        let token = token_of(&stage, "root").await;
        AdminHub { stage, root, token }
    }

    /// Adds an account with these permissions; returns its id and token.
    pub(crate) async fn account(&self, name: &str, permissions: &[&str]) -> (Uuid, String) {
        let id = self.stage.add_account(name, permissions).await;
        (id, token_of(&self.stage, name).await)
    }

    pub(crate) async fn administrator(&self, name: &str) -> (Uuid, String) {
        let id = administrator(&self.stage, name).await;
        (id, token_of(&self.stage, name).await)
    }

    /// The request for an operation.
    pub(crate) fn request(token: &str, path: &str, payload: &Value) -> Request {
        AdminHub::posted(token, path, &json!({ "payload": payload }))
    }

    fn posted(token: &str, path: &str, body: &Value) -> Request {
        post(&format!("/api/{path}"), body.to_string()).header("authorization", token)
    }

    /// Executes an operation with a token.
    pub(crate) async fn by(&self, token: &str, path: &str, payload: &Value) -> Response {
        self.stage.send(&AdminHub::request(token, path, payload)).await
    }

    /// Executes an operation as the administrator.
    pub(crate) async fn rest(&self, path: &str, payload: Value) -> Response {
        self.by(&self.token, path, &payload).await
    }

    /// Posts this body with a token.
    pub(crate) async fn post_by(&self, token: &str, path: &str, body: &Value) -> Response {
        self.stage.send(&AdminHub::posted(token, path, body)).await
    }

    /// Posts this body as the administrator.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        self.post_by(&self.token, path, &body).await
    }

    /// Creates a record as the administrator.
    pub(crate) async fn create(&self, path: &str, payload: Value) -> Value {
        let answer = self.rest(path, payload).await;
        assert_eq!(answer.status(), 201, "{}", answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        answer.json()
    }

    /// Reads a row with relations.
    pub(crate) async fn row(&self, path: &str, relations: Value) -> Value {
        self.post(path, json!({"query": {"relations": relations}})).await.good()
    }

    pub(crate) async fn graphql(&self, token: Option<&str>, document: &str, variables: Value) -> Value {
        let request = post("/graphql", json!({"query": document, "variables": variables}).to_string());
        let request = match token {
            Some(token) => request.header("authorization", token),
            None => request,
        };
        self.stage.send(&request).await.good()
    }

    /// The data of a GraphQL document without errors, as the administrator.
    pub(crate) async fn data(&self, document: &str, variables: Value) -> Value {
        let answer = self.graphql(Some(&self.token), document, variables).await;
        assert_eq!(answer.get("errors"), None, "{answer}");
        answer["data"].clone()
    }

    /// The events of the audit log, the newest last.
    pub(crate) async fn events(&self) -> Vec<Value> {
        let body = json!({"query": {"order": [{"field": "sequence"}]}});
        self.post("iam/events/list", body).await.good().as_array().unwrap().clone()
    }
}

/// Sets whether the client can change the hub's records.
pub(crate) async fn administers(stage: &TestHub, flag: bool) {
    let marked = "UPDATE peristyle.client SET administers = $1 WHERE id = 'shop' RETURNING id";
    assert_eq!(stage.records.run(marked, &[Bind::Flag(flag)]).await.unwrap().len(), 1);
}

async fn administrator(stage: &TestHub, name: &str) -> Uuid {
    let id = stage.add_account(name, &[]).await;
    let mut transaction = stage.records.begin().await.unwrap();
    store::hub_records::accounts::set_roles(&mut transaction, id, &[ADMINISTRATOR]).await.unwrap();
    transaction.commit().await.unwrap();
    store::hub_records::rights::refresh(&stage.records, id).await.unwrap();
    id
}

pub(crate) async fn signed_in(stage: &TestHub, name: &str, password: &str) -> Response {
    let pairs = [("grant_type", "password"), ("username", name), ("password", password)];
    stage.send(&posted("/token", &pairs).header("authorization", &basic(CLIENT, &stage.secret))).await
}

pub(crate) async fn token_of(stage: &TestHub, name: &str) -> String {
    bearer(&signed_in(stage, name, PASSWORD).await.good()["access_token"])
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a string: {value}"))
}
