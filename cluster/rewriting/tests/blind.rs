//! Which atomic updates of compiled programs nobody sees, and that the programs do the same when
//! those are done apart from their instructions, which then find nonsense.
//!
//! Needs clang and gfortran for some; without them tests are ignored.

mod built;

use built::{Program, after, builds, number, run, sections, text};
use fathomp_requirements::{CLANG, GFORTRAN, tests};
use fathomp_rewriting::{analyse, describe};
use fathomp_sys::text_patch::{Kind, Site};
use std::process::ExitCode;

const GCC: [(&str, &[&str]); 7] = [
    ("gcc", &["-O0"]),
    ("gcc", &["-O1"]),
    ("gcc", &["-O2"]),
    ("gcc", &["-O3", "-mavx"]),
    ("gcc", &["-Ofast"]),
    ("gcc", &["-Os", "-no-pie", "-fno-pie"]),
    ("gcc", &["-O2", "-fno-plt", "-fcf-protection"]),
];
const LLVM: [(&str, &[&str]); 4] = [
    ("clang", &["-O1"]),
    ("clang", &["-O2", "-no-pie", "-fno-pie"]),
    ("clang", &["-O3", "-mavx"]),
    ("clang", &["-Os"]),
];
const LLVM_PLAIN: [(&str, &[&str]); 1] = [("clang", &["-O0"])];
const FORTRAN: [(&str, &[&str]); 4] = [
    ("gfortran", &["-O0"]),
    ("gfortran", &["-O2"]),
    ("gfortran", &["-O3", "-mavx"]),
    ("gfortran", &["-Ofast"]),
];

fn main() -> ExitCode {
    let mut all = Vec::from(tests![
        updates_that_nobody_sees,
        updates_that_somebody_sees,
        without_symbols_nobody_knows_what_a_function_returns,
    ]);
    all.extend(tests![&[CLANG] =>
        updates_that_nobody_sees_by_llvm,
        updates_that_somebody_sees_by_llvm,
    ]);
    all.extend(tests![&[GFORTRAN] => updates_that_nobody_sees_in_fortran]);
    fathomp_requirements::run(all)
}

/// The atomic instructions of a program.
fn atomics(program: &Program) -> Vec<Site> {
    let sites = analyse(&program.path, 0).unwrap().sites.into_iter();
    sites
        .filter(|site| matches!(site.kind, Kind::Atomic(_)))
        .collect()
}

/// Whether a program prints the same when updates are done apart; how many were.
fn compare(program: &Program) -> u64 {
    let library = sections();
    let mut counts = Vec::new();
    for threads in ["1", "3"] {
        let size = ("OMP_NUM_THREADS", threads);
        let preload = ("LD_PRELOAD", library.to_str().unwrap());
        let plain = run(program, "", &[size]);
        let apart = run(program, "", &[size, preload, ("FATHOMP_BLIND", "1")]);
        assert_eq!(text(&apart.stdout), text(&plain.stdout), "{}", program.name);
        let seen = text(&apart.stderr);
        assert!(after(&seen, "patched ").ends_with("doubtful 0"), "{seen}");
        counts.push(number(&seen, "blind "));
    }
    counts[0]
}

/// All atomic instructions in programs of which nobody sees what they do.
fn are_all_blind(source: &str, ways: &[(&str, &[&str])]) {
    let directory = tempfile::tempdir().unwrap();
    for program in builds(source, directory.path(), ways, &["-fopenmp"]) {
        let sites = atomics(&program);
        assert!(sites.len() >= 8, "{}: {}", program.name, sites.len());
        for site in sites {
            let place = describe(&program.path, site.address);
            assert!(site.blind.is_some(), "{}: {place}", program.name);
        }
        assert!(compare(&program) > 1000, "{}", program.name);
    }
}

/// None in programs in which somebody does.
fn is_none_blind(ways: &[(&str, &[&str])]) {
    let directory = tempfile::tempdir().unwrap();
    for program in builds("seen.c", directory.path(), ways, &["-fopenmp"]) {
        let sites = atomics(&program);
        assert!(sites.len() >= 14, "{}: {}", program.name, sites.len());
        for site in sites {
            let place = describe(&program.path, site.address);
            assert_eq!(site.blind, None, "{}: {place}", program.name);
        }
        assert_eq!(compare(&program), 0, "{}", program.name);
    }
}

fn updates_that_nobody_sees() {
    are_all_blind("blind.c", &GCC);
}

fn updates_that_somebody_sees() {
    is_none_blind(&GCC);
}

/// Without optimisation it keeps values in memory of which it is not certain who uses it.
fn updates_that_nobody_sees_by_llvm() {
    are_all_blind("blind.c", &LLVM);
    let directory = tempfile::tempdir().unwrap();
    for program in builds("blind.c", directory.path(), &LLVM_PLAIN, &["-fopenmp"]) {
        let sites = atomics(&program);
        let blind = sites.iter().filter(|site| site.blind.is_some()).count();
        assert!(blind >= 8, "{blind} of {}", sites.len());
        assert!(compare(&program) > 0);
    }
}

fn updates_that_somebody_sees_by_llvm() {
    is_none_blind(&LLVM);
    is_none_blind(&LLVM_PLAIN);
}

fn updates_that_nobody_sees_in_fortran() {
    are_all_blind("blind.f90", &FORTRAN);
}

fn without_symbols_nobody_knows_what_a_function_returns() {
    let directory = tempfile::tempdir().unwrap();
    let ways: [(&str, &[&str]); 1] = [("gcc", &["-O2", "-s"])];
    for program in builds("blind.c", directory.path(), &ways, &["-fopenmp"]) {
        let sites = atomics(&program);
        let blind = sites.iter().filter(|site| site.blind.is_some()).count();
        assert!(blind > 0 && blind < sites.len(), "{blind}");
        assert!(compare(&program) > 0);
    }
}
