//! The binary `peristyle`.

use std::process::ExitCode;

/// Returns memory to the system within a second or two, by a thread of its own; `.cargo/config.toml` sets its times.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    peristyle::cli::run()
}
