//! Shared by the store's tests: databases of their own, manifests, and running a case as a request does.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod proxy;
pub mod writes;

use std::sync::atomic::{AtomicU32, Ordering};

use oracle::{Answer, Case, Operation};
use query::catalog::Catalog;
use query::manifest::Manifest;
use query::parse;
use query::policy::{self, Viewer};
use query::{merge, plan, sql};
use serde_json::Value;
use store::run::Format;
use store::{Database, DatabaseSettings};
use tokio_postgres::NoTls;

/// The URL of the test cluster.
pub fn cluster() -> String {
    #[expect(clippy::disallowed_methods, reason = "tests learn the cluster's URL from scripts/services")]
    std::env::var("PERISTYLE_TEST_POSTGRES")
        .expect("run ./scripts/test, which starts PostgreSQL (or ./scripts/services cargo nextest run …)")
}

/// A PostgreSQL database of its own, dropped at the end.
pub struct Postgres {
    pub name: String,
    pub url: String,
}

impl Postgres {
    pub async fn with(script: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("store_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let client = connect(&cluster()).await;
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
        let url = cluster().replace("/postgres?", &format!("/{name}?"));
        let url = url.strip_suffix("/postgres").map_or(url.clone(), |base| format!("{base}/{name}"));
        connect(&url).await.batch_execute(script).await.expect("the script runs");
        Postgres { name, url }
    }

    pub async fn drop(self) {
        connect(&cluster()).await.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await.expect("dropped");
    }
}

pub async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("PostgreSQL answers");
    tokio::spawn(connection);
    client
}

/// A SQLite file of its own.
pub struct Sqlite {
    _folder: tempfile::TempDir,
    pub url: String,
}

impl Sqlite {
    pub fn with(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("test.db");
        rusqlite::Connection::open(&path).expect("a file").execute_batch(script).expect("the script runs");
        Sqlite { url: format!("sqlite://{}", path.display()), _folder: folder }
    }
}

pub fn open(url: &str) -> Database {
    Database::open(url, &DatabaseSettings::default()).expect("the database opens")
}

/// A database that holds only so many bytes of related rows at once.
pub fn open_narrow(url: &str, memory: usize) -> Database {
    Database::open(url, &DatabaseSettings { memory, ..DatabaseSettings::default() }).expect("the database opens")
}

/// The manifest of a table `facts` with an integer key and these fields, as the resource `t.row`.
pub fn facts(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, kind)| format!("{name} = \"{kind}\"\n")).collect();
    let fields = fields.concat();
    format!("[resource.t.row]\ntable = \"facts\"\n[resource.t.row.fields]\nid = {{ type = \"int\", key = true }}\n{fields}")
}

/// The catalog of a manifest that must fit the database.
pub async fn catalog(manifest: &str, database: &Database) -> Catalog {
    let manifest = Manifest::read(manifest).unwrap_or_else(|error| panic!("{error}"));
    let mut catalog = Catalog::resolve(&manifest).unwrap_or_else(|error| panic!("{error}"));
    let schema = database.schema().await.expect("the schema");
    store::check::add_database_facts(&mut catalog, &schema);
    let report = store::check::check(&catalog, &schema, database.dialect());
    assert_eq!(report.errors().count(), 0, "{report:?}");
    catalog
}

/// The outcome of a statement.
#[derive(Debug)]
pub enum Outcome {
    Answer(Answer),
    Faults(Vec<(&'static str, String)>),
}

pub fn viewer(name: &str) -> Viewer {
    let viewer = oracle::viewer(name);
    Viewer::new(viewer.permissions.iter().cloned(), viewer.account.clone())
}

/// Runs a case as a request would.
pub async fn run(catalog: &Catalog, database: &Database, case: &Case) -> Outcome {
    let resource = catalog.by_name(&case.resource).expect("a resource");
    let viewer = viewer(case.viewer);
    let Ok(entrance) = policy::authorize_read(catalog, resource, &viewer) else {
        return Outcome::Answer(Answer::Forbidden);
    };
    let (operation, id) = match &case.operation {
        Operation::Paginate => (plan::Operation::Paginate, None),
        Operation::KeysetPaginate => (plan::Operation::KeysetPaginate, None),
        Operation::List => (plan::Operation::List, None),
        Operation::Find => (plan::Operation::Find, None),
        Operation::FindById(id) => (plan::Operation::Find, Some(id.as_str())),
    };
    let width = catalog.resource(resource).key.len();
    let parts: Option<Vec<&str>> = id.map(|id| if width == 1 { vec![id] } else { id.split(',').collect() });
    let body = case.body().to_string();
    let query = match planned(entrance, body.as_bytes(), operation, parts.as_deref(), database) {
        Ok(query) => query,
        Err(error) => return Outcome::Faults(error.faults.iter().map(|fault| (fault.code.as_str(), fault.path.clone())).collect()),
    };
    let bytes = match database.run(query.clone(), Format::Json).await {
        Err(error) => panic!("{error}\n{body}\n{query:#?}"),
        Ok(store::Answer::Nothing) => return Outcome::Answer(Answer::NotFound),
        Ok(store::Answer::Whole(bytes) | store::Answer::Page(bytes, _)) => bytes.to_vec(),
        Ok(store::Answer::Chunks(chunks)) => whole(chunks).await.expect("no fault in the stream"),
    };
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)));
    Outcome::Answer(decoded(operation, value))
}

/// An answer as the oracle writes it.
pub fn decoded(operation: plan::Operation, value: Value) -> Answer {
    match operation {
        plan::Operation::Find => Answer::Row(value),
        plan::Operation::List => Answer::Rows(value.as_array().expect("an array").clone()),
        plan::Operation::KeysetPaginate => Answer::KeysetPage {
            count: value["count"].as_u64().expect("a count"),
            rows: value["rows"].as_array().expect("rows").clone(),
            follows: !value["next"].is_null(),
        },
        plan::Operation::Paginate => Answer::Page {
            total: value["total"].as_u64().expect("a total"),
            count: value["count"].as_u64().expect("a count"),
            rows: value["rows"].as_array().expect("rows").clone(),
        },
    }
}

/// All bytes of a streamed answer.
pub async fn whole(mut chunks: store::Chunks) -> Result<Vec<u8>, store::Error> {
    use futures_util::StreamExt;
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        bytes.extend_from_slice(&chunk?);
    }
    Ok(bytes)
}

pub fn planned(
    entrance: policy::ReadAccess<'_, '_>,
    body: &[u8],
    operation: plan::Operation,
    id: Option<&[&str]>,
    database: &Database,
) -> Result<sql::Query, query::error::Error> {
    let plan = plan::plan(entrance, merge::merged(parse::body(body)?), operation, id)?;
    Ok(sql::render(&plan, database.dialect()))
}
