//! Updates at home.

use super::*;
use crate::tell::Answer;
use crate::update::UpdateStart;
use fathomp_protocols::message::Request;
use fathomp_protocols::{Bring, Offer, Tell, Underway, Updates};

fn updates(need: &[(NodeId, Interval)]) -> Updates {
    Updates {
        home: NodeId(0),
        epoch: 1,
        need: need.to_vec(),
    }
}

/// A cluster in which everybody may update the first page of node 0.
fn cluster(nodes: u16) -> Arc<Cluster> {
    let cluster = Cluster::new(nodes, sizes());
    cluster.nodes[0].offer(pages(0, 1), Offer::Reserved, || true);
    cluster.nodes[0].offer(pages(0, 1), Offer::Updated, || true);
    cluster
}

/// After a home has withdrawn an offer, whatever it offers next, nobody is updating.
fn withdraw(next: Offer) {
    explore(3, move || {
        let cluster = cluster(2);
        let theirs = Arc::clone(&cluster);
        let updater = thread::spawn(move || {
            let mut updated = 0;
            for _ in 0..ROUNDS {
                if theirs.nodes[1].begin_update(&updates(&[]), PageId(0)) == UpdateStart::Begun {
                    theirs.add_alone(0, 1);
                    updated += 1;
                    theirs.nodes[1].end_update(NodeId(0));
                }
            }
            updated
        });
        cluster.nodes[0].offer(pages(0, 1), next, || true);
        cluster.add_alone(0, 100);
        let updated = updater.join().unwrap();
        assert_eq!(cluster.read(0), 100 + updated);
    });
}

#[test]
fn nobody_updates_a_page_that_is_lent_again() {
    withdraw(Offer::Lent);
}

#[test]
fn nobody_updates_a_page_that_is_closed() {
    withdraw(Offer::Closed);
}

#[test]
fn nobody_updates_a_page_that_is_reserved() {
    withdraw(Offer::Reserved);
}

/// Before it is updated, nobody brings diffs of it any more.
#[test]
fn nobody_brings_what_is_updated() {
    explore(3, || {
        let cluster = Cluster::new(3, sizes());
        let theirs = Arc::clone(&cluster);
        let brings = thread::spawn(move || {
            let bring = Bring {
                to: NodeId(0),
                epoch: 1,
                interval: Interval(1),
                more: false,
                pages: vec![PageId(0)],
            };
            theirs.nodes[1].bring(&bring, &Underway::default(), || {
                theirs.add_alone(0, 10);
                true
            })
        });
        let theirs = Arc::clone(&cluster);
        let updater = thread::spawn(move || {
            let start = theirs.nodes[2].begin_update(&updates(&[]), PageId(0));
            if start == UpdateStart::Begun {
                theirs.add_alone(0, 1);
                theirs.nodes[2].end_update(NodeId(0));
            }
            start == UpdateStart::Begun
        });
        cluster.nodes[0].offer(pages(0, 1), Offer::Reserved, || true);
        cluster.nodes[0].offer(pages(0, 1), Offer::Updated, || true);
        let (brought, updated) = (brings.join().unwrap(), updater.join().unwrap());
        let expected = 10 * u64::from(brought) + u64::from(updated);
        assert_eq!(cluster.read(0), expected);
    });
}

/// A thread that updates finds what it needs.
#[test]
fn what_is_updated_contains_what_is_needed() {
    explore(3, || {
        let cluster = cluster(2);
        let theirs = Arc::clone(&cluster);
        let home = thread::spawn(move || {
            theirs.write(0, 1);
            theirs.show(&theirs.nodes[0], 1, &[(1, 1)], Admits::All);
        });
        let start = cluster.nodes[1].begin_update(&updates(&[(NodeId(1), Interval(1))]), PageId(0));
        if start == UpdateStart::Begun {
            assert_eq!(cluster.read(0), 1);
            cluster.nodes[1].end_update(NodeId(0));
        }
        home.join().unwrap();
    });
}

/// A thread that sees what an update wrote learns of all that was told before.
#[test]
fn an_update_is_a_synchronisation() {
    explore(3, || {
        let cluster = cluster(3);
        let update = |cluster: &Cluster, node: usize| {
            let window = &cluster.nodes[node];
            assert_eq!(
                window.begin_update(&updates(&[]), PageId(0)),
                UpdateStart::Begun
            );
            // As an instruction of the machine does it.
            let before = cluster.bytes[0].fetch_add(1, Ordering::AcqRel);
            window.end_update(NodeId(0));
            before
        };
        let theirs = Arc::clone(&cluster);
        let first = thread::spawn(move || {
            let tell = Tell {
                epoch: 1,
                notice: Some(notice(1, 1)),
                request: Request::Publish,
            };
            let answer = theirs.nodes[1].tell(&tell, &Underway::default());
            assert_eq!(answer, Answer::Done);
            update(&theirs, 1);
        });
        let before = update(&cluster, 2);
        assert!(before == 0 || cluster.nodes[2].has_news(1));
        first.join().unwrap();
    });
}
