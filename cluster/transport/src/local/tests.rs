use super::frame::Header;
use super::{Fabric, Limits, LocalTransport};
use crate::Net;
use crate::{Abort, Polling, Role, SendError, Transport};
use fathomp_sys::clock::monotonic_ns;
use fathomp_types::NodeId;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn limits(ring_bytes: usize) -> Limits {
    Limits {
        ring_bytes,
        message_bytes_max: 10_000,
        ..Limits::for_nodes(2)
    }
}

fn join(fabric: &Fabric) -> Vec<LocalTransport> {
    (0..fabric.nodes())
        .map(|node| fabric.join(NodeId(node)).unwrap())
        .collect()
}

fn pair(ring_bytes: usize) -> (Fabric, LocalTransport, LocalTransport) {
    let fabric = Fabric::new(2, limits(ring_bytes), None).unwrap();
    let mut nodes = join(&fabric).into_iter();
    let (first, second) = (nodes.next().unwrap(), nodes.next().unwrap());
    (fabric, first, second)
}

/// A message that tells its number and length apart from all others.
fn message(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + number * 7) as u8).collect()
}

proptest! {
    #[test]
    fn messages_arrive_complete_and_in_order(
        ring_bits in 6..13_u32,
        steps in prop::collection::vec(prop::option::of((0..3000_usize, 0..3000_usize)), 1..60),
    ) {
        let (_fabric, first, second) = pair(1 << ring_bits);
        let mut sent = VecDeque::new();
        let mut received = vec![1, 2, 3];
        for (number, step) in steps.into_iter().enumerate() {
            if let Some((length, cut)) = step {
                let whole = message(number, length);
                let (front, back) = whole.split_at(cut.min(length));
                first.send(NodeId(1), &[front, &[], back]).unwrap();
                sent.push_back(whole);
            } else if second.receive(&mut received).unwrap() == Some(NodeId(0)) {
                prop_assert_eq!(Some(received.clone()), sent.pop_front());
            }
        }
        while let Some(expected) = sent.pop_front() {
            // A queue empties as the sender is active.
            while second.receive(&mut received).unwrap().is_none() {
                prop_assert_eq!(first.receive(&mut received).unwrap(), None);
            }
            prop_assert_eq!(&received, &expected);
        }
        prop_assert_eq!(second.receive(&mut received).unwrap(), None);
    }

    /// Whatever a peer writes where its messages should be, we stay whole.
    #[test]
    fn garbage_does_no_harm(
        bytes in prop::collection::vec(any::<u8>(), 64),
        head: u64,
        length: u32,
        plausible: bool,
    ) {
        let (fabric, _first, second) = pair(64);
        let ring = fabric.ring(NodeId(0), NodeId(1));
        ring.write(0, &bytes);
        if plausible {
            let header = Header { length: length % 20_000, sequence: 0, due_ns: 0 };
            ring.write(0, &header.encode());
        }
        ring.publish(if plausible { head % 64 } else { head });
        let mut received = Vec::new();
        for _ in 0..10 {
            match second.receive(&mut received) {
                Ok(Some(from)) => prop_assert_eq!(from, NodeId(0)),
                Ok(None) => {}
                Err(error) => prop_assert_eq!(error.from, NodeId(0)),
            }
        }
        prop_assert!(received.len() <= 10_000);
    }
}

#[test]
fn a_lying_peer_is_named() {
    let header = Header {
        length: 4,
        sequence: 0,
        due_ns: 0,
    };
    let cases = [
        (
            Header {
                length: 10_001,
                ..header
            },
            32,
            "longer than allowed",
        ),
        (
            Header {
                sequence: 1,
                ..header
            },
            32,
            "out of order",
        ),
        (header, 8, "cut in its header"),
        (header, 128, "more than its size"),
    ];
    for (header, head, what) in cases {
        let (fabric, _first, second) = pair(64);
        let ring = fabric.ring(NodeId(0), NodeId(1));
        ring.write(0, &header.encode());
        ring.publish(head);
        for _ in 0..2 {
            let error = second.receive(&mut Vec::new()).unwrap_err();
            assert_eq!(error.from, NodeId(0));
            assert!(error.what.contains(what), "{error}");
        }
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let small = Limits {
        backlog_bytes_max: 1000,
        ..limits(64)
    };
    let fabric = Fabric::new(2, small, None).unwrap();
    let first = fabric.join(NodeId(0)).unwrap();
    let send = |to, length| first.send(NodeId(to), &[&message(0, length)]);
    assert_eq!(send(2, 1), Err(SendError::Unknown(NodeId(2))));
    assert!(matches!(
        send(1, 10_001),
        Err(SendError::TooLong { bytes: 10_001, .. })
    ));
    assert!(send(1, 10_000).is_ok());
    assert!(matches!(
        send(1, 0),
        Err(SendError::Stalled {
            node: NodeId(1),
            ..
        })
    ));
}

#[test]
fn fabrics_that_make_no_sense_are_refused() {
    assert!(Fabric::new(0, limits(64), None).is_err());
    assert!(Fabric::new(1, limits(32), None).is_err());
    assert!(Fabric::new(1, limits(100), None).is_err());
    assert!(Fabric::new(2, limits(1 << 62), None).is_err());
    let fabric = Fabric::new(2, limits(64), None).unwrap();
    assert!(fabric.join(NodeId(2)).is_err());
}

/// Receives until `done`, asleep in between.
fn receive_until(node: &LocalTransport, role: Role, mut done: impl FnMut(NodeId, &[u8]) -> bool) {
    let polling = Polling::new(node, role);
    let mut received = Vec::new();
    loop {
        match node.receive(&mut received).unwrap() {
            Some(from) if done(from, &received) => return,
            Some(_) => {}
            None => polling.sleep(None, || false),
        }
    }
}

/// All nodes send to all through rings much too small, and only then receive.
#[test]
fn full_rings_in_all_directions_do_not_block() {
    const COUNT: usize = 300;
    let fabric = Fabric::new(3, limits(256), None).unwrap();
    std::thread::scope(|scope| {
        for node in join(&fabric) {
            scope.spawn(move || {
                for number in 0..COUNT {
                    for to in 0..3 {
                        let body = message(number, number * 37 % 2000);
                        node.send(NodeId(to), &[&body]).unwrap();
                    }
                }
                let mut next = [0; 3];
                receive_until(&node, Role::Service, |from, body| {
                    let number = &mut next[usize::from(from.0)];
                    assert_eq!(body, message(*number, *number * 37 % 2000));
                    *number += 1;
                    next == [COUNT; 3]
                });
                // Others may still wait for what is queued here.
                let polling = Polling::new(&node, Role::Service);
                while node.has_backlog() {
                    let _ = node.receive(&mut Vec::new()).unwrap();
                    polling.sleep(None, || !node.has_backlog());
                }
            });
        }
    });
}

#[test]
fn who_rests_is_woken_by_whoever_leaves_a_message() {
    let (_fabric, first, second) = pair(256);
    let [rests, leaves] = [const { AtomicBool::new(false) }; 2];
    let serving = Polling::new(&second, Role::Application);
    first.send(NodeId(1), &[b"late"]).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let polling = Polling::new(&second, Role::Service);
            polling.rest(None, || {
                rests.store(true, Ordering::Release);
                true
            });
            assert!(leaves.load(Ordering::Acquire), "nobody had left it");
            let mut received = Vec::new();
            assert_eq!(second.receive(&mut received).unwrap(), Some(NodeId(0)));
            // And if nobody serves it, a message keeps from resting.
            first.send(NodeId(1), &[b"later"]).unwrap();
            polling.rest(None, || false);
        });
        while !rests.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        leaves.store(true, Ordering::Release);
        drop(serving);
    });
}

#[test]
fn a_message_waits_for_its_emulated_network() {
    let latency = Duration::from_millis(3);
    let net = Net::new(3000.0, 1.0).unwrap();
    // The second message is longer than the ring, so it is collected.
    let fabric = Fabric::new(2, limits(256), Some(net)).unwrap();
    let nodes = join(&fabric);
    let sent_ns = monotonic_ns();
    for length in [100, 1000] {
        nodes[0].send(NodeId(1), &[&message(0, length)]).unwrap();
    }
    std::thread::scope(|scope| {
        let flusher = &nodes[0];
        scope.spawn(move || {
            let polling = Polling::new(flusher, Role::Service);
            while flusher.has_backlog() {
                let _ = flusher.receive(&mut Vec::new()).unwrap();
                polling.sleep(None, || !flusher.has_backlog());
            }
        });
        let mut bytes = 0;
        receive_until(&nodes[1], Role::Application, |_, body| {
            bytes += body.len();
            let took = Duration::from_nanos(monotonic_ns() - sent_ns);
            assert!(took >= latency + Duration::from_micros(bytes as u64));
            bytes == 1100
        });
    });
}

#[test]
fn an_abort_wakes_everybody_and_is_told_once() {
    let fabric = Fabric::new(2, limits(64), None).unwrap();
    let nodes = join(&fabric);
    let expected = Abort {
        by: NodeId(0),
        node: NodeId(1),
        code: 3,
        text: "it went wrong".to_owned(),
    };
    std::thread::scope(|scope| {
        for role in [Role::Service, Role::Application] {
            let (node, expected) = (&nodes[1], &expected);
            scope.spawn(move || {
                let polling = Polling::new(node, role);
                while node.aborted().is_none() {
                    polling.sleep(None, || false);
                }
                assert_eq!(node.aborted().as_ref(), Some(expected));
            });
        }
        assert_eq!(nodes[0].abort(NodeId(1), 3, "it went wrong"), expected);
    });
    assert_eq!(nodes[1].abort(NodeId(0), 4, "later"), expected);
}
