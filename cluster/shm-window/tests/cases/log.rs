//! The log of intervals.

use super::*;
use crate::log::Reader;

fn enter(memory: &Memory, epoch: u32, node: u16, interval: u32) -> Option<u64> {
    let log = memory.log(epoch).unwrap();
    log.enter(NodeId(node), Some(&notice(node, interval)))
}

fn read(memory: &Memory, epoch: u32, node: u16, end: Option<u64>) -> Option<Vec<Notice>> {
    memory
        .log(epoch)
        .unwrap()
        .read(Reader::Node(NodeId(node)), end)
}

/// Enters and reads what others have entered before.
fn flush(memory: &Memory, epoch: u32, node: u16, interval: u32) -> Option<Vec<Notice>> {
    let end = enter(memory, epoch, node, interval)?;
    read(memory, epoch, node, Some(end))
}

fn read_all(memory: &Memory, epoch: u32) -> Option<Vec<Notice>> {
    memory.log(epoch).unwrap().read(Reader::Sequencer, None)
}

fn memory(nodes: u16, sizes: Sizes) -> Arc<Memory> {
    Arc::new(Memory::in_process(nodes, 0, sizes))
}

/// Of two flushes one comes first, and the other one learns of it. Everybody reads the same.
#[test]
fn all_read_one_order() {
    explore(3, || {
        let sizes = Sizes {
            log_slots: 4 * ROUNDS as usize + 2,
            log_ring: 12 * ROUNDS as usize,
            ..sizes()
        };
        let memory = memory(2, sizes);
        let flush_all = |memory: &Memory, node| {
            let flushes = (1..=ROUNDS).map(|interval| flush(memory, 1, node, interval));
            flushes.collect::<Option<Vec<_>>>().unwrap()
        };
        let theirs = Arc::clone(&memory);
        let other = thread::spawn(move || flush_all(&theirs, 1));
        let first = read_all(&memory, 1).unwrap();
        let mut mine = flush_all(&memory, 0);
        let mut other = other.join().unwrap();
        let last = read_all(&memory, 1).unwrap();
        let all: Vec<_> = first.into_iter().chain(last).collect();
        assert_eq!(all.len(), 2 * ROUNDS as usize);
        mine.push(read(&memory, 1, 0, None).unwrap());
        other.push(read(&memory, 1, 1, None).unwrap());
        for (node, seen) in [(0, mine), (1, other)] {
            // What a flush learns is what lies between this one and the one before.
            let lies = all.split(|entry| entry.writer == NodeId(node));
            assert!(
                lies.eq(seen.iter().map(Vec::as_slice)),
                "{node}: {seen:?} {all:?}"
            );
        }
    });
}

/// A ring goes round, or the log closes, while another node has yet to read; what was entered
/// is never written over before.
fn write_round(log_slots: usize, log_ring: usize) {
    explore(3, move || {
        let sizes = Sizes {
            log_slots,
            log_ring,
            ..sizes()
        };
        let memory = memory(1, sizes);
        let theirs = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            let mut entered = 0;
            while entered < 3 + ROUNDS && flush(&theirs, 1, 0, entered + 1).is_some() {
                entered += 1;
            }
            // Once it is closed it stays so.
            let closed = entered < 3 + ROUNDS;
            assert!(!closed || flush(&theirs, 1, 0, 9).is_none());
            entered
        });
        let mut told = Vec::new();
        for _ in 0..2 * ROUNDS {
            told.extend(read_all(&memory, 1).unwrap());
        }
        let entered = writer.join().unwrap();
        told.extend(read_all(&memory, 1).unwrap());
        let expected: Vec<_> = (1..=entered).map(|interval| notice(0, interval)).collect();
        assert_eq!(told, expected);
    });
}

#[test]
fn entries_are_read_as_they_were_written() {
    write_round(9, 6);
}

#[test]
fn slots_are_used_again_when_they_were_read() {
    write_round(3, 24);
}

/// The log of an epoch has the place of the one before the last, which everybody has left.
#[test]
fn epochs_do_not_meet() {
    explore(3, || {
        let memory = memory(2, sizes());
        let left = Arc::new(AtomicU64::new(0));
        let (theirs, leaves) = (Arc::clone(&memory), Arc::clone(&left));
        let other = thread::spawn(move || {
            let first = flush(&theirs, 1, 1, 1).unwrap();
            leaves.store(1, Ordering::Release);
            (first, flush(&theirs, 2, 1, 2).unwrap())
        });
        let first = flush(&memory, 1, 0, 1).unwrap();
        let second = flush(&memory, 2, 0, 2).unwrap();
        if left.load(Ordering::Acquire) != 0 {
            assert_eq!(flush(&memory, 3, 0, 3), Some(vec![]));
        }
        let (theirs_first, theirs_second) = other.join().unwrap();
        for (epoch, mine, other) in [(1, first, theirs_first), (2, second, theirs_second)] {
            let both = (mine.as_slice(), other.as_slice());
            let (of_0, of_1) = ([notice(0, epoch)], [notice(1, epoch)]);
            assert!(
                both == (&[], &of_0) || both == (&of_1, &[]),
                "{epoch}: {both:?}"
            );
        }
        assert_eq!(
            flush(&memory, 3, 1, 3).map(|read| read.len() < 2),
            Some(true)
        );
    });
}

/// A node that has nothing to enter reads all the same what was entered before.
#[test]
fn what_comes_before_the_end_can_be_read() {
    explore(3, || {
        let memory = memory(2, sizes());
        let theirs = Arc::clone(&memory);
        let other = thread::spawn(move || {
            enter(&theirs, 1, 1, 1).unwrap();
            enter(&theirs, 1, 1, 2).unwrap();
        });
        let end = memory.log(1).unwrap().enter(NodeId(0), None);
        let entries = read(&memory, 1, 0, end).unwrap();
        assert_eq!(Some(entries.len() as u64), end);
        other.join().unwrap();
    });
}

/// Whether there is news is asked without a lock around it: no entry is missed that was made
/// before something that was seen.
#[test]
fn news_is_seen_with_what_came_of_it() {
    explore(3, || {
        let memory = memory(2, sizes());
        let flag = Arc::new(AtomicU64::new(0));
        let (theirs, told) = (Arc::clone(&memory), Arc::clone(&flag));
        let other = thread::spawn(move || {
            enter(&theirs, 1, 1, 1).unwrap();
            told.store(1, Ordering::Release);
        });
        let knows = flag.load(Ordering::Acquire) != 0;
        assert!(!knows || memory.log(1).unwrap().has_news(NodeId(0)));
        other.join().unwrap();
    });
}
