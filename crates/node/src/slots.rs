//! Threads that stand still until somebody lets them go on.

use fathomp_base::ThreadId;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Threads of one node at most.
const THREADS: usize = 1024;

/// Nobody has answered yet; nobody has answered and the thread sleeps; the
/// answer is there.
const WAITING: u32 = 0;
const ASLEEP: u32 = 1;
const ANSWERED: u32 = 2;

/// Where a thread waits, and what for.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Slot {
    state: AtomicU32,
    answer: AtomicU64,
}

impl Slot {
    /// The thread is about to ask something.
    pub(crate) fn begin(&self) {
        self.state.store(WAITING, Ordering::Relaxed);
    }

    /// The answer, if there is one.
    pub(crate) fn answer(&self) -> Option<u64> {
        let answered = self.state.load(Ordering::Acquire) == ANSWERED;
        answered.then(|| self.answer.load(Ordering::Relaxed))
    }

    /// The thread is about to sleep, unless there is an answer.
    pub(crate) fn lie_down(&self) {
        let _ = self
            .state
            .compare_exchange(WAITING, ASLEEP, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Gives the answer; whether the thread has to be woken.
    fn give(&self, answer: u64) -> bool {
        self.answer.store(answer, Ordering::Relaxed);
        self.state.swap(ANSWERED, Ordering::SeqCst) == ASLEEP
    }
}

/// All threads of the node that have ever waited.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    taken: AtomicU32,
}

thread_local! {
    static MINE: Cell<Option<ThreadId>> = const { Cell::new(None) };
}

impl Slots {
    pub(crate) fn new() -> Self {
        let slot = || Slot {
            state: AtomicU32::new(WAITING),
            answer: AtomicU64::new(0),
        };
        Self {
            slots: std::iter::repeat_with(slot).take(THREADS).collect(),
            taken: AtomicU32::new(0),
        }
    }

    /// The calling thread's number and place; none if there are too many
    /// threads.
    pub(crate) fn mine(&self) -> Option<(ThreadId, &Slot)> {
        let thread = MINE.get().unwrap_or_else(|| {
            let thread = ThreadId(self.taken.fetch_add(1, Ordering::Relaxed));
            MINE.set(Some(thread));
            thread
        });
        Some((thread, self.slots.get(thread.0 as usize)?))
    }

    /// Lets a thread go on; whether it has to be woken for it. `None` if there
    /// is no such thread.
    #[must_use]
    pub(crate) fn answer(&self, thread: ThreadId, answer: u64) -> Option<bool> {
        self.slots
            .get(thread.0 as usize)
            .map(|slot| slot.give(answer))
    }
}
