//! The files of `/docs`.

use std::collections::BTreeSet;

use crate::support::{Backend, Request, get, shop};

/// Every path that a text names in quotes, as `href`, `src` or import.
fn named(text: &str) -> BTreeSet<String> {
    let pieces = text.split(['"', '\'']);
    let local = pieces.filter_map(|piece| piece.strip_prefix("./").map(|name| format!("/docs/{name}")).or(Some(piece.to_owned())));
    local.filter(|piece| piece.starts_with("/docs/") && piece.contains('.') && !piece.contains('$')).collect()
}

// contract E8.1
#[tokio::test]
async fn the_page_and_its_files_are_served_under_a_strict_content_policy() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let mut open = vec!["/docs".to_owned(), "/docs/".to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let answer = server.get(&path).await;
        assert_eq!(answer.status(), 200, "{path}");
        let kind = answer.header("content-type").expect("a type").to_owned();
        let expected = match path.rsplit_once('.').map(|(_, end)| end) {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("json") => "application/json",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(kind, expected, "{path}");
        let policy = answer.header("content-security-policy").expect("a policy");
        for part in ["default-src 'none'", "script-src 'self'", "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path}: {policy}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        let text = answer.text();
        let foreign = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!foreign.contains("http://") && !foreign.contains("https://"), "{path} names another host");
        assert!(!text.contains("innerHTML") && !text.contains("insertAdjacentHTML"), "{path} turns text into markup");
        open.extend(named(&text));
    }
    assert!(seen.len() > 10, "{seen:?}");
}

// contract E8.1
#[tokio::test]
async fn an_unchanged_file_is_not_sent_again() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let mut tags = BTreeSet::new();
    for path in ["/docs", "/docs/style.css", "/docs/main.js"] {
        let first = server.get(path).await;
        let tag = first.header("etag").expect("a tag").to_owned();
        assert_eq!(first.header("cache-control"), Some("no-cache"), "{path}");
        for given in [tag.clone(), format!("\"other\", {tag}")] {
            let again = server.send(&get(path).header("if-none-match", &given)).await;
            assert_eq!((again.status(), again.body.len()), (304, 0), "{path} {given}");
            assert_eq!(again.header("etag"), Some(tag.as_str()), "{path}");
            assert!(again.header("content-security-policy").is_some(), "{path}");
        }
        let other = server.send(&get(path).header("if-none-match", "W/\"0\"")).await;
        assert_eq!((other.status(), other.body), (200, first.body), "{path}");
        tags.insert(tag);
    }
    assert_eq!(tags.len(), 3, "each file has its own tag");
}

// contract E8.1, contract E2.5
#[tokio::test]
async fn the_page_takes_get_and_head_and_has_no_other_paths() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    for path in ["/docs", "/docs/", "/docs/main.js", "/docs/resources.json"] {
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let answer = server.send(&Request::new(method, path)).await;
            assert_eq!(answer.problem(405)["code"], "METHOD_NOT_ALLOWED", "{method} {path}");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method} {path}");
        }
        let head = server.send(&Request::new("HEAD", path)).await;
        assert_eq!((head.status(), head.body.len()), (200, 0), "{path}");
    }
    for path in
        ["/docs/nothing.js", "/docs/index.html", "/docs/package.json", "/docs/../Cargo.toml", "/docs/%2e%2e/docs.rs", "/docs/main.js/"]
    {
        server.get(path).await.problem(404);
    }
}
