//! A fresh database for a test. It is dropped at the end, also after a panic.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{Client, NoTls};

use super::variable;

/// The database that a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Postgres,
    Sqlite,
}

pub const BACKENDS: [Backend; 2] = [Backend::Postgres, Backend::Sqlite];

/// A database of one test.
#[derive(Debug)]
pub struct Database {
    pub backend: Backend,
    pub url: String,
    storage: Storage,
}

#[derive(Debug)]
enum Storage {
    Postgres(String),
    Sqlite { path: PathBuf, _folder: tempfile::TempDir },
}

impl Database {
    /// Creates a database and runs the script.
    pub async fn with(backend: Backend, script: &str) -> Self {
        match backend {
            Backend::Postgres => {
                static NEXT: AtomicU32 = AtomicU32::new(0);
                let name = format!("server_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
                connect(&cluster()).await.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
                let database = Database { backend, url: dsn(&name), storage: Storage::Postgres(name) };
                database.execute(script).await;
                database
            }
            Backend::Sqlite => {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join("test.db");
                rusqlite::Connection::open(&path).expect("a file").execute_batch(script).expect("the script runs");
                Database { backend, url: format!("sqlite://{}", path.display()), storage: Storage::Sqlite { path, _folder: folder } }
            }
        }
    }

    /// Runs a script.
    pub async fn execute(&self, script: &str) {
        match &self.storage {
            Storage::Postgres(_) => {
                connect(&self.url).await.batch_execute(script).await.unwrap_or_else(|error| panic!("{error:?}\n{script}"));
            }
            Storage::Sqlite { path, .. } => {
                rusqlite::Connection::open(path)
                    .and_then(|file| file.execute_batch(script))
                    .unwrap_or_else(|error| panic!("{error}\n{script}"));
            }
        }
    }

    /// Runs one statement; returns how many rows it changed.
    pub async fn change(&self, statement: &str) -> u64 {
        match &self.storage {
            Storage::Postgres(_) => {
                self.client().await.execute(statement, &[]).await.unwrap_or_else(|error| panic!("{error:?}\n{statement}"))
            }
            Storage::Sqlite { path, .. } => {
                let changed = rusqlite::Connection::open(path).and_then(|file| file.execute(statement, []));
                changed.unwrap_or_else(|error| panic!("{error}\n{statement}")) as u64
            }
        }
    }

    /// The first column of a query, as texts.
    pub async fn texts(&self, query: &str) -> Vec<String> {
        match &self.storage {
            Storage::Postgres(_) => {
                let query = format!("SELECT CAST(v AS text) FROM ({query}) AS q (v)");
                let rows = self.client().await.query(&query, &[]).await.unwrap_or_else(|error| panic!("{error:?}\n{query}"));
                rows.iter().map(|row| row.get::<_, Option<String>>(0).unwrap_or_default()).collect()
            }
            Storage::Sqlite { path, .. } => {
                let file = rusqlite::Connection::open(path).expect("the file");
                let mut statement = file.prepare(query).unwrap_or_else(|error| panic!("{error}\n{query}"));
                let texts = statement.query_map([], |row| row.get::<_, rusqlite::types::Value>(0)).expect("rows");
                texts.map(|value| text_of(value.expect("a value"))).collect()
            }
        }
    }

    /// The name of the database in PostgreSQL.
    pub fn name(&self) -> &str {
        match &self.storage {
            Storage::Postgres(name) => name,
            Storage::Sqlite { .. } => "main",
        }
    }

    /// A connection of the test to PostgreSQL.
    pub async fn client(&self) -> Client {
        connect(&self.url).await
    }

    /// Counts the sessions of the server in this database that match a condition on `pg_stat_activity`.
    pub async fn sessions(&self, condition: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'peristyle' AND ({condition})");
        connect(&cluster()).await.query_one(&sql, &[&self.name()]).await.expect("an answer").get(0)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Storage::Postgres(name) = &self.storage else { return };
        let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        // A panic may drop this inside a runtime, so another thread drops the database.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async { connect(&cluster()).await.batch_execute(&sql).await })
        });
        let outcome = dropped.join();
        if !std::thread::panicking() {
            outcome.expect("the thread ends").expect("the database is dropped");
        }
    }
}

fn text_of(value: rusqlite::types::Value) -> String {
    match value {
        rusqlite::types::Value::Text(text) => text,
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Real(number) => number.to_string(),
        rusqlite::types::Value::Null | rusqlite::types::Value::Blob(_) => String::new(),
    }
}

/// The DSN of the database `postgres` of the cluster.
pub fn cluster() -> String {
    variable("PERISTYLE_TEST_POSTGRES")
}

/// The DSN of a database in the cluster.
pub fn dsn(name: &str) -> String {
    let cluster = cluster();
    let base = cluster.strip_suffix("/postgres").expect("the DSN ends in /postgres");
    format!("{base}/{name}")
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("PostgreSQL answers");
    tokio::spawn(connection);
    client
}
