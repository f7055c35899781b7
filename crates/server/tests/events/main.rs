//! Changes of accounts as they reach those who cached them: the stream of a hub, what satellites do with it, and what happens when it
//! breaks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod effect;
mod forgery;
mod house;
mod impostor;
#[path = "../satellite/pair.rs"]
#[allow(dead_code)]
mod pair;
mod silence;
#[path = "../hub/test_hub.rs"]
#[allow(dead_code)]
mod test_hub;
mod stream;
#[path = "../support/mod.rs"]
mod support;
