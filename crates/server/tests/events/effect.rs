//! What satellites do when something changes at their hub.

use identity::revocation::Revocation;
use serde_json::Value;

use crate::house::{House, end, take_rights, tokens_of, touch};
use crate::pair::{NOTES, post_with_token};
use crate::test_hub::{TestHub, setup, verifier};
use crate::support::proxy::ProxyMode;
use crate::support::{PLACES, Place, until};

/// Somebody with a token that every satellite has cached.
async fn known(house: &House, name: &str) -> (uuid::Uuid, Value) {
    let id = house.hub.add_account(name, &["shop.note.get"]).await;
    let token = tokens_of(&house.hub, name).await["access_token"].clone();
    house.until(&token, 200).await;
    // Word of how the account was made may still be under way, and would make a satellite forget it again.
    house.hears().await;
    house.until(&token, 200).await;
    (id, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_taken_away_at_the_hub_is_refused_at_three_satellites_at_once() {
    // contract I38.1
    for place in PLACES {
        let house = House::with(place, 3).await;
        house.hears().await;
        let (ana, hers) = known(&house, "ana").await;
        let (_, his) = known(&house, "bo").await;
        take_rights(&house.hub.records, ana).await;
        house.until(&hers, 403).await;
        assert_eq!(house.ask(&his).await, [200, 200, 200], "whom it does not concern is not disturbed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_a_new_password_and_a_closed_account_count_at_once() {
    // contract I38.1
    let house = House::with(Place::Postgres, 3).await;
    house.hears().await;
    let records = &house.hub.records;
    let (ana, token) = known(&house, "ana").await;
    end(records, &Revocation::LogoutEverywhere(ana)).await;
    house.until(&token, 401).await;
    let (bo, token) = known(&house, "bo").await;
    end(records, &Revocation::PasswordChanged { account: bo, kept: None }).await;
    house.until(&token, 401).await;
    let (cy, token) = known(&house, "cy").await;
    end(records, &Revocation::AccountClosed(cy)).await;
    house.until(&token, 401).await;
    // One sign-in of several: the others go on.
    let verifier = verifier();
    let code = house.hub.code(&verifier, "openid").await;
    let one = house.hub.redeem(&code, &verifier).await.good();
    let other = house.hub.tokens().await;
    for tokens in [&one, &other] {
        house.until(&tokens["access_token"], 200).await;
    }
    let family = crate::test_hub::part(&one["access_token"], 1)["sid"].as_str().unwrap().parse().unwrap();
    end(records, &Revocation::FamilyRevoked(family)).await;
    house.until(&one["access_token"], 401).await;
    assert_eq!(house.ask(&other["access_token"]).await, [200, 200, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_leaves_the_cache_to_its_time_and_misses_nothing_when_it_is_back() {
    // contract I38.2, I38.3
    let house = House::with(Place::Sqlite, 3).await;
    house.hears().await;
    let (ana, token) = known(&house, "ana").await;
    house.proxy.set(ProxyMode::Disconnect);
    take_rights(&house.hub.records, ana).await;
    for _ in 0..20 {
        touch(&house.hub.records, ana).await;
    }
    assert_eq!(house.ask(&token).await, [200, 200, 200], "nobody could tell, and the cache is not over");
    house.proxy.set(ProxyMode::Forward);
    house.until(&token, 403).await;
    house.hears().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_restarts_loses_no_change() {
    // contract I38.2
    let house = House::with(Place::Sqlite, 2).await;
    house.hears().await;
    let (ana, token) = known(&house, "ana").await;
    let House { hub: TestHub { server, records, database, .. }, proxy, satellites, databases: _kept } = house;
    let answers = async || [post_with_token(&satellites[0], NOTES, &token).await.status(), post_with_token(&satellites[1], NOTES, &token).await.status()];
    server.stop().await;
    proxy.set(ProxyMode::Disconnect);
    // As a command does while no hub runs.
    take_rights(&records, ana).await;
    assert_eq!(answers().await, [200, 200], "not heard yet");
    let next = setup().serve(&database).await;
    proxy.redirect(next.address.to_string());
    proxy.set(ProxyMode::Forward);
    until("heard of the next hub", async || answers().await == [403, 403]).await;
    next.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_whose_numbers_are_others_makes_satellites_ask_again() {
    // contract I38.3
    let house = House::with(Place::Sqlite, 1).await;
    house.hears().await;
    let (ana, token) = known(&house, "ana").await;
    house.proxy.set(ProxyMode::Disconnect);
    take_rights(&house.hub.records, ana).await;
    // So long ago that nobody can be told of it any more.
    store::hub_records::purge::purge(&house.hub.records, crate::test_hub::now().plus(2 * 86_400)).await.unwrap();
    assert_eq!(house.ask(&token).await, [200]);
    house.proxy.set(ProxyMode::Forward);
    until("asked again", async || house.ask(&token).await != [200]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audience_that_is_no_client_takes_nothing_from_what_is_heard() {
    // contract I38.1, I37.4
    let hub = TestHub::start(Place::Sqlite).await;
    let proxy = crate::support::proxy::Proxy::to(hub.server.address.to_string()).await;
    let mut house = House::around(hub, proxy, 0).await;
    let many = (0..100).map(|number| format!("sibling-{number}"));
    for audiences in [vec![crate::test_hub::ISSUER.to_owned(), "no client".to_owned(), "sibling".to_owned()], many.collect()] {
        let mut settings = crate::pair::settings(house.proxy.address, &house.hub.secret);
        settings.audiences = audiences;
        let database = crate::pair::database().await;
        house.satellites.push(crate::pair::setup(settings).serve(&database).await);
        house.databases.push(database);
    }
    house.hears().await;
}
