//! What nodes do at once in shared memory, in longer cases under shuttle: interleavings at
//! random, in memory that is sequentially consistent.
// A program of its own: sources of the crate are its modules, by the paths that they have there.
#![allow(missing_docs, dead_code, unreachable_pub)]

mod primitive {
    //! What the algorithms are built from, under shuttle's scheduler.
    pub(crate) use shuttle::hint::spin_loop;
    pub(crate) use shuttle::sync::atomic::{AtomicU64, Ordering, fence};
    pub(crate) use shuttle::thread::{self, yield_now};

    pub(crate) fn add_and_fence(word: &AtomicU64, amount: u64) {
        word.fetch_add(amount, Ordering::SeqCst);
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

    const SCHEDULES: usize = 2000;

    /// Tries that many schedules; one that fails is printed, to be tried again.
    pub(crate) fn explore(_switches: usize, model: impl Fn() + Send + Sync + 'static) {
        shuttle::check_random(model, SCHEDULES);
    }

    /// How often something is done that is worth it more than once.
    pub(crate) const ROUNDS: u32 = 4;
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
