//! `--help` and `check`.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Output;

use serde_json::Value;

use crate::program::{Folder, MANIFEST};

// contract B3.1
#[test]
fn every_command_has_help_with_an_example() {
    let folder = Folder::new();
    for arguments in [
        &["--help"][..],
        &["serve", "--help"],
        &["demo", "--help"],
        &["check", "--help"],
        &["introspect", "--help"],
        &["explain", "--help"],
        &["schema", "--help"],
        &["completions", "--help"],
        &["man", "--help"],
    ] {
        let text = folder.run(arguments, &[("LISTEN", "nonsense")]).good();
        assert!(text.contains("Example") && text.contains("peristyle"), "{text}");
    }
    assert!(folder.run(&["--version"], &[]).good().starts_with("peristyle "));
    for (arguments, end) in [
        (&["restart"][..], "did you mean `peristyle reload`; see `peristyle --help`"),
        (&["version"], "did you mean `peristyle --version`; see `peristyle --help`"),
        (&["serve", "--port", "80"], "set the environment variable LISTEN instead; see `peristyle serve --help`"),
    ] {
        let message = String::from_utf8(folder.command(arguments).output().expect("the program runs").stderr).expect("UTF-8");
        assert!(message.trim_end().ends_with(end), "{message}");
    }
    for arguments in [&[][..], &["nonsense"], &["check", "--nonsense"], &["explain"], &["schema"], &["schema", "nonsense"]] {
        let output = folder.command(arguments).output().expect("the program runs");
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn check_and_serve_refuse_writes_that_the_database_cannot_take() {
    let folder = Folder::shop();
    let write = "[resource.shop.customer.write]\ncreate = true\n";
    folder.write("peristyle.toml", &format!("{write}{MANIFEST}"));
    let (checked, served) = (folder.run(&["check"], &[]), folder.run(&["serve"], &[]).refused());
    let message =
        "field `name` of `shop.customer`: `create` has no value for column `name` of `customers`, which is NOT NULL and has no default";
    for text in [checked.out(), served] {
        assert!(text.contains(&format!("peristyle.toml:5: {message}")), "{text}");
    }
    assert!(checked.out().contains("warning: peristyle.toml:1: resource `shop.customer`: `create = true` lets everyone create rows"));
    folder.write("peristyle.toml", &format!("{write}{}", MANIFEST.replace("null = false", "null = false, write = true")));
    assert!(folder.run(&["check"], &[]).good().contains(" 0 error(s)"));
}

/// The output of a command as a user without write access to the folder.
fn as_another_user(folder: &Folder, arguments: &[&str]) -> String {
    let mut command = folder.command(arguments);
    // The modes of files do not bind root.
    if std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        command.uid(65_534).gid(65_534);
    }
    let Output { stdout, stderr, .. } = command.output().expect("the program runs");
    String::from_utf8([stdout, stderr].concat()).expect("UTF-8")
}

// contract W1.6
#[test]
fn check_reports_a_file_and_a_folder_that_take_no_writes() {
    let folder = Folder::shop();
    let mode = |name: &str, mode: u32| std::fs::set_permissions(folder.path(name), Permissions::from_mode(mode)).expect("a mode");
    let write = "[resource.shop.customer.write]\ncreate = true\n";
    folder.write("peristyle.toml", &format!("{write}{}", MANIFEST.replace("null = false", "null = false, write = true")));
    let file = "the SQLite file \"shop.db\"";
    let read_only = format!("{file} is read-only for this user; make it writable for it");
    let no_folder = format!("this user may not write to the folder of {file}");
    for (of_file, of_folder, reason) in [(0o444, 0o777, read_only), (0o666, 0o555, no_folder)] {
        mode("shop.db", of_file);
        mode("", of_folder);
        for command in ["check", "serve"] {
            let output = as_another_user(&folder, &[command]);
            assert!(output.contains(&format!("DATABASE_URL: {reason}")), "{command}: {output}");
            assert!(output.contains("or remove the writes from the manifest"), "{command}: {output}");
        }
        let manifest = as_another_user(&folder, &["introspect", "--writable", "--out", "-"]);
        assert!(!manifest.contains("customer.write]") && manifest.contains(&format!("# writes are left out: {reason}")), "{manifest}");
    }
    mode("", 0o755);
}

// contract B3.60, B3.1
#[test]
fn completions_and_manual_pages_need_no_setting() {
    let folder = Folder::new();
    let run = |line: &str| folder.run(&line.split(' ').collect::<Vec<_>>(), &[("LISTEN", "nonsense")]).good();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&format!("completions {shell}"));
        assert!(script.contains("introspect") && script.contains("hub-port"), "{shell}");
        let object: Value = serde_json::from_str(&run(&format!("completions {shell} --json"))).expect("one JSON object");
        assert_eq!((object["shell"].as_str(), object["script"].as_str().map(str::trim_end)), (Some(shell), Some(script.trim_end())));
    }
    assert!(run("man account add").contains("peristyle\\-account\\-add"));
    assert!(!run("man serve").contains("until"));
    let refused = folder.run(&["man", "acount"], &[]).refused();
    assert!(refused.contains("no command \"acount\"; `peristyle --help` lists them"), "{refused}");
    let object: Value = serde_json::from_str(&run("man --out pages --json")).expect("one JSON object");
    let names: Vec<&str> = object["written"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(names.contains(&"peristyle") && names.contains(&"peristyle-keys-rotate") && !names.contains(&"peristyle-help"), "{names:?}");
    for name in names {
        assert!(folder.read(&format!("pages/{name}.1")).contains(".SH NAME"), "{name}");
    }
}

// contract P4.1, contract B3.1
#[test]
fn check_accepts_a_manifest_that_fits() {
    let folder = Folder::shop();
    let text = folder.run(&["check"], &[]).good();
    assert!(text.contains("2 resource(s): 0 error(s), 0 warning(s)"), "{text}");
    let object: Value = serde_json::from_str(&folder.run(&["check", "--json"], &[]).good()).expect("one JSON object");
    assert_eq!((&object["errors"], &object["warnings"], &object["resources"]), (&0.into(), &0.into(), &2.into()));
    assert_eq!(object["findings"], serde_json::json!([]));
}

// contract P4.1, contract P4.2
#[test]
fn check_reports_what_to_fix_and_fails() {
    let folder = Folder::shop();
    let manifest = MANIFEST
        .replace("total = \"decimal\"", "total = \"decimal\"\ntaxes = \"decimal\"")
        .replace("name = { type = \"text\", null = false }", "name = \"text\"");
    folder.write("peristyle.toml", &manifest);
    let output = folder.command(&["check"]).output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let line = 1 + manifest.lines().position(|line| line.starts_with("taxes")).expect("the line");
    assert!(text.contains(&format!("error: peristyle.toml:{line}: ")) && text.contains("taxes"), "{text}");
    let output = folder.command(&["check", "--json"]).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let object: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(object["errors"], 1, "{object}");
    let errors = object["findings"].as_array().expect("findings");
    let error = errors.iter().find(|finding| finding["severity"] == "error").expect("an error");
    assert_eq!((&error["file"], &error["line"]), (&"peristyle.toml".into(), &line.into()));
    // A fault of the manifest itself is reported the same way.
    folder.write("peristyle.toml", &MANIFEST.replace("total = \"decimal\"", "total = \"decimla\""));
    let output = folder.command(&["check", "--json"]).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let object: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!((&object["errors"], &object["findings"][0]["line"]), (&1.into(), &(line - 1).into()), "{object}");
    assert!(object["findings"][0]["message"].as_str().is_some_and(|message| message.contains("decimal")), "{object}");
    // So are invalid settings, all of them at once.
    let finished = folder.run(&["check", "--json"], &[("LISTEN", "here"), ("DATABASE_POOL", "0")]);
    let object: Value = serde_json::from_str(&finished.out()).expect("one JSON object");
    let messages: Vec<&str> =
        object["findings"].as_array().expect("findings").iter().filter_map(|found| found["message"].as_str()).collect();
    assert_eq!((finished.code(), &object["errors"], messages.len()), (Some(1), &2.into(), 2), "{object}");
    assert!(messages.iter().any(|message| message.starts_with("LISTEN: ")), "{object}");
    // A missing index slows a relation down; it is a warning.
    folder.write("peristyle.toml", MANIFEST);
    rusqlite::Connection::open(folder.path("shop.db"))
        .and_then(|file| file.execute_batch("DROP INDEX orders_of_customer"))
        .expect("dropped");
    let text = folder.run(&["check"], &[]).good();
    assert!(text.contains("warning: peristyle.toml:") && text.contains("index"), "{text}");
}

// contract G1.8, contract P1.6, contract P4.2
#[test]
fn check_refuses_what_serve_refuses_for_graphql() {
    let folder = Folder::shop();
    let fields = "table = \"customers\"\nfields.id = { type = \"bigint\", key = true }\n";
    folder.write("peristyle.toml", &format!("[resource.a.bC]\n{fields}[resource.aB.c]\n{fields}"));
    for command in ["check", "serve"] {
        let message = folder.run(&[command], &[]).refused();
        assert!(message.contains("peristyle.toml:4: resource `aB.c` and resource `a.bC` are both the GraphQL type `ABC`"), "{message}");
    }
}

// contract B2.4, contract B3.24
#[test]
fn check_reports_the_settings_that_serve_refuses() {
    let folder = Folder::shop();
    let satellite = [("OAUTH_STRATEGY", "platform-hub"), ("OAUTH_CLIENT_ID", "shop")];
    let checked = folder.run(&["check"], &satellite);
    let served = folder.run(&["serve"], &satellite).refused();
    for name in
        ["OAUTH_PRIVATE_KEY_PATH: ", "OAUTH_HUB_URL: is missing", "OAUTH_REDIRECT_URI: is missing", "OAUTH_CLIENT_SECRET: is missing"]
    {
        assert!(checked.out().contains(name) && served.contains(name), "{name} in {} and {served}", checked.out());
    }
    assert!(checked.good().contains("0 error(s), 2 warning(s)"), "{}", checked.out());
    // With the database out of reach one message has both.
    let gone = [satellite[0], satellite[1], ("DATABASE_URL", "postgres://u@127.0.0.1:1/d")];
    let message = folder.run(&["check"], &gone).refused();
    assert!(message.contains("OAUTH_HUB_URL: is missing") && message.contains("no connection to 127.0.0.1:1"), "{message}");
    let finished = folder.run(&["check", "--json"], &gone);
    let object: Value = serde_json::from_str(&finished.out()).expect("one JSON object");
    assert_eq!((finished.code(), &object["errors"], &object["findings"][0]["severity"]), (Some(1), &1.into(), &"error".into()), "{object}");
    // The key is all that a hub needs.
    let hub = [("OAUTH_STRATEGY", "local-provider")];
    assert!(folder.run(&["check"], &hub).out().contains("warning: `serve` refuses these settings: OAUTH_PRIVATE_KEY_PATH: "));
    folder.run(&["keys", "generate"], &[]).good();
    assert!(folder.run(&["check"], &hub).good().contains(" 0 error(s)"));
    let message = folder.run(&["check"], &[hub[0], ("APP_FILES", "app")]).out();
    assert!(message.contains("`serve` refuses these settings: APP_FILES: a hub serves no app"), "{message}");
}

// contract B1.3
#[test]
fn check_needs_a_manifest() {
    let folder = Folder::new();
    let message = folder.run(&["check"], &[]).refused();
    assert!(message.contains("peristyle.toml"), "{message}");
}

// contract P4.1
#[test]
fn check_reports_values_that_read_as_null() {
    let folder = Folder::shop();
    let script = "CREATE TABLE notes (id INTEGER PRIMARY KEY, made TEXT, words TEXT, size INTEGER);
        INSERT INTO notes (made, words, size) VALUES ('2024-01-01 10:00:00', '[1]', 7), ('2024-01-01T10:00:00.000000Z', 'no list', 'large')";
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(script)).expect("a table");
    let fields = "id = { type = \"int\", key = true }\nmade = \"timestamp\"\nwords = \"int[]\"\nsize = \"int\"\n";
    folder.write("peristyle.toml", &format!("[resource.shop.note.fields]\n{fields}"));
    let printed = folder.run(&["check"], &[]).good();
    for part in [
        "peristyle.toml:3: `shop.note.made`: of the first 2 row(s), 1 have an invalid timestamp",
        "peristyle.toml:4: `shop.note.words`: of the first 2 row(s), 1 have an invalid int[]",
        "peristyle.toml:5: `shop.note.size`: of the first 2 row(s), 1 have an invalid int",
        "0 error(s), 3 warning(s)",
    ] {
        assert!(printed.contains(part), "{part:?} in {printed}");
    }
}

// contract P4.1
#[test]
fn check_reports_keys_that_are_equal_in_another_form() {
    let folder = Folder::shop();
    let script = "CREATE TABLE prices (amount TEXT NOT NULL, at TEXT NOT NULL, note TEXT, PRIMARY KEY (amount, at));
        INSERT INTO prices VALUES ('1.0', '2024-01-01 00:00:00', 'a'), ('1.00', '2024-01-01T00:00:00Z', 'b'), ('1', '2024-01-02', 'c'), ('x', '2024-01-02', 'd')";
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(script)).expect("a table");
    let fields =
        "note = \"text\"\namount = { type = \"decimal\", key = true }\nat = { type = \"timestamp\", stored = \"datetime\", key = true }\n";
    folder.write("peristyle.toml", &format!("[resource.shop.price.fields]\n{fields}"));
    let printed = folder.run(&["check"], &[]).good();
    let warning = "peristyle.toml:1: of the first rows, 1 have a key that equals another as a value, written in another form (`shop.price.amount`, `shop.price.at`)";
    assert!(printed.contains(warning), "{printed}");
    let script = "DELETE FROM prices WHERE amount = '1.00'";
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(script)).expect("fewer rows");
    assert!(!folder.run(&["check"], &[]).good().contains("written in another form"));
}

// contract P4.1
#[test]
fn check_warns_of_permissions_that_no_role_can_hold() {
    let folder = Folder::shop();
    folder.write("peristyle.toml", "[resource.shop.customer]\npermission = \"customers.read\"\n[resource.shop.customer.fields]\nid = { type = \"bigint\", key = true }\nname = { type = \"text\", null = false, mask = \"redact\", unmask = \"plain\" }\n");
    let text = folder.run(&["check"], &[]).good();
    assert!(text.contains("warning: peristyle.toml:2: \"customers.read\" is a permission that no role but `administrator`"), "{text}");
    assert!(text.contains("warning: peristyle.toml:5: \"plain\" is a permission"), "{text}");
    folder.write("peristyle.toml", &format!("[resource.shop.customer.write]\nmax-rows = 2\ndelete = \"gone\"\n{MANIFEST}"));
    let text = folder.run(&["check"], &[]).good();
    assert!(text.contains("warning: peristyle.toml:3: \"gone\" is a permission"), "{text}");
}

// contract P4.1
#[test]
fn what_only_the_maker_of_a_sqlite_file_can_read_is_told() {
    let folder = Folder::shop();
    std::fs::remove_file(folder.path("shop.db")).expect("the file");
    let file = rusqlite::Connection::open(folder.path("shop.db")).expect("a file");
    file.create_collation("LOCALIZED", |left: &str, right: &str| left.cmp(right)).expect("a collation");
    file.execute_batch(
        "PRAGMA encoding = 'UTF-16le'; CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT COLLATE LOCALIZED);
         CREATE INDEX words_word ON words (word); CREATE VIEW failing AS SELECT id, abs(-9223372036854775808) AS o FROM words;
         INSERT INTO words VALUES (1, 'one')",
    )
    .expect("a table");
    let words = "[resource.a.word]\ntable = \"words\"\nfields.word = \"text\"\n";
    let failing = "[resource.a.failing]\ntable = \"failing\"\nfields.o = \"bigint\"\n";
    folder.write("peristyle.toml", &format!("{words}{failing}"));
    let printed = folder.run(&["check"], &[]).good();
    for line in [
        "peristyle.toml:1: `a.word`: SQLite lacks a function or collation that this table uses, so some statements will fail: no such collation sequence: LOCALIZED",
        "peristyle.toml:3: the file stores strings as UTF-16le and compares their bytes, not their code points",
        "peristyle.toml:4: `a.failing`: SQLite lacks a function or collation that this table uses, so some statements will fail: integer overflow",
    ] {
        assert!(printed.contains(line), "no line {line:?} in\n{printed}");
    }
}
