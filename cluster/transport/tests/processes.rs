//! Nodes as they are in life: processes forked from one. Without a test harness,
//! because a process with other threads must not be forked.

use fathomp_transport::local::{Fabric, Limits};
use fathomp_transport::{Polling, Role, Spin, Transport};
use fathomp_types::NodeId;
use std::time::Duration;

const NODES: u16 = 3;

/// Forks a node for each number, runs `life` in it, and returns how each ended:
/// its exit code, or minus the signal.
fn run(fabric: &Fabric, life: impl Fn(&dyn Transport) -> i32) -> Vec<i32> {
    let children: Vec<libc::pid_t> = (0..fabric.nodes())
        .map(|node| {
            // SAFETY: this process has one thread, so the child is complete.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                let node = fabric.join(NodeId(node)).expect("a node of the fabric");
                let code = life(&node);
                std::process::exit(code);
            }
            assert!(pid > 0, "fork");
            fabric.announce(NodeId(node), pid.unsigned_abs());
            pid
        })
        .collect();
    let ended = |pid: libc::pid_t| {
        let mut status = 0;
        // SAFETY: `status` is writable; `pid` is our child.
        let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        assert_eq!(waited, pid);
        if libc::WIFEXITED(status) {
            libc::WEXITSTATUS(status)
        } else {
            -libc::WTERMSIG(status)
        }
    };
    children.into_iter().map(ended).collect()
}

fn fabric(ring_bytes: usize) -> Fabric {
    let limits = Limits {
        ring_bytes,
        ..Limits::for_nodes(NODES)
    };
    Fabric::new(NODES, limits, None).expect("memory for a fabric")
}

/// Each node asks the others in turn and answers them, spinning or asleep.
fn everybody_answers(ring_bytes: usize, spin: Duration) {
    const QUESTIONS: u32 = 500;
    let ended = run(&fabric(ring_bytes), |node| {
        let polling = Polling::new(node, Role::Application);
        let mut spin = Spin::new(spin, spin.is_zero());
        let mut message = Vec::new();
        let (mut answers, mut farewells) = (0, 0);
        let ask = |number: u32| {
            let peer = (u32::from(node.me().0) + 1 + number % 2) % u32::from(NODES);
            let sent = node.send(NodeId(peer as u16), &[b"?", &number.to_le_bytes()]);
            sent.expect("sent");
        };
        ask(0);
        while farewells < NODES {
            let Some(from) = node.receive(&mut message).expect("a sound message") else {
                if !spin.again() {
                    polling.sleep(None, || false);
                    spin.reset();
                }
                continue;
            };
            spin.reset();
            match message[0] {
                b'?' => {
                    let answer = [7; 4096];
                    let sent = node.send(from, &[b"!", &message[1..], &answer]);
                    sent.expect("sent");
                }
                b'!' => {
                    assert_eq!(message[1..5], u32::to_le_bytes(answers));
                    assert!(message[5..] == [7; 4096]);
                    answers += 1;
                    if answers < QUESTIONS {
                        ask(answers);
                    } else {
                        for peer in 0..NODES {
                            node.send(NodeId(peer), &[b"."]).expect("sent");
                        }
                    }
                }
                _ => farewells += 1,
            }
        }
        while node.has_backlog() {
            assert_eq!(node.receive(&mut message), Ok(None));
            polling.sleep(None, || !node.has_backlog());
        }
        node.depart();
        0
    });
    assert_eq!(ended, [0; NODES as usize]);
}

/// A node is killed while the others sleep; they notice, and agree on why.
fn a_killed_node_is_noticed() {
    let ended = run(&fabric(4096), |node| {
        if node.me() == NodeId(1) {
            // SAFETY: ends this process, as the test wants.
            unsafe { libc::raise(libc::SIGKILL) };
        }
        let polling = Polling::new(node, Role::Service);
        loop {
            if let Some(abort) = node.aborted() {
                assert_eq!((abort.node, abort.code), (NodeId(1), 5));
                assert_eq!(abort.text, "killed");
                assert!(node.send(NodeId(2), &[b"still there?"]).is_ok());
                node.depart();
                return 3;
            }
            polling.sleep(Some(Duration::from_millis(20)), || false);
            if let Some(dead) = node.dead() {
                assert_eq!(dead.node, NodeId(1));
                assert!(node.send(dead.node, &[b"?"]).is_err());
                node.abort(dead.node, 5, "killed");
            }
        }
    });
    assert_eq!(ended, [3, -libc::SIGKILL, 3]);
}

/// A node that leaves in good order is not taken for dead.
fn a_departed_node_is_not_dead() {
    let ended = run(&fabric(4096), |node| {
        node.depart();
        if node.me() != NodeId(0) {
            return 0;
        }
        for _ in 0..50 {
            assert_eq!(node.dead(), None);
            std::thread::sleep(Duration::from_millis(1));
        }
        0
    });
    assert_eq!(ended, [0; NODES as usize]);
}

fn main() {
    for ring_bytes in [64, 4096, 1 << 18] {
        for spin in [Duration::ZERO, Duration::from_micros(20)] {
            everybody_answers(ring_bytes, spin);
        }
    }
    a_killed_node_is_noticed();
    a_departed_node_is_not_dead();
    println!("nodes as processes: ok");
}
