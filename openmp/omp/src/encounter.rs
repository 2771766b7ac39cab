//! What the thread that begins a region has to do about it at the end.
//!
//! It stands in the team, not in the frame on that thread's stack: the program's data lie
//! right beside that frame, and what is written there while the region runs would look, to
//! nodes, as if the program had written it.

use crate::own::Own;
use std::sync::atomic::{AtomicU64, Ordering};

/// A region that is being executed and timed.
#[derive(Clone, Copy)]
pub(crate) struct Timed {
    pub(crate) index: u32,
    pub(crate) generation: u32,
    pub(crate) began: u64,
}

/// Written by the thread that plays the team's member 0.
#[derive(Debug, Default)]
pub(crate) struct Encounter {
    shared: Own,
    timed: Own,
    index: Own,
    generation: Own,
    began: AtomicU64,
}

impl Encounter {
    /// Notes whether programs that share the machine are to be told of the end, and what is
    /// to be done with the time.
    #[inline]
    pub(crate) fn note(&self, shared: bool, timed: Option<Timed>) {
        self.shared.set(shared.into());
        self.timed.set(timed.is_some().into());
        if let Some(timed) = timed {
            self.index.set(timed.index);
            self.generation.set(timed.generation);
            self.began.store(timed.began, Ordering::Relaxed);
        }
    }

    /// Whether programs that share the machine are to be told.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.get() != 0
    }

    /// What is being timed.
    #[inline]
    pub(crate) fn timed(&self) -> Option<Timed> {
        (self.timed.get() != 0).then(|| Timed {
            index: self.index.get(),
            generation: self.generation.get(),
            began: self.began.load(Ordering::Relaxed),
        })
    }
}
