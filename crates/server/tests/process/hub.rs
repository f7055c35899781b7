//! A hub that the commands set up and the binary serves: its log shows no secrets.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::hub_fixture::{HubFixture, PASSWORD, REDIRECT, VERIFIER, authorize, code, me, object, posted, sign_in};
use crate::program::{Folder, Serving};
use crate::support::{BACKENDS, Backend, get, post, until};

// contract B1.7, attack 37
#[tokio::test]
async fn three_commands_set_up_a_hub_and_its_trace_log_shows_no_secret() {
    for backend in BACKENDS {
        let fixture = HubFixture::with(backend, &[("LOG", "trace")]).await;
        let serving = fixture.serve();
        let at = serving.address;
        let cookie = sign_in(at).await;
        let code = code(at, &cookie).await;
        let tokens = fixture.redemption(&code).send(at).await.good();
        let text = |tokens: &Value, name: &str| tokens[name].as_str().expect("a token").to_owned();
        let refresh = text(&tokens, "refresh_token");
        let next = fixture.token(&[("grant_type", "refresh_token"), ("refresh_token", &refresh)]).send(at).await.good();
        assert_eq!(me(at, &next).await.good()["roles"][0]["name"], "administrator");
        // Failures show no secrets either.
        assert_eq!(fixture.redemption(&code).send(at).await.status(), 400);
        let wrong = "marker-wrong-password";
        assert_eq!(posted("/sign-in", &[("username", wrong), ("password", wrong)]).send(at).await.status(), 400);
        let guess = "marker-wrong-secret";
        assert_eq!(posted("/revoke", &[("client_id", "shop"), ("client_secret", guess), ("token", "x")]).send(at).await.status(), 401);

        let fresh = fixture.password().send(at).await.good();
        let client = [("client_id", "shop"), ("client_secret", fixture.secret.as_str())];
        let access = text(&fresh, "access_token");
        assert_eq!(posted("/session", &[("access_token", &access)]).send(at).await.status(), 204);
        let token = [("token", access.as_str())];
        assert_eq!(posted("/introspect", &[&client[..], &token].concat()).send(at).await.good()["active"], true);
        assert_eq!(posted("/revoke", &[&client[..], &token].concat()).send(at).await.status(), 200);
        let link = fixture.commands.finished("account reset --username ada");
        let address = link.good();
        let secret_link = address.trim().rsplit('=').next().expect("a token").to_owned();
        let chosen = "marker-password-2";
        assert_eq!(get(&format!("/password?link={secret_link}")).send(at).await.status(), 200);
        assert_eq!(posted("/password", &[("link", &secret_link), ("password", chosen)]).send(at).await.status(), 303);
        let id_token = text(&tokens, "id_token");
        assert_eq!(get(&format!("/logout?id_token_hint={id_token}")).header("cookie", &cookie).send(at).await.status(), 204);
        let renewed = fixture.commands.finished("client secret --id shop");
        let new_secret = object(&renewed.good())["secret"].as_str().expect("a secret").to_owned();
        let changed = fixture.commands.run_with_input("account password --username ada --password-stdin", "marker-password-3");
        assert!(changed.status.success());

        let log = serving.stop();
        for event in ["grant.issued", "grant.refreshed", "sign-in.succeeded", "sign-in.refused", "client.refused", "grant.revoked"] {
            assert!(log.contains(event), "{event} in {log}");
        }
        let session = cookie.split_once('=').expect("a value").1;
        let hidden =
            [PASSWORD, VERIFIER, &fixture.secret, &code, &refresh, &access, session, wrong, guess, &secret_link, chosen, &id_token];
        let more = [&text(&tokens, "access_token"), &text(&next, "access_token"), &text(&next, "refresh_token"), &new_secret];
        let said = [fixture.errors.as_str(), &link.err(), &renewed.err(), &String::from_utf8_lossy(&changed.stderr)].concat();
        for hidden in hidden.into_iter().chain(more.map(String::as_str)).chain(["marker-password-3", "argon2id$"]) {
            assert!(!log.contains(hidden), "{backend:?}: {hidden} in the log");
            assert!(!said.contains(hidden), "{backend:?}: {hidden} was said by a command");
        }
    }
}

// contract I27.4
#[tokio::test]
async fn administration_over_http_shows_no_secret_in_the_trace_log() {
    for backend in BACKENDS {
        let fixture = HubFixture::with(backend, &[("LOG", "trace")]).await;
        let serving = fixture.serve();
        let at = serving.address;
        let tokens = fixture.password().send(at).await.good();
        let access = tokens["access_token"].as_str().expect("a token");
        let administer = async |path: &str, body: &str| {
            let answer = post(path, body).header("authorization", &format!("Bearer {access}")).send(at).await;
            assert!([200, 201].contains(&answer.status()), "{}", answer.text());
            answer.json()
        };
        let made = administer("/api/iam/accounts/create", r#"{"payload": {"username": "bo", "password": "marker-password-2"}}"#).await;
        let bo = made["id"].as_str().expect("an id");
        let link = administer(&format!("/api/iam/accounts/reset/{bo}"), "").await;
        administer(&format!("/api/iam/accounts/set-password/{bo}"), r#"{"payload": {"password": "marker-password-3"}}"#).await;
        let link = link["link"].as_str().and_then(|link| link.split("link=").nth(1)).expect("a link").to_owned();
        let client = r#"{"payload": {"id": "web", "name": "Web", "redirect": "https://web.test/"}}"#;
        let other = administer("/api/o-auth/clients/create", client).await;
        let query = r#"{"query": "mutation { oAuthRotateClientSecret(id: \"web\") { secret } iamSetAccountPassword(id: \"BO\", payload: {password: \"marker-password-4\"}) { id } }"}"#;
        let renewed = administer("/graphql", &query.replace("BO", bo)).await;
        let secrets = [&other["secret"], &renewed["data"]["oAuthRotateClientSecret"]["secret"]];
        let [first, second] = secrets.map(|secret| secret.as_str().expect("a secret"));
        let log = serving.stop();
        for hidden in ["marker-password", access, &link, first, second] {
            assert!(!log.contains(hidden), "{backend:?}: {hidden} in the log");
        }
    }
}

// contract I25.5, I25.6, attack 64
#[tokio::test]
async fn a_client_administers_once_it_is_marked_and_the_refusal_says_how() {
    const HINT: &str = "peristyle client update --id CLIENT --administers true";
    for backend in BACKENDS {
        let fixture = HubFixture::open(backend).await;
        let shown = |json: &str| object(json)["administers"].clone();
        assert_eq!(shown(&fixture.commands.run("client update --id shop --administers false --json")), false);
        let serving = fixture.serve();
        let token = fixture.password().send(serving.address).await.good()["access_token"].as_str().expect("a token").to_owned();
        let make = |name: &str| {
            let body = serde_json::json!({ "payload": { "name": name } }).to_string();
            post("/api/iam/tenants/create", body).header("authorization", &format!("Bearer {token}"))
        };
        let refused = make("North").send(serving.address).await;
        assert_eq!(refused.problem(403)["code"], "CLIENT_MAY_NOT_ADMINISTER");
        assert_eq!(shown(&fixture.commands.run("client update --id shop --administers true --json")), true);
        assert_eq!(make("North").send(serving.address).await.status(), 201, "what the command line changes counts at once");
        let log = serving.stop();
        assert!(log.contains(HINT) && log.contains("administration.refused") && log.contains("\"reason\":\"client\""), "{log}");
        let log = fixture.serve().stop();
        assert!(!log.contains(HINT), "one is marked: {log}");
        assert!(fixture.commands.run("client list").contains("active, administers"));
    }
}

// contract I16.1, I13.1
#[tokio::test]
async fn event_follow_prints_events_as_they_happen() {
    for backend in BACKENDS {
        let fixture = HubFixture::open(backend).await;
        let serving = fixture.serve();
        let mut command = fixture.commands.folder.command(&["event", "follow", "--json"]);
        let mut child = command.envs(fixture.commands.variables()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let out = BufReader::new(child.stdout.take().expect("standard output"));
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut names: Vec<String> = Vec::new();
        let mut number = 0;
        // `follow` prints only new events, so new ones are made until one is printed.
        until("the first event", async || {
            number += 1;
            fixture.commands.run(&format!("tenant add --name North-{number}"));
            names.extend(lines.try_iter().map(|line| object(&line)["event"].as_str().expect("a name").to_owned()));
            names.contains(&"tenant.created".to_owned())
        })
        .await;
        sign_in(serving.address).await;
        until("the sign-in", async || {
            names.extend(lines.try_iter().map(|line| object(&line)["event"].as_str().expect("a name").to_owned()));
            names.contains(&"sign-in.succeeded".to_owned())
        })
        .await;
        child.kill().expect("it runs");
        child.wait().expect("an end");
        serving.stop();
    }
}

// contract I15.7, I22.23
#[tokio::test]
async fn a_restarted_hub_keeps_live_sessions_and_removes_expired_ones() {
    for backend in BACKENDS {
        let fixture = HubFixture::open(backend).await;
        let serving = fixture.serve();
        let (kept, over) = (sign_in(serving.address).await, sign_in(serving.address).await);
        let tokens = fixture.password().send(serving.address).await.good();
        let unused = code(serving.address, &kept).await;
        serving.stop();
        let (prefix, past) = match backend {
            Backend::Postgres => ("peristyle.", "now() - interval '3 days'"),
            Backend::Sqlite => ("peristyle_", "1000000"),
        };
        let newest = format!("(SELECT id FROM {prefix}session ORDER BY authenticated_at, id LIMIT 1)");
        assert_eq!(
            fixture.commands.database.change(&format!("UPDATE {prefix}session SET expires_at = {past} WHERE id <> {newest}")).await,
            1
        );
        assert_eq!(fixture.commands.database.change(&format!("UPDATE {prefix}code SET expires_at = {past}")).await, 1);
        let serving = fixture.serve();
        assert_eq!(me(serving.address, &tokens).await.good()["username"], "ada");
        // One of the two sessions was ended; the other lives.
        let mut alive = 0;
        for cookie in [&kept, &over] {
            alive += i32::from(get("/").header("cookie", cookie).send(serving.address).await.status() == 200);
        }
        assert_eq!(alive, 1);
        let untouched = |table: &str| format!("UPDATE {prefix}{table} SET expires_at = expires_at");
        until("expired rows are gone", async || {
            fixture.commands.database.change(&untouched("code")).await == 0
                && fixture.commands.database.change(&untouched("session")).await == 1
        })
        .await;
        assert_eq!(fixture.redemption(&unused).send(serving.address).await.status(), 400);
        serving.stop();
    }
}

// contract I22.3, attack 42
#[tokio::test]
async fn a_cookie_is_secure_if_the_hub_has_https() {
    let fixture = HubFixture::with(Backend::Sqlite, &[("APP_URL", "https://hub.test")]).await;
    let serving = fixture.serve();
    let signed = posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)]).send(serving.address).await;
    let cookie = signed.header("set-cookie").expect("a cookie");
    // The rules of `__Host-` hold for this cookie too: no Domain, path /, https only.
    let parts: Vec<&str> = cookie.split("; ").collect();
    for part in ["Path=/", "HttpOnly", "SameSite=Lax", "Secure"] {
        assert!(parts.contains(&part), "{part} in {cookie}");
    }
    assert!(!cookie.to_ascii_lowercase().contains("domain"), "{cookie}");
    let session = cookie.split(';').next().expect("a pair");
    let out = posted("/logout", &[]).header("cookie", session).send(serving.address).await;
    assert!(out.header("set-cookie").is_some_and(|gone| gone.contains("Max-Age=0") && gone.contains("Secure")), "{out:?}");
    // A sibling domain can add a cookie of the same name: the valid one counts, in any order.
    let tossed = format!("hub_session=forged; {}", sign_in(serving.address).await);
    assert_eq!(authorize(serving.address, &tossed).await.status(), 302);
    assert_eq!(get("/").header("cookie", &tossed).send(serving.address).await.status(), 200);
    serving.stop();
}

// contract B3.1
#[tokio::test]
async fn the_three_commands_of_the_guide_set_up_a_hub() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/hub.md")).expect("the guide");
    let block = guide.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let folder = Folder::new();
    let script = block.replace("cargo run --release --", env!("CARGO_BIN_EXE_peristyle"));
    let lines: Vec<&str> = script.lines().collect();
    let [first, second, serve] = lines[..] else { panic!("three lines: {script}") };
    let shell = |line: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", line]);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LISTEN", "127.0.0.1:0").current_dir(folder.path(""));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let made = shell(first).output().expect("a shell");
    assert!(made.status.success(), "{made:?}");
    let client = shell(second).output().expect("a shell");
    let client: Value = serde_json::from_slice(&client.stdout).unwrap_or_else(|error| panic!("{error}: {client:?}"));
    assert_eq!(client["id"], "shop");
    // `exec` replaces the shell by the hub, so that signals reach it.
    let serving = Serving::start(&mut shell(&serve.replacen(' ', " exec ", 1)));
    let signed = posted("/sign-in", &[("username", "ana"), ("password", "correct horse battery")]).send(serving.address).await;
    assert_eq!(signed.status(), 303, "{}", signed.text());
    serving.stop();
}

// contract B1.4
#[tokio::test]
async fn a_hub_on_port_0_issues_tokens_with_its_real_port() {
    let folder = Folder::new();
    let variables = [("OAUTH_STRATEGY", "local-provider"), ("DATABASE_URL", "sqlite://hub.db")];
    folder.set_up_hub(PASSWORD, REDIRECT, &variables);
    let mut serving = Serving::start(folder.command(&["serve", "--json"]).envs(variables));
    let address = format!("http://{}", serving.address);
    let discovery = get("/.well-known/openid-configuration").send(serving.address).await.good();
    assert_eq!(discovery["issuer"], address.as_str());
    let page = posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)]).header("origin", &address).send(serving.address).await;
    assert_eq!(page.status(), 303, "{}", page.text());
    let mut ready = String::new();
    BufReader::new(serving.child.stdout.take().expect("a pipe")).read_line(&mut ready).expect("a line");
    let ready = object(ready.trim_end());
    assert_eq!((&ready["address"], &ready["url"]), (&serving.address.to_string().into(), &address.into()));
    // contract E8.10
    assert_eq!(ready["docs"], format!("http://{}/docs", serving.address));
    assert!(serving.line(|line| line.contains("serving")).contains(&format!("http://{}/docs", serving.address)));
    assert_eq!((&ready["strategy"], ready["resources"].as_u64().is_some_and(|count| count > 5)), (&"local-provider".into(), true));
    serving.stop();
}
