//! What a hub's role has to be allowed on PostgreSQL, and how a hub says what it lacks.

use store::hub_records::Records;

use super::support::{Postgres, connect};
use super::{ADDED, count, records, tenant};

/// A role of its own that may sign in and nothing else, and the records as it sees them.
async fn stranger(database: &Postgres) -> (String, Records) {
    let role = format!("role_{}", database.name);
    connect(&database.url).await.batch_execute(&format!("CREATE ROLE {role} LOGIN")).await.expect("a role");
    let (_, place) = database.url.split_once('@').expect("a user");
    let records = records(&format!("postgres://{role}@{place}"));
    (role, records)
}

async fn leave(database: Postgres, role: &str) {
    let client = connect(&database.url).await;
    client.batch_execute(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}")).await.expect("dropped");
    database.drop().await;
}

// contract B3.8
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_make_the_tables_is_told_what_to_grant() {
    let database = Postgres::with("").await;
    let (role, records) = stranger(&database).await;
    let message = records.migrate().await.expect_err("no right").to_string();
    for words in [format!("GRANT CREATE ON DATABASE {} TO {role}", database.name), format!("CREATE SCHEMA peristyle AUTHORIZATION {role}")]
    {
        assert!(message.contains(&words), "{message}");
    }
    let client = connect(&database.url).await;
    client.batch_execute(&format!("CREATE SCHEMA peristyle AUTHORIZATION {role}")).await.expect("a schema");
    assert!(!records.migrate().await.expect("what was advised is enough").is_empty());
    leave(database, &role).await;
}

// contract B3.8
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_only_use_the_tables_is_enough_and_less_is_told() {
    let database = Postgres::with("").await;
    super::records(&database.url).migrate().await.expect("steps");
    let (role, records) = stranger(&database).await;
    let pending = records.is_pending().await.expect_err("a right that is lacking is no table that is missing").to_string();
    let message = records.migrate().await.expect_err("no right").to_string();
    assert_eq!(pending, message);
    let (usage, tables) = (
        format!("GRANT USAGE ON SCHEMA peristyle TO {role}"),
        format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA peristyle TO {role}"),
    );
    assert!(message.contains(&usage) && message.contains(&tables), "{message}");
    let client = connect(&database.url).await;
    client.batch_execute(&format!("{usage}; GRANT SELECT ON ALL TABLES IN SCHEMA peristyle TO {role}")).await.expect("granted");
    let message = records.migrate().await.expect_err("still no right").to_string();
    assert!(message.contains("DELETE on table peristyle.account") && message.contains(&tables), "{message}");
    client.batch_execute(&tables).await.expect("granted");
    assert!(records.migrate().await.expect("what was advised is enough").is_empty());
    records.run(ADDED, &tenant(1)).await.expect("inserted");
    assert_eq!(count(&records).await, 1);
    leave(database, &role).await;
}
