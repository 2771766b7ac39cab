//! What less memory costs a program: the same run under several limits.

mod curve;
mod group;
mod table;

pub(crate) use curve::{Curve, MEMORY_FILE, Run};
pub(crate) use group::{Group, GroupError, Place};
pub(crate) use table::table;

use super::sampling::system_swaps;
use crate::launch::StopSignalsBlocked;
use crate::recording::Recorded;
use fathomp_paging::{Counter, Counts};
use fathomp_types::Ending;
use std::io;

/// `SIGKILL`.
const KILLED: i32 = nix::sys::signal::Signal::SIGKILL as i32;

/// Why the runs could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MemoryError {
    #[error(transparent)]
    Group(#[from] GroupError),
    #[error("cannot prepare for signals: {0}; record again")]
    Signals(#[from] io::Error),
}

/// Runs of a program under limits of memory.
pub(crate) struct Memory {
    place: Place,
    hold: StopSignalsBlocked,
    /// Whether the machine has swap.
    pub(crate) swap: bool,
    runs: Vec<Run>,
}

impl Memory {
    /// Finds out whether memory can be limited here.
    pub(crate) fn prepare() -> Result<Self, MemoryError> {
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

    /// Makes one run in a group with a limit, or without one.
    pub(crate) fn run<E: From<GroupError>>(
        &mut self,
        limit_bytes: Option<u64>,
        record: impl FnOnce(&Group) -> Result<Recorded, E>,
    ) -> Result<Recorded, E> {
        let group = self.place.make(limit_bytes)?;
        let before = system_swaps().unwrap_or(Counts::ZERO);
        let recorded = record(&group)?;
        let after = system_swaps().unwrap_or(Counts::ZERO);
        let usage = group.usage();
        let swaps = |counter: Counter| after[counter].saturating_sub(before[counter]);
        let ended = &recorded.ended;
        let killed = ended.outcome == Ending::Signalled(KILLED) && ended.interrupted.is_none();
        self.runs.push(Run {
            limit_bytes,
            wall_ns: ended.wall_ns(),
            slow_down: None,
            major_faults: usage.major_faults,
            page_ins: recorded.page_ins.unwrap_or(0),
            swap_ins: swaps(Counter::SystemSwapIns),
            swap_outs: swaps(Counter::SystemSwapOuts),
            peak_bytes: usage.peak_bytes,
            killed: usage.killed > 0 || killed,
            exit_code: ended.exit_code(),
        });
        Ok(recorded)
    }

    /// Whether the user does not want any more.
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.hold.is_asked_to_stop()
    }

    /// What the runs show.
    pub(crate) fn curve(self) -> Curve {
        Curve::new(self.runs, self.swap)
    }
}

/// Whether the machine has swap.
pub(crate) fn has_swap() -> bool {
    // A head, then a line for each file or partition.
    std::fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}
