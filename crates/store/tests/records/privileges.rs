//! The privileges that the role of a hub needs on PostgreSQL, and the errors that name a missing one.

use store::hub_records::Records;

use super::support::{Postgres, connect};
use super::{INSERT, count, records, tenant};

/// A new role without privileges, and the records on its connections.
async fn new_role(database: &Postgres) -> (String, Records) {
    let role = format!("role_{}", database.name);
    connect(&database.url).await.batch_execute(&format!("CREATE ROLE {role} LOGIN")).await.expect("a role");
    let (_, server) = database.url.split_once('@').expect("a user");
    let records = records(&format!("postgres://{role}@{server}"));
    (role, records)
}

async fn drop_role(database: Postgres, role: &str) {
    let client = connect(&database.url).await;
    client.batch_execute(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}")).await.expect("dropped");
    database.drop().await;
}

// contract B3.8
#[tokio::test(flavor = "multi_thread")]
async fn the_error_of_a_role_that_may_not_create_the_tables_names_the_grants() {
    let database = Postgres::with("").await;
    let (role, records) = new_role(&database).await;
    let message = records.migrate().await.expect_err("no privilege").to_string();
    for words in [format!("GRANT CREATE ON DATABASE {} TO {role}", database.name), format!("CREATE SCHEMA peristyle AUTHORIZATION {role}")]
    {
        assert!(message.contains(&words), "{message}");
    }
    let client = connect(&database.url).await;
    client.batch_execute(&format!("CREATE SCHEMA peristyle AUTHORIZATION {role}")).await.expect("a schema");
    assert!(!records.migrate().await.expect("the advised statements suffice").is_empty());
    drop_role(database, &role).await;
}

// contract B3.8
#[tokio::test(flavor = "multi_thread")]
async fn a_role_needs_every_privilege_on_the_tables_and_the_error_names_the_missing_one() {
    let database = Postgres::with("").await;
    super::records(&database.url).migrate().await.expect("steps");
    let (role, records) = new_role(&database).await;
    let pending = records.is_pending().await.expect_err("a missing privilege is not a missing table").to_string();
    let message = records.migrate().await.expect_err("no privilege").to_string();
    assert_eq!(pending, message);
    let (usage, tables) = (
        format!("GRANT USAGE ON SCHEMA peristyle TO {role}"),
        format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA peristyle TO {role}"),
    );
    assert!(message.contains(&usage) && message.contains(&tables), "{message}");
    let client = connect(&database.url).await;
    client.batch_execute(&format!("{usage}; GRANT SELECT ON ALL TABLES IN SCHEMA peristyle TO {role}")).await.expect("granted");
    let message = records.migrate().await.expect_err("a privilege is missing").to_string();
    assert!(message.contains("DELETE on table peristyle.account") && message.contains(&tables), "{message}");
    client.batch_execute(&tables).await.expect("granted");
    assert!(records.migrate().await.expect("the advised statements suffice").is_empty());
    records.run(INSERT, &tenant(1)).await.expect("inserted");
    assert_eq!(count(&records).await, 1);
    drop_role(database, &role).await;
}
