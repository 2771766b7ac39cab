//! The waiting protocols under a scheduler that explores interleavings.
//!
//! `bell` and `rendezvous` are compiled here a second time, against atomics
//! and a futex that shuttle controls. Shuttle's memory is sequentially
//! consistent, which is what the bell's protocol relies on (all its accesses
//! are `SeqCst`); a lost wake-up shows as a deadlock.
// A program of its own: sources of the crate are its modules, by the paths that they have there.
#![allow(missing_docs, dead_code, unreachable_pub)]

#[path = "../src/event_count.rs"]
mod event_count;
#[path = "../src/rendezvous.rs"]
mod rendezvous;

mod primitive {
    pub use shuttle::hint::spin_loop;
    pub use shuttle::sync::atomic::{AtomicU32, Ordering};
    pub use shuttle::thread::yield_now;

    /// The interposer is told of waits that last; there is none here.
    pub fn waits_long() {}

    /// A futex: sleepers on any word share one condition variable, so wake-ups
    /// may be spurious, as they may be in the kernel.
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
            KERNEL.1.notify_all();
        }

        pub fn wake_all(word: &AtomicU32) {
            wake(word, u32::MAX);
        }
    }
}

use event_count::{EventCount, SpinPolicy};
use primitive::{AtomicU32, Ordering};
use rendezvous::Rendezvous;
use shuttle::sync::Arc;
use shuttle::thread;

/// `size` threads pass `phases` barriers; after each, everybody's work before
/// it must be there.
fn barriers(size: u32, phases: u32, patience: u32) {
    let meeting = Arc::new(Rendezvous::new(size));
    let work = Arc::new(AtomicU32::new(0));
    let member = move |who: u32, meeting: Arc<Rendezvous>, work: Arc<AtomicU32>| {
        for phase in 1..=phases {
            work.fetch_add(1, Ordering::Relaxed);
            if meeting.arrive(who, size) {
                meeting.open(phase);
            } else {
                meeting.wait(phase, SpinPolicy::polling(patience), || false);
            }
            let done = work.load(Ordering::Relaxed);
            assert!(
                done >= phase * size,
                "left phase {phase} after {done} arrivals"
            );
            assert!(done < (phase + 1) * size, "somebody is two phases ahead");
        }
    };
    let others: Vec<_> = (1..size)
        .map(|who| {
            let (meeting, work) = (Arc::clone(&meeting), Arc::clone(&work));
            thread::spawn(move || member(who, meeting, work))
        })
        .collect();
    member(0, meeting, work);
    for other in others {
        other.join().unwrap();
    }
}

#[test]
fn two_threads_meet_in_every_interleaving() {
    shuttle::check_dfs(|| barriers(2, 1, 0), Some(200_000));
}

#[test]
fn barriers_hold_in_random_interleavings() {
    for (size, patience) in [(2, 2), (3, 0), (4, 1), (6, 0), (17, 1)] {
        shuttle::check_random(move || barriers(size, 3, patience), 300);
    }
}

#[test]
fn barriers_hold_when_one_thread_is_starved() {
    shuttle::check_pct(|| barriers(5, 2, 0), 1000, 4);
}

/// Two members come to a barrier whose last arrival cancels the region before it opens the
/// barrier: the other one may leave before. The next region must begin with what
/// `reset` says, whoever has counted what.
fn cancelled() {
    let meeting = Arc::new(Rendezvous::new(2));
    let given_up = Arc::new(AtomicU32::new(0));
    let work = Arc::new(AtomicU32::new(0));
    let both = |member: fn(u32, &Rendezvous, &AtomicU32, u32), word: &Arc<AtomicU32>, phase| {
        let (there, shared) = (Arc::clone(&meeting), Arc::clone(word));
        let other = thread::spawn(move || member(1, &there, &shared, phase));
        member(0, &meeting, word, phase);
        other.join().unwrap();
    };
    let leave = |who, meeting: &Rendezvous, given_up: &AtomicU32, phase| {
        if meeting.arrive(who, 2) {
            given_up.store(1, Ordering::SeqCst);
            meeting.open(phase);
        } else {
            meeting.wait(phase, SpinPolicy::polling(1), || {
                given_up.load(Ordering::SeqCst) == 1
            });
        }
    };
    let meet = |who, meeting: &Rendezvous, work: &AtomicU32, phase| {
        work.fetch_add(1, Ordering::Relaxed);
        if meeting.arrive(who, 2) {
            meeting.open(phase);
        } else {
            meeting.wait(phase, SpinPolicy::polling(1), || false);
        }
        assert_eq!(work.load(Ordering::Relaxed), 2, "left before all had come");
    };
    both(leave, &given_up, 1);
    let last = meeting.reset();
    both(meet, &work, last + 1);
}

#[test]
fn nobody_is_early_after_a_cancelled_region() {
    shuttle::check_random(cancelled, 3000);
}

/// A condition written before the ring is never slept through.
#[test]
fn a_ring_is_never_lost() {
    shuttle::check_dfs(
        || {
            let shared = Arc::new((EventCount::new(), AtomicU32::new(0)));
            let sleeper = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.0.wait(SpinPolicy::polling(0), || {
                        shared.1.load(Ordering::SeqCst) == 1
                    });
                })
            };
            shared.1.store(1, Ordering::SeqCst);
            shared.0.ring();
            sleeper.join().unwrap();
        },
        Some(200_000),
    );
}
