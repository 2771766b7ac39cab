//! One test per program of `tests/abi`, on several nodes.
//!
//! The runtime under test is the cluster edition embedded in the product, or the
//! library that `FATHOMP_CLUSTER_UNDER_TEST` names. Each program runs on three sizes,
//! over both protocols. With `FATHOMP_REQUIRE_ALL=1` a missing compiler fails its programs
//! instead of skipping them.
#![forbid(unsafe_code)]

use fathomp_abi_tests::compare::Cluster;
use fathomp_abi_tests::program::OnNodes;
use fathomp_abi_tests::{build, compare, program};
use fathomp_launch::Protocol;
use fathomp_needs::left_out;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// What all trials share.
struct Shared {
    runtime: Result<PathBuf, String>,
    libraries: Vec<PathBuf>,
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

/// Nodes and threads per node.
const SIZES: [(u16, usize); 3] = [(2, 1), (3, 1), (2, 2)];

fn check(program: &program::Program, shared: &Shared) -> Result<(), Failed> {
    let runtime = shared.runtime.as_ref().map_err(Failed::from)?;
    let directory = tempfile::Builder::new()
        .prefix("fathomp-abi-")
        .tempdir()
        .map_err(|e| format!("no temporary directory: {e}"))?;
    let directory = directory.path();
    let clusters = SIZES.iter().flat_map(|&(nodes, threads)| {
        Protocol::ALL.iter().map(move |&protocol| Cluster {
            nodes,
            threads,
            protocol,
        })
    });
    let clusters: Vec<_> = clusters.collect();
    compare::check_on_nodes(program, &shared.libraries, runtime, directory, &clusters)
        .map_err(|failure| Failed::from(failure.to_string()))
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let (programs, libraries) = match program::discover(&program::directory()) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("the programs of tests/abi cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut available = BTreeMap::new();
    for language in programs.iter().map(|p| p.language) {
        available
            .entry(language)
            .or_insert_with(|| build::available(language.compiler()));
    }
    let shared = Arc::new(Shared {
        runtime: runtime(),
        libraries,
    });
    let trials = programs
        .into_iter()
        .filter(|program| program.on_nodes != OnNodes::Skipped)
        .map(|program| {
            let missing = !available.get(&program.language).copied().unwrap_or(false);
            let shared = Arc::clone(&shared);
            let compiler = program.language.compiler();
            Trial::ignorable_test(program.name.clone(), move || {
                if missing {
                    // Packages of compilers have the compilers' names.
                    return left_out(format!("needs {compiler}: apt-get install {compiler}"));
                }
                check(&program, &shared)?;
                Ok(Completion::Completed)
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
