//! The change feed of a hub over HTTP.

use std::process::{Command, Stdio};

use identity::client::{ClientId, GrantType};
use identity::keys::KeySet;
use identity::revocation::Revocation;
use identity::token::security_event::{ChangeKind, Subject};
use identity::token::{Expectation, ExpiryClock, Unverified};
use serde_json::json;
use store::hub_records::Bind;
use store::hub_records::account_changes;

use crate::fixture::{FeedEvent, FeedReader, feed_request, remove_roles, revoke, update_account};
use crate::support::{BACKENDS, Backend, Request, get, post, until};
use crate::test_hub::{CLIENT, ISSUER, TestHub, basic, bearer, error, now, part, password_form, setup};

async fn deactivate_client(hub: &TestHub, id: &str) {
    let mut client = store::hub_records::clients::by_id(&hub.records, id).await.unwrap().unwrap();
    client.is_active = false;
    store::hub_records::clients::update(&hub.records, &client, now()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_client_with_its_secret_can_open_the_feed() {
    // contract I37.1
    let hub = TestHub::start(Backend::Sqlite).await;
    let closed = hub.add_client("closed", &GrantType::ALL, None).await;
    deactivate_client(&hub, "closed").await;
    for path in ["/events", "/api/o-auth/events"] {
        for authorization in [basic(CLIENT, "wrong"), basic("nobody", &hub.secret), basic("closed", &closed)] {
            let answer = hub.send(&get(path).header("authorization", &authorization)).await;
            assert_eq!(error(&answer, 401), "invalid_client");
            assert!(answer.header("www-authenticate").is_some_and(|value| value.starts_with("Basic")));
        }
        assert_eq!(error(&hub.send(&get(path)).await, 401), "invalid_client");
        let token = hub.tokens().await;
        assert_eq!(error(&hub.send(&get(path).header("authorization", &bearer(&token["access_token"]))).await, 401), "invalid_client");
        let posted = Request::new("POST", path).header("authorization", &basic(CLIENT, &hub.secret));
        assert_eq!(hub.send(&posted).await.header("allow"), Some("GET"));
        let (_, first) = FeedReader::open(hub.server.address, &get(path).header("authorization", &basic(CLIENT, &hub.secret))).await;
        assert_eq!(first.event, "reset");
    }
    for query in ["audience=a%20b", "audience=a&audience=b", &format!("audience={}", vec!["a"; 65].join(","))] {
        let request = get(&format!("/events?{query}")).header("authorization", &basic(CLIENT, &hub.secret));
        assert_eq!(error(&hub.send(&request).await, 400), "invalid_request", "{query}");
    }
    let secret = get(&format!("/events?client_id={CLIENT}&client_secret={}", hub.secret));
    assert_eq!(error(&hub.send(&secret).await, 400), "invalid_request", "attack 30: the query takes no secret");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_sent_at_once_as_a_token_for_one_client() {
    // contract I37.2, attack 25
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        hub.tokens().await;
        let request = feed_request(CLIENT, &hub.secret).header("accept-encoding", "gzip, zstd");
        let mut wire = request.start(hub.server.address).await;
        let head = wire.head().await.unwrap();
        assert_eq!((head.header("cache-control"), head.header("content-encoding")), (Some("no-store"), None), "{head:?}");
        let mut reader = FeedReader(wire);
        let first = reader.next().await.unwrap();
        remove_roles(&hub.records, hub.account).await;
        let feed_event = reader.next().await.unwrap();
        assert_eq!((feed_event.id, feed_event.event.as_str()), (first.id + 1, "secevent"));
        let keys = hub.server.get("/.well-known/jwks.json").await;
        let (keys, _) = KeySet::read(&keys.body).unwrap();
        let token = Unverified::read(&feed_event.data).unwrap();
        let key = keys.find(token.key_id()).expect("a published key");
        let expected = Expectation { issuer: ISSUER, audiences: &[CLIENT], now: now(), end: ExpiryClock::Issuers };
        let event = token.verify_security_event(key, &expected).unwrap().into_claims();
        assert_eq!(
            (event.sequence, event.happening, event.subject),
            (feed_event.id, ChangeKind::ClaimsChange, Subject::Account(hub.account))
        );
        let other = Expectation { audiences: &["other", ISSUER], ..expected };
        assert!(token.verify_security_event(key, &other).is_err());
        // The token of a change is no access token.
        for request in [get("/api/iam/me"), post("/api/shop/opens/list", ""), get("/userinfo")] {
            assert_eq!(hub.send(&request.header("authorization", &format!("Bearer {}", feed_event.data))).await.status(), 401);
        }
        let cookie = get("/").header("cookie", &format!("hub_session={}", feed_event.data));
        assert_eq!(hub.send(&cookie).await.status(), 303, "it is no session cookie");
        let document = hub.server.get("/.well-known/openid-configuration").await.good();
        assert_eq!(document["events_endpoint"], format!("{ISSUER}/events"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_resumes_after_the_last_event_id_or_sends_reset() {
    // contract I37.3
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        hub.tokens().await;
        let address = hub.server.address;
        let request = feed_request(CLIENT, &hub.secret);
        let (reader, first) = FeedReader::open(address, &request).await;
        drop(reader);
        for _ in 0..3 {
            update_account(&hub.records, hub.account).await;
        }
        for resumed in [
            request.clone().header("last-event-id", &first.id.to_string()),
            get(&format!("/events?after={}", first.id)).header("authorization", &basic(CLIENT, &hub.secret)),
        ] {
            let (mut reader, ready) = FeedReader::open(address, &resumed).await;
            assert_eq!((ready.id, ready.event.as_str()), (first.id, "ready"));
            for number in 1..=3 {
                assert_eq!(reader.next().await.unwrap().id, first.id + number);
            }
        }
        let newest = first.id + 3;
        for unknown in [(newest + 1).to_string(), "-1".to_owned(), "x".to_owned(), i64::MAX.to_string(), String::new()] {
            let (_, reset) = FeedReader::open(address, &request.clone().header("last-event-id", &unknown)).await;
            assert_eq!((reset.id, reset.event.as_str()), (newest, "reset"), "{unknown}");
        }
        // The feed cannot send purged changes.
        assert!(store::hub_records::purge::purge(&hub.records, now().plus(2 * 86_400)).await.problems.is_empty());
        let (_, reset) = FeedReader::open(address, &request.clone().header("last-event-id", &first.id.to_string())).await;
        assert_eq!((reset.id, reset.event.as_str()), (newest, "reset"));
        let (_, ready) = FeedReader::open(address, &request.clone().header("last-event-id", &newest.to_string())).await;
        assert_eq!(ready, FeedEvent { id: newest, event: "ready".to_owned(), data: newest.to_string() });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_gets_only_changes_of_accounts_that_hold_its_grants() {
    // contract I37.4
    let hub = TestHub::start(Backend::Sqlite).await;
    let secret = hub.add_client("other", &GrantType::ALL, None).await;
    let other_account = hub.add_account("bo", &[]).await;
    hub.tokens().await;
    let address = hub.server.address;
    let (mut own, _) = FeedReader::open(address, &feed_request(CLIENT, &hub.secret)).await;
    let (mut other, _) = FeedReader::open(address, &feed_request("other", &secret)).await;
    let siblings = get(&format!("/events?audience={CLIENT},third")).header("authorization", &basic("other", &secret));
    let (mut sibling, _) = FeedReader::open(address, &siblings).await;
    update_account(&hub.records, other_account).await;
    update_account(&hub.records, hub.account).await;
    let ada = json!({ "format": "iss_sub", "iss": ISSUER, "sub": hub.account.to_string() });
    assert_eq!(own.subject().await, ada, "the client has no grant of the other account");
    assert_eq!(sibling.subject().await, ada, "its audience includes the client");
    // Now only the other client has a grant of the other account.
    hub.send(&hub.token_request(&password_form("bo")).header("authorization", &basic("other", &secret))).await.good();
    update_account(&hub.records, other_account).await;
    let bo = json!({ "format": "iss_sub", "iss": ISSUER, "sub": other_account.to_string() });
    assert_eq!((other.subject().await, sibling.subject().await), (bo.clone(), bo));
    // Only its own client gets the revocation of a family.
    let tokens = hub.send(&hub.token_request(&password_form("ada")).header("authorization", &basic("other", &secret))).await.good();
    let family = part(&tokens["access_token"], 1)["sid"].clone();
    revoke(&hub.records, &Revocation::FamilyRevoked(family.as_str().unwrap().parse().unwrap())).await;
    assert_eq!(other.subject().await["session"]["id"], family);
    update_account(&hub.records, hub.account).await;
    assert_eq!((own.subject().await, other.subject().await), (ada.clone(), ada));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_ends_with_its_client_and_with_the_process_and_feeds_are_bounded() {
    // contract I37.5
    let hub = TestHub::start(Backend::Sqlite).await;
    let secret = hub.add_client("other", &GrantType::ALL, None).await;
    let address = hub.server.address;
    let (mut closed, _) = FeedReader::open(address, &feed_request("other", &secret)).await;
    deactivate_client(&hub, "other").await;
    revoke(&hub.records, &Revocation::ClientClosed(ClientId::parse("other").unwrap())).await;
    let last = closed.subject().await;
    assert_eq!(last, json!({ "format": "complex", "application": { "format": "opaque", "id": "other" } }));
    assert_eq!(closed.next().await, None);
    assert_eq!(error(&hub.send(&feed_request("other", &secret)).await, 401), "invalid_client");

    let request = feed_request(CLIENT, &hub.secret);
    let mut readers = Vec::new();
    for _ in 0..64 {
        readers.push(FeedReader::open(address, &request).await.0);
    }
    let refused = hub.send(&request).await;
    assert_eq!(error(&refused, 503), "temporarily_unavailable");
    assert_eq!(refused.header("retry-after"), Some("30"));
    let figures = hub.server.metrics_text();
    for line in ["used{budget=\"change_feed\"} 64", "refused_total{budget=\"change_feed\"} 1"] {
        assert!(figures.contains(&format!("peristyle_budget_{line}\n")), "{line} in {figures}");
    }
    // A closed feed makes room for another.
    drop(readers.pop());
    until("another feed can be opened", async || {
        let mut wire = request.start(address).await;
        wire.head().await.is_some_and(|head| head.status == 200)
    })
    .await;
    // The process ends the feeds instead of waiting for them.
    tokio::time::timeout(crate::support::DEADLINE, hub.server.stop()).await.expect("the server stops");
    for reader in &mut readers {
        assert_eq!(reader.next().await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_replica_sends_the_changes_of_other_replicas_and_commands() {
    // contract I37.6
    let hub = TestHub::start(Backend::Postgres).await;
    let second = setup().serve(&hub.database).await;
    hub.tokens().await;
    let request = feed_request(CLIENT, &hub.secret);
    let (mut one, _) = FeedReader::open(hub.server.address, &request).await;
    let (mut two, first) = FeedReader::open(second.address, &request).await;
    // A change through an endpoint of the first replica.
    let refresh = hub.tokens_of("ada").await["refresh_token"].clone();
    let revoked = crate::test_hub::posted("/revoke", &[("token", refresh.as_str().unwrap())]);
    assert_eq!(hub.send(&revoked.header("authorization", &basic(CLIENT, &hub.secret))).await.status(), 200);
    for reader in [&mut one, &mut two] {
        assert_eq!(reader.subject().await["format"], "complex");
    }
    // A change by a command.
    let id = hub.account.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_peristyle"));
    command.args(["account", "update", "--username", "ada", "--active", "false"]).env_clear().env("DATABASE_URL", &hub.database.url);
    let run = command.stdin(Stdio::null()).output().expect("the program runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    for reader in [&mut one, &mut two] {
        let feed_event = reader.next().await.unwrap();
        assert_eq!(part(&feed_event.data.clone().into(), 1)["sub_id"]["sub"], id);
        assert!(feed_event.id > first.id);
    }
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_that_is_far_behind_sends_all_changes_in_order() {
    // contract I37.3
    let hub = TestHub::start(Backend::Postgres).await;
    hub.tokens().await;
    let before = account_changes::range(&hub.records).await.unwrap().newest;
    // More changes than one batch, before the feed is opened.
    for _ in 0..30 {
        let mut transaction = hub.records.begin().await.unwrap();
        for _ in 0..20 {
            let row = "INSERT INTO peristyle.account_change (sequence, kind, account_id) \
                       VALUES ((SELECT last + 1 FROM peristyle.change_number), 'claims', $1)";
            let counted = "UPDATE peristyle.change_number SET last = last + 1";
            transaction.run(row, &[Bind::Id(hub.account)]).await.unwrap();
            transaction.run(counted, &[]).await.unwrap();
        }
        transaction.commit().await.unwrap();
    }
    let request = feed_request(CLIENT, &hub.secret).header("last-event-id", &before.to_string());
    let (mut reader, ready) = FeedReader::open(hub.server.address, &request).await;
    assert_eq!(ready.event, "ready");
    for number in 1..=600 {
        assert_eq!(reader.next().await.unwrap().id, before + number);
    }
    update_account(&hub.records, hub.account).await;
    assert_eq!(reader.next().await.unwrap().id, before + 601);
}
