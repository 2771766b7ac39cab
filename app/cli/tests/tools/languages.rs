//! Commands on programs that need more tools than gcc: other compilers, an interpreter.

use crate::common::{self, compile_with, fathomp, finish, last_line, run, two_regions};
use fathomp_requirements::{CLANG, GFORTRAN, GXX, PYTHON};
use libtest_mimic::Trial;
use std::fs;
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = Vec::new();
    all.extend(trials!["languages", &[PYTHON] => interpreters_may_start_the_program]);
    all.extend(
        trials!["languages", &[CLANG] => the_interface_of_llvm, programs_for_llvms_runtime_run_on_ours_and_on_it],
    );
    all.extend(trials!["languages", &[GXX] => stacks_of_cpp_programs_run_out]);
    all.extend(trials!["languages", &[GFORTRAN] => stacks_of_fortran_programs_run_out]);
    all
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
    for command in [
        "record -o recording -- ./llvm",
        "run --nodes 2 -- ./llvm",
        "record --nodes 2 -o nodes -- ./llvm",
    ]
    .into_iter()
    .filter(|line| common::is_built_in(line))
    {
        run(directory.path(), command).succeeded();
    }
}

fn programs_for_llvms_runtime_run_on_ours_and_on_it() {
    let directory = tempfile::tempdir().unwrap();
    for runtime in ["fathomp", "system"] {
        let command = format!("workload run is --cc clang --runtime {runtime}");
        let ended = run(directory.path(), &command);
        assert_eq!(last_line(ended.succeeded())["verified"], true);
    }
    let ended = run(
        directory.path(),
        "workload verify is --cc clang --threads 2",
    );
    assert!(
        ended
            .succeeded()
            .text()
            .ends_with("1 workload is right, in 2 runs.\n")
    );
}

/// That a program whose threads need 24 MiB of stack says so where they have 8, that the
/// program's language makes no difference to its end, and that the size named is enough.
fn runs_out_of_stack(compiler: &str, file: &str, source: &str, options: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    fs::write(at.join(file), source).unwrap();
    let status = Command::new(compiler)
        .current_dir(at)
        .args(["-O1", "-fopenmp", "-o", "deep", file])
        .args(options)
        .status();
    assert!(status.unwrap().success());
    let run = |variables: &str| {
        let line = format!(
            "ulimit -c 0; ulimit -s 8192; {variables} exec \"$0\" run --threads 2 -- ./deep"
        );
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &line, env!("CARGO_BIN_EXE_fathomp")])
            .current_dir(at)
            .env("XDG_CACHE_HOME", common::cache())
            .env_remove("OMP_STACKSIZE");
        finish(&mut shell)
    };
    let ended = run("");
    assert_eq!(ended.in_words().code, Some(139), "{ended:?}");
    let said = "OpenMP thread 1 ran out of stack: it had 8 MiB and needed 25 MiB and more; set OMP_STACKSIZE=32M";
    assert_eq!(ended.stderr.matches(said).count(), 1, "{ended:?}");
    run("OMP_STACKSIZE=32M").succeeded();
}

fn stacks_of_cpp_programs_run_out() {
    let source = r#"
#include <omp.h>
#include <cstdio>
#include <stdexcept>
struct Field {
    volatile double values[3 << 20];
    Field() { for (int i = 0; i < 3 << 20; i += 100) values[i] = i; }
    ~Field() { values[0] = 1; }
};
__attribute__((noinline)) static double work(int n)
{
    Field field;
    if (n < 0)
        throw std::runtime_error("negative");
    return field.values[n];
}
int main()
{
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    if (omp_get_thread_num() == 1) {
        try { sum += work(100); } catch (const std::exception &) { sum = -1; }
    }
    std::printf("%g\n", sum);
}
"#;
    runs_out_of_stack("g++", "deep.cpp", source, &[]);
}

/// Its run-time library has a handler of its own for the signal.
fn stacks_of_fortran_programs_run_out() {
    let source = "
subroutine work(n, total)
  integer, intent(in) :: n
  real(8), intent(out) :: total
  real(8) :: field(n)
  field = 1d0
  call touch(field, n)
  total = sum(field)
end subroutine
subroutine touch(field, n)
  integer, intent(in) :: n
  real(8), intent(inout) :: field(n)
  field(n) = 2d0
end subroutine
program deep
  use omp_lib
  real(8) :: total
  total = 0
  !$omp parallel reduction(+ : total)
  if (omp_get_thread_num() == 1) call work(3 * 1048576, total)
  !$omp end parallel
  print *, total
end program
";
    runs_out_of_stack("gfortran", "deep.f90", source, &["-fstack-arrays"]);
}
