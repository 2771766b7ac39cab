//! Where what lies, and sizes.

use crate::locks::Locks;
use crate::log::Log;
use crate::memory::Memory;
use crate::sizes::{Keeping, Sizes};
use crate::view::View;
use fathomp_types::NodeId;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn nothing_overlaps() {
    let memory = Memory::in_process(3, 40, Sizes::small());
    let range = |words: &[AtomicU64]| words.as_ptr_range();
    let all = memory.words.all();
    let mut parts = Vec::new();
    let size = View::words(3, 40, Sizes::small());
    parts.extend((0..3).map(|node| range(memory.part(node * size, size).unwrap())));
    let size = Log::words(3, Sizes::small());
    let logs = all.len() - Locks::words(Sizes::small()) - 2 * size;
    parts.extend([0, 1].map(|log| range(memory.part(logs + log * size, size).unwrap())));
    parts.push(range(&all[all.len() - Locks::words(Sizes::small())..]));
    assert_eq!(parts[0].start, all.as_ptr());
    assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert_eq!(parts.last().map(|last| last.end), Some(range(all).end));
    assert!(memory.view(NodeId(2)).is_some() && memory.view(NodeId(3)).is_none());
}

#[test]
fn small_memory_is_small() {
    let words = |nodes| Memory::in_process(nodes, 8, Sizes::small()).words().len();
    assert!(
        words(2) < 160 && words(3) < 240,
        "{} {}",
        words(2),
        words(3)
    );
}

#[test]
fn words_come_back() {
    let (memory, sizes) = (Memory::in_process(2, 8, Sizes::small()), Sizes::small());
    let all = memory.words.all();
    all.iter()
        .zip(1..)
        .for_each(|(word, number)| word.store(number, Ordering::Relaxed));
    let words = memory.words();
    assert_eq!(words.last(), Some(&(words.len() as u64)));
    assert_eq!(Memory::from_words(2, 8, sizes, &words).words(), words);
}

#[test]
fn sizes_out_of_range_are_cut() {
    let sizes = Sizes {
        notes: 0,
        log_slots: 0,
        log_ring: 0,
        log_entry_max: usize::MAX,
        lock_places: 0,
        lock_looks: 0,
        keeping: Keeping {
            streak_min: u8::MAX,
            streak_max: u8::MAX,
            level_max: u8::MAX,
            worth: u8::MAX,
        },
    };
    let memory = Memory::in_process(0, 0, sizes);
    assert!(memory.log(0).is_some() && memory.view(NodeId(0)).is_none());
    assert!(Memory::shared(2, u32::MAX, Sizes::default()).is_ok());
}
