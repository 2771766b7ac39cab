//! What a node shows, and what is left for it.

use crate::memory::Memory;
use crate::sizes::Sizes;
use crate::window::Window;
use fathomp_protocols::{Admits, Committed, Fetch, Interval, Offer, PageRange, Seen};
use fathomp_types::{NodeId, PageId};
use std::sync::Arc;

fn cluster() -> [Window; 2] {
    let memory = Arc::new(Memory::in_process(2, 1000, Sizes::small()));
    [0, 1].map(|node| Window::new(Arc::clone(&memory), NodeId(node)))
}

fn range(first: u32, pages: u32) -> PageRange {
    PageRange::new(PageId(first), pages).unwrap()
}

fn fetch(epoch: u32, pages: PageRange) -> Fetch {
    Fetch {
        from: NodeId(0),
        epoch,
        pages,
        need: Vec::new(),
        borrows: false,
    }
}

fn committed(epoch: u32, received: &Seen) -> Committed<'_> {
    Committed {
        epoch,
        received,
        begun: received,
        known: received,
        admits: Admits::All,
    }
}

#[test]
fn notes_are_found_once() {
    let [home, taker] = cluster();
    home.show(committed(1, &Seen::nothing(2)));
    home.offer(range(0, 40), Offer::Open, || true);
    let take = |first, pages| {
        let fetch = fetch(1, range(first, pages));
        taker.take(&fetch, |_| true).map(|taking| taking.taken)
    };
    assert_eq!(take(38, 2), Some(range(38, 2).iter().collect()));
    assert!(take(7, 3).is_some() && take(9, 2).is_some() && take(60, 9).is_none());
    assert_eq!(home.taken().ranges(), [range(7, 4), range(38, 2)]);
    assert!(home.taken().is_empty());
    // More than there is room for.
    assert!((0..9).all(|page| take(2 * page, 1).is_some()));
    assert_eq!(home.taken().len(), 4);
    assert!(home.taken().is_empty());
}

#[test]
fn only_what_is_offered_is_taken() {
    let [home, taker] = cluster();
    home.show(committed(1, &Seen::nothing(2)));
    home.offer(range(1, 1), Offer::Open, || true);
    home.offer(range(2, 1), Offer::Lent, || true);
    home.offer(range(3, 1), Offer::Updated, || true);
    home.offer(range(4, 1), Offer::Reserved, || true);
    let mut fetch = fetch(1, range(0, 6));
    fetch.borrows = true;
    let mut copied = Vec::new();
    let taking = taker.take(&fetch, |pages| {
        copied.push(pages);
        true
    });
    let taking = taking.unwrap();
    assert_eq!(taking.taken.ranges(), [range(1, 3)]);
    assert_eq!(taking.borrowed.ranges(), [range(2, 2)]);
    assert_eq!(taking.left.ranges(), [range(0, 1), range(4, 2)]);
    assert_eq!(copied, [range(1, 3)]);
    fetch.borrows = false;
    let taking = taker.take(&fetch, |_| true).unwrap();
    assert_eq!(
        taking.left.ranges(),
        [range(0, 1), range(2, 1), range(4, 2)]
    );
    assert!(taker.take(&fetch, |_| false).is_none());
    fetch.epoch = 2;
    assert!(taker.take(&fetch, |_| true).is_none());
    (fetch.epoch, fetch.from) = (1, NodeId(7));
    assert!(taker.take(&fetch, |_| true).is_none());
}

#[test]
fn what_is_shown_is_seen() {
    let [window, _] = cluster();
    let mut received = Seen::nothing(2);
    received.learn(NodeId(1), Interval(3));
    let committed = committed(5, &received);
    window.show(committed);
    let view = window.mine().unwrap();
    assert!(view.shows(5) && !view.shows(4) && !view.shows(6));
    let has = |node, last| view.has_received(&[(NodeId(node), Interval(last))]);
    assert!(has(1, 3) && !has(1, 4) && !has(0, 1) && has(0, 0) && !has(2, 0));
    assert!(window.admit(committed, || true) && !window.admit(committed, || true));
}

#[test]
fn a_node_that_does_not_exist_shows_nothing() {
    let memory = Arc::new(Memory::in_process(2, 8, Sizes::small()));
    let window = Window::new(memory, NodeId(2));
    window.pass_barrier(3);
    assert_eq!(window.passed(), 0);
    assert!(window.taken().is_empty() && window.begun(&Seen::nothing(2)).is_empty());
}
