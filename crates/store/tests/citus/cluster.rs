//! A database on a coordinator and its workers.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::{cluster, connect};

/// The ports of the workers.
fn workers() -> Vec<u16> {
    #[expect(clippy::disallowed_methods, reason = "tests learn the ports from scripts/services")]
    let ports = std::env::var("PERISTYLE_TEST_CITUS_WORKERS").expect("run ./scripts/test --citus, which starts a cluster");
    ports.split(' ').map(|port| port.parse().expect("a port")).collect()
}

/// A database with Citus on all servers of the cluster, dropped at the end.
pub(crate) struct DistributedDatabase {
    name: String,
    pub(crate) url: String,
}

impl DistributedDatabase {
    /// Runs a script that makes tables, and another that distributes them.
    pub(crate) async fn with(tables: &str, distribution: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("citus_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        for server in servers() {
            connect(&server).await.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
            connect(&of_database(&server, &name)).await.batch_execute("CREATE EXTENSION citus").await.expect("the extension");
        }
        // Each database that adds a worker writes the roles of the whole worker, and two at once conflict. The session holds this lock.
        let turn = connect(&cluster()).await;
        turn.execute("SELECT pg_advisory_lock(hashtext('citus_add_node'))", &[]).await.expect("a turn");
        let url = of_database(&cluster(), &name);
        let client = connect(&url).await;
        let own_port: i32 = client.query_one("SELECT inet_server_port()", &[]).await.expect("a port").get(0);
        client.batch_execute(&format!("SELECT citus_set_coordinator_host('127.0.0.1', {own_port})")).await.expect("a coordinator");
        for port in workers() {
            client.batch_execute(&format!("SELECT citus_add_node('127.0.0.1', {port})")).await.expect("a worker");
        }
        drop(turn);
        client.batch_execute(tables).await.expect("tables");
        client.batch_execute(distribution).await.expect("distributed tables");
        DistributedDatabase { name, url }
    }

    pub(crate) async fn drop(self) {
        for server in servers() {
            let dropped = connect(&server).await.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
            dropped.expect("dropped");
        }
    }
}

/// The DSNs of the coordinator and the workers.
fn servers() -> Vec<String> {
    let worker = |port| format!("postgres://postgres@127.0.0.1:{port}/postgres");
    std::iter::once(cluster()).chain(workers().into_iter().map(worker)).collect()
}

fn of_database(url: &str, name: &str) -> String {
    url.strip_suffix("/postgres").map(|base| format!("{base}/{name}")).expect("the DSN of the cluster")
}
