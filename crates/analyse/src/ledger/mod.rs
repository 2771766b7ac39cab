//! Who is charged what: every tick of every thread's life on one row.
//!
//! Works per process, in ticks, exactly; only the results are rounded to
//! nanoseconds. The steps are [`parts`] (which records nest in which),
//! [`teams`] (what one thread's record says about the others'), [`gaps`] (what is
//! left outside regions) and [`off`] (what of it was without a processor).

mod gaps;
mod lag;
mod off;
mod parts;
mod teams;

pub(crate) use gaps::{Gap, Life};
pub(crate) use lag::Lag;
pub(crate) use parts::Part;
pub(crate) use teams::{Team, times as member_times};

use crate::sites::Sites;
use fathomp_base::Ticks;
use fathomp_trace::model::Process;
use fathomp_trace::state::{PerState, State};

/// The accounts of one process.
pub(crate) struct Ledger<'a> {
    /// The process.
    pub(crate) process: &'a Process,
    /// Instance records of regions, by thread and begin; not of the serial
    /// part.
    pub(crate) parts: Vec<Part<'a>>,
    /// Range of `parts` per thread.
    pub(crate) by_thread: Vec<std::ops::Range<usize>>,
    /// Executions recorded one by one.
    pub(crate) teams: Vec<Team>,
    /// Life of each thread.
    pub(crate) lives: Vec<Life>,
    /// Time of each thread outside regions.
    pub(crate) gaps: Vec<Gap>,
    /// First and last moment of the process.
    pub(crate) begin: Ticks,
    /// See `begin`.
    pub(crate) end: Ticks,
    /// Times are emulated.
    pub(crate) emulated: bool,
}

impl<'a> Ledger<'a> {
    /// Does the accounts of `process`, whose regions are numbered by `sites`.
    pub(crate) fn new(process: &'a Process, sites: &Sites, process_index: usize) -> Self {
        let (mut parts, by_thread) =
            parts::collect(process, |site| sites.region(process_index, site));
        let mut teams = teams::form(&parts);
        teams::span(&teams, &mut parts);
        parts::nest(&mut parts, &by_thread);
        teams::complete(&mut teams, &mut parts);
        teams::complete_merged(&mut parts);
        parts::exclude_nested(&mut parts, &by_thread);
        let (begin, end) = gaps::process_span(process, &parts);
        let (lives, gaps) = gaps::lives_and_gaps(process, &mut parts, &by_thread, begin, end);
        let mut ledger = Self {
            process,
            parts,
            by_thread,
            teams,
            lives,
            gaps,
            begin,
            end,
            emulated: false,
        };
        off::charge(&mut ledger);
        teams::weigh(&mut ledger.teams, &ledger.parts);
        ledger
    }

    /// Parts of one thread.
    pub(crate) fn of_thread(&self, thread: usize) -> &[Part<'a>] {
        &self.parts[self.by_thread[thread].clone()]
    }
}

/// Sum over all states.
pub(crate) fn total(states: &PerState<Ticks>) -> Ticks {
    states.0.iter().copied().sum()
}

/// Takes `amount` out of `states`: out of application code if there is enough
/// of it, else out of what there is. Returns what could not be taken.
pub(crate) fn take(states: &mut PerState<Ticks>, amount: Ticks) -> Ticks {
    let mut left = amount;
    let order = [State::Compute, State::Overhead]
        .into_iter()
        .chain(State::ALL);
    for state in order {
        let taken = left.min(states[state]);
        states[state] = states[state] - taken;
        left = left - taken;
    }
    left
}
