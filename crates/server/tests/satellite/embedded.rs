//! The example `embed`: handlers of a program of one's own, under all three strategies.

use std::sync::Arc;

use peristyle::metrics::Metrics;

use crate::embed;
use crate::liar::{GRAPHQL, Liar, Lie, told};
use crate::pair::{NOTES, ask, database, look, settings, setup};
use crate::test_hub::{self, TestHub};
use crate::support::{Database, Place, Server, Setup, get};

async fn serve(setup: &Setup, database: &Database) -> Server {
    let (service, config) = setup.boot(&database.url).await.unwrap_or_else(|error| panic!("{error}"));
    let (gate, budgets) = (service.gate.clone(), service.budgets.clone());
    Server::start(embed::app(service, &config), (&config, gate, budgets), Arc::<Metrics>::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_authority_everybody_is_a_stranger() {
    // contract I32.3
    let database = database().await;
    let server = serve(&Setup::new(crate::pair::MANIFEST), &database).await;
    let claimed = get("/hello").header("authorization", "Bearer x");
    assert_eq!(server.send(&claimed).await.text(), "Good day, stranger");
    server.get("/report").await.problem(403);
    assert_eq!(server.get("/health").await.status(), 200);
    // Who am I, under `none`: the anonymous account, whom verify lets nowhere.
    let me = server.get("/auth/me").await.good();
    assert_eq!(me["id"], "00000000-0000-0000-0000-000000000000");
    assert_eq!(me["dPermissions"]["all"], serde_json::json!([]));
    server.get("/auth/verify").await.problem(403);
    assert_eq!(server.get("/auth/login").await.status(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_hub_the_handler_gets_the_account_of_the_hub_s_own_token() {
    // contract I32.3
    let hub = TestHub::start(Place::Sqlite).await;
    let ada = hub.tokens().await;
    hub.add_account("bo", &["shop.report.get"]).await;
    let form = password_form("bo");
    let bo = hub.token(&form).await.good();
    let server = serve(&test_hub::setup(), &hub.database).await;
    assert_eq!(look(&server, "/hello", &ada["access_token"]).await.text(), "Good day, ada");
    look(&server, "/report", &ada["access_token"]).await.problem(403);
    assert_eq!(look(&server, "/report", &bo["access_token"]).await.status(), 200);
    assert_eq!(server.get("/report").await.header("www-authenticate"), Some("Bearer"));
    assert_eq!(look(&server, "/api/iam/me", &ada["access_token"]).await.good()["username"], "ada");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_satellite_the_handler_gets_the_account_that_the_hub_tells() {
    // contract I32.3
    let (liar, database) = (Liar::start().await, database().await);
    let server = serve(&setup(settings(liar.address, "secret")), &database).await;
    let token = liar.token();
    assert_eq!(server.get("/hello").await.text(), "Good day, stranger");
    assert_eq!(look(&server, "/hello", &token).await.text(), "Good day, ada");
    look(&server, "/report", &token).await.problem(403);
    assert_eq!(server.get("/report").await.header("www-authenticate"), Some("Bearer"));
    let bad = server.send(&get("/hello").header("authorization", "Bearer x")).await;
    assert_eq!(bad.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
    let mut row = liar.row();
    row["dPermissions"] = serde_json::json!({ "all": ["shop.report.get"] });
    liar.says(GRAPHQL, Lie::json(&told(&row)));
    let report = look(&server, "/report", &liar.token()).await;
    assert_eq!(report.text(), format!("the report, for {}", liar.account));
    ask(&server, NOTES, &token).await.good();
}
