//! One test per program of `tests/abi` and compiler, on several nodes.
//!
//! The runtime under test is the cluster edition embedded in the product, or the
//! library that `FATHOMP_CLUSTER_UNDER_TEST` names. Each program runs on several sizes,
//! over both protocols; every day what clang compiled runs on the last one alone, since nodes do not
//! know which compiler a construct came from. With `FATHOMP_REQUIRE_ALL=1` a missing compiler
//! fails its programs instead of skipping them.
// A program of its own: `nodes` and `programs` give their tests the same names.
#![forbid(unsafe_code)]

use fathomp_abi_tests::compare::Cluster;
use fathomp_abi_tests::program::{Compiler, OnNodes, Program};
use fathomp_abi_tests::{compare, program, trials};
use fathomp_launch::Protocol;
use libtest_mimic::{Arguments, Failed};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

/// What all trials share.
struct Shared {
    runtime: Result<PathBuf, String>,
}

fn runtime() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("FATHOMP_CLUSTER_UNDER_TEST") {
        return PathBuf::from(&path)
            .canonicalize()
            .map_err(|e| format!("FATHOMP_CLUSTER_UNDER_TEST={}: {e}", path.display()));
    }
    fathomp_runtime::unpack()
        .map(|u| u.cluster_library)
        .map_err(|e| e.to_string())
}

/// Nodes and threads per node: with `FATHOMP_ALL_TESTS=1` all of them, else those of more than
/// two threads.
const SIZES: [(u16, usize); 3] = [(2, 1), (3, 1), (2, 2)];

fn check(program: &Program, compiler: Compiler, shared: &Shared) -> Result<(), Failed> {
    let runtime = shared.runtime.as_ref().map_err(Failed::from)?;
    let directory = tempfile::Builder::new()
        .prefix("fathomp-abi-")
        .tempdir()
        .map_err(|e| format!("no temporary directory: {e}"))?;
    let directory = directory.path();
    let sizes = match compiler {
        _ if fathomp_requirements::slow_wanted() => &SIZES[..],
        Compiler::Gnu => &SIZES[1..],
        Compiler::Llvm => &SIZES[SIZES.len() - 1..],
    };
    let clusters = sizes.iter().flat_map(|&(nodes, threads)| {
        Protocol::ALL.iter().map(move |&protocol| Cluster {
            nodes,
            threads,
            protocol,
        })
    });
    let clusters: Vec<_> = clusters.collect();
    compare::check_on_nodes(program, compiler, runtime, directory, &clusters)
        .map_err(|failure| Failed::from(failure.to_string()))
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Nodes wait for each other, so one more at a time keeps all processors busy.
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    arguments.test_threads.get_or_insert(processors + 1);
    let programs = match program::discover(&program::directory()) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("the programs of tests/abi cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    let shared = Arc::new(Shared { runtime: runtime() });
    let programs = programs
        .iter()
        .filter(|program| program.on_nodes != OnNodes::Skipped);
    let trials = trials::of(programs, &shared, check);
    libtest_mimic::run(&arguments, trials).exit_code()
}
