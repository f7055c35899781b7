//! Runs the fuzz target on a few thousand fixed mutations of the golden cases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../fuzz/judge.rs"]
mod judge;
mod support;

use oracle::Random;
use support::case::{GoldenCase, cases, themes};

const MUTATIONS: usize = 4_000;
/// Larger bodies are cut; this is enough to reach most bounds.
const LARGEST: usize = 4_096;

fn seed(case: &GoldenCase) -> Vec<u8> {
    let resources = judge::catalog().resources();
    let resource = resources.iter().position(|resource| resource.full_name == case.resource).expect("a resource");
    let operation = match case.operation {
        oracle::Operation::List => 0,
        oracle::Operation::Paginate => 1,
        oracle::Operation::KeysetPaginate => 3,
        oracle::Operation::Find | oracle::Operation::FindById(_) => 2,
    };
    let mut bytes = vec![u8::try_from(resource + operation * resources.len()).expect("a small number")];
    bytes.extend_from_slice(case.body().as_bytes());
    bytes
}

fn corpus() -> Vec<Vec<u8>> {
    themes().iter().flat_map(|theme| cases(theme)).map(|case| seed(&case)).collect()
}

/// Keys, operators, names and edge values.
const WORDS: [&str; 32] = [
    "\"where\"",
    "\"relations\"",
    "\"order\"",
    "\"aggregation\"",
    "\"and\"",
    "\"or\"",
    "\"not\"",
    "\"eq\"",
    "\"in\"",
    "\"between\"",
    "\"iLike\"",
    "\"contains\"",
    "\"RAW\"",
    "\"customers\"",
    "\"customer.name\"",
    "\"orders\"",
    "\"lines\"",
    "\"parent\"",
    "\"email\"",
    "\"apiKey\"",
    "null",
    "true",
    "[]",
    "{}",
    "1e400",
    "-0",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "10001",
    "\"$account.id\"",
    "\"\\\\\"",
    "9223372036854775808",
];

fn below(random: &mut Random, bound: usize) -> usize {
    (random.draw() % bound.max(1) as u64) as usize
}

fn mutated(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = corpus[below(random, corpus.len())].clone();
    bytes.truncate(LARGEST);
    for _ in 0..=below(random, 3) {
        let at = below(random, bytes.len());
        let end = (at + below(random, 12)).min(bytes.len());
        match below(random, 7) {
            0 => bytes[at] ^= 1 << below(random, 8),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            3 | 4 => drop(bytes.splice(at..end, WORDS[below(random, WORDS.len())].bytes())),
            5 => bytes.truncate(at),
            _ => {
                let other = &corpus[below(random, corpus.len())];
                let from = below(random, other.len());
                let piece = other[from..(from + 40).min(other.len())].to_vec();
                bytes.splice(at..end, piece);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

#[test]
fn the_golden_cases_hold_every_invariant() {
    for bytes in corpus() {
        judge::judge(&bytes);
    }
}

// trap 19, contract Q11.4, contract Q14.1
#[test]
fn mutated_statements_hold_every_invariant() {
    let corpus = corpus();
    let mut random = Random::new(20_240_229);
    for _ in 0..MUTATIONS {
        judge::judge(&mutated(&mut random, &corpus));
    }
}
