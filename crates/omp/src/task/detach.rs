//! Detachable tasks: complete when their code is through and their event has
//! been fulfilled, in either order, the latter from any thread.

use super::block::Task;
use super::run;
use crate::runtime::runtime;
use fathomp_sys::static_ref::AtomicRef;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An event the program has a handle to.
#[derive(Debug)]
pub(crate) struct Event {
    /// A set of the bits below.
    state: AtomicU32,
    /// Set when the task exists, before its code may run.
    task: AtomicRef<Task>,
}

const FULFILLED: u32 = 1;
const BODY_DONE: u32 = 2;

/// Events of the process that have not been fulfilled, by handle. Handles are
/// numbers rather than addresses, so one that the program made up or used
/// twice is recognised.
#[derive(Debug, Default)]
pub(crate) struct Events {
    last: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Event>>>,
}

/// The value of an `omp_event_handle_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHandle(pub u64);

/// A fresh event, and the handle to it.
#[derive(Debug)]
pub struct NewEvent {
    pub(super) event: Arc<Event>,
    handle: EventHandle,
}

/// The event has been fulfilled before, or there never was one with this handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEvent;

impl NewEvent {
    /// What to give the program.
    #[must_use]
    pub fn handle(&self) -> EventHandle {
        self.handle
    }
}

/// An event for a task that is about to be created.
#[must_use]
pub fn new_event() -> NewEvent {
    let events = &runtime().events;
    let handle = events.last.fetch_add(1, Ordering::Relaxed) + 1;
    let event = Arc::new(Event {
        state: AtomicU32::new(0),
        task: AtomicRef::new(None),
    });
    events
        .open
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(handle, Arc::clone(&event));
    NewEvent {
        event,
        handle: EventHandle(handle),
    }
}

/// Fulfils an event; its task is complete if its code is through.
///
/// # Errors
/// [`UnknownEvent`] if there is nothing to fulfil.
pub fn fulfill(handle: EventHandle) -> Result<(), UnknownEvent> {
    let event = runtime()
        .events
        .open
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&handle.0)
        .ok_or(UnknownEvent)?;
    let before = event.state.fetch_or(FULFILLED, Ordering::SeqCst);
    if before & BODY_DONE != 0
        && let Some(task) = event.task.load(Ordering::Acquire)
    {
        let team = task.team();
        // This thread may belong to any team or to none.
        run::complete(None, task);
        if let Some(team) = team {
            team.ring_all();
        }
    }
    Ok(())
}

impl Event {
    pub(super) fn bind(&self, task: &'static Task) {
        self.task.store(Some(task), Ordering::Release);
    }

    /// The task's code is through; returns whether that completes the task.
    pub(super) fn body_done(&self) -> bool {
        self.state.fetch_or(BODY_DONE, Ordering::SeqCst) & FULFILLED != 0
    }

    pub(super) fn is_fulfilled(&self) -> bool {
        self.state.load(Ordering::SeqCst) & FULFILLED != 0
    }
}
