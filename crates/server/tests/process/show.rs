//! The `show` and `list` commands, as text and as JSON, without secrets.

use serde_json::{Value, json};

use crate::hub_fixture::{HubCommands, HubFixture, PASSWORD, code, object, sign_in};
use crate::support::{BACKENDS, Backend, Request};

/// The value of a row in the table of a `show` command.
fn row<'t>(table: &'t str, name: &str) -> &'t str {
    let line = table.lines().find(|line| line.split("  ").next() == Some(name)).unwrap_or_else(|| panic!("{name} in\n{table}"));
    line[name.len()..].trim()
}

// contract B3.20
#[tokio::test]
async fn a_record_is_shown_as_a_table_and_as_an_object_and_never_with_a_secret() {
    for backend in BACKENDS {
        let commands = HubCommands::open(backend).await;
        commands.run("role add --name clerk --permission shop.order.get --permission shop.order.update");
        let tenant = object(&commands.run("tenant add --code north --name North --json"));
        let tenant = tenant["id"].as_str().expect("an id");
        let add = format!(
            "account add --username ana --email ana@example.com --role clerk --tenant {tenant} --meta {{\"region\":\"n\"}} --password-stdin"
        );
        let (good, text) = commands.succeeded_with_input(&add, "marker-password");
        assert!(good, "{text}");
        commands.run("app add --code till --name Till --closed true --url https://till.example/");
        commands.run("app admit --code till --username ana");
        let made = object(&commands.run("client add --id till --name Tills --redirect https://till.example/back --app till"));
        let secret = made["secret"].as_str().expect("a secret").to_owned();
        object(&commands.run("client secret --id till"));

        let table = commands.run("account show --username ANA");
        let account = object(&commands.run("account show --username ana@example.com --json"));
        let id = account["id"].as_str().expect("an id");
        assert_eq!((row(&table, "id"), row(&table, "username"), row(&table, "email")), (id, "ana", "ana@example.com"));
        assert_eq!((row(&table, "roles"), row(&table, "tenants")), ("clerk", format!("north ({tenant})").as_str()));
        assert_eq!((row(&table, "active"), row(&table, "sessions")), ("yes", "0"));
        assert!(row(&table, "password").starts_with("set "), "{table}");
        assert_eq!(row(&table, "permissions"), "shop.order.get, shop.order.update");
        assert_eq!((&account["roles"], &account["hasPassword"], &account["sessions"]), (&json!(["clerk"]), &json!(true), &json!(0)));
        assert_eq!((&account["meta"]["region"], &account["tenants"][0]["code"]), (&json!("n"), &json!("north")));
        assert_eq!(object(&commands.run(&format!("account show --id {id} --json"))), account);

        let (table, role) = (commands.run("role show --name clerk"), object(&commands.run("role show --name clerk --json")));
        assert_eq!((row(&table, "permissions"), row(&table, "accounts")), ("shop.order.get, shop.order.update", "1: ana"));
        assert_eq!((&role["accounts"], &role["accountCount"]), (&json!(["ana"]), &json!(1)));

        let (table, shown) =
            (commands.run("tenant show --code north"), object(&commands.run(&format!("tenant show --id {tenant} --json"))));
        assert_eq!((row(&table, "id"), row(&table, "name"), row(&table, "accounts")), (tenant, "North", "1: ana"));
        assert_eq!((&shown["code"], &shown["accounts"]), (&json!("north"), &json!(["ana"])));

        let (table, app) = (commands.run("app show --code till"), object(&commands.run("app show --code till --json")));
        assert_eq!((row(&table, "clients"), row(&table, "access")), ("till", "closed: listed accounts only"));
        assert_eq!((row(&table, "url"), row(&table, "accounts")), ("https://till.example/", "1: ana"));
        assert_eq!((&app["clients"], &app["accounts"], &app["isClosed"]), (&json!(["till"]), &json!(["ana"]), &json!(true)));

        let (table, client) = (commands.run("client show --id till"), object(&commands.run("client show --id till --json")));
        assert_eq!((row(&table, "redirect"), row(&table, "app")), ("https://till.example/back", "till"));
        assert_eq!(row(&table, "grants"), "authorization_code, refresh_token");
        assert!(row(&table, "secret").starts_with("set; the previous one is valid until "), "{table}");
        assert_eq!((&client["id"], &client["app"], &client["accessTokenSeconds"]), (&json!("till"), &json!("till"), &json!(3600)));
        assert!(client["previousSecretUntil"].is_string(), "{client}");

        for text in
            [commands.run("account show --username ana"), account.to_string(), commands.run("client show --id till"), client.to_string()]
        {
            for hidden in ["argon2", "marker-password", secret.as_str(), "secretHash", "\"hash\""] {
                assert!(!text.contains(hidden), "{hidden} in {text}");
            }
        }
    }
}

// contract B3.20
#[tokio::test]
async fn an_unknown_name_gets_a_similar_name_and_the_list_command() {
    let commands = HubCommands::open(Backend::Sqlite).await;
    commands.run("account add --username ana --email ana@example.com");
    commands.run("role add --name clerk");
    commands.run("client add --id till --name Till --redirect https://till.example/back");
    commands.run("tenant add --code north --name North");
    commands.run("app add --code kiosk");
    for (line, expected) in [
        ("account show --username anna", "there is no account with the username or email \"anna\" (did you mean `ana`?)"),
        ("account show --username ana@exmple.com", "(did you mean `ana@example.com`?)"),
        ("account update --username anaa --active false", "(did you mean `ana`?)"),
        ("role show --name clark", "there is no role \"clark\" (did you mean `clerk`?); `peristyle role list` shows all"),
        ("client show --id til", "there is no client \"til\" (did you mean `till`?); `peristyle client list` shows all"),
        ("tenant show --code nort", "there is no tenant \"nort\" (did you mean `north`?); `peristyle tenant list` shows all"),
        ("app show --code kiosc", "there is no app \"kiosc\" (did you mean `kiosk`?); `peristyle app list` shows all"),
        ("role remove --name clark", "there is no role \"clark\" (did you mean `clerk`?); `peristyle role list` shows all"),
        ("role update --name clark --rename x", "(did you mean `clerk`?)"),
        ("client secret --id til", "(did you mean `till`?)"),
        ("client update --id til --active false", "(did you mean `till`?)"),
        ("client remove --id til", "(did you mean `till`?)"),
        ("app admit --code kiosc --username ana", "(did you mean `kiosk`?)"),
        ("app remove --code kiosc", "(did you mean `kiosk`?)"),
        ("account show --username zzzzzz", "\"zzzzzz\"; `peristyle account list` shows all"),
    ] {
        let message = commands.refused(line);
        assert!(message.contains(expected), "{line}: {message}");
    }
    let id = "11111111-1111-4111-8111-111111111111";
    for (line, list) in [("account", "account"), ("role", "role"), ("tenant", "tenant"), ("app", "app"), ("session", "session")] {
        let message = commands.refused(&format!("{line} show --id {id}"));
        assert!(message.contains(id) && message.contains(&format!("`peristyle {list} list`")), "{message}");
    }
    for command in ["account", "role", "client", "tenant", "app", "session"] {
        let help = commands.run(&format!("{command} show --help"));
        assert!(help.contains("Example") && help.contains(&format!("peristyle {command} show --")), "{help}");
        assert!(commands.finished(&format!("{command} show")).err().contains("see `peristyle"), "{command}");
    }
}

// contract B3.21
#[tokio::test]
async fn sessions_are_listed_with_names_clients_times_and_addresses() {
    for backend in BACKENDS {
        let fixture = HubFixture::open(backend).await;
        let serving = fixture.serve();
        let cookie = sign_in(serving.address).await;
        let code = code(serving.address, &cookie).await;
        let request: Request = fixture.redemption(&code);
        request.send(serving.address).await.good();
        let listed = object(&fixture.commands.run("session list --json"));
        let session = &listed["sessions"][0];
        let (id, account) = (session["id"].as_str().expect("an id"), session["account"].as_str().expect("an id"));
        assert_eq!(
            (&session["accountName"], &session["clients"], &session["apps"]),
            (&json!("ada"), &json!(["shop"]), &json!(["client:shop"]))
        );
        let line = fixture.commands.run("session list");
        let parts: Vec<&str> = line.trim_end().split('\t').collect();
        assert_eq!(parts.len(), 8, "{line}");
        assert_eq!((parts[0], parts[1], parts[2], parts[3]), (id, account, "ada", "shop"));
        assert!(parts[4].ends_with('Z') && parts[5].ends_with('Z') && parts[6] == "127.0.0.1", "{line}");
        assert_eq!(fixture.commands.run("session list --username ada"), line);

        let table = fixture.commands.run(&format!("session show --id {id}"));
        assert_eq!((row(&table, "account"), row(&table, "clients")), (format!("ada ({account})").as_str(), "shop (app client:shop)"));
        assert_eq!((row(&table, "state"), row(&table, "address")), ("live", "127.0.0.1"));
        let shown: Value = object(&fixture.commands.run(&format!("session show --id {id} --json")));
        assert_eq!((&shown["accountName"], &shown["clients"], &shown["state"]), (&json!("ada"), &json!(["shop"]), &json!("live")));
        assert!(shown["startedAt"].is_string() && shown["lastUsedAt"].is_string() && shown["expiresAt"].is_string(), "{shown}");
        fixture.commands.run(&format!("session end --id {id}"));
        assert_eq!(object(&fixture.commands.run("session list --json"))["sessions"], json!([]));
        assert_eq!(object(&fixture.commands.run(&format!("session show --id {id} --json")))["state"], "ended");
        assert!(!table.contains(PASSWORD) && !table.contains(&cookie));
    }
}

// contract B3.22
#[tokio::test]
async fn events_are_listed_as_readable_text() {
    let commands = HubCommands::open(Backend::Sqlite).await;
    commands.run("role add --name clerk");
    commands.run("account add --username ana");
    let id = object(&commands.run("account show --username ana --json"))["id"].as_str().expect("an id").to_owned();
    commands.run("account update --username ana --email ana@example.com --role clerk --active false");
    let text = commands.run("event list");
    let last = text.lines().last().expect("a line");
    let parts: Vec<&str> = last.split('\t').collect();
    assert_eq!((parts[1], parts[2]), ("account.updated", "-"), "{last}");
    assert_eq!(parts[3], format!("account={id} (ana) changed=email,isActive,roles isActive:true->false roles:+clerk"), "{last}");
    // JSON has the data unchanged.
    let events = object(&commands.run("event list --json"));
    let event = events["events"].as_array().and_then(|events| events.last()).expect("an event");
    assert_eq!(event["data"]["values"]["isActive"], json!({"from": true, "to": false}));
}
