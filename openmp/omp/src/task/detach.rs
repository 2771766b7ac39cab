//! Detachable tasks: complete when their code is through and their event has
//! been fulfilled, in either order, the latter from any thread.

use super::block::Task;
use super::event::Event;
use super::run;
use crate::observer;
use crate::runtime::runtime;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// The value of an `omp_event_handle_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHandle(pub u64);

/// A fresh event, and the handle to it.
#[derive(Debug)]
pub struct NewEvent {
    pub(super) event: Arc<Event<Task>>,
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
    let event = Arc::new(Event::new());
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
    let in_order = observer::hears_each_task().then(|| event.in_order());
    if in_order.is_some()
        && let Some((task, early)) = event.awaited_by()
    {
        observer::fulfils(task, early);
    }
    let completed = event.fulfil();
    drop(in_order);
    if let Some(task) = completed {
        let team = task.team();
        // This thread may belong to any team or to none.
        run::complete(None, task);
        if let Some(team) = team {
            team.ring_all();
        }
    }
    Ok(())
}
