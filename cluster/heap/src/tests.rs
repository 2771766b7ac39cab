use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const BASE: usize = 0x7000_0000_3000;

/// What a program may do to a heap.
#[derive(Clone, Debug)]
enum Step {
    Allocate {
        bytes: usize,
        align_bits: u32,
    },
    /// Of one of the live allocations.
    Release(prop::sample::Index),
    /// Of any address.
    ReleaseAnything(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![
        6 => 0..300_usize,
        3 => 0..10_000_usize,
        2 => 0..300_000_usize,
        1 => any::<usize>(),
    ];
    let align_bits = prop_oneof![8 => 0..5_u32, 3 => 0..13_u32, 1 => 0..22_u32];
    prop_oneof![
        8 => (bytes, align_bits).prop_map(|(bytes, align_bits)| Step::Allocate { bytes, align_bits }),
        6 => any::<prop::sample::Index>().prop_map(Step::Release),
        1 => (BASE - 100..BASE + (4 << 20)).prop_map(Step::ReleaseAnything),
    ]
}

/// Live allocations and their usable sizes.
#[derive(Default)]
struct Model {
    live: BTreeMap<usize, usize>,
}

impl Model {
    /// Whether no live allocation has a byte in the range.
    fn is_free(&self, range: &Range<usize>) -> bool {
        let before = self.live.range(..range.end).next_back();
        before.is_none_or(|(start, size)| start + size <= range.start)
    }
}

fn live_after(steps: &[Step], len: usize) -> Result<(), TestCaseError> {
    let mut heap = Heap::new(BASE, len);
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Allocate { bytes, align_bits } => {
                let align = 1_usize << align_bits;
                let Some(address) = heap.allocate(*bytes, align) else {
                    continue;
                };
                let size = heap.size_of(address).unwrap();
                prop_assert!(size >= *bytes && size > 0);
                prop_assert!(address + size <= heap.used_end());
                prop_assert!(address.is_multiple_of(align) && address.is_multiple_of(16));
                prop_assert!(address >= BASE && address + size <= BASE + len);
                prop_assert!(model.is_free(&(address..address + size)));
                model.live.insert(address, size);
            }
            Step::Release(which) if !model.live.is_empty() => {
                let &(&address, &size) = which.get(&model.live.iter().collect::<Vec<_>>());
                prop_assert_eq!(heap.release(address), Ok(size));
                model.live.remove(&address);
                prop_assert!(heap.release(address).is_err());
            }
            Step::Release(_) => {}
            Step::ReleaseAnything(address) => {
                let expected = model.live.remove(address);
                prop_assert_eq!(heap.size_of(*address), expected);
                prop_assert_eq!(heap.release(*address).ok(), expected);
            }
        }
    }
    for (&address, &size) in &model.live {
        prop_assert_eq!(heap.release(address), Ok(size));
    }
    // Everything has come together again.
    let pages = len / PAGE_BYTES;
    prop_assert_eq!(heap.allocate(pages * PAGE_BYTES, 1), Some(BASE));
    Ok(())
}

proptest! {
    #[test]
    fn a_heap_does_what_its_model_does(
        steps in prop::collection::vec(step(), 1..400),
        len in prop_oneof![65_536..600_000_usize, Just(64 << 20)],
    ) {
        live_after(&steps, len)?;
    }
}

/// Arrays of a program's step: all of one size lie where some of that size lay before, though
/// steps of other sizes come in between.
#[test]
fn blocks_of_a_size_come_to_lie_where_such_blocks_lay() {
    let mut heap = Heap::new(BASE, 1 << 30);
    let mut step = |pages: usize| -> Vec<usize> {
        let bytes = pages * PAGE_BYTES;
        let blocks: Vec<_> = (0..10).map(|_| heap.allocate(bytes, 1).unwrap()).collect();
        for block in blocks.iter().rev() {
            heap.release(*block).unwrap();
        }
        blocks
    };
    let first: Vec<_> = (3..20).map(&mut step).collect();
    for _ in 0..3 {
        let again: Vec<_> = (3..20).map(&mut step).collect();
        assert_eq!(first, again);
    }
}

/// What is kept for others of its size is not more than 16 MiB and a fourth of what is in use.
#[test]
fn freed_memory_is_not_kept_without_end() {
    let mut heap = Heap::new(BASE, 1 << 30);
    let in_use = heap.allocate(64 << 20, 1).unwrap();
    let mut end = 0;
    // Each fits into none that was freed before.
    for pages in 3..4000 {
        let block = heap.allocate(pages * PAGE_BYTES, 1).unwrap();
        end = end.max(block + pages * PAGE_BYTES);
        heap.release(block).unwrap();
    }
    let used = end - in_use - (64 << 20);
    let largest = 4000 * PAGE_BYTES;
    assert!(used <= (32 << 20) + 2 * largest, "{used}");
    // And it is there when it is needed.
    let rest = (1 << 30) - (64 << 20);
    assert!(heap.allocate(rest, 1).is_some());
}

#[test]
fn where_nothing_is_left_the_shortest_run_that_fits_is_used() {
    let mut heap = Heap::new(BASE, 28 * PAGE_BYTES);
    let runs = [9, 3, 4, 3, 6, 3].map(|pages| heap.allocate(pages * PAGE_BYTES, 1).unwrap());
    for run in [0, 2, 4] {
        heap.release(runs[run]).unwrap();
    }
    assert_eq!(heap.allocate(5 * PAGE_BYTES, 1), Some(runs[4]));
    assert_eq!(heap.allocate(4 * PAGE_BYTES, 1), Some(runs[2]));
    assert_eq!(heap.allocate(4 * PAGE_BYTES, 1), Some(runs[0]));
}

#[test]
fn misuse_is_told_apart() {
    let mut heap = Heap::new(BASE, 1 << 20);
    let (small, large) = (
        heap.allocate(24, 8).unwrap(),
        heap.allocate(9000, 8).unwrap(),
    );
    assert_eq!(heap.size_of(small), Some(32));
    assert_eq!(heap.size_of(large), Some(3 * PAGE_BYTES));
    assert_eq!(heap.release(small + 8), Err(BadFree::Inside(small + 8)));
    assert_eq!(heap.release(large + 8), Err(BadFree::Inside(large + 8)));
    assert_eq!(heap.release(BASE - 1), Err(BadFree::Foreign(BASE - 1)));
    assert_eq!(
        heap.release(BASE + (1 << 20)),
        Err(BadFree::Foreign(BASE + (1 << 20)))
    );
    assert_eq!(heap.release(small), Ok(32));
    assert_eq!(heap.release(small), Err(BadFree::NotAllocated(small)));
    assert_eq!(heap.release(large), Ok(3 * PAGE_BYTES));
    assert_eq!(heap.release(large), Err(BadFree::NotAllocated(large)));
}

#[test]
fn ranges_without_room_give_nothing() {
    for (base, len) in [(BASE, 0), (1, 4095), (usize::MAX, usize::MAX)] {
        let mut heap = Heap::new(base, len);
        assert_eq!(heap.allocate(1, 1), None);
        assert_eq!(heap.allocate(100_000, 1), None);
        assert!(!heap.contains(base));
    }
    let mut heap = Heap::new(BASE + 1, 40 * PAGE_BYTES);
    assert_eq!(heap.allocate(1, 3), None);
    assert_eq!(heap.allocate(usize::MAX, 1), None);
    assert_eq!(heap.allocate(1, 1 << 63), None);
    assert_eq!(heap.allocate(1 << 15, 1 << 15), Some(BASE + 5 * PAGE_BYTES));
}
