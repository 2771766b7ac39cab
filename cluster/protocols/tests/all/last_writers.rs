//! Where last writers hand on what others changed: whom a node asks for what a page lacks.

use crate::homeless::{Cluster, plain};
use fathomp_protocols::{LockId, Operation};

impl Cluster {
    /// Messages that it takes a node to read a page.
    fn messages_of_read(&mut self, at: u16, page: u32) -> u32 {
        let before = self.sent;
        self.read(at, page);
        self.sent - before
    }
}

/// TreadMarks' number: of those that wrote a page one after the other under a lock the last one
/// alone is asked, and hands on what the others changed: as diffs, or as a page.
#[test]
fn the_last_of_writers_that_follow_each_other_hands_on_what_the_others_changed() {
    const NODES: u16 = 5;
    for hands_pages_on in [false, true] {
        let mut cluster = Cluster::new(NODES, &[(1, 0)], plain);
        cluster.hands_pages_on = hands_pages_on;
        for round in 0..3 {
            for at in 0..NODES {
                cluster.operation(at, Operation::Acquire(LockId(7)));
                let messages = cluster.messages_of_read(at, 0);
                // The first time, from its owner and then from the last writer.
                let most = if round == 0 { 4 } else { 2 };
                assert!(messages <= most, "round {round}, node {at}: {messages}");
                let [count, ..] = cluster.read(at, 0);
                assert_eq!(u16::from(count), round * NODES + at);
                cluster.write(at, 0, 0, count + 1);
                cluster.write(at, 0, 1 + usize::from(at % 3), count + 1);
                cluster.operation(at, Operation::Release(LockId(7)));
            }
        }
        cluster.barrier();
        let last = [15, 14, 15, 13];
        (0..NODES).for_each(|at| assert_eq!(cluster.read(at, 0), last));
    }
}

/// As many ask as there are writers that did not know of each other.
#[test]
fn concurrent_last_writers_are_asked_each() {
    let mut cluster = Cluster::new(5, &[(1, 0)], plain);
    for at in 1..5 {
        cluster.read(at, 0);
    }
    // Node 1's change is known to both that write next.
    cluster.write(1, 0, 3, 9);
    cluster.barrier();
    for at in [2, 3] {
        cluster.read(at, 0);
        cluster.write(at, 0, usize::from(at) - 2, 5);
    }
    cluster.barrier();
    assert_eq!(cluster.messages_of_read(4, 0), 4);
    assert_eq!(cluster.read(4, 0), [5, 5, 0, 9]);
}

/// MCBENCH's chunks of a page: from pass to pass the next node changes it, so that until it comes
/// back all others have. It is fetched from one of them.
#[test]
fn a_page_that_goes_round_is_fetched_from_the_node_before() {
    const NODES: u16 = 6;
    for hands_pages_on in [false, true] {
        let mut cluster = Cluster::new(NODES, &[(1, 0)], plain);
        cluster.hands_pages_on = hands_pages_on;
        for pass in 0..3 * NODES {
            let at = pass % NODES;
            let value = u8::try_from(pass + 1).unwrap();
            let messages = cluster.messages_of_read(at, 0);
            assert!(
                pass < NODES || messages == 2,
                "pass {pass}: {messages} messages"
            );
            (0..4).for_each(|byte| cluster.write(at, 0, byte, value));
            cluster.barrier();
        }
        let next = cluster.read(0, 0);
        assert_eq!(next, [u8::try_from(3 * NODES).unwrap(); 4]);
    }
}

/// What a node knows of others it need not keep: then it hands the page on.
#[test]
fn diffs_of_others_are_forgotten_before_they_are_too_many() {
    let mut cluster = Cluster::new(3, &[(8, 0)], |config| config.diffs_max = 12);
    for page in 0..8 {
        for at in 1..3 {
            cluster.read(at, page);
        }
        for at in [0, 1, 2] {
            cluster.operation(at, Operation::Acquire(LockId(7)));
            cluster.write(at, page, usize::from(at), 1);
            cluster.operation(at, Operation::Release(LockId(7)));
        }
        cluster.operation(0, Operation::Acquire(LockId(7)));
        assert_eq!(cluster.messages_of_read(0, page), 2);
        assert_eq!(cluster.read(0, page), [1, 1, 1, 0]);
        cluster.operation(0, Operation::Release(LockId(7)));
        for node in &cluster.nodes {
            let kept = node.pages.iter().map(|page| page.diffs.len());
            assert!(kept.sum::<usize>() <= 13);
        }
    }
}
