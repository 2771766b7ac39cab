//! Locks: those that are free, kept, waited for.

use super::*;
use crate::locks::Attempt;
use crate::tell::Answer;
use fathomp_protocols::message::Request;
use fathomp_protocols::{Carried, Holder, LockId, Tell, Underway};
use fathomp_types::ThreadId;

const LOCK: LockId = LockId(8);

fn take(cluster: &Cluster, node: usize, passed: u32) -> Attempt {
    let locks = cluster.nodes[node].memory.locks();
    locks.take(LOCK, NodeId(node as u16), true, passed)
}

fn give(cluster: &Cluster, node: usize) -> bool {
    let locks = cluster.nodes[node].memory.locks();
    locks.give(LOCK, NodeId(node as u16))
}

/// Those that take a lock come after those that have had it.
#[test]
fn one_node_at_a_time_has_a_lock() {
    explore(3, || {
        let cluster = Cluster::new(2, sizes());
        let take_all = |cluster: &Cluster, node| {
            let mut taken = 0;
            for _ in 0..ROUNDS + 1 {
                if take(cluster, node, 0) == Attempt::Taken {
                    cluster.add_alone(0, 1);
                    taken += 1;
                    assert!(give(cluster, node), "nobody waits");
                }
            }
            taken
        };
        let theirs = Arc::clone(&cluster);
        let other = thread::spawn(move || take_all(&theirs, 1));
        let taken = take_all(&cluster, 0) + other.join().unwrap();
        assert_eq!(cluster.read(0), taken);
    });
}

/// The sequencer takes a lock over that somebody has: it gets it at once, or hears when it is
/// given back.
#[test]
fn the_sequencer_hears_of_a_lock_that_it_waits_for() {
    explore(3, || {
        let cluster = Cluster::new(2, sizes());
        let theirs = Arc::clone(&cluster);
        let holder = thread::spawn(move || {
            let mut told = false;
            for _ in 0..ROUNDS {
                if take(&theirs, 1, 0) != Attempt::Taken {
                    break;
                }
                theirs.add_alone(0, 1);
                told = !give(&theirs, 1);
            }
            told
        });
        let held = cluster.nodes[0].claim(LOCK);
        if held.is_none() {
            // Node 0 has asked for it.
            cluster.add_alone(0, 10);
        }
        let told = holder.join().unwrap();
        assert_eq!(told, held.is_some());
        assert!(held.is_none_or(|holder| holder.node == NodeId(1) && !holder.keeps));
        if held.is_some() {
            cluster.add_alone(0, 10);
            // What was claimed with a holder is still its node's until it is given back.
            assert_eq!(take(&cluster, 0, 0), Attempt::Held);
        } else {
            assert_eq!(take(&cluster, 0, 0), Attempt::Sequenced);
        }
        cluster.nodes[0].unclaim(LOCK);
        assert_eq!(take(&cluster, 0, 0), Attempt::Taken);
        assert!((10..=10 + u64::from(ROUNDS)).contains(&cluster.read(0)));
    });
}

/// A lock that is kept: its node takes it again, or another one after a barrier, or the
/// sequencer recalls it; one of them.
#[test]
fn a_kept_lock_goes_to_one() {
    explore(3, || {
        let cluster = Cluster::new(3, sizes());
        assert_eq!(take(&cluster, 1, 0), Attempt::Taken);
        assert!(cluster.nodes[1].keep(LOCK));
        let [keeps, wants] = [1, 2].map(|node| {
            let theirs = Arc::clone(&cluster);
            thread::spawn(move || {
                let taken = match node {
                    1 => theirs.nodes[1].take_kept(LOCK),
                    _ => take(&theirs, 2, 1) == Attempt::Taken,
                };
                if taken {
                    theirs.add_alone(0, 1);
                }
                // It is given back, if nobody waits.
                (taken, taken && give(&theirs, node))
            })
        });
        let claimed = cluster.nodes[0].claim(LOCK);
        let [keeps, wants] = [keeps, wants].map(|thread| thread.join().unwrap());
        let taken = u64::from(keeps.0) + u64::from(wants.0);
        let holds = [keeps, wants].map(|(taken, given)| taken && !given);
        match claimed {
            // Kept: nobody can take it any more, and its node has to give it back.
            Some(Holder { keeps: true, node }) => assert_eq!((node, taken), (NodeId(1), 0)),
            // Taken: whoever has it tells the sequencer.
            Some(Holder { node, .. }) => {
                assert_eq!(holds, [node == NodeId(1), node == NodeId(2)]);
            }
            None => assert_eq!((holds, taken > 0), ([false; 2], true)),
        }
        assert_eq!(cluster.read(0), taken);
    });
}

/// A place in the table is one lock's.
#[test]
fn locks_that_meet_do_not_share_a_place() {
    explore(3, || {
        let cluster = Cluster::new(2, sizes());
        let theirs = Arc::clone(&cluster);
        let take = |cluster: &Cluster, node: u16| {
            let locks = cluster.nodes[0].memory.locks();
            locks.take(LockId(8 * u64::from(node)), NodeId(node), true, 0)
        };
        let other = thread::spawn(move || take(&theirs, 1));
        let both = [take(&cluster, 0), other.join().unwrap()];
        let taken = both.iter().filter(|attempt| **attempt == Attempt::Taken);
        assert_eq!(taken.count(), 1);
        assert!(both.contains(&Attempt::Sequenced));
    });
}

/// A thread that takes a lock learns of what was told before it was given back.
#[test]
fn a_lock_comes_with_what_was_told() {
    explore(3, || {
        let cluster = Cluster::new(2, sizes());
        assert_eq!(take(&cluster, 1, 0), Attempt::Taken);
        let tell = |cluster: &Cluster, node: u16, request| {
            let tell = Tell {
                epoch: 1,
                notice: Some(notice(node, 1)),
                request,
            };
            cluster.nodes[usize::from(node)].tell(&tell, &Underway::default())
        };
        let theirs = Arc::clone(&cluster);
        let gives = thread::spawn(move || {
            theirs.add_alone(0, 1);
            tell(&theirs, 1, Request::Release(LOCK))
        });
        let thread = ThreadId(7);
        match tell(&cluster, 0, Request::Acquire(LOCK, thread)) {
            Answer::Learned(learned, notices) => {
                assert_eq!((learned, notices), (thread, vec![notice(1, 1)]));
                assert_eq!(cluster.read(0), 1);
            }
            // The sequencer has to be asked, and has been told.
            answer => {
                assert_eq!(answer, Answer::Send);
                assert!(cluster.nodes[0].logged(1).unwrap().contains(&notice(0, 1)));
            }
        }
        assert_eq!(gives.join().unwrap(), Answer::Done);
    });
}

/// What went by message comes before what is entered in the log.
#[test]
fn what_is_under_way_is_not_overtaken() {
    explore(3, || {
        let cluster = Cluster::new(2, sizes());
        let theirs = Arc::clone(&cluster);
        let sequencer = thread::spawn(move || {
            // The message comes.
            theirs.nodes[0].log(1, &notice(1, 1));
            theirs.sequence(&[(1, 1)]);
        });
        let mut underway = Underway::default();
        underway.sends(NodeId(0), Carried::Notice(Interval(1)));
        let tell = Tell {
            epoch: 1,
            notice: Some(notice(1, 2)),
            request: Request::Publish,
        };
        let done = cluster.nodes[1].tell(&tell, &underway) == Answer::Done;
        assert!(!done || cluster.nodes[1].is_told(&underway));
        sequencer.join().unwrap();
        let logged = cluster.nodes[0].logged(1).unwrap();
        let both = [notice(1, 1), notice(1, 2)];
        assert_eq!(logged, both[..1 + usize::from(done)]);
    });
}
