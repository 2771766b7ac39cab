//! Commands on programs that need more tools than gcc: LLVM's compiler, an interpreter.

mod common;

use common::{CANNOT_START, compile_with, fathomp, finish, last_line, refused, run, two_regions};
use fathomp_needs::{CLANG, PYTHON, tests};
use std::fs;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut all = Vec::new();
    all.extend(tests![&[PYTHON] => interpreters_may_start_the_program]);
    all.extend(tests![&[CLANG] => the_interface_of_llvm, programs_for_llvms_runtime_run_on_it]);
    fathomp_needs::run(all)
}

fn interpreters_may_start_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = two_regions();
    let shown = program.display();
    let script = directory.path().join("script.py");
    fs::write(
        &script,
        format!("import subprocess, sys\nsys.exit(subprocess.call(['{shown}', '5']))\n"),
    )
    .unwrap();
    let ended = finish(
        fathomp(directory.path())
            .args(["run", "--", "python3"])
            .arg(&script),
    );
    assert_eq!(ended.code, Some(5), "{ended:?}");
}

fn the_interface_of_llvm() {
    let directory = tempfile::tempdir().unwrap();
    compile_with(
        "clang",
        directory.path(),
        "llvm",
        common::TWO_REGIONS,
        &["-fopenmp"],
    );
    refused(directory.path(), "./llvm", CANNOT_START, "gcc -fopenmp");
}

fn programs_for_llvms_runtime_run_on_it() {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), "workload run is --cc clang").refused(126, "LLVM");
    run(directory.path(), "workload verify is --cc clang --nodes 2").refused(126, "LLVM");
    let ended = run(
        directory.path(),
        "workload run is --cc clang --runtime system",
    );
    assert_eq!(last_line(ended.succeeded())["verified"], true);
    let ended = run(
        directory.path(),
        "workload verify is --cc clang --threads 2",
    );
    assert!(
        ended
            .succeeded()
            .text()
            .ends_with("1 workload is right, in 1 run.\n")
    );
    assert!(ended.stderr.contains("left out"), "{ended:?}");
}
