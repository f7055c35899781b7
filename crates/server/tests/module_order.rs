//! The modules of each crate have a linear order: a module may use only modules that stand before it. Reads the source tree and names the
//! file and the arrow that breaks the order.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A floor: its name, and its modules from bottom to top.
type Floor = (&'static str, &'static [&'static str]);

/// The floors of a crate from bottom to top.
const QUERY: &[Floor] = &[
    ("ground", &["account_variables", "pointer", "error", "json", "messages"]),
    ("what is written", &["manifest", "statement", "types", "value", "parse", "merge"]),
    ("what it means", &["catalog", "payload", "policy", "plan", "constraints"]),
    ("what it becomes", &["sql", "explain", "describe"]),
];

const IDENTITY: &[Floor] = &[
    ("ground", &["timestamp", "lifetime", "strategy", "base64url", "json", "seal", "error", "secret_token", "form", "origin"]),
    ("parts of a request", &["parameters", "scope", "pkce", "bearer", "freshness", "return_path"]),
    ("records", &["account", "password", "password_link", "throttle", "client", "audit_event", "keys", "token"]),
    ("decisions", &["grant", "revocation", "session", "authorize", "login", "token_request"]),
];

const STORE: &[Floor] = &[
    ("ground", &["error", "settings", "decimal", "json_encoder", "replica_state"]),
    ("running statements", &["assemble", "run", "schema", "writes", "sqlite", "postgres", "introspect", "check", "database", "writers"]),
    ("records", &["hub_records"]),
];

const SERVER: &[Floor] = &[
    (
        "ground",
        &["mutex", "budget", "config", "clock", "random", "boot_error", "key_files", "logging", "response", "problem", "http", "html"],
    ),
    ("queries", &["metrics", "slow_statements", "traces", "caller", "query_service"]),
    ("identity", &["administration", "hub", "satellite", "authenticator"]),
    ("protocols", &["admin_operations", "graphql", "rest", "openapi", "app_files", "pages"]),
    ("process", &["app_state", "listen", "router"]),
    ("program", &["boot", "reload", "demo", "cli"]),
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
    let paths = paths(code, "crate");
    paths.into_iter().filter_map(|path| path.into_iter().next()).collect()
}

/// All paths that begin with this word, without it; in a `use` list one for each item.
fn paths(code: &str, word: &str) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    let mark = format!("{word}::");
    for (start, _) in code.match_indices(&mark) {
        let is_inner = code[..start].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':');
        if !is_inner {
            unfold(&code[start + mark.len()..], &mut Vec::new(), &mut found);
        }
    }
    found
}

/// Follows a path, and each item of the list that it may end with.
fn unfold(path: &str, before: &mut Vec<String>, found: &mut BTreeSet<Vec<String>>) {
    let depth = before.len();
    let mut rest = path.trim_start();
    loop {
        if let Some(list) = rest.strip_prefix('{') {
            for item in list_items(list) {
                unfold(&item, before, found);
            }
            break;
        }
        let segment = first_segment(rest);
        if segment.is_empty() {
            break;
        }
        rest = rest.trim_start()[segment.len()..].trim_start();
        before.push(segment);
        let Some(next) = rest.strip_prefix("::") else {
            found.insert(before.clone());
            break;
        };
        rest = next;
    }
    before.truncate(depth);
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

/// The path of a module below `src`, such as `["hub", "endpoints", "token"]`.
fn module(path: &str) -> Vec<String> {
    path.trim_end_matches(".rs").split('/').map(str::to_owned).collect()
}

/// Modules of one folder that use each other in a circle, one line for each circle.
fn circles(files: &[(String, String)]) -> Vec<String> {
    let code_of: BTreeMap<Vec<String>, String> =
        files.iter().filter(|(path, _)| !path.ends_with("tests.rs")).map(|(path, text)| (module(path), code(text))).collect();
    let mut uses: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    for (own, code) in &code_of {
        let mut targets: BTreeSet<Vec<String>> = paths(code, "crate");
        for path in paths(code, "super") {
            let up = 1 + path.iter().take_while(|segment| *segment == "super").count();
            let above = own[..own.len().saturating_sub(up)].iter();
            targets.insert(above.chain(&path[up - 1..]).cloned().collect());
        }
        for target in targets {
            let common = own.iter().zip(&target).take_while(|(one, other)| one == other).count();
            if common < own.len() && common < target.len() && code_of.contains_key(&target[..=common]) {
                uses.entry(own[..=common].to_vec()).or_default().insert(target[..=common].to_vec());
            }
        }
    }
    let reached = |from: &Vec<String>| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(current) = open.pop() {
            let next = uses.get(&current).into_iter().flatten().filter(|target| target.len() == from.len());
            open.extend(next.filter(|target| seen.insert((*target).clone())).cloned());
        }
        seen
    };
    let mut found = BTreeSet::new();
    for name in uses.keys() {
        let circle: BTreeSet<Vec<String>> = reached(name).into_iter().filter(|other| reached(other).contains(name)).collect();
        if circle.len() > 1 {
            found.insert(circle.iter().map(|path| path.join("::")).collect::<Vec<_>>().join(" and "));
        }
    }
    found.into_iter().map(|circle| format!("a circle: {circle}")).collect()
}

#[test]
fn no_modules_of_a_folder_use_each_other_in_a_circle() {
    let mut found = Vec::new();
    for (name, _) in CRATES {
        found.extend(
            circles(&files(&root().join(format!("crates/{name}/src")))).into_iter().map(|line| format!("crates/{name}/src: {line}")),
        );
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_test_finds_a_circle_of_siblings() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let files = [
        file("house.rs", "mod a;\nmod b;\nmod c;\nuse a::A;\n"),
        file("house/a.rs", "use super::b::{self, Part};\n"),
        file("house/b.rs", "use crate::house::{House, c::deep};\n"),
        file("house/c.rs", "fn f() { super::a::g() }\n"),
        file("house/c/deep.rs", "use super::super::d;\n"),
        file("house/d.rs", "use super::House;\n"),
    ];
    assert_eq!(circles(&files), ["a circle: house::a and house::b and house::c"]);
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
