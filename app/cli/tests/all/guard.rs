//! A launcher that is killed: its program ends with it, and what was made to outlast the
//! program does not.

use crate::common::{
    self, alive, compile, fathomp, finish, is_built_in, processes, run, send, until, until_ready,
    wait,
};
use fathomp_toolchain::testing::write_executable;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Says that it is there and then waits for ever; nobody hears of it by a terminal or a pipe.
const ENDLESS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    /* What asks programs to stop does not end this one. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
#pragma omp parallel
    __asm__ volatile("");
    FILE *mark = fopen(argv[1], "w");
    if (mark) fclose(mark);
    if (argc > 2) { puts("ready"); fflush(stdout); }
    for (;;)
        pause();
}
"#;

fn endless(directory: &Path, name: &str) -> PathBuf {
    compile(directory, name, ENDLESS, &["-fopenmp", "-g"])
}

/// Kills a command as nobody can prevent.
fn kill(mut child: Child) {
    send("KILL", &child.id().to_string());
    wait(&mut child);
}

/// Guards at work whose launcher is `launcher`.
fn guards(launcher: u32) -> usize {
    let listed = Command::new("ps")
        .args([
            "--no-headers",
            "-o",
            "args",
            "--ppid",
            &launcher.to_string(),
        ])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    text.lines()
        .filter(|line| line.contains("program-guard"))
        .count()
}

#[test]
fn a_program_ends_with_its_launcher() {
    let directory = tempfile::tempdir().unwrap();
    let program = endless(directory.path(), "endless");
    for line in [
        "run --",
        "run --nodes 3 --threads 1 --",
        "record --force -o recording --",
        "record --force -o recording --nodes 2 --threads 1 --",
        "record --force -o recording --paging --",
        "study --threads 1 --",
    ]
    .into_iter()
    .filter(|line| is_built_in(line))
    {
        let child = fathomp(directory.path())
            .args(line.split_whitespace())
            .arg(&program)
            .args(["mark", "say"])
            .spawn()
            .unwrap();
        let mark = directory.path().join("mark");
        until(line, || mark.exists());
        assert_eq!(guards(child.id()), 1, "{line}");
        kill(child);
        until(line, || alive(&program) == 0);
        fs::remove_file(mark).unwrap();
    }
}

/// What measurements start: the suites' programs, compilers, probes.
#[test]
fn so_does_what_a_measurement_has_started() {
    let directory = tempfile::tempdir().unwrap();
    let program = endless(directory.path(), "endless");
    let compiler = directory.path().join("cc");
    // It is started where programs are built.
    let mark = directory.path().join("mark");
    let script = format!(
        "#!/bin/sh\ncase $1 in --version) echo gcc 12;; *) exec {} {};; esac\n",
        program.display(),
        mark.display()
    );
    write_executable(&compiler, script.as_bytes()).unwrap();
    let child = fathomp(directory.path())
        .args(["bench", "epcc", "--cc", "./cc", "--runs", "1"])
        .spawn()
        .unwrap();
    until("the program has begun", || mark.exists());
    // Several may be built at once.
    assert!(guards(child.id()) >= 1);
    kill(child);
    until("the program has ended", || alive(&program) == 0);
}

#[test]
fn so_does_what_a_script_has_started() {
    let directory = tempfile::tempdir().unwrap();
    let program = endless(directory.path(), "endless");
    let shown = program.display();
    let script = format!("{shown} a & sh -c '{shown} b; true' & {shown} c; true");
    let child = fathomp(directory.path())
        .args(["run", "--", "sh", "-c", &script])
        .spawn()
        .unwrap();
    for mark in ["a", "b", "c"] {
        until(mark, || directory.path().join(mark).exists());
    }
    assert_eq!(alive(&program), 3);
    kill(child);
    until("all have ended", || alive(&program) == 0);
}

#[test]
fn what_was_made_to_outlast_the_program_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let [program, orphan, session] =
        ["program", "orphan", "session"].map(|name| endless(directory.path(), name));
    let script = format!(
        "(exec >/dev/null 2>&1; {} a &); setsid {} b >/dev/null 2>&1 & \
         while [ ! -e a ] || [ ! -e b ]; do sleep 0.01; done; ",
        orphan.display(),
        session.display()
    );
    // The program ends by itself.
    let by_itself = format!("{script} true");
    let ended = finish(fathomp(directory.path()).args(["run", "--", "sh", "-c", &by_itself]));
    ended.succeeded();
    assert_eq!([alive(&orphan), alive(&session)], [1, 1]);
    for left in [&orphan, &session].map(|left| processes(left)).concat() {
        send("KILL", &left);
    }
    until("nobody is left", || alive(&orphan) + alive(&session) == 0);
    for mark in ["a", "b"] {
        fs::remove_file(directory.path().join(mark)).unwrap();
    }
    // Its launcher is killed.
    let killed = format!("{script} exec {} c say", program.display());
    let child = until_ready(fathomp(directory.path()).args(["run", "--", "sh", "-c", &killed]));
    kill(child);
    until("the program has ended", || alive(&program) == 0);
    assert_eq!([alive(&orphan), alive(&session)], [1, 1]);
    for left in [&orphan, &session].map(|left| processes(left)).concat() {
        send("KILL", &left);
    }
}

#[test]
fn a_guard_is_not_in_the_way() {
    let directory = tempfile::tempdir().unwrap();
    // The guard keeps its three streams, and none of the files that the launcher has inherited:
    // something else may wait for the end of those. While the guard is being loaded it has a
    // file more open, so the program looks again for up to ten seconds.
    let script = "ps --no-headers -o pid,args --ppid $PPID | grep program-guar[d] | \
                  (read pid rest; tries=0; \
                  while files=$(ls /proc/$pid/fd | wc -l); \
                  [ $files -gt 3 ] && [ $tries -lt 100 ]; \
                  do sleep 0.1; tries=$((tries + 1)); done; \
                  echo $files; readlink /proc/$pid/cwd)";
    let line = format!(
        "exec {} run -- sh -c '{script}' 7</dev/null",
        env!("CARGO_BIN_EXE_fathomp")
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", &line])
        .env("XDG_CACHE_HOME", common::cache())
        .current_dir(directory.path());
    assert_eq!(finish(&mut command).succeeded().text(), "3\n/\n");
}

#[test]
fn what_was_recorded_until_then_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let program = endless(directory.path(), "endless");
    let child = until_ready(
        fathomp(directory.path())
            .args(["record", "-o", "recording", "--"])
            .arg(&program)
            .args(["mark", "say"]),
    );
    let _mine = common::leftovers();
    kill(child);
    until("the program has ended", || alive(&program) == 0);
    let regions = run(directory.path(), "regions recording");
    assert!(
        regions.succeeded().text().contains("endless.c:"),
        "{regions:?}"
    );
}
