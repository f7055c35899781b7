//! The modules of each crate have a linear order: a module may use only modules that stand before it. Reads the source tree and names the
//! file and the arrow that breaks the order.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A floor: its name, and its modules from bottom to top.
type Floor = (&'static str, &'static [&'static str]);

/// The floors of a crate from bottom to top.
const QUERY: &[Floor] = &[
    ("ground", &["pointer", "error", "json", "messages"]),
    ("what is written", &["manifest", "statement", "types", "value", "parse", "merge"]),
    ("what it means", &["catalog", "policy", "plan", "constraints"]),
    ("what it becomes", &["sql", "explain", "describe"]),
];

const IDENTITY: &[Floor] = &[
    ("ground", &["timestamp", "lifetime", "strategy", "base64url", "json", "seal", "error", "secret_token", "form", "origin"]),
    ("parts of a request", &["parameters", "scope", "pkce", "bearer", "freshness", "return_path"]),
    ("records", &["account", "password", "password_link", "throttle", "client", "audit_event", "keys", "token"]),
    ("decisions", &["grant", "revocation", "session", "authorize", "login", "token_request"]),
];

const STORE: &[Floor] = &[
    ("ground", &["error", "settings", "decimal", "encode", "replica_state"]),
    ("running statements", &["assemble", "run", "schema", "sqlite", "postgres", "introspect", "check", "database"]),
    ("records", &["hub_records"]),
];

const SERVER: &[Floor] = &[
    ("ground", &["budget", "config", "clock", "random", "boot_error", "key_files", "logging", "response", "problem", "http", "html"]),
    ("queries", &["metrics", "caller", "query_service"]),
    ("identity", &["administration", "hub", "satellite", "authenticator"]),
    ("protocols", &["operations", "graphql", "rest", "openapi", "app_files", "pages"]),
    ("process", &["app_state", "listen", "router"]),
    ("program", &["boot", "demo", "cli"]),
];

const CRATES: [(&str, &[Floor]); 4] = [("query", QUERY), ("identity", IDENTITY), ("store", STORE), ("server", SERVER)];

/// One use of another module of the same crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrow {
    from: String,
    to: String,
    file: String,
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The Rust files below a folder, with their paths from that folder.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(current) = open.pop() {
        for entry in std::fs::read_dir(&current).unwrap_or_else(|error| panic!("{}: {error}", current.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).expect("a path below the folder").to_string_lossy().into_owned();
                found.push((name, std::fs::read_to_string(&path).expect("a text")));
            }
        }
    }
    found.sort();
    found
}

/// The code of a file, without its comments and without the module of tests at its end.
fn code(text: &str) -> String {
    let tests = text.match_indices("\n#[cfg(test)]\n").find(|(start, mark)| {
        let mut after = text[start + mark.len()..].lines().skip_while(|line| line.starts_with("#["));
        after.next().is_some_and(|line| line.starts_with("mod "))
    });
    let text = tests.map_or(text, |(start, _)| &text[..start]);
    let without_comment = |line: &str| line.find("//").filter(|start| !line[..*start].ends_with(':')).map_or(line.len(), |start| start);
    text.lines().map(|line| &line[..without_comment(line)]).collect::<Vec<_>>().join("\n")
}

/// The first segments of all paths that begin with `crate::`, in `use` lists and elsewhere.
fn crate_paths(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (start, word) in code.match_indices("crate::") {
        if code[..start].ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            continue;
        }
        let rest = &code[start + word.len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(list_items(list).iter().map(|item| first_segment(item))),
            None => _ = names.insert(first_segment(rest)),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn first_segment(path: &str) -> String {
    path.trim_start().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// The items of a `use` list up to the brace that closes it.
fn list_items(list: &str) -> Vec<String> {
    let (mut items, mut depth) = (vec![String::new()], 0);
    for letter in list.chars() {
        match letter {
            '}' if depth == 0 => break,
            ',' if depth == 0 => items.push(String::new()),
            _ => {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                items.last_mut().expect("an item").push(letter);
            }
        }
    }
    items
}

/// The names that `lib.rs` re-exports, each with the module that has it.
fn re_exports(lib: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for statement in lib.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let module = first_segment(statement);
        let names = match statement.split_once('{') {
            Some((_, list)) => list_items(list),
            None => vec![statement.rsplit("::").next().unwrap_or_default().to_owned()],
        };
        found.extend(names.iter().map(|name| (first_segment(name), module.clone())));
    }
    found
}

/// All arrows between the modules of a crate whose files are given with their paths below `src`.
fn arrows(files: &[(String, String)]) -> Vec<Arrow> {
    let lib = files.iter().find(|(path, _)| path == "lib.rs").map_or("", |(_, text)| text);
    let re_exports = re_exports(lib);
    let is_macro = |name: &str| files.iter().any(|(_, text)| text.contains(&format!("macro_rules! {name} ")));
    let mut arrows = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path != "lib.rs" && path != "main.rs") {
        let from = path.split(['/', '.']).next().unwrap_or_default();
        for name in crate_paths(&code(text)).into_iter().filter(|name| !is_macro(name)) {
            let to = re_exports.get(&name).cloned().unwrap_or(name);
            if to != from {
                arrows.push(Arrow { from: from.to_owned(), to, file: path.clone() });
            }
        }
    }
    arrows
}

/// What breaks the order: modules that are not listed, listed modules that do not exist, and arrows that lead upward.
fn offenders(floors: &[Floor], modules: &BTreeSet<String>, arrows: &[Arrow]) -> Vec<String> {
    let order: Vec<&str> = floors.iter().flat_map(|(_, modules)| modules.iter().copied()).collect();
    let place = |name: &str| order.iter().position(|listed| *listed == name);
    let mut found: Vec<String> = Vec::new();
    found.extend(modules.iter().filter(|name| place(name).is_none()).map(|name| format!("{name} is on no floor")));
    found.extend(order.iter().filter(|name| !modules.contains(**name)).map(|name| format!("{name} is listed and does not exist")));
    for Arrow { from, to, file } in arrows {
        match (place(from), place(to)) {
            (Some(lower), Some(upper)) if upper < lower => {}
            (Some(_), Some(_)) => found.push(format!("{file}: {from} uses {to}, which stands above it")),
            _ => found.push(format!("{file}: {from} uses {to}, and one of them is on no floor")),
        }
    }
    found
}

#[test]
fn each_module_uses_only_modules_below_it() {
    let mut found = Vec::new();
    for (name, floors) in CRATES {
        let files = files(&root().join(format!("crates/{name}/src")));
        let top = files.iter().filter_map(|(path, _)| path.split(['/', '.']).next());
        let modules = top.filter(|module| !["lib", "main"].contains(module)).map(str::to_owned).collect();
        found.extend(offenders(floors, &modules, &arrows(&files)).into_iter().map(|offender| format!("crates/{name}/src: {offender}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_test_finds_what_breaks_the_order() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let files = [
        file("lib.rs", "pub mod low;\npub mod high;\npub use high::{Thing, Other as Alias};\npub use low::Base;\n"),
        file("low.rs", "use crate::high::Thing;\n"),
        file("low/deep.rs", "fn a() { crate::high::part() } // crate::comment\n#[cfg(test)]\nmod tests {\n    use crate::test_only;\n}\n"),
        file("low/other.rs", "use crate::{\n    high::{a, b},\n    Thing, Base,\n};\nuse other_crate::high;\n"),
        file("high.rs", "use crate::low;\nuse crate::stray::Thing;\n"),
    ];
    let floors: &[Floor] = &[("one", &["low"]), ("two", &["high", "gone"])];
    let modules = ["low", "high", "new"].map(str::to_owned).into_iter().collect();
    assert_eq!(
        offenders(floors, &modules, &arrows(&files)),
        [
            "new is on no floor",
            "gone is listed and does not exist",
            "low.rs: low uses high, which stands above it",
            "low/deep.rs: low uses high, which stands above it",
            "low/other.rs: low uses high, which stands above it",
            "low/other.rs: low uses high, which stands above it",
            "high.rs: high uses stray, and one of them is on no floor",
        ]
    );
}
