//! What the thread that begins a region has to do about it at the end.
//!
//! It stands in the team, not in the frame on that thread's stack: the program's data lie
//! right beside that frame, and what is written there while the region runs would look, to
//! nodes, as if the program had written it.

use crate::own::Own;

/// A region whose execution is looked at for what it asks.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// Written by the thread that plays the team's member 0.
#[derive(Debug, Default)]
pub(crate) struct Encounter {
    shared: Own,
    watched: Own,
    index: Own,
    generation: Own,
}

impl Encounter {
    /// Notes whether programs that share the machine are to be told of the end, and what is
    /// looked at.
    #[inline]
    pub(crate) fn note(&self, shared: bool, watched: Option<Watched>) {
        self.shared.set(shared.into());
        self.watched.set(watched.is_some().into());
        if let Some(watched) = watched {
            self.index.set(watched.index);
            self.generation.set(watched.generation);
        }
    }

    /// Whether programs that share the machine are to be told.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.get() != 0
    }

    /// The region whose execution is watched, if it is.
    #[inline]
    pub(crate) fn watched(&self) -> Option<Watched> {
        (self.watched.get() != 0).then(|| Watched {
            index: self.index.get(),
            generation: self.generation.get(),
        })
    }
}
