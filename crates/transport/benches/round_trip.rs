//! A question of 8 bytes and an answer of 4 KiB between two processes:
//! `cargo bench -p fathomp-transport`.
//!
//! With a processor each and on one processor, looking for messages in several
//! ways. Prints microseconds per round trip: the median, and the best and worst
//! of several rounds.

use fathomp_base::NodeId;
use fathomp_transport::local::{Fabric, Limits};
use fathomp_transport::{Polling, Role, Spin, Transport, Wake};
use std::time::{Duration, Instant};

const ROUNDS: usize = 15;
const PAGE: [u8; 4096] = [7; 4096];

/// How a node waits for a message.
#[derive(Clone, Copy)]
enum Waiting {
    Spin,
    SpinThenSleep(Duration),
    YieldThenSleep,
    Sleep,
}

impl Waiting {
    const ALL: [(&str, Self); 4] = [
        ("spin", Self::Spin),
        (
            "spin 20 us, then sleep",
            Self::SpinThenSleep(Duration::from_micros(20)),
        ),
        ("offer processor, then sleep", Self::YieldThenSleep),
        ("sleep", Self::Sleep),
    ];

    /// The next message.
    fn receive(
        self,
        node: &dyn Transport,
        polling: &Polling<'_, dyn Transport + '_>,
        message: &mut Vec<u8>,
    ) -> NodeId {
        let mut spin = match self {
            Self::SpinThenSleep(limit) => Spin::new(limit, false),
            _ => Spin::new(Duration::ZERO, true),
        };
        loop {
            if let Some(from) = node.receive(message).expect("a sound message") {
                return from;
            }
            let again = match self {
                Self::Spin => true,
                Self::Sleep => false,
                Self::SpinThenSleep(_) | Self::YieldThenSleep => spin.again(),
            };
            if !again {
                polling.sleep(Role::Application, None, || false);
                spin.reset();
            }
        }
    }
}

fn main() {
    println!(
        "{:44} {:>8} {:>8} {:>8}   woken",
        "round trip, us", "median", "best", "worst"
    );
    for (place, processors) in [("2 processors", [0, 1]), ("1 processor", [0, 0])] {
        for (name, waiting) in Waiting::ALL {
            let one_spins = processors == [0, 0] && matches!(waiting, Waiting::Spin);
            let trips = if one_spins { 20 } else { 5_000 };
            measure(&format!("{place}, {name}"), processors, waiting, trips);
        }
    }
}

fn measure(name: &str, processors: [usize; 2], waiting: Waiting, trips: u32) {
    let fabric = Fabric::new(2, Limits::for_nodes(2), None).expect("a fabric");
    // SAFETY: this process has one thread, so the child is complete.
    let child = unsafe { libc::fork() };
    if child == 0 {
        pin(processors[1]);
        let node = fabric.join(NodeId(1)).expect("node 1");
        answer(&node, waiting);
        std::process::exit(0);
    }
    pin(processors[0]);
    let node = fabric.join(NodeId(0)).expect("node 0");
    let polling = Polling::<dyn Transport>::new(&node);
    let mut message = Vec::new();
    let mut woken = 0;
    let mut times: Vec<f64> = (0..=ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            for trip in 0..u64::from(trips) {
                let wake = node.send(NodeId(1), &[&trip.to_le_bytes()]).expect("sent");
                woken += u64::from(wake == Wake::Woken);
                waiting.receive(&node, &polling, &mut message);
                assert_eq!(message.len(), PAGE.len());
            }
            begin.elapsed().as_secs_f64() * 1e6 / f64::from(trips)
        })
        .skip(1)
        .collect();
    node.send(NodeId(1), &[b"end"]).expect("sent");
    // SAFETY: a null status is allowed; the child is ours.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    times.sort_by(f64::total_cmp);
    let share = woken as f64 / f64::from(trips) / (ROUNDS + 1) as f64;
    println!(
        "{name:44} {:8.2} {:8.2} {:8.2}   {:.0} %",
        times[ROUNDS / 2],
        times[0],
        times[ROUNDS - 1],
        100.0 * share
    );
}

fn answer(node: &dyn Transport, waiting: Waiting) {
    let polling = Polling::new(node);
    let mut message = Vec::new();
    loop {
        let from = waiting.receive(node, &polling, &mut message);
        if message.len() != 8 {
            return;
        }
        node.send(from, &[&PAGE]).expect("sent");
    }
}

fn pin(processor: usize) {
    // SAFETY: all zeros is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a valid set; the number is small.
    unsafe { libc::CPU_SET(processor, &mut set) };
    // SAFETY: `set` is readable for its size; 0 is the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
}
