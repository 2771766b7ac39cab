//! The lock-free parts of tasking under a scheduler that explores
//! interleavings.
//!
//! As in `waiting.rs`, the files are compiled a second time against shuttle's
//! atomics, whose memory is sequentially consistent: the logic is tested here,
//! not the choice of memory orderings.
// A program of its own: sources of the crate are its modules, by the paths that they have there.
#![allow(missing_docs, dead_code, unreachable_pub)]

#[path = "../src/task/admission.rs"]
mod admission;
#[path = "../src/task/deque.rs"]
mod deque;
#[path = "../src/event_count.rs"]
mod event_count;
#[path = "../src/task/portion.rs"]
mod portion;
#[path = "../src/task/tally.rs"]
mod tally;

mod primitive {
    pub use shuttle::hint::spin_loop;
    pub use shuttle::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};
    pub use shuttle::sync::{Mutex, MutexGuard};
    pub use shuttle::thread::yield_now;

    /// The interposer is told of waits that last; there is none here.
    pub fn waits_long() {}

    /// A futex: sleepers on any word share one condition variable.
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

    pub fn pause(_polls: u32) {
        shuttle::thread::yield_now();
    }

    pub type Item = u32;

    /// 0 is a place nothing was put in.
    #[derive(Debug, Default)]
    pub struct Shelf(AtomicU32);

    impl Shelf {
        pub fn put(&self, item: Item) {
            self.0.store(item, Ordering::Relaxed);
        }

        pub fn get(&self) -> Option<Item> {
            Some(self.0.load(Ordering::Relaxed)).filter(|&item| item != 0)
        }
    }
}

use admission::Admission;
use deque::Deque;
use event_count::{EventCount, SpinPolicy};
use portion::{Loot, Portion};
use primitive::{AtomicU32, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;
use tally::Tally;

/// The owner pushes 1, 2, ... and pops now and then; thieves steal. Everything
/// must come out once.
fn deque(capacity: usize, pushes: u32, thieves: u32) {
    let deque = Arc::new(Deque::new(capacity));
    let taken = Arc::new(Mutex::new(Vec::new()));
    let thieves: Vec<_> = (0..thieves)
        .map(|_| {
            let (deque, taken) = (Arc::clone(&deque), Arc::clone(&taken));
            thread::spawn(move || {
                for _ in 0..2 {
                    if let Some(item) = deque.steal(|_| true) {
                        taken.lock().unwrap().push(item);
                    }
                }
            })
        })
        .collect();
    let mut mine = Vec::new();
    for item in 1..=pushes {
        if deque.is_full() {
            mine.push(item);
        } else {
            deque.push(item);
        }
        if item % 2 == 0 {
            mine.extend(deque.pop(|_| true));
        }
    }
    for thief in thieves {
        thief.join().unwrap();
    }
    mine.extend(std::iter::from_fn(|| deque.pop(|_| true)));
    assert!(!deque.has_work());
    mine.extend(taken.lock().unwrap().iter());
    mine.sort_unstable();
    assert_eq!(mine, (1..=pushes).collect::<Vec<_>>());
}

#[test]
fn a_deque_loses_and_doubles_nothing() {
    shuttle::check_dfs(|| deque(2, 2, 1), Some(100_000));
    for (capacity, pushes, thieves) in [(2, 5, 2), (4, 8, 2), (4, 9, 3)] {
        shuttle::check_random(move || deque(capacity, pushes, thieves), 2000);
        shuttle::check_pct(move || deque(capacity, pushes, thieves), 1000, 3);
    }
}

/// An owner opens its portion for one loop after the other, of so many numbers each; thieves
/// steal from it. Every number must be taken once, and be known as one of its loop, which is
/// complete only after the last of them. What is of an odd loop is not wanted.
fn portion(loops: u32, numbers: u32, thieves: u32) {
    let portion = Arc::new(Portion::new());
    // By loop: how many are not complete.
    let unfinished: Arc<Vec<_>> = Arc::new((0..loops).map(|_| AtomicU32::new(0)).collect());
    let taken = Arc::new(Mutex::new(Vec::new()));
    let thieves: Vec<_> = (0..thieves)
        .map(|_| {
            let (portion, taken) = (Arc::clone(&portion), Arc::clone(&taken));
            let unfinished = Arc::clone(&unfinished);
            thread::spawn(move || {
                for _ in 0..2 {
                    // Whatever it looks at is not complete meanwhile.
                    let wanted = |of: u32| {
                        assert_ne!(unfinished[of as usize].load(Ordering::SeqCst), 0);
                        of.is_multiple_of(2)
                    };
                    if let Some(loot) = portion.steal(wanted) {
                        assert!(loot.of.is_multiple_of(2) && loot.from < loot.to);
                        let stolen = loot.to - loot.from;
                        let all = (loot.from..loot.to).map(|number| (loot.of, number));
                        taken.lock().unwrap().extend(all);
                        unfinished[loot.of as usize].fetch_sub(stolen, Ordering::SeqCst);
                    }
                }
            })
        })
        .collect();
    for of in 0..loops {
        unfinished[of as usize].store(numbers, Ordering::SeqCst);
        let first = portion.open(Loot {
            of,
            from: 0,
            to: numbers,
        });
        let mut mine = vec![first];
        mine.extend(std::iter::from_fn(|| portion.take()));
        portion.close();
        let count = mine.len() as u32;
        assert!(
            of.is_multiple_of(2) || count == numbers,
            "nobody else wanted them"
        );
        taken
            .lock()
            .unwrap()
            .extend(mine.iter().map(|&number| (of, number)));
        unfinished[of as usize].fetch_sub(count, Ordering::SeqCst);
    }
    for thief in thieves {
        thief.join().unwrap();
    }
    assert!(!portion.has_work());
    let mut taken = taken.lock().unwrap();
    taken.sort_unstable();
    let all = (0..loops).flat_map(|of| (0..numbers).map(move |number| (of, number)));
    assert_eq!(*taken, all.collect::<Vec<_>>());
}

#[test]
fn a_portion_loses_and_doubles_nothing() {
    shuttle::check_dfs(|| portion(1, 2, 1), Some(100_000));
    for (loops, numbers, thieves) in [(3, 3, 1), (3, 5, 2), (5, 2, 3)] {
        shuttle::check_random(move || portion(loops, numbers, thieves), 2000);
        shuttle::check_pct(move || portion(loops, numbers, thieves), 1000, 3);
    }
}

#[test]
fn what_is_not_wanted_stays() {
    shuttle::check_random(
        || {
            let deque = Deque::new(4);
            deque.push(1);
            deque.push(2);
            assert_eq!(deque.pop(|item| item == 1), None);
            assert_eq!(deque.steal(|item| item == 2), None);
            assert_eq!(deque.steal(|item| item == 1), Some(1));
            assert_eq!(deque.pop(|item| item == 2), Some(2));
        },
        1,
    );
}

/// A parent with some children at home and some elsewhere ends at an arbitrary
/// time; whoever is last, and nobody else, recycles it.
fn family(waits: bool, adopted: bool) {
    let tally = Arc::new(Tally::new());
    let recycled = Arc::new(AtomicU32::new(0));
    let done = Arc::new(AtomicU32::new(0));
    let spawn = |tally: &Arc<Tally>, holds: bool| {
        tally.begin_at_home();
        let (tally, recycled, done) = (Arc::clone(tally), Arc::clone(&recycled), Arc::clone(&done));
        thread::spawn(move || {
            done.fetch_add(1, Ordering::SeqCst);
            if holds {
                tally.hold();
            }
            let mut last = tally.end_elsewhere().recycle;
            if holds {
                // A grandchild that outlives its parent.
                assert!(!last, "recycled in spite of a hold");
                last = tally.release();
            }
            recycled.fetch_add(u32::from(last), Ordering::SeqCst);
        })
    };
    let children = [spawn(&tally, false), spawn(&tally, adopted)];
    tally.begin_at_home();
    tally.end_at_home();
    if waits {
        while tally.is_outstanding() {
            thread::yield_now();
        }
        assert_eq!(done.load(Ordering::SeqCst), 2);
    }
    let last = if tally.is_in_use() {
        tally.close()
    } else {
        true
    };
    recycled.fetch_add(u32::from(last), Ordering::SeqCst);
    for child in children {
        child.join().unwrap();
    }
    assert_eq!(recycled.load(Ordering::SeqCst), 1);
}

#[test]
fn one_thread_recycles_a_parent() {
    shuttle::check_dfs(|| family(false, false), Some(100_000));
    shuttle::check_dfs(|| family(false, true), Some(100_000));
    for (waits, adopted) in [(true, false), (true, true), (false, true)] {
        shuttle::check_random(move || family(waits, adopted), 5000);
    }
}

/// A parent sleeps until its children have ended, some of which it runs itself
/// meanwhile; only the end that completes them wakes it.
fn sleeping_parent(at_home: u32) {
    let family = Arc::new((Tally::new(), EventCount::new()));
    let children: Vec<_> = (0..2)
        .map(|_| {
            family.0.begin_at_home();
            let family = Arc::clone(&family);
            thread::spawn(move || {
                if family.0.end_elsewhere().wake {
                    family.1.ring();
                }
            })
        })
        .collect();
    let mut own = at_home;
    (0..own).for_each(|_| family.0.begin_at_home());
    family.1.wait(SpinPolicy::polling(1), || {
        // Two now, the rest once it is registered as a sleeper.
        for _ in 0..own.min(2) {
            own -= 1;
            family.0.end_at_home();
        }
        family.0.settle();
        !family.0.is_outstanding()
    });
    assert!(!family.0.is_in_use());
    for child in children {
        child.join().unwrap();
    }
}

#[test]
fn a_sleeping_parent_is_woken_by_the_last_child() {
    shuttle::check_dfs(|| sleeping_parent(0), Some(200_000));
    for own in 0..5 {
        shuttle::check_random(move || sleeping_parent(own), 5000);
        shuttle::check_pct(move || sleeping_parent(own), 2000, 3);
    }
}

/// Two regions of a team: a worker that is through with the first may find
/// itself late at any point. It must never help with a region that it has not
/// begun, nor with one that has ended.
fn dock() {
    let admission = Arc::new(Admission::new());
    // What region the primary is in: number, or 0 between regions.
    let region = Arc::new(AtomicU32::new(0));
    // The region has tasks.
    let used = Arc::new(AtomicU32::new(0));
    let worker = {
        let (admission, region, used) = (
            Arc::clone(&admission),
            Arc::clone(&region),
            Arc::clone(&used),
        );
        thread::spawn(move || {
            for _ in 0..2 {
                if used.load(Ordering::SeqCst) != 0 {
                    admission.admit(1, || {
                        assert_eq!(region.load(Ordering::SeqCst), 1);
                        thread::yield_now();
                        assert_eq!(region.load(Ordering::SeqCst), 1);
                    });
                }
            }
        })
    };
    for (number, has_tasks) in [(1, true), (2, false), (3, true)] {
        admission.open(u64::from(number));
        region.store(number, Ordering::SeqCst);
        if has_tasks {
            used.store(1, Ordering::SeqCst);
        }
        if used.load(Ordering::SeqCst) != 0 {
            admission.withdraw();
            admission.wait_until_empty();
            used.store(0, Ordering::SeqCst);
        }
        region.store(0, Ordering::SeqCst);
    }
    worker.join().unwrap();
}

#[test]
fn docked_workers_help_only_with_their_own_region() {
    // Not in every order: the primary polls, which need not ever end.
    shuttle::check_random(dock, 20_000);
    shuttle::check_pct(dock, 5000, 3);
}
