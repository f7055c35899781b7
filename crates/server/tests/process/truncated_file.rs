//! A SQLite file that is truncated under a running server.

use crate::program::Folder;
use crate::support::http::{Chunk, Connection};
use crate::support::{get, post};

/// 60 MB, more than the buffers between server and client hold.
const SCRIPT: &str = "CREATE TABLE items (id INTEGER PRIMARY KEY, label TEXT);
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30000) INSERT INTO items SELECT n, hex(zeroblob(1000)) FROM n;";
const MANIFEST: &str = "[resource.shop.item.fields]\nid = { type = \"bigint\", key = true }\nlabel = \"text\"\n";

// contract B1.10, attack 73
#[tokio::test]
async fn a_truncated_file_does_not_end_the_process() {
    let folder = Folder::new();
    let path = folder.path("shop.db");
    rusqlite::Connection::open(&path).and_then(|file| file.execute_batch(SCRIPT)).expect("a database");
    folder.write("peristyle.toml", MANIFEST);
    let whole = std::fs::read(&path).expect("a file");
    let mut serving = folder.serve(&[]);
    let first = r#"{"query":{"order":[{"field":"id"}],"limit":3}}"#;
    post("/api/shop/items/list", first).send(serving.address).await.good();
    // During a read, when SQLite does not check the length of the file.
    let mut reader = Connection::with_small_buffer(serving.address).await;
    reader.request(&post("/api/shop/items/list", "{}")).await;
    reader.head().await;
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("a file");
    file.set_len(64 * 1024).expect("cut short");
    while let Chunk::Data(_) = reader.chunk().await {}
    for body in
        ["{}", r#"{"query":{"order":[{"field":"id","dir":"desc"}],"limit":3}}"#, r#"{"query":{"order":[{"field":"label"}],"limit":3}}"#]
    {
        let status = post("/api/shop/items/paginate", body).send(serving.address).await.status();
        assert!(status >= 500, "{body}: {status}");
    }
    assert_eq!(get("/health").send(serving.address).await.status(), 200);
    assert_eq!(serving.child.try_wait().expect("a state"), None, "it goes on");
    // After the file is restored, it is read again.
    std::fs::write(&path, whole).expect("written");
    let rows = post("/api/shop/items/list", first).send(serving.address).await.good();
    assert_eq!(rows.as_array().map(Vec::len), Some(3));
    serving.stop();
}
