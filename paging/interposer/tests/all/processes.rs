//! Processes and threads: how they begin and end.
#![allow(missing_docs, dead_code, reason = "no interface of the crate")]

use crate::support::{self, folder, program, record, under_interposer};
use fathomp_feed::record::Record;
use fathomp_paging::{Activity, Counter, Ending};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

#[test]
fn children_are_processes_of_their_own() {
    let path = program("children.c");
    let alone = Command::new(&path).output().unwrap();
    let run = record(&mut Command::new(&path)).ok();
    assert_eq!(run.output.stdout, alone.stdout);

    let name = path.file_name().unwrap().to_str().unwrap();
    let all = run.of(name);
    let first = all[0];
    let ends = |ending| {
        let ended = all
            .iter()
            .filter(|process| process.facts.end.is_some_and(|end| end.ending == ending));
        ended.count()
    };
    // The first one, and one that is forked and becomes another.
    assert_eq!(ends(Ending::Exec), 2);
    // Three forked, one cloned, a child and its child that exit; leaves after fork, vfork,
    // posix_spawn, system and popen; not the one without the interposer.
    assert_eq!(ends(Ending::Exit), 10);
    assert_eq!(all.len(), 12, "{all:#?}");
    let forked = all.iter().filter(|process| process.facts.forked).count();
    assert_eq!(forked, 6);
    // The child of vfork was not taken for its parent.
    assert_eq!(first.times("open"), 0);
    assert!(first.facts.end.unwrap().environment_cleared);
    assert_eq!(first.facts.end.unwrap().ending, Ending::Exec);
    let others = all.iter().skip(1);
    assert!(
        others
            .clone()
            .all(|process| !process.facts.end.unwrap().environment_cleared)
    );
    // Each writes what it writes, no more.
    let wrote = |bytes| {
        let those = all
            .iter()
            .filter(|process| process.total(Counter::BytesWritten) == bytes);
        those.count()
    };
    assert_eq!(wrote(5), 5, "leaves");
    assert_eq!(wrote(6), 2, "a child, a clone");
    // Waiting for children is communication.
    let stays = first.stays();
    let waits = stays.iter().filter(|stay| stay.cause == "waitpid");
    assert!(waits.clone().count() >= 8);
    assert!(
        waits
            .clone()
            .all(|stay| stay.state.activity == Activity::Communication)
    );
    assert_eq!(first.times("system"), 1);
    assert_eq!(first.times("pclose"), 1);
    // Of each process the kernel counts what it did itself, not its children.
    for process in &all {
        let end = process.facts.end.unwrap();
        assert_eq!(Some(end.io_calls_seen), end.io_calls_made, "{process:#?}");
    }
}

#[test]
fn threads_are_tasks_of_their_own() {
    let run = record(&mut Command::new(program("threads.c"))).ok();
    let process = run.one();
    assert_eq!(process.threads.len(), 70);
    let ended = process.threads.iter().filter(|thread| {
        matches!(
            thread.last(),
            Some(Record::End {
                ending: Ending::Exit,
                ..
            })
        )
    });
    assert_eq!(ended.count(), 70);
    let stays: Vec<_> = process
        .threads
        .iter()
        .map(|t| process.stays_of(t))
        .collect();
    let thread_with = |cause: &str| {
        stays
            .iter()
            .position(|stays| stays.iter().any(|stay| stay.cause == cause))
    };
    let waiting = &stays[thread_with("pthread_cond_wait").unwrap()];
    for cause in ["pthread_cond_wait", "sem_wait"] {
        let state = waiting
            .iter()
            .find(|stay| stay.cause == cause)
            .unwrap()
            .state;
        assert!(
            state.activity == Activity::Communication && state.suspended,
            "{cause}"
        );
    }
    // A lock that is free is no wait.
    let locks = stays
        .iter()
        .flatten()
        .filter(|stay| stay.cause == "pthread_mutex_lock");
    assert!(locks.count() <= 4);
    assert!(process.times("pthread_join") >= 4);
}

#[test]
fn a_process_that_forbids_itself_calls_is_not_ended_by_ours() {
    let run = record(&mut Command::new(program("restricted.c"))).ok();
    let process = run.one();
    assert_eq!(process.times("write"), 10);
    let end = process.facts.end.unwrap();
    assert_eq!(end.io_calls_made, None);
}

#[test]
fn fathomps_own_runtime_is_heard() {
    let run = record(&mut Command::new(program("interface.c"))).ok();
    let process = run.one();
    // The thread that serves is told of only until it says so.
    assert_eq!(process.threads.len(), 2);
    let served = process.stays_of(&process.threads[1]);
    assert!(
        served.iter().all(|stay| stay.cause.is_empty()),
        "{served:?}"
    );
    let main = process.stays_of(&process.threads[0]);
    let barrier = main.iter().find(|stay| stay.cause == "a barrier").unwrap();
    assert_eq!(barrier.state.activity, Activity::Communication);
    assert_eq!(barrier.counts[Counter::DsmFetchFaults], 5);
    assert_eq!(barrier.counts[Counter::DsmPagesIn], 7);
    assert_eq!(process.total(Counter::DsmFetchFaults), 8);
    // What is called inside is what the thread does then.
    let inside = main.iter().filter(|stay| stay.cause == "write");
    assert_eq!(inside.count(), 1);
    assert!(process.threads[0].iter().any(|record| matches!(
        record,
        Record::Identity {
            node: Some(2),
            openmp_thread: Some(1),
            ..
        }
    )));
    let marks = process.threads[0].iter();
    let marks = marks.filter(|record| matches!(record, Record::Mark { .. }));
    assert_eq!(marks.count(), 1);
}

#[test]
fn a_process_that_is_killed_leaves_what_it_did() {
    let run = record(&mut Command::new(program("killed.c")));
    assert_eq!(run.output.status.signal(), Some(6));
    let process = run.one();
    assert!(process.facts.end.is_none());
    assert_eq!(process.total(Counter::BytesRead), 10);
}

#[test]
fn where_nothing_can_be_recorded_the_program_does_not_notice() {
    let path = program("descriptors.c");
    let room = folder();
    let expected = Command::new(&path)
        .current_dir(room.path())
        .output()
        .unwrap();
    assert!(expected.status.success());
    let closed = folder();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let damaged = folder();
    fs::write(damaged.path().join("setup.json"), "{").unwrap();
    let missing = damaged.path().join("missing");
    for live in [closed.path(), damaged.path(), &missing] {
        let output = under_interposer(Command::new(&path).current_dir(room.path()), live);
        assert_eq!(output, expected, "{}", live.display());
    }
    let output = Command::new(&path)
        .current_dir(room.path())
        .env("LD_PRELOAD", support::library())
        .output()
        .unwrap();
    assert_eq!(output, expected);
}
