//! Tasks that any member may take: those with a priority, those that found
//! their member's own queue full, and those that a thread from outside made
//! ready.

use super::block::Task;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct SharedQueue {
    count: AtomicUsize,
    /// By ascending priority; the oldest last among equals.
    tasks: Mutex<Vec<&'static Task>>,
}

impl SharedQueue {
    /// Whether there seems to be nothing.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// How many tasks there seem to be.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn put(&self, task: &'static Task) {
        let mut tasks = self.lock();
        let priority = task.priority.get();
        let place = tasks.partition_point(|other| other.priority.get() < priority);
        tasks.insert(place, task);
        // SeqCst: see `Deque::push`.
        self.count.store(tasks.len(), Ordering::SeqCst);
    }

    /// The first by priority, then age, that `wanted` accepts.
    pub(super) fn take(
        &self,
        mut wanted: impl FnMut(&'static Task) -> bool,
    ) -> Option<&'static Task> {
        let mut tasks = self.lock();
        let place = tasks.iter().rposition(|task| wanted(task))?;
        let task = tasks.remove(place);
        self.count.store(tasks.len(), Ordering::SeqCst);
        Some(task)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<&'static Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
