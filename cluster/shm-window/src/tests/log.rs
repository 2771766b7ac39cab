//! The log, one step after the other; and all at once.

use crate::log::Reader;
use crate::memory::Memory;
use crate::sizes::Sizes;
use fathomp_protocols::{Interval, Notice};
use fathomp_types::{NodeId, PageId};

fn notice(writer: u16, interval: u32, pages: &[u32]) -> Notice {
    Notice {
        writer: NodeId(writer),
        interval: Interval(interval),
        pages: pages.iter().copied().map(PageId).collect(),
        foreseen: false,
        late: false,
        first: false,
        knew: Vec::new(),
    }
}

/// Smaller than programs have, and not a power of two.
const SLOTS: u64 = 200;
const HALF: u64 = 256;
const ENTRY_MAX: u64 = 64;

fn memory(nodes: u16) -> Memory {
    let sizes = Sizes {
        log_slots: SLOTS as usize,
        log_ring: 2 * HALF as usize,
        log_entry_max: ENTRY_MAX as usize,
        ..Sizes::small()
    };
    Memory::in_process(nodes, 0, sizes)
}

fn flush(memory: &Memory, epoch: u32, node: u16, notice: Option<&Notice>) -> Option<Vec<Notice>> {
    let log = memory.log(epoch)?;
    let end = log.enter(NodeId(node), notice)?;
    log.read(Reader::Node(NodeId(node)), Some(end))
}

fn read_all(memory: &Memory, epoch: u32) -> Option<Vec<Notice>> {
    memory.log(epoch)?.read(Reader::Sequencer, None)
}

#[test]
fn everybody_reads_what_others_have_entered_once() {
    let memory = memory(2);
    let (first, second) = (notice(0, 1, &[3, 4, 9]), notice(1, 1, &[u32::MAX]));
    assert_eq!(flush(&memory, 0, 0, Some(&first)), Some(vec![]));
    assert_eq!(
        flush(&memory, 0, 1, Some(&second)),
        Some(vec![first.clone()])
    );
    assert_eq!(flush(&memory, 0, 1, None), Some(vec![]));
    assert_eq!(flush(&memory, 0, 0, None), Some(vec![second.clone()]));
    assert_eq!(read_all(&memory, 0), Some(vec![first, second]));
    assert_eq!(read_all(&memory, 0), Some(vec![]));
}

#[test]
fn epochs_do_not_meet() {
    let memory = memory(2);
    for epoch in 0..5 {
        assert_eq!(flush(&memory, epoch, 1, None), Some(vec![]), "{epoch}");
        let own = notice(0, epoch + 1, &[epoch]);
        flush(&memory, epoch, 0, Some(&own)).unwrap();
        // Somebody is in the next epoch already.
        flush(&memory, epoch + 1, 0, None).unwrap();
        assert_eq!(flush(&memory, epoch, 1, None), Some(vec![own]), "{epoch}");
    }
    flush(&memory, 4, 1, None).unwrap();
    assert_eq!(flush(&memory, 2, 1, None), None);
}

#[test]
fn rings_go_round_while_all_read() {
    let memory = memory(1);
    for interval in 1..=3 * SLOTS as u32 {
        let own = notice(0, interval, &[interval, interval + 2]);
        assert_eq!(flush(&memory, 7, 0, Some(&own)), Some(vec![]));
        assert_eq!(read_all(&memory, 7), Some(vec![own]));
    }
}

fn closes(pages: &[u32]) -> u64 {
    let memory = memory(1);
    let own = notice(0, 1, pages);
    let mut entered = 0;
    while flush(&memory, 1, 0, Some(&own)).is_some() {
        entered += 1;
    }
    assert_eq!(flush(&memory, 1, 0, None), None);
    // What was entered before is there.
    let told = read_all(&memory, 1);
    assert_eq!(told.map(|told| told.len()), Some(entered));
    // It stays closed. The next epoch has room, and the one after it the same place.
    assert_eq!(flush(&memory, 1, 0, Some(&own)), None);
    assert!(flush(&memory, 2, 0, Some(&own)).is_some());
    assert!(flush(&memory, 3, 0, Some(&own)).is_some());
    entered as u64
}

#[test]
fn a_log_closes_when_somebody_does_not_read() {
    assert_eq!(closes(&[]), SLOTS - 1);
    assert_eq!(closes(&[1]), 2 * (HALF / 3));
}

#[test]
fn what_is_too_long_closes_a_log() {
    let memory = memory(1);
    let many: Vec<u32> = (0..ENTRY_MAX as u32).map(|page| 2 * page).collect();
    assert_eq!(flush(&memory, 0, 0, Some(&notice(0, 1, &many))), None);
    assert_eq!(flush(&memory, 0, 0, None), None);
}

#[test]
fn all_read_in_one_order() {
    const EACH: u32 = 1500;
    let memory = Memory::in_process(3, 0, Sizes::default());
    let flush_all = |node: u16| {
        let mut seen = Vec::new();
        for interval in 1..=EACH {
            let own = notice(node, interval, &[u32::from(node), 10 * interval]);
            seen.extend(flush(&memory, 0, node, Some(&own)).unwrap());
        }
        seen
    };
    let mut seen: Vec<Vec<Notice>> = std::thread::scope(|scope| {
        let nodes = [0, 1, 2].map(|node| scope.spawn(move || flush_all(node)));
        nodes.into_iter().map(|node| node.join().unwrap()).collect()
    });
    let all = read_all(&memory, 0).unwrap();
    assert_eq!(all.len(), 3 * EACH as usize);
    for (node, seen) in (0..).zip(&mut seen) {
        seen.extend(flush(&memory, 0, node, None).unwrap());
        let others = all.iter().filter(|notice| notice.writer != NodeId(node));
        assert!(others.eq(seen.iter()), "{node}");
        let own = all.iter().filter(|notice| notice.writer == NodeId(node));
        assert!(own.map(|notice| notice.interval.0).eq(1..=EACH), "{node}");
    }
}
