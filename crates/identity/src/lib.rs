//! The identity rules alone. For now: which role a process plays, and whether its private key can be used.

pub mod keys;
pub mod strategy;
