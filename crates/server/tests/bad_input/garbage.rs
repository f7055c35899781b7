//! Random mutations of valid bodies: the server never fails, and both databases answer the same.

use oracle::Random;

use crate::Both;

const SEEDS: [&str; 8] = [
    r#"{"query":{"where":{"and":[{"name":{"iLike":"%a%"}},{"or":[{"visits":{"between":[1,5]}},{"isVip":{"eq":true}}]}]},"limit":10}}"#,
    r#"{"query":{"where":{"orders":{"total":{"gt":"5.00"},"lines":{"sku":{"in":["plain","x"]}}}},"relations":{"orders":{"limit":2,"relations":{"lines":true}}}}}"#,
    r#"{"query":{"aggregation":{"fields":[{"fn":"sum","field":"balance","as":"s"},{"fn":"count","field":"*"}],"groupBy":["status"]},"order":[{"field":"status","dir":"desc"}]}}"#,
    r#"{"query":{"order":[{"field":"createdAt","dir":"desc"},{"field":"id"}],"offset":1,"limit":2},"constraint":{"where":{"status":{"notIn":["gone",null]}}}}"#,
    r#"{"query":{"where":{"not":{"tags":{"contains":["new"]},"profile":{"overlap":[1,"x",null]}}}}}"#,
    r#"{"query":{"where":{"code":{"eq":"aaaaaaaa-0000-4000-8000-000000000001"},"bornOn":{"lt":"2001-01-01"},"wakesAt":{"gte":"06:30:00"}}}}"#,
    r#"{"query":{"where":{"balance":{"in":["10.50",0,1e2]},"score":{"lte":0.5},"id":{"gt":-9223372036854775808}}}}"#,
    r#"{"constraint":{"where":{"createdAt":{"isNull":false}},"relations":{"orders":{"where":{"customer":{}}}},"limit":3},"query":null}"#,
];

const PIECES: [&str; 34] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "null",
    "true",
    "-1",
    "0",
    "1e400",
    "1e-400",
    "9223372036854775808",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "{}",
    "[]",
    "\"RAW\"",
    "\"name\"",
    "\"orders\"",
    "\"apiKey\"",
    "\"email\"",
    "\"eq\"",
    "\"iLike\"",
    "\"\\\\\"",
    "\"a'b;--\"",
    "0.1",
    "\"2024-02-30\"",
    "\"where\"",
    "\"not\"",
    "\u{1F980}",
    " ",
];

fn mutated(random: &mut Random, body: &str) -> Vec<u8> {
    let mut bytes = body.as_bytes().to_vec();
    for _ in 0..=random.below(2) {
        let place = random.below(bytes.len().max(1));
        match random.below(12) {
            0 => bytes.truncate(place),
            1 if !bytes.is_empty() => bytes[place] = random.draw() as u8,
            2 => _ = bytes.splice(place..place, random.pick(&PIECES).bytes()),
            3 => _ = bytes.splice(place..(place + random.below(12)).min(bytes.len()), random.pick(&PIECES).bytes()),
            4 => {
                let end = (place + random.below(40)).min(bytes.len());
                let copy = bytes[place..end].to_vec();
                bytes.splice(place..place, copy);
            }
            5 => bytes.extend_from_slice(b" \n"),
            _ => swap_token(random, &mut bytes),
        }
    }
    bytes
}

/// Replaces one whole token, so that the result is often still JSON.
fn swap_token(random: &mut Random, bytes: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let starts: Vec<usize> = text.match_indices(['"', '[', '{']).map(|(place, _)| place).collect();
    let Some(&start) = random.choose(&starts) else { return };
    let close = match text.as_bytes()[start] {
        b'[' => ']',
        b'{' => '}',
        _ => '"',
    };
    let Some(end) = text[start + 1..].find(close).map(|end| start + 1 + end + 1) else { return };
    *bytes = format!("{}{}{}", &text[..start], random.pick(&PIECES), &text[end..]).into_bytes();
}

// contract E2.1, contract Q14.3
#[tokio::test]
async fn mutated_bodies_never_make_the_server_fail() {
    let both = Both::open().await;
    let mut random = Random::new(20_261_115);
    let (mut good, mut refused) = (0, 0);
    for _ in 0..600 {
        let seed: &str = random.pick::<&str>(&SEEDS);
        let body = mutated(&mut random, seed);
        let operation = *random.pick(&["list", "paginate", "find", "find/1"]);
        let answer = both.post(&format!("/api/shop/customers/{operation}"), &body).await;
        match answer.status() {
            200 => good += 1,
            404 => assert!(operation.starts_with("find"), "{}", String::from_utf8_lossy(&body)),
            400 => {
                refused += 1;
                answer.faults();
            }
            other => panic!("{other} for {}", String::from_utf8_lossy(&body)),
        }
    }
    assert!(good > 30 && refused > 200, "the garbage has gone stale: {good} good, {refused} refused");
}

// contract E2.1
#[tokio::test]
async fn the_seeds_are_valid() {
    let both = Both::open().await;
    for seed in SEEDS {
        both.post("/api/shop/customers/list", seed).await.good();
    }
}
