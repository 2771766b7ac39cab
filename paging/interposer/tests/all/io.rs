//! Calls that read, write and wait, and what is recorded of them.
#![allow(missing_docs, dead_code, reason = "no interface of the crate")]

use crate::support::{self, folder, program, record};
use fathomp_paging::{Activity, Counter};
use std::process::Command;

#[test]
fn every_call_by_descriptors_is_seen_once() {
    let room = folder();
    let run = record(Command::new(program("descriptors.c")).current_dir(room.path())).ok();
    let process = run.one();
    for (call, times) in [
        ("write", 2),
        ("pwrite", 1),
        ("writev", 1),
        ("pwritev", 1),
        ("pwritev2", 1),
        ("read", 3),
        ("pread", 1),
        ("readv", 1),
        ("preadv", 1),
        ("preadv2", 1),
        ("fsync", 1),
        ("fdatasync", 1),
        ("ftruncate", 1),
        ("flock", 2),
        ("sendfile", 1),
        ("copy_file_range", 1),
        ("msync", 1),
        ("rename", 1),
        ("link", 1),
        ("symlink", 1),
        ("mkdir", 1),
        ("rmdir", 1),
        ("opendir", 1),
        ("closedir", 1),
        ("unlink", 1),
        ("remove", 1),
        ("unlinkat", 1),
        ("open", 3),
        ("openat", 1),
        ("close", 3),
        ("readdir", 2),
    ] {
        assert_eq!(process.times(call), times, "{call}");
    }
    let written = 4096 + 100 + 3 * 1100 + 1000 + 1000;
    assert_eq!(process.total(Counter::BytesWritten), written);
    let read = 4096 + 100 + 3 * 1100 + 1000 + 1000 + 10;
    assert_eq!(process.total(Counter::BytesRead), read);
    // Two calls fail before the kernel counts them.
    let end = process.facts.end.unwrap();
    assert!(
        end.io_calls_seen.abs_diff(end.io_calls_made.unwrap()) <= 2,
        "{end:?}"
    );
    assert_eq!(process.sum(Activity::Compute, Counter::IoCalls), 0);
}

#[test]
fn what_a_buffer_answers_costs_no_call() {
    let room = folder();
    let run = record(Command::new(program("streams.c")).current_dir(room.path())).ok();
    let output = String::from_utf8(run.output.stdout.clone()).unwrap();
    let length: u64 = output.lines().next().unwrap().parse().unwrap();
    let process = run.one();
    // The file is written once, and read twice by characters, twice by lines, once by blocks.
    let blocks = length.div_ceil(4096) as usize;
    let near = |times: usize, expected: usize| times.abs_diff(expected) <= 2 + expected / 50;
    let times = |calls: &[&str]| calls.iter().map(|call| process.times(call)).sum::<usize>();
    let written = times(&[
        "vfprintf",
        "fputs",
        "fwrite",
        "putc",
        "putc_unlocked",
        "__overflow",
    ]);
    assert!(
        near(written, blocks + 14),
        "{written} writes of {blocks} blocks"
    );
    for (calls, expected) in [
        (&["getc"][..], blocks),
        (&["getc_unlocked", "__uflow"], blocks),
        (&["fgets"], blocks),
        (&["getline", "__getdelim"], blocks),
    ] {
        let times = times(calls);
        assert!(near(times, expected), "{calls:?}: {times} of {expected}");
    }
    // Bytes that the kernel moved, not those that the program asked for.
    let read = process.total(Counter::BytesRead);
    assert!(
        read >= 5 * length && read <= 5 * length + 200_000,
        "{read} of {length}"
    );
    let end = process.facts.end.unwrap();
    let made = end.io_calls_made.unwrap();
    assert!(end.io_calls_seen.abs_diff(made) * 100 <= made, "{end:?}");
    assert!(output.ends_with("done\n"));
}

#[test]
fn what_goes_through_sockets_is_communication() {
    let room = folder();
    let run = record(Command::new(program("sockets.c")).current_dir(room.path())).ok();
    let process = run.one();
    let stays = process.stays();
    let of = |cause: &str| {
        let chosen = stays.iter().filter(|stay| stay.cause == cause);
        chosen.map(|stay| stay.state).collect::<Vec<_>>()
    };
    let activities = |cause: &str| {
        let states = of(cause).into_iter();
        states.map(|state| state.activity).collect::<Vec<_>>()
    };
    const IO: Activity = Activity::Io;
    const TALK: Activity = Activity::Communication;
    // To a socket, to a file of the same number, to a socket.
    assert_eq!(activities("write"), [TALK, IO, TALK]);
    assert_eq!(activities("read"), [TALK, TALK, TALK]);
    assert_eq!(activities("pread"), [IO]);
    for call in ["send", "recv", "connect", "accept"] {
        assert_eq!(activities(call), [TALK], "{call}");
    }
    // The poll that does not wait changes nothing.
    for call in ["poll", "select", "epoll_wait"] {
        let states = of(call);
        assert_eq!(states.len(), 1, "{call}");
        assert!(states[0].activity == TALK && states[0].suspended, "{call}");
    }
    assert_eq!(process.total(Counter::BytesWritten), 12);
}

#[test]
fn signals_at_any_moment_do_no_harm() {
    let run = record(&mut Command::new(program("signals.c"))).ok();
    let process = run.one();
    let stays = process.stays();
    assert!(process.times("read") > 100 && process.times("write") > 100);
    // After the jump out of it, the thread was not in the call that waits any more.
    let last_reads = stays.iter().rposition(|stay| stay.cause == "read").unwrap();
    let open = stays.iter().rposition(|stay| stay.cause == "open").unwrap();
    assert!(last_reads < open, "{last_reads} {open}");
    assert!(process.facts.end.is_some());
}

#[test]
fn descriptors_closed_by_the_dozen_do_no_harm() {
    let room = folder();
    let run = record(Command::new(program("closing.c")).current_dir(room.path())).ok();
    let parent = &run.processes[0];
    assert_eq!(parent.times("write"), 100);
    assert_eq!(parent.total(Counter::BytesWritten), 1000);
    // Only what the program wrote is in its file.
    let left = std::fs::read(room.path().join("file")).unwrap();
    assert_eq!(left, b"ten bytes.".repeat(left.len() / 10));
}

#[test]
fn libraries_loaded_later_are_seen() {
    let library = support::compile("cc", "plugin.c", &["-shared", "-fPIC"]);
    let run = record(Command::new(program("plugged.c")).arg(library)).ok();
    assert_eq!(run.one().total(Counter::BytesRead), 100);
}

#[test]
fn what_the_program_tells_is_recorded() {
    let options: &[&[&str]] = &[&[], &["-no-pie", "-fno-pic"], &["-O3", "-fPIE"]];
    for options in options {
        let path = support::compile("cc", "told.c", options);
        let alone = Command::new(&path).output().unwrap();
        let run = record(&mut Command::new(&path)).ok();
        assert_eq!(run.output.stdout, alone.stdout);
        let process = run.one();
        let stays = process.stays();
        let of = |activity| {
            let chosen = stays.iter().filter(|stay| stay.cause == "fathomp_enter");
            let chosen = chosen.filter(|stay| stay.state.activity == activity);
            chosen.map(|stay| stay.ns).sum::<f64>()
        };
        assert!(of(Activity::Io) > 1.9e6 && of(Activity::Communication) > 1.9e6);
        let marks = process.threads[0].iter().filter_map(|record| match record {
            fathomp_feed::record::Record::Mark { name, .. } => Some(*name as usize),
            _ => None,
        });
        let marks: Vec<_> = marks.map(|name| process.names[name].as_str()).collect();
        assert_eq!(marks, ["set up", "solve"]);
    }
}
