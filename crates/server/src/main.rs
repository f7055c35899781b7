//! The binary `peristyle`.

use std::process::ExitCode;

/// Gives memory back to the system within a second or two, while the process is idle too: it has a thread for that, and
/// `.cargo/config.toml` sets its times.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    peristyle::cli::run()
}
