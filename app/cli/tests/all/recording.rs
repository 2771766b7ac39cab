//! Recordings survive what happens to programs and disks.

use crate::common::{
    self, collect, compile, fathomp, finish, instances, problems, run, send, two_regions,
    until_ready,
};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// `fathomp regions --json` of a recording.
fn regions(directory: &Path, recording: &str) -> serde_json::Value {
    let answer = run(directory, &format!("--json regions {recording}"));
    answer.succeeded();
    let json = answer.json();
    assert_eq!(json["schema"], "fathomp.regions");
    assert_eq!(json["version"], 1);
    json
}

#[test]
fn a_recording_tells_regions_threads_and_circumstances() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!("record --threads 2 -- {} 3", two_regions().display());
    let ended = run(directory.path(), &line);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(ended.text().lines().count(), 1);
    let json = regions(directory.path(), "recording");
    assert_eq!(instances(&json), [20, 20]);
    assert_eq!(json["team_size"], 2);
    assert_eq!(json["program"]["threads_asked"], 2);
    assert_eq!(json["program"]["outcome"]["exited"], 3);
    assert!(json["program"]["machine"]["cpus_online"].as_u64().unwrap() > 0);
    let names = json["regions"].to_string();
    assert!(names.contains("program.c:9"), "{names}");
}

#[test]
fn what_a_program_does_before_its_first_region_is_serial_time() {
    let directory = tempfile::tempdir().unwrap();
    let source = "#include <unistd.h>\n\
                  int main(void) {\n\
                  int members = 0;\n\
                  usleep(200000);\n\
                  #pragma omp parallel reduction(+:members)\n\
                  members++;\n\
                  return members == 0; }\n";
    compile(directory.path(), "late", source, &["-fopenmp"]);
    run(directory.path(), "record -- ./late").succeeded();
    let json = regions(directory.path(), "recording");
    let serial_ns: u64 = json["regions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|region| region["kind"] == "serial")
        .map(|region| region["wall_ns"].as_u64().unwrap())
        .sum();
    assert!(serial_ns >= 200_000_000, "{serial_ns} ns");
}

#[test]
fn regions_are_shown_and_exported() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    run(here, &format!("record -- {}", two_regions().display())).succeeded();
    let table = run(
        here,
        "regions recording --csv r.csv --perfetto r.json --threads",
    );
    assert!(
        table.succeeded().text().contains("program.c:9"),
        "{table:?}"
    );
    assert!(
        fs::read_to_string(here.join("r.csv"))
            .unwrap()
            .lines()
            .count()
            > 2
    );
    let trace: serde_json::Value =
        serde_json::from_slice(&fs::read(here.join("r.json")).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 40);
    run(here, "regions recording --csv r.csv").refused(1, "--force");
    run(here, "regions recording --csv r.csv --force").succeeded();
    run(here, "regions recording --csv no/such/directory/r.csv").refused(1, "make that directory");
    run(here, "regions recording --perfetto .").refused(1, "is a directory");
}

#[test]
fn settings_that_make_no_sense_are_said_before_the_program_runs() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!("record -- {}", two_regions().display());
    for (name, value) in [
        ("FATHOMP_RING_KIB", "8M"),
        ("FATHOMP_DSM_LINES_LIMIT", "1s"),
    ] {
        let mut command = fathomp(directory.path());
        command.args(line.split_whitespace()).env(name, value);
        command.env("FATHOMP_DSM_LINES", directory.path());
        finish(&mut command).refused(125, name);
        assert!(!directory.path().join("recording").exists(), "{name}");
    }
}

#[test]
fn an_existing_recording_is_kept_unless_forced() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!("record -- {}", two_regions().display());
    run(directory.path(), &line).succeeded();
    let before = fs::read(directory.path().join("recording/meta.json")).unwrap();
    run(directory.path(), &line).refused(125, "--force");
    assert_eq!(
        fs::read(directory.path().join("recording/meta.json")).unwrap(),
        before
    );
    run(
        directory.path(),
        &line.replacen("record", "record --force", 1),
    )
    .succeeded();
}

#[test]
fn what_is_not_a_recording_is_never_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let precious = directory.path().join("recording/precious");
    fs::create_dir(directory.path().join("recording")).unwrap();
    fs::write(&precious, "x").unwrap();
    let program = two_regions();
    let program = program.display();
    run(directory.path(), &format!("record --force -- {program}")).refused(125, "choose another");
    run(
        directory.path(),
        &format!("record --force -o recording/precious -- {program}"),
    )
    .refused(125, "not a directory");
    assert!(precious.exists());
}

#[test]
fn an_unwritable_place_is_named() {
    let directory = tempfile::tempdir().unwrap();
    // Not even root can make directories there.
    let line = format!("record -o /proc/recording -- {}", two_regions().display());
    run(directory.path(), &line).refused(125, "/proc/recording");
}

/// Whether a run of which nothing is recorded is said to be one, for this reason.
fn silent(directory: &Path, command: &str, code: i32, words: &str) {
    let ended = run(directory, &format!("record --force -- {command}"));
    assert_eq!(ended.in_words().code, Some(code), "{ended:?}");
    assert!(ended.stderr.contains("Nothing was recorded"), "{ended:?}");
    assert!(ended.stderr.contains(words), "{words}: {ended:?}");
    assert!(!ended.stderr.contains("recorded 0 events"), "{ended:?}");
    let json = regions(directory, "recording");
    assert!(problems(&json).contains("Nothing was recorded"), "{json}");
}

#[test]
fn why_nothing_was_recorded_is_said_and_is_no_success() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let program = |name: &str, body: &str| {
        let source = format!(
            "#include <omp.h>\n#include <stdlib.h>\nint main(int argc, char **argv) {{\n {body}\n if (argc > 1) {{\n#pragma omp parallel\n  argv[omp_get_thread_num()] = 0;\n }}\n return 0; }}"
        );
        compile(at, name, &source, &["-fopenmp"]);
    };
    program("unused", "");
    program("asks", "if (omp_get_max_threads() < 1) return 9;");
    program("leaves", "exit(7);");
    program("aborts", "if (omp_get_max_threads() > 0) abort();");
    program("crashes", "*(volatile int *)8 = 1;");
    silent(at, "ls -d /", 125, "was it built with -fopenmp?");
    silent(at, "./unused", 125, "ended without using it");
    silent(at, "./asks", 125, "executed no parallel region");
    silent(at, "./leaves", 7, "left with exit code 7");
    silent(at, "./aborts", 134, "SIGABRT");
    silent(at, "./crashes", 139, "SIGSEGV");
    fs::write(at.join("script"), "#!/bin/sh\n./unused\n").unwrap();
    silent(at, "sh script", 125, "was it built with -fopenmp?");
}

#[test]
fn a_runtime_linked_statically_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    compile(
        directory.path(),
        "own",
        common::TWO_REGIONS,
        &["-fopenmp", "-Wl,-Bstatic", "-lgomp", "-Wl,-Bdynamic"],
    );
    let ended = run(directory.path(), "record -- ./own");
    if regions(directory.path(), "recording")["processes"] == serde_json::json!([]) {
        assert!(ended.stderr.contains("linked statically"), "{ended:?}");
    }
}

#[test]
fn a_crash_leaves_a_recording() {
    let directory = tempfile::tempdir().unwrap();
    for (signal, code) in [("SIGSEGV", 139), ("SIGABRT", 134), ("SIGKILL", 137)] {
        let source = common::TWO_REGIONS
            .replace(
                "#include <stdio.h>",
                "#include <stdio.h>\n#include <signal.h>",
            )
            .replace("return argc", &format!("raise({signal}); return argc"));
        compile(directory.path(), signal, &source, &["-fopenmp"]);
        let ended = run(
            directory.path(),
            &format!("record -o {signal}.rec -- ./{signal}"),
        );
        assert_eq!(ended.in_words().code, Some(code), "{ended:?}");
        let json = regions(directory.path(), &format!("{signal}.rec"));
        assert_eq!(instances(&json), [20, 20], "{signal}");
        assert_eq!(json["program"]["outcome"]["signalled"], code - 128);
        assert!(problems(&json).contains("signal"), "{json}");
    }
}

#[test]
fn an_interrupt_leaves_a_recording() {
    let directory = tempfile::tempdir().unwrap();
    let source = common::TWO_REGIONS.replace(
        "printf(\"sum %g\\n\", sum);",
        "puts(\"ready\"); fflush(stdout); for (;;) {}",
    );
    compile(directory.path(), "endless", &source, &["-fopenmp"]);
    let child = until_ready(
        fathomp(directory.path())
            .args(["record", "--", "./endless"])
            .process_group(0),
    );
    send("INT", &format!("-{}", child.id()));
    let ended = collect(child);
    assert_eq!(ended.in_words().code, Some(130), "{ended:?}");
    assert_eq!(instances(&regions(directory.path(), "recording")), [20, 20]);
}

#[test]
fn a_killed_launcher_leaves_a_recording() {
    let directory = tempfile::tempdir().unwrap();
    let source = common::TWO_REGIONS.replace(
        "printf(\"sum %g\\n\", sum);",
        "puts(\"ready\"); fflush(stdout); getchar();",
    );
    compile(directory.path(), "waiting", &source, &["-fopenmp"]);
    let mut child = until_ready(
        fathomp(directory.path())
            .args(["record", "--", "./waiting"])
            .stdin(Stdio::piped()),
    );
    let _mine = common::leftovers();
    child.kill().unwrap();
    // The program ends when its input does.
    drop(child.stdin.take());
    collect(child);
    let json = regions(directory.path(), "recording");
    assert_eq!(instances(&json), [20, 20], "{json}");
    // What the kill left behind is named, with the command that removes it.
    let doctor = run(directory.path(), "--json doctor").json();
    let checks = doctor["checks"].as_array().unwrap();
    let leftovers = checks
        .iter()
        .find(|check| check["name"] == "leftovers")
        .unwrap();
    let mend = leftovers["mend"].as_str().unwrap();
    for path in mend
        .split_whitespace()
        .filter(|word| word.starts_with("/dev/shm/fathomp-"))
    {
        // Those of other tests that run now belong to living launchers.
        fs::remove_dir_all(path).unwrap();
    }
}

#[test]
fn forks_are_processes_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let source = common::TWO_REGIONS
        .replace(
            "#include <stdio.h>",
            "#include <stdio.h>\n#include <unistd.h>\n#include <sys/wait.h>",
        )
        .replace(
            "double sum = 0;",
            "double sum = 0; int child = fork() == 0;",
        )
        .replace("return argc", "if (!child) wait(0); return argc");
    compile(directory.path(), "forking", &source, &["-fopenmp"]);
    let ended = run(directory.path(), "record --threads 2 -- ./forking");
    assert_eq!(ended.succeeded().text().lines().count(), 2);
    let json = regions(directory.path(), "recording");
    assert_eq!(json["processes"].as_array().unwrap().len(), 2);
    assert_eq!(instances(&json), [40, 40]);
}

#[test]
fn a_fork_after_regions_records_on() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
static void work(int rounds)
{
    for (int i = 0; i < rounds; i++) {
#pragma omp parallel
        __asm__ volatile("");
    }
}
int main(void)
{
    work(5);
    if (fork() == 0) {
        work(7);
        return 0;
    }
    wait(0);
    work(3);
}
"#;
    compile(directory.path(), "forking", source, &["-fopenmp"]);
    run(directory.path(), "record --threads 2 -- ./forking").succeeded();
    assert_eq!(instances(&regions(directory.path(), "recording")), [15]);
}

#[test]
fn wrappers_are_seen_through() {
    let directory = tempfile::tempdir().unwrap();
    let program = two_regions();
    let line = format!("{0}; {0}", program.display());
    finish(fathomp(directory.path()).args(["record", "--", "bash", "-c", &line])).succeeded();
    let json = regions(directory.path(), "recording");
    assert_eq!(json["processes"].as_array().unwrap().len(), 2, "{json}");
    assert_eq!(instances(&json), [40, 40]);
}

#[test]
fn without_symbols_regions_are_named_by_address() {
    let directory = tempfile::tempdir().unwrap();
    compile(
        directory.path(),
        "stripped",
        common::TWO_REGIONS,
        &["-fopenmp", "-s"],
    );
    run(directory.path(), "record -- ./stripped").succeeded();
    let json = regions(directory.path(), "recording");
    assert_eq!(instances(&json), [20, 20]);
    assert!(
        json["regions"].to_string().contains("stripped+0x"),
        "{json}"
    );
}

/// Loads a runtime of its own behind our back and calls it.
const PRIVATE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
static void body(void *data)
{
    (void)data;
}
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library) {
        fputs(dlerror(), stderr);
        return 1;
    }
    void (*parallel)(void (*)(void *), void *, unsigned, unsigned) = dlsym(library, "GOMP_parallel");
    parallel(body, 0, 2, 0);
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
"#;

#[test]
fn a_runtime_that_escaped_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let answer = finish(Command::new("gcc").arg("-print-file-name=libgomp.so.1"));
    let copy = directory.path().join("libgomp-1234.so.1.0.0");
    fs::copy(answer.text().trim(), &copy).unwrap();
    compile(directory.path(), "private", PRIVATE, &["-ldl"]);
    let mut child = until_ready(
        fathomp(directory.path())
            .args(["record", "--", "./private"])
            .arg(&copy)
            .stdin(Stdio::piped()),
    );
    // The address space is looked at after 50, 150, 450 ms and so on.
    std::thread::sleep(std::time::Duration::from_millis(1000));
    drop(child.stdin.take());
    let ended = collect(child);
    // Nothing of it was recorded.
    assert_eq!(ended.in_words().code, Some(125), "{ended:?}");
    assert_eq!(ended.stderr.matches("libgomp-1234").count(), 1, "{ended:?}");
    assert!(ended.stderr.contains("could not be replaced"), "{ended:?}");
}

#[test]
fn children_may_leave_without_a_word() {
    let directory = tempfile::tempdir().unwrap();
    let leaving = common::TWO_REGIONS
        .replace(
            "#include <stdio.h>",
            "#include <stdio.h>\n#include <unistd.h>\n#include <sys/wait.h>",
        )
        .replace(
            "double sum = 0;",
            "double sum = 0; int child = fork() == 0;",
        )
        .replace("return argc", "if (child) _exit(0); wait(0); return argc");
    // The parent must be recorded when it forks.
    let forking = leaving.replace(
        "double sum = 0;",
        "double sum = 0;\n#pragma omp parallel\n sum += 0;\n",
    );
    compile(directory.path(), "leaving", &forking, &["-fopenmp"]);
    run(directory.path(), "record --threads 2 -- ./leaving").succeeded();
    let json = regions(directory.path(), "recording");
    assert_eq!(json["processes"].as_array().unwrap().len(), 2);
    assert!(!problems(&json).contains("properly"), "{}", problems(&json));
    // One that is killed inside a region is another matter.
    let killed = forking.replace("threads++;", "{ threads++; if (child) raise(9); }");
    let killed = killed.replace(
        "#include <stdio.h>",
        "#include <stdio.h>\n#include <signal.h>",
    );
    compile(directory.path(), "killed", &killed, &["-fopenmp"]);
    run(directory.path(), "record --force --threads 2 -- ./killed").succeeded();
    let json = regions(directory.path(), "recording");
    assert!(problems(&json).contains("did not end properly"), "{json}");
}

/// Allocates three arrays, fills them in regions, and frees them: the heap shrinks each time, unless
/// somebody keeps a block above them.
const CHURN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
enum { LENGTH = 200000 };
static double *fresh(void) { return malloc(LENGTH * sizeof(double)); }
static void fill(double *values, double with) {
#pragma omp parallel for
    for (int i = 0; i < LENGTH; i++)
        values[i] = with;
}
static double sum(const double *values) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < LENGTH; i++)
        sum += values[i];
    return sum;
}
int main(void) {
    double all = 0, *volatile once = fresh();
    fill(once, 0);
    free(once);
    for (int step = 0; step < 50; step++) {
        double *first = fresh(), *second = fresh(), *third = fresh();
        fill(first, step);
#pragma omp parallel for
        for (int i = 0; i < LENGTH; i++)
            second[i] = first[i];
        fill(third, all);
        all += sum(second);
        free(third);
        free(second);
        free(first);
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%ld\n", used.ru_minflt);
}
"#;

#[test]
fn a_program_that_is_recorded_has_as_many_page_faults_as_alone() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["-fopenmp", "-g", "-O1"];
    compile(directory.path(), "churn", CHURN, &options);
    let faults = |how: &str| {
        let ended = run(directory.path(), &format!("{how} -- ./churn"));
        let text = ended.succeeded().text();
        text.trim().parse::<f64>().unwrap()
    };
    let alone = faults("run");
    // Of the arrays, 391 pages each.
    assert!(alone > 30_000.0, "{alone}");
    for how in [
        "record --force",
        "record --force --runtime libgomp",
        "record --force --paging",
    ] {
        if !common::is_built_in(how) {
            continue;
        }
        let recorded = faults(how);
        assert!(
            (recorded / alone - 1.0).abs() < 0.1,
            "{how}: {recorded} of {alone}"
        );
    }
}
