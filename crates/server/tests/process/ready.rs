//! `/ready` while a table of a resource is away.

use crate::program::{Folder, MANIFEST, SCRIPT};
use crate::support::{BACKENDS, Database, get, until};

// contract E2.10, contract E5.1
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_table_turns_ready_red_until_it_returns() {
    for backend in BACKENDS {
        let database = Database::with(backend, SCRIPT).await;
        let folder = Folder::new();
        folder.write("peristyle.toml", &MANIFEST.replace("total = \"decimal\"", "total = \"text\""));
        let mut serving = folder.serve(&[("DATABASE_URL", &database.url)]);
        let address = serving.address;
        let status = async || get("/ready").send(address).await.status();
        assert_eq!(status().await, 200, "{backend:?}");
        database.execute("ALTER TABLE orders RENAME TO elsewhere").await;
        until("/ready is red", async || status().await == 503).await;
        let refused = get("/ready").send(address).await;
        assert!(!refused.text().contains("orders"), "{}", refused.text());
        assert_eq!(refused.problem(503)["code"], "RESOURCE_NOT_READY", "{backend:?}");
        assert_eq!(get("/health").send(address).await.status(), 200);
        // A request on the table says the same.
        let answer = crate::support::post("/api/shop/orders/list", "").send(address).await;
        assert_eq!(answer.problem(503)["code"], "RESOURCE_NOT_READY", "{backend:?}");
        let line = serving.line(|line| line.contains("the table orders of the resource shop.order is missing"));
        assert!(line.contains("ERROR") && !line.contains("shop.customer"), "{line}");
        database.execute("ALTER TABLE elsewhere RENAME TO orders").await;
        until("/ready is green", async || status().await == 200).await;
        serving.stop();
    }
}

// contract E5.1
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_pivot_turns_ready_red() {
    const SCRIPT: &str = "CREATE TABLE customers (id INTEGER PRIMARY KEY); CREATE TABLE labels (id INTEGER PRIMARY KEY);
        CREATE TABLE customer_labels (customer_id INTEGER, label_id INTEGER, PRIMARY KEY (customer_id, label_id))";
    const MANIFEST: &str = "\
[resource.shop.customer.fields]
id = { type = \"int\", key = true }
[resource.shop.customer.relations]
labels = { many = \"shop.label\", through = \"customer_labels\", on = { id = \"customer_id\" }, to = { label_id = \"id\" } }
[resource.shop.label.fields]
id = { type = \"int\", key = true }
";
    for backend in BACKENDS {
        let database = Database::with(backend, SCRIPT).await;
        let folder = Folder::new();
        folder.write("peristyle.toml", MANIFEST);
        let mut serving = folder.serve(&[("DATABASE_URL", &database.url)]);
        let address = serving.address;
        database.execute("ALTER TABLE customer_labels RENAME TO elsewhere").await;
        until("/ready is red", async || get("/ready").send(address).await.status() == 503).await;
        serving.line(|line| line.contains("the table customer_labels of the resource shop.customer is missing"));
        serving.stop();
    }
}
