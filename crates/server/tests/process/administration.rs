//! The commands that administer a hub, on a database of their own.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use crate::program::Folder;

const HUB: [(&str, &str); 1] = [("DATABASE_URL", "sqlite://hub.db")];

fn run(folder: &Folder, line: &str) -> String {
    folder.run(&line.split(' ').collect::<Vec<_>>(), &HUB).good()
}

fn refused(folder: &Folder, line: &str) -> String {
    folder.run(&line.split(' ').collect::<Vec<_>>(), &HUB).refused()
}

fn object(text: &str) -> Value {
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A command that is given something on standard input: whether it succeeded, and what it printed.
fn fed(folder: &Folder, line: &str, input: &str) -> (bool, String) {
    let mut command = folder.command(&line.split(' ').collect::<Vec<_>>());
    let mut child = command.envs(HUB).stdin(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().expect("standard input").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("the program ends");
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(text).expect("UTF-8"))
}

// contract B3.4
#[test]
fn migrate_makes_the_tables_once() {
    let folder = Folder::new();
    assert_eq!(object(&run(&folder, "migrate --json"))["taken"], serde_json::json!(["0001-identity", "0002-account-changes"]));
    assert_eq!(object(&run(&folder, "migrate --json"))["taken"], serde_json::json!([]));
}

// contract B3.7, I16.1, I16.4
#[test]
fn an_account_is_made_changed_and_removed() {
    let folder = Folder::new();
    run(&folder, "role add --name clerk --permission shop.order.get --permission shop.order.update");
    let add = "account add --username ana --email ana@example.com --role administrator --tenant 11111111-1111-4111-8111-111111111111 \
               --meta {\"region\":\"north\"} --password-stdin --json";
    let (good, text) = fed(&folder, add, "correct horse\n");
    let account = object(&text);
    assert!(good && account["username"] == "ana" && account["meta"]["region"] == "north", "{account}");
    assert_eq!(account["dTenants"][0], "11111111-1111-4111-8111-111111111111");
    let all = account["dPermissions"]["all"].as_array().expect("a list");
    assert!(all.contains(&"iam.account.delete".into()) && all.contains(&"shop.order.get".into()), "{all:?}");

    let (good, message) = fed(&folder, "account add --username ANA --password-stdin", "correct horse");
    assert!(!good && message.contains("exists already"), "{message}");
    let (good, message) = fed(&folder, "account add --username bo --password-stdin", "short\n");
    assert!(!good && message.contains("8 characters"), "{message}");
    let (good, message) = fed(&folder, "account add --username bo --role clerk --password-stdin", "battery staple");
    assert!(good, "{message}");
    assert!(refused(&folder, "account update --username bo --role nobody").contains("nobody"));
    run(&folder, "role update --name clerk --permission shop.order.get");
    let accounts = object(&run(&folder, "account list --json"));
    assert_eq!(accounts["accounts"][1]["dPermissions"]["all"], serde_json::json!(["shop.order.get"]));
    let changed = object(&run(&folder, "account update --username bo --active false --json"));
    assert_eq!(changed["isActive"], false);
    let (good, message) = fed(&folder, "account password --username bo --password-stdin", "a new password");
    assert!(good, "{message}");
    run(&folder, "account remove --username bo");
    assert!(refused(&folder, "account remove --username bo").contains("no account"));

    let events = object(&run(&folder, "event list --json"));
    let names: Vec<&str> = events["events"].as_array().expect("events").iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(
        names,
        [
            "role.created",
            "tenant.created",
            "account.created",
            "account.created",
            "role.updated",
            "account.updated",
            "account.password-changed",
            "account.removed"
        ]
    );
    assert!(!events.to_string().contains("horse"));
}

// contract I12.5
#[test]
fn the_last_administrator_and_their_role_stay() {
    let folder = Folder::new();
    let (good, text) = fed(&folder, "account add --username ana --role administrator --password-stdin", "correct horse\n");
    assert!(good, "{text}");
    for line in
        ["account remove --username ana", "account update --username ana --active false", "account update --username ana --no-roles"]
    {
        assert!(refused(&folder, line).contains("last active administrator"), "{line}");
    }
    for line in ["role remove --name administrator", "role update --name administrator --permission a.b.c"] {
        assert!(refused(&folder, line).contains("built in"), "{line}");
    }
    run(&folder, "account add --username bo --role administrator");
    run(&folder, "account remove --username ana");
}

// contract I16.2, I16.3
#[test]
fn a_secret_and_a_link_are_shown_once() {
    let folder = Folder::new();
    let made = object(&run(&folder, "client add --id shop --name Shop --redirect https://shop.example/callback"));
    let secret = made["secret"].as_str().expect("a secret");
    assert_eq!((made["id"].as_str(), secret.len(), made.as_object().map(serde_json::Map::len)), (Some("shop"), 43, Some(2)));
    let renewed = object(&run(&folder, "client secret --id shop"));
    assert!(renewed["secret"] != made["secret"] && renewed["previousCountsFor"] == 86_400, "{renewed}");
    assert_eq!(object(&run(&folder, "client update --id shop --active false --json"))["isActive"], false);
    assert!(!run(&folder, "client list --json").contains("secret"));
    // attack 50
    let taken = "client add --id 11111111-1111-4111-8111-111111111111 --name x --redirect https://x.example/";
    assert!(refused(&folder, taken).contains("uuid"));
    // attack 11
    assert!(!refused(&folder, "client add --id x --name x --redirect https://x.example/#a").is_empty());

    run(&folder, "account add --username ana");
    let link = run(&folder, "account invite --username ana");
    assert!(link.starts_with("http://127.0.0.1:0/password?link="), "{link}");
    assert_eq!(object(&run(&folder, "account reset --username ana --json"))["expiresIn"], 3_600);
    let stored = std::fs::read(folder.path("hub.db")).expect("a file");
    let token = link.trim().rsplit('=').next().expect("a token").to_owned();
    assert!(!stored.windows(43).any(|bytes| bytes == secret.as_bytes() || bytes == token.as_bytes()), "no secret is at rest");
}

// contract B3.5, B3.6, I6.3
#[test]
fn keys_are_made_and_rotated() {
    // attack 49
    let folder = Folder::new();
    assert!(refused(&folder, "keys rotate").contains("keys generate"));
    run(&folder, "keys generate");
    let mode = std::fs::metadata(folder.path(".keys/oauth-private.key")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(folder.read(".keys/oauth-private.key").starts_with("-----BEGIN PRIVATE KEY-----"));
    assert!(folder.read(".keys/oauth-public.key").starts_with("-----BEGIN PUBLIC KEY-----"));
    assert!(refused(&folder, "keys generate").contains("not overwritten"));

    let announced = object(&run(&folder, "keys rotate --json"));
    assert_eq!((announced["state"].as_str(), announced["published"].as_array().map(Vec::len)), (Some("announced"), Some(2)));
    let next = folder.read(".keys/oauth-private.key.next");
    assert!(refused(&folder, "keys rotate").contains("seconds"), "verifiers must know it first");
    let signing = object(&run(&folder, "keys rotate --now --json"));
    assert_eq!((&signing["state"], &signing["kid"]), (&"signing".into(), &announced["kid"]));
    assert_eq!(folder.read(".keys/oauth-private.key"), next);
    assert_eq!(signing["published"].as_array().map(Vec::len), Some(2), "the old one stays published");
    folder.write(".keys/oauth-private.key.next", &next);
    run(&folder, "keys rotate");
    assert!(!folder.path(".keys/oauth-private.key.next").exists(), "a move that was cut off is finished");
}

// contract B3.1, I15.5
#[test]
fn tenants_apps_and_sessions_are_listed_and_changed() {
    let folder = Folder::new();
    run(&folder, "account add --username ana");
    let tenant = object(&run(&folder, "tenant add --name North --json"));
    run(&folder, &format!("tenant update --id {} --name South", tenant["id"].as_str().expect("an id")));
    assert_eq!(object(&run(&folder, "tenant list --json"))["tenants"][0]["name"], "South");
    run(&folder, &format!("tenant remove --id {}", tenant["id"].as_str().expect("an id")));
    run(&folder, "app add --code shop --closed true");
    run(&folder, "app admit --code shop --username ana");
    run(&folder, "app expel --code shop --username ana");
    assert_eq!(object(&run(&folder, "app list --json"))["apps"][0]["isClosed"], true);
    run(&folder, "app remove --code shop");
    assert_eq!(object(&run(&folder, "session list --json"))["sessions"], serde_json::json!([]));
    assert!(refused(&folder, "session end --id 11111111-1111-4111-8111-111111111111").contains("no live session"));
    for command in
        ["keys rotate", "role add", "account add", "client add", "tenant add", "app add", "session end", "event follow", "migrate"]
    {
        assert!(run(&folder, &format!("{command} --help")).contains("Example"), "{command}");
    }
}
