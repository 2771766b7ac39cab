//! Threads of one process record while a drainer takes what they say.
// A program of its own: it counts page faults, forks, and works at full speed.

mod common;

use common::{Place, ago, execute, executions, region, total};
use fathomp_trace::dsm::{DsmCount, DsmCounts};
use fathomp_trace::model::SiteKind;
use fathomp_trace::now;
use fathomp_trace::record::{Decider, LoopKind, LoopShare, Phase, Record};
use fathomp_trace::recorder::{Recorder, Settings, Start};
use fathomp_trace::state::State;
use fathomp_types::{InstanceId, SiteId, Ticks};
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn everything_said_is_read_back() {
    let place = Place::new();
    let settings = Settings {
        interval_ns: 0,
        ..place.settings()
    };
    let recorder = Recorder::open(settings, "a runtime").unwrap();
    let here = everything_said_is_read_back as *const () as usize;
    let site = recorder.site(SiteKind::Parallel, here + 3, here);
    let looped = recorder.site(SiteKind::Loop, here + 9, 0);
    let instance = recorder.next_instance();
    let thread = recorder.attach().unwrap();
    let fork = now();
    thread.begin(&Start {
        site,
        instance,
        parent: InstanceId(99),
        thread_num: 2,
        team_size: 3,
        level: 1,
        fork,
        decider: Decider::If,
        set: 1 << 48 | 3,
    });
    let share = LoopShare {
        site: looped,
        instance,
        kind: LoopKind::Guided,
        ordered: true,
        chunk: 5,
        iterations: 30,
        chunks: 2,
        begin: fork,
        end: now(),
        longest: Ticks(0),
    };
    thread.chunks(1, 20);
    thread.chunks(1, 10);
    thread.loop_done(&share);
    thread.task_created();
    thread.task_run();
    thread.task_run();
    let (from, to) = (ago(50), now());
    thread.wait(State::Critical, from, to);
    thread.wait(State::Critical, from, to);
    thread.overhead(Ticks(from.0), Ticks(from.0 + 3), 8);
    thread.end();
    recorder.detach(thread);
    recorder.finish();
    assert_eq!(place.drain().problems, Vec::<String>::new());

    let recording = place.read();
    let [process] = &recording.processes[..] else {
        panic!("{:?}", recording.problems);
    };
    assert_eq!(process.pid, std::process::id());
    assert_eq!(process.runtime, "a runtime");
    assert_eq!(process.executable, std::env::current_exe().unwrap());
    assert!(process.end.is_some());
    assert_eq!(process.sites[0].kind, SiteKind::Serial);
    let described = &process.sites[site.0 as usize];
    assert_eq!(described.id, site);
    assert_eq!(described.module, process.executable);
    assert_eq!(described.call, described.function + 3);
    let [thread] = &process.threads[..] else {
        panic!("{:?}", process.threads);
    };
    assert_eq!(thread.dropped, 0);
    assert!(thread.begin <= fork && thread.end >= to);
    let [read] = &executions(&recording, site)[..] else {
        panic!("{:?}", thread.records);
    };
    assert_eq!(
        (read.instance, read.parent, read.merged),
        (instance, InstanceId(99), 1)
    );
    assert_eq!(
        (read.thread_num, read.team_size, read.level, read.fork),
        (2, 3, 1, fork)
    );
    assert_eq!((read.decider, read.floats), (Decider::If, 0));
    assert_eq!((read.loops, read.chunks, read.iterations), (1, 2, 30));
    assert_eq!((read.tasks_created, read.tasks_run), (1, 2));
    assert_eq!(read.waits[State::Critical], 2);
    assert_eq!(read.states[State::Critical], Ticks(2 * to.since(from).0));
    assert_eq!(read.states[State::Overhead], Ticks(24));
    let waits = thread
        .records
        .iter()
        .filter(|record| matches!(record, Record::Interval(interval) if interval.site == site));
    assert_eq!(waits.count(), 2);
    assert!(thread.records.contains(&Record::Loop(share)));
}

#[test]
fn what_sharing_costs_is_told_from_barrier_to_barrier() {
    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "test").unwrap();
    let site = region(recorder, 0);
    let thread = recorder.attach().unwrap();
    let counted = |count: DsmCount, number: u64| {
        let mut counts = DsmCounts::default();
        counts[count] = number;
        thread.dsm(&counts, now());
    };
    // Waiting for work is in no region's phases.
    counted(DsmCount::Barriers, 1);
    for _ in 0..2 {
        thread.begin(&Start {
            site,
            instance: recorder.next_instance(),
            team_size: 1,
            level: 1,
            fork: now(),
            ..Start::default()
        });
        counted(DsmCount::FetchFaults, 2);
        counted(DsmCount::FetchFaults, 3);
        counted(DsmCount::Barriers, 1);
        counted(DsmCount::Barriers, 1);
        counted(DsmCount::Locks, 1);
        thread.end();
        counted(DsmCount::Barriers, 1);
    }
    recorder.detach(thread);
    recorder.finish();
    assert_eq!(place.drain().problems, Vec::<String>::new());
    let recording = place.read();
    let whole = executions(&recording, site);
    let records = recording.processes[0].threads[0].records.iter();
    let phases: Vec<Phase> = records
        .filter_map(|record| match record {
            Record::Phase(phase) => Some(**phase),
            _ => None,
        })
        .collect();
    let fetches: Vec<u64> = phases
        .iter()
        .map(|phase| phase.dsm[DsmCount::FetchFaults])
        .collect();
    assert_eq!(fetches, [5, 0, 5, 0]);
    for (pair, whole) in phases.chunks(2).zip(&whole) {
        assert!(pair.iter().all(|phase| phase.instance == whole.instance));
        assert!(pair.iter().all(|phase| phase.dsm[DsmCount::Barriers] == 1));
        assert!(pair.iter().all(|phase| phase.dsm[DsmCount::Locks] == 0));
        assert_eq!((pair[0].begin, pair[0].end), (whole.begin, pair[1].begin));
        assert!(pair[1].end <= whole.end);
        assert_eq!(whole.dsm_counts()[DsmCount::FetchFaults], 5);
        assert_eq!(whole.dsm_counts()[DsmCount::Locks], 1);
    }
}

#[test]
fn threads_and_a_drainer_at_full_speed_lose_no_execution() {
    const THREADS: usize = 4;
    const EXECUTIONS: u64 = 50_000;
    let place = Place::new();
    let settings = Settings {
        ring_kib: 16,
        ..place.settings()
    };
    let recorder = Recorder::open(settings, "test").unwrap();
    let site = region(recorder, 0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let drainer = scope.spawn(|| {
            let mut drainer = place.drainer();
            while !done.load(Ordering::Relaxed) {
                drainer.poll().unwrap();
            }
            drainer.finish().unwrap()
        });
        let writers: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let thread = recorder.attach().unwrap();
                    for number in 0..EXECUTIONS {
                        execute(thread, site, number);
                    }
                    recorder.detach(thread);
                })
            })
            .collect();
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        recorder.finish();
        done.store(true, Ordering::Relaxed);
        assert_eq!(drainer.join().unwrap().problems, Vec::<String>::new());
    });
    let recording = place.read();
    assert_eq!(recording.processes[0].threads.len(), THREADS);
    let read = executions(&recording, site);
    let dropped: u64 = recording.processes[0]
        .threads
        .iter()
        .map(|thread| thread.dropped)
        .sum();
    // A thread may end with sums (and a last reading of its counters) that
    // find no room any more: those are counted.
    let all = THREADS as u64 * EXECUTIONS;
    assert!(total(&read) <= all && total(&read) + dropped >= all);
    assert!(read.iter().all(|instance| instance.begin <= instance.end));
}

#[test]
fn what_finds_the_ring_full_is_summed_and_the_rest_counted() {
    let place = Place::new();
    let settings = Settings {
        ring_kib: 4,
        ..place.settings()
    };
    let recorder = Recorder::open(settings, "test").unwrap();
    let thread = recorder.attach().unwrap();
    let sites: Vec<_> = (0..20).map(|number| region(recorder, number)).collect();
    // No one takes anything: the ring holds 512 words, some seventy executions.
    for number in 0..1000 {
        execute(thread, sites[number % 2], number as u64);
    }
    for (number, &site) in sites.iter().enumerate() {
        execute(thread, site, number as u64);
    }
    recorder.finish();
    place.drain();
    let recording = place.read();
    for &site in &sites[..2] {
        let read = executions(&recording, site);
        assert_eq!(total(&read), 501);
        let busy: Ticks = read.iter().map(|instance| instance.busy).sum();
        assert!(busy.0 > 0);
    }
    // Eight regions can be carried: two were, six more could be. Readings of
    // counters may have been dropped as well.
    let dropped = recording.processes[0].threads[0].dropped;
    assert!(dropped >= 12);
    let sentence = format!("{dropped} records");
    assert!(
        recording
            .problems
            .iter()
            .any(|problem| problem.starts_with(&sentence))
    );
}

#[test]
fn a_wait_outside_all_regions_is_part_of_the_serial_part() {
    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "test").unwrap();
    let thread = recorder.attach().unwrap();
    let site = region(recorder, 0);
    // Waiting for work is not serial time.
    thread.wait(State::Idle, ago(20), now());
    execute(thread, site, 1);
    let (from, to) = (now(), Ticks(now().0 + 7));
    thread.wait(State::Lock, from, to);
    execute(thread, site, 2);
    recorder.detach(thread);
    recorder.finish();
    place.drain();
    let recording = place.read();
    let serial = executions(&recording, SiteId::SERIAL);
    let [serial] = &serial[..] else {
        panic!("{serial:?}");
    };
    let regions = executions(&recording, site);
    assert_eq!(serial.states[State::Lock], to.since(from));
    assert_eq!(serial.waits[State::Idle], 0);
    assert_eq!((serial.level, serial.thread_num), (0, 0));
    assert_eq!(
        (serial.begin, serial.end),
        (regions[0].end, regions[1].begin)
    );
}

#[test]
fn nesting_beyond_what_is_recorded_is_counted() {
    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "test").unwrap();
    let thread = recorder.attach().unwrap();
    let site = region(recorder, 0);
    for level in 1..=11 {
        thread.begin(&Start {
            site,
            level,
            ..Start::default()
        });
    }
    thread.wait(State::Lock, ago(5), now());
    for _ in 1..=11 {
        thread.end();
    }
    // One end too many is harmless.
    thread.end();
    recorder.detach(thread);
    recorder.finish();
    place.drain();
    let recording = place.read();
    let read = executions(&recording, site);
    let levels: Vec<_> = read.iter().map(|instance| instance.level).collect();
    assert_eq!(levels, [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(read[0].waits[State::Lock], 1);
    assert!(
        recording
            .problems
            .iter()
            .any(|problem| problem.starts_with("3 executions"))
    );
}

#[test]
fn a_slot_serves_one_thread_after_the_other() {
    let place = Place::new();
    let settings = Settings {
        threads: 1,
        ..place.settings()
    };
    let recorder = Recorder::open(settings, "test").unwrap();
    let site = region(recorder, 0);
    let first = recorder.attach().unwrap();
    assert!(
        recorder.attach().is_none(),
        "there is only one slot, and it is taken"
    );
    execute(first, site, 1);
    recorder.detach(first);
    let second = recorder.attach().unwrap();
    execute(second, site, 2);
    execute(second, site, 3);
    recorder.finish();
    place.drain();
    let recording = place.read();
    let counts: Vec<_> = recording.processes[0]
        .threads
        .iter()
        .map(|thread| {
            let instances = thread
                .records
                .iter()
                .filter(|record| matches!(record, Record::Instance(_)));
            (thread.id.0, instances.count())
        })
        .collect();
    assert_eq!(counts, [(0, 1), (1, 2)]);
    assert!(
        recording
            .problems
            .iter()
            .any(|problem| problem.starts_with("1 threads"))
    );
}

#[test]
fn more_places_than_fit_share_a_number() {
    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "test").unwrap();
    let numbers: Vec<_> = (0..5000)
        .map(|number| region(recorder, number * 8))
        .collect();
    // Numbers are stable, and distinct as long as there are any.
    assert_eq!(region(recorder, 80), numbers[10]);
    let mut distinct = numbers.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 4095);
    assert_eq!(numbers[4999], SiteId(4095));
    // The same place in another role is another place.
    assert_ne!(
        recorder.site(SiteKind::Barrier, 16 + 80, 0),
        region(recorder, 80)
    );
    let thread = recorder.attach().unwrap();
    execute(thread, numbers[4999], 1);
    recorder.finish();
    place.drain();
    let recording = place.read();
    assert_eq!(recording.processes[0].sites.len(), 4096);
    assert!(
        recording
            .problems
            .iter()
            .any(|problem| problem.contains("table of places"))
    );
}

#[test]
fn page_faults_are_put_down_to_the_region() {
    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "test").unwrap();
    let thread = recorder.attach().unwrap();
    let site = region(recorder, 0);
    thread.begin(&Start {
        site,
        ..Start::default()
    });
    let mut pages = vec![0_u8; 8 << 20];
    pages.chunks_mut(4096).for_each(|page| page[0] = 1);
    std::hint::black_box(&pages);
    std::thread::sleep(std::time::Duration::from_millis(1));
    thread.end();
    recorder.finish();
    place.drain();
    let recording = place.read();
    let readings: Vec<_> = recording.processes[0].threads[0]
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Counters(reading) => Some(reading),
            _ => None,
        })
        .collect();
    let counts: Vec<_> = readings
        .iter()
        .filter(|reading| reading.site == site)
        .map(|reading| reading.counts)
        .collect();
    assert!(counts.iter().any(|counts| counts.minor_faults > 0));
    assert!(counts.iter().any(|counts| counts.voluntary_switches > 0));
    for pair in readings.windows(2) {
        assert_eq!(pair[0].at, pair[1].since, "readings leave no gap");
    }
}

#[test]
fn memory_for_the_ring_itself_is_no_fault_of_the_program() {
    let place = Place::new();
    let settings = Settings {
        ring_kib: 1024,
        ..place.settings()
    };
    let recorder = Recorder::open(settings, "test").unwrap();
    let thread = recorder.attach().unwrap();
    let site = region(recorder, 0);
    // Fills half a mebibyte, 128 pages.
    for number in 0..8000 {
        execute(thread, site, number);
    }
    recorder.detach(thread);
    recorder.finish();
    place.drain();
    let recording = place.read();
    assert_eq!(total(&executions(&recording, site)), 8000);
    let faults: u64 = recording.processes[0].threads[0]
        .records
        .iter()
        .map(|record| match record {
            Record::Counters(reading) => reading.counts.minor_faults,
            _ => 0,
        })
        .sum();
    assert!(
        faults < 64,
        "{faults} faults of a program that touches nothing"
    );
}

#[test]
fn a_process_that_recorded_nothing_is_passed_over_beside_others() {
    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "test").unwrap();
    let idle = recorder.restart_in_child().unwrap();
    let waiting = idle.attach().unwrap();
    idle.finish();
    place.drain();
    assert_eq!(place.read().processes.len(), 2);
    let _ = waiting;

    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "test").unwrap();
    let _ = recorder.restart_in_child().unwrap();
    execute(recorder.attach().unwrap(), region(recorder, 0), 1);
    recorder.finish();
    place.drain();
    let recording = place.read();
    assert_eq!(recording.processes.len(), 1);
    assert_eq!(recording.problems.len(), 1, "{:?}", recording.problems);
}

#[test]
fn a_child_of_a_fork_gets_a_file_of_its_own() {
    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "test").unwrap();
    let child = recorder.restart_in_child().unwrap();
    let (ours, theirs) = (recorder.attach().unwrap(), child.attach().unwrap());
    execute(ours, region(recorder, 0), 1);
    execute(theirs, region(child, 1), 1);
    recorder.finish();
    child.finish();
    place.drain();
    assert_eq!(place.read().processes.len(), 2);
}

/// Keeps the processor for so many microseconds.
fn work(us: u64) {
    let begin = std::time::Instant::now();
    while begin.elapsed() < std::time::Duration::from_micros(us) {
        std::hint::spin_loop();
    }
}

#[test]
fn the_longest_task_is_told_without_what_ran_inside_it_and_without_its_waits() {
    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "a runtime").unwrap();
    let site = region(recorder, 5);
    let thread = recorder.attach().unwrap();
    let start = Start {
        site,
        instance: recorder.next_instance(),
        team_size: 2,
        level: 1,
        fork: now(),
        ..Start::default()
    };
    thread.begin(&start);
    let begin = now();
    let outer = thread.task_begins().unwrap();
    work(200);
    let inner = thread.task_begins().unwrap();
    work(300);
    thread.task_ends(inner);
    let waits = now();
    work(100);
    let waited = now().since(waits).0;
    thread.wait(State::TaskWait, waits, waits + Ticks(waited));
    thread.task_ends(outer);
    let all = now().since(begin).0;
    // Two waits behind single constructs: one straight, one after something else.
    for (after, ticks) in [(0, 7_000), (1 << 30, 9_000)] {
        let met = now();
        thread.single_lost();
        let from = Ticks(met.0 + after);
        thread.wait(State::ExplicitBarrier, from, from + Ticks(ticks));
    }
    thread.end();
    recorder.detach(thread);
    recorder.finish();
    place.drain();
    let recording = place.read();
    let [read] = &executions(&recording, site)[..] else {
        panic!("{:?}", recording.problems);
    };
    assert_eq!(read.tasks_run, 2);
    assert_eq!(read.single_wait, Ticks(7_000));
    let us = |us: u64| (us as f64 * 1e3 / recording.processes[0].clock.nanos_per_tick) as u64;
    let longest = read.longest_task.0;
    assert!(longest >= us(295), "{longest} of {all}");
    assert!(longest + waited + us(195) <= all, "{longest} of {all}");
}
