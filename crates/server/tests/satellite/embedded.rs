//! The example `embed`: handlers of another program get the caller under all three strategies.

use std::sync::Arc;

use peristyle::metrics::Metrics;

use crate::embed;
use crate::fake_hub::{FakeAnswer, FakeHub, GRAPHQL, account_answer};
use crate::pair::{NOTES, database, get_with_token, post_with_token, settings, setup};
use crate::support::{Backend, Database, Server, Setup, get};
use crate::test_hub::{self, TestHub};

async fn serve(setup: &Setup, database: &Database) -> Server {
    let (state, config) = setup.boot(&database.url).await.unwrap_or_else(|error| panic!("{error}"));
    let (authenticator, budgets) = (state.authenticator.clone(), state.queries.budgets.clone());
    Server::start(embed::app(state, &config), (&config, authenticator, budgets), Arc::<Metrics>::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_identity_a_handler_gets_the_anonymous_account() {
    // contract I32.3
    let database = database().await;
    let server = serve(&Setup::new(crate::pair::MANIFEST), &database).await;
    let claimed = get("/hello").header("authorization", "Bearer x");
    assert_eq!(server.send(&claimed).await.text(), "Good day, stranger");
    server.get("/report").await.problem(403);
    assert_eq!(server.get("/health").await.status(), 200);
    // `/auth/me` answers the anonymous account, and `/auth/verify` refuses it.
    let me = server.get("/auth/me").await.good();
    assert_eq!(me["id"], "00000000-0000-0000-0000-000000000000");
    assert_eq!(me["dPermissions"]["all"], serde_json::json!([]));
    server.get("/auth/verify").await.problem(403);
    assert_eq!(server.get("/auth/login").await.status(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_hub_a_handler_gets_the_account_of_the_token() {
    // contract I32.3
    let hub = TestHub::start(Backend::Sqlite).await;
    let ada = hub.tokens().await;
    hub.add_account("bo", &["shop.report.get"]).await;
    let bo = hub.tokens_of("bo").await;
    let server = serve(&test_hub::setup(), &hub.database).await;
    assert_eq!(get_with_token(&server, "/hello", &ada["access_token"]).await.text(), "Good day, ada");
    get_with_token(&server, "/report", &ada["access_token"]).await.problem(403);
    assert_eq!(get_with_token(&server, "/report", &bo["access_token"]).await.status(), 200);
    assert_eq!(server.get("/report").await.header("www-authenticate"), Some("Bearer"));
    assert_eq!(get_with_token(&server, "/api/iam/me", &ada["access_token"]).await.good()["username"], "ada");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_satellite_a_handler_gets_the_hub_account() {
    // contract I32.3
    let (hub, database) = (FakeHub::start().await, database().await);
    let server = serve(&setup(settings(hub.address, "secret")), &database).await;
    let token = hub.token();
    assert_eq!(server.get("/hello").await.text(), "Good day, stranger");
    assert_eq!(get_with_token(&server, "/hello", &token).await.text(), "Good day, ada");
    get_with_token(&server, "/report", &token).await.problem(403);
    assert_eq!(server.get("/report").await.header("www-authenticate"), Some("Bearer"));
    let bad = server.send(&get("/hello").header("authorization", "Bearer x")).await;
    assert_eq!(bad.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
    let mut row = hub.account_row();
    row["dPermissions"] = serde_json::json!({ "all": ["shop.report.get"] });
    hub.set_answer(GRAPHQL, FakeAnswer::json(&account_answer(&row)));
    let report = get_with_token(&server, "/report", &hub.token()).await;
    assert_eq!(report.text(), format!("the report, for {}", hub.account));
    post_with_token(&server, NOTES, &token).await.good();
}
