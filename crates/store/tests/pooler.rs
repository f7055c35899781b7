//! Behind a real PgBouncer: sessions that it shares out, and statements that are given up.
#![allow(clippy::expect_used, clippy::panic)]

mod support;

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use query::catalog::Catalog;
use query::manifest::Manifest;
use query::policy::{self, Viewer};
use query::{parse, plan, sql};
use store::run::Format;
use store::{Answer, Database, DatabaseSettings, Error, Prepare};
use support::proxy::{self, Proxy};
use tokio::net::TcpStream;

const SCRIPT: &str = "CREATE TABLE quick (id int PRIMARY KEY); INSERT INTO quick VALUES (7); \
                      CREATE VIEW slow AS SELECT 1 AS id, pg_sleep(60)::text AS nothing";

const MANIFEST: &str = "[resource.t.quick]\ntable = \"quick\"\nplural = \"quicks\"\n[resource.t.quick.fields]\nid = { type = \"int\", key = true }\n\
                        [resource.t.slow]\ntable = \"slow\"\nplural = \"slows\"\n[resource.t.slow.fields]\nid = \"int\"\nnothing = \"text\"\n";

/// Which of its connections a pooler gives out next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turns {
    /// The one that came back last.
    Last,
    /// The one that has rested longest.
    Around,
}

struct PgBouncer {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl PgBouncer {
    /// Starts one in front of the test cluster that gives its connections out like this.
    async fn start(mode: &str, turns: Turns) -> Self {
        PgBouncer::with("", &support::cluster(), mode, turns).await
    }

    /// Starts one in front of the server of this URL, with more settings.
    async fn with(more: &str, url: &str, mode: &str, turns: Turns) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
        let cluster = url.split_once('@').and_then(|(_, rest)| rest.split_once('/')).map(|(place, _)| place).expect("an address");
        let (host, port) = cluster.rsplit_once(':').expect("a port");
        let settings = format!(
            "[databases]\n* = host={host} port={port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = {mode}\nserver_round_robin = {}\nignore_startup_parameters = extra_float_digits\n{more}",
            address.port(),
            u8::from(turns == Turns::Around)
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).expect("the settings");
        // One that root starts goes on as somebody else.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("readable");
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().find(|path| std::path::Path::new(path).exists());
        let mut command = Command::new(program.expect("PgBouncer is not installed: run ./scripts/test, which installs it"));
        if is_root() {
            command.args(["-u", "postgres"]);
        }
        let child = command.arg("-q").arg(&file).stderr(Stdio::null()).spawn().expect("PgBouncer runs");
        let bouncer = PgBouncer { child, address, _folder: folder };
        until("PgBouncer listens", async || TcpStream::connect(address).await.is_ok()).await;
        bouncer
    }

    fn database(&self, name: &str, prepare: Prepare) -> Database {
        let url = format!("postgres://postgres@{}/{name}", self.address);
        // A third of it is the time to give a sign of life, which a busy machine may need.
        Database::open(&url, &DatabaseSettings { timeout: Duration::from_secs(3), prepare, ..DatabaseSettings::default() }).expect("a pool")
    }

    fn is_alive(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn is_root() -> bool {
    let told = Command::new("id").arg("-u").output().expect("an id");
    told.stdout.starts_with(b"0\n")
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(30), "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn listed(database: &Database, resource: &str) -> Result<String, Error> {
    let catalog = Catalog::resolve(&Manifest::read(MANIFEST).expect("a manifest")).expect("a catalog");
    let viewer = Viewer::operator();
    let entrance = policy::authorize_read(&catalog, catalog.by_name(resource).expect("a resource"), &viewer).expect("a way in");
    let plan = plan::plan(entrance, parse::body(b"{}").expect("a body").query, plan::Operation::Find, None).expect("a plan");
    match database.run(sql::render(&plan, database.dialect()), Format::Json).await? {
        Answer::Whole(bytes) | Answer::Page(bytes, _) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_sessions_are_refused_if_statements_are_prepared() {
    // contract B1.8
    let server = support::Postgres::with(SCRIPT).await;
    for (mode, prepare, refused) in [
        ("transaction", Prepare::On, true),
        ("transaction", Prepare::Off, false),
        ("session", Prepare::On, false),
        ("session", Prepare::Off, false),
    ] {
        let bouncer = PgBouncer::start(mode, Turns::Last).await;
        let database = bouncer.database(&server.name, prepare);
        match database.check_server().await {
            Ok(()) => assert!(!refused, "{mode}"),
            Err(error) => assert!(refused && error.to_string().contains("DATABASE_PREPARE=off"), "{mode} {error}"),
        }
        if !refused {
            assert_eq!(listed(&database, "t.quick").await.expect("a row"), r#"{"id":7}"#, "{mode}");
        }
        if mode == "transaction" {
            // Whoever gets the session next finds it as it was.
            let next = support::connect(&format!("postgres://postgres@{}/{}", bouncer.address, server.name)).await;
            next.batch_execute("CREATE TABLE made (id int); DROP TABLE made").await.expect("it may write");
        }
    }
    // Two sessions that are given out in turns are shared all the same.
    let bouncer = PgBouncer::start("transaction", Turns::Around).await;
    let url = format!("postgres://postgres@{}/{}", bouncer.address, server.name);
    let (one, other) = (support::connect(&url).await, support::connect(&url).await);
    for client in [&one, &other] {
        client.batch_execute("BEGIN").await.expect("a session");
    }
    for client in [&one, &other] {
        client.batch_execute("COMMIT").await.expect("given back");
    }
    let database = bouncer.database(&server.name, Prepare::On);
    database.check_server().await.expect_err("shared");
    assert!(matches!(listed(&database, "t.quick").await, Err(Error::Unavailable(reason)) if reason.contains("DATABASE_PREPARE=off")));
    // Nothing stands between here; and one that is away is nobody's pooler.
    support::open(&server.url).check_server().await.expect("a session of our own");
    let unreachable = support::open("postgres://postgres@127.0.0.1:1/none").check_server().await;
    assert!(matches!(unreachable, Err(store::Error::Unavailable(_))), "nothing to refuse");
    server.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_statement_is_cancelled_behind_a_pooler_too() {
    // contract E4.4
    let server = support::Postgres::with(SCRIPT).await;
    let mut bouncer = PgBouncer::start("transaction", Turns::Last).await;
    let direct = support::connect(&server.url).await;
    let database = bouncer.database(&server.name, Prepare::Off);
    for _ in 0..5 {
        let abandoned = listed(&database, "t.slow").await;
        assert!(matches!(abandoned, Err(Error::Timeout)), "{abandoned:?}");
    }
    let running = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()";
    until("the statements end", async || direct.query(running, &[]).await.expect("an answer").is_empty()).await;
    assert!(bouncer.is_alive(), "the pooler has not fallen over it");
    assert_eq!(listed(&database, "t.quick").await.expect("a row"), r#"{"id":7}"#);
    drop(direct);
    server.drop().await;
}

// contract B1.26, contract E2.6
#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_server_behind_a_pooler_costs_one_timeout() {
    let server = support::Postgres::with(SCRIPT).await;
    let (proxied, mode) = proxy::start(&server.url).await;
    let bouncer = PgBouncer::with("", &proxied, "transaction", Turns::Last).await;
    let url = format!("postgres://postgres@{}/{}", bouncer.address, server.name);
    let settings = DatabaseSettings { timeout: Duration::from_secs(3), prepare: Prepare::Off, ..DatabaseSettings::default() };
    let database = Database::open(&url, &settings).expect("a pool");
    listed(&database, "t.quick").await.expect("a row");
    mode.send_replace(Proxy::Frozen);
    let first = listed(&database, "t.quick").await;
    assert!(matches!(first, Err(Error::Timeout)), "the pooler logs clients in, so it may be a long statement: {first:?}");
    until("the host is silent", async || database.is_silent()).await;
    for _ in 0..20 {
        let next = listed(&database, "t.quick").await;
        assert!(matches!(next, Err(Error::Unavailable(_))), "{next:?}");
    }
    mode.send_replace(Proxy::Forwarding);
    until("it answers again", async || listed(&database, "t.quick").await.is_ok()).await;
    server.drop().await;
}

// contract B1.26
#[tokio::test(flavor = "multi_thread")]
async fn statements_that_take_all_connections_of_a_pooler_run_to_their_end() {
    let script = "CREATE TABLE quick (id int PRIMARY KEY); CREATE VIEW slow AS SELECT 1 AS id, pg_sleep(6)::text AS nothing";
    let server = support::Postgres::with(script).await;
    let bouncer = PgBouncer::with("default_pool_size = 1\n", &support::cluster(), "transaction", Turns::Last).await;
    let url = format!("postgres://postgres@{}/{}", bouncer.address, server.name);
    let settings = DatabaseSettings { prepare: Prepare::Off, ..DatabaseSettings::default() };
    let database = Database::open(&url, &settings).expect("a pool");
    listed(&database, "t.slow").await.expect("its only connection answers, though no other client gets one meanwhile");
    server.drop().await;
}
