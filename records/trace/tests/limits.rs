//! Recordings stay small, and say what that cost.
// A program of its own: it starts itself as its child, and sets limits.

mod common;

use common::{Place, execute, executions, region, role, total};
use fathomp_trace::drain::Limits;
use fathomp_trace::now;
use fathomp_trace::recorder::{Recorder, Settings};
use fathomp_trace::state::State;
use fathomp_types::{SiteId, Ticks};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[test]
fn beyond_the_limit_executions_are_summed_exactly() {
    const EXECUTIONS: u64 = 20_000;
    let place = Place::new();
    let settings = Settings {
        interval_ns: 0,
        ring_kib: 1024,
        ..place.settings()
    };
    let recorder = Recorder::open(settings, "test").unwrap();
    let mut drainer = place.drainer_with(Limits {
        limit_bytes: 100_000,
    });
    let thread = recorder.attach().unwrap();
    let sites = [region(recorder, 0), region(recorder, 1)];
    let mut waited = Ticks(0);
    for number in 0..EXECUTIONS {
        let site = sites[number as usize % 2];
        thread.begin(&fathomp_trace::recorder::Start {
            site,
            ..Default::default()
        });
        let (begin, end) = (now(), now());
        waited += end.since(begin);
        thread.wait(State::ExplicitBarrier, begin, end);
        thread.chunks(1, 3);
        thread.end();
        if number % 1000 == 0 {
            drainer.poll().unwrap();
        }
    }
    recorder.detach(thread);
    recorder.finish();
    let summary = drainer.finish().unwrap();
    assert!(summary.bytes < 300_000, "{} bytes", summary.bytes);
    let recording = place.read();
    let read: Vec<_> = sites
        .iter()
        .flat_map(|&site| executions(&recording, site))
        .collect();
    assert!(read.len() < 3000);
    assert_eq!(total(&read), EXECUTIONS);
    let sum: Ticks = read
        .iter()
        .map(|instance| instance.states[State::ExplicitBarrier])
        .sum();
    assert_eq!(sum, waited);
    let iterations: u64 = read.iter().map(|instance| instance.iterations).sum();
    assert_eq!(iterations, EXECUTIONS * 3);
    let waits: u32 = read
        .iter()
        .map(|instance| instance.waits[State::ExplicitBarrier])
        .sum();
    assert_eq!(u64::from(waits), EXECUTIONS);
    let said = |what: &str| recording.problems.iter().any(|text| text.contains(what));
    assert!(said("were summed"));
    assert!(said("left out of the timeline"));
}

/// Not a test of its own: records with a limit on the size of files, which
/// stands in for a full disk.
#[test]
fn with_a_full_disk() {
    if role().as_deref() != Some("full disk") {
        return;
    }
    let place = Place::new();
    let settings = Settings {
        interval_ns: 0,
        ring_kib: 16,
        threads: 2,
        ..place.settings()
    };
    let recorder = Recorder::open(settings, "test").unwrap();
    let mut drainer = place.drainer();
    let thread = recorder.attach().unwrap();
    let site = region(recorder, 0);
    for number in 0..20_000 {
        execute(thread, site, number);
        if number % 100 == 0 {
            drainer.poll().unwrap();
        }
    }
    recorder.detach(thread);
    recorder.finish();
    let summary = drainer.finish().unwrap();
    assert!(
        summary
            .problems
            .iter()
            .any(|problem| problem.contains("could not be written")),
        "{:?}",
        summary.problems
    );
    let recording = place.read();
    let read = executions(&recording, SiteId(1));
    assert!(read.len() > 1000);
    // Nothing that was written is torn, and nothing is counted twice.
    assert!(total(&read) <= 20_000);
}

#[test]
fn a_full_disk_costs_details_but_not_the_recording() {
    if role().is_some() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    // In blocks of 512 bytes: 600 KiB.
    let script = r#"ulimit -f 1200 && exec "$0" --exact with_a_full_disk --nocapture"#;
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(program)
        .env(common::ROLE, "full disk")
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

#[test]
fn an_idle_program_costs_the_drainer_no_records() {
    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "test").unwrap();
    let thread = recorder.attach().unwrap();
    execute(thread, region(recorder, 0), 1);
    let mut drainer = place.drainer();
    let first = drainer.poll().unwrap();
    assert_eq!((first.processes, first.running), (1, 1));
    let mut last = first;
    common::eventually("rest", || {
        last = drainer.poll().unwrap();
        last.records > 0
    });
    let bytes = last.bytes;
    for _ in 0..100 {
        last = drainer.poll().unwrap();
    }
    assert_eq!(last.bytes, bytes);
    recorder.finish();
    drainer.finish().unwrap();
    assert_eq!(total(&executions(&place.read(), SiteId(1))), 1);
}

#[test]
fn a_ring_that_fills_and_an_end_wake_the_drainer() {
    const EVER: Duration = Duration::from_secs(60);
    let place = Place::new();
    let recorder = Recorder::open(place.settings(), "test").unwrap();
    let thread = recorder.attach().unwrap();
    execute(thread, region(recorder, 0), 1);
    let mut drainer = place.drainer();
    drainer.poll().unwrap();
    // What was called until now.
    drainer.wait(Duration::ZERO);
    let begun = Instant::now();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            drainer.wait(EVER);
            over.store(true, Ordering::Relaxed);
        });
        let mut instance = 1;
        while !over.load(Ordering::Relaxed) && begun.elapsed() < EVER {
            instance += 1;
            execute(thread, region(recorder, 0), instance);
        }
    });
    drainer.poll().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| drainer.wait(EVER));
        recorder.finish();
    });
    assert!(begun.elapsed() < EVER / 2, "nobody woke the drainer");
    drainer.finish().unwrap();
}
