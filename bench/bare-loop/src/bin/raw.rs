//! Measures the raw cost of tokens and passwords. On all cores: Argon2id with a hub's parameters. On one core: an RSA-2048 signature, its
//! verification, and the whole validation of distinct access tokens.
//!
//! ```text
//! raw SECONDS
//! ```

#![allow(clippy::disallowed_methods, reason = "a measure is a program of its own and makes what it measures")]

use std::error::Error;
use std::time::{Duration, Instant};

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256};
use identity::client::ClientId;
use identity::keys::{KeyLength, PrivateKey};
use identity::password::{Password, PasswordHash, verify};
use identity::timestamp::Timestamp;
use identity::token::{AccessClaims, Expectation, ExpiryClock, RegisteredClaims, Unverified, sign};
use uuid::Uuid;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TOKENS: usize = 2000;
const ISSUER: &str = "https://hub.example.com";
const AUDIENCE: &str = "shop";
/// As long as the signed part of a token.
const MESSAGE: &[u8] = &[b'm'; 560];

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: f64 = std::env::args().nth(1).ok_or("usage: raw SECONDS")?.parse()?;
    let span = Duration::try_from_secs_f64(seconds)?;
    println!(
        r#"{{"argon2":{},"sign":{},"verify":{},"validate":{}}}"#,
        passwords(span)?,
        signatures(span)?,
        verifications(span)?,
        validations(span)?
    );
    Ok(())
}

fn passwords(span: Duration) -> Result<f64, Box<dyn Error>> {
    let password = || Password::presented("correct horse battery staple");
    let hash = PasswordHash::make(&password()?, [7; 16])?;
    let cores = std::thread::available_parallelism()?.get();
    Ok(std::thread::scope(|scope| {
        let work = || rate(span, || Some(verify(Some(&hash), &password().ok()?)));
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_default()).sum()
    }))
}

fn signatures(span: Duration) -> Result<f64, Box<dyn Error>> {
    let (pair, random) = (KeyPair::generate(KeySize::Rsa2048)?, SystemRandom::new());
    let mut signature = vec![0; pair.public_modulus_len()];
    Ok(rate(span, || pair.sign(&RSA_PKCS1_SHA256, &random, MESSAGE, &mut signature).ok()))
}

fn verifications(span: Duration) -> Result<f64, Box<dyn Error>> {
    let pair = KeyPair::generate(KeySize::Rsa2048)?;
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), MESSAGE, &mut signature)?;
    let public = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_der()?.as_ref())?;
    Ok(rate(span, || public.verify_sig(MESSAGE, &signature).ok()))
}

fn validations(span: Duration) -> Result<f64, Box<dyn Error>> {
    let key = PrivateKey::generate(KeyLength::Bits2048)?;
    let client = ClientId::parse(AUDIENCE).map_err(|_| "no client id")?;
    let now = Timestamp::from_unix(1_800_000_000);
    let token = |_| {
        let common = RegisteredClaims {
            issuer: ISSUER.to_owned(),
            subject: Uuid::new_v4(),
            audiences: vec![AUDIENCE.to_owned(), ISSUER.to_owned()],
            issued_at: now,
            expires_at: now.plus(3600),
        };
        sign(&AccessClaims { common, client: client.clone(), family: Uuid::new_v4(), id: Uuid::new_v4(), scope: None }, &key)
    };
    let tokens: Vec<String> = (0..TOKENS).map(token).collect::<Result<_, _>>()?;
    let expected = Expectation { issuer: ISSUER, audiences: &[AUDIENCE], now, end: ExpiryClock::Issuers };
    let mut presented = tokens.iter().cycle();
    Ok(rate(span, || Unverified::read(presented.next()?).ok()?.verify_bearer(key.public(), &expected).ok()))
}

/// How often a second something can be done.
fn rate<T>(span: Duration, mut work: impl FnMut() -> Option<T>) -> f64 {
    let start = Instant::now();
    let mut done = 0.0;
    while start.elapsed() < span {
        if std::hint::black_box(work()).is_some() {
            done += 1.0;
        }
    }
    done / start.elapsed().as_secs_f64()
}
