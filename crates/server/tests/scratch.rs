#![allow(clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod support;
use support::*;
use serde_json::*;
#[tokio::test]
async fn scratch() {
    for place in PLACES {
        let (server, _d) = shop::open(place).await;
        let leaves = |count: usize| -> Vec<Value> { (0..count).map(|number| json!({"id": {"eq": number}})).collect() };
        for n in [100, 200, 400, 800] {
            let halves = json!({"query": {"where": {"or": leaves(n)}}, "constraint": {"where": {"or": leaves(n)}}});
            let t = std::time::Instant::now();
            let a = server.post("/api/shop/customers/list", halves.to_string()).await;
            println!("{place:?} halves {n}: {:?} {}", t.elapsed(), a.status());
            let one = json!({"query": {"where": {"or": leaves(n)}}});
            let t = std::time::Instant::now();
            let a = server.post("/api/shop/customers/list", one.to_string()).await;
            println!("{place:?} one {n}: {:?} {}", t.elapsed(), a.status());
        }
        let chain = |depth: usize| {
            (0..depth).rev().fold(json!(true), |inner, level| {
                let name = if level % 2 == 0 { "orders" } else { "customer" };
                if inner == json!(true) { json!({name: true}) } else { json!({name: {"relations": inner}}) }
            })
        };
        for n in [2, 4,6,8,10] {
            let t = std::time::Instant::now();
            let a = server.post("/api/shop/customers/list", json!({"query":{"relations": chain(n)}}).to_string()).await;
            println!("{place:?} chain {n}: {:?} {} {}", t.elapsed(), a.status(), a.body.len());
        }
    }
}
