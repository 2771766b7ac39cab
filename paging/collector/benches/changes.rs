//! What a change of state costs by each writer, and what the collector needs for it:
//! `cargo bench -p fathomp-collector`.
//!
//! Two processes, as in real life: this one changes states and a second copy of itself
//! collects. Prints nanoseconds per change (the median and the best of several rounds), what
//! the collector used of a processor per change, and then whether a million changes a second
//! and thread come through for some seconds. Options: `--seconds N`, `--writer NAME`,
//! `--rounds N`.

use fathomp_collector::{Collector, Job, Summary};
use fathomp_feed::record::{self, Record};
use fathomp_feed::scribe::Scribe;
use fathomp_interposer::{Change, EndFacts, Hooks, Process, ThreadFacts, ThreadSink};
use fathomp_paging::setup::{Setup, Writer};
use fathomp_paging::{Activity, Cause, Counter, Counts, Ending, State};
use fathomp_sys::clock;
use fathomp_types::{Clock, Ticks};
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Changes of a round: they fit into a ring.
const CHANGES: u32 = 20_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, live] = &arguments[..]
        && mode == "collect"
    {
        return collect(Path::new(live));
    }
    let value = |name: &str| arguments.iter().skip_while(|word| *word != name).nth(1);
    let number = |name: &str, default: u64| {
        value(name)
            .and_then(|value| value.parse().ok())
            .unwrap_or(default)
    };
    let (seconds, rounds) = (number("--seconds", 3), number("--rounds", 40) as usize);
    let all = ["shared", "message", "collector", "task", "striped"];
    let chosen = value("--writer").cloned();
    let chosen = |writer: &&str| chosen.as_deref().is_none_or(|chosen| chosen == *writer);
    packing(rounds);
    println!(
        "writer    opening us   in a loop: median ns, best ns   paced at 1/us on 2 threads for \
         {seconds} s: median ns, late, merged, collector ns"
    );
    for writer in all.iter().copied().filter(chosen) {
        let opening = opening(writer);
        let flat = flat_out(writer, rounds);
        let paced = paced(writer, seconds);
        println!(
            "{writer:<10} {:>9.0} {:>16.1} {:>8.1} {:>41.1} {:>7.2}% {:>7} {:>10.1}",
            opening[opening.len() / 2],
            flat[flat.len() / 2],
            flat[0],
            paced.change_ns,
            paced.late_percent,
            paced.merged,
            paced.collector_ns
        );
    }
}

/// What the collector does with words once it has them.
fn packing(rounds: usize) {
    let mut words = Vec::new();
    let begin = Record::Begin {
        at: Ticks(0),
        number: 0,
        os_id: 1,
    };
    record::put(&mut words, &begin, u32::MAX);
    for number in 0..u64::from(CHANGES) {
        let counts = counts(number);
        let (state, cause) = (state(number), Cause((number % 2) as u32));
        let at = Ticks(number * 3_000 + number % 700);
        record::put_interval(&mut words, at, state, cause, &counts, u32::MAX);
    }
    let mut bytes = 0;
    let mut samples: Vec<f64> = (0..rounds)
        .map(|_| {
            let (mut scribe, mut out) = (Scribe::default(), Vec::new());
            let since = Instant::now();
            scribe.take(&words, &mut out);
            scribe.flush(false, &mut out);
            bytes = out.len();
            since.elapsed().as_nanos() as f64 / f64::from(CHANGES)
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!(
        "packing    {:>26.1} {:>8.1}    {:.1} bytes in the ring, {:.1} in the recording",
        samples[samples.len() / 2],
        samples[0],
        words.len() as f64 * 8.0 / f64::from(CHANGES),
        bytes as f64 / f64::from(CHANGES)
    );
}

/// The other process.
fn collect(live: &Path) {
    let setup = Setup::read(live).expect("settings");
    let job = Job {
        live: live.to_owned(),
        setup,
    };
    let mut collector = Collector::start(job).expect("a collector");
    println!("ready");
    let control = std::io::stdin();
    while !collector.wait(Duration::from_secs(1), Some(control.as_fd())) {
        collector.poll();
    }
    let (summary, _closing) = collector.finish();
    let line = serde_json::to_string(&summary).expect("a summary");
    println!("{line}");
    // The launcher looks at what this process used before it lets it end.
    let _ = std::io::read_to_string(control);
}

struct Running {
    root: PathBuf,
    live: PathBuf,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn new(writer: &str) -> Self {
        let root = PathBuf::from(format!("/dev/shm/fathomp-bench-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let live = root.join("live");
        std::fs::create_dir_all(&live).expect("a live directory");
        let streams = std::env::temp_dir().join(format!("fathomp-bench-{}", std::process::id()));
        let writer = match writer {
            "striped" => {
                let all = ["a", "b"].map(|name| streams.with_extension(name));
                all.iter()
                    .for_each(|one| std::fs::create_dir_all(one).expect("a directory"));
                Writer::Striped(all.to_vec())
            }
            other => other.parse().expect("a writer"),
        };
        let pair = clock::pair();
        let setup = Setup {
            writer,
            streams,
            key: "0123456789abcdef0123456789abcdef".into(),
            boot: fathomp_feed::message::boot(),
            limit_bytes: 8 << 30,
            clock: Some(Clock {
                zero: pair.ticks,
                zero_unix_ns: clock::unix_ns(),
                nanos_per_tick: clock::measure(&pair, Duration::from_millis(10)),
            }),
            ..Setup::default()
        };
        setup.write(&live).expect("settings");
        let mut child = Command::new(std::env::current_exe().expect("our own name"))
            .arg("collect")
            .arg(&live)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a second process");
        let stdout = child.stdout.take().expect("a pipe");
        let mut lines = BufReader::new(stdout).lines();
        lines
            .next()
            .expect("a collector that is ready")
            .expect("a line");
        Self {
            root,
            live,
            child,
            lines,
        }
    }

    /// What the collector came to, and what it used of a processor.
    fn finish(mut self) -> (Summary, Duration) {
        let mut stdin = self.child.stdin.take().expect("a pipe");
        stdin
            .write_all(b"finish\n")
            .expect("a collector that listens");
        let line = self.lines.next().expect("a summary").expect("a line");
        let summary: Summary = serde_json::from_str(&line).expect("a summary");
        let stat = std::fs::read_to_string(format!("/proc/{}/schedstat", self.child.id()));
        let used = stat.ok().and_then(|stat| {
            let first = stat.split_ascii_whitespace().next()?;
            first.parse().ok()
        });
        drop(stdin);
        self.child.wait().expect("a collector that ends");
        let streams = Setup::read(&self.live).expect("settings");
        let _ = std::fs::remove_dir_all(&streams.streams);
        if let Writer::Striped(all) = streams.writer {
            all.iter().for_each(|one| {
                let _ = std::fs::remove_dir_all(one);
            });
        }
        let _ = std::fs::remove_dir_all(&self.root);
        for problem in &summary.problems {
            println!("  {problem}");
        }
        (summary, Duration::from_nanos(used.unwrap_or(0)))
    }
}

fn begin(process: &'static Process) -> ThreadSink {
    let facts = ThreadFacts {
        os_id: 1,
        begin: clock::now(),
    };
    process.thread(&facts).expect("room for a thread")
}

/// A usual change: a read of 4 KiB, and what was computed before it.
fn step(sink: &mut ThreadSink, number: u64) {
    let counts = counts(number);
    let change = Change {
        at: clock::now(),
        state: state(number),
        cause: Cause((number % 2) as u32),
        counts: &counts,
        next: Activity::Compute,
    };
    sink.change(&change, &mut Counts::default());
}

fn counts(number: u64) -> Counts {
    let mut counts = Counts::ZERO;
    if number.is_multiple_of(2) {
        counts[Counter::BytesRead] = 4096;
        counts[Counter::IoCalls] = 1;
    }
    counts
}

fn state(number: u64) -> State {
    State::ALL[(number % 2 * 2) as usize]
}

/// Nanoseconds per change in loops that do nothing else, sorted.
fn flat_out(writer: &str, rounds: usize) -> Vec<f64> {
    let running = Running::new(writer);
    let process = Process::open(&running.live, Hooks::default()).expect("a sink");
    let mut sink = begin(process);
    let mut samples = Vec::new();
    for _ in 0..rounds {
        let since = Instant::now();
        (0..CHANGES).for_each(|number| step(&mut sink, number.into()));
        samples.push(since.elapsed().as_nanos() as f64 / f64::from(CHANGES));
        // Let the collector catch up.
        std::thread::sleep(Duration::from_millis(60));
    }
    sink.end(clock::now(), Ending::Exit);
    end(process);
    running.finish();
    samples.sort_by(f64::total_cmp);
    samples
}

struct Paced {
    change_ns: f64,
    late_percent: f64,
    merged: u64,
    collector_ns: f64,
}

/// Microseconds until a process can tell of changes, sorted: what every short process pays.
fn opening(writer: &str) -> Vec<f64> {
    let running = Running::new(writer);
    let mut samples = Vec::new();
    for _ in 0..100 {
        let since = Instant::now();
        let process = Process::open(&running.live, Hooks::default()).expect("a sink");
        let sink = begin(process);
        samples.push(since.elapsed().as_nanos() as f64 / 1000.0);
        sink.end(clock::now(), Ending::Exit);
        end(process);
    }
    running.finish();
    samples.sort_by(f64::total_cmp);
    samples
}

/// Two threads change their states a million times a second each.
fn paced(writer: &str, seconds: u64) -> Paced {
    let running = Running::new(writer);
    let process = Process::open(&running.live, Hooks::default()).expect("a sink");
    let period = (1000.0 / tick_ns()) as u64;
    let changes = seconds * 1_000_000;
    let all: Vec<(Vec<u64>, u64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(move || {
                    let mut sink = begin(process);
                    // Ticks of a change, and how many took so many.
                    let mut took = vec![0_u64; 1 << 16];
                    let mut late = 0_u64;
                    let mut due = clock::now();
                    for number in 0..changes {
                        let before = clock::now();
                        step(&mut sink, number);
                        let after = clock::now();
                        let ticks = after.since(before).0 as usize;
                        took[ticks.min((1 << 16) - 1)] += 1;
                        due += Ticks(period);
                        if after > due {
                            late += 1;
                            // Somebody else had the processor: what was missed is not made up.
                            due = after;
                        }
                        while clock::now() < due {
                            std::hint::spin_loop();
                        }
                    }
                    sink.end(clock::now(), Ending::Exit);
                    (took, late)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a thread that ends"))
            .collect()
    });
    end(process);
    let (summary, used) = running.finish();
    let late: u64 = all.iter().map(|(_, late)| late).sum();
    let mut below = 0;
    let median = (0..1 << 16).find(|&ticks| {
        below += all.iter().map(|(took, _)| took[ticks]).sum::<u64>();
        below >= changes
    });
    let all = (changes * 2) as f64;
    Paced {
        change_ns: median.unwrap_or(0) as f64 * tick_ns(),
        late_percent: late as f64 * 100.0 / all,
        merged: summary.merged,
        collector_ns: used.as_nanos() as f64 / all,
    }
}

fn tick_ns() -> f64 {
    static TICK_NS: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
    *TICK_NS.get_or_init(|| clock::measure(&clock::pair(), Duration::from_millis(20)))
}

fn end(process: &Process) {
    process.end(&EndFacts {
        at: clock::now(),
        ending: Ending::Exit,
        ..EndFacts::default()
    });
}
