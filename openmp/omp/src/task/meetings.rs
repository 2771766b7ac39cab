//! Where the members of a worksharing construct with task reductions meet.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the members of a team agree on the copies of a worksharing
/// construct's reductions: the first to come allocates them.
#[derive(Debug, Default)]
pub(crate) struct Meetings(Mutex<Vec<Meeting>>);

#[derive(Debug)]
pub(super) struct Meeting {
    /// Which of the region's constructs with reductions.
    pub(super) round: u32,
    /// Members that have not ended the construct.
    pub(super) left: u32,
    /// Begin and end of the copies, for each table of the construct.
    pub(super) copies: Vec<[usize; 2]>,
}

impl Meetings {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Meeting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The region is over; what cancelled constructs left goes.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }
}
