//! Races: a password or a session changes between the check of a request and its transaction.

use identity::password::{Password, PasswordHash};
use identity::revocation::Revocation;
use store::hub_records::{Records, Transaction};

use crate::support::{Backend, Request, Response, get};
use crate::test_hub::{PASSWORD, TestHub, bearer, error, now, password_form, posted};

const NEW_PASSWORD: &str = "the administrator's";

/// Sets another password, as an administrator does, without the commit.
async fn begin_password_change(hub: &TestHub) -> Transaction {
    let hash = PasswordHash::make(&Password::presented(NEW_PASSWORD).unwrap(), [3; 16]).unwrap();
    let mut transaction = hub.records.begin().await.unwrap();
    store::hub_records::accounts::set_credential(&mut transaction, hub.account, &hash, now()).await.unwrap();
    let revocation = Revocation::PasswordChanged { account: hub.account, kept: None };
    store::hub_records::revocation::revoke_in(&mut transaction, &revocation, now()).await.unwrap();
    transaction
}

/// Waits until this many transactions wait for a lock.
async fn wait_for_blocked(records: &Records, many: i64) {
    const SQL: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    for _ in 0..1_000 {
        if records.run(SQL, &[]).await.unwrap()[0].number(0).unwrap() >= many {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("fewer than {many} transactions wait");
}

/// Sends requests, commits a password change once they wait for it, and returns their answers.
async fn send_during_password_change(hub: &TestHub, requests: &[Request]) -> Vec<Response> {
    let transaction = begin_password_change(hub).await;
    let commit = async {
        wait_for_blocked(&hub.records, requests.len() as i64).await;
        transaction.commit().await.unwrap();
    };
    futures_util::join!(futures_util::future::join_all(requests.iter().map(|request| hub.send(request))), commit).0
}

fn change_own_password(cookie: &str, chosen: &str) -> Request {
    posted("/", &[("action", "password"), ("present", PASSWORD), ("chosen", chosen)]).header("cookie", cookie)
}

fn sign_in(password: &str) -> Request {
    posted("/sign-in", &[("username", "ada"), ("password", password), ("continue", "/")])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_fails_if_the_password_changes_meanwhile() {
    // contract I9.9
    let hub = TestHub::start(Backend::Postgres).await;
    let grant = hub.token_request(&password_form("ada"));
    let answers = send_during_password_change(&hub, &[sign_in(PASSWORD), grant]).await;
    let wrong = hub.send(&sign_in("another one")).await;
    assert_eq!((answers[0].status(), answers[0].header("set-cookie")), (wrong.status(), None), "{}", answers[0].text());
    assert!(answers[0].text().contains("The name or the password is wrong."));
    assert_eq!(error(&answers[1], 400), "invalid_grant");
    assert_eq!(answers[1].json()["error_description"], "the username or the password is wrong");
    let counts = "SELECT (SELECT count(*) FROM peristyle.session), (SELECT count(*) FROM peristyle.family)";
    let rows = hub.records.run(counts, &[]).await.unwrap();
    assert_eq!((rows[0].number(0).unwrap(), rows[0].number(1).unwrap()), (0, 0));
    assert_eq!(hub.send(&sign_in(NEW_PASSWORD)).await.status(), 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_revoked_meanwhile_begins_no_session() {
    // contract I9.9
    let hub = TestHub::start(Backend::Postgres).await;
    let tokens = hub.tokens().await;
    let ask = posted("/session", &[("access_token", tokens["access_token"].as_str().unwrap())]);
    let answers = send_during_password_change(&hub, std::slice::from_ref(&ask)).await;
    assert_eq!(error(&answers[0], 401), "invalid_token");
    assert!(hub.records.run("SELECT id FROM peristyle.session", &[]).await.unwrap().is_empty());
    assert_eq!(hub.send(&get("/userinfo").header("authorization", &bearer(&tokens["access_token"]))).await.status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_page_does_not_overwrite_a_password_that_an_administrator_sets() {
    // contract I9.9
    let hub = TestHub::start(Backend::Postgres).await;
    let cookie = hub.sign_in().await;
    let answers = send_during_password_change(&hub, &[change_own_password(&cookie, "chosen by the page")]).await;
    assert_eq!((answers[0].status(), answers[0].header("location")), (303, Some("/sign-in")), "the session ended too");
    assert_eq!(hub.send(&sign_in("chosen by the page")).await.header("set-cookie"), None);
    assert_eq!(hub.send(&sign_in(NEW_PASSWORD)).await.status(), 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_concurrent_password_changes_succeeds() {
    // contract I9.9
    let hub = TestHub::start(Backend::Postgres).await;
    let cookie = hub.sign_in().await;
    let mut held = hub.records.begin().await.unwrap();
    held.run("SELECT id FROM peristyle.account FOR UPDATE", &[]).await.unwrap();
    let release = async {
        wait_for_blocked(&hub.records, 2).await;
        held.commit().await.unwrap();
    };
    let (first, second) = (change_own_password(&cookie, "the first choice"), change_own_password(&cookie, "the second choice"));
    let (first, second, ()) = futures_util::join!(hub.send(&first), hub.send(&second), release);
    let mut locations = [first.header("location"), second.header("location")];
    locations.sort_unstable();
    assert_eq!(locations, [None, Some("/?done=password-changed")], "{} {}", first.status(), second.status());
    let refused = if first.header("location").is_none() { first } else { second };
    assert!(refused.text().contains("The current password is wrong"), "{}", refused.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_concurrent_first_sign_ins_with_an_imported_hash_both_succeed() {
    // contract I9.9
    let hub = TestHub::start(Backend::Postgres).await;
    let imported = "UPDATE peristyle.credential SET hash = 'pbkdf2_sha256$1000$seasalt$mQnueSakb748zqBAC1tmWVZsZbi2zPGZarEzTGdfmso='";
    hub.records.run(imported, &[]).await.unwrap();
    let mut held = hub.records.begin().await.unwrap();
    held.run("SELECT account_id FROM peristyle.credential FOR UPDATE", &[]).await.unwrap();
    let release = async {
        wait_for_blocked(&hub.records, 2).await;
        held.commit().await.unwrap();
    };
    let ask = sign_in("correct horse");
    let (first, second, ()) = futures_util::join!(hub.send(&ask), hub.send(&ask), release);
    assert_eq!((first.status(), second.status()), (303, 303), "{} {}", first.text(), second.text());
}
