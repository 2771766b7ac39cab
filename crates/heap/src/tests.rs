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
    Report,
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
        1 => Just(Step::Report),
    ]
}

/// Live allocations and their usable sizes, and which pages were freed and not
/// yet reported.
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
            Step::Report => report(&mut heap, &model)?,
        }
    }
    for (&address, &size) in &model.live {
        prop_assert_eq!(heap.release(address), Ok(size));
    }
    model.live.clear();
    report(&mut heap, &model)?;
    // Everything has come together again.
    let pages = len / PAGE_BYTES;
    prop_assert_eq!(heap.allocate(pages * PAGE_BYTES, 1), Some(BASE));
    Ok(())
}

fn report(heap: &mut Heap, model: &Model) -> Result<(), TestCaseError> {
    let mut end = 0;
    for range in heap.released_pages() {
        prop_assert!(
            range.start.is_multiple_of(PAGE_BYTES) && range.end.is_multiple_of(PAGE_BYTES)
        );
        prop_assert!(range.start >= end && range.start < range.end);
        prop_assert!(model.is_free(&range));
        end = range.end;
    }
    prop_assert_eq!(heap.released_pages(), []);
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

#[test]
fn pages_freed_are_reported_once_and_not_when_taken_again() {
    let mut heap = Heap::new(BASE, 1 << 20);
    let sizes = [3, 5, 4].map(|pages| pages * PAGE_BYTES);
    let [a, b, c] = sizes.map(|bytes| heap.allocate(bytes, 1).unwrap());
    assert_eq!(heap.released_pages(), []);
    heap.release(a).unwrap();
    heap.release(b).unwrap();
    let again = heap.allocate(PAGE_BYTES * 4, 1).unwrap();
    assert_eq!(again, a);
    let rest = a + 4 * PAGE_BYTES..c;
    assert_eq!(heap.released_pages(), std::slice::from_ref(&rest));
    heap.release(again).unwrap();
    heap.release(c).unwrap();
    assert_eq!(
        heap.released_pages(),
        [a..a + 4 * PAGE_BYTES, c..c + 4 * PAGE_BYTES]
    );
}

#[test]
fn the_list_of_freed_pages_stays_short() {
    let mut heap = Heap::new(BASE, 1 << 30);
    for _ in 0..10_000 {
        let address = heap.allocate(100_000, 1).unwrap();
        heap.release(address).unwrap();
    }
    assert_eq!(heap.released_pages().len(), 1);
}

#[test]
fn the_shortest_run_that_fits_is_used() {
    let mut heap = Heap::new(BASE, 1 << 20);
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
