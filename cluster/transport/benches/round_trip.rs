//! A question of 8 bytes and an answer of 4 KiB between two processes:
//! `cargo bench -p fathomp-transport`.
//!
//! With a processor each and on one processor, looking for messages in several
//! ways, and once by hand, which is what the machine itself takes. Prints
//! microseconds per round trip: the median, and the best and worst of several
//! rounds. Then, of emulated networks, what was asked for and what two nodes see.

use fathomp_sys::shared_memory::{Sections, SharedMemory, append, copy_in};
use fathomp_transport::Net;
use fathomp_transport::local::{Fabric, Limits, observe};
use fathomp_transport::{Polling, Role, Spin, Transport};
use fathomp_types::NodeId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 15;
const PAGE: [u8; 4096] = [7; 4096];
/// Latencies and bandwidths to emulate; the first three are published ones.
const NETWORKS: [&str; 6] = [
    "62.5,103.4",
    "60,98",
    "3,1221",
    "500,10",
    "20,1000",
    "0,100",
];

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
                polling.sleep(None, || false);
                spin.reset();
            }
        }
    }
}

fn main() {
    println!(
        "{:44} {:>8} {:>8} {:>8}",
        "round trip, us", "median", "best", "worst"
    );
    by_hand();
    for (place, processors) in [("2 processors", [0, 1]), ("1 processor", [0, 0])] {
        for (name, waiting) in Waiting::ALL {
            let one_spins = processors == [0, 0] && matches!(waiting, Waiting::Spin);
            let trips = if one_spins { 20 } else { 5_000 };
            through_transport(&format!("{place}, {name}"), processors, waiting, trips);
        }
    }
    unpin();
    println!(
        "\n{:16} {:>8} {:>26} {:>8} {:>26}",
        "network", "asked", "latency seen, us", "asked", "bandwidth seen, MB/s"
    );
    emulated("none", None);
    for asked in NETWORKS {
        let net = asked.parse::<fathomp_launch::Network>();
        emulated(asked, net.ok().map(Net::from));
    }
}

/// What two nodes see of a network: medians, and half of all between the others.
fn emulated(name: &str, net: Option<Net>) {
    let mut seen = observe(net).expect("two nodes");
    seen.small_us.sort_by(f64::total_cmp);
    let latency_us = [2, 1, 3].map(|quarter| seen.small_us[seen.small_us.len() * quarter / 4]);
    seen.large_us.sort_by(f64::total_cmp);
    let mb_per_s = [2, 3, 1].map(|quarter| {
        let large_us = seen.large_us[seen.large_us.len() * quarter / 4];
        seen.large_bytes as f64 / (large_us - latency_us[0])
    });
    let shown = |[median, low, high]: [f64; 3]| format!("{median:.1} ({low:.1} to {high:.1})");
    println!(
        "{name:16} {:>8} {:>26} {:>8} {:>26}",
        net.map_or("-".to_owned(), |net| net.latency_us().to_string()),
        shown(latency_us),
        net.map_or("-".to_owned(), |net| net.mb_per_s().to_string()),
        shown(mb_per_s),
    );
}

/// What the machine itself takes: two words that the other side spins on, and
/// a copy of the page in and out.
fn by_hand() {
    const APART: usize = 16;
    let sections = Sections {
        halves: 0,
        words: 2 * APART,
        bytes: PAGE.len(),
    };
    let memory = SharedMemory::new(sections).expect("memory");
    let (question, answer) = (&memory.words()[0], &memory.words()[APART]);
    let await_value = |word: &AtomicU64, value| {
        while word.load(Ordering::Acquire) != value {}
    };
    let trips = 5_000;
    let end = u64::MAX;
    let child = fork(|| {
        pin(1);
        for trip in 1.. {
            while ![trip, end].contains(&question.load(Ordering::Acquire)) {}
            if question.load(Ordering::Acquire) == end {
                return;
            }
            copy_in(memory.bytes(), &PAGE);
            answer.store(trip, Ordering::Release);
        }
    });
    pin(0);
    let (mut trip, mut page) = (0, Vec::new());
    measure("2 processors, by hand: spin and copy", trips, || {
        trip += 1;
        question.store(trip, Ordering::Release);
        await_value(answer, trip);
        page.clear();
        append(memory.bytes(), &mut page);
    });
    question.store(end, Ordering::Release);
    reap(child);
}

fn through_transport(name: &str, processors: [usize; 2], waiting: Waiting, trips: u32) {
    let fabric = Fabric::new(2, Limits::for_nodes(2), None).expect("a fabric");
    let child = fork(|| {
        pin(processors[1]);
        let node = fabric.join(NodeId(1)).expect("node 1");
        answer(&node, waiting);
    });
    pin(processors[0]);
    let node = fabric.join(NodeId(0)).expect("node 0");
    let polling = Polling::<dyn Transport>::new(&node, Role::Application);
    let (mut trip, mut message) = (0_u64, Vec::new());
    measure(name, trips, || {
        trip += 1;
        let sent = node.send(NodeId(1), &[&trip.to_le_bytes()]);
        sent.expect("sent");
        waiting.receive(&node, &polling, &mut message);
        assert_eq!(message.len(), PAGE.len());
    });
    node.send(NodeId(1), &[b"end"]).expect("sent");
    reap(child);
}

/// Prints what a round trip takes, over rounds of `trips`; the first is not
/// counted.
fn measure(name: &str, trips: u32, mut trip: impl FnMut()) {
    let mut times: Vec<f64> = (0..=ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            (0..trips).for_each(|_| trip());
            begin.elapsed().as_secs_f64() * 1e6 / f64::from(trips)
        })
        .skip(1)
        .collect();
    times.sort_by(f64::total_cmp);
    let [median, best, worst] = [ROUNDS / 2, 0, ROUNDS - 1].map(|place| times[place]);
    println!("{name:44} {median:8.2} {best:8.2} {worst:8.2}");
}

fn answer(node: &dyn Transport, waiting: Waiting) {
    let polling = Polling::new(node, Role::Application);
    let mut message = Vec::new();
    loop {
        let from = waiting.receive(node, &polling, &mut message);
        if message.len() != 8 {
            return;
        }
        node.send(from, &[&PAGE]).expect("sent");
    }
}

/// Runs `life` in a child of this process.
fn fork(life: impl FnOnce()) -> libc::pid_t {
    // SAFETY: this process has one thread, so the child is complete.
    let child = unsafe { libc::fork() };
    if child == 0 {
        life();
        std::process::exit(0);
    }
    assert!(child > 0, "fork");
    child
}

fn reap(child: libc::pid_t) {
    // SAFETY: a null status is allowed; the child is ours.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}

fn unpin() {
    run_on(&[0, 1]);
}

fn pin(processor: usize) {
    run_on(&[processor]);
}

fn run_on(processors: &[usize]) {
    // SAFETY: all zeros is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for processor in processors {
        // SAFETY: `set` is a valid set; the number is small.
        unsafe { libc::CPU_SET(*processor, &mut set) };
    }
    // SAFETY: `set` is readable for its size; 0 is the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
}
