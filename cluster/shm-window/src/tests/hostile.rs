//! Whatever another process writes into shared memory: no panic, no endless loop, nothing
//! read outside.

use crate::memory::Memory;
use crate::sizes::Sizes;
use crate::window::Window;
use fathomp_protocols::message::Request;
use fathomp_protocols::{
    Admits, Bring, Committed, Fetch, Interval, LockId, Notice, Offer, PageRange, Seen, Sequenced,
    Tell, Underway, Updates,
};
use fathomp_types::{NodeId, PageId, ThreadId};
use std::sync::Arc;

fn notice(writer: u16, interval: u32) -> Notice {
    Notice {
        writer: NodeId(writer),
        interval: Interval(interval),
        pages: [3, 4, 9].map(PageId).into_iter().collect(),
        foreseen: false,
        late: false,
        first: false,
        knew: Vec::new(),
    }
}

/// All that two nodes can do in an epoch. `goes_on` is asked by who waits.
fn all(memory: Arc<Memory>, epoch: u32) {
    let nodes = [0, 1].map(|node| Window::new(Arc::clone(&memory), NodeId(node)));
    let seen = Seen::nothing(2);
    let pages = PageRange::new(PageId(3), 20).unwrap();
    for (node, other) in [(0, 1), (1, 0)].map(|(a, b)| (&nodes[a], NodeId(b as u16))) {
        let committed = Committed {
            epoch,
            received: &seen,
            begun: &seen,
            known: &seen,
            admits: Admits::All,
        };
        let sequenced = Sequenced {
            epoch,
            contains: &seen,
            asks: false,
        };
        for offer in [Offer::Reserved, Offer::Updated, Offer::Lent, Offer::Open] {
            node.offer(pages, offer, || false);
        }
        node.show(committed);
        let _ = node.admit(committed, || false);
        node.show_sequenced(sequenced);
        node.pass_barrier(7);
        let fetch = Fetch {
            from: other,
            epoch,
            pages,
            need: vec![(NodeId(0), Interval(0))],
            borrows: true,
        };
        let _ = node.take(&fetch, |pages| pages.end() <= 23);
        let bring = Bring {
            to: other,
            epoch,
            interval: Interval(1),
            more: false,
            pages: vec![PageId(3)],
        };
        let _ = node.bring(&bring, &Underway::default(), || true);
        let updates = Updates {
            home: other,
            epoch,
            need: Vec::new(),
        };
        let _ = node.begin_update(&updates, PageId(4));
        node.end_update(other);
        let _ = (
            node.is_updated(PageId(4)),
            node.is_told(&Underway::default()),
        );
        for request in [
            Request::Publish,
            Request::Flush(ThreadId(0)),
            Request::Acquire(LockId(8), ThreadId(0)),
            Request::Release(LockId(8)),
        ] {
            let tell = Tell {
                epoch,
                notice: Some(notice(node.me.0, 1)),
                request,
            };
            let _ = node.tell(&tell, &Underway::default());
        }
        let _ = (node.keep(LockId(8)), node.take_kept(LockId(8)));
        let _ = node.claim(LockId(8));
        node.unclaim(LockId(8));
        node.log(epoch, &notice(0, 2));
        let _ = (node.taken(), node.begun(&seen), node.brought(&seen));
        let _ = (node.logged(epoch), node.has_news(epoch));
    }
}

#[test]
fn whatever_stands_there_nobody_fails_or_waits_for_ever() {
    let sizes = Sizes::small();
    let memory = Arc::new(Memory::in_process(2, 24, sizes));
    for epoch in 0..3 {
        all(Arc::clone(&memory), epoch);
    }
    let words = memory.words();
    assert!(words.iter().filter(|word| **word != 0).count() > words.len() / 2);
    let bits = (0..u64::BITS).map(|bit| 1 << bit);
    let values: Vec<u64> = [0, u64::MAX, u64::MAX >> 1]
        .into_iter()
        .chain(bits)
        .collect();
    for place in 0..words.len() {
        for value in &values {
            for changed in [*value, words[place] ^ value] {
                let mut words = words.clone();
                words[place] = changed;
                let memory = Memory::from_words(2, 24, sizes, &words);
                all(Arc::new(memory), 2);
            }
        }
    }
}
