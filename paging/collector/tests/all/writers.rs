//! Whichever writer is chosen, the same changes become the same recording.

use crate::common::{Place, Stay, exit, intervals, open, tell, thread};
use fathomp_collector::Host;
use fathomp_paging::setup::{Setup, Writer};
use fathomp_paging::{Counter, Counts, Ending, State};
use fathomp_sys::clock;
use fathomp_types::Ticks;
use proptest::prelude::*;

/// What a recording says, free of when it was made.
#[derive(Debug, PartialEq)]
struct Told {
    /// By thread: end after the begin of the process in nanoseconds, state, name, counts.
    threads: Vec<Vec<(u64, State, String, Counts)>>,
    totals: Vec<(u64, Counts)>,
    endings: Vec<Ending>,
    io: (u64, u64),
    problems: Vec<String>,
}

fn stay() -> impl Strategy<Value = Stay> {
    let ticks = prop_oneof![1_000_u64..5_000, 1_000_u64..100_000_000];
    let count =
        prop_oneof![3 => Just(0_u64), 2 => 0_u64..5_000, 1 => any::<u64>().prop_map(|n| n >> 20)];
    let counts = proptest::collection::vec(count, 12);
    (ticks, 0..State::COUNT, 0_u32..3, counts).prop_map(|(ticks, state, cause, some)| {
        let mut counts = Counts::ZERO;
        counts.0[..some.len()].copy_from_slice(&some);
        Stay {
            ticks,
            state: State::ALL[state],
            cause,
            counts,
        }
    })
}

fn record(writer: &str, threads: &[Vec<Stay>]) -> Told {
    let place = Place::new();
    tell_all(&place, place.writer(writer), threads);
    told(&place)
}

fn tell_all(place: &Place, writer: Writer, threads: &[Vec<Stay>]) {
    let setup = Setup {
        // Threads here are faster than any that does something between changes.
        ring_bytes: 16 << 20,
        ..place.setup(writer)
    };
    let collector = place.start(setup);
    let process = open(&place.live);
    assert_eq!(process.name("read"), 1);
    assert_eq!(process.name("MPI_Send"), 2);
    let begin = clock::now();
    let mut last = begin;
    for stays in threads {
        let mut sink = thread(process, begin);
        let at = tell(&mut sink, begin, stays);
        last = last.max(at);
        sink.end(at, Ending::Exit);
    }
    exit(process, last);
    let summary = collector.finish();
    assert_eq!(summary.problems, Vec::<String>::new());
    assert_eq!(summary.merged, 0);
}

fn told(place: &Place) -> Told {
    let recording = place.read();
    let mut told = Told {
        threads: Vec::new(),
        totals: Vec::new(),
        endings: Vec::new(),
        io: recording.io_calls(),
        problems: recording.problems().to_vec(),
    };
    for task in recording.tasks() {
        let stays = intervals(&recording, task.id).into_iter().map(|stay| {
            let name = recording.name(stay.cause).to_owned();
            (stay.end - task.begin, stay.state, name, stay.counts)
        });
        told.threads.push(stays.collect());
        let totals = recording.totals(task.id).unwrap();
        told.totals.push((totals.stays, totals.counts));
        told.endings.push(task.ending);
    }
    // Only the circumstances, which the launcher writes.
    told.problems
        .retain(|problem| !problem.contains("meta.json"));
    told
}

/// What should be told of these threads, if a tick takes so long.
fn expect(threads: &[Vec<Stay>]) -> Vec<Vec<(Ticks, State, String, Counts)>> {
    let names = ["", "read", "MPI_Send"];
    let expect = |stays: &Vec<Stay>| {
        let mut at = Ticks(0);
        let all = stays.iter().map(|stay| {
            at += Ticks(stay.ticks);
            let name = names[stay.cause as usize].to_owned();
            (at, stay.state, name, stay.counts)
        });
        all.collect()
    };
    threads.iter().map(expect).collect()
}

fn compare(told: &Told, threads: &[Vec<Stay>], writer: &str) {
    let expected = expect(threads);
    assert_eq!(told.threads.len(), expected.len(), "{writer}: {told:?}");
    for (told, expected) in told.threads.iter().zip(&expected) {
        assert_eq!(told.len(), expected.len(), "{writer}");
        for ((at, state, name, counts), expected) in told.iter().zip(expected) {
            assert_eq!(
                (state, name, counts),
                (&expected.1, &expected.2, &expected.3)
            );
            // The length of a tick is measured anew with every recording.
            let ratio = *at as f64 / expected.0.0 as f64;
            assert!((0.1..=2.0).contains(&ratio), "{writer}: {ratio}");
        }
    }
    for ((stays, counts), expected) in told.totals.iter().zip(threads) {
        assert_eq!(*stays, expected.len() as u64, "{writer}");
        let mut sum = Counts::ZERO;
        for stay in expected {
            sum += &stay.counts;
        }
        assert_eq!(*counts, sum, "{writer}");
    }
    assert!(told.endings.iter().all(|ending| *ending == Ending::Exit));
    assert_eq!(told.io, (99, 100), "{writer}");
    assert_eq!(told.problems, Vec::<String>::new(), "{writer}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn every_writer_tells_the_same(
        threads in proptest::collection::vec(proptest::collection::vec(stay(), 1..60), 1..4),
    ) {
        for writer in ["shared", "message", "collector", "task", "striped"] {
            compare(&record(writer, &threads), &threads, writer);
        }
    }
}

/// Enough to fill rings, messages and blocks more than once.
fn many() -> Vec<Vec<Stay>> {
    let stay = |number: u64| {
        let mut counts = Counts::ZERO;
        counts[Counter::MinorFaults] = number % 3;
        counts[Counter::BytesRead] = number * 70_000 % 200_000;
        Stay {
            ticks: 3_000 + number % 1_000,
            state: State::ALL[(number % 6) as usize],
            cause: (number % 3) as u32,
            counts,
        }
    };
    let thread = |number: u64| (0..40_000).map(|place| stay(place + number)).collect();
    (0..3).map(thread).collect()
}

#[test]
fn every_writer_tells_much_the_same() {
    let threads = many();
    for writer in ["shared", "message", "collector", "task", "striped"] {
        compare(&record(writer, &threads), &threads, writer);
    }
}

#[test]
fn another_host_gets_the_same() {
    let threads = many();
    let place = Place::new();
    let kept = place.root.path().join("kept");
    let key = place.setup(Writer::Shared).key;
    let host = Host::listen("127.0.0.1:0", &kept, &key, 1 << 30).unwrap();
    let address = host.address().to_string();
    let host = std::thread::spawn(move || host.run(|| false));
    tell_all(&place, Writer::Remote(address), &threads);
    let summary = host.join().unwrap();
    assert_eq!((summary.nodes, summary.complete), (1, 1));
    assert_eq!(summary.problems, Vec::<String>::new());
    let place = Place {
        streams: kept,
        ..place
    };
    compare(&told(&place), &threads, "remote");
}
