//! The stream of a hub, over the wire.

use std::process::{Command, Stdio};

use identity::client::{ClientId, GrantType};
use identity::keys::KeySet;
use identity::revocation::Revocation;
use identity::token::security_event::{ChangeKind, Subject};
use identity::token::{End, Expectation, Unverified};
use serde_json::json;
use store::hub_records::Bind;
use store::hub_records::account_changes;

use crate::house::{Ear, Told, end, events, take_rights, tokens_of, touch};
use crate::test_hub::{CLIENT, ISSUER, TestHub, basic, bearer, error, now, part, setup};
use crate::support::{PLACES, Place, Request, get, post, until};

#[tokio::test(flavor = "multi_thread")]
async fn only_a_client_that_shows_its_secret_hears_anything() {
    // contract I37.1
    let hub = TestHub::start(Place::Sqlite).await;
    let closed = hub.add_client("closed", &GrantType::ALL, None).await;
    let mut client = store::hub_records::clients::by_id(&hub.records, "closed").await.unwrap().unwrap();
    client.is_active = false;
    store::hub_records::clients::update(&hub.records, &client, now()).await.unwrap();
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
        let (_, first) = Ear::open(hub.server.address, &get(path).header("authorization", &basic(CLIENT, &hub.secret))).await;
        assert_eq!(first.event, "reset");
    }
    for query in ["audience=a%20b", "audience=a&audience=b", &format!("audience={}", vec!["a"; 65].join(","))] {
        let request = get(&format!("/events?{query}")).header("authorization", &basic(CLIENT, &hub.secret));
        assert_eq!(error(&hub.send(&request).await, 400), "invalid_request", "{query}");
    }
    let secret = get(&format!("/events?client_id={CLIENT}&client_secret={}", hub.secret));
    assert_eq!(error(&hub.send(&secret).await, 400), "invalid_request", "attack 30: no secret stands in an address");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_told_at_once_as_a_token_that_only_its_client_believes() {
    // contract I37.2, attack 25
    for place in PLACES {
        let hub = TestHub::start(place).await;
        hub.tokens().await;
        let request = events(CLIENT, &hub.secret).header("accept-encoding", "gzip, zstd");
        let mut wire = request.start(hub.server.address).await;
        let head = wire.head().await.unwrap();
        assert_eq!((head.header("cache-control"), head.header("content-encoding")), (Some("no-store"), None), "{head:?}");
        let mut ear = Ear(wire);
        let first = ear.next().await.unwrap();
        take_rights(&hub.records, hub.account).await;
        let told = ear.next().await.unwrap();
        assert_eq!((told.id, told.event.as_str()), (first.id + 1, "secevent"));
        let keys = hub.server.get("/.well-known/jwks.json").await;
        let (keys, _) = KeySet::read(&keys.body).unwrap();
        let token = Unverified::read(&told.data).unwrap();
        let key = keys.find(token.key_id()).expect("a published key");
        let expected = Expectation { issuer: ISSUER, audiences: &[CLIENT], now: now(), end: End::Issuers };
        let event = token.verify_security_event(key, &expected).unwrap().into_claims();
        assert_eq!((event.sequence, event.happening, event.subject), (told.id, ChangeKind::ClaimsChange, Subject::Account(hub.account)));
        let other = Expectation { audiences: &["other", ISSUER], ..expected };
        assert!(token.verify_security_event(key, &other).is_err());
        // It opens nothing.
        for request in [get("/api/iam/me"), post("/api/shop/opens/list", ""), get("/userinfo")] {
            assert_eq!(hub.send(&request.header("authorization", &format!("Bearer {}", told.data))).await.status(), 401);
        }
        let cookie = get("/").header("cookie", &format!("hub_session={}", told.data));
        assert_eq!(hub.send(&cookie).await.status(), 303, "not signed in by it");
        let document = hub.server.get("/.well-known/openid-configuration").await.good();
        assert_eq!(document["events_endpoint"], format!("{ISSUER}/events"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_where_it_broke_off_and_says_when_it_cannot() {
    // contract I37.3
    for place in PLACES {
        let hub = TestHub::start(place).await;
        hub.tokens().await;
        let address = hub.server.address;
        let request = events(CLIENT, &hub.secret);
        let (ear, first) = Ear::open(address, &request).await;
        drop(ear);
        for _ in 0..3 {
            touch(&hub.records, hub.account).await;
        }
        for resumed in [
            request.clone().header("last-event-id", &first.id.to_string()),
            get(&format!("/events?after={}", first.id)).header("authorization", &basic(CLIENT, &hub.secret)),
        ] {
            let (mut ear, ready) = Ear::open(address, &resumed).await;
            assert_eq!((ready.id, ready.event.as_str()), (first.id, "ready"));
            for number in 1..=3 {
                assert_eq!(ear.next().await.unwrap().id, first.id + number);
            }
        }
        let newest = first.id + 3;
        for unknown in [(newest + 1).to_string(), "-1".to_owned(), "x".to_owned(), i64::MAX.to_string(), String::new()] {
            let (_, reset) = Ear::open(address, &request.clone().header("last-event-id", &unknown)).await;
            assert_eq!((reset.id, reset.event.as_str()), (newest, "reset"), "{unknown}");
        }
        // What is no longer kept cannot be told.
        store::hub_records::purge::purge(&hub.records, now().plus(2 * 86_400)).await.unwrap();
        let (_, reset) = Ear::open(address, &request.clone().header("last-event-id", &first.id.to_string())).await;
        assert_eq!((reset.id, reset.event.as_str()), (newest, "reset"));
        let (_, ready) = Ear::open(address, &request.clone().header("last-event-id", &newest.to_string())).await;
        assert_eq!(ready, Told { id: newest, event: "ready".to_owned(), data: newest.to_string() });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_of_accounts_that_it_knows_and_of_no_others() {
    // contract I37.4
    let hub = TestHub::start(Place::Sqlite).await;
    let secret = hub.add_client("other", &GrantType::ALL, None).await;
    let stranger = hub.add_account("bo", &[]).await;
    hub.tokens().await;
    let address = hub.server.address;
    let (mut own, _) = Ear::open(address, &events(CLIENT, &hub.secret)).await;
    let (mut other, _) = Ear::open(address, &events("other", &secret)).await;
    let siblings = get(&format!("/events?audience={CLIENT},third")).header("authorization", &basic("other", &secret));
    let (mut sibling, _) = Ear::open(address, &siblings).await;
    touch(&hub.records, stranger).await;
    touch(&hub.records, hub.account).await;
    let ada = json!({ "format": "iss_sub", "iss": ISSUER, "sub": hub.account.to_string() });
    assert_eq!(own.subject().await, ada, "nobody granted it anything of the stranger's");
    assert_eq!(sibling.subject().await, ada, "it accepts tokens of the client");
    // From here on the stranger is known to the other client, and to nobody else.
    let pairs = password_form("bo");
    hub.send(&hub.token_request(&pairs).header("authorization", &basic("other", &secret))).await.good();
    touch(&hub.records, stranger).await;
    let bo = json!({ "format": "iss_sub", "iss": ISSUER, "sub": stranger.to_string() });
    assert_eq!((other.subject().await, sibling.subject().await), (bo.clone(), bo));
    // A sign-in of one client is nobody else's business, though all know the account.
    let pairs = password_form("ada");
    let tokens = hub.send(&hub.token_request(&pairs).header("authorization", &basic("other", &secret))).await.good();
    let family = part(&tokens["access_token"], 1)["sid"].clone();
    end(&hub.records, &Revocation::FamilyRevoked(family.as_str().unwrap().parse().unwrap())).await;
    assert_eq!(other.subject().await["session"]["id"], family);
    touch(&hub.records, hub.account).await;
    assert_eq!((own.subject().await, other.subject().await), (ada.clone(), ada));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_client_and_with_the_process_and_there_are_not_too_many() {
    // contract I37.5
    let hub = TestHub::start(Place::Sqlite).await;
    let secret = hub.add_client("other", &GrantType::ALL, None).await;
    let address = hub.server.address;
    let (mut closed, _) = Ear::open(address, &events("other", &secret)).await;
    let mut client = store::hub_records::clients::by_id(&hub.records, "other").await.unwrap().unwrap();
    client.is_active = false;
    store::hub_records::clients::update(&hub.records, &client, now()).await.unwrap();
    end(&hub.records, &Revocation::ClientClosed(ClientId::parse("other").unwrap())).await;
    let last = closed.subject().await;
    assert_eq!(last, json!({ "format": "complex", "application": { "format": "opaque", "id": "other" } }));
    assert_eq!(closed.next().await, None);
    assert_eq!(error(&hub.send(&events("other", &secret)).await, 401), "invalid_client");

    let request = events(CLIENT, &hub.secret);
    let mut ears = Vec::new();
    for _ in 0..64 {
        ears.push(Ear::open(address, &request).await.0);
    }
    let refused = hub.send(&request).await;
    assert_eq!(error(&refused, 503), "temporarily_unavailable");
    assert!(refused.header("retry-after").is_some());
    // Whoever leaves makes room.
    drop(ears.pop());
    until("a place", async || {
        let mut wire = request.start(address).await;
        wire.head().await.is_some_and(|head| head.status == 200)
    })
    .await;
    // The end of the process does not wait for them, and is a proper end.
    tokio::time::timeout(crate::support::DEADLINE, hub.server.stop()).await.expect("it ends");
    for ear in &mut ears {
        assert_eq!(ear.next().await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_replica_or_a_command_changes_is_told_by_each() {
    // contract I37.6
    let hub = TestHub::start(Place::Postgres).await;
    let second = setup().serve(&hub.database).await;
    hub.tokens().await;
    let request = events(CLIENT, &hub.secret);
    let (mut one, _) = Ear::open(hub.server.address, &request).await;
    let (mut two, first) = Ear::open(second.address, &request).await;
    // Changed through the first, by its own endpoint: signing out of what the password grant gave.
    let refresh = tokens_of(&hub, "ada").await["refresh_token"].clone();
    let revoked = crate::test_hub::posted("/revoke", &[("token", refresh.as_str().unwrap())]);
    assert_eq!(hub.send(&revoked.header("authorization", &basic(CLIENT, &hub.secret))).await.status(), 200);
    for ear in [&mut one, &mut two] {
        assert_eq!(ear.subject().await["format"], "complex");
    }
    // Changed by a command, in a process of its own.
    let id = hub.account.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_peristyle"));
    command.args(["account", "update", "--username", "ada", "--active", "false"]).env_clear().env("DATABASE_URL", &hub.database.url);
    let run = command.stdin(Stdio::null()).output().expect("the program runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    for ear in [&mut one, &mut two] {
        let told = ear.next().await.unwrap();
        assert_eq!(part(&told.data.clone().into(), 1)["sub_id"]["sub"], id);
        assert!(told.id > first.id);
    }
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_far_behind_tells_everything_in_order() {
    // contract I37.3
    let hub = TestHub::start(Place::Postgres).await;
    hub.tokens().await;
    let before = account_changes::range(&hub.records).await.unwrap().newest;
    // More than is read at once, and all before anybody listens.
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
    let request = events(CLIENT, &hub.secret).header("last-event-id", &before.to_string());
    let (mut ear, ready) = Ear::open(hub.server.address, &request).await;
    assert_eq!(ready.event, "ready");
    for number in 1..=600 {
        assert_eq!(ear.next().await.unwrap().id, before + number);
    }
    touch(&hub.records, hub.account).await;
    assert_eq!(ear.next().await.unwrap().id, before + 601);
}
