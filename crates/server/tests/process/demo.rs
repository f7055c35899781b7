//! The demo: two servers, accounts that see different rows, and nothing left afterwards.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::Folder;
use crate::support::{DEADLINE, Request, get, post, until};

/// A demo with its temporary folder inside a folder of the test. Dropping it kills it; its children then end.
struct Demo {
    folder: Folder,
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    ready: Value,
}

/// Settings that would stop a server, or point it to another database.
const FOREIGN: [(&str, &str); 4] =
    [("OAUTH_STRATEGY", "nonsense"), ("DATABASE_URL", "mysql://elsewhere"), ("LISTEN", "nowhere"), ("APP_FILES", "/nowhere")];

impl Demo {
    fn begin(arguments: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = folder.command(&[&["demo"], arguments].concat());
        let mut child = command.envs(FOREIGN).env("TMPDIR", folder.path("")).spawn().expect("the program starts");
        let out = BufReader::new(child.stdout.take().expect("standard output"));
        Demo { folder, child, out, ready: Value::Null }
    }

    /// A demo on free ports that is ready.
    fn start() -> Self {
        let mut demo = Demo::begin(&["--hub-port", "0", "--app-port", "0", "--json"]);
        let mut line = String::new();
        demo.out.read_line(&mut line).expect("UTF-8");
        demo.ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}{}", demo.errors()));
        demo
    }

    fn address(&self, which: &str) -> SocketAddr {
        self.ready[which].as_str().and_then(|origin| origin.strip_prefix("http://")?.parse().ok()).expect("an origin")
    }

    fn password(&self, username: &str) -> &str {
        let people = self.ready["people"].as_array().expect("people");
        people.iter().find(|person| person["username"] == username).and_then(|person| person["password"].as_str()).expect("a password")
    }

    fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// The process ids of its two servers, hub first.
    fn servers(&self) -> Vec<u32> {
        let mut found: Vec<u32> = std::fs::read_dir("/proc")
            .expect("a list of processes")
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|id| parent_of(*id) == Some(self.child.id()))
            .collect();
        found.sort_unstable();
        found
    }

    fn wait(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(started.elapsed() < DEADLINE, "the demo does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn errors(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().map(|mut err| err.read_to_string(&mut text));
        text
    }

    /// The names of what is left in the folder of the test.
    fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path("")).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    /// Signs in as a browser would: satellite, hub, form, hub, satellite.
    async fn sign_in(&self, username: &str) -> Value {
        let (hub, app) = (self.address("hub"), self.address("app"));
        let begun = get("/auth/login?return_to=/orders").send(app).await;
        assert_eq!(begun.status(), 302, "{}", begun.text());
        let authorize = path_of(begun.header("location").expect("an address"));
        let asked = get(&authorize).send(hub).await;
        let page = asked.header("location").expect("an address");
        let next = page.split_once("continue=").expect("a way on").1;
        let body = format!("username={username}&password={}&continue={next}", self.password(username));
        let form = Request::new("POST", "/sign-in").header("content-type", "application/x-www-form-urlencoded").body(body);
        let signed = form.send(hub).await;
        assert_eq!(signed.status(), 303, "{}", signed.text());
        let cookie = signed.header("set-cookie").and_then(|value| value.split(';').next()).expect("a cookie").to_owned();
        let granted = get(&path_of(signed.header("location").expect("an address"))).header("cookie", &cookie).send(hub).await;
        let back = granted.header("location").expect("an address");
        assert!(back.starts_with(&format!("{}/callback?", self.ready["app"].as_str().expect("an origin"))), "{back}");
        let value = |name: &str| {
            let rest = back.split_once(&format!("{name}=")).expect("a parameter").1;
            rest.split('&').next().expect("a value").replace("%3A", ":").replace("%2F", "/")
        };
        let body = json!({ "code": value("code"), "state": value("state"), "iss": value("iss") });
        post("/auth/callback", body.to_string()).send(app).await.good()
    }

    /// The customers that an account sees.
    async fn customers(&self, username: &str) -> Value {
        let bearer = self.bearer(username).await;
        let body = r#"{"query": {"relations": {"tenant": true}, "order": [{"field": "id"}], "limit": 200}}"#;
        post("/api/shop/customers/paginate", body).header("authorization", &bearer).send(self.address("app")).await.good()
    }

    /// The header of an account.
    async fn bearer(&self, username: &str) -> String {
        let tokens = self.sign_in(username).await;
        assert_eq!(tokens["return_to"], "/orders");
        format!("Bearer {}", tokens["access_token"].as_str().expect("a token"))
    }

    /// The answer of an operation on orders, which must have this status.
    async fn orders(&self, bearer: &str, operation: &str, body: Value, status: u16) -> Value {
        let path = format!("/api/shop/orders/{operation}");
        let answer = post(&path, body.to_string()).header("authorization", bearer).send(self.address("app")).await;
        assert_eq!(answer.status(), status, "{operation} {body}: {}", answer.text());
        answer.json()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn signal(process: u32, name: &str) {
    let sent = std::process::Command::new("kill").arg(format!("-{name}")).arg(process.to_string()).status();
    assert!(sent.expect("kill runs").success());
}

fn parent_of(process: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The path and query of a URL.
fn path_of(address: &str) -> String {
    let path = address.split_once("://").and_then(|(_, rest)| rest.find('/').map(|start| &rest[start..]));
    path.unwrap_or(address).to_owned()
}

fn answers(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok()
}

// contract B4.1, B4.2, B4.4
#[tokio::test]
async fn two_servers_run_and_two_accounts_see_different_rows() {
    let mut demo = Demo::start();
    for which in ["hub", "app"] {
        assert_eq!(get("/ready").send(demo.address(which)).await.status(), 200, "{which}");
    }
    assert_eq!(demo.servers().len(), 2);
    let (ana, ben) = (demo.customers("ana").await, demo.customers("ben").await);
    let values = |page: &Value, field: fn(&Value) -> &Value| {
        let mut seen: Vec<String> =
            page["rows"].as_array().expect("rows").iter().map(|row| field(row).as_str().expect("a string").to_owned()).collect();
        seen.sort_unstable();
        seen.dedup();
        seen
    };
    assert_eq!(values(&ana, |row| &row["tenant"]["name"]), ["Alpenkontor", "Nordic Homes"]);
    assert_eq!(values(&ben, |row| &row["tenant"]["name"]), ["Casa Iberia"]);
    assert!(values(&ana, |row| &row["email"]).iter().all(|email| !email.contains('*')));
    assert!(values(&ben, |row| &row["email"]).iter().all(|email| email.contains("***@")));
    // The constraint limits the totals too: their sum is at most the number of rows.
    let (all, shares) = (demo.customers("admin").await, [&ana, &ben].map(|page| page["total"].as_u64().expect("a total")));
    assert_eq!(all["total"].as_u64(), Some(shares[0] + shares[1]));
    assert!(shares[0] > 1_000 && shares[1] > 1_000 && !ana.to_string().contains("apiKey"));

    let public = post("/api/shop/products/paginate", r#"{"query": {"limit": 1}}"#).send(demo.address("app")).await.good();
    assert_eq!(public["rows"][0]["cost"], Value::Null, "masked without a sign-in");
    post("/api/shop/customers/list", "").send(demo.address("app")).await.problem(401);
    let page = get("/orders?status=new").send(demo.address("app")).await;
    assert!(page.text().contains("<title>Demo shop</title>"));

    demo.signal("INT");
    let status = demo.wait();
    assert_eq!(status.code(), Some(0), "{}", demo.errors());
    assert_eq!(demo.left(), Vec::<String>::new());
    assert!(!answers(demo.address("hub")) && !answers(demo.address("app")));
}

// contract B4.4
#[tokio::test]
async fn a_clerk_writes_orders_of_one_tenant_and_an_administrator_restores_one() {
    let demo = Demo::start();
    let (ben, ana, admin) = (demo.bearer("ben").await, demo.bearer("ana").await, demo.bearer("admin").await);
    let id = |page: &Value| page["rows"][0]["id"].clone();
    let (own, foreign) = (id(&demo.customers("ben").await), id(&demo.customers("ana").await));

    let missing = json!({ "payload": { "customerId": 999_999_999, "total": "10.00" } });
    let missing = demo.orders(&ben, "create", missing, 422).await;
    let refused = demo.orders(&ben, "create", json!({ "payload": { "customerId": foreign, "total": "10.00" } }), 422).await;
    assert_eq!(refused["errors"], missing["errors"], "another tenant's customer is as unknown as none");
    assert_eq!(refused["errors"][0]["path"], "/payload/customerId");

    let order = json!({ "payload": { "customerId": own, "total": "10.00", "reference": "PO-1" } });
    let order = demo.orders(&ben, "create", order, 201).await;
    assert_eq!([&order["status"], &order["enteredBy"], &order["version"]], [&json!("new"), &json!("ben"), &json!(1)]);
    assert_eq!(order["month"].as_str(), order["placedAt"].as_str().map(|placed| &placed[..7]));
    let update = format!("update/{}", order["id"]);
    let paid = json!({ "payload": { "status": "paid", "version": 1 }, "expect": { "status": { "eq": "new" } } });
    assert_eq!(demo.orders(&ben, &update, paid.clone(), 200).await["version"], 2);
    assert_eq!(demo.orders(&ben, &update, paid, 412).await["code"], "STALE");
    let moved = demo.orders(&ben, &update, json!({ "payload": { "customerId": foreign } }), 422).await;
    assert_eq!(moved["errors"][0]["path"], "/payload/customerId");
    assert_eq!(demo.orders(&ben, &update, json!({ "payload": { "status": "returned" } }), 403).await["code"], "CHECK_FAILED");
    demo.orders(&ana, &update, json!({ "payload": { "status": "shipped" } }), 404).await;
    demo.orders(&ben, &update, json!({ "payload": { "total": "0.01" } }), 400).await;

    let (delete, restore) = (format!("delete/{}", order["id"]), format!("restore/{}", order["id"]));
    let (find, nothing) = (format!("find/{}", order["id"]), json!({}));
    demo.orders(&ben, &delete, nothing.clone(), 200).await;
    demo.orders(&ben, &find, nothing.clone(), 404).await;
    demo.orders(&ben, &restore, nothing.clone(), 403).await;
    assert_eq!(demo.orders(&admin, &restore, nothing.clone(), 200).await["version"], 4);
    assert_eq!(demo.orders(&ben, &find, nothing, 200).await["status"], "paid");

    assert_eq!(demo.orders(&ben, &update, json!({ "payload": { "status": "shipped" } }), 200).await["version"], 5);
    let closed = demo.orders(&ben, &update, json!({ "payload": { "note": "late" } }), 403).await;
    assert_eq!(closed["code"], "OUT_OF_SCOPE");
    assert_eq!(demo.orders(&admin, &update, json!({ "payload": { "status": "returned" } }), 200).await["version"], 6);
}

// contract B4.2
#[test]
fn the_text_names_the_urls_the_accounts_and_how_to_stop() {
    let mut demo = Demo::begin(&["--hub-port", "0", "--app-port", "0", "--verbose"]);
    let mut text = String::new();
    while !text.contains("Ctrl-C") {
        let read = demo.out.read_line(&mut text).expect("UTF-8");
        assert!(read > 0, "{text}{}", demo.errors());
    }
    for word in ["http://127.0.0.1:", "/docs", "ana ", "ben ", "admin ", "curl "] {
        assert!(text.contains(word), "{word} is missing: {text}");
    }
    demo.signal("TERM");
    assert_eq!(demo.wait().code(), Some(0));
    let errors = demo.errors();
    assert!(errors.contains("Making the sample data: 77,") && !errors.contains('\r'), "{errors}");
    assert!(errors.contains("hub       | ") && errors.contains("satellite | "), "{errors}");
    let passwords: Vec<&str> =
        text.lines().filter(|line| line.contains("    sees ")).filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(passwords.len(), 3, "{text}");
    assert!(passwords.iter().all(|password| !errors.contains(password)), "no password in a log");
}

// contract B4.2
#[test]
fn a_port_in_use_is_named_and_nothing_is_created() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    for (arguments, flag) in
        [(["--hub-port", &port, "--app-port", "0"], "--hub-port"), (["--hub-port", "0", "--app-port", &port], "--app-port")]
    {
        let mut demo = Demo::begin(&arguments);
        assert_eq!(demo.wait().code(), Some(1));
        assert_eq!(demo.errors(), format!("peristyle: {flag}: port {port} on 127.0.0.1 is in use; choose another port\n"));
        assert_eq!(demo.left(), Vec::<String>::new());
    }
    let mut demo = Demo::begin(&["--hub-port", "4999", "--app-port", "4999"]);
    assert_eq!(demo.wait().code(), Some(1));
    assert!(demo.errors().contains("--hub-port and --app-port are both 4999"));
}

// contract B4.3
#[test]
fn a_stop_during_preparation_leaves_nothing_behind() {
    for name in ["INT", "TERM", "HUP"] {
        let mut demo = Demo::begin(&["--hub-port", "0", "--app-port", "0"]);
        let mut err = BufReader::new(demo.child.stderr.take().expect("standard error"));
        let mut line = String::new();
        err.read_line(&mut line).expect("UTF-8");
        assert!(line.starts_with("Making the sample data"), "{line}");
        demo.signal(name);
        assert_eq!(demo.wait().code(), Some(0), "{name}");
        assert_eq!(demo.left(), Vec::<String>::new(), "{name}");
    }
}

// contract B4.3
#[tokio::test]
async fn a_server_that_dies_stops_the_other_and_the_demo_reports_it() {
    let mut demo = Demo::start();
    let satellite = demo.servers()[1];
    signal(satellite, "KILL");
    let status = demo.wait();
    let errors = demo.errors();
    assert_eq!(status.code(), Some(1), "{errors}");
    assert!(errors.contains("ended unexpectedly (signal: 9") && errors.contains("INFO"), "{errors}");
    assert_eq!(demo.left(), Vec::<String>::new());
    assert!(!answers(demo.address("hub")) && !answers(demo.address("app")));
}

// contract B4.3
#[tokio::test]
async fn servers_do_not_outlive_a_demo_that_is_killed() {
    let mut demo = Demo::start();
    let servers = demo.servers();
    demo.signal("KILL");
    demo.wait();
    let gone = |id: &u32| !std::path::Path::new(&format!("/proc/{id}/exe")).exists();
    until("both servers end", async || servers.iter().all(gone)).await;
    assert!(!answers(demo.address("hub")) && !answers(demo.address("app")));
}
