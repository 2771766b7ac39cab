//! While a program runs, fathomp is not there: streams, signals, exit codes.

use crate::common::{
    self, collect, compile, fathomp, finish, run, send, two_regions, until, until_ready, wait,
};
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

#[test]
fn exit_codes_are_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    let program = two_regions();
    for code in [0, 1, 3, 125, 255] {
        let ended = run(
            directory.path(),
            &format!("run -- {} {code}", program.display()),
        );
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.is_empty(), "{ended:?}");
    }
}

#[test]
fn deaths_by_signal_are_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    for (signal, code) in [("SEGV", 139), ("ABRT", 134), ("KILL", 137)] {
        let mut command = fathomp(directory.path());
        command.args(["run", "--", "sh", "-c", &format!("kill -s {signal} $$")]);
        let ended = finish(&mut command);
        assert_eq!(ended.code, Some(code), "{ended:?}");
    }
}

#[test]
fn the_number_of_threads_reaches_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(
        directory.path(),
        "team",
        "#include <omp.h>\n#include <stdio.h>\nint main(void) {\n#pragma omp parallel\n#pragma omp single\n printf(\"%d\\n\", omp_get_num_threads()); }",
        &["-fopenmp"],
    );
    for threads in [1, 3, 8] {
        let ended = run(
            directory.path(),
            &format!("run --threads {threads} -- {}", program.display()),
        );
        assert_eq!(ended.succeeded().text(), format!("{threads}\n"));
    }
}

#[test]
fn streams_are_untouched() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("input"), [0, 255, 10, 13]).unwrap();
    let mut command = fathomp(directory.path());
    command
        .args(["run", "--", "sh", "-c", "cat; echo complaint >&2"])
        .stdin(fs::File::open(directory.path().join("input")).unwrap());
    let ended = finish(&mut command);
    assert_eq!(ended.stdout, [0, 255, 10, 13]);
    assert_eq!(ended.stderr, "complaint\n");
}

#[test]
fn a_hundred_megabytes_come_through() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = fathomp(directory.path());
    command.args(["run", "--", "head", "-c", "100000000", "/dev/zero"]);
    assert_eq!(finish(&mut command).succeeded().stdout.len(), 100_000_000);
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure_of_ours() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = fathomp(directory.path())
        .args(["run", "--", "yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 100]).unwrap();
    drop(stdout);
    // The program dies of SIGPIPE, as it would without us.
    let ended = collect(child);
    assert_eq!(ended.code, Some(141), "{ended:?}");
    assert!(ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn our_own_output_may_be_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new("sh");
    command
        .args([
            "-c",
            &format!("{} doctor | true", env!("CARGO_BIN_EXE_fathomp")),
        ])
        .env("XDG_CACHE_HOME", common::cache())
        .current_dir(directory.path());
    let ended = finish(&mut command);
    assert!(ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn with_json_the_answer_is_alone_on_stdout() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(
        directory.path(),
        &format!("--json run -- {} 7", two_regions().display()),
    );
    assert_eq!(ended.code, Some(7));
    let answer = ended.json();
    assert_eq!(answer["schema"], "fathomp.run");
    assert_eq!(answer["version"], 1);
    assert_eq!(answer["exit_code"], 7);
    assert!(ended.stderr.starts_with("sum "), "{ended:?}");
}

#[test]
fn preloads_of_the_user_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let library = compile(
        directory.path(),
        "library",
        "#include <stdio.h>\n__attribute__((constructor)) static void hello(void) { fputs(\"preloaded\\n\", stderr); }",
        &["-shared", "-fPIC"],
    );
    let mut command = fathomp(directory.path());
    command
        .args(["run", "--"])
        .arg(two_regions())
        .env("LD_PRELOAD", library);
    let ended = finish(&mut command);
    assert!(ended.succeeded().stderr.contains("preloaded"), "{ended:?}");
}

#[test]
fn wrappers_may_start_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = two_regions();
    let shown = program.display();
    let shell = format!("{shown} && {shown} 4");
    let ended = finish(fathomp(directory.path()).args(["run", "--", "bash", "-c", &shell]));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_eq!(ended.text().lines().count(), 2);
}

/// A program that says it is there and then waits for ever.
const ENDLESS: &str = r#"
#include <stdio.h>
#include <unistd.h>
int main(void)
{
#pragma omp parallel
    __asm__ volatile("");
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
"#;

/// Starts it in a process group of its own and waits until it is ready.
fn endless(directory: &Path, arguments: &[&str]) -> std::process::Child {
    let program = compile(directory, "endless", ENDLESS, &["-fopenmp"]);
    let mut child = fathomp(directory)
        .args(arguments)
        .arg(program)
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    assert_eq!(&ready, b"ready\n");
    child
}

#[test]
fn interrupting_the_group_ends_the_program_and_us() {
    let directory = tempfile::tempdir().unwrap();
    let child = endless(directory.path(), &["run", "--"]);
    send("INT", &format!("-{}", child.id()));
    assert_eq!(collect(child).code, Some(130));
}

#[test]
fn a_signal_to_us_alone_is_handed_on() {
    let directory = tempfile::tempdir().unwrap();
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129), ("USR1", 138)] {
        let child = endless(directory.path(), &["run", "--"]);
        send(signal, &child.id().to_string());
        assert_eq!(collect(child).code, Some(code), "{signal}");
    }
}

#[test]
fn the_program_may_survive_an_interrupt() {
    let directory = tempfile::tempdir().unwrap();
    let child = until_ready(
        fathomp(directory.path())
            .args([
                "run",
                "--",
                "sh",
                "-c",
                "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.01; done",
            ])
            .process_group(0),
    );
    send("INT", &format!("-{}", child.id()));
    let ended = collect(child);
    assert_eq!(ended.code, Some(9), "{ended:?}");
    assert_eq!(ended.text(), "caught\n");
}

#[test]
fn what_we_were_told_to_ignore_the_program_ignores() {
    let directory = tempfile::tempdir().unwrap();
    let ended = finish(fathomp(directory.path()).args([
        "run",
        "--",
        "sh",
        "-c",
        "grep SigIgn /proc/self/status",
    ]));
    let mut command = std::process::Command::new("sh");
    let line = format!(
        "trap '' HUP; exec {} run -- grep SigIgn /proc/self/status",
        env!("CARGO_BIN_EXE_fathomp")
    );
    command
        .args(["-c", &line])
        .env("XDG_CACHE_HOME", common::cache());
    let ignoring = finish(&mut command);
    assert_ne!(ended.text(), ignoring.succeeded().text());
    let mask = ignoring.text();
    let mask = u64::from_str_radix(mask.split_whitespace().last().unwrap(), 16).unwrap();
    assert_eq!(mask & 1, 1, "{ignoring:?}");
}

#[test]
fn nothing_is_left_in_shared_memory() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = endless(directory.path(), &["record", "--"]);
    let prefix = format!("fathomp-{}-", child.id());
    let live = || {
        fs::read_dir("/dev/shm").is_ok_and(|entries| {
            entries
                .flatten()
                .any(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        })
    };
    assert!(live());
    send("TERM", &child.id().to_string());
    wait(&mut child);
    until("the live directory is gone", || !live());
}
