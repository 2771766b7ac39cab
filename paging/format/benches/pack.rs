//! What an interval costs: `cargo bench -p fathomp-paging`.
//!
//! For typical mixtures of intervals, bytes each, and nanoseconds to pack one, to
//! unpack one, and to visit one in a recording on disk; the best and the median of
//! several rounds. Option: `--rounds N`.

use fathomp_paging::pack::{TaskPacker, Unpacker};
use fathomp_paging::reader::Recording;
use fathomp_paging::stream::{self, BY_INTERPOSER, Kind, PROCESS, ProcessNote};
use fathomp_paging::{Cause, Counter, CounterSet, Counts, FORMAT, PagingMeta, State, TaskId};
use fathomp_types::{Clock, Ticks};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::hint::black_box;
use std::time::Instant;

/// Intervals per round.
const INTERVALS: usize = 1_000_000;

/// A change of state, as the interposer hands it over.
struct Change {
    ticks: u64,
    state: State,
    cause: Cause,
    counts: Counts,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let rounds = arguments
        .iter()
        .skip_while(|word| *word != "--rounds")
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or(15);
    println!(
        "mixture         bytes   pack ns best/median   unpack ns   visit ns   ({rounds} rounds)"
    );
    for (name, changes) in [
        ("copying", copying()),
        ("computing", computing()),
        ("shared memory", shared_memory()),
    ] {
        let (stream, payloads) = packed(&changes);
        let bytes = payloads.iter().map(Vec::len).sum::<usize>() as f64 / INTERVALS as f64;
        let pack = measure(rounds, || pack(&changes));
        let unpack = measure(rounds, || unpack(&payloads));
        let directory = tempfile::tempdir().expect("a temporary directory");
        let name_of = stream::file_name(1, Ticks(0), None);
        std::fs::write(directory.path().join(name_of), stream).expect("a stream");
        let meta = PagingMeta {
            format: FORMAT,
            ..PagingMeta::default()
        };
        meta.write(directory.path()).expect("a meta.json");
        let recording = Recording::open(directory.path()).expect("a recording");
        let visit = measure(rounds, || visit(&recording));
        println!(
            "{name:<14} {bytes:>6.2}   {:>8.1} {:>8.1}   {:>5.1} {:>5.1}   {:>5.1} {:>5.1}",
            pack.0, pack.1, unpack.0, unpack.1, visit.0, visit.1
        );
    }
}

/// Reads and writes of 4 KiB, a little computing between.
fn copying() -> Vec<Change> {
    let mut random = SmallRng::seed_from_u64(1);
    let change = |number: usize| {
        let mut counts = Counts::ZERO;
        let kind = number % 4;
        if kind % 2 == 1 {
            counts[Counter::IoCalls] = 1;
            let counter = if kind == 1 {
                Counter::BytesRead
            } else {
                Counter::BytesWritten
            };
            counts[counter] = 4096;
        }
        Change {
            ticks: random.random_range(300..9000),
            state: State::ALL[if kind % 2 == 1 { 2 } else { 0 }],
            cause: Cause(kind as u32 * (kind % 2) as u32),
            counts,
        }
    };
    (0..INTERVALS).map(change).collect()
}

/// Computing with faults, waits at barriers.
fn computing() -> Vec<Change> {
    let mut random = SmallRng::seed_from_u64(2);
    let change = |number: usize| {
        let mut counts = Counts::ZERO;
        let waits = number % 2 == 1;
        if waits {
            counts[Counter::VoluntarySwitches] = random.random_range(0..2);
        } else {
            counts[Counter::MinorFaults] = random.random_range(0..6);
            counts[Counter::InvoluntarySwitches] = u64::from(random.random_range(0..20) == 0);
        }
        let suspended = counts[Counter::VoluntarySwitches] > 0;
        Change {
            ticks: random.random_range(10_000..2_000_000),
            state: State::ALL[if waits { 4 } else { 0 } + usize::from(suspended)],
            cause: Cause(if waits { 3 } else { 0 }),
            counts,
        }
    };
    (0..INTERVALS).map(change).collect()
}

/// Fetches of pages from other nodes: six counters at a time.
fn shared_memory() -> Vec<Change> {
    let mut random = SmallRng::seed_from_u64(3);
    let change = |number: usize| {
        let mut counts = Counts::ZERO;
        if number % 2 == 1 {
            counts[Counter::DsmFetchFaults] = 1;
            counts[Counter::DsmPagesIn] = random.random_range(1..4);
            counts[Counter::DsmBytesIn] = 4096 + random.random_range(0..300);
            counts[Counter::DsmBytesOut] = random.random_range(40..90);
            counts[Counter::VoluntarySwitches] = 1;
            counts[Counter::MinorFaults] = random.random_range(0..3);
        }
        Change {
            ticks: random.random_range(2_000..60_000),
            state: State::ALL[if number % 2 == 1 { 5 } else { 0 }],
            cause: Cause(if number % 2 == 1 {
                1 + number as u32 / 2 % 2
            } else {
                0
            }),
            counts,
        }
    };
    (0..INTERVALS).map(change).collect()
}

fn pack(changes: &[Change]) {
    let mut packer = TaskPacker::new(0, Ticks(0));
    each_block(&mut packer, changes, |block| {
        black_box(block.len());
    });
}

fn each_block(packer: &mut TaskPacker, changes: &[Change], mut each: impl FnMut(&[u8])) {
    let mut at = Ticks(0);
    for change in changes {
        at += Ticks(change.ticks);
        packer.change(at, change.state, change.cause, &change.counts);
        if packer.is_full()
            && let Some(block) = packer.seal()
        {
            each(block);
        }
    }
    if let Some(block) = packer.seal() {
        each(block);
    }
}

/// A stream of one task, and the payloads of its blocks of intervals.
fn packed(changes: &[Change]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut bytes = stream::start().to_vec();
    let note = ProcessNote {
        clock: Some(Clock {
            nanos_per_tick: 0.4,
            ..Clock::NANOS
        }),
        ..ProcessNote::default()
    };
    stream::put_note(&mut bytes, Kind::Process, BY_INTERPOSER, PROCESS, 1, &note);
    let mut payloads = Vec::new();
    let mut packer = TaskPacker::new(0, Ticks(0));
    each_block(&mut packer, changes, |block| {
        bytes.extend_from_slice(block);
        let (block, _) = fathomp_blocks::read(block).expect("a sound block");
        payloads.push(block.payload.to_vec());
    });
    (bytes, payloads)
}

fn unpack(payloads: &[Vec<u8>]) {
    let mut unpacker = Unpacker::new(CounterSet::ALL);
    let mut sum = 0;
    for payload in payloads {
        unpacker.unpack(
            payload,
            |tick| tick.0,
            |name| name,
            |interval| sum += interval.end ^ interval.counts[Counter::MinorFaults],
        );
    }
    black_box(sum);
}

fn visit(recording: &Recording) {
    let mut sum = 0;
    let visited = recording.visit(TaskId(0), |interval| {
        sum += interval.end ^ interval.counts[Counter::MinorFaults];
    });
    assert_eq!(visited.expect("a sound task").intervals, INTERVALS as u64);
    black_box(sum);
}

/// Best and median nanoseconds per interval.
fn measure(rounds: usize, mut work: impl FnMut()) -> (f64, f64) {
    let mut samples: Vec<f64> = (0..rounds.max(1))
        .map(|_| {
            let begin = Instant::now();
            work();
            begin.elapsed().as_nanos() as f64 / INTERVALS as f64
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    (samples[0], samples[samples.len() / 2])
}
