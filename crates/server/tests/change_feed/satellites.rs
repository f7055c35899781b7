//! What satellites do after a change of an account at their hub.

use identity::revocation::Revocation;
use serde_json::Value;

use crate::fixture::{HubWithSatellites, remove_roles, revoke, update_account};
use crate::pair::{NOTES, post_with_token};
use crate::support::proxy::ProxyMode;
use crate::support::{BACKENDS, Backend, until};
use crate::test_hub::{TestHub, setup, verifier};

/// Adds an account with a token that each satellite has cached.
async fn cached_account(fixture: &HubWithSatellites, name: &str) -> (uuid::Uuid, Value) {
    let id = fixture.hub.add_account(name, &["shop.note.get"]).await;
    let token = fixture.hub.tokens_of(name).await["access_token"].clone();
    fixture.wait_for_status(&token, 200).await;
    // The change that added the account may arrive late and drop it from the cache again.
    fixture.wait_for_feed().await;
    fixture.wait_for_status(&token, 200).await;
    (id, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_role_takes_effect_at_three_satellites_at_once() {
    // contract I38.1
    for backend in BACKENDS {
        let fixture = HubWithSatellites::start(backend, 3).await;
        fixture.wait_for_feed().await;
        let (ana, hers) = cached_account(&fixture, "ana").await;
        let (_, his) = cached_account(&fixture, "bo").await;
        remove_roles(&fixture.hub.records, ana).await;
        fixture.wait_for_status(&hers, 403).await;
        assert_eq!(fixture.statuses(&his).await, [200, 200, 200], "another account is not affected");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_a_new_password_and_a_closed_account_take_effect_at_once() {
    // contract I38.1
    let fixture = HubWithSatellites::start(Backend::Postgres, 3).await;
    fixture.wait_for_feed().await;
    let records = &fixture.hub.records;
    let (ana, token) = cached_account(&fixture, "ana").await;
    revoke(records, &Revocation::LogoutEverywhere(ana)).await;
    fixture.wait_for_status(&token, 401).await;
    let (bo, token) = cached_account(&fixture, "bo").await;
    revoke(records, &Revocation::PasswordChanged { account: bo, kept: None }).await;
    fixture.wait_for_status(&token, 401).await;
    let (cy, token) = cached_account(&fixture, "cy").await;
    revoke(records, &Revocation::AccountClosed(cy)).await;
    fixture.wait_for_status(&token, 401).await;
    // Revoking one family keeps the others.
    let verifier = verifier();
    let code = fixture.hub.code(&verifier, "openid").await;
    let one = fixture.hub.redeem(&code, &verifier).await.good();
    let other = fixture.hub.tokens().await;
    for tokens in [&one, &other] {
        fixture.wait_for_status(&tokens["access_token"], 200).await;
    }
    let family = crate::test_hub::part(&one["access_token"], 1)["sid"].as_str().unwrap().parse().unwrap();
    revoke(records, &Revocation::FamilyRevoked(family)).await;
    fixture.wait_for_status(&one["access_token"], 401).await;
    assert_eq!(fixture.statuses(&other["access_token"]).await, [200, 200, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_uses_its_cache_while_the_feed_is_down_and_then_catches_up() {
    // contract I38.2, I38.3
    let fixture = HubWithSatellites::start(Backend::Sqlite, 3).await;
    fixture.wait_for_feed().await;
    let (ana, token) = cached_account(&fixture, "ana").await;
    let follows = |number| {
        let line = format!("peristyle_satellite_follows_change_feed {number}\n");
        fixture.satellites.iter().all(|satellite| satellite.metrics_text().contains(&line))
    };
    assert!(follows(1));
    fixture.proxy.set(ProxyMode::Disconnect);
    until("the satellites notice", async || follows(0)).await;
    remove_roles(&fixture.hub.records, ana).await;
    for _ in 0..20 {
        update_account(&fixture.hub.records, ana).await;
    }
    assert_eq!(fixture.statuses(&token).await, [200, 200, 200], "the cache has not expired");
    fixture.proxy.set(ProxyMode::Forward);
    fixture.wait_for_status(&token, 403).await;
    fixture.wait_for_feed().await;
    assert!(follows(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_lost_when_the_hub_restarts() {
    // contract I38.2
    let fixture = HubWithSatellites::start(Backend::Sqlite, 2).await;
    fixture.wait_for_feed().await;
    let (ana, token) = cached_account(&fixture, "ana").await;
    let HubWithSatellites { hub: TestHub { server, records, database, .. }, proxy, satellites, databases: _kept } = fixture;
    let answers = async || {
        [post_with_token(&satellites[0], NOTES, &token).await.status(), post_with_token(&satellites[1], NOTES, &token).await.status()]
    };
    server.stop().await;
    proxy.set(ProxyMode::Disconnect);
    // A command can change accounts while no hub runs.
    remove_roles(&records, ana).await;
    assert_eq!(answers().await, [200, 200], "the cache has not expired");
    let next = setup().serve(&database).await;
    proxy.redirect(next.address.to_string());
    proxy.set(ProxyMode::Forward);
    until("the satellites get the change from the next hub", async || answers().await == [403, 403]).await;
    next.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purged_change_makes_satellites_drop_their_cache() {
    // contract I38.3
    let fixture = HubWithSatellites::start(Backend::Sqlite, 1).await;
    fixture.wait_for_feed().await;
    let (ana, token) = cached_account(&fixture, "ana").await;
    fixture.proxy.set(ProxyMode::Disconnect);
    remove_roles(&fixture.hub.records, ana).await;
    // Purge the change, so that the feed cannot send it.
    assert!(store::hub_records::purge::purge(&fixture.hub.records, crate::test_hub::now().plus(2 * 86_400)).await.problems.is_empty());
    assert_eq!(fixture.statuses(&token).await, [200]);
    fixture.proxy.set(ProxyMode::Forward);
    until("the satellite looks the account up again", async || fixture.statuses(&token).await != [200]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audience_that_is_not_a_client_does_not_affect_the_feed() {
    // contract I38.1, I37.4
    let hub = TestHub::start(Backend::Sqlite).await;
    let proxy = crate::support::proxy::Proxy::to(hub.server.address.to_string()).await;
    let mut fixture = HubWithSatellites::with_hub(hub, proxy, 0).await;
    let many = (0..100).map(|number| format!("sibling-{number}"));
    for audiences in [vec![crate::test_hub::ISSUER.to_owned(), "no client".to_owned(), "sibling".to_owned()], many.collect()] {
        let mut settings = crate::pair::settings(fixture.proxy.address, &fixture.hub.secret);
        settings.audiences = audiences;
        let database = crate::pair::database().await;
        fixture.satellites.push(crate::pair::setup(settings).serve(&database).await);
        fixture.databases.push(database);
    }
    fixture.wait_for_feed().await;
}
