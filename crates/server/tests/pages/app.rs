//! `APP_FILES`: which files of a folder are served, and at which paths.

use std::path::Path;

use crate::support::{Backend, Database, Request, Server, Setup, get};

const MANIFEST: &str = "[resource.shop.customer.fields]\nid = { type = \"bigint\", key = true }\n";
const SCRIPT: &str = "CREATE TABLE customers (id INTEGER PRIMARY KEY)";

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// An app, beside files that do not belong to it.
fn folder() -> tempfile::TempDir {
    let around = tempfile::tempdir().expect("a folder");
    let app = around.path().join("app");
    write(around.path(), "secret.txt", "outside");
    for (name, text) in [
        ("index.html", "the index"),
        ("main.js", "// a script"),
        ("parts/deep/table.js", "// a part"),
        ("style.css", "a {}"),
        ("a b%.svg", "<svg/>"),
        ("plain", "no ending"),
        (".env", "hidden"),
        (".git/config", "hidden"),
        ("parts/.cache", "hidden"),
        ("api/shop/customers/list", "shadow"),
        ("auth/login", "shadow"),
        ("docs/mark.svg", "shadow"),
        ("health", "shadow"),
        (".well-known/jwks.json", "shadow"),
    ] {
        write(&app, name, text);
    }
    std::os::unix::fs::symlink(around.path().join("secret.txt"), app.join("leak.txt")).expect("a link");
    std::os::unix::fs::symlink(around.path(), app.join("up")).expect("a link");
    std::os::unix::fs::symlink(app.join("main.js"), app.join("same.js")).expect("a link");
    std::os::unix::fs::symlink(app.join("gone.js"), app.join("nowhere.js")).expect("a link");
    around
}

async fn serve(app: &Path) -> (Server, Database) {
    let database = Database::with(Backend::Sqlite, SCRIPT).await;
    let mut setup = Setup::new(MANIFEST);
    setup.app = Some(app.to_owned());
    (setup.serve(&database).await, database)
}

// contract B4.5
#[tokio::test]
async fn the_files_of_the_folder_are_served_and_every_other_page_is_the_index() {
    let around = folder();
    let (server, _database) = serve(&around.path().join("app")).await;
    for (path, text, kind) in [
        ("/", "the index", "text/html; charset=utf-8"),
        ("/index.html", "the index", "text/html; charset=utf-8"),
        ("/callback?code=a.b&state=c", "the index", "text/html; charset=utf-8"),
        ("/customers/12", "the index", "text/html; charset=utf-8"),
        ("/main.js", "// a script", "text/javascript; charset=utf-8"),
        ("/parts/deep/table.js", "// a part", "text/javascript; charset=utf-8"),
        ("/style.css", "a {}", "text/css; charset=utf-8"),
        ("/a%20b%25.svg", "<svg/>", "image/svg+xml"),
        ("/plain", "no ending", "application/octet-stream"),
        // A link to a file inside the folder is served.
        ("/same.js", "// a script", "text/javascript; charset=utf-8"),
    ] {
        let answer = server.get(path).await;
        assert_eq!((answer.status(), answer.text().as_str()), (200, text), "{path}");
        assert_eq!(answer.header("content-type"), Some(kind), "{path}");
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-cache"), "{path}");
        let tag = answer.header("etag").expect("a tag").to_owned();
        let again = server.send(&get(path).header("if-none-match", &tag)).await;
        assert_eq!((again.status(), again.text().as_str()), (304, ""), "{path}");
    }
    let head = server.send(&Request::new("HEAD", "/main.js")).await;
    assert_eq!((head.status(), head.header("content-length")), (200, Some("11")));
    server.send(&Request::new("POST", "/main.js")).await.problem(405);
    server.stop().await;
}

// contract B4.5
#[tokio::test]
async fn no_hidden_no_outside_and_no_reserved_path_is_served() {
    let around = folder();
    let (server, _database) = serve(&around.path().join("app")).await;
    for path in [
        "/.env",
        "/%2eenv",
        "/.git/config",
        "/parts/.cache",
        "/leak.txt",
        "/nowhere.js",
        "/up/secret.txt",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/parts/../../secret.txt",
        "/parts%2fdeep%2f..%2f..%2f..%2fsecret.txt",
        "//secret.txt",
        "/main.js%00.html",
        "/MAIN.JS",
        "/missing.js",
        "/%ff.html",
        "/api/shop/nothing",
        "/api",
        "/auth/nowhere",
        "/docs/nothing",
        "/.well-known/jwks.json",
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.status(), 404, "{path}: {}", answer.text());
        for leaked in ["outside", "hidden", "shadow", "the index"] {
            assert!(!answer.text().contains(leaked), "{path}: {}", answer.text());
        }
    }
    assert_eq!(server.get("/health").await.text(), r#"{"status":"live"}"#);
    assert!(server.get("/docs/mark.svg").await.text().contains("<svg"));
    assert_eq!(server.post("/api/shop/customers/list", "").await.text(), "[]");
    server.stop().await;
}

// contract B4.5
#[tokio::test]
async fn a_folder_without_an_app_and_a_hub_with_an_app_do_not_start() {
    let empty = tempfile::tempdir().expect("a folder");
    let database = Database::with(Backend::Sqlite, SCRIPT).await;
    let mut setup = Setup::new(MANIFEST);
    for (path, words) in [(empty.path().join("nowhere"), "cannot be read"), (empty.path().to_owned(), "holds no index.html")] {
        setup.app = Some(path);
        let message = setup.boot(&database.url).await.expect_err("no app").to_string();
        assert!(message.starts_with("APP_FILES: ") && message.contains(words), "{message}");
    }
    let around = folder();
    setup.app = Some(around.path().join("app"));
    setup.key = Some(empty.path().join("oauth-private.key"));
    let message = setup.boot(&database.url).await.expect_err("a hub").to_string();
    assert!(message.starts_with("APP_FILES: a hub"), "{message}");
}

// contract E8.10
#[tokio::test]
async fn without_an_app_the_root_leads_to_the_page() {
    let database = Database::with(Backend::Sqlite, SCRIPT).await;
    let server = Setup::new(MANIFEST).serve(&database).await;
    for method in ["GET", "HEAD"] {
        let answer = server.send(&Request::new(method, "/")).await;
        assert_eq!((answer.status(), answer.header("location")), (302, Some("/docs")), "{method}");
    }
    server.send(&Request::new("POST", "/")).await.problem(404);
    let around = folder();
    let (server, _database) = serve(&around.path().join("app")).await;
    assert_eq!(server.get("/").await.text(), "the index");
}

// contract I39.1
#[tokio::test]
async fn without_a_hub_a_browser_gets_pages_too() {
    let database = Database::with(Backend::Sqlite, SCRIPT).await;
    let server = Setup::new(MANIFEST).serve(&database).await;
    let browser = |path: &str| get(path).header("accept", "text/html,*/*;q=0.8");
    let page = server.send(&browser("/nowhere")).await;
    assert_eq!((page.status(), page.header("content-type")), (404, Some("text/html; charset=utf-8")));
    assert!(page.text().contains("<a href=\"/docs\">") && page.text().contains("/auth/style.css"), "{}", page.text());
    assert_eq!(server.get("/auth/style.css").await.header("content-type"), Some("text/css; charset=utf-8"));
    server.get("/nowhere").await.problem(404);
    // A process with an app links to the app.
    let around = folder();
    let (server, _database) = serve(&around.path().join("app")).await;
    let page = server.send(&browser("/missing.pdf")).await;
    assert!(page.status() == 404 && page.text().contains("<a href=\"/\">"), "{}", page.text());
}
