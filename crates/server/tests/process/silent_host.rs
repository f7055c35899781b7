//! A process starts while a host of its database accepts connections and never answers.

use std::time::{Duration, Instant};

use crate::program::Folder;
use crate::support::proxy::{Proxy, ProxyMode};
use crate::support::{Backend, Database, post, variable};

const MANIFEST: &str = "
[resource.shop.item.fields]
id = { type = \"int\", key = true }
";

// contract B1.1, contract B1.26
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_host_ends_a_start_with_a_message_unless_another_host_answers() {
    let database = Database::with(Backend::Postgres, "CREATE TABLE items (id integer PRIMARY KEY); INSERT INTO items VALUES (1)").await;
    let server = format!("127.0.0.1:{}", variable("PERISTYLE_TEST_PORT"));
    let proxy = Proxy::to(server.clone()).await;
    proxy.set(ProxyMode::Freeze);
    let folder = Folder::new();
    folder.write("peristyle.toml", MANIFEST);
    let dsn = |hosts: &str| format!("postgres://postgres@{hosts}/{}?connect_timeout=2", database.name());
    let silent = dsn(&proxy.address.to_string());
    for command in ["check", "introspect", "serve"] {
        let started = Instant::now();
        let finished = folder.run(&[command], &[("DATABASE_URL", silent.as_str())]);
        let (message, log) = (finished.refused(), finished.err());
        assert!(message.starts_with("DATABASE_URL: ") && message.contains(&proxy.address.to_string()), "{command}: {message}");
        assert!(log.contains("no answer within 2 s"), "{command}: {log}");
        assert!(started.elapsed() < Duration::from_secs(20), "{command}: {:?}", started.elapsed());
    }
    let both = dsn(&format!("{},{server}", proxy.address));
    folder.run(&["check"], &[("DATABASE_URL", both.as_str())]).good();
    let serving = folder.serve(&[("DATABASE_URL", both.as_str())]);
    let rows = post("/api/shop/items/list", "{}").send(serving.address).await.good();
    assert_eq!(rows[0]["id"], 1);
    serving.stop();
}

// contract B1.1, contract B1.26
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_falls_silent_during_a_start_ends_it_unless_another_host_answers() {
    let database = Database::with(Backend::Postgres, "CREATE TABLE items (id integer PRIMARY KEY); INSERT INTO items VALUES (1)").await;
    let server = format!("127.0.0.1:{}", variable("PERISTYLE_TEST_PORT"));
    let folder = Folder::new();
    folder.write("peristyle.toml", &format!("{MANIFEST}\n[resource.shop.item.write]\ndelete = true\n"));
    let dsn = |hosts: &str| format!("postgres://postgres@{hosts}/{}?connect_timeout=1&sslmode=disable", database.name());
    let direct = dsn(&server);
    for (command, variable) in [("check", "DATABASE_URL"), ("serve", "DATABASE_URL"), ("check", "DATABASE_WRITE_URL")] {
        let proxy = Proxy::to(server.clone()).await;
        let variables = |url: String| [("DATABASE_TIMEOUT", "1s".to_owned()), ("DATABASE_URL", direct.clone()), (variable, url)];
        proxy.set(ProxyMode::FreezeAtTables);
        let alone = variables(dsn(&proxy.address.to_string()));
        let message = folder.run(&[command], &alone.each_ref().map(|(name, value)| (*name, value.as_str()))).refused();
        assert!(message.starts_with(&format!("{variable}: ")) && message.contains(&proxy.address.to_string()), "{command}: {message}");
        proxy.set(ProxyMode::FreezeAtTables);
        let both = variables(dsn(&format!("{},{server}", proxy.address)));
        let both = both.each_ref().map(|(name, value)| (*name, value.as_str()));
        if command == "check" {
            folder.run(&[command], &both).good();
        } else {
            let serving = folder.serve(&both);
            let rows = post("/api/shop/items/list", "{}").send(serving.address).await.good();
            assert_eq!(rows[0]["id"], 1);
            serving.stop();
        }
    }
}
