//! Several replicas of a hub on one PostgreSQL.

use serde_json::Value;

use crate::hub_fixture::{HubFixture, PASSWORD, authorize, code, me, posted, sign_in};
use crate::program::Folder;
use crate::support::{Backend, get, until};

// contract I20.2, I15.3, attack 7
#[tokio::test(flavor = "multi_thread")]
async fn of_five_hundred_redemptions_on_two_replicas_one_succeeds() {
    let fixture = HubFixture::open(Backend::Postgres).await;
    let hubs = [fixture.serve(), fixture.serve()];
    let code = code(hubs[0].address, &sign_in(hubs[1].address).await).await;
    let redemption = fixture.redemption(&code);
    let tries: Vec<_> = (0..500)
        .map(|number| {
            let (request, address) = (redemption.clone(), hubs[number % 2].address);
            tokio::spawn(async move { request.send(address).await })
        })
        .collect();
    let mut won = 0;
    for answer in tries {
        let answer = answer.await.expect("an answer");
        match answer.status() {
            200 => won += 1,
            400 => assert_eq!(answer.json()["error"], "invalid_grant"),
            // On a slow machine some wait too long for their turn, and are not tried.
            503 => assert_eq!(answer.json()["error"], "temporarily_unavailable"),
            other => panic!("{other}: {}", answer.text()),
        }
    }
    assert_eq!(won, 1);
}

// contract I22.23
#[tokio::test]
async fn one_replica_continues_and_ends_what_another_began() {
    let fixture = HubFixture::open(Backend::Postgres).await;
    let [here, there] = [fixture.serve(), fixture.serve()];
    let cookie = sign_in(here.address).await;
    let made = code(there.address, &cookie).await;
    let tokens = fixture.redemption(&made).send(here.address).await.good();
    for hub in [&here, &there] {
        assert_eq!(me(hub.address, &tokens).await.good()["username"], "ada");
        assert_eq!(get("/").header("cookie", &cookie).send(hub.address).await.status(), 200);
    }
    let keys = |address| async move { get("/.well-known/jwks.json").send(address).await.good() };
    assert_eq!(keys(here.address).await, keys(there.address).await);
    // A replay of the code at the other replica ends its grants on both.
    assert_eq!(fixture.redemption(&made).send(there.address).await.status(), 400);
    assert_eq!(me(here.address, &tokens).await.status(), 401);
    assert_eq!(posted("/logout", &[]).header("cookie", &cookie).send(there.address).await.status(), 204);
    assert_eq!(get("/").header("cookie", &cookie).send(here.address).await.status(), 303);
    assert!(authorize(here.address, &cookie).await.header("location").expect("an address").starts_with("/sign-in"));
    // A command ends them too, at once.
    let again = sign_in(here.address).await;
    fixture.commands.run("session end --username ada");
    for hub in [here, there] {
        assert_eq!(get("/").header("cookie", &again).send(hub.address).await.status(), 303);
        hub.stop();
    }
}

// contract I23.20
#[tokio::test]
async fn a_replica_without_the_new_key_file_publishes_and_trusts_the_key() {
    let fixture = HubFixture::open(Backend::Postgres).await;
    let elsewhere = Folder::new();
    elsewhere.run(&["keys", "generate"], &[]).good();
    elsewhere.write(".keys/oauth-private.key", &fixture.commands.folder.read(".keys/oauth-private.key"));
    let [here, there] = [fixture.serve(), elsewhere.serve(&fixture.commands.variables())];
    let before = fixture.password().send(there.address).await.good();
    fixture.commands.run("keys rotate");
    fixture.commands.run("keys rotate --now");
    // The header of a token names the key.
    let head = |tokens: &Value| tokens["access_token"].as_str().and_then(|token| token.split('.').next()).map(str::to_owned);
    // A replica may reload between the two steps, and sign with the old key until it reloads again.
    let mut after = before.clone();
    until("the replica with the new key file signs with it", async || {
        after = fixture.password().send(here.address).await.good();
        head(&after) != head(&before)
    })
    .await;
    let keys = |address| async move { get("/.well-known/jwks.json").send(address).await.good()["keys"].as_array().map(Vec::len) };
    for hub in [&here, &there] {
        until("both keys are published", async || keys(hub.address).await == Some(2)).await;
    }
    assert_eq!(head(&fixture.password().send(there.address).await.good()), head(&before), "it signs with what it has");
    for (hub, tokens) in [(&here, &before), (&there, &before), (&here, &after), (&there, &after)] {
        assert_eq!(me(hub.address, tokens).await.good()["username"], "ada");
    }
    // A day later nobody trusts the old key, and the replica signs nothing with it.
    let over = "UPDATE peristyle.signing_key SET moment = moment - interval '3 days' WHERE state = 'retired'";
    assert_eq!(fixture.commands.database.change(over).await, 1);
    until("it signs no more", async || fixture.password().send(there.address).await.status() == 500).await;
    assert_eq!(head(&fixture.password().send(here.address).await.good()), head(&after));
    let log = there.stop();
    assert!(log.contains("the signing key is") && log.contains("is no longer published, so it signs nothing"), "{log}");
    here.stop();
}

// contract I20.6, attack 32
#[tokio::test]
async fn failed_attempts_count_on_both_replicas() {
    let fixture = HubFixture::open(Backend::Postgres).await;
    let hubs = [fixture.serve(), fixture.serve()];
    let attempt = |password: &'static str| fixture.token(&[("grant_type", "password"), ("username", "ada"), ("password", password)]);
    for number in 0..5 {
        assert_eq!(attempt("not it, sorry").send(hubs[number % 2].address).await.status(), 400);
    }
    // Five failures of the name and address start the delay, on whichever replica; some more make it longer than a slow test.
    assert_eq!(fixture.commands.database.change("UPDATE peristyle.failure SET count = 12 WHERE count = 5").await, 3);
    for hub in &hubs {
        let answer = attempt(PASSWORD).send(hub.address).await;
        assert_eq!(answer.status(), 429, "{}", answer.text());
        assert!(answer.header("retry-after").is_some());
    }
}

// contract I20.21, attack 33
#[tokio::test(flavor = "multi_thread")]
async fn too_many_sign_ins_are_refused_and_the_key_set_is_still_served() {
    let fixture = HubFixture::with(Backend::Sqlite, &[("TRUSTED_PROXIES", "127.0.0.1")]).await;
    // One core admits 65 attempts, however many cores this machine has.
    let mut command = std::process::Command::new("taskset");
    let program = fixture.commands.folder.command(&["serve"]);
    command.args(["-c", &first_core()]).arg(program.get_program()).arg("serve").env_clear().current_dir(fixture.commands.folder.path(""));
    command.envs([("LISTEN", "127.0.0.1:0")]).envs(fixture.commands.variables());
    command.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let serving = crate::program::Serving::start(&mut command);
    let at = serving.address;
    let (mut busy, mut judged) = (0, 0);
    // On a loaded machine the attempts may come so slowly that one flood fills nothing.
    for round in 0..4 {
        // Each attempt has its own name and client address, so that none is throttled and every password is hashed.
        let flood: Vec<_> = (0..250)
            .map(|number: usize| {
                let name = format!("nobody-{round}-{number}");
                let from = format!("203.{round}.{}.{}", 113 + number / 200, number % 200 + 1);
                let request = posted("/sign-in", &[("username", &name), ("password", "not it, sorry")]).header("x-forwarded-for", &from);
                tokio::spawn(async move { request.send(at).await })
            })
            .collect();
        let keys = get("/.well-known/jwks.json").send(at).await.good();
        assert!(keys["keys"][0]["kid"].is_string());
        for answer in flood {
            let answer = answer.await.expect("an answer");
            assert!(answer.header("set-cookie").is_none());
            match answer.status() {
                503 => {
                    assert!(answer.header("retry-after").and_then(|text| text.parse::<u32>().ok()).is_some_and(|seconds| seconds > 0));
                    busy += 1;
                }
                400 => judged += 1,
                other => panic!("{other}: {}", answer.text()),
            }
        }
        if busy > 0 {
            break;
        }
    }
    // On a loaded machine some of the 65 that are admitted wait too long.
    assert!(busy > 0 && judged > 0, "{busy} sent away, {judged} judged");
    // A refused attempt is no failure, and sign-in works again.
    sign_in(at).await;
    serving.stop();
}

/// A core that this process can run on.
fn first_core() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list");
    list.trim().split([',', '-']).next().expect("a core").to_owned()
}

// contract I20.22
#[tokio::test(flavor = "multi_thread")]
async fn parallel_refreshes_on_two_replicas_have_one_successor() {
    // attack 34
    let fixture = HubFixture::open(Backend::Postgres).await;
    let hubs = [fixture.serve(), fixture.serve()];
    let first = fixture.password().send(hubs[0].address).await.good();
    let refresh = fixture.token(&[("grant_type", "refresh_token"), ("refresh_token", first["refresh_token"].as_str().expect("a token"))]);
    let tries: Vec<_> = (0..40)
        .map(|number| {
            let (request, address) = (refresh.clone(), hubs[number % 2].address);
            tokio::spawn(async move { request.send(address).await.good() })
        })
        .collect();
    let mut successors: Vec<Value> = Vec::new();
    for answer in tries {
        successors.push(answer.await.expect("an answer")["refresh_token"].clone());
    }
    successors.dedup();
    assert_eq!(successors.len(), 1);
}
