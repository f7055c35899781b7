//! Errors at boot: one message, nothing on standard output, a non-zero exit code.

use crate::hub_fixture::HubFixture;
use crate::program::{Folder, MANIFEST};
use crate::support::{Backend, get};

// contract B1.1
#[test]
fn an_invalid_setting_is_named_with_what_was_found_and_what_is_accepted() {
    let folder = Folder::shop();
    for (variable, value, accepted) in [
        ("OAUTH_STRATEGY", "hub", "none, local-provider, platform-hub"),
        ("LISTEN", "localhost", "127.0.0.1:4000"),
        ("LISTEN", "127.0.0.1:70000", "127.0.0.1:4000"),
        ("DATABASE_URL", "sqlite://shop.db?mode=ro", "without parameters"),
        ("DATABASE_URL", "mysql://root:sesame@h/d", "sqlite://PATH"),
        ("DATABASE_URL", "postgres://u:sesame@h:port/d", "PostgreSQL"),
        ("DATABASE_URL", "postgres://u:sesame@h:99999/d", "found \"99999\"; accepted is a whole number from 1 to 65535"),
        ("DATABASE_URL", "postgres://h/d?connect_timeout=abc", "found \"abc\"; accepted is a whole number"),
        ("DATABASE_URL", "postgres:///d", "not a PostgreSQL URL: the host is missing"),
        ("DATABASE_READ_URL", "sqlite://x.db", "postgres://"),
        ("DATABASE_POOL", "0", "1 to 1000"),
        ("DATABASE_POOL", "many", "1 to 1000"),
        ("DATABASE_TIMEOUT", "soon", "30s"),
        ("DATABASE_TIMEOUT", "-1", "30s"),
        ("DATABASE_PREPARE", "maybe", "on or off"),
        ("DATABASE_MMAP", "maybe", "off or on"),
        ("APP_URL", "https://a.example/path", "without a path"),
        ("APP_CORS_ORIGIN", "*", "origin"),
        ("APP_CORS_ORIGIN", "https://a.example,,https://b.example", "origin"),
        ("TRUSTED_PROXIES", "proxy", "IP addresses"),
        ("TRUSTED_PROXIES", "10.0.0.1,", "IP addresses"),
        ("OAUTH_AUDIENCES", "shop,", "none of them empty"),
        ("METRICS_LISTEN", "9100", "127.0.0.1:9100"),
        ("LOG", "peristyle=loud", "info"),
        ("LOG", "bogus", "info"),
        ("LOG_FORMAT", "xml", "text or json"),
        ("DATABASE_READ_URL", "postgres://u:sesame@h/d", "postgres://"),
        ("REDIS_URL", "redis://:sesame@127.0.0.1:99999", "redis://"),
        ("LOGIN_BINDING", "zz", "on or off"),
        ("OAUTH_HUB_URL", "http://[::1", "origin"),
    ] {
        for command in [&["serve"][..], &["check"], &["introspect", "--out", "-"]] {
            let finished = folder.run(command, &[(variable, value)]);
            let message = finished.refused();
            assert!(message.starts_with(&format!("{variable}: ")) && message.contains(accepted), "{message}");
            assert!(!finished.err().contains("sesame"), "{message}");
            if command == ["serve"] && variable != "DATABASE_URL" {
                assert_eq!(finished.err().lines().count(), 1, "{}", finished.err());
            }
        }
    }
}

// contract B1.1, contract B1.2
#[test]
fn a_dsn_with_an_at_sign_in_its_password_is_refused_without_showing_it() {
    let folder = Folder::shop();
    let (good, bad) = ("postgres://u@127.0.0.1:1/d", "postgres://u:s3@sesame@127.0.0.1:1/d");
    folder.write("dsn", bad);
    for (variable, value, others) in [
        ("DATABASE_URL", bad, &[][..]),
        ("DATABASE_URL_FILE", "dsn", &[("DATABASE_URL", "")]),
        ("DATABASE_READ_URL", bad, &[("DATABASE_URL", good)]),
        ("DATABASE_WRITE_URL", bad, &[("DATABASE_URL", good)]),
    ] {
        for command in ["serve", "check"] {
            let finished = folder.run(&[command], &[&[(variable, value)], others].concat());
            let message = finished.refused();
            assert!(!finished.err().contains("sesame"), "{command} {variable}: {}", finished.err());
            assert!(
                message.starts_with(&format!("{variable}: ")) && message.contains("write %40 for an @"),
                "{command} {variable}: {message}"
            );
        }
    }
}

// contract B1.21
#[test]
fn a_misspelled_setting_fails_at_boot_with_the_name_that_is_meant() {
    let folder = Folder::shop();
    for command in [&["serve"][..], &["check"], &["account", "list"]] {
        let message = folder.run(command, &[("OAUTH_STRATGY", "local-provider")]).refused();
        assert_eq!(message, "OAUTH_STRATEGY: is not set; \"OAUTH_STRATGY\" is set and is no setting; rename or remove it");
        let message = folder.run(command, &[("DATABASE_URL", ""), ("DATABSE_URL", "postgres://u:sesame@h/d")]).refused();
        assert!(message.starts_with("DATABASE_URL: ") && message.contains("DATABSE_URL") && !message.contains("sesame"), "{message}");
    }
    // Variables of systemd, Kubernetes and others.
    let foreign =
        [("LISTEN_FDS", "1"), ("DATABASE_PORT", "tcp://10.0.0.1:5432"), ("API_URL", "x"), ("LOG_DIR", "/"), ("DATABASE_NAME", "x")];
    folder.run(&["check"], &foreign).good();
    folder.serve(&foreign).stop();
}

// contract B2.7, contract P1.7
#[test]
fn resources_without_a_permission_are_announced_unless_they_are_public() {
    let folder = Folder::shop();
    folder.run(&["keys", "generate"], &[]).out();
    let hub = [("OAUTH_STRATEGY", "local-provider")];
    let both = "2 resources have no permission: everyone can read them: shop.customer, shop.order";
    let text = folder.run(&["check"], &hub).good();
    assert!(text.contains(&format!("warning: {both}; set `permission`, or `public = true`")), "{text}");
    let object: serde_json::Value = serde_json::from_str(&folder.run(&["check", "--json"], &hub).good()).expect("one object");
    let messages = object["findings"].as_array().expect("findings").iter().map(|finding| finding["message"].as_str().unwrap_or_default());
    assert_eq!(messages.filter(|message| message.contains(both)).count(), 1, "{object}");
    let mut serving = folder.serve(&hub);
    assert!(serving.line(|line| line.contains(both)).contains("WARN"));
    serving.stop();
    let satellite = [
        ("OAUTH_STRATEGY", "platform-hub"),
        ("OAUTH_HUB_URL", "http://127.0.0.1:9"),
        ("OAUTH_CLIENT_ID", "shop"),
        ("OAUTH_CLIENT_SECRET", "marker-secret"),
        ("OAUTH_REDIRECT_URI", "http://localhost:9/callback"),
    ];
    assert!(folder.run(&["check"], &satellite).good().contains(both));
    assert!(folder.serve(&satellite).stop().contains(both));
    // Under none nobody has a permission, and the warning of B2.2 says so.
    assert!(!folder.run(&["check"], &[]).good().contains("no permission"));
    let resource = |name: &str, line: &str| format!("[resource.shop.{name}]\n{line}\n[resource.shop.{name}.fields]");
    let public = MANIFEST.replace("[resource.shop.customer.fields]", &resource("customer", "public = true"));
    folder.write("peristyle.toml", &public);
    let text = folder.run(&["check"], &hub).good();
    assert!(text.contains("1 resource has no permission: everyone can read it: shop.order;"), "{text}");
    folder.write("peristyle.toml", &public.replace("[resource.shop.order.fields]", &resource("order", "permission = \"shop.order.get\"")));
    let text = folder.run(&["check"], &hub).good();
    assert!(!text.contains("no permission"), "{text}");
    assert!(!folder.serve(&hub).stop().contains("no permission"));
    let contradiction = resource("customer", "permission = \"shop.customer.get\"\npublic = true");
    folder.write("peristyle.toml", &MANIFEST.replace("[resource.shop.customer.fields]", &contradiction));
    for command in ["serve", "check"] {
        let message = folder.run(&[command], &hub).refused();
        assert!(message.starts_with("peristyle.toml:3: `public = true` contradicts `permission = \"shop.customer.get\"`"), "{message}");
    }
}

// contract W1.8
#[test]
fn writes_that_are_open_to_everyone_are_announced() {
    let folder = Folder::shop();
    folder.run(&["keys", "generate"], &[]).out();
    let writable = "[resource.shop.customer]\npublic = true\n[resource.shop.customer.write]\ncreate = true\ndelete = true\n\
        update = \"shop.customer.update\"\n[resource.shop.customer.fields]";
    let manifest = MANIFEST.replace("[resource.shop.customer.fields]", writable).replace("null = false }", "null = false, write = true }");
    folder.write("peristyle.toml", &manifest);
    let announced = "everyone can change rows, also without a sign-in: shop.customer (create, delete);";
    let mut serving = folder.serve(&[("OAUTH_STRATEGY", "local-provider")]);
    assert!(serving.line(|line| line.contains(announced)).contains("WARN"));
    let log = serving.stop();
    assert!(log.contains("peristyle.toml has ") && log.contains("; `peristyle check` lists them"), "{log}");
    // Under none there is nobody to tell apart.
    assert!(!folder.serve(&[]).stop().contains("everyone can change rows"));
}

// contract B1.1, contract B1.2
#[test]
fn a_sqlite_dsn_needs_a_path() {
    let folder = Folder::shop();
    for command in [&["serve"][..], &["check"], &["introspect", "--out", "-"]] {
        let message = folder.run(command, &[("DATABASE_URL", "sqlite://")]).refused();
        assert!(message.starts_with("DATABASE_URL: ") && message.to_ascii_lowercase().contains("path"), "{command:?}: {message}");
    }
}

// contract B1.1
#[test]
fn a_file_that_is_no_database_is_named() {
    let folder = Folder::shop();
    folder.write("notes.db", "these are notes, and long enough to have a header of their own in a file");
    for command in [&["serve"][..], &["check"], &["introspect", "--out", "-"]] {
        let message = folder.run(command, &[("DATABASE_URL", "sqlite://notes.db")]).refused();
        assert!(message.starts_with("DATABASE_URL: ") && message.contains("\"notes.db\" is no SQLite database"), "{command:?}: {message}");
    }
}

// contract B1.1
#[test]
fn a_setting_that_is_not_utf8_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::shop();
    let output = folder.command(&["serve"]).env("LOG", std::ffi::OsStr::from_bytes(b"\xff")).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("peristyle: LOG: "));
}

// contract B2.1
#[test]
fn an_unknown_strategy_fails_at_boot_and_lists_the_options() {
    let folder = Folder::shop();
    for word in ["None", "NONE", " none", "none ", "hub", "local_provider", "platform-hub,none"] {
        let message = folder.run(&["serve"], &[("OAUTH_STRATEGY", word)]).refused();
        assert!(message.starts_with("OAUTH_STRATEGY: ") && message.contains(&format!("{word:?}")), "{message}");
        for option in ["none", "local-provider", "platform-hub"] {
            assert!(message.contains(option), "{message}");
        }
    }
}

// contract B2.1, contract B2.2
#[tokio::test]
async fn without_a_strategy_the_server_starts_with_none_and_a_warning() {
    let folder = Folder::shop();
    for variables in [&[][..], &[("OAUTH_STRATEGY", "")], &[("OAUTH_STRATEGY", "none")]] {
        let mut serving = folder.serve(variables);
        let warning = serving.line(|line| line.contains("OAUTH_STRATEGY"));
        assert!(warning.contains("WARN") && warning.contains("none") && warning.contains("NOBODY CAN SIGN IN"), "{warning}");
        assert_eq!(get("/health").send(serving.address).await.status(), 200);
        serving.stop();
    }
}

#[test]
fn a_lag_limit_without_a_read_replica_is_a_warning() {
    let folder = Folder::shop();
    let mut serving = folder.serve(&[("DATABASE_READ_MAX_LAG", "2s")]);
    let warning = serving.line(|line| line.contains("DATABASE_READ_MAX_LAG"));
    assert!(warning.contains("WARN") && warning.contains("without DATABASE_READ_URL"), "{warning}");
    serving.stop();
}

// contract B1.3
#[tokio::test]
async fn without_a_manifest_at_the_default_path_the_server_starts_with_a_warning() {
    let folder = Folder::new();
    let mut serving = folder.serve(&[("DATABASE_URL", "")]);
    let warning = serving.line(|line| line.contains("peristyle.toml"));
    assert!(warning.contains("WARN"), "{warning}");
    assert_eq!(get("/ready").send(serving.address).await.status(), 200);
    get("/api/shop/customers/list").send(serving.address).await.problem(404);
    serving.stop();
    assert!(folder.path("peristyle.db").exists(), "sqlite://peristyle.db is the default");
}

// contract B1.3
#[tokio::test]
async fn a_hub_without_a_manifest_starts_without_that_warning() {
    let fixture = HubFixture::open(Backend::Sqlite).await;
    let log = fixture.serve().stop();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("peristyle.toml")).collect();
    assert!(lines.len() == 1 && lines[0].contains("INFO") && lines[0].contains("its own records"), "{lines:?}");
}

// contract B1.3
#[test]
fn a_configured_manifest_that_is_missing_fails_at_boot() {
    let folder = Folder::shop();
    let message = folder.run(&["serve"], &[("PERISTYLE_MANIFEST", "elsewhere.toml")]).refused();
    assert!(message.starts_with("PERISTYLE_MANIFEST: elsewhere.toml "), "{message}");
    let message = folder.run(&["serve"], &[("PERISTYLE_MANIFEST", ".")]).refused();
    assert!(message.starts_with("PERISTYLE_MANIFEST: "), "{message}");
}

// contract P1.6, contract P1.3, contract P1.5
#[test]
fn a_fault_of_the_manifest_names_the_file_the_line_and_what_is_accepted() {
    let folder = Folder::shop();
    for (text, line, words) in [
        ("[resource.shop.customer.fields]\nid = \"integer\"\n", 2, &["bool", "bigint", "timestamp"][..]),
        ("[resource.shop.customer]\ntabel = \"x\"\n[resource.shop.customer.fields]\nid = \"int\"\n", 2, &["tabel", "table"]),
        ("\n\n[resource.shop.customer.fields]\nid = { type = \"int\", kee = true }\n", 4, &["kee"]),
        ("[resource.shop.customer.fields\n", 1, &[]),
        ("[resource.iam.customer.fields]\nid = \"int\"\n", 1, &["iam"]),
        ("[resource.shop.customer.fields]\nand = \"int\"\n", 2, &["and"]),
        (
            "[resource.shop.customer.fields]\nid = \"int\"\n[resource.shop.customer.relations]\nx = { many = \"shop.nothing\", on = { id = \"id\" } }\n",
            4,
            &["shop.nothing"],
        ),
    ] {
        folder.write("peristyle.toml", text);
        for command in ["serve", "check"] {
            let message = folder.run(&[command], &[]).refused();
            assert!(message.starts_with(&format!("peristyle.toml:{line}: ")), "{message}");
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        }
    }
}

// contract P4.2
#[test]
fn a_manifest_that_does_not_fit_the_database_fails_at_boot() {
    let folder = Folder::shop();
    folder.write(
        "peristyle.toml",
        &MANIFEST.replace("[resource.shop.order.fields]", "[resource.shop.order]\ntable = \"ordres\"\n[resource.shop.order.fields]"),
    );
    let finished = folder.run(&["serve"], &[]);
    let message = finished.refused();
    assert!(message.starts_with("peristyle.toml:") && message.contains("ordres"), "{message}");
    folder.write("peristyle.toml", &MANIFEST.replace("total =", "amount ="));
    let message = folder.run(&["serve"], &[]).refused();
    assert!(message.starts_with("peristyle.toml:") && message.contains("amount"), "{message}");
}

// contract B1.2
#[test]
fn a_missing_database_fails_at_boot() {
    let folder = Folder::shop();
    let message = folder.run(&["serve"], &[("DATABASE_URL", "sqlite://missing.db")]).refused();
    assert!(message.starts_with("DATABASE_URL: ") && message.contains("missing.db"), "{message}");
    assert!(!folder.path("missing.db").exists(), "and is not made");
    folder.write(
        "text.db",
        "this is no database, but it is long enough to have a header of a hundred bytes or so, which makes it one that is broken",
    );
    let message = folder.run(&["serve"], &[("DATABASE_URL", "sqlite://text.db")]).refused();
    assert!(message.starts_with("DATABASE_URL: "), "{message}");
    for (url, server) in [
        ("postgres://ulla:sesame@127.0.0.1:1/d", "127.0.0.1:1"),
        ("postgres://ulla:sesame@[::1]:1/d", "[::1]:1"),
        ("postgres://ulla:sesame@127.0.0.1:1,127.0.0.2:2/d", "127.0.0.1:1, 127.0.0.2:2"),
        ("postgres://ulla:sesame@/d?host=/nowhere", "/nowhere/.s.PGSQL.5432"),
    ] {
        for command in ["serve", "check"] {
            let message = folder.run(&[command], &[("DATABASE_URL", url)]).refused();
            assert!(message.starts_with("DATABASE_URL: ") && message.contains(&format!("no connection to {server}: ")), "{message}");
            assert!(!message.contains("sesame") && !message.contains("ulla"), "{message}");
        }
    }
}

// contract B1.4
#[test]
fn a_listen_address_in_use_is_one_clear_message() {
    let folder = Folder::shop();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    for variable in ["LISTEN", "METRICS_LISTEN"] {
        let message = folder.run(&["serve"], &[(variable, &address)]).refused();
        assert!(message.starts_with(&format!("{variable}: cannot listen on {address}: ")), "{message}");
    }
}

// contract B1.4
#[test]
fn port_0_is_logged_as_the_port_that_was_bound() {
    let folder = Folder::shop();
    let mut serving = folder.serve(&[("METRICS_LISTEN", "127.0.0.1:0")]);
    let line = serving.line(|line| line.contains("serving metrics"));
    assert!(line.contains("127.0.0.1:") && !line.contains("127.0.0.1:0"), "{line}");
}
