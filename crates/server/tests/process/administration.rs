//! The commands that administer a hub, on both databases.

use std::os::unix::fs::PermissionsExt;

use crate::hub_fixture::{HubCommands, object};
use crate::support::{BACKENDS, Backend};

/// The stored bytes of clients and links.
async fn stored_bytes(commands: &HubCommands) -> Vec<u8> {
    const ROWS: &str =
        "SELECT (SELECT string_agg(c::text, '') FROM peristyle.client c) || (SELECT string_agg(l::text, '') FROM peristyle.link l)";
    match commands.database.backend {
        Backend::Sqlite => std::fs::read(commands.database.url.trim_start_matches("sqlite://")).expect("a file"),
        Backend::Postgres => commands.database.client().await.query_one(ROWS, &[]).await.expect("rows").get::<_, String>(0).into_bytes(),
    }
}

// contract B3.4
#[tokio::test]
async fn migrate_creates_the_tables_once() {
    for backend in BACKENDS {
        let commands = HubCommands::open(backend).await;
        let steps = serde_json::json!([
            "0001-identity",
            "0002-account-changes",
            "0003-administrator-permissions",
            "0004-undecided-attempts",
            "0005-family-origin",
            "0006-client-administers",
            "0007-outages",
            "0008-pending-rights",
            "0009-used-codes"
        ]);
        assert_eq!(object(&commands.run("migrate --json"))["taken"], steps);
        assert_eq!(object(&commands.run("migrate --json"))["taken"], serde_json::json!([]));
    }
}

// contract B3.1
#[tokio::test]
async fn invalid_arguments_are_reported_in_one_line() {
    let commands = HubCommands::open(Backend::Sqlite).await;
    for (line, expected) in [
        ("acount list", "unrecognized subcommand 'acount'; a similar subcommand exists: 'account'; see `peristyle --help`"),
        ("start", "unrecognized subcommand 'start'; did you mean `peristyle serve`; see `peristyle --help`"),
        ("user list", "did you mean `peristyle account`"),
        ("account delete --username ana", "did you mean `peristyle account remove`; see `peristyle account --help`"),
        ("session rm", "did you mean `peristyle session end`"),
        ("frobnicate", "unrecognized subcommand 'frobnicate'; see `peristyle --help`"),
        ("account", "a command is missing, one of add, list, show, update, remove, password, invite, reset"),
        ("account add --role clerk", "<--username <USERNAME>|--email <EMAIL>>; see `peristyle account add --help`"),
        ("account remove", "--username <USERNAME>; see `peristyle account remove --help`"),
        ("account remove --user ana", "unexpected argument '--user'"),
        ("account add --username ana --tenant zz", "'zz' for '--tenant <TENANTS>': an id is expected, such as"),
        (
            "account list --limit x",
            "'x' for '--limit <LIMIT>': a whole number from 0 to 4294967295 is expected; see `peristyle account list --help`",
        ),
        ("account update --username ana --active maybe", "'maybe' for '--active <ACTIVE>' [possible values: true, false]"),
        ("account update --username ana --role clerk --no-roles", "cannot be used with"),
        ("role update --name clerk --permission a.b.c --add-permission a.b.d", "cannot be used with"),
        ("role update --name clerk --remove-permission a.b.c --no-permissions", "cannot be used with"),
        ("client update --id shop --grant implicit", "authorization_code, refresh_token or password is expected"),
        ("client update --id shop --access-token-seconds soon", "a whole number of seconds is expected"),
        ("session end --id x", "an id is expected"),
        ("event list --limit 1.5", "a whole number from 0 to"),
        ("demo --hub-port 70000", "a port from 0 to 65535 is expected; see `peristyle demo --help`"),
    ] {
        let finished = commands.finished(line);
        assert_eq!(finished.code(), Some(2), "{line}");
        let message = finished.err();
        assert!(message.starts_with("peristyle: ") && message.lines().count() == 1, "{line}: {message}");
        assert!(message.contains(expected), "{line}: {message}");
    }
    let help = commands.run("--help");
    assert!(help.starts_with("A safe query layer and sign-in for your relational database"), "{help}");
}

// contract B3.1, I16.1
#[tokio::test]
async fn an_update_without_flags_is_refused() {
    let commands = HubCommands::open(Backend::Sqlite).await;
    commands.run("account add --username bo");
    commands.run("client add --id shop --name Shop --redirect https://shop.example/callback");
    commands.run("tenant add --code north --name North --id 11111111-1111-4111-8111-111111111111");
    commands.run("app add --code till --name Till");
    commands.run("role add --name clerk");
    let before = commands.run("event list");
    for line in [
        "account update --username bo",
        "client update --id shop",
        "tenant update --id 11111111-1111-4111-8111-111111111111",
        "app update --code till",
        "role update --name clerk",
    ] {
        let message = commands.refused(line);
        assert!(message.contains("nothing to update; at least one of these flags is needed: --"), "{line}: {message}");
    }
    for meta in [r#"{"a":1,"a":2}"#, r#"{"a":{"b":1,"b":1}}"#, "[]", "x"] {
        let message = commands.refused(&format!("account update --username bo --meta {meta}"));
        assert!(message.contains("--meta: a JSON object whose keys are unique"), "{meta}: {message}");
    }
    assert_eq!(commands.run("event list"), before, "nothing was changed");
}

// contract B3.7, I16.1, I16.4, I16.5
#[tokio::test]
async fn an_account_is_added_changed_and_removed() {
    for backend in BACKENDS {
        let commands = HubCommands::open(backend).await;
        commands.run("role add --name clerk --permission shop.order.get --permission shop.order.update");
        let add = "account add --username ana --email ana@example.com --role administrator --tenant 11111111-1111-4111-8111-111111111111 \
                   --meta {\"region\":\"north\"} --password-stdin --json";
        let (good, text) = commands.succeeded_with_input(add, "correct horse\n");
        let account = object(&text);
        assert!(good && account["username"] == "ana" && account["meta"]["region"] == "north", "{account}");
        assert_eq!(account["dTenants"][0], "11111111-1111-4111-8111-111111111111");
        let all = account["dPermissions"]["all"].as_array().expect("a list");
        assert!(all.contains(&"iam.account.delete".into()) && all.contains(&"shop.order.get".into()), "{all:?}");

        let (good, message) = commands.succeeded_with_input("account add --username ANA --password-stdin", "correct horse");
        assert!(!good && message.contains("exists already"), "{message}");
        let (good, message) = commands.succeeded_with_input("account add --username bo --password-stdin", "short\n");
        assert!(!good && message.contains("8 characters"), "{message}");
        let (good, message) = commands.succeeded_with_input("account add --username bo --role clerk --password-stdin", "battery staple");
        assert!(good, "{message}");
        assert!(commands.refused("account update --username bo --role nobody").contains("nobody"));
        commands.run("role update --name clerk --permission shop.order.get");
        let accounts = object(&commands.run("account list --json"));
        assert_eq!(accounts["accounts"][1]["dPermissions"]["all"], serde_json::json!(["shop.order.get"]));
        commands.run("role update --name clerk --add-permission shop.order.create --add-permission shop.order.delete");
        commands.run("role update --name clerk --remove-permission shop.order.get --remove-permission shop.order.delete");
        let accounts = object(&commands.run("account list --json"));
        assert_eq!(accounts["accounts"][1]["dPermissions"]["all"], serde_json::json!(["shop.order.create"]), "the others stay");
        assert!(commands.refused("role update --name clerk --remove-permission shop.order.get").contains("does not have"));
        let changed = object(&commands.run("account update --username bo --active false --json"));
        assert_eq!(changed["isActive"], false);
        let (good, message) = commands.succeeded_with_input("account password --username bo --password-stdin", "a new password");
        assert!(good, "{message}");
        commands.run("account remove --username bo");
        assert!(commands.refused("account remove --username bo").contains("no account"));

        let events = object(&commands.run("event list --json"));
        let names: Vec<&str> = events["events"].as_array().expect("events").iter().filter_map(|event| event["event"].as_str()).collect();
        assert_eq!(
            names,
            [
                "role.created",
                "tenant.created",
                "account.created",
                "account.created",
                "role.updated",
                "role.updated",
                "role.updated",
                "account.updated",
                "account.password-changed",
                "account.removed"
            ]
        );
        assert!(!events.to_string().contains("horse"));
    }
}

// contract I12.5
#[tokio::test]
async fn the_last_administrator_and_the_built_in_role_cannot_be_removed() {
    for backend in BACKENDS {
        let commands = HubCommands::open(backend).await;
        let (good, text) =
            commands.succeeded_with_input("account add --username ana --role administrator --password-stdin", "correct horse\n");
        assert!(good, "{text}");
        for line in
            ["account remove --username ana", "account update --username ana --active false", "account update --username ana --no-roles"]
        {
            assert!(commands.refused(line).contains("last active administrator"), "{line}");
        }
        for line in ["role remove --name administrator", "role update --name administrator --permission a.b.c"] {
            assert!(commands.refused(line).contains("built in"), "{line}");
        }
        commands.run("account add --username bo --role administrator");
        commands.run("account remove --username ana");
    }
}

// contract I16.2, I16.3
#[tokio::test]
async fn a_secret_and_a_link_are_shown_once() {
    for backend in BACKENDS {
        let commands = HubCommands::open(backend).await;
        let made = object(&commands.run("client add --id shop --name Shop --redirect https://shop.example/callback"));
        let secret = made["secret"].as_str().expect("a secret");
        assert_eq!((made["id"].as_str(), secret.len(), made.as_object().map(serde_json::Map::len)), (Some("shop"), 43, Some(2)));
        let renewed = object(&commands.run("client secret --id shop"));
        assert!(renewed["secret"] != made["secret"] && renewed["previousCountsFor"] == 86_400, "{renewed}");
        assert_eq!(object(&commands.run("client update --id shop --active false --json"))["isActive"], false);
        assert!(!commands.run("client list --json").contains("secret"));
        // attack 50
        let taken = "client add --id 11111111-1111-4111-8111-111111111111 --name x --redirect https://x.example/";
        assert!(commands.refused(taken).contains("uuid"));
        // attack 11
        assert!(!commands.refused("client add --id x --name x --redirect https://x.example/#a").is_empty());

        commands.run("account add --username ana");
        let link = commands.run("account invite --username ana");
        assert!(link.starts_with("http://127.0.0.1:0/password?link="), "{link}");
        assert_eq!(object(&commands.run("account reset --username ana --json"))["expiresIn"], 3_600);
        let stored = stored_bytes(&commands).await;
        let token = link.trim().rsplit('=').next().expect("a token").to_owned();
        assert!(!stored.windows(43).any(|bytes| bytes == secret.as_bytes() || bytes == token.as_bytes()), "no secret is at rest");
    }
}

// contract B3.5, B3.6, I6.3
#[tokio::test]
async fn keys_are_generated_and_rotated() {
    for backend in BACKENDS {
        // attack 49
        let commands = HubCommands::open(backend).await;
        assert!(commands.refused("keys rotate").contains("keys generate"));
        commands.run("keys generate");
        let mode = std::fs::metadata(commands.folder.path(".keys/oauth-private.key")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(commands.folder.read(".keys/oauth-private.key").starts_with("-----BEGIN PRIVATE KEY-----"));
        assert!(commands.folder.read(".keys/oauth-public.key").starts_with("-----BEGIN PUBLIC KEY-----"));
        assert!(commands.refused("keys generate").contains("not overwritten"));

        let announced = object(&commands.run("keys rotate --json"));
        assert_eq!((announced["state"].as_str(), announced["published"].as_array().map(Vec::len)), (Some("announced"), Some(2)));
        let next = commands.folder.read(".keys/oauth-private.key.next");
        assert!(commands.refused("keys rotate").contains("seconds"), "verifiers must know it first");
        assert!(commands.refused("keys rotate --after 1h").contains("seconds"));
        let signing = object(&commands.run("keys rotate --now --json"));
        assert_eq!((&signing["state"], &signing["kid"]), (&"signing".into(), &announced["kid"]));
        assert_eq!(commands.folder.read(".keys/oauth-private.key"), next);
        assert_eq!(signing["published"].as_array().map(Vec::len), Some(2), "the old one stays published");
        commands.folder.write(".keys/oauth-private.key.next", &next);
        commands.run("keys rotate");
        assert!(!commands.folder.path(".keys/oauth-private.key.next").exists(), "a move that was cut off is finished");
    }
}

// contract B3.1, I15.5
#[tokio::test]
async fn tenants_apps_and_sessions_are_listed_and_changed() {
    for backend in BACKENDS {
        let commands = HubCommands::open(backend).await;
        commands.run("account add --username ana");
        let tenant = object(&commands.run("tenant add --name North --json"));
        commands.run(&format!("tenant update --id {} --name South", tenant["id"].as_str().expect("an id")));
        assert_eq!(object(&commands.run("tenant list --json"))["tenants"][0]["name"], "South");
        commands.run("tenant remove --code North");
        commands.run("app add --code shop --closed true");
        commands.run("app admit --code shop --username ana");
        commands.run("app expel --code shop --username ana");
        assert_eq!(object(&commands.run("app list --json"))["apps"][0]["isClosed"], true);
        commands.run("app remove --code shop");
        assert_eq!(object(&commands.run("session list --json"))["sessions"], serde_json::json!([]));
        assert!(commands.refused("session end --id 11111111-1111-4111-8111-111111111111").contains("no live session"));
        for command in
            ["keys rotate", "role add", "account add", "client add", "tenant add", "app add", "session end", "event follow", "migrate"]
        {
            assert!(commands.run(&format!("{command} --help")).contains("Example"), "{command}");
        }
    }
}
