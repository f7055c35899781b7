//! The private key at boot: every strategy but `none` checks it first.

use std::process::{Command, Stdio};

use crate::program::Folder;

fn openssl(folder: &Folder, arguments: &[&str], out: &str) {
    let status =
        Command::new("openssl").args(arguments).arg("-out").arg(folder.path(out)).stderr(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.expect("openssl runs").success(), "{arguments:?}");
}

fn refused(folder: &Folder, strategy: &str, path: Option<&str>) -> String {
    let variables: Vec<_> = [("OAUTH_STRATEGY", strategy)].into_iter().chain(path.map(|path| ("OAUTH_PRIVATE_KEY_PATH", path))).collect();
    folder.run(&["serve"], &variables).refused()
}

// contract B2.3
#[test]
fn a_missing_or_invalid_key_stops_boot_and_its_path_is_named() {
    let folder = Folder::shop();
    openssl(&folder, &["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"], "short.key");
    openssl(&folder, &["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-aes256", "-pass", "pass:x"], "locked.key");
    openssl(&folder, &["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], "curve.key");
    folder.write("empty.key", "");
    folder.write("text.key", "sesame, not a key");
    folder.write("broken.key", "-----BEGIN PRIVATE KEY-----\nc2VzYW1l\n-----END PRIVATE KEY-----\n");
    for strategy in ["local-provider", "platform-hub"] {
        let message = refused(&folder, strategy, None);
        assert!(message.contains("OAUTH_PRIVATE_KEY_PATH") && message.contains(".keys/oauth-private.key"), "{message}");
        for (file, word) in [
            ("nowhere.key", "cannot be read"),
            ("empty.key", "no private key"),
            ("text.key", "no private key"),
            ("broken.key", "malformed"),
            ("short.key", "2048"),
            ("locked.key", "encrypted"),
            ("curve.key", "RSA"),
        ] {
            let message = refused(&folder, strategy, Some(file));
            assert!(message.contains("OAUTH_PRIVATE_KEY_PATH") && message.contains(file) && message.contains(word), "{message}");
            assert!(!message.contains("sesame"), "{message}");
        }
    }
}

// contract B2.5, attack 49
#[test]
fn a_key_that_others_can_read_is_refused_in_strict_mode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::shop();
    openssl(&folder, &["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "open.key");
    std::fs::set_permissions(folder.path("open.key"), std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let variables = [("OAUTH_STRATEGY", "local-provider"), ("OAUTH_PRIVATE_KEY_PATH", "open.key"), ("OAUTH_KEY_MODE", "strict")];
    let message = folder.run(&["serve"], &variables).refused();
    assert!(message.contains("OAUTH_KEY_MODE") && message.contains("open.key"), "{message}");
}

// contract B2.6
#[test]
fn a_hub_creates_its_sqlite_file_with_mode_600_and_warns_of_a_readable_one() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.run(&["keys", "generate"], &[]).good();
    let variables = [("OAUTH_STRATEGY", "local-provider"), ("DATABASE_URL", "sqlite://hub.db")];
    let mode = |name: &str| std::fs::metadata(folder.path(name)).expect(name).permissions().mode() & 0o777;
    let serving = folder.serve(&variables);
    assert_eq!((mode("hub.db"), mode("hub.db-wal")), (0o600, 0o600));
    assert!(!serving.stop().contains("hub.db"));
    std::fs::set_permissions(folder.path("hub.db"), std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let log = folder.serve(&variables).stop();
    assert!(log.contains("hub.db holds the records of a hub and can be read by other users of this machine; chmod 600 it"), "{log}");
}

// contract B2.3, B3.6
#[test]
fn an_old_key_is_refused_and_the_message_says_what_to_do() {
    let folder = Folder::shop();
    folder.run(&["keys", "generate"], &[]).good();
    let first = folder.read(".keys/oauth-private.key");
    let announced = folder.run(&["keys", "rotate", "--now"], &[]).good();
    assert!(announced.contains("is announced") && announced.trim_end().ends_with("run this again to let it sign"), "{announced}");
    assert!(folder.run(&["keys", "rotate", "--now"], &[]).good().contains("signs now"));
    folder.write(".keys/oauth-private.key", &first);
    let message = refused(&folder, "local-provider", None);
    assert!(message.starts_with("OAUTH_PRIVATE_KEY_PATH: the signing key is "), "{message}");
    assert!(message.contains("restore its file, or, if it is lost, make a key with `peristyle keys generate --out FOLDER`"), "{message}");
    // The advice of the message works.
    folder.run(&["keys", "generate", "--out", "new"], &[]).good();
    let variables = [("OAUTH_STRATEGY", "local-provider"), ("OAUTH_PRIVATE_KEY_PATH", "new/oauth-private.key")];
    folder.serve(&variables).stop();
    // The audit log has the two steps before and this one.
    let printed = folder.run(&["event", "list"], &variables).good();
    assert_eq!(printed.matches("key.rotated").count(), 3, "{printed}");
}
