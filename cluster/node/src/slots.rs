//! Threads that stand still until somebody lets them go on.

use fathomp_types::ThreadId;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Threads of one node at most.
pub(crate) const THREADS: usize = 1024;

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
    /// How often its thread has asked; 0 if it belongs to none.
    asked: AtomicU32,
    answer: AtomicU64,
}

impl Slot {
    /// The thread is about to ask something.
    pub(crate) fn begin(&self) {
        let asked = self.asked.load(Ordering::Relaxed);
        self.asked
            .store(asked.wrapping_add(1).max(1), Ordering::Relaxed);
        self.state.store(WAITING, Ordering::Relaxed);
    }

    /// Whether there is an answer.
    pub(crate) fn is_answered(&self) -> bool {
        self.state.load(Ordering::Acquire) == ANSWERED
    }

    /// The answer, once there is one.
    pub(crate) fn answer(&self) -> u64 {
        self.answer.load(Ordering::Relaxed)
    }

    /// The thread is about to sleep, unless there is an answer.
    pub(crate) fn mark_parked(&self) {
        let _ = self
            .state
            .compare_exchange(WAITING, ASLEEP, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// The thread goes on without an answer: what it waited for has happened. It
    /// counts as at work again, which a thread that never asks anything afterwards
    /// must do.
    pub(crate) fn go_on(&self) {
        self.state.store(ANSWERED, Ordering::Relaxed);
    }

    /// Gives the answer; whether the thread has to be woken.
    fn give(&self, answer: u64) -> bool {
        self.answer.store(answer, Ordering::Relaxed);
        self.state.swap(ANSWERED, Ordering::SeqCst) == ASLEEP
    }
}

/// What the node does when a thread gets its place, and when a thread ends that has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hooks {
    pub(crate) introduce: fn(ThreadId),
    pub(crate) put_back: fn(ThreadId),
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// This process has become a node, which is to hear of threads.
pub(crate) fn hook(hooks: Hooks) {
    let _ = HOOKS.set(hooks);
}

/// All places of the node.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    /// Those that were ever used.
    used: AtomicU32,
    free: Mutex<Vec<ThreadId>>,
}

/// The calling thread's place, until it ends.
struct Mine {
    thread: Cell<Option<ThreadId>>,
    /// The thread has asked and is not answered yet.
    asking: Cell<bool>,
}

thread_local! {
    static MINE: Mine = const {
        Mine {
            thread: Cell::new(None),
            asking: Cell::new(false),
        }
    };
}

impl Drop for Mine {
    fn drop(&mut self) {
        if let (Some(thread), Some(hooks)) = (self.thread.take(), HOOKS.get()) {
            (hooks.put_back)(thread);
        }
    }
}

/// A place, for the time of one question.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    slots: &'a Slots,
    pub(crate) thread: ThreadId,
    pub(crate) slot: &'a Slot,
    own: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.own {
            let _ = MINE.try_with(|mine| mine.asking.set(false));
        } else {
            self.slots.put_back(self.thread);
        }
    }
}

impl Slots {
    pub(crate) fn new() -> Self {
        let slot = || Slot {
            state: AtomicU32::new(WAITING),
            asked: AtomicU32::new(0),
            answer: AtomicU64::new(0),
        };
        Self {
            slots: std::iter::repeat_with(slot).take(THREADS).collect(),
            used: AtomicU32::new(0),
            free: Mutex::default(),
        }
    }

    /// The calling thread's number and place; none if there are too many
    /// threads.
    pub(crate) fn mine(&self) -> Option<(ThreadId, &Slot)> {
        let known = MINE.try_with(|mine| mine.thread.get()).ok().flatten();
        let thread = known.unwrap_or_else(|| {
            let thread = self.unused();
            // A thread that is about to end, and has given its place back
            // already, loses this one.
            let _ = MINE.try_with(|mine| mine.thread.set(Some(thread)));
            if let Some(hooks) = HOOKS.get() {
                (hooks.introduce)(thread);
            }
            thread
        });
        Some((thread, self.slots.get(thread.0 as usize)?))
    }

    /// A place to ask from: the thread's own, or another one if it asks inside
    /// of a question, in a signal handler that has interrupted its wait.
    pub(crate) fn place(&self) -> Option<Place<'_>> {
        let own = MINE.try_with(|mine| !mine.asking.replace(true)) == Ok(true);
        let (thread, slot) = if own {
            self.mine()?
        } else {
            let thread = self.unused();
            (thread, self.slots.get(thread.0 as usize)?)
        };
        Some(Place {
            slots: self,
            thread,
            slot,
            own,
        })
    }

    fn unused(&self) -> ThreadId {
        let free = lock(&self.free).pop();
        free.unwrap_or_else(|| ThreadId(self.used.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn put_back(&self, thread: ThreadId) {
        if let Some(slot) = self.slots.get(thread.0 as usize) {
            slot.asked.store(0, Ordering::Relaxed);
        }
        lock(&self.free).push(thread);
    }

    /// Threads other than the calling one that wait for no answer, with how often
    /// they have asked.
    pub(crate) fn at_work(&self) -> impl Iterator<Item = (ThreadId, u32)> {
        let me = MINE.try_with(|mine| mine.thread.get()).ok().flatten();
        let used = self.used.load(Ordering::Relaxed);
        let slots = (0..used).map(ThreadId).zip(&self.slots);
        slots.filter_map(move |(thread, slot)| {
            let asked = slot.asked.load(Ordering::Relaxed);
            let answered = slot.state.load(Ordering::Relaxed) == ANSWERED;
            (asked > 0 && answered && Some(thread) != me).then_some((thread, asked))
        })
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_is_not_at_work() {
        let slots = Slots::new();
        let at_work = || std::thread::scope(|s| s.spawn(|| slots.at_work().count()).join());
        let place = slots.place().unwrap();
        place.slot.begin();
        assert_eq!(at_work().unwrap(), 0);
        place.slot.go_on();
        assert_eq!(at_work().unwrap(), 1);
        place.slot.begin();
        assert_eq!(slots.answer(place.thread, 7), Some(false));
        assert!(place.slot.is_answered());
        assert_eq!((place.slot.answer(), at_work().unwrap()), (7, 1));
    }

    #[test]
    fn a_question_inside_another_has_its_own_place() {
        let slots = Slots::new();
        let outer = slots.place().unwrap();
        let inner = slots.place().unwrap();
        assert_eq!(Some(outer.thread), slots.mine().map(|mine| mine.0));
        assert_ne!(outer.thread, inner.thread);
        drop((inner, outer));
        let again = [slots.place().unwrap(), slots.place().unwrap()];
        assert!(again.iter().all(|place| place.thread.0 < 2));
    }
}
