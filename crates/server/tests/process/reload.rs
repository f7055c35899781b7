//! `SIGHUP` and `peristyle reload`: a new manifest replaces the old one in one step, and a bad one changes nothing.

use std::os::unix::fs::OpenOptionsExt;
use std::process::Stdio;
use std::sync::Arc;

use peristyle::config::ManifestPath;
use peristyle::metrics::Metrics;
use peristyle::router::Routes;
use rustix::pty::OpenptFlags;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::hub_fixture::object;
use crate::program::{Folder, MANIFEST, Serving};
use crate::support::http::Connection;
use crate::support::{Backend, Setup, get, post, shop, until};

const CUSTOMERS: &str = "/api/shop/customers/list";
const ORDERS: &str = "/api/shop/orders/list";
const PID_FILE: (&str, &str) = ("PID_FILE", "peristyle.pid");

/// A manifest of customers alone, with another name of the field.
const RENAMED: &str = "\
[resource.shop.customer.fields]
id = { type = \"bigint\", key = true }
title = { type = \"text\", null = false, column = \"name\" }
";

async fn first(serving: &Serving) -> Value {
    post(CUSTOMERS, r#"{"query":{"limit":1}}"#).send(serving.address).await.good()[0].clone()
}

async fn etag(serving: &Serving, path: &str) -> String {
    get(path).send(serving.address).await.header("etag").expect("an ETag").to_owned()
}

fn files(serving: &Serving) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", serving.child.id())).expect("a process").count()
}

// contract B5.1, B5.3
#[tokio::test]
async fn a_new_manifest_is_served_everywhere_and_the_command_says_so() {
    let folder = Folder::shop();
    let serving = folder.serve(&[PID_FILE, ("METRICS_LISTEN", "127.0.0.1:0")]);
    let openapi = etag(&serving, "/api/openapi.json").await;
    let resources = get("/docs/resources.json").send(serving.address).await.text();
    assert_eq!(first(&serving).await, json!({ "id": 1, "name": "Ana" }));
    folder.write("peristyle.toml", RENAMED);
    assert_eq!(first(&serving).await, json!({ "id": 1, "name": "Ana" }), "nothing changes before the signal");
    let taken = folder.run(&["reload"], &[PID_FILE]).good();
    assert_eq!(taken.trim(), format!("process {} reloaded the manifest: 1 resource(s)", serving.child.id()));
    assert_eq!(first(&serving).await, json!({ "id": 1, "title": "Ana" }));
    assert_eq!(post(ORDERS, "").send(serving.address).await.status(), 404);
    assert_ne!(etag(&serving, "/api/openapi.json").await, openapi);
    assert_ne!(get("/docs/resources.json").send(serving.address).await.text(), resources);
    let ask = async |document: &str| post("/graphql", json!({ "query": document }).to_string()).send(serving.address).await.json();
    assert_eq!(ask("{ shopFindCustomer { title } }").await["data"]["shopFindCustomer"]["title"], "Ana");
    assert!(ask("{ shopFindCustomer { name } }").await["data"].is_null(), "the old field is gone");
    folder.write("peristyle.toml", MANIFEST);
    let taken = object(&folder.run(&["reload", "--json"], &[PID_FILE]).good());
    assert_eq!(taken, json!({ "process": serving.child.id(), "resources": 2 }));
    assert_eq!(etag(&serving, "/api/openapi.json").await, openapi, "the same manifest has the same description");
    assert_eq!(post(ORDERS, "").send(serving.address).await.status(), 200);
    let log = serving.stop();
    assert_eq!(log.matches("reloaded the manifest").count(), 2, "{log}");
    assert!(!folder.path("peristyle.pid").exists() && !folder.path("peristyle.pid.reload").exists(), "both files end with the process");
}

// contract B5.2, B5.3
#[tokio::test]
async fn a_bad_manifest_is_refused_with_its_reasons_and_the_old_one_stays() {
    let folder = Folder::shop();
    let mut serving = folder.serve(&[PID_FILE]);
    for (manifest, reason) in [
        ("[resource", "peristyle.toml:1"),
        (&*RENAMED.replace("\"bigint\"", "\"bigit\""), "bigit"),
        (&*RENAMED.replace("column = \"name\"", "column = \"nam\""), "peristyle.toml:3"),
        (&*format!("{MANIFEST}\n[resource.shop.ghost.fields]\nid = {{ type = \"int\", key = true }}\n"), "ghosts"),
    ] {
        folder.write("peristyle.toml", manifest);
        let refused = folder.run(&["reload"], &[PID_FILE]);
        assert_eq!((refused.code(), refused.out().as_str()), (Some(1), ""), "{manifest}");
        assert!(refused.err().contains("kept the old manifest") && refused.err().contains(reason), "{}", refused.err());
        assert_eq!(first(&serving).await, json!({ "id": 1, "name": "Ana" }));
        serving.line(|line| line.contains("kept the old manifest") && line.contains(reason));
    }
    std::fs::remove_file(folder.path("peristyle.toml")).expect("a file");
    let refused = folder.run(&["reload"], &[PID_FILE]).refused();
    assert!(refused.contains("peristyle.toml does not exist"), "a missing file does not remove every resource: {refused}");
    for empty in ["", "# nothing yet\n"] {
        folder.write("peristyle.toml", empty);
        let refused = folder.run(&["reload"], &[PID_FILE]).refused();
        assert!(refused.contains("peristyle.toml declares no resource, and there were some"), "an empty file does not either: {refused}");
        assert_eq!(first(&serving).await, json!({ "id": 1, "name": "Ana" }));
    }
    folder.write("peristyle.toml", RENAMED);
    folder.run(&["reload"], &[PID_FILE]).good();
    assert_eq!(first(&serving).await, json!({ "id": 1, "title": "Ana" }), "a good one is taken after bad ones");
    serving.stop();
}

// contract B5.1
#[tokio::test]
async fn a_stream_finishes_with_the_manifest_that_it_began_with() {
    let folder = Folder::shop();
    let many = "CREATE TABLE items (id INTEGER PRIMARY KEY, label TEXT);
        INSERT INTO items WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 30000) SELECT n, hex(zeroblob(250)) FROM numbers";
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(many)).expect("a table");
    folder.write("peristyle.toml", "[resource.shop.item.fields]\nid = { type = \"int\", key = true }\nlabel = \"text\"\n");
    let serving = folder.serve(&[PID_FILE]);
    let mut wire = Connection::with_small_buffer(serving.address).await;
    wire.request(&post("/api/shop/items/list", "")).await;
    let head = wire.head().await.expect("a head");
    folder.write("peristyle.toml", MANIFEST);
    folder.run(&["reload"], &[PID_FILE]).good();
    assert_eq!(post("/api/shop/items/list", "").send(serving.address).await.status(), 404);
    assert_eq!(wire.rest(head, "POST").await.good().as_array().map(Vec::len), Some(30_000));
    serving.stop();
}

/// The files of the connections that a pool of one may add: two reserved ones, each with its database, and a margin.
const MAX_POOL_FILES: usize = 6;

// contract B5.1
#[tokio::test]
async fn a_storm_of_signals_mixes_no_manifests_and_leaves_nothing_behind() {
    let folder = Folder::shop();
    let serving = folder.serve(&[PID_FILE, ("DATABASE_POOL", "1")]);
    let (manifests, shapes) = ([RENAMED, MANIFEST], [json!({ "id": 1, "title": "Ana" }), json!({ "id": 1, "name": "Ana" })]);
    folder.run(&["reload"], &[PID_FILE]).good();
    first(&serving).await;
    let open = files(&serving);
    for round in 0..100 {
        // Replaced in one step, as an editor does it.
        folder.write("next.toml", manifests[round % 2]);
        std::fs::rename(folder.path("next.toml"), folder.path("peristyle.toml")).expect("renamed");
        serving.signal("HUP");
        if round % 10 == 0 {
            let row = first(&serving).await;
            assert!(shapes.contains(&row), "{row}");
        }
    }
    folder.run(&["reload"], &[PID_FILE]).good();
    assert_eq!(first(&serving).await, shapes[1], "the last manifest counts");
    // A request beside a reload may have opened another connection of the pool, which stays open.
    until("few files stay open", async || files(&serving) <= open + MAX_POOL_FILES).await;
    // One reload after the other needs no further connection.
    let open = files(&serving);
    for _ in 0..2 * MAX_POOL_FILES {
        folder.run(&["reload"], &[PID_FILE]).good();
    }
    until("no file stays open", async || files(&serving) <= open).await;
    let log = serving.stop();
    let reloads = log.matches("reloaded the manifest").count();
    let most = 102 + 2 * MAX_POOL_FILES;
    assert!((2 + 2 * MAX_POOL_FILES..=most).contains(&reloads) && !log.contains("ERROR"), "{reloads} reloads: {log}");
}

// contract B5.4
#[tokio::test]
async fn a_pid_file_is_of_one_process() {
    let folder = Folder::shop();
    let missing = folder.run(&["reload"], &[]).refused();
    assert!(missing.starts_with("PID_FILE: is missing; accepted is the path"), "{missing}");
    let absent = folder.run(&["reload"], &[PID_FILE]).refused();
    assert!(absent.contains("no `peristyle serve` with this PID_FILE is running"), "{absent}");
    // A file that a killed process left behind, with the id of a process that exists.
    folder.write("peristyle.pid", &format!("{}\n", std::process::id()));
    let stale = folder.run(&["reload"], &[PID_FILE]).refused();
    assert!(stale.contains("has ended"), "this process is not signalled: {stale}");
    let serving = folder.serve(&[PID_FILE]);
    assert_eq!(folder.read("peristyle.pid"), format!("{}\n", serving.child.id()));
    let second = folder.run(&["serve"], &[PID_FILE]).refused();
    assert!(second.starts_with(&format!("PID_FILE: process {} holds the file", serving.child.id())), "{second}");
    assert_eq!(folder.read("peristyle.pid"), format!("{}\n", serving.child.id()), "the second one changes nothing");
    serving.signal("KILL");
    serving.end();
    let next = folder.serve(&[PID_FILE]);
    folder.run(&["reload"], &[PID_FILE]).good();
    next.stop();
    assert!(!folder.path("peristyle.pid").exists());
    let wrong = folder.run(&["serve"], &[("PID_FILE", "shop.db")]).refused();
    assert!(wrong.contains("is no PID file"), "{wrong}");
    assert_eq!(
        rusqlite::Connection::open(folder.path("shop.db"))
            .and_then(|file| file.query_row("SELECT count(*) FROM customers", [], |row| row.get(0))),
        Ok(2)
    );
}

/// Opening a terminal must not make it the controlling one of this process.
const O_NOCTTY: i32 = 0o400;

// contract B5.13
#[tokio::test]
async fn a_server_ends_with_its_terminal() {
    let folder = Folder::shop();
    // The server must not inherit this end.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = rustix::pty::openpt(flags).expect("a terminal");
    rustix::pty::grantpt(&master).expect("granted");
    rustix::pty::unlockpt(&master).expect("unlocked");
    let name = rustix::pty::ptsname(&master, Vec::new()).expect("a name").into_string().expect("UTF-8");
    let slave = std::fs::OpenOptions::new().read(true).write(true).custom_flags(O_NOCTTY).open(name).expect("its other end");
    let mut serving = Serving::start(folder.command(&["serve"]).stdin(Stdio::from(slave)));
    serving.signal("HUP");
    serving.line(|line| line.contains("reloaded the manifest"));
    assert_eq!(first(&serving).await, json!({ "id": 1, "name": "Ana" }));
    drop(master);
    serving.signal("HUP");
    let (status, log) = serving.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("the terminal was closed") && log.contains("stopped"), "{log}");
}

// contract B5.1
#[tokio::test]
async fn a_hub_makes_the_permissions_of_a_new_manifest_known_to_its_roles() {
    let folder = Folder::shop();
    let variables = [PID_FILE, ("OAUTH_STRATEGY", "local-provider"), ("LISTEN", "127.0.0.1:0")];
    folder.run(&["keys", "generate"], &variables).good();
    let serving = folder.serve(&variables);
    let add = |variables: &[(&str, &str)]| folder.run(&["role", "add", "--name", "clerk", "--permission", "shop.customer.get"], variables);
    folder.write("peristyle.toml", &format!("[resource.shop.customer]\npermission = \"shop.customer.get\"\n{RENAMED}"));
    folder.run(&["reload"], &variables).good();
    add(&variables).good();
    assert_eq!(post(CUSTOMERS, "").send(serving.address).await.status(), 401, "the new manifest needs a permission");
    serving.stop();
}

// contract B5.1
#[tokio::test]
async fn an_old_manifest_is_freed_when_its_last_request_ends() {
    let (database, folder) = (shop::database(Backend::Sqlite).await, Folder::new());
    let (state, mut config) = Setup::new(shop::MANIFEST).boot(&database.url).await.expect("a server");
    config.manifest = ManifestPath::Named(folder.path("peristyle.toml"));
    let (catalog, engine) = (Arc::downgrade(&state.queries.catalog), Arc::downgrade(&state.graphql));
    let metrics = Arc::<Metrics>::default();
    let routes = Routes::new(state, &config, metrics.clone());
    let service = peristyle::router::service(&routes);
    let ask = async || {
        let request = axum::http::Request::post("/api/shop/items/list").header("host", "localhost").body(axum::body::Body::empty());
        service.clone().oneshot(request.expect("a request")).await.expect("an answer")
    };
    let unread = ask().await;
    assert_eq!(unread.status(), 200);
    folder.write("peristyle.toml", "[resource.shop.item.fields]\nid = { type = \"int\", key = true }\n");
    assert_eq!(peristyle::reload::reload(config.clone(), routes.clone()).await, Ok(1));
    let before = metrics.text();
    assert!(!before.contains("shop.customer") && before.contains("resource=\"shop.item\""), "the metrics follow: {before}");
    drop(unread);
    assert!(catalog.upgrade().is_none() && engine.upgrade().is_none(), "nothing holds the old manifest");
    assert_eq!(ask().await.status(), 200);
    folder.write("peristyle.toml", "[resource.shop.ghost.fields]\nid = { type = \"int\", key = true }\n");
    let refused = peristyle::reload::reload(config, routes.clone()).await.expect_err("no such table").to_string();
    assert!(refused.contains("ghosts"), "{refused}");
    assert_eq!(ask().await.status(), 200, "the manifest before stays");
}
