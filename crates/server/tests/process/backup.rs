//! `peristyle backup`: a consistent copy of a SQLite file while others write to it.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::hub_fixture::object;
use crate::program::Folder;
use crate::support::{Backend, Database, post};

fn open(folder: &Folder, name: &str) -> rusqlite::Connection {
    rusqlite::Connection::open(folder.path(name)).expect("a database")
}

fn number(file: &rusqlite::Connection, sql: &str) -> i64 {
    file.query_row(sql, [], |row| row.get(0)).expect("a number")
}

// contract B5.10
#[tokio::test]
async fn a_copy_is_consistent_while_others_write() {
    for mode in ["WAL", "DELETE"] {
        let folder = Folder::shop();
        let file = open(&folder, "shop.db");
        file.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).expect("a journal");
        // Two tables that every transaction keeps equal, and enough pages for several steps.
        file.execute_batch(
            "CREATE TABLE debits (n INTEGER); CREATE TABLE credits (n INTEGER); CREATE TABLE fill (x BLOB);
             INSERT INTO fill WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 4000) SELECT zeroblob(4000) FROM n;",
        )
        .expect("tables");
        drop(file);
        let serving = folder.serve(&[]);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let file = open(&folder, "shop.db");
                file.busy_timeout(std::time::Duration::from_secs(20)).expect("patient");
                let mut written = 0;
                while !stop.load(Ordering::Relaxed) {
                    file.execute_batch("BEGIN IMMEDIATE; INSERT INTO debits VALUES (1); INSERT INTO credits VALUES (1); COMMIT;")
                        .expect("written");
                    written += 1;
                    // Without a break, SQLite's waiting readers would never find the file free.
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                written
            });
            for number in 0..3 {
                let name = format!("copy-{number}.db");
                let said = folder.run(&["backup", &name], &[]).good();
                assert!(said.starts_with(&format!("copied shop.db to {name}: ")), "{said}");
            }
            stop.store(true, Ordering::Relaxed);
            assert!(writer.join().expect("no panic") > 0);
        });
        for name in ["copy-0.db", "copy-1.db", "copy-2.db"] {
            let mode = std::fs::metadata(folder.path(name)).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let copy = open(&folder, name);
            assert_eq!(copy.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).expect("a word"), "ok");
            assert_eq!(number(&copy, "SELECT count(*) FROM debits"), number(&copy, "SELECT count(*) FROM credits"));
            assert_eq!(number(&copy, "SELECT count(*) FROM fill"), 4_000);
        }
        assert_eq!(post("/api/shop/customers/list", "").send(serving.address).await.status(), 200);
        serving.stop();
        // A copy serves as the database.
        let restored = folder.serve(&[("DATABASE_URL", "sqlite://copy-2.db")]);
        let rows = post("/api/shop/customers/list", "").send(restored.address).await.good();
        assert_eq!(rows, json!([{ "id": 1, "name": "Ana" }, { "id": 2, "name": "Bo" }]));
        restored.stop();
    }
}

fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.path(""))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

// contract B5.10
#[tokio::test]
async fn a_file_is_replaced_only_by_force_and_a_failure_leaves_nothing() {
    let folder = Folder::shop();
    folder.write("copy.db", "precious");
    let refused = folder.run(&["backup", "copy.db"], &[]).refused();
    assert_eq!(refused, "copy.db exists already; --force replaces it");
    assert_eq!(folder.read("copy.db"), "precious");
    let done = object(&folder.run(&["backup", "copy.db", "--force", "--json"], &[]).good());
    let bytes = std::fs::metadata(folder.path("copy.db")).expect("a file").len();
    assert_eq!(done, json!({ "source": "shop.db", "file": "copy.db", "bytes": bytes }));
    assert_eq!(number(&open(&folder, "copy.db"), "SELECT count(*) FROM customers"), 2);
    let before = names(&folder);
    folder.write("text.db", &"no database ".repeat(1_000));
    for (variables, arguments, message) in [
        (("DATABASE_URL", "sqlite://missing.db"), ["backup", "new.db"], "does not exist"),
        (("DATABASE_URL", "sqlite://text.db"), ["backup", "new.db"], "the file \"text.db\" is no SQLite database"),
        (("DATABASE_URL", "sqlite://."), ["backup", "new.db"], "the SQLite file \".\" cannot be opened: it is a folder"),
        (("LOG", "info"), ["backup", "-"], "a backup is a file, and is not printed"),
        (("LOG", "info"), ["backup", "peristyle.toml/new.db"], "peristyle.toml/new.db cannot be written: "),
        (("DATABASE_URL", "sqlite::memory:"), ["backup", "new.db"], "in memory"),
        (("DATABASE_URL", "postgres://u:sesame@h/d"), ["backup", "new.db"], "pg_dump"),
        (("LOG", "info"), ["backup", "missing/new.db"], "cannot be written"),
    ] {
        let refused = folder.run(&arguments, &[variables]).refused();
        assert!(refused.contains(message) && !refused.contains("sesame"), "{refused}");
    }
    std::fs::remove_file(folder.path("text.db")).expect("a file");
    assert_eq!(names(&folder), before, "no file is left");
    let database = Database::with(Backend::Postgres, "SELECT 1").await;
    assert!(folder.run(&["backup", "new.db"], &[("DATABASE_URL", &database.url)]).refused().contains("use pg_dump"));
}

// contract B5.10
#[test]
fn the_database_is_no_target_of_its_own_backup() {
    let folder = Folder::shop();
    let file = open(&folder, "shop.db");
    file.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).expect("a journal");
    file.execute_batch("INSERT INTO customers VALUES (3, 'Cy')").expect("a row in the WAL");
    std::os::unix::fs::symlink("shop.db", folder.path("link.db")).expect("a link");
    std::fs::hard_link(folder.path("shop.db"), folder.path("hard.db")).expect("a link");
    let absolute = folder.path("shop.db").display().to_string();
    for target in ["shop.db", "./shop.db", "link.db", "hard.db", &absolute, "shop.db-wal", "shop.db-shm", "shop.db-journal"] {
        for url in ["sqlite://shop.db", "sqlite://link.db"] {
            let message = folder.run(&["backup", target, "--force"], &[("DATABASE_URL", url)]).refused();
            assert!(message.contains("is the database itself, or belongs to it"), "{target}: {message}");
        }
    }
    assert_eq!(number(&file, "SELECT count(*) FROM customers"), 3);
    // The target of a link is replaced, not the link.
    folder.write("old.db", "old");
    std::os::unix::fs::symlink("old.db", folder.path("latest.db")).expect("a link");
    folder.run(&["backup", "latest.db", "--force"], &[]).good();
    assert!(folder.path("latest.db").is_symlink());
    assert_eq!(number(&open(&folder, "old.db"), "SELECT count(*) FROM customers"), 3);
}

// contract B5.10
#[test]
fn a_locked_file_is_waited_for_with_a_word_and_a_signal_ends_the_wait() {
    let folder = Folder::shop();
    let lock = open(&folder, "shop.db");
    lock.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    let before = names(&folder);
    let mut child = folder.command(&["backup", "new.db"]).spawn().expect("the program starts");
    let mut err = std::io::BufReader::new(child.stderr.take().expect("standard error"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut err, &mut line).expect("UTF-8");
    assert_eq!(line, "waiting: another process has locked the SQLite file\n");
    assert!(std::process::Command::new("kill").arg("-INT").arg(child.id().to_string()).status().expect("kill runs").success());
    line.clear();
    std::io::BufRead::read_line(&mut err, &mut line).expect("UTF-8");
    assert_eq!(line, "peristyle: the backup was stopped; no file was written\n");
    assert_eq!(child.wait().expect("an end").code(), Some(1));
    assert_eq!(names(&folder), before);
}
