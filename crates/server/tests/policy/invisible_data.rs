//! Two databases that differ only in data that the viewer may not see give byte-identical answers. (traps 1, 2)

use oracle::{Case, Generator, Operation};
use serde_json::Value;

use crate::support::{BACKENDS, Backend, Database, Response, Server};
use crate::viewers::{ANONYMOUS, CLERK, CROOKED, FULL, OUTSIDER, PAYROLL, Sight};
use crate::{fixture, path, serve};

/// Statements of each viewer on each database.
const STATEMENTS: usize = 250;

/// Changes invisible data. Every statement must change something, or the test proves nothing.
async fn twist(database: &Database, sight: &Sight) {
    for statement in sight.twists(database.backend) {
        let changed = database.change(&statement).await;
        assert!(changed > 0, "{}: nothing changed by {statement}", sight.viewer);
    }
}

/// The natural order of PostgreSQL is that of the heap: the order of the key, in both databases.
async fn settle(database: &Database) {
    if database.backend == Backend::Postgres {
        for table in ["customers", "orders", "order_lines", "shipments", "departments", "employees", "documents", "reviews"] {
            database.execute(&format!("CLUSTER {table} USING {table}_pkey")).await;
        }
        // Its key differs.
        database.execute("CREATE INDEX visits_started ON visits (started_at); CLUSTER visits USING visits_started").await;
        database.execute("CREATE INDEX pairs ON customers_labels (label_id, customer_id); CLUSTER customers_labels USING pairs").await;
    }
}

/// The rows without their order.
fn unordered(answer: &Response) -> Value {
    fn sorted(value: &mut Value) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(sorted);
                items.sort_by_cached_key(ToString::to_string);
            }
            Value::Object(entries) => entries.values_mut().for_each(sorted),
            _ => {}
        }
    }
    let mut value = answer.json();
    sorted(&mut value);
    value
}

async fn compare(sight: &Sight, backend: Backend, seed: u64) {
    let (plain, twisted) = (fixture(backend).await, fixture(backend).await);
    twist(&twisted, sight).await;
    settle(&plain).await;
    settle(&twisted).await;
    let servers: [Server; 2] = [serve(&plain, sight.viewer, &[]).await, serve(&twisted, sight.viewer, &[]).await];
    compare_all_fields(sight, backend, &servers).await;
    let mut generator = Generator::new(seed);
    let (mut asked, mut shuffled, mut answered) = (0, 0, 0);
    while asked < STATEMENTS {
        let case = generator.next();
        if case.viewer != sight.viewer {
            continue;
        }
        asked += 1;
        let (path, body) = (path(&case), case.body().to_string());
        let answers = [servers[0].post(&path, &body).await, servers[1].post(&path, &body).await];
        let told = || format!("{backend:?} {} {path} {body}\n{}\n{}", sight.viewer, answers[0].text(), answers[1].text());
        assert!(answers.iter().all(|answer| answer.status() < 500), "{}", told());
        assert_eq!(answers[0].status(), answers[1].status(), "{}", told());
        answered += usize::from(answers[0].status() == 200);
        if answers[0].body != answers[1].body {
            // PostgreSQL may choose another plan for other numbers of rows, and with it another natural order.
            assert!(backend == Backend::Postgres, "{}", told());
            assert_eq!(unordered(&answers[0]), unordered(&answers[1]), "{}", told());
            shuffled += 1;
        }
    }
    assert!(answered * 3 > STATEMENTS || sight.viewer == "anonymous", "the generator has gone stale: {answered} answers");
    assert!(shuffled * 20 < STATEMENTS, "{shuffled} answers differ in their order");
}

/// Every field of every resource, also the derived fields that are shown on request only.
async fn compare_all_fields(sight: &Sight, backend: Backend, servers: &[Server; 2]) {
    let viewer = oracle::viewer(sight.viewer);
    for resource in oracle::world().schema.resources().filter(|resource| viewer.can_read(resource)) {
        let names: Vec<&str> = resource.fields.iter().filter(|field| viewer.knows(field)).map(|field| field.name.as_str()).collect();
        let case = Case {
            viewer: viewer.name,
            resource: resource.name.clone(),
            operation: Operation::List,
            query: None,
            constraint: None,
            fault: None,
        };
        let path = format!("{}?fields={}", path(&case), names.join(","));
        let answers = [servers[0].post(&path, "{}").await, servers[1].post(&path, "{}").await];
        assert_eq!(answers[0].status(), 200, "{}", answers[0].text());
        assert_eq!(unordered(&answers[0]), unordered(&answers[1]), "{backend:?} {} {path}", sight.viewer);
    }
}

async fn on_both(sight: &Sight) {
    for (backend, seed) in BACKENDS.into_iter().zip([11, 12]) {
        compare(sight, backend, seed).await;
    }
}

// contract P2.10, contract P2.1, trap 1, trap 2
#[tokio::test]
async fn deleted_rows_and_closed_constraints_change_no_answer_of_a_viewer_with_all_permissions() {
    on_both(&FULL).await;
}

// contract P2.10, contract P2.3, contract P2.4, contract Q8.6, trap 1, trap 2
#[tokio::test]
async fn other_tenants_and_masked_values_change_no_answer_of_a_clerk() {
    on_both(&CLERK).await;
}

// contract P2.10, contract P2.2, trap 2
#[tokio::test]
async fn unreadable_resources_change_no_answer_of_an_outsider() {
    on_both(&OUTSIDER).await;
}

// contract P2.10, contract P2.4
#[tokio::test]
async fn customers_change_no_answer_of_payroll() {
    on_both(&PAYROLL).await;
}

// contract P2.10, contract P2.7
#[tokio::test]
async fn account_values_of_the_wrong_type_open_no_rows() {
    on_both(&CROOKED).await;
}

// contract P2.10, contract E3.2
#[tokio::test]
async fn rows_that_are_not_public_change_no_answer_of_the_anonymous_account() {
    on_both(&ANONYMOUS).await;
}
