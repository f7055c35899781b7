//! A constraint on the tenants of an account.

use query::policy::Viewer;
use serde_json::json;

use crate::support::{BACKENDS, Backend, Database, Setup};

const MANIFEST: &str = "
[resource.shop.note]
constraint = { where = { tenantId = { in = \"$account.dTenants\" } } }
[resource.shop.note.fields]
id = { type = \"int\", key = true }
tenantId = \"uuid\"
";

fn tenant(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

// contract P2.7, Q11.3
#[tokio::test(flavor = "multi_thread")]
async fn an_account_of_very_many_tenants_sees_the_rows_of_all() {
    for backend in BACKENDS {
        let kind = if backend == Backend::Postgres { "uuid" } else { "text" };
        let rows = [1, 10_001, 20_000].map(|number| format!("INSERT INTO notes VALUES ({number}, '{}');", tenant(number))).concat();
        let database = Database::with(backend, &format!("CREATE TABLE notes (id integer PRIMARY KEY, tenant_id {kind}); {rows}")).await;
        let tenants: Vec<String> = (1..=10_001).map(tenant).collect();
        let mut setup = Setup::new(MANIFEST);
        setup.viewer = Some(Viewer::new([], json!({ "dTenants": tenants })));
        let server = setup.serve(&database).await;
        let seen = server.post("/api/shop/notes/list", json!({ "query": { "order": [{ "field": "id" }] } }).to_string()).await.good();
        let ids: Vec<_> = seen.as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
        assert_eq!(ids, [json!(1), json!(10_001)], "{backend:?}");
        let asked = json!({ "query": { "where": { "tenantId": { "in": (1..=10_001).map(tenant).collect::<Vec<_>>() } } } });
        server.post("/api/shop/notes/list", asked.to_string()).await.problem(400);
    }
}
