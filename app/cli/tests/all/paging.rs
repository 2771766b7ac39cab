//! `fathomp record --paging`, with real programs.

use crate::common::{self, Ended, compile, fathomp, finish, run, two_regions};
use fathomp_paging::reader::Recording;
use fathomp_paging::{Activity, Counter, Counts, Task, TaskKind};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Records a command line of the shell into `recording`.
fn record(directory: &Path, options: &str, script: &str) -> Ended {
    let mut command = fathomp(directory);
    command.args(["record", "--paging", "-o", "recording"]);
    command.args(options.split_whitespace());
    finish(command.args(["--", "sh", "-c", script]))
}

fn open(directory: &Path) -> Recording {
    Recording::open(&directory.join("recording")).unwrap()
}

/// What a task did altogether, by activity: nanoseconds and counts.
fn sums(recording: &Recording, task: &Task) -> BTreeMap<Activity, (u64, Counts)> {
    let mut sums: BTreeMap<_, (u64, Counts)> = BTreeMap::new();
    let visited = recording.visit(task.id, |interval| {
        let sum = sums.entry(interval.state.activity).or_default();
        sum.0 += interval.end - interval.begin;
        sum.1 += &interval.counts;
    });
    visited.unwrap();
    sums
}

/// The tasks of a program.
fn tasks<'a>(recording: &'a Recording, program: &str) -> Vec<&'a Task> {
    let threads = recording.tasks().iter();
    threads
        .filter(|task| task.kind == TaskKind::Thread && task.program == program)
        .collect()
}

#[test]
fn every_call_of_dd_is_seen_with_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    for writer in ["shared", "message", "task", "collector"] {
        let ended = record(
            directory.path(),
            &format!("--force --writer {writer}"),
            "dd if=/dev/zero of=file bs=4096 count=1000 2>/dev/null",
        );
        ended.succeeded();
        assert!(ended.stderr.contains("recorded the paging of"), "{ended:?}");
        let recording = open(directory.path());
        let dd = tasks(&recording, "dd");
        assert_eq!(dd.len(), 1, "{writer}: {:?}", recording.tasks());
        let sums = sums(&recording, dd[0]);
        let counts = &sums[&Activity::Io].1;
        assert!(
            counts[Counter::BytesRead] >= 4_096_000,
            "{writer}: {counts:?}"
        );
        assert!(
            counts[Counter::BytesWritten] >= 4_096_000,
            "{writer}: {counts:?}"
        );
        assert!(counts[Counter::IoCalls] >= 2000, "{writer}: {counts:?}");
        assert_eq!(recording.meta().writer, writer);
    }
}

#[test]
fn children_of_a_script_are_recorded_each_under_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let script = "head -c 1000000 /dev/zero | tr '\\0' x | wc -c; exec true";
    let ended = record(directory.path(), "", script);
    assert_eq!(ended.succeeded().text().trim(), "1000000");
    let recording = open(directory.path());
    for program in ["head", "tr", "wc"] {
        assert_eq!(tasks(&recording, program).len(), 1, "{program}");
    }
    // The shell became `true`.
    let last = tasks(&recording, "true");
    assert_eq!(last.len(), 1);
    let shells = recording.processes().iter();
    assert!(
        shells
            .filter(|process| process.pid == last[0].process)
            .count()
            >= 2
    );
}

#[test]
fn a_program_s_faults_are_counted_where_they_happen() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(
        directory.path(),
        "toucher",
        "#include <stdio.h>\n#include <sys/mman.h>\nint main(void) {\n char *p = mmap(0, 20 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n madvise(p, 20 << 20, MADV_NOHUGEPAGE);\n for (int i = 0; i < 20 << 20; i += 4096) p[i] = 1;\n puts(\"touched\"); return 0; }",
        &[],
    );
    record(directory.path(), "", &program.display().to_string()).succeeded();
    let recording = open(directory.path());
    let task = tasks(&recording, "toucher");
    let faults: u64 = sums(&recording, task[0])
        .values()
        .map(|sum| sum.1[Counter::MinorFaults])
        .sum();
    // 5,120 pages, and some hundred of the loader.
    assert!((5120..6500).contains(&faults), "{faults}");
}

#[test]
fn an_openmp_program_s_regions_are_recorded_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = fathomp(directory.path());
    command
        .args([
            "record",
            "--paging",
            "--threads",
            "2",
            "-o",
            "recording",
            "--",
        ])
        .arg(two_regions());
    let ended = finish(&mut command);
    ended.succeeded();
    assert!(
        ended.stderr.contains("fathomp regions recording"),
        "{ended:?}"
    );
    assert!(
        ended.stderr.contains("fathomp skyline recording"),
        "{ended:?}"
    );
    run(directory.path(), "regions recording").succeeded();
    assert!(open(directory.path()).tasks().len() >= 2);
}

#[test]
fn a_program_without_openmp_goes_without_the_runtime() {
    let directory = tempfile::tempdir().unwrap();
    let script = "cat /proc/self/maps";
    let ended = record(directory.path(), "", script);
    let maps = ended.succeeded().text();
    assert!(maps.contains("libfathomp-paging.so"), "{maps}");
    assert!(!maps.contains("libgomp.so.1"), "{maps}");
    let mut command = fathomp(directory.path());
    command
        .args([
            "record",
            "--paging",
            "--force",
            "-o",
            "recording",
            "--",
            "env",
        ])
        .arg(two_regions());
    let ended = finish(&mut command);
    assert!(
        ended.succeeded().stderr.contains("fathomp regions"),
        "{ended:?}"
    );
}

#[test]
fn the_exit_code_and_the_streams_stay_the_program_s() {
    let directory = tempfile::tempdir().unwrap();
    let ended = record(directory.path(), "", "echo out; echo err >&2; exit 7");
    assert_eq!(ended.code, Some(7));
    assert_eq!(ended.text(), "out\n");
    assert!(ended.stderr.starts_with("err\n"), "{ended:?}");
    let ended = record(directory.path(), "--force", "kill -s KILL $$");
    assert_eq!(ended.code, Some(137));
}

#[test]
fn json_tells_what_was_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = fathomp(directory.path());
    command.args(["--json", "record", "--paging", "-o", "recording", "--"]);
    let ended = finish(command.args(["dd", "if=/dev/zero", "of=/dev/null", "count=100"]));
    let answer = ended.succeeded().json();
    assert_eq!(answer["paging"]["tasks"], 1);
    assert!(
        answer["paging"]["io_calls_seen"].as_u64().unwrap() >= 200,
        "{answer}"
    );
}

#[test]
fn samples_join_the_tasks_that_they_are_of() {
    let directory = tempfile::tempdir().unwrap();
    let ended = record(
        directory.path(),
        "--sample 1ms",
        "for i in 1 2 3; do sleep 0.05; done",
    );
    ended.succeeded();
    let recording = open(directory.path());
    assert_eq!(recording.meta().sampling_ns, Some(1_000_000));
    // A stay of 50 ms is shown in pieces of the sampler's.
    let shell = recording
        .tasks()
        .iter()
        .filter(|task| task.kind == TaskKind::Thread);
    let most = shell.map(|task| {
        let mut pieces = 0_u32;
        let count = |_: &_| pieces += 1;
        recording.visit(task.id, count).unwrap();
        pieces
    });
    assert!(most.max().unwrap() > 3);
}

#[test]
fn a_selection_is_kept_with_the_recording() {
    let directory = tempfile::tempdir().unwrap();
    let options = "--counters minor_faults,io_calls --states io --tasks 0-1 --window 0s..5s";
    record(directory.path(), options, "cat /dev/null").succeeded();
    let recording = open(directory.path());
    let meta = recording.meta();
    assert_eq!(meta.counters.unwrap().len(), 2);
    assert_eq!(meta.selection.to_ns, Some(5_000_000_000));
    for task in recording
        .tasks()
        .iter()
        .filter(|task| task.kind == TaskKind::Thread)
    {
        let activities: Vec<_> = sums(&recording, task).into_keys().collect();
        assert!(
            activities.iter().all(|one| *one == Activity::Io),
            "{activities:?}"
        );
    }
}

#[test]
fn options_that_need_paging_say_so() {
    let directory = tempfile::tempdir().unwrap();
    for option in [
        "--writer task",
        "--sample 1ms",
        "--record-faults",
        "--tasks 0-3",
        "--window 1s..5s",
        "--counters page_ins",
        "--states io",
        "--memory 64M",
        "--key x",
    ] {
        let line = format!("record {option} -o recording -- true");
        run(directory.path(), &line).refused(2, "--paging");
    }
    for option in [
        "--tasks 5-1",
        "--window 5s..1s",
        "--counters faults",
        "--states thinking",
        "--key x",
    ] {
        let line = format!("record --paging {option} -o recording -- true");
        run(directory.path(), &line).refused(2, "");
    }
    for (option, words) in [
        ("--sample 0", "at least 100us"),
        ("--sample soon", "500us, 1ms or 2s"),
        ("--writer pigeon", "HOST:PORT"),
        ("--memory 1K", "give 4M to"),
    ] {
        let line = format!("record --paging {option} -o recording -- true");
        let ended = run(directory.path(), &line);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.in_words().stderr.contains(words), "{ended:?}");
    }
    assert!(!directory.path().join("recording").exists());
}

#[test]
fn programs_that_no_library_can_be_put_in_front_of_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let source = "int main(void) { return 0; }";
    let program = compile(directory.path(), "static", source, &["-static"]);
    let line = format!("record --paging -o recording -- {}", program.display());
    run(directory.path(), &line).refused(126, "statically linked");
    assert!(!directory.path().join("recording").exists());
}

#[test]
fn a_collector_that_dies_is_told_and_the_program_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    // The collector is the launcher's other child.
    let script = "dd if=/dev/zero of=/dev/null count=500 2>/dev/null; for pid in $(cat /proc/$PPID/task/*/children); do [ $pid = $$ ] || kill -s KILL $pid; done; echo done";
    let ended = record(directory.path(), "", script);
    assert_eq!(ended.succeeded().text(), "done\n");
    assert!(
        ended.stderr.contains("collector of paging ended too early"),
        "{ended:?}"
    );
    // Another one takes from the shared memory what the first had not.
    let recording = open(directory.path());
    let sums = sums(&recording, tasks(&recording, "dd")[0]);
    assert!(sums[&Activity::Io].1[Counter::IoCalls] >= 1000, "{sums:?}");
}

#[test]
fn records_can_go_to_another_host() {
    let directory = tempfile::tempdir().unwrap();
    let mut host = fathomp(directory.path())
        .args([
            "collect",
            "--listen",
            "127.0.0.1:0",
            "--key",
            "secret",
            "-o",
            "kept",
        ])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(host.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    let address = line
        .split_whitespace()
        .nth(3)
        .unwrap()
        .trim_end_matches(':');
    let wrong = record(
        directory.path(),
        &format!("--writer {address} --key wrong"),
        "true",
    );
    assert_eq!(wrong.code, Some(125), "{wrong:?}");
    let options = format!("--force --writer {address} --key secret");
    let ended = record(
        directory.path(),
        &options,
        "dd if=/dev/zero of=/dev/null count=500",
    );
    assert!(
        ended.succeeded().stderr.contains(&format!("at {address}")),
        "{ended:?}"
    );
    let status = common::wait(&mut host);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut said, &mut rest).unwrap();
    assert!(status.success(), "{line}{rest}");
    let recording = Recording::open(&directory.path().join("kept")).unwrap();
    let dd = tasks(&recording, "dd");
    assert_eq!(dd.len(), 1, "{:?}", recording.tasks());
}

#[test]
fn nothing_is_left_behind() {
    let directory = tempfile::tempdir().unwrap();
    let live = || {
        let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap_or_default());
        names
            .filter(|name| name.starts_with("fathomp-"))
            .collect::<Vec<_>>()
    };
    let mut command = fathomp(directory.path());
    command.args(["record", "--paging", "-o", "recording", "--", "true"]);
    let child = command.spawn().unwrap();
    let pid = child.id();
    common::collect(child);
    let ours = live();
    let prefix = format!("fathomp-{pid}-");
    assert!(
        !ours.iter().any(|name| name.starts_with(&prefix)),
        "{ours:?}"
    );
}
