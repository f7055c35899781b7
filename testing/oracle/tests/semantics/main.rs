//! Rules that are easy to get wrong, checked on a small data set.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod answers;
mod filters;
mod world;
