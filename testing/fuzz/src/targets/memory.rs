//! Memory that other processes write: rings of words, the board of shared machines, the
//! kernel's events.

use crate::target::{Said, Shape, Target, about};
use fathomp_core_arbiter::layout::Shape as BoardShape;
use fathomp_core_arbiter::observer::{Beginning, Observer};
use fathomp_core_arbiter::presence::{Owner, Processes, Seen};
use fathomp_core_arbiter::{Activity, Board, Claim, Cores};
use fathomp_feed::message::words;
use fathomp_ring::Ring;
use fathomp_sys::perf::{Record, read_foreign};
use std::sync::atomic::AtomicU64;

/// A ring.
pub(super) const RING: Target = Target {
    name: "ring",
    what: "a ring of words whose other side may write anything",
    shape: Shape::Words,
    seeds: rings,
    read: ring,
};

/// A board.
pub(super) const BOARD: Target = Target {
    name: "board",
    what: "the board by which programs share a machine",
    shape: Shape::Words,
    seeds: boards,
    read: board,
};

/// Events.
pub(super) const EVENTS: Target = Target {
    name: "perf-records",
    what: "records of the kernel's performance events",
    shape: Shape::Words,
    seeds: events,
    read: event,
};

fn atomics(input: &[u8]) -> Vec<AtomicU64> {
    words(input).map(AtomicU64::new).collect()
}

fn bytes(words: &[AtomicU64]) -> Vec<u8> {
    let words = words
        .iter()
        .map(|word| word.load(std::sync::atomic::Ordering::Relaxed));
    words.flat_map(u64::to_le_bytes).collect()
}

fn rings() -> Vec<Vec<u8>> {
    let words: Vec<AtomicU64> = (0..18).map(|_| AtomicU64::new(0)).collect();
    if let [head, tail, storage @ ..] = words.as_slice()
        && let Some(ring) = Ring::new(storage, head, tail)
    {
        let mut cursor = ring.append();
        for word in 1..9 {
            fathomp_ring::Sink::put(&mut cursor, word);
        }
        cursor.commit();
    }
    vec![bytes(&words)]
}

fn ring(input: &[u8]) -> Said {
    let words = atomics(input);
    let [head, tail, storage @ ..] = words.as_slice() else {
        return Said::refused(&"there are no counters");
    };
    let length = storage.len().checked_ilog2().map_or(0, |log| 1 << log);
    let Some(ring) = Ring::new(&storage[..length], head, tail) else {
        return Said::refused(&"there is no ring");
    };
    let (from, to) = (ring.consumed(), ring.written());
    let mut out = Vec::new();
    let copied = ring.copy(from, to, &mut out).is_ok();
    assert!(out.len() <= length, "more than the ring holds");
    if copied {
        ring.consume(to);
    }
    let mut seen = from;
    let free = ring.free(&mut seen, 4);
    assert!(free <= length as u64, "more room than the ring has");
    if free >= 4 {
        let mut cursor = ring.append();
        for word in 0..4 {
            fathomp_ring::Sink::put(&mut cursor, word);
        }
        cursor.commit();
    }
    Said::read((copied, about(out.len()), free >= 4))
}

fn boards() -> Vec<Vec<u8>> {
    let shape = BoardShape {
        slots: 3,
        cores: 8,
        events: false,
    };
    let words: Vec<AtomicU64> = (0..shape.words()).map(|_| AtomicU64::new(0)).collect();
    let numbers: Vec<u32> = (0..8).collect();
    let board = Board::format(&words, shape, &numbers).expect("a board");
    for (number, slot) in (1..).zip(board.slots()) {
        let owner = Owner {
            pid: number,
            began: number,
        };
        assert!(slot.take(None, owner), "a free slot");
        let claim = Claim {
            activity: Activity::Region,
            wanted: 4,
            held: Cores::first(2),
            ..Claim::default()
        };
        slot.post(&claim, number);
    }
    vec![bytes(&words)]
}

/// All processes are there and run.
struct Everybody;

impl Processes for Everybody {
    fn look(&mut self, pid: u32) -> Option<Seen> {
        Some(Seen {
            began: pid,
            state: b'R',
        })
    }
}

fn board(input: &[u8]) -> Said {
    let words = atomics(input);
    let board = match Board::open(&words) {
        Ok(board) => board,
        Err(error) => return Said::refused(&error),
    };
    let cores = board.shape().cores;
    let _ = (0..cores).map(|core| board.number(core)).max();
    let mut said = Vec::new();
    for slot in board.slots() {
        said.push((slot.owner().is_some(), slot.claim().is_some()));
        if let Some(log) = slot.log() {
            let mut reader = Default::default();
            log.read(&mut reader, drop);
        }
    }
    let claim = Claim {
        activity: Activity::Region,
        wanted: 4,
        ..Claim::default()
    };
    let beginning = Beginning {
        wanted: 4,
        expected_ns: Some(1_000),
        now_ns: 1 << 40,
    };
    let decided = Observer::new(0).decide(&board, &claim, &beginning, &mut Everybody);
    if let Some(held) = decided {
        assert!(!held.is_empty(), "no core at all");
        assert!(
            held.iter().all(|core| core < cores),
            "a core that is not there"
        );
    }
    Said::read((cores, said, decided.map(Cores::len)))
}

fn events() -> Vec<Vec<u8>> {
    // Type, kind of sample and size, then the body (perf_event_open(2)).
    let sample = [
        9 | 64 << 48,
        1,
        0x10,
        5 | 6 << 32,
        99,
        0x2000,
        1,
        0x7fff,
        4096,
    ];
    let map = [
        10 | 120 << 48,
        5 | 6 << 32,
        0x1000,
        0x2000,
        0,
        0,
        0,
        0,
        3,
        0x6c6f732f,
        0,
        0,
        99,
        1,
        0,
    ];
    let name = [3 | 48 << 48, 5 | 6 << 32, 0x7265_766c_6f73, 5, 99, 1];
    let fork = [7 | 32 << 48, 5 | 4 << 32, 5, 99];
    let flat = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    vec![flat(&sample), flat(&map), flat(&name), flat(&fork)]
}

fn event(input: &[u8]) -> Said {
    let mut said = [0; 2];
    for (said, page_size) in said.iter_mut().zip([false, true]) {
        let record = read_foreign(input, 7, page_size);
        *said = match record {
            None => 0,
            Some(Record::Fault(fault)) => 1 + u32::from(fault.present == Some(true)),
            Some(Record::Major { .. }) => 3,
            Some(Record::Map(map)) => {
                assert!(
                    map.name.len() <= input.len(),
                    "a name longer than its record"
                );
                4
            }
            Some(Record::Name { name, .. }) => 5 + about(name.len()),
            Some(Record::Fork { .. }) => 20,
            Some(Record::Lost(_)) => 21,
        };
    }
    Said::read(said)
}
