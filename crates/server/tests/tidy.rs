//! The tidy test: it reads the source tree and checks the rules that the compiler cannot check.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use query::catalog::Catalog;
use query::error::Code;
use query::manifest::Manifest;
use query::plan::{self, Operation};
use query::policy::{self, Viewer};
use query::{merge, parse};
use serde_json::Value;

const MAX_FILE_LINES: usize = 450;
const TRAPS: usize = 20;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Paths and texts of all files in a folder with this ending.
fn files(folder: &str, end: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() && !["target", ".git", "corpus", "artifacts", "node_modules"].contains(&name.as_str()) {
                open.push(path);
            } else if name.ends_with(end) {
                let text = std::fs::read_to_string(&path).expect("a text");
                found.push((path.strip_prefix(root()).expect("a path below the root").to_string_lossy().into_owned(), text));
            }
        }
    }
    found.sort();
    found
}

/// Paths and texts of all files in a `src` folder, without their test modules.
fn sources() -> Vec<(String, String)> {
    let own = files("crates", ".rs").into_iter().filter(|(path, _)| path.contains("/src/"));
    let own = own.filter(|(path, _)| !path.ends_with("/tests.rs"));
    own.map(|(path, text)| (path, split(&text).0.to_owned())).collect()
}

/// Splits a file into its code and the test module at its end.
fn split(text: &str) -> (&str, &str) {
    let module = text.match_indices("\n#[cfg(test)]\n").find(|(start, mark)| {
        let mut after = text[start + mark.len()..].lines().skip_while(|line| line.starts_with("#["));
        after.next().is_some_and(|line| line.starts_with("mod "))
    });
    module.map_or((text, ""), |(start, _)| text.split_at(start))
}

/// Paths and texts of all tests: test files, and test modules of the product.
fn tests() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = ["crates", "testing"].into_iter().flat_map(|folder| files(folder, ".rs")).collect();
    for (path, text) in &mut found {
        if path.contains("/src/") && !path.ends_with("/tests.rs") {
            *text = split(text).1.to_owned();
        }
    }
    found.retain(|(path, _)| path != "crates/server/tests/tidy.rs");
    found.extend(files("testing", ".mjs"));
    found
}

/// Fails and lists the offenders, if there are any.
fn none(what: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{what}:\n{}", offenders.join("\n"));
}

/// Lines with one of the words, as `path:line: text`, without the allowed ones.
fn lines_with(sources: &[(String, String)], words: &[&str], allowed: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut offenders = Vec::new();
    for (path, text) in sources {
        for (number, line) in text.lines().enumerate() {
            let code = code_of(line);
            if words.iter().any(|word| code.contains(word)) && !allowed(path, line) {
                offenders.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    offenders
}

/// A line without its comment. The slashes of a URL do not begin a comment.
fn code_of(line: &str) -> &str {
    let comment = line.match_indices("//").find(|(index, _)| !line[..*index].ends_with(':'));
    comment.map_or(line, |(index, _)| &line[..index])
}

/// The names that follow `word` in a text: `contract Q1.1, Q1.2` cites two.
fn cited(text: &str, word: &str, is_name: fn(&str) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    for (index, _) in text.match_indices(word) {
        let mut rest = &text[index + word.len()..];
        loop {
            let end = rest.find(|character: char| !(character.is_ascii_alphanumeric() || character == '.')).unwrap_or(rest.len());
            let name = rest[..end].trim_end_matches('.');
            if !is_name(name) {
                break;
            }
            names.push(name.to_owned());
            match rest[end..].strip_prefix(", ") {
                Some(more) => rest = more,
                None => break,
            }
        }
    }
    names
}

fn is_rule(name: &str) -> bool {
    let numbers: Vec<&str> = name.get(1..).unwrap_or_default().split('.').collect();
    name.starts_with(['Q', 'P', 'E', 'W', 'G', 'B', 'I'])
        && numbers.len() == 2
        && numbers.iter().all(|number| number.parse::<u32>().is_ok())
}

fn is_trap(name: &str) -> bool {
    name.parse::<usize>().is_ok()
}

fn rules() -> BTreeSet<String> {
    let contract = read("docs/contract.md");
    let rules = contract.lines().filter_map(|line| line.strip_prefix("**")?.split_once("**")).map(|(rule, _)| rule.to_owned());
    rules.filter(|rule| is_rule(rule)).collect()
}

/// The rules that golden cases cite, with the paths of their files.
fn golden_case_citations() -> Vec<(String, String)> {
    let mut cited = Vec::new();
    for (path, text) in files("crates/query/tests/cases", ".json") {
        let cases: Vec<Value> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        for rule in cases.iter().flat_map(|case| case["rules"].as_array().expect("rules")) {
            cited.push((path.clone(), rule.as_str().expect("a text").to_owned()));
        }
    }
    cited
}

#[test]
fn tests_cite_each_rule_of_the_contract_and_no_others() {
    let rules = rules();
    assert!(rules.len() > 100, "only {} rules were found in docs/contract.md", rules.len());
    let mut citations = golden_case_citations();
    for (path, text) in tests() {
        citations.extend(cited(&text, "contract ", is_rule).into_iter().map(|rule| (path.clone(), rule)));
    }
    let unknown: Vec<String> =
        citations.iter().filter(|(_, rule)| !rules.contains(rule)).map(|(path, rule)| format!("{path}: {rule}")).collect();
    none("citations of rules that do not exist", &unknown);
    let named: BTreeSet<&String> = citations.iter().map(|(_, rule)| rule).collect();
    let uncited: Vec<String> = rules.iter().filter(|rule| !named.contains(rule)).cloned().collect();
    none("rules that no test cites", &uncited);
}

#[test]
fn tests_cite_each_trap() {
    let named: BTreeSet<usize> =
        tests().iter().flat_map(|(_, text)| cited(text, "trap ", is_trap)).filter_map(|trap| trap.parse().ok()).collect();
    let uncited: Vec<String> = (1..=TRAPS).filter(|trap| !named.contains(trap)).map(|trap| format!("trap {trap}")).collect();
    none("traps that no test cites", &uncited);
}

#[test]
fn tests_make_each_attack_and_cite_no_others() {
    let document = read("docs/attacks.md");
    let numbered = document.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    let rows: BTreeSet<usize> = numbered.filter_map(|(number, _)| number.parse().ok()).collect();
    assert!(rows.len() >= 50, "only {} rows were found in docs/attacks.md", rows.len());
    let cited: Vec<(String, usize)> = tests()
        .iter()
        .flat_map(|(path, text)| cited(text, "attack ", is_trap).into_iter().map(|number| (path.clone(), number)))
        .filter_map(|(path, number)| Some((path, number.parse().ok()?)))
        .collect();
    let unknown: Vec<String> =
        cited.iter().filter(|(_, number)| !rows.contains(number)).map(|(path, number)| format!("{path}: attack {number}")).collect();
    none("citations of attacks that docs/attacks.md does not list", &unknown);
    let named: BTreeSet<usize> = cited.iter().map(|(_, number)| *number).collect();
    let uncited: Vec<String> = rows.iter().filter(|row| !named.contains(row)).map(|row| format!("attack {row}")).collect();
    none("attacks that no test makes", &uncited);
}

#[test]
fn the_pure_crates_use_no_runtime_no_driver_no_environment_and_no_clock() {
    for name in ["query", "identity"] {
        let manifest = read(format!("crates/{name}/Cargo.toml"));
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default().split("\n[").next().unwrap_or_default();
        for banned in [
            "tokio",
            "axum",
            "hyper",
            "tower",
            "postgres",
            "rusqlite",
            "sqlx",
            "redis",
            "reqwest",
            "peristyle-store",
            "rand",
            "jiff",
            "chrono",
        ] {
            assert!(!dependencies.lines().any(|line| line.starts_with(banned)), "crates/{name} depends on {banned}");
        }
    }
    let pure: Vec<_> =
        sources().into_iter().filter(|(path, _)| path.starts_with("crates/query/") || path.starts_with("crates/identity/")).collect();
    let words = ["std::env", "SystemTime", "Instant", "std::net", "std::thread", "async ", ".await"];
    none("the pure crates are no longer pure", &lines_with(&pure, &words, |_, _| false));
}

#[test]
fn code_of_cuts_off_the_comment_of_a_line() {
    assert_eq!(code_of("let a = 1; // todo!()"), "let a = 1; ");
    assert_eq!(code_of("/// .unwrap()"), "");
    assert_eq!(code_of("let a = \"https://a.test\".b(); todo!()"), "let a = \"https://a.test\".b(); todo!()");
}

#[test]
fn only_config_reads_the_environment() {
    // The command line reads its arguments.
    let typed = |path: &str, line: &str| path == "crates/server/src/cli.rs" && line.contains("env::args_os");
    let reading =
        lines_with(&sources(), &["env::var", "env::args_os"], |path, line| path == "crates/server/src/config.rs" || typed(path, line));
    none("the environment is read outside config.rs", &reading);
}

#[test]
fn problem_chooses_the_statuses_of_refusals_and_response_all_others() {
    let places = ["crates/server/src/problem", "crates/server/src/response.rs"];
    let chosen = lines_with(&sources(), &["StatusCode::"], |path, _| places.iter().any(|place| path.starts_with(place)));
    none("a status is chosen outside problem (refusals) and response (2xx and 3xx)", &chosen);
}

#[test]
fn only_the_store_executes_dynamic_sql() {
    let words = [
        ".prepare(",
        ".prepare_cached(",
        ".prepare_typed",
        ".query_raw(",
        ".query_typed",
        ".simple_query(",
        ".query_one(",
        ".query_row(",
        "client.query(",
        ".query_opt(",
        ".query_map(",
        "batch_execute(",
        "execute_batch(",
    ];
    let places = [
        "crates/store/src/postgres",
        "crates/store/src/sqlite",
        "crates/store/src/schema",
        // They execute only `&'static str`.
        "crates/store/src/hub_records/postgres.rs",
        "crates/store/src/hub_records/sqlite.rs",
    ];
    let executed = lines_with(&sources(), &words, |path, _| places.iter().any(|place| path.starts_with(place)));
    none("SQL is executed outside the store's readers", &executed);
}

#[test]
fn only_sql_dialect_tells_the_databases_apart() {
    let language: Vec<_> = sources().into_iter().filter(|(path, _)| path.starts_with("crates/query/")).collect();
    let words = [
        "Dialect::Postgres",
        "Dialect::Citus",
        "Dialect::Sqlite",
        "ILIKE",
        "rarray",
        "COLLATE",
        "NULLS FIRST",
        "peristyle_",
        "unnest(",
        "ORDINALITY",
        "json_each",
    ];
    let dialects = lines_with(&language, &words, |path, _| path.starts_with("crates/query/src/sql/dialect"));
    none("code outside sql/dialect tells the databases apart", &dialects);
}

#[test]
fn files_are_short_named_after_their_task_and_begin_with_a_module_doc() {
    let mut offenders = Vec::new();
    for (path, text) in files("crates", ".rs").into_iter().filter(|(path, _)| path.contains("/src/")) {
        let lines = text.lines().count();
        if lines > MAX_FILE_LINES {
            offenders.push(format!("{path} has {lines} lines, more than {MAX_FILE_LINES}"));
        }
        if path.ends_with("/mod.rs") {
            offenders.push(format!("{path}: a module is `foo.rs` and `foo/`"));
        }
        if path.split(['/', '.']).any(|part| ["util", "utils", "helper", "helpers", "common", "misc", "manager"].contains(&part)) {
            offenders.push(format!("{path}: name it after its task"));
        }
        if !text.starts_with("//!") {
            offenders.push(format!("{path} does not begin with a module doc"));
        }
    }
    // The scripts of a page follow the same rules.
    for (path, text) in ["crates", "examples"].into_iter().flat_map(|folder| files(folder, ".js")) {
        let lines = text.lines().count();
        if lines > MAX_FILE_LINES || !text.starts_with("// ") {
            offenders.push(format!("{path} has {lines} lines, more than {MAX_FILE_LINES}, or does not begin with a comment"));
        }
    }
    none("files", &offenders);
}

/// The name of the public type that a line declares.
fn public_type(line: &str) -> Option<&str> {
    let (visibility, declaration) = line.trim_start().split_once(' ')?;
    let (keyword, rest) = declaration.split_once(' ')?;
    let is_public = visibility == "pub" || visibility.starts_with("pub(");
    let name = rest.split(|character: char| !character.is_alphanumeric() && character != '_').next()?;
    // A name that a macro inserts is not known here.
    (is_public && ["struct", "enum", "trait", "type"].contains(&keyword) && !name.is_empty()).then_some(name)
}

#[test]
fn public_type_reads_the_name_of_a_declaration() {
    assert_eq!(public_type("pub struct Plan<'a> {"), Some("Plan"));
    assert_eq!(public_type("    pub(crate) enum Kind {"), Some("Kind"));
    assert_eq!(public_type("pub(super) type Row = Vec<u8>;"), Some("Row"));
    assert_eq!(public_type("pub trait Source: Send {"), Some("Source"));
    assert_eq!(public_type("struct Own;"), None);
    assert_eq!(public_type("pub struct $name;"), None);
    assert_eq!(public_type("pub fn structure() {}"), None);
}

#[test]
fn no_two_public_types_of_a_crate_have_one_name() {
    let mut declared: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (path, text) in sources() {
        let folder = path.split("/src/").next().expect("a folder").to_owned();
        for name in text.lines().filter_map(|line| public_type(code_of(line))) {
            declared.entry((folder.clone(), name.to_owned())).or_default().push(path.clone());
        }
    }
    assert!(declared.len() > 100, "only {} public types were found", declared.len());
    let twice = declared.iter().filter(|(_, paths)| paths.len() > 1);
    let twice: Vec<String> = twice.map(|((_, name), paths)| format!("{name}: {}", paths.join(", "))).collect();
    none("public types with one name in one crate", &twice);
}

#[test]
fn bounds_are_named_max_and_waits_are_named_timeout() {
    let words = ["const MOST_", "const LONGEST_", "const DEEPEST_", "const SHORTEST_", "const PATIENCE:"];
    none("constants to name MAX_…, MIN_… or …_TIMEOUT", &lines_with(&sources(), &words, |_, _| false));
}

#[test]
fn the_product_has_no_unwrap_no_todo_and_no_skipped_test() {
    // The compiler evaluates a constant, so it cannot panic at run time.
    let words = [".unwrap()", "todo!", "dbg!", "unimplemented!", ".expect(", "panic!(", "println!", "#[ignore"];
    let left = lines_with(&sources(), &words, |path, line| {
        line.trim_start().starts_with("const ")
            || line.trim_start().starts_with("pub const ")
            || (path.contains("/src/cli") && line.contains("println!"))
    });
    none("left in the product", &left);
    let skipped: Vec<String> = tests().iter().filter(|(_, text)| text.contains("#[ignore")).map(|(path, _)| path.clone()).collect();
    none("tests that are skipped", &skipped);
}

#[test]
fn each_dependency_has_a_comment() {
    let manifest = read("Cargo.toml");
    let dependencies = manifest.split("[workspace.dependencies]").nth(1).expect("dependencies").split("\n[").next().expect("a section");
    let silent: Vec<String> = dependencies
        .lines()
        .filter(|line| line.contains('=') && !line.starts_with('#') && !line.starts_with("peristyle-") && !line.contains(" # "))
        .map(str::to_owned)
        .collect();
    none("dependencies without a comment", &silent);
}

#[test]
fn the_guide_documents_each_code_and_each_variable() {
    let errors = read("docs/guide/errors.md");
    let missing: Vec<String> = Code::ALL
        .iter()
        .filter(|code| !errors.contains(&format!("| `{}` |", code.as_str())))
        .map(|code| code.as_str().to_owned())
        .collect();
    none("codes that docs/guide/errors.md does not explain", &missing);
    let config = read("crates/server/src/config.rs");
    let list = config.split("const VARIABLES").nth(1).and_then(|text| text.split_once("= \"")).map(|(_, rest)| rest);
    let list = list.and_then(|text| text.split_once('"')).expect("config.rs lists its VARIABLES").0;
    let settings = read("docs/guide/settings.md");
    let variables: Vec<&str> = list
        .split_whitespace()
        .filter(|word| word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_') && !word.is_empty())
        .collect();
    assert!(variables.len() > 10, "only {variables:?}");
    let missing: Vec<String> =
        variables.iter().filter(|name| !settings.contains(&format!("| `{name}` |"))).map(|name| (*name).to_owned()).collect();
    none("variables that docs/guide/settings.md does not explain", &missing);
}

/// The anchors of a page: its headings, as GitHub writes them in links.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        let Some(heading) = line.strip_prefix('#').filter(|_| !fenced) else { continue };
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        found.insert(
            kept.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter)).collect::<String>().replace(' ', "-"),
        );
    }
    found
}

#[test]
fn each_link_in_the_documents_has_a_target() {
    let mut broken = Vec::new();
    for (path, text) in files(".", ".md") {
        for piece in text.split("](").skip(1) {
            let target = piece.split(')').next().unwrap_or_default();
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { root().join(&path) } else { root().join(&path).parent().expect("a folder").join(file) };
            let found = file.exists() && (anchor.is_empty() || anchors(&read(&file)).contains(anchor));
            if !found {
                broken.push(format!("{path}: {target}"));
            }
        }
    }
    none("links without a target", &broken);
}

#[test]
fn each_page_of_the_guide_is_in_its_index() {
    let index = read("docs/guide/README.md");
    let missing: Vec<String> = files("docs/guide", ".md")
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| !path.ends_with("README.md"))
        .filter(|path| !index.contains(&format!("]({})", path.rsplit('/').next().expect("a name"))))
        .collect();
    none("pages that docs/guide/README.md does not list", &missing);
}

#[test]
fn each_page_of_the_guide_ends_with_the_next_one() {
    let is_last = |path: &str| path.ends_with("README.md") || path.ends_with("operations.md");
    let has_next = |text: &str| {
        let end: Vec<&str> = text.lines().rev().take(6).collect();
        end.iter().rev().skip_while(|line| !line.starts_with("Next:")).any(|line| line.contains(".md)") || line.contains(".md#"))
    };
    let pages = files("docs/guide", ".md").into_iter();
    let without: Vec<String> = pages.filter(|(path, text)| !is_last(path) && !has_next(text)).map(|(path, _)| path).collect();
    none("pages of the guide without a link to the next one", &without);
}

/// A source as one line of text: without continued lines and escaped quotes.
fn flat(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    let mut pieces = text.split("\\\n");
    flat.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        flat.push_str(piece.trim_start());
    }
    flat.replace("\\\"", "\"").replace("{{", "{").replace("}}", "}")
}

#[test]
fn each_message_of_the_troubleshooting_guide_is_in_the_sources() {
    let sources: String = sources().into_iter().map(|(_, text)| flat(&text)).collect();
    let page = blocks(&read("docs/guide/troubleshooting.md"), "text").concat();
    // The name of a setting at the beginning is not a part of the text in the source.
    let is_setting = |word: &str| word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
    let texts: Vec<&str> =
        page.lines().map(|line| line.split_once(": ").filter(|(word, _)| is_setting(word)).map_or(line, |(_, text)| text)).collect();
    assert!(texts.len() > 40, "only {texts:?}");
    let unknown: Vec<String> = texts
        .into_iter()
        .filter(|text| {
            let literal: Vec<&str> = text.split('…').filter(|part| part.len() > 9).collect();
            literal.is_empty() || literal.iter().any(|part| !sources.contains(part))
        })
        .map(str::to_owned)
        .collect();
    none("messages of docs/guide/troubleshooting.md that no source has", &unknown);
}

/// The code blocks of one language in a document.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|part| part.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// The catalog of a manifest that a document shows.
fn catalog_of(document: &str, manifest: &str) -> Catalog {
    let manifest = Manifest::read(manifest).unwrap_or_else(|error| panic!("{document}: {error}"));
    Catalog::resolve(&manifest).unwrap_or_else(|error| panic!("{document}: {error}"))
}

/// Counts the statements of a document, and checks that each is valid for a resource of the catalog.
fn count_valid_statements(document: &str, catalog: &Catalog) -> usize {
    let viewer = Viewer::operator();
    let mut refused = Vec::new();
    let mut count = 0;
    for text in blocks(&read(document), "json") {
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{document}: {error}: {text}"));
        let keys: Vec<&str> = value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let body = match keys.first() {
            Some(&("query" | "constraint")) => text.clone(),
            Some(&("where" | "relations" | "order" | "aggregation" | "limit" | "offset")) => format!("{{\"query\": {text}}}"),
            // An answer, not a statement.
            _ => continue,
        };
        count += 1;
        let planned = |resource: usize| {
            let access = policy::authorize_read(catalog, resource, &viewer).expect("the operator may read everything");
            plan::plan(access, merge::merged(parse::body(body.as_bytes())?), Operation::List, None).map(|_| ())
        };
        let outcomes: Vec<_> = (0..catalog.resources().len()).map(planned).collect();
        if outcomes.iter().all(Result::is_err) {
            refused.push(format!("{text}{outcomes:?}"));
        }
    }
    none(&format!("statements of {document} that no resource accepts"), &refused);
    count
}

#[test]
fn each_statement_of_the_language_guide_is_valid_for_the_manifest_guide() {
    let manifests = blocks(&read("docs/guide/manifest.md"), "toml");
    catalog_of("docs/guide/manifest.md", manifests.first().expect("the first example"));
    let catalog = catalog_of("docs/guide/manifest.md", manifests.last().expect("the complete example"));
    let count = count_valid_statements("docs/guide/language.md", &catalog);
    assert!(count > 20, "only {count} statements were found");
}
