//! One test per program of `tests/abi` and compiler.
//!
//! The runtime under test is the one embedded in the product, or the library
//! that `FATHOMP_RUNTIME_UNDER_TEST` names. With `FATHOMP_REQUIRE_ALL=1` a
//! missing compiler fails its programs instead of skipping them.
// A program of its own: `nodes` and `programs` give their tests the same names.
#![forbid(unsafe_code)]

use fathomp_abi_tests::program::{Compiler, Program};
use fathomp_abi_tests::{compare, program, trials};
use libtest_mimic::{Arguments, Failed};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// What all trials share.
struct Shared {
    runtime: Result<PathBuf, String>,
}

fn runtime() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("FATHOMP_RUNTIME_UNDER_TEST") {
        return PathBuf::from(&path)
            .canonicalize()
            .map_err(|e| format!("FATHOMP_RUNTIME_UNDER_TEST={}: {e}", path.display()));
    }
    fathomp_runtime::unpack()
        .map(|u| u.library)
        .map_err(|e| e.to_string())
}

fn check(program: &Program, compiler: Compiler, shared: &Shared) -> Result<(), Failed> {
    let runtime = shared.runtime.as_ref().map_err(Failed::from)?;
    let directory = tempfile::Builder::new()
        .prefix("fathomp-abi-")
        .tempdir()
        .map_err(|e| format!("no temporary directory: {e}"))?;
    compare::check(program, compiler, runtime, directory.path())
        .map_err(|failure| Failed::from(failure.to_string()))
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let programs = match program::discover(&program::directory()) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("the programs of tests/abi cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    let shared = Arc::new(Shared { runtime: runtime() });
    let trials = trials::of(programs.iter(), &shared, check);
    libtest_mimic::run(&arguments, trials).exit_code()
}
