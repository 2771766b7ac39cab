//! Places in real compiled programs, and in ruins of them.
//!
//! Needs binutils, and g++ for one test; without them the tests are ignored.

use fathomp_analysis::symbols::Symbols;
use fathomp_requirements::{CLANG, GXX, OBJDUMP};
use libtest_mimic::Trial;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = Vec::from(trials!["places", files_that_are_not_programs]);
    all.extend(trials!["places", &[OBJDUMP] =>
        lines_and_functions_of_c,
        lines_of_directives_survive_optimisation,
        shared_libraries,
        without_debug_information_there_are_symbols,
        stripped_programs_have_addresses,
        debug_information_in_a_file_of_its_own,
        ruins_of_programs_never_panic,
    ]);
    all.extend(trials!["places", &[OBJDUMP, GXX] => names_of_cpp_are_readable]);
    all.extend(trials!["places", &[OBJDUMP, CLANG] =>
        what_clang_wrote_beside_calls_outlives_debug_information,
        without_debug_information_clang_writes_nothing,
    ]);
    all
}

const C: &str = "\
void work(int);
static void inner(int n)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        work(i);
}
void step(int n)
{
    inner(n);
}
int main(int argc, char **argv)
{
    (void)argv;
#pragma omp parallel
    {
        work(argc);
    }
    step(argc);
    return 0;
}
void work(int i) { static volatile int x; x += i; }
";

const CPP: &str = "\
#include <cstddef>
volatile int sink;
namespace mesh {
template <typename T> struct Domain {
    void sweep(std::size_t n)
    {
#pragma omp parallel for
        for (std::size_t i = 0; i < n; i++)
            sink = sink + 1;
    }
};
}
int main(int argc, char **)
{
    mesh::Domain<double>().sweep(argc);
}
";

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compiles `source`.
fn compile(directory: &Path, compiler: &str, source: &str, flags: &[&str]) -> PathBuf {
    let extension = if compiler == "g++" { "cpp" } else { "c" };
    let file = directory.join(format!("solver.{extension}"));
    std::fs::write(&file, source).unwrap();
    let program = directory.join("solver");
    let mut arguments = vec![
        "-fopenmp",
        file.to_str().unwrap(),
        "-o",
        program.to_str().unwrap(),
    ];
    arguments.extend(flags);
    run(compiler, &arguments);
    program
}

/// Return addresses of the calls of `GOMP_parallel`, less 1, in order.
fn calls(program: &Path) -> Vec<u64> {
    calls_of(program, "GOMP_parallel")
}

/// Return addresses of the calls of a function of the runtime, less 1, in order.
fn calls_of(program: &Path, callee: &str) -> Vec<u64> {
    let listing = run(
        "objdump",
        &["-d", "--no-show-raw-insn", program.to_str().unwrap()],
    );
    let mut calls = Vec::new();
    let mut after_call = false;
    for line in listing.lines() {
        let Some((address, instruction)) = line.trim().split_once(':') else {
            continue;
        };
        let Ok(address) = u64::from_str_radix(address, 16) else {
            continue;
        };
        if after_call {
            calls.push(address - 1);
        }
        after_call = instruction.trim_start().starts_with("call") && instruction.contains(callee);
    }
    calls
}

fn labels(program: &Path, calls: &[u64]) -> Vec<String> {
    let mut symbols = Symbols::new();
    let mut labels: Vec<String> = calls
        .iter()
        .map(|&call| symbols.place(program, call, 0).label)
        .collect();
    labels.sort();
    labels
}

fn lines_and_functions_of_c() {
    for flags in [
        &["-g", "-O0"][..],
        &["-g", "-O2"],
        &["-g", "-O1", "-no-pie"],
        &["-g", "-gdwarf-4"],
        &["-g", "-gz"],
        &["-g", "-gsplit-dwarf"],
    ] {
        let directory = TempDir::new().unwrap();
        let program = compile(directory.path(), "gcc", C, flags);
        let labels = labels(&program, &calls(&program));
        // Inlined into step and further, the loop is still inner's.
        assert!(
            labels.contains(&"solver.c:4 (inner)".to_owned()),
            "{flags:?} {labels:?}"
        );
        assert!(
            labels.contains(&"solver.c:15 (main)".to_owned()),
            "{flags:?} {labels:?}"
        );
    }
}

/// Addresses of outlined functions, by number.
fn outlined(program: &Path) -> Vec<u64> {
    let listing = run("nm", &[program.to_str().unwrap()]);
    let mut found: Vec<(String, u64)> = listing
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            let name = words.nth(1)?;
            name.contains("_omp_fn").then(|| (name.to_owned(), address))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, address)| address).collect()
}

/// With optimisation the call of a region often carries the line of the one
/// before; the outlined function does not.
fn lines_of_directives_survive_optimisation() {
    let source = "\
double *a, *b;
int main(int argc, char **argv)
{
    double s = 0;
    (void)argv;
    for (int t = 0; t < argc; t++) {
#pragma omp parallel for reduction(+ : s)
        for (int i = 0; i < 200; i++)
            s += i * s;
#pragma omp parallel for reduction(+ : s)
        for (int i = 0; i < 200; i++)
            s += i;
#pragma omp parallel for
        for (int i = 0; i < 200; i++)
            b[i] = 2 * a[i];
    }
    return s > 0;
}
";
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let directory = TempDir::new().unwrap();
        let program = compile(directory.path(), "gcc", source, &["-g", level]);
        let mut symbols = Symbols::new();
        let labels: Vec<String> = outlined(&program)
            .into_iter()
            .map(|function| symbols.place(&program, 0, function).label)
            .collect();
        let expected = [
            "solver.c:7 (main)",
            "solver.c:10 (main)",
            "solver.c:13 (main)",
        ];
        assert_eq!(labels, expected, "{level}");
    }
}

fn names_of_cpp_are_readable() {
    let directory = TempDir::new().unwrap();
    let program = compile(directory.path(), "g++", CPP, &["-g"]);
    let labels = labels(&program, &calls(&program));
    assert_eq!(labels, ["solver.cpp:7 (mesh::Domain<double>::sweep)"]);
}

fn shared_libraries() {
    let directory = TempDir::new().unwrap();
    let flags = ["-g", "-shared", "-fPIC"];
    let program = compile(directory.path(), "gcc", C, &flags);
    let labels = labels(&program, &calls(&program));
    assert!(
        labels.contains(&"solver.c:4 (inner)".to_owned()),
        "{labels:?}"
    );
}

fn without_debug_information_there_are_symbols() {
    let directory = TempDir::new().unwrap();
    let program = compile(directory.path(), "gcc", C, &["-O0"]);
    let calls = calls(&program);
    let label = Symbols::new().place(&program, calls[0], 0).label;
    assert!(
        label.starts_with("inner+0x") && label.ends_with(" (solver)"),
        "{label}"
    );
}

fn stripped_programs_have_addresses() {
    let directory = TempDir::new().unwrap();
    let program = compile(directory.path(), "gcc", C, &["-g", "-s"]);
    let place = Symbols::new().place(&program, 0x1234, 0);
    assert_eq!(place.label, "0x1234 (solver)");
    assert_eq!(place.short, "solver+0x1234");
}

fn what_clang_wrote_beside_calls_outlives_debug_information() {
    for flags in [
        &["-g", "-O0", "-s"][..],
        &["-g", "-O2", "-s"],
        &["-g", "-O2", "-s", "-fno-pie", "-no-pie"],
        &["-g1", "-O3", "-s"],
        &["-g", "-O2", "-s", "-shared", "-fPIC"],
        &["-g", "-O2", "-s", "-fno-plt"],
    ] {
        let directory = TempDir::new().unwrap();
        // Where the calls are is known of the same program with symbols.
        let whole: Vec<&str> = flags.iter().copied().filter(|f| *f != "-s").collect();
        let program = compile(directory.path(), "clang", C, &whole);
        let calls = calls_of(&program, "fork_call");
        assert!(calls.len() >= 2, "{flags:?}: {calls:?}");
        run("strip", &[program.to_str().unwrap()]);
        let mut symbols = Symbols::new();
        let mut labels: Vec<String> = calls
            .iter()
            .map(|&call| symbols.place(&program, call, 0).label)
            .collect();
        labels.sort();
        labels.dedup();
        assert_eq!(
            labels,
            ["solver.c:15 (main)", "solver.c:4 (inner)"],
            "{flags:?}"
        );
        assert!(symbols.without_lines().is_empty(), "{flags:?}");
        // What is no call of the runtime is where it is.
        let elsewhere = symbols.place(&program, calls[0] - 64, 0);
        assert_eq!(elsewhere.line, None, "{flags:?}");
        assert_eq!(symbols.without_lines(), [program.as_path()], "{flags:?}");
    }
}

fn without_debug_information_clang_writes_nothing() {
    let directory = TempDir::new().unwrap();
    let program = compile(directory.path(), "clang", C, &["-O0"]);
    let mut symbols = Symbols::new();
    let label = symbols
        .place(&program, calls_of(&program, "fork_call")[0], 0)
        .label;
    assert!(
        label.starts_with("inner+0x") && label.ends_with(" (solver)"),
        "{label}"
    );
    assert_eq!(symbols.without_lines(), [program.as_path()]);
}

fn debug_information_in_a_file_of_its_own() {
    let directory = TempDir::new().unwrap();
    let program = compile(directory.path(), "gcc", C, &["-g"]);
    let calls = calls(&program);
    let name = program.to_str().unwrap();
    let debug = format!("{name}.debug");
    run("objcopy", &["--only-keep-debug", name, &debug]);
    run("strip", &[name]);
    run("objcopy", &[&format!("--add-gnu-debuglink={debug}"), name]);
    let labels = labels(&program, &calls);
    assert!(
        labels.contains(&"solver.c:15 (main)".to_owned()),
        "{labels:?}"
    );
}

fn files_that_are_not_programs() {
    let directory = TempDir::new().unwrap();
    let text = directory.path().join("text");
    std::fs::write(&text, "not a program").unwrap();
    for path in [
        text.as_path(),
        directory.path(),
        Path::new("/nonexistent/program"),
        Path::new("/dev/zero"),
        Path::new("[vdso]"),
    ] {
        let place = Symbols::new().place(path, 0x10, 0x20);
        assert!(place.label.starts_with("0x10 ("), "{}", place.label);
    }
    let nowhere = Symbols::new().place(Path::new(""), 0, 0);
    assert_eq!(nowhere.label, "unknown place");
}

fn ruins_of_programs_never_panic() {
    let directory = TempDir::new().unwrap();
    let program = compile(directory.path(), "gcc", C, &["-g"]);
    let addresses = [calls(&program), outlined(&program)].concat();
    let whole = std::fs::read(&program).unwrap();
    let ruin = directory.path().join("ruin");
    let damage = (
        0..=whole.len(),
        proptest::collection::vec((0..whole.len(), any::<u8>()), 0..40),
        any::<u64>(),
    );
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    };
    proptest!(config, |((length, changes, address) in damage, cut: bool, early: bool)| {
        let mut bytes = whole.clone();
        for (at, value) in changes {
            // The headers, at the start and the end, are where it hurts.
            let at = if early { at % 1024 } else { at };
            bytes[at] = value;
        }
        if cut {
            bytes.truncate(length);
        }
        std::fs::write(&ruin, &bytes).unwrap();
        let mut symbols = Symbols::new();
        for at in addresses.iter().copied().chain([address, 0, u64::MAX]) {
            let place = symbols.place(&ruin, address, at);
            prop_assert!(!place.label.is_empty());
            if let Some(lines) = symbols.lines(&ruin, at) {
                prop_assert!(lines.first <= lines.last);
            }
        }
    });
}
