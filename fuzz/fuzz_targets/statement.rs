//! Bytes → body → merge → plan for several callers → SQL in both dialects. Nothing panics, every invariant holds.
#![no_main]

#[path = "../judge.rs"]
mod judge;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| judge::judge(bytes));
