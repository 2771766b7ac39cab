//! Worksharing constructs: loops, sections, single, ordered, doacross.
//!
//! Members compute everything about a construct themselves and share a few
//! words per construct; `README.md` beside this file says how.

mod batch;
mod cancel;
mod claim;
mod cursor;
pub mod doacross;
mod fixed;
mod iterations;
mod loops;
mod ordered;
mod pace;
mod preset;
mod primitive;
mod progress;
mod schedule;
mod shares;
pub mod single;
mod slot;
#[cfg(test)]
mod tests;
mod wanted;

pub use cancel::{Cancel, cancel, is_cancelled};
pub(crate) use cursor::Cursor;
pub use fixed::{Fixed, begin_fixed, end_fixed, equal_vectors, fixed};
pub use iterations::Iterations;
pub use loops::{
    Chunk, SharedParts, end, end_cancel, end_nowait, next, next_or_end, next_ordered, next_section,
    start, start_with,
};
pub use ordered::{enter as enter_ordered, leave as leave_ordered};
pub use preset::Preset;
pub use wanted::{Dealing, Loop};

use crate::observer;
use crate::team::{Member, Team};
use slot::Slots;
use std::fmt;
use std::sync::atomic::Ordering;

/// What the members of a team share about their worksharing constructs.
pub(crate) struct Shares {
    slots: Slots,
    cancelled: cancel::Cancelled,
    preset: preset::Place,
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shares(..)")
    }
}

impl Shares {
    pub(crate) fn new(_capacity: u32) -> Self {
        Self {
            slots: Slots::new(),
            cancelled: cancel::Cancelled::new(),
            preset: preset::Place::new(),
        }
    }

    /// The construct the next region begins with.
    pub(crate) fn set_preset(&self, preset: Preset) {
        self.preset.put(preset);
    }

    /// Wakes members that wait for a turn, to look at what has changed.
    pub(crate) fn ring_all(&self) {
        self.slots.ring_all();
    }
}

/// Number from which the next region of `team` counts its constructs. Called
/// between regions, before a cancellation of the last one is forgotten.
#[inline]
pub(crate) fn first_construct(team: &'static Team) -> u32 {
    let primary = team.member(0).share.construct();
    let last = if team.cancelled.load(Ordering::Relaxed) {
        // Members may have met different numbers of constructs.
        let ahead = (1..team.capacity())
            .map(|num| team.member(num).share.construct().wrapping_sub(primary) as i32)
            .fold(0, i32::max);
        primary.wrapping_add_signed(ahead)
    } else {
        primary
    };
    last.wrapping_add(1)
}

impl Cursor {
    /// A region begins.
    #[inline]
    pub(crate) fn start(&self, member: &'static Member, preset: bool) {
        let team = member.team();
        self.restart(member, team.dock.construct.load(Ordering::Relaxed));
        if preset {
            loops::start(member, &team.shares.preset.get());
        }
    }

    /// No more is handed out of the loop met last.
    #[inline]
    fn stop(&self) {
        self.at.set(0);
        self.until.set(0);
        self.deal.set(schedule::kind::NONE);
    }
}

/// The member's code is at the end of the region.
#[inline]
pub(crate) fn leave(member: &'static Member) {
    observer::left_loop(member);
}
