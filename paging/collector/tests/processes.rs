//! Real processes: killed at any moment, forked, becoming others, very many, with very many
//! threads. Children are this very program in another role.
// A program of its own: it starts itself as its children, and forks.

mod common;

use common::{Collecting, Place, exit, intervals, open, thread};
use fathomp_interposer::{Change, EndFacts, Process, ThreadSink};
use fathomp_paging::setup::{Setup, Writer};
use fathomp_paging::{Activity, Cause, Counter, Counts, Ending, State};
use fathomp_sys::clock;
use fathomp_sys::shm::SharedFile;
use fathomp_types::Ticks;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

const ROLE: &str = "FATHOMP_TEST_ROLE";
const LIVE: &str = "FATHOMP_TEST_LIVE";

/// This program as a child in a role.
fn command(role: &str, live: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture", "--test-threads", "1"])
        .env(ROLE, role)
        .env(LIVE, live)
        .stdout(std::process::Stdio::null());
    command
}

/// Does nothing unless it is a child's turn.
#[test]
fn child() {
    let Some(role) = std::env::var_os(ROLE) else {
        return;
    };
    let live = PathBuf::from(std::env::var_os(LIVE).unwrap());
    match role.to_str().unwrap() {
        "endless" => endless(&live, 3_000),
        "flat-out" => endless(&live, 0),
        "few" => few(open(&live), 10),
        "fork" => fork(&live),
        "become" => become_another(&live, true),
        "fail-to-become" => become_another(&live, false),
        "churn" => churn(&live),
        "exit-with-threads" => exit_with_threads(&live),
        other => panic!("no role {other}"),
    }
    // Past the test harness, which would write to standard output.
    std::process::exit(0);
}

/// Tells of a stay that ends now, with a number of its own.
fn step(sink: &mut ThreadSink, number: u64) {
    let mut counts = Counts::ZERO;
    counts[Counter::BytesRead] = number;
    counts[Counter::MinorFaults] = 1;
    let change = Change {
        at: clock::now(),
        state: State::ALL[(number % 6) as usize],
        cause: Cause::NONE,
        counts: &counts,
        next: Activity::Compute,
    };
    sink.change(&change, &mut Counts::default());
}

/// Two threads change their state until the process is killed, and say how often they did.
///
/// Between changes, so many ticks pass at least.
fn endless(live: &Path, ticks: u64) {
    let process = open(live);
    let said = SharedFile::open(&live.join("said")).unwrap().leak();
    std::thread::scope(|scope| {
        for number in 0..2 {
            scope.spawn(move || {
                let mut sink = thread(process, clock::now());
                for step_number in 1.. {
                    step(&mut sink, step_number);
                    said.words()[number * 8].store(step_number, Relaxed);
                    let until = clock::now() + Ticks(ticks);
                    while clock::now() < until {
                        std::hint::spin_loop();
                    }
                }
            });
        }
    });
}

fn few(process: &'static Process, steps: u64) {
    let mut sink = thread(process, clock::now());
    (1..=steps).for_each(|number| step(&mut sink, number));
    sink.end(clock::now(), Ending::Exit);
    exit(process, clock::now());
}

fn fork(live: &Path) {
    let process = open(live);
    assert_eq!(process.name("read"), 1);
    let mut sink = thread(process, clock::now());
    step(&mut sink, 1);
    // SAFETY: the other thread of this process only waits for this one.
    match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Child => {
            let process = process.after_fork_in_child().unwrap();
            assert_eq!(process.name("write"), 2);
            few(process, 5);
            std::process::exit(0);
        }
        nix::unistd::ForkResult::Parent { child } => {
            nix::sys::wait::waitpid(child, None).unwrap();
        }
    }
    step(&mut sink, 2);
    sink.end(clock::now(), Ending::Exit);
    exit(process, clock::now());
}

fn become_another(live: &Path, succeed: bool) {
    let process = open(live);
    let mut sink = thread(process, clock::now());
    step(&mut sink, 1);
    process.end(&EndFacts {
        at: clock::now(),
        ending: Ending::Exec,
        ..EndFacts::default()
    });
    if succeed {
        panic!("{}", command("few", live).exec());
    }
    let _ = Command::new("/no/such/program").exec();
    process.goes_on();
    std::thread::sleep(Duration::from_millis(100));
    step(&mut sink, 2);
    sink.end(clock::now(), Ending::Exit);
    exit(process, clock::now());
}

/// Many threads that live shortly, some at a time.
fn churn(live: &Path) {
    let process = open(live);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..250 {
                    let mut sink = thread(process, clock::now());
                    (1..=20).for_each(|number| step(&mut sink, number));
                    sink.end(clock::now(), Ending::Exit);
                }
            });
        }
    });
    exit(process, clock::now());
}

/// One thread ends the process while another is in the midst of a stay.
fn exit_with_threads(live: &Path) {
    let process = open(live);
    let mut sink = thread(process, clock::now());
    step(&mut sink, 1);
    let (ready, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut sink = thread(process, clock::now());
        step(&mut sink, 1);
        ready.send(()).unwrap();
        loop {
            std::thread::park();
        }
    });
    wait.recv().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    step(&mut sink, 2);
    sink.end(clock::now(), Ending::Exit);
    exit(process, clock::now());
}

fn start(writer: &str) -> (Place, Collecting) {
    let place = Place::new();
    let collecting = place.start(place.setup(place.writer(writer)));
    (place, collecting)
}

const WRITERS: [&str; 5] = ["shared", "message", "collector", "task", "striped"];

/// Waits for a child, but not for ever.
fn ended(mut child: Child) {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success() || status.signal() == Some(9), "{status}");
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "a child hangs");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn nothing_is_lost_or_doubled_when_a_process_is_killed_at_any_moment() {
    for writer in WRITERS {
        for millis in [1, 7, 40, 90] {
            let (place, collecting) = start(writer);
            let said = SharedFile::create(&place.live.join("said"), 512).unwrap();
            let mut child = command("endless", &place.live).spawn().unwrap();
            let number = |at: usize| said.words()[at * 8].load(Relaxed);
            let since = Instant::now();
            while number(0) == 0 || number(1) == 0 {
                assert!(since.elapsed() < Duration::from_secs(20));
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(millis));
            child.kill().unwrap();
            ended(child);
            let summary = collecting.finish();
            assert_eq!(summary.problems, Vec::<String>::new(), "{writer}");
            assert_eq!(summary.merged, 0, "{writer}");
            let recording = place.read();
            assert_eq!(
                recording.tasks().len(),
                2,
                "{writer} {:?}",
                recording.problems()
            );
            let mut told = [number(0), number(1)];
            told.sort_unstable();
            let mut found = Vec::new();
            for task in recording.tasks() {
                assert_eq!(task.ending, Ending::Lost, "{writer}");
                let stays = intervals(&recording, task.id);
                let mut last = 0;
                for stay in &stays {
                    let number = stay.counts[Counter::BytesRead];
                    // What it did when it was killed has no counts.
                    if number != 0 {
                        assert_eq!(number, last + 1, "{writer} after {millis} ms");
                        last = number;
                    }
                }
                found.push(last);
                let totals = recording.totals(task.id).unwrap();
                assert_eq!(totals.counts[Counter::MinorFaults], last, "{writer}");
            }
            found.sort_unstable();
            for (told, found) in told.into_iter().zip(found) {
                // It may have been killed before it could say so.
                assert!(
                    found == told || found == told + 1,
                    "{writer}: {told} {found}"
                );
            }
        }
    }
}

/// The threads are faster than the collector, which small rings make sure of.
#[test]
fn totals_are_exact_when_a_process_is_killed_while_it_merges() {
    for millis in [3, 8, 15, 21, 34, 55] {
        let place = Place::new();
        let setup = Setup {
            ring_bytes: Setup::RING_BYTES_MIN,
            ..place.setup(Writer::Shared)
        };
        let collecting = place.start(setup);
        let said = SharedFile::create(&place.live.join("said"), 512).unwrap();
        let mut child = command("flat-out", &place.live).spawn().unwrap();
        let number = |at: usize| said.words()[at * 8].load(Relaxed);
        let since = Instant::now();
        while number(0) == 0 || number(1) == 0 {
            assert!(since.elapsed() < Duration::from_secs(20));
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(millis));
        child.kill().unwrap();
        ended(child);
        let summary = collecting.finish();
        assert_eq!(summary.problems, Vec::<String>::new());
        assert!(summary.merged > 0, "no ring was full");
        let recording = place.read();
        let mut found = Vec::new();
        for task in recording.tasks() {
            let stays = intervals(&recording, task.id);
            let faults = stays.iter().map(|stay| stay.counts[Counter::MinorFaults]);
            let faults = faults.sum::<u64>();
            let totals = recording.totals(task.id).unwrap();
            assert_eq!(totals.counts[Counter::MinorFaults], faults);
            assert!(stays.windows(2).all(|pair| pair[0].end <= pair[1].begin));
            found.push(faults);
        }
        let mut told = [number(0), number(1)];
        told.sort_unstable();
        found.sort_unstable();
        for (told, found) in told.into_iter().zip(found) {
            assert!(found == told || found == told + 1, "{told} {found}");
        }
    }
}

#[test]
fn a_forked_child_is_a_process_of_its_own() {
    for writer in WRITERS {
        let (place, collecting) = start(writer);
        ended(command("fork", &place.live).spawn().unwrap());
        let summary = collecting.finish();
        assert_eq!(summary.problems, Vec::<String>::new(), "{writer}");
        let recording = place.read();
        let [parent, child] = recording.tasks() else {
            panic!("{writer}: {:?}", recording.tasks());
        };
        assert_eq!(child.parent, parent.process, "{writer}");
        assert!(parent.process != child.process);
        assert_eq!(intervals(&recording, parent.id).len(), 2, "{writer}");
        assert_eq!(intervals(&recording, child.id).len(), 5, "{writer}");
        let names = recording.names();
        assert!(names.iter().any(|name| name == "write"), "{names:?}");
    }
}

#[test]
fn a_process_that_becomes_another_program_is_two() {
    for writer in WRITERS {
        let (place, collecting) = start(writer);
        ended(command("become", &place.live).spawn().unwrap());
        assert_eq!(
            collecting.finish().problems,
            Vec::<String>::new(),
            "{writer}"
        );
        let recording = place.read();
        let [before, after] = recording.tasks() else {
            panic!("{writer}: {:?}", recording.tasks());
        };
        assert_eq!(before.process, after.process);
        assert_eq!(
            (before.ending, after.ending),
            (Ending::Exec, Ending::Exit),
            "{writer}"
        );
        assert!(before.end <= after.begin, "{writer}");
        assert_eq!(intervals(&recording, after.id).len(), 10, "{writer}");
    }
}

#[test]
fn a_process_that_fails_to_become_another_program_goes_on() {
    for writer in WRITERS {
        let (place, collecting) = start(writer);
        ended(command("fail-to-become", &place.live).spawn().unwrap());
        assert_eq!(
            collecting.finish().problems,
            Vec::<String>::new(),
            "{writer}"
        );
        let recording = place.read();
        let [task] = recording.tasks() else {
            panic!("{writer}: {:?}", recording.tasks());
        };
        assert_eq!(task.ending, Ending::Exit, "{writer}");
        assert_eq!(recording.processes()[0].ending, Ending::Exit, "{writer}");
        let stays = intervals(&recording, task.id);
        assert_eq!(stays.len(), 2, "{writer}");
    }
}

#[test]
fn threads_that_others_end_are_recorded_to_the_end() {
    for writer in WRITERS {
        let (place, collecting) = start(writer);
        ended(command("exit-with-threads", &place.live).spawn().unwrap());
        assert_eq!(
            collecting.finish().problems,
            Vec::<String>::new(),
            "{writer}"
        );
        let recording = place.read();
        let [first, second] = recording.tasks() else {
            panic!("{writer}: {:?}", recording.tasks());
        };
        assert_eq!(first.ending, Ending::Exit, "{writer}");
        assert_eq!(second.ending, Ending::Exit, "{writer}");
        let stays = intervals(&recording, second.id);
        assert_eq!(stays.len(), 2, "{writer}");
        assert!(stays[1].end - stays[1].begin > 10_000_000, "{writer}");
    }
}

#[test]
fn many_short_processes_are_all_there() {
    let (place, collecting) = start("shared");
    let processes = 300;
    for _ in 0..processes / 10 {
        let children: Vec<_> = (0..10)
            .map(|_| command("few", &place.live).spawn().unwrap())
            .collect();
        children.into_iter().for_each(ended);
    }
    let summary = collecting.finish();
    assert_eq!(summary.problems, Vec::<String>::new());
    assert_eq!(summary.processes, processes);
    let recording = place.read();
    assert_eq!(recording.tasks().len() as u64, processes);
    for task in recording.tasks() {
        assert_eq!(task.ending, Ending::Exit);
        assert_eq!(intervals(&recording, task.id).len(), 10);
    }
    let left = std::fs::read_dir(&place.live).unwrap().count();
    assert_eq!(left, 2, "only settings and bell stay in the live directory");
}

#[test]
fn threads_that_come_and_go_are_all_there() {
    for writer in WRITERS {
        let (place, collecting) = start(writer);
        ended(command("churn", &place.live).spawn().unwrap());
        assert_eq!(
            collecting.finish().problems,
            Vec::<String>::new(),
            "{writer}"
        );
        let recording = place.read();
        assert_eq!(recording.tasks().len(), 1000, "{writer}");
        for task in recording.tasks() {
            let stays = intervals(&recording, task.id);
            let numbers = stays.iter().map(|stay| stay.counts[Counter::BytesRead]);
            assert!(numbers.eq(1..=20), "{writer}: {stays:?}");
            assert_eq!(task.ending, Ending::Exit, "{writer}");
        }
    }
}

/// For what the ring holds when its consumer sleeps.
#[test]
fn a_process_that_outruns_its_collector_keeps_exact_totals() {
    let place = Place::new();
    let setup = Setup {
        ring_bytes: Setup::RING_BYTES_MIN,
        ..place.setup(Writer::Shared)
    };
    let collecting = place.start(setup);
    let process = open(&place.live);
    let begin = clock::now();
    let mut sink = thread(process, begin);
    let steps = 200_000_u64;
    (1..=steps).for_each(|number| step(&mut sink, number));
    let end = clock::now();
    sink.end(end, Ending::Exit);
    exit(process, end);
    let summary = collecting.finish();
    assert!(summary.merged > 0, "the ring was never full");
    let recording = place.read();
    let task = &recording.tasks()[0];
    let totals = recording.totals(task.id).unwrap();
    assert_eq!(totals.stays, steps);
    assert_eq!(totals.counts[Counter::MinorFaults], steps);
    assert_eq!(totals.counts[Counter::BytesRead], steps * (steps + 1) / 2);
    let stays = intervals(&recording, task.id);
    let sum = |of: fn(&fathomp_paging::Interval) -> u64| stays.iter().map(of).sum::<u64>();
    assert_eq!(sum(|stay| stay.merged), steps);
    assert_eq!(sum(|stay| stay.counts[Counter::MinorFaults]), steps);
    assert_eq!(
        sum(|stay| stay.counts[Counter::BytesRead]),
        steps * (steps + 1) / 2
    );
    // No moment is missing, and none comes twice.
    assert!(stays.windows(2).all(|pair| pair[0].end <= pair[1].begin));
    let states = totals.ticks.iter().sum::<u64>();
    assert!(end.since(begin).0 - states < 1_000_000, "{states}");
}
