//! The shared-memory protocols under loom: all interleavings, with all values
//! the memory model lets a load see, of small cases.
// A program of its own: sources of the crate are its modules, by the paths that they have there.

mod primitive {
    //! What the protocols are built from, under loom's scheduler.
    pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

    pub(crate) fn copy_in(to: &[AtomicU8], from: &[u8]) {
        for (to, from) in to.iter().zip(from) {
            to.store(*from, Ordering::Relaxed);
        }
    }

    pub(crate) fn append(from: &[AtomicU8], to: &mut Vec<u8>) {
        to.extend(from.iter().map(|byte| byte.load(Ordering::Relaxed)));
    }

    pub(crate) fn copy_out(from: &[AtomicU8], to: &mut [u8]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = from.load(Ordering::Relaxed);
        }
    }

    pub(crate) mod futex {
        //! One futex, which is all a model needs, with a queue for each group.
        use super::{AtomicU32, Ordering};
        use loom::sync::{Condvar, Mutex};

        const GROUPS: [u32; 2] = [1, 2];

        loom::lazy_static! {
            /// How many sleep in each group.
            static ref SLEEPING: Mutex<[u32; 2]> = Mutex::new([0, 0]);
            static ref QUEUES: [Condvar; 2] = [Condvar::new(), Condvar::new()];
        }

        /// Moments never come here: who sleeps has to be woken.
        pub(crate) fn wait(word: &AtomicU32, expected: u32, mask: u32, _until_ns: Option<u64>) {
            let mut sleeping = SLEEPING.lock().unwrap();
            if word.load(Ordering::Relaxed) == expected {
                let group = usize::from(mask == GROUPS[1]);
                sleeping[group] += 1;
                drop(QUEUES[group].wait(sleeping).unwrap());
            }
        }

        pub(crate) fn wake(_word: &AtomicU32, count: u32, mask: u32) -> u32 {
            let mut sleeping = SLEEPING.lock().unwrap();
            let mut woken = 0;
            for group in [0, 1] {
                while mask & GROUPS[group] != 0 && sleeping[group] > 0 && woken < count {
                    sleeping[group] -= 1;
                    woken += 1;
                    QUEUES[group].notify_one();
                }
            }
            woken
        }
    }
}

#[path = "../src/doorbell.rs"]
#[allow(dead_code, unreachable_pub, reason = "the model runs a part of it")]
mod doorbell;
#[path = "../src/ends.rs"]
#[allow(dead_code, reason = "the model runs a part of it")]
mod ends;
#[path = "../src/ring.rs"]
#[allow(dead_code, reason = "the model runs a part of it")]
mod ring;

use doorbell::{Doorbell, Role, Sleep};
use ends::{Call, End, Flags};
use loom::sync::Arc;
use loom::thread;
use primitive::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use ring::Ring;

/// Explores with at most `switches` involuntary changes of thread.
fn explore(switches: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(model);
}

struct Memory {
    head: AtomicU64,
    tail: AtomicU64,
    starved: AtomicU64,
    storage: [AtomicU8; 4],
}

impl Memory {
    fn new() -> Arc<Self> {
        Arc::new(Self::apart())
    }

    fn apart() -> Self {
        Self {
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            starved: AtomicU64::new(0),
            storage: std::array::from_fn(|_| AtomicU8::new(u8::MAX)),
        }
    }

    fn ring(&self) -> Ring<'_> {
        Ring::new(&self.head, &self.tail, &self.starved, &self.storage)
    }
}

/// (loom does not delay a load past later stores, which is what the release of
/// `tail` forbids; that one rests on the argument in the module's documentation.)
#[test]
fn no_byte_is_torn_or_lost() {
    explore(3, || {
        let memory = Memory::new();
        let theirs = Arc::clone(&memory);
        let producer = thread::spawn(move || {
            let (ring, mut head, mut seen_tail) = (theirs.ring(), 0, 0);
            for record in 0..3_u8 {
                if ring.free(head, &mut seen_tail, 2) >= 2 {
                    ring.write(head, &[2 * record, 2 * record + 1]);
                    head += 2;
                    ring.publish(head);
                }
            }
            head
        });
        let (ring, mut tail, mut out) = (memory.ring(), 0, Vec::new());
        let mut drain = || {
            let available = ring.available(tail).unwrap();
            ring.read(tail, available, &mut out);
            tail += available as u64;
            assert!(!ring.consume(tail), "nobody starves here");
        };
        drain();
        drain();
        let head = producer.join().unwrap();
        drain();
        assert_eq!(out.len() as u64, head);
        // Records may be missing only at the end, never torn or repeated.
        assert!(out.chunks(2).all(|pair| pair[0] + 1 == pair[1]));
        assert!(out.windows(2).all(|pair| pair[0] < pair[1]));
    });
}

#[test]
fn a_producer_without_room_finds_some_or_is_told() {
    explore(3, || {
        let memory = Memory::new();
        memory.ring().write(0, &[1, 2, 3, 4]);
        memory.ring().publish(4);
        let theirs = Arc::clone(&memory);
        let producer = thread::spawn(move || {
            let (ring, mut seen_tail) = (theirs.ring(), 0);
            ring.starve();
            ring.free(4, &mut seen_tail, 1) > 0
        });
        let told = memory.ring().consume(2) | memory.ring().consume(4);
        let found = producer.join().unwrap();
        assert!(told || found);
    });
}

/// Both directions between two processes, and each one's flags.
struct Pair {
    directions: [Memory; 2],
    asleep: [AtomicU64; 2],
    ended: [AtomicU64; 2],
    /// How often each was woken.
    woken: [AtomicU32; 2],
}

impl Pair {
    fn new() -> Arc<Self> {
        let words = || std::array::from_fn(|_| AtomicU64::new(0));
        Arc::new(Self {
            directions: std::array::from_fn(|_| Memory::apart()),
            asleep: words(),
            ended: words(),
            woken: std::array::from_fn(|_| AtomicU32::new(0)),
        })
    }

    fn end(&self, me: usize) -> End<'_> {
        let flags = |who: usize| Flags {
            asleep: &self.asleep[who],
            ended: &self.ended[who],
        };
        let [out, into] = [me, 1 - me].map(|who| self.directions[who].ring());
        End::new(out, into, flags(me), flags(1 - me))
    }

    fn wake(&self, who: usize, call: Call) {
        if call == Call::Wake {
            self.woken[who].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Whoever sleeps is woken, if by bytes, room or the end, and by one of several events alone.
#[test]
fn who_lies_down_finds_something_or_is_woken() {
    for what in ["bytes", "room", "end"] {
        explore(3, move || {
            let pair = Pair::new();
            let (mut head, mut seen) = (0, 0);
            if what == "room" {
                // The sleeper's direction is full.
                head = pair.end(0).write([&[1, 2, 3, 4][..]], 0, &mut seen).0 as u64;
            }
            let theirs = Arc::clone(&pair);
            let peer = thread::spawn(move || {
                let (end, mut seen) = (theirs.end(1), 0);
                match what {
                    "bytes" => {
                        for at in 0..2 {
                            let (_, call) = end.write([&[7][..]], at, &mut seen);
                            theirs.wake(0, call);
                        }
                    }
                    "room" => {
                        for at in [0, 2] {
                            let (_, call) = end.read(&mut [0; 2], at).unwrap();
                            theirs.wake(0, call);
                        }
                    }
                    _ => theirs.wake(0, end.end()),
                }
            });
            let end = pair.end(0);
            end.mark_parked();
            let found = match what {
                "bytes" => end.has_bytes(0),
                "room" => end.finds_room(head, &mut seen),
                _ => end.is_at_end(0),
            };
            peer.join().unwrap();
            let woken = pair.woken[0].load(Ordering::Relaxed);
            assert!(found || woken == 1, "{what}");
            assert!(woken <= 1, "{what}");
            assert_eq!(end.get_up(), woken == 1, "{what}");
        });
    }
}

/// A node with a doorbell and two senders' messages.
struct Node {
    bell: [AtomicU32; Doorbell::HALVES],
    sent: [AtomicU32; 2],
    taken: [AtomicU32; 2],
}

impl Node {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            bell: std::array::from_fn(|_| AtomicU32::new(0)),
            sent: std::array::from_fn(|_| AtomicU32::new(0)),
            taken: std::array::from_fn(|_| AtomicU32::new(0)),
        })
    }

    fn bell(&self) -> Doorbell<'_> {
        Doorbell::new(&self.bell)
    }

    fn send(&self, sender: usize) {
        self.sent[sender].store(1, Ordering::Release);
        self.bell().ring();
    }

    /// Whether a message of this sender is there and nobody has taken it.
    fn waiting(&self, sender: usize) -> bool {
        self.sent[sender].load(Ordering::Acquire) != 0
            && self.taken[sender].load(Ordering::Acquire) == 0
    }

    fn any_waiting(&self) -> bool {
        self.waiting(0) || self.waiting(1)
    }

    /// Takes all there is, also what another thread waits for.
    fn receive(&self) {
        for sender in [0, 1] {
            if self.waiting(sender) {
                self.taken[sender].swap(1, Ordering::AcqRel);
                self.bell().rouse(&[Role::Application, Role::Service]);
            }
        }
    }

    /// Handles messages until those of `wanted` have been taken.
    fn handle(&self, role: Role, wanted: &[usize]) {
        let done = || {
            let taken = |sender: &usize| self.taken[*sender].load(Ordering::Acquire) != 0;
            wanted.iter().all(taken)
        };
        self.bell().enter();
        self.receive();
        while !done() {
            let look = || {
                if self.any_waiting() || done() {
                    Sleep::Not
                } else {
                    Sleep::UntilWoken
                }
            };
            self.bell().sleep(role, look);
            self.receive();
        }
        self.bell().leave(|| self.any_waiting());
    }
}

#[test]
fn a_sleeper_hears_every_sender() {
    explore(2, || {
        let node = Node::new();
        let senders = [0, 1].map(|sender| {
            let node = Arc::clone(&node);
            thread::spawn(move || node.send(sender))
        });
        node.handle(Role::Service, &[0, 1]);
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
    });
}

/// Who was called and leaves with its answer has to make room for the next call,
/// which is the service thread's.
#[test]
fn after_a_call_another_can_be_called() {
    explore(2, || {
        let node = Node::new();
        let served = Arc::clone(&node);
        let service = thread::spawn(move || served.handle(Role::Service, &[1]));
        let sending = Arc::clone(&node);
        let sender = thread::spawn(move || {
            sending.send(0);
            sending.send(1);
        });
        node.handle(Role::Application, &[0]);
        sender.join().unwrap();
        service.join().unwrap();
    });
}

/// The application thread leaves with its own answer; what it leaves behind is
/// the service thread's, which must hear of it.
#[test]
fn who_leaves_hands_over_what_is_left() {
    explore(2, || {
        let node = Node::new();
        let served = Arc::clone(&node);
        let service = thread::spawn(move || served.handle(Role::Service, &[1]));
        let sending = Arc::clone(&node);
        let sender = thread::spawn(move || sending.send(1));
        // An application thread that looks once and goes.
        node.bell().enter();
        node.bell().found_nothing(|| node.any_waiting());
        node.bell().leave(|| node.any_waiting());
        sender.join().unwrap();
        service.join().unwrap();
    });
}

/// A message that can wait wakes who waits for it, and is there for whoever looks for
/// another one.
#[test]
fn what_can_wait_is_heard_by_who_waits() {
    for waits in [Role::Application, Role::Service] {
        explore(2, move || {
            let node = Node::new();
            let sending = Arc::clone(&node);
            let sender = thread::spawn(move || {
                sending.sent[0].store(1, Ordering::Release);
                sending.bell().ring_softly();
                if waits == Role::Service {
                    sending.send(1);
                }
            });
            match waits {
                Role::Application => node.handle(waits, &[0]),
                Role::Service => node.handle(waits, &[0, 1]),
            }
            sender.join().unwrap();
        });
    }
}

/// It is not lost either on a thread that was looking, and leaves.
#[test]
fn what_can_wait_is_handed_over_to_who_waits() {
    explore(3, || {
        let node = Node::new();
        let waiting = Arc::clone(&node);
        let application = thread::spawn(move || waiting.handle(Role::Application, &[0]));
        let sending = Arc::clone(&node);
        let sender = thread::spawn(move || {
            sending.sent[0].store(1, Ordering::Release);
            sending.bell().ring_softly();
        });
        node.bell().enter();
        node.bell().found_nothing(|| node.any_waiting());
        node.bell().leave(|| node.any_waiting());
        sender.join().unwrap();
        application.join().unwrap();
    });
}

#[test]
fn rousing_reaches_who_waits_for_another_thread() {
    explore(3, || {
        let node = Node::new();
        let waiting = Arc::clone(&node);
        let application = thread::spawn(move || waiting.handle(Role::Application, &[0]));
        // Another thread of the node has handled the message.
        node.taken[0].swap(1, Ordering::AcqRel);
        node.bell().rouse(&[Role::Application]);
        application.join().unwrap();
    });
}
