//! Recording paging where something is odd: processes that end or begin in unusual ways,
//! nothing to record, nothing permitted, no room.

use crate::common::paging::{Seen, build, record, recorder};
use crate::common::{self, fathomp, finish, run, two_regions, until};
use fathomp_paging::Ending;
use fathomp_requirements::{Forbidden, if_permitted, plain};
use libtest_mimic::Trial;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        plain("paging_odd::a_killed_program_leaves_what_it_did", killed),
        plain(
            "paging_odd::a_program_that_becomes_another_is_two",
            executed,
        ),
        plain(
            "paging_odd::threads_that_come_and_go_are_all_there",
            threads,
        ),
        plain(
            "paging_odd::children_are_recorded_however_they_end",
            children,
        ),
        plain(
            "paging_odd::a_daemon_is_neither_waited_for_nor_harmed",
            outlives,
        ),
        plain(
            "paging_odd::an_interval_of_nothing_is_refused",
            interval_of_nothing,
        ),
        plain(
            "paging_odd::options_that_make_no_sense_are_refused",
            nonsense,
        ),
        plain(
            "paging_odd::recordings_without_paging_are_refused",
            without_paging,
        ),
        plain(
            "paging_odd::a_selection_of_nothing_says_so",
            selection_of_nothing,
        ),
        plain(
            "paging_odd::a_limit_of_file_sizes_does_not_reach_the_program",
            file_sizes,
        ),
        if_permitted("paging_odd::performance_events_may_be_forbidden", no_events),
        if_permitted("paging_odd::control_groups_may_be_forbidden", no_groups),
        if_permitted("paging_odd::the_disk_may_be_full", full_disk),
        if_permitted("paging_odd::the_room_for_rings_may_be_full", full_rings),
    ]
}

/// Every way of recording on one machine.
const WRITERS: [&str; 5] = ["task", "striped:one,two", "message", "shared", "collector"];

/// A recording of regions alone is none of paging.
fn without_paging() {
    let directory = tempfile::tempdir().unwrap();
    let program = two_regions();
    let line = format!("record -o recording --threads 2 -- {}", program.display());
    run(directory.path(), &line).succeeded();
    run(directory.path(), "skyline recording").refused(1, "--paging");
}

/// What is recorded can be looked at, or a sentence says why not.
fn can_be_shown(directory: &Path) {
    let ended = run(directory, "skyline recording");
    ended.in_words();
    if ended.code != Some(0) {
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        assert!(ended.stderr.starts_with("fathomp: "), "{ended:?}");
    }
}

fn shown(directory: &Path) {
    run(directory, "skyline recording").succeeded();
}

fn killed() {
    for writer in WRITERS {
        let directory = tempfile::tempdir().unwrap();
        build(directory.path(), "family", &["-pthread"]);
        let options = ["--writer", writer];
        let ended = record(directory.path(), &options, &["./family", "killed"]);
        assert_eq!(ended.code, Some(128 + 9), "{writer}: {ended:?}");
        assert_eq!(ended.text(), "x".repeat(1000), "{writer}: {ended:?}");
        let seen = Seen::of(&directory.path().join("recording"));
        seen.adds_up();
        let task = seen.program("family");
        assert_eq!(task.task.ending, Ending::Lost, "{writer}: {seen:?}");
        // Rings outlive their process; buffers in its memory do not.
        if !writer.starts_with("striped") && writer != "task" {
            assert!(task.stays_in("write") >= 999, "{writer}: {seen:?}");
        }
        can_be_shown(directory.path());
    }
}

fn executed() {
    for writer in WRITERS {
        let directory = tempfile::tempdir().unwrap();
        build(directory.path(), "family", &["-pthread"]);
        let options = ["--writer", writer];
        let ended = record(directory.path(), &options, &["./family", "exec"]);
        ended.succeeded();
        assert_eq!(ended.text(), "executed\n", "{writer}: {ended:?}");
        let seen = Seen::of(&directory.path().join("recording"));
        seen.adds_up();
        let endings: Vec<_> = seen.tasks.iter().map(|one| one.task.ending).collect();
        assert_eq!(endings, [Ending::Exec, Ending::Exit], "{writer}: {seen:?}");
        let processes = [&seen.tasks[0], &seen.tasks[1]].map(|one| one.process);
        assert_eq!(processes[0], processes[1], "{writer}: {seen:?}");
        for task in &seen.tasks {
            assert!(
                task.of("compute", "minor_faults") >= 200,
                "{writer}: {seen:?}"
            );
        }
    }
}

fn threads() {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "family", &["-pthread"]);
    let ended = record(directory.path(), &[], &["./family", "threads"]);
    ended.succeeded();
    let seen = Seen::of(&directory.path().join("recording"));
    seen.adds_up();
    assert_eq!(seen.tasks.len(), 21, "{seen:?}");
    let writes: u64 = seen.tasks.iter().map(|one| one.stays_in("write")).sum();
    assert_eq!(writes, 20, "{seen:?}");
    for task in seen.tasks.iter().filter(|one| one.stays_in("write") == 1) {
        assert!(task.of("compute", "minor_faults") >= 200, "{seen:?}");
    }
    shown(directory.path());
}

fn children() {
    for writer in WRITERS {
        let directory = tempfile::tempdir().unwrap();
        build(directory.path(), "family", &["-pthread"]);
        let options = ["--writer", writer];
        let ended = record(directory.path(), &options, &["./family", "forks"]);
        ended.succeeded();
        assert_eq!(ended.text(), "child\n".repeat(10), "{writer}: {ended:?}");
        let seen = Seen::of(&directory.path().join("recording"));
        seen.adds_up();
        assert_eq!(seen.tasks.len(), 11, "{writer}: {seen:?}");
        let parent = seen
            .tasks
            .iter()
            .find(|one| one.task.ending == Ending::Exit && one.stays_in("write") == 0);
        let parent = parent
            .unwrap_or_else(|| panic!("{writer}: {seen:?}"))
            .process;
        let children = || seen.tasks.iter().filter(|one| one.parent == parent);
        assert_eq!(children().count(), 10, "{writer}: {seen:?}");
        let killed = children().filter(|one| one.task.ending == Ending::Lost);
        assert_eq!(killed.count(), 4, "{writer}: {seen:?}");
        for child in children().filter(|one| one.task.ending == Ending::Exit) {
            assert_eq!(child.stays_in("write"), 1, "{writer}: {seen:?}");
            assert!(
                child.of("compute", "minor_faults") >= 200,
                "{writer}: {seen:?}"
            );
        }
    }
}

fn outlives() {
    for writer in WRITERS {
        let directory = tempfile::tempdir().unwrap();
        build(directory.path(), "family", &["-pthread"]);
        let late = directory.path().join("late");
        let options = ["--writer", writer];
        let began = Instant::now();
        let command = ["./family", "outlives", late.to_str().unwrap()];
        let ended = record(directory.path(), &options, &command);
        ended.succeeded();
        assert!(
            began.elapsed().as_secs() < 10,
            "{writer}: it was waited for"
        );
        assert_eq!(ended.text(), "parent\n", "{writer}: {ended:?}");
        let written = || fs::read(&late).is_ok_and(|found| found == b"late");
        until("the daemon writes its file", written);
        let seen = Seen::of(&directory.path().join("recording"));
        seen.adds_up();
        assert!((1..=2).contains(&seen.tasks.len()), "{writer}: {seen:?}");
        shown(directory.path());
    }
}

fn interval_of_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for interval in ["0", "0ms", "-1ms", "soon", ""] {
        let option = format!("--sample={interval}");
        let ended = record(directory.path(), &[&option], &["true"]);
        ended.in_words();
        assert_eq!(ended.code, Some(2), "{interval}: {ended:?}");
        assert!(!directory.path().join("recording").exists(), "{interval}");
    }
}

fn nonsense() {
    let directory = tempfile::tempdir().unwrap();
    for option in [
        "--tasks=x",
        "--tasks=3-1",
        "--window=5s..1s",
        "--window=soon",
        "--counters=fault",
        "--states=asleep",
        "--writer=tusk",
        "--writer=task,shared",
        "--memory=lots",
        "--measure-intrusion=0",
        "--measure-intrusion=many",
    ] {
        let ended = record(directory.path(), &[option], &["true"]);
        ended.in_words();
        assert_eq!(ended.code, Some(2), "{option}: {ended:?}");
        assert!(!directory.path().join("recording").exists(), "{option}");
    }
    let line = "record --paging --measure-intrusion --writer host:4000 -o recording -- true";
    run(directory.path(), line).refused(2, "loopback");
    for option in ["--measure-intrusion", "--writer=task", "--sample=1ms"] {
        let line = format!("record {option} -o recording -- true");
        run(directory.path(), &line).refused(2, "--paging");
    }
}

fn selection_of_nothing() {
    for option in [
        "--tasks=1000",
        "--tasks=rank:7",
        "--window=1000s..2000s",
        "--states=communication",
    ] {
        let directory = tempfile::tempdir().unwrap();
        build(directory.path(), "family", &["-pthread"]);
        let ended = record(directory.path(), &[option], &["./family", "busy"]);
        ended.succeeded();
        assert_eq!(ended.text(), "busy\n", "{option}: {ended:?}");
        let seen = Seen::of(&directory.path().join("recording"));
        let intervals: u64 = seen.tasks.iter().map(|one| one.intervals).sum();
        assert_eq!(intervals, 0, "{option}: {seen:?}");
        can_be_shown(directory.path());
    }
}

/// A limit meant for the program's files must not kill it when a record of it gets larger.
fn file_sizes() {
    // The libraries are unpacked without a limit.
    let anywhere = tempfile::tempdir().unwrap();
    run(anywhere.path(), "runtime-path").succeeded();
    for writer in WRITERS {
        let directory = tempfile::tempdir().unwrap();
        build(directory.path(), "family", &["-pthread"]);
        let recorder = recorder(
            directory.path(),
            &["--writer", writer],
            &["./family", "busy"],
        );
        let mut shell = Command::new("sh");
        // 8 KiB: less than what is recorded.
        shell
            .args(["-c", "ulimit -f 16; exec \"$0\" \"$@\""])
            .arg(recorder.get_program())
            .args(recorder.get_args())
            .env("XDG_CACHE_HOME", common::cache())
            .current_dir(directory.path());
        let ended = finish(&mut shell);
        ended.in_words();
        assert_eq!(ended.text(), "busy\n", "{writer}: {ended:?}");
        // Nothing can be recorded then, which is said.
        if ended.code != Some(0) {
            assert_eq!(ended.code, Some(125), "{writer}: {ended:?}");
            assert!(ended.stderr.contains("ulimit -f"), "{writer}: {ended:?}");
        }
        can_be_shown(directory.path());
    }
}

fn no_events() -> Result<(), Forbidden> {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "family", &["-pthread"]);
    let forbid = build(directory.path(), "forbid", &[]);
    // As seccomp of containers answers, and a kernel without them.
    for (errno, options) in [
        ("1", &["--sample", "1ms"][..]),
        ("13", &["--record-faults"]),
        ("38", &["--sample", "1ms", "--record-faults"]),
    ] {
        let options = [options, &["--force"]].concat();
        let recorder = recorder(directory.path(), &options, &["./family", "busy"]);
        let mut forbidden = Command::new(&forbid);
        forbidden
            .arg(errno)
            .arg(recorder.get_program())
            .args(recorder.get_args())
            .env("XDG_CACHE_HOME", common::cache())
            .current_dir(directory.path());
        let ended = finish(&mut forbidden);
        if ended.code == Some(77) {
            return Forbidden::because("no filter of system calls may be set here");
        }
        ended.succeeded();
        assert_eq!(ended.text(), "busy\n", "{ended:?}");
        assert!(
            ended.stderr.contains("performance events"),
            "{errno}: {ended:?}"
        );
        let seen = Seen::of(&directory.path().join("recording"));
        seen.adds_up();
        assert!(
            seen.program("family").stays_in("read") >= 20_000,
            "{seen:?}"
        );
    }
    Ok(())
}

fn no_groups() -> Result<(), Forbidden> {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    build(at, "swaps", &[]);
    fs::copy(env!("CARGO_BIN_EXE_fathomp"), at.join("fathomp")).unwrap();
    fs::set_permissions(at, Permissions::from_mode(0o777)).unwrap();
    let mut nobody = Command::new("setpriv");
    nobody
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "./fathomp",
        ])
        .args([
            "record",
            "--paging",
            "--memory",
            "64M",
            "-o",
            "recording",
            "--",
        ])
        .args(["./swaps", "16"])
        .env("XDG_CACHE_HOME", at.join("cache"))
        .env("HOME", at)
        .current_dir(at);
    let ended = finish(&mut nobody);
    if ended.stderr.contains("setpriv:") {
        return Forbidden::because("only root can become another user");
    }
    ended.in_words();
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("control group"), "{ended:?}");
    Ok(())
}

/// Runs the script in a mount namespace of its own with `small`, a file system of that size,
/// at the directory `at`.
fn with_small(
    at: &Path,
    size: &str,
    cwd: &Path,
    recorder: &Command,
) -> Result<common::Ended, Forbidden> {
    let script = "mount -t tmpfs -o size=\"$2\" tmpfs \"$1\" || exit 77; shift 2; exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(at)
        .arg(size)
        .arg(recorder.get_program())
        .args(recorder.get_args())
        .env("XDG_CACHE_HOME", common::cache())
        .current_dir(cwd);
    let ended = finish(&mut command);
    if ended.code == Some(77) || ended.stderr.contains("unshare:") {
        return Forbidden::because("nothing may be mounted here");
    }
    Ok(ended)
}

fn full_disk() -> Result<(), Forbidden> {
    for writer in [
        "task",
        "striped:disk/one,disk/two",
        "message",
        "shared",
        "collector",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        build(at, "family", &["-pthread"]);
        let disk = at.join("disk");
        fs::create_dir(&disk).unwrap();
        let mut recorder = fathomp(at);
        recorder.args(["record", "--paging", "--writer", writer]);
        recorder.args(["-o", "disk/recording", "--", "./family", "busy"]);
        // Shown before the file system goes with its name space.
        let shell = "fathomp=$1; shift; \"$@\"; code=$?; \"$fathomp\" skyline disk/recording >shown 2>said; exit $code";
        let mut both = Command::new("sh");
        both.args(["-c", shell, "sh", env!("CARGO_BIN_EXE_fathomp")])
            .arg(recorder.get_program())
            .args(recorder.get_args());
        // Less than the records of this program take.
        let ended = with_small(&disk, "48k", at, &both)?;
        ended.in_words();
        assert_eq!(ended.text(), "busy\n", "{writer}: {ended:?}");
        assert!(
            ended.stderr.contains("disk") || ended.stderr.contains("No space left"),
            "{writer}: {ended:?}"
        );
        let said = fs::read_to_string(at.join("said")).unwrap();
        assert!(!said.contains("panicked"), "{writer}: {said}");
        assert!(
            said.lines().all(|line| line.starts_with("fathomp: ")),
            "{writer}: {said}"
        );
    }
    Ok(())
}

fn full_rings() -> Result<(), Forbidden> {
    for writer in ["message", "shared", "collector"] {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        build(at, "family", &["-pthread"]);
        let recorder = recorder(at, &["--writer", writer], &["./family", "busy"]);
        let ended = with_small(Path::new("/dev/shm"), "16k", at, &recorder)?;
        ended.in_words();
        // The program runs as ever; what could not be recorded is said.
        assert_eq!(ended.text(), "busy\n", "{writer}: {ended:?}");
        let seen = Seen::of(&at.join("recording"));
        let reads: u64 = seen.tasks.iter().map(|one| one.stays_in("read")).sum();
        if reads < 20_000 {
            assert!(!ended.stderr.is_empty(), "nothing was said: {ended:?}");
            assert!(!seen.problems.is_empty(), "{writer}: {seen:?}");
        }
    }
    Ok(())
}
