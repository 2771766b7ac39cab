//! Events that complete a task together with its body.

use fathomp_sys::static_ref::AtomicRef;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An event the program has a handle to.
#[derive(Debug)]
pub(crate) struct Event<T: Sync + 'static> {
    /// A set of the bits below.
    state: AtomicU32,
    /// Set when the task exists, before its code may run.
    task: AtomicRef<T>,
    /// Held where a tool is told what comes first: the event, or the end of the code.
    telling: Mutex<()>,
}

const FULFILLED: u32 = 1;

const BODY_DONE: u32 = 2;

/// Events of the process that have not been fulfilled, by handle. Handles are
/// numbers rather than addresses, so one that the program made up or used
/// twice is recognised.
#[derive(Debug)]
pub(crate) struct Events<T: Sync + 'static> {
    pub(super) last: AtomicU64,
    pub(super) open: Mutex<HashMap<u64, Arc<Event<T>>>>,
}

impl<T: Sync + 'static> Default for Events<T> {
    fn default() -> Self {
        Self {
            last: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }
}

impl<T: Sync + 'static> Event<T> {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            task: AtomicRef::new(None),
            telling: Mutex::new(()),
        }
    }

    /// While a thread holds the answer, other threads that ask for it wait: a tool is told of the
    /// event and of the end of the code in the order in which they come.
    pub(super) fn in_order(&self) -> MutexGuard<'_, ()> {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn bind(&self, task: &'static T) {
        self.task.store(Some(task), Ordering::Release);
    }

    /// The task's code is through; returns whether that completes the task.
    pub(super) fn body_done(&self) -> bool {
        self.state.fetch_or(BODY_DONE, Ordering::SeqCst) & FULFILLED != 0
    }

    pub(super) fn is_fulfilled(&self) -> bool {
        self.state.load(Ordering::SeqCst) & FULFILLED != 0
    }

    /// The task that is not complete before the event is fulfilled, if there is one, and whether
    /// its code is not through either.
    pub(super) fn awaited_by(&self) -> Option<(&'static T, bool)> {
        let task = self.task.load(Ordering::Acquire)?;
        Some((task, self.state.load(Ordering::SeqCst) & BODY_DONE == 0))
    }

    /// The event is fulfilled. The task, if its body is done: it is complete by that.
    pub(super) fn fulfil(&self) -> Option<&'static T> {
        let before = self.state.fetch_or(FULFILLED, Ordering::SeqCst);
        let done = before & BODY_DONE != 0;
        done.then(|| self.task.load(Ordering::Acquire)).flatten()
    }
}
