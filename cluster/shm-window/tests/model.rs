//! What nodes do at once in shared memory, under loom: all interleavings with a few
//! involuntary changes of thread, with all values the memory model lets a load see.
//!
//! loom does not delay a load past later stores, so what an acquiring load before a store
//! forbids rests on the argument in README.md; and it takes `SeqCst` operations for weaker
//! ones, so there are none: fences do that.
// A program of its own: sources of the crate are its modules, by the paths that they have there.
#![allow(missing_docs, dead_code, unreachable_pub)]

mod primitive {
    //! What the algorithms are built from, under loom's scheduler.
    use loom::sync::Condvar;
    use loom::sync::atomic::AtomicU64 as Word;
    use std::panic::Location;
    use std::sync::OnceLock;

    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::Ordering;
    pub(crate) use loom::thread::{self, yield_now};

    /// An ordering as it stands in the source, or none where `WEAKEN` names that line, as
    /// `view.rs:81`: then a case should fail.
    #[track_caller]
    fn there(order: Ordering) -> Ordering {
        static WEAKEN: OnceLock<Option<String>> = OnceLock::new();
        let weaken = WEAKEN.get_or_init(|| std::env::var("WEAKEN").ok());
        let place = Location::caller();
        let is_there = |weaken: &String| {
            let line = format!("{}:{}", place.file(), place.line());
            line.ends_with(&format!("/{weaken}"))
        };
        match weaken.as_ref().is_some_and(is_there) {
            true => Ordering::Relaxed,
            false => order,
        }
    }

    #[track_caller]
    pub(crate) fn fence(order: Ordering) {
        if there(order) != Ordering::Relaxed {
            loom::sync::atomic::fence(order);
        }
    }

    /// A word, and something that is touched whenever the word is.
    ///
    /// Of the accesses to an atomic loom 0.7 remembers only the last one, to tell which order
    /// of two accesses it has yet to try. If that was a load by a thread that stores next, it
    /// has forgotten another thread's load before, and does not try that one after the store.
    /// A notification that nobody waits for orders nothing in memory, and two of them are
    /// never taken for independent.
    #[derive(Debug)]
    pub(crate) struct AtomicU64 {
        word: Word,
        touched: Condvar,
    }

    impl AtomicU64 {
        pub(crate) fn new(value: u64) -> Self {
            Self {
                word: Word::new(value),
                touched: Condvar::new(),
            }
        }

        fn touch(&self) -> &Word {
            self.touched.notify_one();
            &self.word
        }

        #[track_caller]
        pub(crate) fn load(&self, order: Ordering) -> u64 {
            self.touch().load(there(order))
        }

        #[track_caller]
        pub(crate) fn store(&self, value: u64, order: Ordering) {
            self.touch().store(value, there(order));
        }

        #[track_caller]
        pub(crate) fn swap(&self, value: u64, order: Ordering) -> u64 {
            self.touch().swap(value, there(order))
        }

        #[track_caller]
        pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
            self.touch().fetch_add(value, there(order))
        }

        #[track_caller]
        pub(crate) fn fetch_sub(&self, value: u64, order: Ordering) -> u64 {
            self.touch().fetch_sub(value, there(order))
        }

        #[track_caller]
        pub(crate) fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
            self.touch().fetch_max(value, there(order))
        }

        #[track_caller]
        pub(crate) fn compare_exchange(
            &self,
            now: u64,
            new: u64,
            success: Ordering,
            failure: Ordering,
        ) -> Result<u64, u64> {
            let (success, failure) = (there(success), there(failure));
            self.touch().compare_exchange(now, new, success, failure)
        }

        #[track_caller]
        pub(crate) fn fetch_update(
            &self,
            success: Ordering,
            failure: Ordering,
            mut new: impl FnMut(u64) -> Option<u64>,
        ) -> Result<u64, u64> {
            let mut now = self.load(failure);
            while let Some(new) = new(now) {
                match self.compare_exchange(now, new, success, failure) {
                    Ok(before) => return Ok(before),
                    Err(other) => now = other,
                }
            }
            Err(now)
        }
    }

    #[track_caller]
    pub(crate) fn add_and_fence(word: &AtomicU64, amount: u64) {
        word.fetch_add(amount, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    #[derive(Debug)]
    pub(crate) struct Words(Box<[AtomicU64]>);

    impl Words {
        pub(crate) fn in_process(count: usize) -> Self {
            Self((0..count).map(|_| AtomicU64::new(0)).collect())
        }

        pub(crate) fn shared(count: usize) -> std::io::Result<Self> {
            Ok(Self::in_process(count))
        }

        pub(crate) fn all(&self) -> &[AtomicU64] {
            &self.0
        }
    }

    /// Explores with at most `switches` involuntary changes of thread.
    pub(crate) fn explore(switches: usize, model: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(switches);
        builder.check(model);
    }

    /// How often something is done that is worth it more than once: loom finds all there is.
    pub(crate) const ROUNDS: u32 = 1;
}

#[path = "../src/bring.rs"]
mod bring;
#[path = "../src/locks.rs"]
mod locks;
#[path = "../src/log.rs"]
mod log;
#[path = "../src/memory.rs"]
mod memory;
#[path = "../src/offers.rs"]
mod offers;
#[path = "../src/sizes.rs"]
mod sizes;
#[path = "../src/take.rs"]
mod take;
#[path = "../src/tell.rs"]
mod tell;
#[path = "../src/update.rs"]
mod update;
#[path = "../src/view.rs"]
mod view;
#[path = "../src/window.rs"]
mod window;

mod cases;
