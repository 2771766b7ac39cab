//! Programs that are recorded on the OpenMP runtime that they already use, and several runtimes
//! compared.

use crate::common::{Ended, compile, compile_with, fathomp, finish, is_built_in, run};
use fathomp_requirements::{CLANG, GFORTRAN};
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = Vec::from(trials![
        "foreign_recorder",
        libgomp_shows_what_our_runtime_shows,
        what_was_watched_is_said,
        an_exit_within_a_region,
        a_fork,
        programs_without_openmp,
        runtimes_that_are_not_there,
        what_only_our_runtime_does,
        runtimes_side_by_side_need_a_program_that_runs
    ]);
    // It brings LLVM's runtime.
    all.extend(trials!["foreign_recorder", &[CLANG] =>
        programs_of_gcc_on_libomp,
        programs_of_clang_on_libomp,
        programs_of_clang_need_llvms,
        tools_of_the_user,
        side_by_side
    ]);
    all.extend(trials!["foreign_recorder", &[GFORTRAN] => fortran_on_libgomp]);
    all
}

/// A program of `tests/foreign-recorder`.
fn program(compiler: &str, directory: &Path, file: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/foreign-recorder");
    let source = fs::read_to_string(path.join(file)).unwrap();
    compile_with(compiler, directory, "program", &source, &["-g", "-fopenmp"])
}

/// What `fathomp regions` says of a program on a runtime.
fn recorded(directory: &Path, runtime: &str, program: &str) -> Value {
    let name = runtime.split('=').next().unwrap_or_default();
    run(
        directory,
        &format!("record --force --runtime {runtime} -o {name} -- {program}"),
    )
    .succeeded();
    run(directory, &format!("regions {name} --json"))
        .succeeded()
        .json()
}

/// Of each region what does not depend on time: executions, threads, critical sections and locks,
/// tasks made and run.
fn counts(facts: &Value) -> BTreeMap<String, Vec<u64>> {
    let names = [
        "instances",
        "team_size_min",
        "team_size_max",
        "mutexes_taken",
        "tasks_created",
        "tasks_run",
        "level",
    ];
    let regions = facts["regions"].as_array().unwrap().iter();
    regions
        .filter(|region| region["kind"] != "serial")
        .map(|region| {
            let values = names.map(|name| region[name].as_u64().unwrap());
            (region["name"].as_str().unwrap().to_owned(), values.to_vec())
        })
        .collect()
}

/// Iterations that were dealt, of each region.
fn iterations(facts: &Value) -> BTreeMap<String, u64> {
    let regions = facts["regions"].as_array().unwrap().iter();
    let some = regions.filter(|region| region["iterations"].as_u64() != Some(0));
    some.map(|region| {
        let iterations = region["iterations"].as_u64().unwrap();
        (region["name"].as_str().unwrap().to_owned(), iterations)
    })
    .collect()
}

/// The states of all regions add up to those of the program, and those of each region to those of
/// its threads.
fn sums_add_up(facts: &Value) {
    let total = |states: &Value| -> u64 {
        let states = states.as_object().unwrap().values();
        states.map(|ns| ns.as_u64().unwrap()).sum()
    };
    let near = |one: u64, other: u64, places: usize| {
        // Ticks are rounded to nanoseconds one by one.
        assert!(one.abs_diff(other) <= 16 * places as u64, "{one} {other}");
    };
    let regions = facts["regions"].as_array().unwrap();
    let all: u64 = regions.iter().map(|region| total(&region["states"])).sum();
    near(all, total(&facts["states"]), 13 * regions.len());
    for region in regions {
        let threads = region["threads"].as_array().unwrap();
        let own: u64 = threads.iter().map(|thread| total(&thread["states"])).sum();
        near(own, total(&region["states"]), 13 * (threads.len() + 1));
    }
}

fn same_as_ours(directory: &Path, runtime: &str) -> Value {
    let ours = recorded(directory, "fathomp", "./program");
    let watched = recorded(directory, runtime, "./program");
    assert_eq!(counts(&watched), counts(&ours), "{runtime}");
    // Seven regions and the one in one of them.
    assert_eq!(counts(&watched).len(), 8, "{watched}");
    sums_add_up(&watched);
    let name = runtime.split('=').next().unwrap_or_default();
    let foreign_recorder = &watched["program"]["foreign_recorders"][0];
    assert!(
        foreign_recorder["runtime"]
            .as_str()
            .unwrap()
            .starts_with(name),
        "{foreign_recorder}"
    );
    assert!(
        foreign_recorder["events"].as_u64().unwrap() > 100,
        "{foreign_recorder}"
    );
    assert_eq!(ours["program"]["foreign_recorders"], Value::Null);
    watched
}

fn libgomp_shows_what_our_runtime_shows() {
    let directory = tempfile::tempdir().unwrap();
    program("gcc", directory.path(), "constructs.c");
    let watched = same_as_ours(directory.path(), "libgomp");
    let ours = recorded(directory.path(), "fathomp", "./program");
    assert_eq!(iterations(&watched), iterations(&ours));
    let auto = recorded(directory.path(), "auto", "./program");
    assert_eq!(counts(&auto), counts(&ours));
}

fn programs_of_gcc_on_libomp() {
    let directory = tempfile::tempdir().unwrap();
    program("gcc", directory.path(), "constructs.c");
    same_as_ours(directory.path(), "libomp");
}

fn programs_of_clang_on_libomp() {
    let directory = tempfile::tempdir().unwrap();
    program("clang", directory.path(), "constructs.c");
    same_as_ours(directory.path(), "libomp");
    let auto = recorded(directory.path(), "auto", "./program");
    assert_eq!(counts(&auto).len(), 8);
}

fn fortran_on_libgomp() {
    let directory = tempfile::tempdir().unwrap();
    program("gfortran", directory.path(), "loop.f90");
    let ours = recorded(directory.path(), "fathomp", "./program");
    let watched = recorded(directory.path(), "libgomp", "./program");
    assert_eq!(counts(&watched), counts(&ours));
    assert_eq!(iterations(&watched), iterations(&ours));
    sums_add_up(&watched);
}

fn what_was_watched_is_said() {
    let directory = tempfile::tempdir().unwrap();
    program("gcc", directory.path(), "constructs.c");
    let ended = run(directory.path(), "record --runtime auto -- ./program");
    let said = "events of libgomp (of gcc ";
    assert!(ended.succeeded().stderr.contains(said), "{ended:?}");
    let table = run(directory.path(), "regions recording");
    for words in [
        "note: Loops with a static schedule, which gcc divides without a call",
        "note: Watching took ",
    ] {
        assert!(table.succeeded().text().contains(words), "{table:?}");
    }
    for command in [
        "report recording -o report.html",
        "predict recording",
        "advise recording",
    ] {
        run(directory.path(), command).succeeded();
    }
    let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert!(page.contains("libgomp (of gcc "));
}

/// The two regions that are over are whole, and the one that is not is there.
fn an_exit_within_a_region() {
    let directory = tempfile::tempdir().unwrap();
    program("gcc", directory.path(), "ends.c");
    for runtime in ["libgomp", "auto"] {
        let line = format!("record --force --runtime {runtime} -- ./program exit");
        let ended = run(directory.path(), &line);
        assert_eq!(ended.in_words().code, Some(7), "{ended:?}");
        let facts = run(directory.path(), "regions recording --json").json();
        let executed: Vec<u64> = counts(&facts).into_values().map(|all| all[0]).collect();
        assert_eq!(executed, [2, 1], "{facts}");
    }
}

fn a_fork() {
    let directory = tempfile::tempdir().unwrap();
    program("gcc", directory.path(), "ends.c");
    let facts = recorded(directory.path(), "libgomp", "./program fork");
    let processes = facts["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 2, "{facts}");
    let executed: Vec<u64> = counts(&facts).into_values().map(|all| all[0]).collect();
    assert_eq!(executed, [3, 1], "{facts}");
}

fn programs_without_openmp() {
    let directory = tempfile::tempdir().unwrap();
    let source = "int main(void) { return 0; }\n";
    compile(directory.path(), "program", source, &[]);
    for runtime in ["auto", "libgomp"] {
        let line = format!("record --force --runtime {runtime} -- ./program");
        let ended = run(directory.path(), &line);
        assert_eq!(ended.in_words().code, Some(125), "{ended:?}");
        let words = "does not name an OpenMP runtime";
        assert!(ended.stderr.contains(words), "{ended:?}");
    }
}

/// What cannot be understood is refused with how to write it.
fn misspelt(ended: &Ended, words: &str) {
    assert_eq!(ended.in_words().code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains(words), "{ended:?}");
}

fn runtimes_that_are_not_there() {
    let directory = tempfile::tempdir().unwrap();
    program("gcc", directory.path(), "ends.c");
    let record = |runtime: &str| {
        let line = format!("record --force --runtime {runtime} -- ./program");
        run(directory.path(), &line)
    };
    misspelt(&record("libfoo"), "names no runtime");
    record("libomp=/no/such/libomp.so").refused(2, "give the path of the runtime");
    let this = std::env::current_exe().unwrap();
    record(&format!("libomp={}", this.display())).refused(2, "cannot use");
    let mut command = fathomp(directory.path());
    command
        .args("record --force --runtime libiomp5 -- ./program".split(' '))
        .env("PATH", "/nowhere")
        .env("HOME", directory.path())
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("VIRTUAL_ENV")
        .env_remove("CONDA_PREFIX");
    let ended: Ended = finish(&mut command);
    // A machine may have it where every program finds it.
    if ended.code != Some(0) {
        ended.refused(2, "pip install intel-openmp");
    }
}

fn what_only_our_runtime_does() {
    let directory = tempfile::tempdir().unwrap();
    program("gcc", directory.path(), "ends.c");
    for line in [
        "record --runtime libgomp --advice advice.json -- ./program",
        "record --runtime libgomp --nodes 2 -- ./program",
    ]
    .into_iter()
    .filter(|line| is_built_in(line))
    {
        run(directory.path(), line).refused(2, "only fathomp's runtime");
    }
}

fn programs_of_clang_need_llvms() {
    let directory = tempfile::tempdir().unwrap();
    program("clang", directory.path(), "ends.c");
    let line = "record --runtime libgomp -- ./program";
    run(directory.path(), line).refused(2, "record it on libomp, libiomp5 or fathomp");
}

fn tools_of_the_user() {
    let directory = tempfile::tempdir().unwrap();
    program("gcc", directory.path(), "ends.c");
    let record = |name: &str, value: &str| {
        let mut command = fathomp(directory.path());
        command
            .args("record --force --runtime libomp -- ./program".split(' '))
            .env(name, value);
        finish(&mut command)
    };
    record("OMP_TOOL", "disabled").refused(2, "unset OMP_TOOL");
    let ended = record("OMP_TOOL_LIBRARIES", "/opt/mine.so");
    let words = "so /opt/mine.so (OMP_TOOL_LIBRARIES) is not started";
    assert!(ended.succeeded().stderr.contains(words), "{ended:?}");
}

fn side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    program("gcc", directory.path(), "constructs.c");
    let line = "study --json --runtime fathomp,libgomp,libomp --threads 2 --repeat 2 -- ./program";
    let ended = run(directory.path(), line);
    let found = &ended.succeeded().json()["comparisons"][0];
    assert_eq!(found["threads"], 2);
    let regions = found["regions"].as_array().unwrap();
    // With what is outside of regions.
    assert_eq!(regions.len(), 9, "{found}");
    for region in regions {
        let columns = region["columns"].as_array().unwrap();
        let executions: Vec<_> = columns.iter().map(|one| &one["executions"]).collect();
        assert_eq!(executions.len(), 3, "{region}");
        if region["name"] != "outside regions" {
            let alike = executions.iter().all(|one| *one == executions[0]);
            assert!(alike, "{region}");
        }
        assert_eq!(columns[0]["ratio"], Value::Null, "{region}");
        for other in &columns[1..] {
            assert!(other["ratio"]["interval"]["low"].is_number(), "{region}");
            assert_eq!(other["samples_ns"].as_array().unwrap().len(), 2);
        }
    }
    let table = run(directory.path(), &line.replace("--json", "--force"));
    assert!(
        table.succeeded().text().contains("ratios to fathomp"),
        "{table:?}"
    );
    let page = std::fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert!(page.contains("<h1>program on fathomp, libgomp and libomp</h1>"));
    assert!(page.contains("With 2 threads") && page.contains("data-sort"));
}

fn runtimes_side_by_side_need_a_program_that_runs() {
    let directory = tempfile::tempdir().unwrap();
    let source = "int main(void) { return 0; }\n";
    compile(directory.path(), "program", source, &[]);
    let line = "study --runtime fathomp,libgomp --threads 2 -- ./program";
    let ended = run(directory.path(), line);
    assert_eq!(ended.in_words().code, Some(1), "{ended:?}");
    let line = "study --runtime libgomp,libgomp -- ./program";
    misspelt(&run(directory.path(), line), "named twice");
}
