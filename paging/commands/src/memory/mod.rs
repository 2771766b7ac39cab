//! What less memory costs a program: the same run under several limits.

mod curve;
mod group;
mod table;

pub use curve::{Curve, Knee, MEMORY_FILE, Run};
pub use group::{Group, GroupError, Place, Usage};
pub use table::table;

use crate::sampling::system_swaps;
use fathomp_console::launch::{Ended, StopSignalsBlocked};
use fathomp_paging::{Counter, Counts};
use fathomp_types::Ending;
use std::io;

/// `SIGKILL`.
const KILLED: i32 = nix::sys::signal::Signal::SIGKILL as i32;

/// Why the runs could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// There is no group that limits memory.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// Signals cannot be held back between the runs.
    #[error("cannot prepare for signals: {0}; record again")]
    Signals(#[from] io::Error),
}

/// Runs of a program under limits of memory.
pub struct Memory {
    place: Place,
    hold: StopSignalsBlocked,
    /// Whether the machine has swap.
    pub swap: bool,
    runs: Vec<Run>,
}

impl Memory {
    /// Finds out whether memory can be limited here.
    pub fn prepare() -> Result<Self, MemoryError> {
        let place = Place::find()?;
        let hold = StopSignalsBlocked::begin()?;
        place.check()?;
        Ok(Self {
            place,
            hold,
            swap: has_swap(),
            runs: Vec::new(),
        })
    }

    /// Makes one run in a group with a limit, or without one. `seen` says of what that left how the
    /// program ended, and how many pages of 4 KiB were read for it.
    pub fn run<R, E: From<GroupError>>(
        &mut self,
        limit_bytes: Option<u64>,
        record: impl FnOnce(&Group) -> Result<R, E>,
        seen: impl FnOnce(&R) -> (Ended, Option<u64>),
    ) -> Result<R, E> {
        let group = self.place.make(limit_bytes)?;
        let before = system_swaps().unwrap_or(Counts::ZERO);
        let recorded = record(&group)?;
        let after = system_swaps().unwrap_or(Counts::ZERO);
        let usage = group.usage();
        let swaps = |counter: Counter| after[counter].saturating_sub(before[counter]);
        let (ended, page_ins) = seen(&recorded);
        let killed = ended.outcome == Ending::Signalled(KILLED) && ended.interrupted.is_none();
        self.runs.push(Run {
            limit_bytes,
            wall_ns: ended.wall_ns(),
            slow_down: None,
            major_faults: usage.major_faults,
            page_ins: page_ins.unwrap_or(0),
            swap_ins: swaps(Counter::SystemSwapIns),
            swap_outs: swaps(Counter::SystemSwapOuts),
            peak_bytes: usage.peak_bytes,
            killed: usage.killed > 0 || killed,
            exit_code: ended.exit_code(),
        });
        Ok(recorded)
    }

    /// Whether the user does not want any more.
    pub fn is_asked_to_stop(&self) -> bool {
        self.hold.is_asked_to_stop()
    }

    /// What the runs show.
    pub fn curve(self) -> Curve {
        Curve::new(self.runs, self.swap)
    }
}

/// Whether the machine has swap.
pub fn has_swap() -> bool {
    // A head, then a line for each file or partition.
    std::fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}
