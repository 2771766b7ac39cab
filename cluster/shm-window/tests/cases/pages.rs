//! Taking pages and bringing diffs.

use super::*;
use fathomp_protocols::{Bring, Fetch, Offer, Underway};

/// Takes the first page of node 0 in epoch 1; what was copied.
fn take(cluster: &Cluster, node: usize, need: &[(NodeId, Interval)]) -> Option<u64> {
    take_in(cluster, node, 1, need)
}

fn take_in(cluster: &Cluster, node: usize, epoch: u32, need: &[(NodeId, Interval)]) -> Option<u64> {
    let fetch = Fetch {
        from: NodeId(0),
        epoch,
        pages: pages(0, 1),
        need: need.to_vec(),
        borrows: false,
    };
    let mut copied = None;
    let taking = cluster.nodes[node].take(&fetch, |_| {
        copied = Some(cluster.read(0));
        true
    });
    copied.filter(|_| taking.is_some())
}

/// Brings diffs of both pages to node 0: the first is written first.
fn bring(cluster: &Cluster, node: usize, interval: u32, more: bool) -> bool {
    let bring = Bring {
        to: NodeId(0),
        epoch: 1,
        interval: Interval(interval),
        more,
        pages: vec![PageId(0), PageId(1)],
    };
    cluster.nodes[node].bring(&bring, &Underway::default(), || {
        cluster.write(0, interval.into());
        cluster.write(1, interval.into());
        true
    })
}

fn take_while_an_epoch_ends(says_so: bool) {
    explore(3, move || {
        let cluster = Cluster::new(2, sizes());
        cluster.nodes[0].offer(pages(0, 1), Offer::Open, || true);
        let theirs = Arc::clone(&cluster);
        let home = thread::spawn(move || {
            theirs.nodes[0].offer(pages(0, 1), Offer::Closed, || true);
            if says_so {
                theirs.nodes[0].end_epoch(2);
            }
            theirs.write(0, 2);
            theirs.show(&theirs.nodes[0], 2, &[], Admits::All);
        });
        let copied = take(&cluster, 1, &[]);
        home.join().unwrap();
        assert!(
            copied.is_none_or(|copied| copied == 0),
            "it is of the next epoch"
        );
        if copied.is_some() {
            assert_eq!(cluster.nodes[0].taken().len(), 1);
        }
    });
}

#[test]
fn nothing_is_taken_of_another_epoch() {
    take_while_an_epoch_ends(true);
}

#[test]
#[should_panic(expected = "it is of the next epoch")]
fn something_would_be_if_the_home_did_not_say_so() {
    take_while_an_epoch_ends(false);
}

#[test]
fn what_is_taken_contains_what_is_needed() {
    explore(3, || {
        let cluster = Cluster::new(3, sizes());
        cluster.nodes[0].offer(pages(0, 1), Offer::Open, || true);
        let theirs = Arc::clone(&cluster);
        let writer = thread::spawn(move || {
            for interval in 1..=ROUNDS {
                assert!(bring(&theirs, 1, interval, false));
            }
        });
        let needs = [(NodeId(1), Interval(ROUNDS))];
        let copied = take(&cluster, 2, &needs);
        assert!(copied.is_none_or(|copied| copied == u64::from(ROUNDS)));
        writer.join().unwrap();
    });
}

/// A home's own intervals are part of its pages.
#[test]
fn what_a_home_wrote_before_an_epoch_is_part_of_what_is_taken() {
    explore(3, || {
        let cluster = Cluster::new(2, sizes());
        cluster.nodes[0].offer(pages(0, 1), Offer::Open, || true);
        let theirs = Arc::clone(&cluster);
        let home = thread::spawn(move || {
            theirs.nodes[0].end_epoch(2);
            theirs.write(0, 1);
            theirs.show(&theirs.nodes[0], 2, &[], Admits::All);
        });
        let copied = take_in(&cluster, 1, 2, &[]);
        assert!(copied.is_none_or(|copied| copied == 1));
        home.join().unwrap();
    });
}

/// What a home shows as received it has applied before.
#[test]
fn what_a_home_received_by_message_is_part_of_what_is_taken() {
    explore(3, || {
        let cluster = Cluster::new(2, sizes());
        cluster.nodes[0].offer(pages(0, 1), Offer::Open, || true);
        let theirs = Arc::clone(&cluster);
        let home = thread::spawn(move || {
            theirs.write(0, 1);
            theirs.show(&theirs.nodes[0], 1, &[(1, 1)], Admits::All);
        });
        let copied = take(&cluster, 1, &[(NodeId(1), Interval(1))]);
        assert!(copied.is_none_or(|copied| copied == 1));
        home.join().unwrap();
    });
}

/// A home forbids others to bring diffs: of any, of last ones, of some pages.
#[derive(Clone, Copy)]
enum Forbids {
    All,
    Last,
    Page,
}

fn bring_until_forbidden(forbids: Forbids) {
    explore(3, move || {
        let cluster = Cluster::new(2, sizes());
        let theirs = Arc::clone(&cluster);
        let writer = thread::spawn(move || {
            let intervals = (1..=ROUNDS).take_while(|interval| bring(&theirs, 1, *interval, false));
            intervals.last().unwrap_or_default()
        });
        let home = &cluster.nodes[0];
        match forbids {
            Forbids::All => cluster.show(home, 1, &[], Admits::Nothing),
            Forbids::Last => cluster.show(home, 1, &[], Admits::Parts),
            Forbids::Page => home.offer(pages(1, 1), Offer::Reserved, || true),
        }
        let now = [0, 1].map(|page| cluster.read(page));
        let brought = home.brought(&seen(&[]));
        let begun = home.begun(&seen(&[]));
        // Nobody is in the middle, and what is there is told.
        let told = |last: &[(NodeId, Interval)]| last.first().map_or(0, |(_, last)| last.0.into());
        assert_eq!(now, [told(&brought); 2]);
        assert_eq!(now[0], told(&begun));
        let last = writer.join().unwrap();
        assert_eq!(now, [u64::from(last); 2]);
        assert_eq!(now, [0, 1].map(|page| cluster.read(page)));
    });
}

#[test]
fn nobody_brings_after_it_was_forbidden() {
    bring_until_forbidden(Forbids::All);
}

#[test]
fn nobody_brings_last_diffs_after_these_were_forbidden() {
    bring_until_forbidden(Forbids::Last);
}

#[test]
fn nobody_brings_diffs_of_pages_that_are_reserved() {
    bring_until_forbidden(Forbids::Page);
}

/// A home that sees a byte of an interval can know that it has begun.
#[test]
fn diffs_are_told_before_they_come() {
    explore(3, || {
        let cluster = Cluster::new(2, sizes());
        let theirs = Arc::clone(&cluster);
        let writer = thread::spawn(move || {
            for interval in 1..=ROUNDS {
                assert!(bring(&theirs, 1, interval, interval < ROUNDS));
            }
        });
        let now = cluster.read(1);
        let begun = cluster.nodes[0].begun(&seen(&[]));
        let begun = begun.first().map_or(0, |(_, last)| last.0);
        assert!(u64::from(begun) >= now, "{begun} {now}");
        let brought = cluster.nodes[0].brought(&seen(&[]));
        let complete = brought.first().is_none_or(|(_, last)| {
            // Who knows that all is there finds it.
            *last == Interval(ROUNDS) && cluster.read(1) == u64::from(ROUNDS)
        });
        assert!(complete);
        writer.join().unwrap();
    });
}

/// Whoever reads of an interval in the log finds its diffs.
#[test]
fn diffs_come_before_what_is_told() {
    explore(3, || {
        let cluster = Cluster::new(3, sizes());
        let theirs = Arc::clone(&cluster);
        let writer = thread::spawn(move || {
            assert!(bring(&theirs, 1, 1, false));
            theirs.nodes[1].log(1, &notice(1, 1));
        });
        let logged = cluster.nodes[0].logged(1).unwrap();
        if !logged.is_empty() {
            assert_eq!(cluster.read(0), 1);
            assert_eq!(
                cluster.nodes[0].brought(&seen(&[])),
                [(NodeId(1), Interval(1))]
            );
        }
        writer.join().unwrap();
    });
}
