//! The whole way, from machine code to misses, against callgrind: a quick part of PolyBench.
//! All of it: `cargo run --release -p fathomp-cache-model --example misses`.

#[path = "callgrind/compare.rs"]
mod compare;

use compare::{Shares, built, compare};
use fathomp_requirements::{VALGRIND, tests};
use std::process::ExitCode;

fn main() -> ExitCode {
    fathomp_requirements::run(tests![&[VALGRIND] => misses_are_those_that_callgrind_counts].into())
}

/// Products, triangles, chunks on request, stencils, columns.
const KERNELS: [&str; 7] = ["gemm", "syrk", "trmm", "mvt", "jacobi-2d", "lu", "gesummv"];

fn misses_are_those_that_callgrind_counts() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut all = Shares::default();
    let mut wrong = String::new();
    for name in KERNELS {
        let (program, mut words) = built(
            &format!("polybench/{name}"),
            &["-g", "-O2"],
            directory.path(),
        );
        words[1] = "small".to_owned();
        let compared = compare(&program, &words);
        assert!(compared.len() >= 5, "{name}: {}", compared.len());
        all.add(&compared);
        for one in &compared {
            if !(one.right(0) && one.right(1)) {
                wrong += &format!("{name}: {one:?}\n");
            }
        }
    }
    for level in 0..2 {
        assert!(all.unweighted(level) >= 0.85, "{level}: {all:?}\n{wrong}");
        assert!(all.weighted(level) >= 0.85, "{level}: {all:?}\n{wrong}");
    }
}
