//! What scans say, held against programs of another compiler and against callgrind.

mod clang;
#[path = "../common/mod.rs"]
mod common;
mod truth;

use std::process::ExitCode;

fn main() -> ExitCode {
    let all = [clang::trials(), truth::trials()]
        .into_iter()
        .flatten()
        .collect();
    fathomp_requirements::run(all)
}
