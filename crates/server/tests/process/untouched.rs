//! Commands that add nothing leave the disk and the database as they are, and say what to run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::program::{Finished, Folder, SCRIPT};
use crate::support::{BACKENDS, Backend, Database};

const HUB: (&str, &str) = ("OAUTH_STRATEGY", "local-provider");

/// Every command that reads the hub's records.
const READING: [&str; 15] = [
    "account list",
    "account show --username ana",
    "role list",
    "role show --name clerk",
    "client list",
    "client show --id shop",
    "tenant list",
    "tenant show --code north",
    "app list",
    "app show --code shop",
    "session list",
    "session show --id 0b8f1c1e-6a1f-4a39-9d0c-2f5a3b7c9d10",
    "event list",
    "event follow",
    "explain iam.account statement.json",
];

/// Commands that change a record, which an empty database does not have.
const CHANGING: [&str; 12] = [
    "account update --username ana --active false",
    "account remove --username ana",
    "account password --username ana --password-stdin",
    "account invite --username ana",
    "account reset --username ana",
    "role update --name clerk --no-permissions",
    "role remove --name clerk",
    "client secret --id shop",
    "client remove --id shop",
    "tenant remove --id 0b8f1c1e-6a1f-4a39-9d0c-2f5a3b7c9d10",
    "app admit --code shop --username ana",
    "session end --username ana",
];

fn commands() -> impl Iterator<Item = &'static str> {
    READING.into_iter().chain(CHANGING)
}

fn run(folder: &Folder, line: &str, url: &str) -> Finished {
    folder.run(&line.split(' ').collect::<Vec<_>>(), &[HUB, ("DATABASE_URL", url)])
}

/// The files of a folder and their bytes.
fn files(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder.path("")).expect("a folder");
    let file = |entry: std::fs::DirEntry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("a file"));
    entries.map(|entry| file(entry.expect("an entry"))).collect()
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("statement.json", "{}");
    folder
}

// contract B3.4, contract B3.23
#[test]
fn on_a_missing_sqlite_file_nothing_is_created() {
    let folder = folder();
    let before = files(&folder);
    for line in commands().chain(["check"]) {
        let message = run(&folder, line, "sqlite://new.db").refused();
        assert!(message.contains("DATABASE_URL: the SQLite file \"new.db\" does not exist; "), "{line}: {message}");
        assert!(message.contains("`peristyle migrate`") && message.contains("`peristyle serve`"), "{line}: {message}");
        assert_eq!(files(&folder), before, "{line}");
    }
    // A hub's tables are not what `introspect` looks for.
    for (url, name) in [("sqlite://new.db", "\"new.db\" does"), ("", "\"peristyle.db\", its default, does")] {
        let message = run(&folder, "introspect", url).refused();
        let advice = "set DATABASE_URL to your database, such as postgres://user:password@localhost/shop or sqlite://shop.db";
        assert_eq!(message, format!("DATABASE_URL: the SQLite file {name} not exist; {advice}"));
        assert_eq!(files(&folder), before, "introspect");
    }
    // Tables of the manifest are nothing that we create.
    folder.write("peristyle.toml", crate::program::MANIFEST);
    let before = files(&folder);
    for line in ["check", "explain shop.customer statement.json"] {
        for strategy in ["none", "local-provider"] {
            let words: Vec<&str> = line.split(' ').collect();
            let message = folder.run(&words, &[("OAUTH_STRATEGY", strategy), ("DATABASE_URL", "sqlite://new.db")]).refused();
            assert!(message.contains("does not exist, and the manifest declares tables in it; set DATABASE_URL to"), "{line}: {message}");
            assert_eq!(files(&folder), before, "{line}");
        }
    }
}

// contract B3.4, contract B3.23, contract P4.20
#[test]
fn on_a_sqlite_file_without_the_tables_of_a_hub_nothing_is_created() {
    for script in ["", SCRIPT] {
        let folder = folder();
        folder.write("empty.db", "");
        rusqlite::Connection::open(folder.path("empty.db")).and_then(|file| file.execute_batch(script)).expect("a script");
        let before = files(&folder);
        for line in commands() {
            let message = run(&folder, line, "sqlite://empty.db").refused();
            assert_eq!(
                message, "DATABASE_URL: the hub's own tables are missing; run `peristyle migrate`, or start `peristyle serve`",
                "{line}"
            );
            assert_eq!(files(&folder), before, "{line}");
        }
        let text = run(&folder, "check", "sqlite://empty.db").out();
        assert!(text.contains("the hub's own tables are missing; run `peristyle migrate`"), "{text}");
        if script.is_empty() {
            let message = run(&folder, "introspect --out -", "sqlite://empty.db").refused();
            assert!(message.starts_with("DATABASE_URL: no table or view can be read in the SQLite file \"empty.db\"; "), "{message}");
        } else {
            run(&folder, "introspect --out -", "sqlite://empty.db").good();
        }
        assert_eq!(files(&folder), before);
    }
}

/// Commands that would add a record, with inputs that an empty hub refuses.
fn refused_additions() -> impl Iterator<Item = &'static str> {
    [
        "role add --name x --permission bad",
        "account add --username ana --role nosuch",
        "account add --username ana --password-stdin",
        "client add --id shop --name Shop --redirect nourl",
        "client add --id shop --name Shop --redirect https://shop.example/callback --app nosuch",
        "app add --code kiosk --url nourl",
        "keys rotate",
    ]
    .into_iter()
}

// contract B3.25
#[test]
fn a_refused_addition_creates_nothing() {
    let folder = folder();
    let before = files(&folder);
    for line in refused_additions() {
        let message = run(&folder, line, "sqlite://new.db").refused();
        assert_eq!(files(&folder), before, "{line}: {message}");
    }
    run(&folder, "role add --name clerk", "sqlite://new.db").good();
    assert!(run(&folder, "role list", "sqlite://new.db").good().contains("clerk"));
}

/// How many schemas and tables a PostgreSQL database has, apart from its own.
async fn relations(database: &Database) -> i64 {
    const COUNT: &str = "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = 'peristyle') + (SELECT count(*) FROM pg_class c \
                         JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema')";
    database.client().await.query_one(COUNT, &[]).await.expect("a count").get(0)
}

// contract B3.4, contract B3.23, contract B3.25, contract P4.20
#[tokio::test]
async fn on_an_empty_postgresql_database_nothing_is_created() {
    let database = Database::with(Backend::Postgres, "SELECT 1").await;
    let folder = folder();
    for line in commands() {
        let message = run(&folder, line, &database.url).refused();
        assert_eq!(
            message, "DATABASE_URL: the hub's own tables are missing; run `peristyle migrate`, or start `peristyle serve`",
            "{line}"
        );
    }
    let text = run(&folder, "check", &database.url).out();
    assert!(text.contains("the hub's own tables are missing; run `peristyle migrate`"), "{text}");
    let message = run(&folder, "introspect --out -", &database.url).refused();
    let name = database.url.rsplit('/').next().and_then(|name| name.split('?').next()).expect("a name");
    assert!(message.starts_with(&format!("DATABASE_URL: no table or view can be read in the database \"{name}\" at ")), "{message}");
    assert_eq!(relations(&database).await, 0);
    // What is refused creates nothing either.
    for line in refused_additions() {
        assert!(!run(&folder, line, &database.url).refused().is_empty());
        assert_eq!(relations(&database).await, 0, "{line}");
    }
}

// contract B3.4, contract B3.23
#[tokio::test]
async fn tables_of_an_older_version_stay_until_migrate_runs() {
    for backend in BACKENDS {
        let database = Database::with(backend, "SELECT 1").await;
        let folder = folder();
        run(&folder, "migrate", &database.url).good();
        let table = if backend == Backend::Postgres { "peristyle.migration" } else { "peristyle_migration" };
        database.execute(&format!("DELETE FROM {table} WHERE version = (SELECT max(version) FROM {table})")).await;
        let older = "the hub's own tables are those of an older version; run `peristyle migrate`, or start `peristyle serve`";
        for line in commands() {
            assert_eq!(run(&folder, line, &database.url).refused(), format!("DATABASE_URL: {older}"), "{backend:?}: {line}");
        }
        let text = run(&folder, "check", &database.url).out();
        assert!(text.contains(&format!("warning: {older}")), "{backend:?}: {text}");
        assert_eq!(database.change(&format!("DELETE FROM {table} WHERE version > 0")).await, 8, "{backend:?}: no step was taken");
    }
}

// contract B3.4, contract B3.23
#[tokio::test]
async fn a_command_that_adds_creates_and_one_that_reads_leaves_the_file_as_it_is() {
    for backend in BACKENDS {
        let database = Database::with(backend, "SELECT 1").await;
        let folder = folder();
        let url = if backend == Backend::Sqlite { "sqlite://hub.db" } else { database.url.as_str() };
        run(&folder, "tenant add --code north --name North", url).good();
        let before = files(&folder);
        for line in READING.iter().filter(|line| line.ends_with("list") || line.starts_with("tenant") || line.starts_with("explain")) {
            run(&folder, line, url).good();
            assert_eq!(files(&folder), before, "{backend:?}: {line}");
        }
        run(&folder, "keys generate --out keys", url).good();
        let key = folder.path("keys/oauth-private.key").display().to_string();
        folder.run(&["check"], &[HUB, ("DATABASE_URL", url), ("OAUTH_PRIVATE_KEY_PATH", &key)]).good();
        std::fs::remove_dir_all(folder.path("keys")).expect("removed");
        assert_eq!(files(&folder), before, "{backend:?}: check");
    }
}

// contract B3.23
#[test]
fn following_the_audit_log_leaves_no_wal_behind() {
    let folder = folder();
    run(&folder, "migrate", "sqlite://hub.db").good();
    let before: Vec<String> = files(&folder).into_keys().collect();
    let mut command = folder.command(&["event", "follow"]);
    let mut child = command.env("DATABASE_URL", "sqlite://hub.db").stderr(Stdio::inherit()).spawn().expect("the program starts");
    let mut out = BufReader::new(child.stdout.take().expect("standard output"));
    // Until the first line comes, the command may not have begun to follow.
    let (sender, arrived) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut line = String::new();
        out.read_line(&mut line).expect("UTF-8");
        sender.send(line).expect("the test waits");
    });
    let mut number = 0;
    let line = loop {
        number += 1;
        assert!(number < 200, "no event came");
        run(&folder, &format!("tenant add --code t{number} --name T{number}"), "sqlite://hub.db").good();
        if let Ok(line) = arrived.recv_timeout(std::time::Duration::from_millis(200)) {
            break line;
        }
    };
    assert!(line.contains("tenant"), "{line}");
    let sent = Command::new("kill").arg("-INT").arg(child.id().to_string()).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    reader.join().expect("the reader ends");
    assert_eq!(files(&folder).into_keys().collect::<Vec<_>>(), before);
}

// contract B1.1
#[test]
fn a_sqlite_file_that_is_locked_or_cannot_be_opened_is_named() {
    let folder = Folder::shop();
    folder.write("statement.json", "{}");
    let lines = ["check", "explain shop.customer statement.json", "introspect --out -", "account list", "serve"];
    let lock = rusqlite::Connection::open(folder.path("shop.db")).expect("a file");
    lock.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    for line in lines {
        let message = folder.run(&line.split(' ').collect::<Vec<_>>(), &[]).refused();
        assert!(
            message.starts_with("DATABASE_URL: ") && message.contains("another process has locked the SQLite file"),
            "{line}: {message}"
        );
    }
    for (path, reason) in [("peristyle.toml/shop.db", "Not a directory"), (".", "cannot be opened")] {
        for line in lines {
            let url = format!("sqlite://{path}");
            let message = folder.run(&line.split(' ').collect::<Vec<_>>(), &[("DATABASE_URL", &url)]).refused();
            assert!(message.starts_with("DATABASE_URL: ") && message.contains(&format!("{path:?}")), "{line}: {message}");
            assert!(message.contains(reason), "{line}: {message}");
        }
    }
}
