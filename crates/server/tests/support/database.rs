//! A fresh database for a test, removed at its end, whether it ends well or not.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{Client, NoTls};

use super::variable;

/// Which database a story is played on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Postgres,
    Sqlite,
}

/// Both.
pub const PLACES: [Place; 2] = [Place::Postgres, Place::Sqlite];

/// A database of its own.
#[derive(Debug)]
pub struct Database {
    pub place: Place,
    pub url: String,
    keeper: Keeper,
}

#[derive(Debug)]
enum Keeper {
    Cluster(String),
    File { path: PathBuf, _folder: tempfile::TempDir },
}

impl Database {
    /// A database that the script has filled.
    pub async fn with(place: Place, script: &str) -> Self {
        match place {
            Place::Postgres => {
                static NEXT: AtomicU32 = AtomicU32::new(0);
                let name = format!("server_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
                connect(&cluster()).await.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
                let database = Database { place, url: address(&name), keeper: Keeper::Cluster(name) };
                database.execute(script).await;
                database
            }
            Place::Sqlite => {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join("test.db");
                rusqlite::Connection::open(&path).expect("a file").execute_batch(script).expect("the script runs");
                Database { place, url: format!("sqlite://{}", path.display()), keeper: Keeper::File { path, _folder: folder } }
            }
        }
    }

    /// Runs a script.
    pub async fn execute(&self, script: &str) {
        match &self.keeper {
            Keeper::Cluster(_) => {
                connect(&self.url).await.batch_execute(script).await.unwrap_or_else(|error| panic!("{error:?}\n{script}"));
            }
            Keeper::File { path, .. } => {
                rusqlite::Connection::open(path)
                    .and_then(|file| file.execute_batch(script))
                    .unwrap_or_else(|error| panic!("{error}\n{script}"));
            }
        }
    }

    /// Runs one statement and says how many rows it changed.
    pub async fn change(&self, statement: &str) -> u64 {
        match &self.keeper {
            Keeper::Cluster(_) => {
                self.client().await.execute(statement, &[]).await.unwrap_or_else(|error| panic!("{error:?}\n{statement}"))
            }
            Keeper::File { path, .. } => {
                let changed = rusqlite::Connection::open(path).and_then(|file| file.execute(statement, []));
                changed.unwrap_or_else(|error| panic!("{error}\n{statement}")) as u64
            }
        }
    }

    /// The name, for questions about `pg_stat_activity`.
    pub fn name(&self) -> &str {
        match &self.keeper {
            Keeper::Cluster(name) => name,
            Keeper::File { .. } => "main",
        }
    }

    /// A PostgreSQL connection of the test's own.
    pub async fn client(&self) -> Client {
        connect(&self.url).await
    }

    /// How many of the server's sessions in this database fulfil a condition on `pg_stat_activity`.
    pub async fn sessions(&self, condition: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'peristyle' AND ({condition})");
        connect(&cluster()).await.query_one(&sql, &[&self.name()]).await.expect("an answer").get(0)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Keeper::Cluster(name) = &self.keeper else { return };
        let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        // A test may end by a panic in the middle of its runtime, so the last words are said on a thread of their own.
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

/// The cluster's own database.
pub fn cluster() -> String {
    variable("PERISTYLE_TEST_POSTGRES")
}

/// The address of a database in the cluster.
pub fn address(name: &str) -> String {
    let cluster = cluster();
    let base = cluster.strip_suffix("/postgres").expect("the cluster's address ends in /postgres");
    format!("{base}/{name}")
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("PostgreSQL answers");
    tokio::spawn(connection);
    client
}
