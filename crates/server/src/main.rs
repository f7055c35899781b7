//! The binary `peristyle`.

use std::process::ExitCode;

/// Gives memory back to the system after a large answer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    peristyle::cli::run()
}
