//! What notes of several nodes say together.

use super::*;
use proptest::prelude::*;

const PAGE: u64 = 0x1_0000;
const REGION: Region = Region {
    function: 7,
    call: 8,
};

/// Longs from `PAGE` on; every instruction accesses 8 bytes.
struct Longs;

impl Layout for Longs {
    fn access_bytes(&self, _: u64) -> Option<u64> {
        Some(8)
    }
    fn scalar(&self, address: u64) -> Option<Range<u64>> {
        let start = address / 8 * 8;
        Some(start..start + 8)
    }
}

/// Nothing is known of anything.
struct Bytes;

impl Layout for Bytes {
    fn access_bytes(&self, _: u64) -> Option<u64> {
        None
    }
    fn scalar(&self, _: u64) -> Option<Range<u64>> {
        None
    }
}

fn wrote(range: Range<u16>) -> Record {
    Record::Wrote {
        page: PAGE,
        ranges: vec![range],
        locked: false,
    }
}

fn read(offset: u64) -> Record {
    Record::Access {
        write: false,
        address: PAGE + offset,
        instruction: 99,
        times: 1,
    }
}

fn atomic(offset: u64, times: u64) -> Record {
    Record::Atomic {
        address: PAGE + offset,
        bytes: 8,
        instruction: 77,
        times,
    }
}

fn phase() -> Record {
    Record::Phase(REGION)
}

fn gathered(parts: &[Vec<Record>], layout: &impl Layout) -> Gathered {
    let parts = parts.iter().map(|part| part.iter().cloned().map(Ok));
    gather(parts.collect(), layout).unwrap()
}

#[test]
fn counters_side_by_side_are_false_sharing_in_each_phase() {
    let part = |at: u16| {
        vec![
            wrote(at..at + 2),
            phase(),
            wrote(at..at + 1),
            phase(),
            Record::Exit,
        ]
    };
    let all = gathered(&[part(0), part(8)], &Longs);
    assert!(all.complete);
    assert_eq!(all.phases, 2);
    let line = &all.lines[&PAGE];
    assert_eq!((line.false_phases, line.true_phases), (2, 0));
    assert_eq!(line.own, [(0, 0xff), (1, 0xff00)].into());
    assert_eq!(line.regions, [(REGION, 4)].into());
    // In lines of their own, or in phases of their own, there is none.
    let apart = gathered(&[part(0), part(64)], &Longs);
    assert!(apart.lines.is_empty());
    let later = vec![phase(), wrote(8..9), phase()];
    let earlier = vec![wrote(0..1), phase(), phase()];
    assert!(gathered(&[earlier, later], &Longs).lines.is_empty());
}

#[test]
fn bytes_of_one_scalar_are_the_same() {
    let parts = [vec![wrote(0..1), phase()], vec![wrote(1..2), phase()]];
    let line = &gathered(&parts, &Longs).lines[&PAGE];
    assert_eq!((line.false_phases, line.true_phases), (0, 1));
    let line = &gathered(&parts, &Bytes).lines[&PAGE];
    assert_eq!(
        (line.false_phases, line.true_phases),
        (1, 0),
        "nothing known"
    );
}

#[test]
fn atomics_count_and_one_of_each_combines() {
    // What they change is seen as well, and counts once.
    let often = |times| vec![atomic(0, times), wrote(0..2), phase(), Record::Exit];
    let all = gathered(&[often(1000), often(2000)], &Longs);
    let line = &all.lines[&PAGE];
    assert_eq!(
        (line.true_phases, line.atomics[0], line.accesses[0]),
        (1, 3000, 3000)
    );
    assert_eq!(all.atomics, [((REGION, 77), 3000)].into());
    assert!(gathered(&[often(1), often(1)], &Longs).lines.is_empty());
    // Counters beside what is combined are falsely shared all the same.
    let beside = |at: u16| vec![atomic(0, 1), wrote(at..at + 8), phase()];
    let line = &gathered(&[beside(8), beside(16)], &Longs).lines[&PAGE];
    assert_eq!((line.false_phases, line.true_phases), (1, 0));
}

/// Of a sum each adds to, the bytes that change are not the same ones.
#[test]
fn what_is_left_of_a_reduction_is_nothing() {
    let locked = |range: Range<u16>| {
        let wrote = Record::Wrote {
            page: PAGE,
            ranges: vec![range],
            locked: true,
        };
        vec![wrote, phase()]
    };
    assert!(
        gathered(&[locked(0..3), locked(2..10)], &Bytes)
            .lines
            .is_empty()
    );
    let line = &gathered(&[locked(0..3), locked(2..17)], &Bytes).lines;
    assert!(line.is_empty(), "one node alone wrote what is left");
    let parts = [locked(2..17), locked(0..3), locked(30..31)];
    assert_eq!(gathered(&parts, &Bytes).lines[&PAGE].false_phases, 1);
}

#[test]
fn a_reader_beside_a_writer_is_false_sharing() {
    let parts = [vec![wrote(0..8), phase()], vec![read(32), phase()]];
    let line = &gathered(&parts, &Longs).lines[&PAGE];
    assert_eq!(line.false_phases, 1);
    assert_eq!((&line.writers, &line.readers), (&[0].into(), &[1].into()));
    let readers = [vec![read(0), phase()], vec![read(8), phase()]];
    let all = gathered(&readers, &Longs);
    assert!(all.lines.is_empty());
    assert_eq!(all.reads[&PAGE].readers, [0, 1].into());
    assert_eq!(all.reads[&PAGE].bytes, 0xffff);
}

#[test]
fn blocks_of_a_loop_meet_in_one_line() {
    let block = |range: Range<u16>| vec![wrote(range), phase()];
    let line = &gathered(&[block(0..1032), block(1032..4096)], &Longs).lines[&(PAGE + 1024)];
    assert_eq!((line.false_phases, line.boundary_phases), (1, 1));
    // The same beyond a page's end.
    let next = |range: Range<u16>| Record::Wrote {
        page: PAGE + 4096,
        ranges: vec![range],
        locked: false,
    };
    let parts = [
        vec![wrote(0..4096), next(0..8), phase()],
        vec![next(8..4096), phase()],
    ];
    let line = &gathered(&parts, &Longs).lines[&(PAGE + 4096)];
    assert_eq!((line.false_phases, line.boundary_phases), (1, 1));
    // Structures of a line and a half are no blocks.
    let line = &gathered(&[block(0..96), block(96..192)], &Longs).lines[&(PAGE + 64)];
    assert_eq!((line.false_phases, line.boundary_phases), (1, 0));
}

#[test]
fn what_was_cut_off_is_taken_as_far_as_it_goes() {
    let parts = [
        vec![wrote(0..8)],
        vec![wrote(8..16), phase(), Record::Stopped(Stop::Time)],
    ];
    let all = gathered(&parts, &Longs);
    assert_eq!(all.lines.len(), 1);
    assert_eq!((all.stopped, all.complete), (Some(Stop::Time), false));
}

#[test]
fn a_block_is_the_one_that_was_there() {
    let block = |frame| Record::Block {
        address: PAGE,
        bytes: 100,
        frames: vec![frame],
    };
    let first = vec![
        block(1),
        wrote(0..8),
        phase(),
        block(2),
        wrote(0..8),
        phase(),
        block(3),
        phase(),
    ];
    let second = vec![wrote(8..16), phase(), wrote(8..16), phase(), phase()];
    let all = gathered(&[first, second], &Longs);
    let (start, found) = all.block(PAGE + 99).unwrap();
    assert_eq!((start, &found.frames), (PAGE, &vec![3]));
    let (_, found) = all.block(PAGE + 8).unwrap();
    assert_eq!(found.frames, [2], "when its line was shared last");
    assert!(all.block(PAGE + 100).is_none());
}

proptest! {
    /// Whatever nodes write, a line is named if and only if two of them wrote it in one
    /// phase; and it is true sharing if and only if they wrote the same bytes.
    #[test]
    fn lines_are_named_if_they_are_shared(
        writes in prop::collection::vec((0..3_u16, 0..2_usize, 0..256_u16), 0..24),
    ) {
        let mut parts = vec![vec![vec![]; 2]; 3];
        for (node, phase, at) in &writes {
            parts[usize::from(*node)][*phase].push(wrote(*at..at + 1));
        }
        let parts: Vec<Vec<_>> = parts
            .into_iter()
            .map(|phases| phases.into_iter().flat_map(|mut all| {
                all.push(phase());
                all
            }).collect())
            .collect();
        let all = gathered(&parts, &Bytes);
        for line in 0..4_u16 {
            let here = |(node, phase, at): &(u16, usize, u16)| (at / 64 == line).then_some((*phase, *node, *at));
            let here: Vec<_> = writes.iter().filter_map(here).collect();
            let pair = |same: bool| here.iter().any(|a| here.iter().any(|b| {
                a.0 == b.0 && a.1 != b.1 && (!same || a.2 == b.2)
            }));
            let found = all.lines.get(&(PAGE + u64::from(line) * 64));
            prop_assert_eq!(found.is_some(), pair(false));
            prop_assert_eq!(found.is_some_and(|f| f.true_phases > 0), pair(true));
        }
    }

    /// Any records are taken.
    #[test]
    fn any_notes_are_taken(
        notes in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>()), 0..20),
    ) {
        let part: Vec<_> = notes.iter().map(|(address, bytes, write)| match write {
            true => Record::Atomic { address: *address, bytes: bytes % 5000, instruction: 1, times: *bytes },
            false => Record::Access { write: *write, address: *address, instruction: 1, times: 1 },
        }).collect();
        let _ = gathered(&[part.clone(), part], &Longs);
    }
}
