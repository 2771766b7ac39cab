//! Nodes of several hosts, as threads that are joined by connections of this machine.
// A program of its own: the others are a model of the sources, and processes that fork.

use fathomp_sys::polling::NonblockingSocket;
use fathomp_transport::local::{Fabric, Limits};
use fathomp_transport::tcp::handover::{Host, Hosts};
use fathomp_transport::tcp::pipe::{Pipes, Side};
use fathomp_transport::tcp::{Connection, HostsTransport, Joint};
use fathomp_transport::{Abort, Death, Polling, Role, SendError, Spin, Transport};
use fathomp_types::NodeId;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TEST_TIMEOUT: Duration = Duration::from_secs(30);

fn hosts(me: u16, nodes: &[u16]) -> Hosts {
    let host = |(number, nodes): (usize, &u16)| Host {
        name: format!("h{number}"),
        nodes: *nodes,
    };
    Hosts::new(me, nodes.iter().enumerate().map(host).collect()).unwrap()
}

fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, _) = listener.accept().unwrap();
    for stream in [&one, &other] {
        stream.set_nodelay(true).unwrap();
    }
    (one, other)
}

/// What joins two hosts.
#[derive(Clone, Copy, Debug)]
enum By {
    Sockets,
    /// As to an agent, but without one between the two.
    Pipes,
}

/// All nodes of hosts with so many each.
fn cluster(nodes: &[u16]) -> Vec<HostsTransport> {
    cluster_by(By::Sockets, nodes)
}

fn cluster_by(by: By, nodes: &[u16]) -> Vec<HostsTransport> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let all = hosts(0, nodes);
    let numbers = || (0..all.nodes()).map(NodeId);
    let mut joints: Vec<Vec<Joint>> = numbers().map(|_| Vec::new()).collect();
    for one in numbers() {
        for other in numbers().filter(|other| *other > one) {
            if all.host_of(one) == all.host_of(other) {
                continue;
            }
            let (here, there) = connection(&listener);
            let (pipes, _) = Pipes::new(1, all.nodes()).unwrap();
            let sides = [Side::Program, Side::Agent];
            let ends = [(one, other, here), (other, one, there)];
            for ((mine, peer, stream), side) in ends.into_iter().zip(sides) {
                let wire = match by {
                    By::Sockets => Connection::Socket(NonblockingSocket::new(stream.into())),
                    By::Pipes => {
                        stream.set_nonblocking(true).unwrap();
                        Connection::Pipe(pipes.end(0, side, stream.into()).unwrap())
                    }
                };
                joints[usize::from(mine.0)].push(Joint::new(mine, peer, wire));
            }
        }
    }
    let fabrics: Vec<Fabric> = nodes
        .iter()
        .map(|count| Fabric::new(*count, Limits::for_nodes(*count), None).unwrap())
        .collect();
    let join = |(me, joints): (NodeId, Vec<Joint>)| {
        let host = all.host_of(me).unwrap();
        let fabric = &fabrics[usize::from(host)];
        HostsTransport::new(hosts(host, nodes), me, fabric, joints).unwrap()
    };
    numbers().zip(joints).map(join).collect()
}

/// Receives messages until `done`, looking for so long before sleeping.
fn receive_until(
    node: &HostsTransport,
    look: Duration,
    mut done: impl FnMut(NodeId, &[u8]) -> bool,
) {
    let polling = Polling::new(node, Role::Application);
    let mut spin = Spin::new(look, look.is_zero());
    let mut message = Vec::new();
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        assert!(
            Instant::now() < deadline,
            "node {} waits for ever",
            node.me()
        );
        match node.receive(&mut message).unwrap() {
            Some(from) if done(from, &message) => return,
            Some(_) => spin.reset(),
            None if spin.again() => {}
            None => {
                polling.sleep(Some(TEST_TIMEOUT), || false);
                spin = Spin::new(look, look.is_zero());
            }
        }
    }
}

/// Each node asks each other node in turn, and answers.
fn all_ask_all(by: By, nodes: &[u16], look: Duration) {
    const ROUNDS: u32 = 100;
    let cluster = cluster_by(by, nodes);
    thread::scope(|scope| {
        for node in &cluster {
            scope.spawn(move || {
                let all = node.nodes();
                let mut others = (0..all).filter(|other| *other != node.me().0).cycle();
                let questions = ROUNDS * u32::from(all - 1);
                let mut ask = |number: u32| {
                    let to = NodeId(others.next().unwrap());
                    node.send(to, &[b"?", &number.to_le_bytes()]).unwrap();
                };
                let (mut answered, mut asked) = (0_u32, 0_u32);
                ask(0);
                receive_until(node, look, |from, message| {
                    if message[0] == b'?' {
                        asked += 1;
                        node.send(from, &[b"!", &message[1..]]).unwrap();
                    } else {
                        assert_eq!(message[1..], answered.to_le_bytes());
                        answered += 1;
                        if answered < questions {
                            ask(answered);
                        }
                    }
                    (answered, asked) == (questions, questions)
                });
                node.depart();
            });
        }
    });
    for node in &cluster {
        assert_eq!(node.dead(), None);
    }
}

#[test]
fn questions_are_answered() {
    for look in [Duration::ZERO, Duration::from_micros(200)] {
        for by in [By::Sockets, By::Pipes] {
            all_ask_all(by, &[1, 1], look);
            all_ask_all(by, &[1, 1, 1, 1, 1], look);
        }
    }
}

#[test]
fn what_waits_for_room_arrives() {
    [By::Sockets, By::Pipes]
        .into_iter()
        .for_each(what_waits_for_room_arrives_by);
}

fn what_waits_for_room_arrives_by(by: By) {
    let cluster = cluster_by(by, &[1, 1]);
    const BYTES: usize = 5 << 20;
    thread::scope(|scope| {
        for node in &cluster {
            scope.spawn(move || {
                let peer = NodeId(1 - node.me().0);
                let large = vec![node.me().0 as u8; BYTES];
                for _ in 0..4 {
                    node.send(peer, &[&large]).unwrap();
                    node.send(peer, &[b"small"]).unwrap();
                }
                let mut messages = 0;
                receive_until(node, Duration::ZERO, |_, message| {
                    match messages % 2 {
                        0 => assert!(message.len() == BYTES && message[7] == peer.0 as u8),
                        _ => assert_eq!(message, b"small"),
                    }
                    messages += 1;
                    messages == 8
                });
                node.depart();
            });
        }
    });
}

#[test]
fn the_service_thread_is_woken_while_nobody_looks_and_not_before() {
    [By::Sockets, By::Pipes]
        .into_iter()
        .for_each(the_service_thread_is_woken_while_nobody_looks_and_not_before_by);
}

fn the_service_thread_is_woken_while_nobody_looks_and_not_before_by(by: By) {
    let cluster = cluster_by(by, &[1, 1]);
    let [asks, serves] = [&cluster[0], &cluster[1]];
    let (done, served) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut message = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let polling = Polling::new(serves, Role::Service);
                while let Some(from) = serves.receive(&mut message).unwrap() {
                    served.fetch_add(1, Ordering::Relaxed);
                    serves.send(from, &[&message]).unwrap();
                }
                polling.rest(Some(TEST_TIMEOUT), || false);
            }
        });
        for number in 0..200_u32 {
            asks.send(NodeId(1), &[&number.to_le_bytes()]).unwrap();
            receive_until(asks, Duration::ZERO, |_, message| {
                assert_eq!(message, number.to_le_bytes());
                true
            });
        }
        assert_eq!(served.load(Ordering::Relaxed), 200);
        // A thread of the program that looks, and goes with something left, leaves it to the
        // service thread.
        for _ in 0..200 {
            let polling = Polling::new(serves, Role::Application);
            asks.send(NodeId(1), &[b"left"]).unwrap();
            asks.send(NodeId(1), &[b"left"]).unwrap();
            let mut message = Vec::new();
            let deadline = Instant::now() + TEST_TIMEOUT;
            while serves.receive(&mut message).unwrap().is_none() {
                // Or the service thread, which was awake, has taken both.
                if served.load(Ordering::Relaxed) >= 202 || Instant::now() > deadline {
                    break;
                }
            }
            drop(polling);
            let taken_here = u32::from(!message.is_empty());
            let mut answers = 0;
            receive_until(asks, Duration::ZERO, |_, _| {
                answers += 1;
                answers + taken_here == 2
            });
            served.store(200, Ordering::Relaxed);
        }
        done.store(true, Ordering::Relaxed);
        asks.send(NodeId(1), &[b"end"]).unwrap();
    });
}

#[test]
fn threads_of_a_node_wake_each_other() {
    [By::Sockets, By::Pipes]
        .into_iter()
        .for_each(threads_of_a_node_wake_each_other_by);
}

fn threads_of_a_node_wake_each_other_by(by: By) {
    let cluster = cluster_by(by, &[1, 1]);
    let [asks, serves] = [&cluster[0], &cluster[1]];
    const THREADS: usize = 3;
    const ROUNDS: u32 = 200;
    let answers: [AtomicU32; THREADS] = std::array::from_fn(|_| AtomicU32::new(0));
    let inbox = std::sync::Mutex::new(Vec::new());
    thread::scope(|scope| {
        let echo = || {
            let mut count = 0;
            receive_until(serves, Duration::ZERO, |from, message| {
                serves.send(from, &[message]).unwrap();
                count += 1;
                count == THREADS as u32 * ROUNDS
            });
        };
        scope.spawn(echo);
        // Whoever sleeps beside the thread that looks at the connections relies on it.
        scope.spawn(|| {
            let sum = || {
                answers
                    .iter()
                    .map(|one| one.load(Ordering::SeqCst))
                    .sum::<u32>()
            };
            while sum() < THREADS as u32 * ROUNDS {
                let polling = Polling::new(asks, Role::Service);
                let mut message = inbox.lock().unwrap();
                while asks.receive(&mut message).unwrap().is_some() {
                    answers[usize::from(message[0])].fetch_add(1, Ordering::SeqCst);
                    asks.rouse();
                }
                drop(message);
                polling.rest(Some(Duration::from_millis(100)), || {
                    inbox.try_lock().is_err()
                });
            }
        });
        for thread in 0..THREADS {
            let (answers, inbox) = (&answers, &inbox);
            scope.spawn(move || {
                for number in 1..=ROUNDS {
                    asks.send(NodeId(1), &[&[thread as u8]]).unwrap();
                    let polling = Polling::new(asks, Role::Application);
                    let is_done = || answers[thread].load(Ordering::SeqCst) >= number;
                    let deadline = Instant::now() + TEST_TIMEOUT;
                    while !is_done() {
                        assert!(Instant::now() < deadline, "thread {thread} waits for ever");
                        let mut message = inbox.lock().unwrap();
                        if asks.receive(&mut message).unwrap().is_some() {
                            answers[usize::from(message[0])].fetch_add(1, Ordering::SeqCst);
                            drop(message);
                            asks.rouse();
                            continue;
                        }
                        drop(message);
                        polling.sleep(Some(TEST_TIMEOUT), is_done);
                    }
                }
            });
        }
    });
}

#[test]
fn hosts_with_several_nodes_hear_neighbours_and_others() {
    [By::Sockets, By::Pipes]
        .into_iter()
        .for_each(hosts_with_several_nodes_hear_neighbours_and_others_by);
}

fn hosts_with_several_nodes_hear_neighbours_and_others_by(by: By) {
    let cluster: &'static [HostsTransport] = cluster_by(by, &[2, 1, 2]).leak();
    for node in cluster.iter().filter(|node| node.has_neighbours()) {
        thread::spawn(|| node.forward_bell());
    }
    thread::scope(|scope| {
        for node in cluster {
            scope.spawn(|| {
                // Around in a ring, again and again: each waits for the one before.
                let next = NodeId((node.me().0 + 1) % node.nodes());
                if node.me() == NodeId(0) {
                    node.send(next, &[&0_u32.to_le_bytes()]).unwrap();
                }
                let last = 200 * u32::from(node.nodes());
                receive_until(node, Duration::ZERO, |_, message| {
                    let number = u32::from_le_bytes(message.try_into().unwrap());
                    if number < last + u32::from(node.nodes()) {
                        node.send(next, &[&(number + 1).to_le_bytes()]).unwrap();
                    }
                    number >= last
                });
            });
        }
    });
}

#[test]
fn a_node_that_is_gone_is_noticed_and_one_that_departed_is_not_dead() {
    let mut cluster = cluster(&[1, 1, 1]);
    let gone = cluster.remove(1);
    drop(gone);
    let (first, last) = (&cluster[0], &cluster[1]);
    let mut message = Vec::new();
    let deadline = Instant::now() + TEST_TIMEOUT;
    let death = loop {
        assert_eq!(first.receive(&mut message).unwrap(), None);
        if let Some(death) = first.dead() {
            break death;
        }
        assert!(Instant::now() < deadline);
    };
    let why = Some("the connection was closed".to_owned());
    assert_eq!(
        death,
        Death {
            node: NodeId(1),
            why
        }
    );
    assert_eq!(
        first.send(NodeId(1), &[b"?"]),
        Err(SendError::Lost(NodeId(1)))
    );
    let abort = first.abort(NodeId(1), 7, "gone");
    assert_eq!(
        (abort.by, abort.node, abort.code),
        (NodeId(0), NodeId(1), 7)
    );
    while last.aborted().is_none() {
        assert_eq!(last.receive(&mut message).unwrap(), None);
        assert!(Instant::now() < deadline);
    }
    assert_eq!(last.aborted(), Some(abort.clone()));
    // Whoever comes later agrees.
    let other = Abort {
        by: NodeId(2),
        ..abort.clone()
    };
    assert_ne!(last.abort(NodeId(1), 7, "gone"), other);
    thread::scope(|scope| {
        scope.spawn(|| first.depart());
        last.depart();
    });
    assert_eq!(last.receive(&mut message).unwrap(), None);
    assert_eq!(last.dead().map(|death| death.node), Some(NodeId(1)));
}

#[test]
fn what_a_departed_node_is_told_is_no_failure() {
    let cluster = cluster(&[1, 1, 1]);
    let [first, second, last] = &cluster[..] else {
        panic!("three nodes");
    };
    thread::scope(|scope| {
        scope.spawn(|| last.depart());
        // The others hear of it one after the other: one of them still works.
        scope.spawn(|| second.depart());
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut message = Vec::new();
        while Instant::now() < deadline {
            for to in [NodeId(1), NodeId(2)] {
                assert!(first.send(to, &[b"still here"]).is_ok());
                assert!(first.send_in_step(to, &[b"still here"], true).is_ok());
            }
            first.end_step();
            assert_eq!(first.receive(&mut message).unwrap(), None);
            assert_eq!(first.dead(), None);
        }
        first.depart();
    });
}

/// A node that others are slow to hear from ends after a while. Then the kernel says first that it
/// takes nothing more, though what it has sent is there: its messages, and that it has departed.
#[test]
fn a_node_that_has_departed_and_ended_is_not_dead_for_one_that_comes_late() {
    for in_step in [false, true] {
        let mut cluster = cluster(&[1, 1]);
        let gone = cluster.remove(1);
        let late = &cluster[0];
        for number in 0..3_u8 {
            gone.send(NodeId(0), &[&[number]]).unwrap();
        }
        late.send(NodeId(1), &[b"never read"]).unwrap();
        thread::scope(|scope| drop(scope.spawn(move || gone.depart())));
        for _ in 0..10 {
            let told = match in_step {
                true => late.send_in_step(NodeId(1), &[b"still here"], true),
                false => late.send(NodeId(1), &[b"still here"]),
            };
            assert!(told.is_ok(), "{told:?}");
            late.end_step();
            assert_eq!(late.dead(), None);
            // The other side's system answers that nobody is there.
            thread::sleep(Duration::from_millis(10));
        }
        let mut message = Vec::new();
        for number in 0..3_u8 {
            assert_eq!(late.receive(&mut message), Ok(Some(NodeId(1))));
            assert_eq!(message, [number]);
        }
        assert_eq!(late.receive(&mut message), Ok(None));
        assert_eq!(late.dead(), None);
        late.depart();
    }
}

/// One that has not departed is dead all the same, also for one that only sends and looks.
#[test]
fn a_node_that_takes_nothing_more_is_dead_once_all_it_sent_is_taken() {
    let mut cluster = cluster(&[1, 1]);
    let gone = cluster.remove(1);
    let late = &cluster[0];
    gone.send(NodeId(0), &[b"last words"]).unwrap();
    late.send(NodeId(1), &[b"never read"]).unwrap();
    drop(gone);
    let deadline = Instant::now() + TEST_TIMEOUT;
    let mut message = Vec::new();
    let mut heard = false;
    while late.dead().is_none() {
        let _ = late.send(NodeId(1), &[b"still here"]);
        heard |= late.receive(&mut message).unwrap().is_some();
        assert!(Instant::now() < deadline);
    }
    assert!(heard);
    assert_eq!(
        late.send(NodeId(1), &[b"?"]),
        Err(SendError::Lost(NodeId(1)))
    );
}

/// What is said of node 1 when that is all it sends.
fn found_wrong(sent: &[u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut liar, stream) = connection(&listener);
    let joint = Joint::new(
        NodeId(0),
        NodeId(1),
        Connection::Socket(NonblockingSocket::new(stream.into())),
    );
    let fabric = Fabric::new(1, Limits::for_nodes(1), None).unwrap();
    let node = HostsTransport::new(hosts(0, &[1, 1]), NodeId(0), &fabric, vec![joint]).unwrap();
    liar.write_all(sent).unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    let error = loop {
        match node.receive(&mut Vec::new()) {
            Ok(received) => assert_eq!(received, None),
            Err(error) => break error,
        }
        assert!(Instant::now() < deadline);
    };
    assert_eq!(node.receive(&mut Vec::new()), Ok(None));
    assert_eq!(node.aborted(), None);
    error.to_string()
}

#[test]
fn garbage_is_named() {
    const REPORT: u8 = 2;
    const DEPARTURE: u8 = 3;
    let frame = |kind: u8, content: &[u8]| {
        let length = (content.len() as u32).to_le_bytes();
        [&length, &[kind, 0, 0x70, 0xfa], content].concat()
    };
    let [no_node, cut, longer] = [
        frame(REPORT, b"\x02\0\0\0\0\0text"),
        frame(REPORT, b"\x01\0"),
        frame(DEPARTURE, b"more"),
    ];
    for (sent, what) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "bytes that are no frame"),
        (&no_node, "a report of a node that there is none of"),
        (&cut, "a report of a node that there is none of"),
        (&longer, "a farewell with something in it"),
    ] {
        assert_eq!(found_wrong(sent), format!("node 1 sent garbage: {what}"));
    }
    let fabric = Fabric::new(1, Limits::for_nodes(1), None).unwrap();
    assert!(HostsTransport::new(hosts(0, &[1, 1]), NodeId(0), &fabric, vec![]).is_err());
}
