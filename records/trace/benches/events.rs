//! What an event costs the program: `cargo bench -p fathomp-trace`.
//!
//! Two processes, as in real life: this one records, and drains itself from a
//! second copy of itself that runs only the drainer. Prints nanoseconds per
//! event (the median and the best of several rounds) and what the drainer used
//! of a processor. Options: `--threads N`, `--rounds N`.

use fathomp_trace::drain::{Drainer, Limits};
use fathomp_trace::model::SiteKind;
use fathomp_trace::now;
use fathomp_trace::record::{LoopKind, LoopShare};
use fathomp_trace::recorder::{Recorder, Settings, Start, ThreadRecorder};
use fathomp_trace::state::State;
use fathomp_types::{InstanceId, Ticks};
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Events per round and thread.
const EVENTS: u32 = 200_000;

/// An event under measurement.
type Event = fn(&Recorder, &ThreadRecorder);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, live, recording] = &arguments[..]
        && mode == "drain"
    {
        drain(Path::new(live), Path::new(recording));
        return;
    }
    let number = |name: &str, default: usize| {
        let value = arguments.iter().skip_while(|word| *word != name).nth(1);
        value
            .and_then(|value| value.parse().ok())
            .unwrap_or(default)
    };
    measure(number("--threads", 1), number("--rounds", 15));
}

fn measure(threads: usize, rounds: usize) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let live = fathomp_trace::live::create(root.path()).expect("a live directory");
    let recording = root.path().join("recording");
    let mut drainer = Command::new(std::env::current_exe().expect("our own name"))
        .arg("drain")
        .args([&live, &recording])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a second process");
    let recorder = Recorder::open(Settings::new(live.clone()), "benchmark").expect("a recorder");
    // Events below name this place by its number, 1.
    let _ = recorder.site(SiteKind::Parallel, 64, 0);
    setting_up(&live);
    println!(
        "event                        median ns    best ns   ({threads} threads, {rounds} rounds)"
    );
    for (name, event) in events() {
        let mut samples = round(recorder, threads, rounds, event);
        samples.sort_by(f64::total_cmp);
        println!(
            "{name:<28} {:>9.1}  {:>9.1}",
            samples[samples.len() / 2],
            samples[0]
        );
    }
    flat_out(recorder);
    recorder.finish();
    drainer
        .stdin
        .take()
        .expect("a pipe")
        .write_all(b"stop\n")
        .expect("a drainer that listens");
    let said = drainer.wait_with_output().expect("a drainer that ends");
    print!("{}", String::from_utf8_lossy(&said.stdout));
    let begin = Instant::now();
    let read = fathomp_trace::reader::open(&recording).expect("a recording");
    println!(
        "reading it: {:.2} s, {} bytes per record in memory",
        begin.elapsed().as_secs_f64(),
        size_of::<fathomp_trace::record::Record>()
    );
    for problem in &read.problems {
        println!("note: {problem}");
    }
    let _ = fathomp_trace::live::remove(&live);
}

/// Prints what the first use and each new thread cost.
fn setting_up(live: &Path) {
    let begin = Instant::now();
    let recorder = Recorder::open(Settings::new(live.to_owned()), "another").expect("a recorder");
    let opened = begin.elapsed();
    let begin = Instant::now();
    let first = recorder.attach().expect("a slot");
    let attached = begin.elapsed();
    recorder.detach(first);
    let begin = Instant::now();
    let again = recorder.attach().expect("a slot");
    let reattached = begin.elapsed();
    recorder.detach(again);
    recorder.finish();
    println!(
        "setting up: process {:.0} us, thread {:.0} us, thread in a used slot {:.0} us",
        opened.as_secs_f64() * 1e6,
        attached.as_secs_f64() * 1e6,
        reattached.as_secs_f64() * 1e6
    );
}

/// Prints how a second of regions without a pause comes out.
fn flat_out(recorder: &'static Recorder) {
    let thread = recorder.attach().expect("a slot");
    let begin = Instant::now();
    let mut count = 0_u64;
    while begin.elapsed() < Duration::from_secs(1) {
        for _ in 0..1000 {
            start(recorder, thread);
            thread.end();
        }
        count += 1000;
    }
    println!(
        "flat out: {:.1} million regions in a second, {:.1} ns each",
        count as f64 / 1e6,
        begin.elapsed().as_nanos() as f64 / count as f64
    );
    recorder.detach(thread);
}

fn events() -> Vec<(&'static str, Event)> {
    fn empty(_: &Recorder, _: &ThreadRecorder) {}
    fn clock(_: &Recorder, _: &ThreadRecorder) {
        std::hint::black_box(now());
    }
    fn site(recorder: &Recorder, _: &ThreadRecorder) {
        std::hint::black_box(recorder.site(SiteKind::Parallel, 64, 0));
    }
    fn region(recorder: &Recorder, thread: &ThreadRecorder) {
        start(recorder, thread);
        thread.end();
    }
    fn region_and_barrier(recorder: &Recorder, thread: &ThreadRecorder) {
        start(recorder, thread);
        thread.wait(State::ImplicitBarrier, Ticks(1), Ticks(2));
        thread.sample_counters();
        thread.end();
    }
    fn short_wait(_: &Recorder, thread: &ThreadRecorder) {
        thread.wait(State::Lock, Ticks(1000), Ticks(1100));
    }
    fn timed_wait(_: &Recorder, thread: &ThreadRecorder) {
        let begin = now();
        thread.wait(State::Lock, begin, now());
    }
    fn long_wait(_: &Recorder, thread: &ThreadRecorder) {
        let end = now();
        thread.wait(State::Lock, Ticks(end.0 - 10_000), end);
    }
    fn overhead(_: &Recorder, thread: &ThreadRecorder) {
        thread.overhead(Ticks(1000), Ticks(1100), 16);
    }
    fn chunk(_: &Recorder, thread: &ThreadRecorder) {
        thread.chunks(1, 10);
    }
    fn loop_done(_: &Recorder, thread: &ThreadRecorder) {
        let end = now();
        thread.loop_done(&LoopShare {
            site: fathomp_types::SiteId(1),
            instance: InstanceId(1),
            kind: LoopKind::Dynamic,
            ordered: false,
            chunk: 1,
            iterations: 100,
            chunks: 10,
            begin: Ticks(end.0 - 1000),
            end,
            longest: Ticks(0),
        });
    }
    fn counters_due(_: &Recorder, thread: &ThreadRecorder) {
        thread.sample_counters();
    }
    vec![
        ("(the loop alone)", empty as Event),
        ("now", clock),
        ("site, known", site),
        ("begin + end", region),
        ("begin + wait + sample + end", region_and_barrier),
        ("wait, short", short_wait),
        ("now + now + wait", timed_wait),
        ("wait, with an interval", long_wait),
        ("overhead", overhead),
        ("chunk", chunk),
        ("loop_done", loop_done),
        ("sample_counters, not due", counters_due),
    ]
}

fn start(recorder: &Recorder, thread: &ThreadRecorder) {
    thread.begin(&Start {
        site: fathomp_types::SiteId(1),
        instance: recorder.next_instance(),
        team_size: 2,
        level: 1,
        fork: Ticks(1),
        ..Start::default()
    });
}

/// Nanoseconds per event, per thread and round.
fn round(recorder: &'static Recorder, threads: usize, rounds: usize, event: Event) -> Vec<f64> {
    let together = Barrier::new(threads);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let thread = recorder.attach().expect("a slot");
                    let mut samples = Vec::new();
                    for _ in 0..rounds {
                        // Let the drainer catch up: events that find the ring
                        // full are cheaper, and not what is measured.
                        std::thread::sleep(Duration::from_millis(30));
                        together.wait();
                        samples.push(paced(recorder, thread, event));
                    }
                    recorder.detach(thread);
                    samples
                })
            })
            .collect();
        running
            .into_iter()
            .flat_map(|thread| thread.join().expect("a thread that ends"))
            .collect()
    })
}

/// Nanoseconds per event over bursts that fit the ring, with pauses between
/// them that are not measured.
fn paced(recorder: &Recorder, thread: &ThreadRecorder, event: Event) -> f64 {
    const BURST: u32 = 5_000;
    let mut measured = Duration::ZERO;
    for _ in 0..EVENTS / BURST {
        let begin = Instant::now();
        for _ in 0..BURST {
            event(recorder, std::hint::black_box(thread));
        }
        measured += begin.elapsed();
        std::thread::sleep(Duration::from_millis(3));
    }
    measured.as_nanos() as f64 / f64::from(EVENTS)
}

/// The second process: drains until told to stop.
fn drain(live: &Path, recording: &Path) {
    std::fs::create_dir_all(recording).expect("a directory");
    let meta = fathomp_trace::model::Meta::default();
    fathomp_trace::writer::create(recording, &meta, fathomp_trace::writer::Existing::Replace)
        .expect("a recording");
    let (stop, stopped) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = std::io::stdin().lock().read_line(&mut line);
        let _ = stop.send(());
    });
    let begin = Instant::now();
    let mut drainer = Drainer::new(live, recording, Limits::default()).expect("a drainer");
    let mut polls = 0_u64;
    loop {
        drainer.poll().expect("a live directory");
        polls += 1;
        if stopped.try_recv().is_ok() {
            break;
        }
        drainer.wait(Duration::from_millis(20));
    }
    let summary = drainer.finish().expect("a recording");
    let used = processor_time();
    println!(
        "drainer: {} records, {} bytes, {polls} polls, {:.1} % of a processor",
        summary.records,
        summary.bytes,
        100.0 * used.as_secs_f64() / begin.elapsed().as_secs_f64()
    );
}

/// Processor time of this process, from the kernel's tick counts.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = fields
        .split_ascii_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    // Always a hundred a second in this file.
    Duration::from_millis(ticks * 10)
}
