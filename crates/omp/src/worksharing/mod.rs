//! Worksharing constructs.

use crate::team::Member;

/// Parameters of the construct that a combined construct
/// (`GOMP_parallel_loop_*`, `GOMP_parallel_sections`) begins with.
#[derive(Clone, Copy, Debug)]
pub struct Preset {}

/// What the members of a team share about their worksharing constructs.
#[derive(Debug)]
pub(crate) struct Shares {}

impl Shares {
    pub(crate) fn new(_capacity: u32) -> Self {
        Self {}
    }

    /// The construct the next region begins with.
    pub(crate) fn set_preset(&self, _preset: Preset) {}
}

/// What one member keeps about its worksharing constructs.
#[derive(Debug)]
pub(crate) struct Cursor {}

impl Cursor {
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// A region begins.
    pub(crate) fn start(&self, _member: &'static Member, _preset: bool) {}

    /// The thread gives the member up for another.
    pub(crate) fn disown(&self) {}
}

/// The member's code is at the end of the region.
pub(crate) fn leave(_member: &'static Member) {}
