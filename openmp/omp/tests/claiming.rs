//! Locks and claim words under a scheduler that explores interleavings.
//!
//! As in `waiting.rs`, the files are compiled a second time against shuttle's
//! atomics, whose memory is sequentially consistent: the logic is tested here,
//! not the choice of memory orderings.
// A program of its own: sources of the crate are its modules, by the paths that they have there.
#![allow(missing_docs, dead_code, unreachable_pub)]

#[path = "../src/worksharing/claim.rs"]
mod claim;
#[path = "../src/sync/word.rs"]
mod word;

mod primitive {
    pub use shuttle::hint::spin_loop;
    pub use shuttle::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    pub use shuttle::thread::yield_now;

    /// The interposer is told of waits that last; there is none here.
    pub fn waits_long() {}

    /// A futex: sleepers on any word share one condition variable. A wake-up
    /// reaches all of them, as the kernel may wake spuriously.
    pub mod futex {
        use super::{AtomicU32, Ordering};
        use shuttle::sync::{Condvar, Mutex};

        shuttle::lazy_static! {
            static ref KERNEL: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
        }

        pub fn wait(word: &AtomicU32, expected: u32) {
            let guard = KERNEL.0.lock().unwrap();
            if word.load(Ordering::SeqCst) == expected {
                drop(KERNEL.1.wait(guard));
            }
        }

        pub fn wake(_word: &AtomicU32, _count: u32) {
            let _guard = KERNEL.0.lock().unwrap();
            // One, as asked: a lock that needs more would hang here.
            KERNEL.1.notify_one();
        }
    }
}

use claim::{Claim, RING, Tag};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU32, Ordering};
use shuttle::thread;
use word::Word;

const RUNS: usize = 2000;

fn explore(test: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(test, RUNS);
}

#[test]
fn a_lock_lets_one_in_and_forgets_no_sleeper() {
    for patience in [0, 2, 300] {
        explore(move || {
            let lock = Arc::new((Word::new(), AtomicU32::new(0)));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let lock = Arc::clone(&lock);
                    thread::spawn(move || {
                        for _ in 0..2 {
                            if !lock.0.try_acquire() {
                                lock.0.wait(patience);
                            }
                            let seen = lock.1.load(Ordering::SeqCst);
                            lock.1.store(seen + 1, Ordering::SeqCst);
                            lock.0.release();
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(lock.1.load(Ordering::SeqCst), 6);
        });
    }
}

#[test]
fn each_construct_of_a_slot_has_one_winner_and_each_index_one_taker() {
    explore(|| {
        const CONSTRUCTS: u32 = 3;
        let shared = Arc::new((
            // Two slots, used by every construct of this test as by RING apart.
            [Claim::new(), Claim::new()],
            AtomicU32::new(0),
            AtomicU32::new(0),
            shuttle::sync::Barrier::new(3),
        ));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    for construct in 1..=CONSTRUCTS {
                        let tag = Tag::of(construct * RING);
                        if shared.0[0].win(tag) {
                            shared.1.fetch_add(1, Ordering::SeqCst);
                        }
                        let mut index = shared.0[1].add(tag, 1);
                        while index < 4 {
                            shared.2.fetch_add(1 << (8 * index), Ordering::SeqCst);
                            index = shared.0[1].add_more(1);
                        }
                        shared.3.wait();
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(shared.1.load(Ordering::SeqCst), CONSTRUCTS);
        assert_eq!(shared.2.load(Ordering::SeqCst), CONSTRUCTS * 0x0101_0101);
    });
}
