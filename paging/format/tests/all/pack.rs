//! What is packed comes back, whatever it is.

use fathomp_paging::pack::{BlockHead, MarkPacker, TaskPacker, Unpacker, unpack_marks};
use fathomp_paging::{Cause, Counter, CounterSet, Counts, Interval, Mark, MarkKind, State};
use fathomp_types::Ticks;
use proptest::prelude::*;

/// What a task does next.
#[derive(Clone, Debug)]
enum Step {
    Stay(u64, usize, u32, Counts, u64),
    Gap(u64),
    Seal,
}

fn length() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..100_000,
        1 => any::<u64>().prop_map(|ticks| ticks >> 12),
        1 => any::<u32>().prop_map(u64::from),
    ]
}

fn counts() -> impl Strategy<Value = Counts> {
    let some = proptest::collection::vec((0..Counter::COUNT, any::<u64>(), 2_u32..64), 0..4);
    let some = some.prop_map(|list| {
        let mut counts = Counts::ZERO;
        for (number, count, shift) in list {
            counts.0[number] = count >> shift;
        }
        counts
    });
    let usual = (0_usize..3, 1_u64..3).prop_map(|(number, count)| {
        let mut counts = Counts::ZERO;
        counts.0[number] = count;
        counts
    });
    prop_oneof![1 => Just(Counts::ZERO), 2 => usual, 1 => some]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let cause = prop_oneof![3 => 0_u32..4, 1 => any::<u32>()];
    let merged = prop_oneof![9 => Just(1_u64), 1 => any::<u64>()];
    let stay = (length(), 0..State::COUNT, cause, counts(), merged).prop_map(
        |(length, state, cause, counts, merged)| Step::Stay(length, state, cause, counts, merged),
    );
    let step = prop_oneof![
        12 => stay,
        1 => length().prop_map(Step::Gap),
        1 => Just(Step::Seal),
    ];
    proptest::collection::vec(step, 0..200)
}

/// Packs steps; gives blocks' payloads and what should come back.
fn pack(begin: u64, steps: &[Step]) -> (Vec<Vec<u8>>, Vec<Interval>) {
    let mut packer = TaskPacker::new(7, Ticks(begin));
    let (mut payloads, mut expected) = (Vec::new(), Vec::new());
    let mut at = begin;
    let mut keep = |block: Option<&[u8]>| {
        if let Some(block) = block {
            let (read, bytes) = fathomp_blocks::read(block).expect("a sound block");
            assert_eq!(bytes, block.len());
            assert_eq!(read.origin.owner, 7);
            assert_eq!(read.origin.position, payloads.len() as u64 + 1);
            payloads.push(read.payload.to_vec());
        }
    };
    for step in steps {
        match *step {
            Step::Gap(ticks) => {
                at += ticks;
                packer.gap(Ticks(at));
            }
            Step::Seal => keep(packer.seal()),
            Step::Stay(ticks, state, cause, counts, merged) => {
                let end = at + ticks;
                packer.merged(Ticks(end), State::ALL[state], Cause(cause), &counts, merged);
                expected.push(Interval {
                    begin: at,
                    end,
                    state: State::ALL[state],
                    cause: Cause(cause),
                    counts,
                    merged,
                });
                at = end;
            }
        }
    }
    assert_eq!(packer.position(), Ticks(at));
    assert_eq!(packer.end_note().intervals, expected.len() as u64);
    keep(packer.seal());
    assert!(packer.seal().is_none());
    (payloads, expected)
}

fn unpack(payloads: &[Vec<u8>], wanted: CounterSet) -> Vec<Interval> {
    let mut unpacker = Unpacker::new(wanted);
    let mut found = Vec::new();
    for payload in payloads {
        let (head, _) = BlockHead::split(payload).expect("a head");
        let unpacked = unpacker.unpack(
            payload,
            |tick| tick.0,
            |name| name,
            |interval| found.push(*interval),
        );
        assert!(!unpacked.malformed);
        assert_eq!(unpacked.intervals, u64::from(head.entries));
        assert_eq!(unpacked.end, head.end);
    }
    found
}

proptest! {
    #[test]
    fn intervals_come_back(begin in 0_u64..1 << 48, steps in steps()) {
        let (payloads, expected) = pack(begin, &steps);
        prop_assert_eq!(unpack(&payloads, CounterSet::ALL), expected);
    }

    #[test]
    fn counters_that_are_not_wanted_stay_zero(steps in steps(), bits: u32) {
        let wanted = CounterSet::from_bits(bits);
        let (payloads, mut expected) = pack(0, &steps);
        for interval in &mut expected {
            for counter in CounterSet::ALL.without(wanted).iter() {
                interval.counts[counter] = 0;
            }
        }
        prop_assert_eq!(unpack(&payloads, wanted), expected);
    }

    #[test]
    fn any_bytes_are_unpacked_without_panic(
        payload in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut last = 0;
        Unpacker::new(CounterSet::ALL).unpack(&payload, |tick| tick.0, |name| name, |interval| {
            assert!(last <= interval.begin && interval.begin <= interval.end);
            assert!(interval.counts.0.iter().all(|count| *count <= Counts::MOST));
            last = interval.end;
        });
        unpack_marks(&payload, |tick| tick.0, |_| {});
    }

    #[test]
    fn a_damaged_block_is_unpacked_without_panic(
        steps in steps(), damage in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..5),
    ) {
        let (payloads, _) = pack(0, &steps);
        for mut payload in payloads {
            for &(place, byte) in &damage {
                let place = usize::from(place) % payload.len();
                payload[place] = byte;
            }
            Unpacker::new(CounterSet::ALL).unpack(&payload, |tick| tick.0, |name| name, |_| {});
        }
    }

    #[test]
    fn marks_come_back(
        marks in proptest::collection::vec((0_u64..1 << 40, 0..MarkKind::ALL.len(), any::<u32>()), 0..100),
    ) {
        let mut packer = MarkPacker::new(0, Ticks(5));
        let mut expected = Vec::new();
        let mut at = 5;
        for (ticks, kind, name) in marks {
            at += ticks;
            packer.mark(Ticks(at), MarkKind::ALL[kind], name);
            expected.push(Mark { at, kind: MarkKind::ALL[kind], name });
        }
        let mut found = Vec::new();
        if let Some(block) = packer.seal() {
            let (block, _) = fathomp_blocks::read(block).expect("a sound block");
            let unpacked = unpack_marks(block.payload, |tick| tick.0, |mark| found.push(mark));
            prop_assert!(!unpacked.malformed);
        }
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_clock_that_runs_backwards_is_counted() {
    let mut packer = TaskPacker::new(0, Ticks(100));
    let state = State::ALL[0];
    packer.change(Ticks(200), state, Cause::NONE, &Counts::ZERO);
    packer.change(Ticks(150), state, Cause::NONE, &Counts::ZERO);
    packer.gap(Ticks(120));
    packer.change(Ticks(300), state, Cause::NONE, &Counts::ZERO);
    assert_eq!(packer.end_note().clock_went_back, 1);
    let block = packer.seal().expect("a block").to_vec();
    let (block, _) = fathomp_blocks::read(&block).expect("a sound block");
    let times: Vec<_> = unpack(&[block.payload.to_vec()], CounterSet::ALL)
        .iter()
        .map(|interval| (interval.begin, interval.end))
        .collect();
    assert_eq!(times, [(100, 200), (200, 200), (200, 300)]);
}

#[test]
fn a_counter_that_went_back_counts_nothing() {
    let mut packer = TaskPacker::new(0, Ticks(0));
    let mut counts = Counts::ZERO;
    counts[Counter::MinorFaults] = 5_u64.wrapping_sub(9);
    counts[Counter::MajorFaults] = 2;
    packer.change(Ticks(10), State::ALL[0], Cause::NONE, &counts);
    packer.merge(Ticks(100));
    packer.change(Ticks(20), State::ALL[0], Cause::NONE, &counts);
    assert_eq!(packer.end_note().counters_went_back, 2);
    let block = packer.seal().expect("a block").to_vec();
    let (block, _) = fathomp_blocks::read(&block).expect("a sound block");
    let found = unpack(&[block.payload.to_vec()], CounterSet::ALL);
    assert_eq!(
        found[0].counts.nonzero().collect::<Vec<_>>(),
        [(Counter::MajorFaults, 2)]
    );
}

#[test]
fn blocks_that_nobody_takes_away_are_merged_in_the_end() {
    let mut packer = TaskPacker::new(0, Ticks(0));
    let mut counts = Counts::ZERO;
    counts[Counter::BytesRead] = 1 << 40;
    let changes = 3_000_000;
    for number in 1..=changes {
        // Never twice the same, so that each takes room.
        counts[Counter::IoCalls] = number;
        packer.change(Ticks(number * 1000), State::ALL[2], Cause::NONE, &counts);
    }
    assert!(packer.is_merging());
    let end = packer.end_note();
    assert_eq!(end.intervals + end.binned, changes);
    assert!(
        packer
            .seal()
            .is_some_and(|block| fathomp_blocks::read(block).is_some())
    );
}
