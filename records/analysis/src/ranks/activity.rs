//! What a rank's threads do over time, in cells of equal length.

use super::one::OneRank;
use crate::facts::{Segment, TimelineThread};
use fathomp_trace::state::State;

/// Threads of a rank that are kept one by one.
const THREADS_MAX: usize = 16;
/// Cells of a thread.
const CELLS: usize = 512;

/// What a thread does in one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// The state with the most time; none where the thread does not exist.
    pub(super) state: Option<State>,
    /// It computes outside of regions.
    pub(super) is_serial: bool,
    /// The parts of the cell in which it computes, and is in MPI.
    pub(super) useful: f32,
    pub(super) mpi: f32,
}

/// What the first threads of a rank do over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity {
    /// When its recording begins, in ticks of its host's clock.
    pub(super) begin: u64,
    /// The length of a cell.
    pub(super) cell_ns: f64,
    pub(super) threads: Vec<Vec<Cell>>,
}

impl Activity {
    pub(super) fn of(one: &OneRank<'_>) -> Self {
        let Some(process) = one.recording.processes.first() else {
            return Self::default();
        };
        let timeline = &one.analysis.timeline;
        let length = timeline.end_ns.saturating_sub(timeline.begin_ns) as f64;
        let cell_ns = (length / CELLS as f64).max(1.0);
        let rows = timeline.threads.iter().filter(|row| row.process == 0);
        Self {
            begin: process.begin.0,
            cell_ns,
            threads: rows
                .take(THREADS_MAX)
                .map(|row| cells(row, cell_ns))
                .collect(),
        }
    }

    /// The time from `from` to `to`, in nanoseconds behind the begin, in which the part of a
    /// thread's cells that `part` picks holds.
    pub(super) fn time_in(&self, thread: usize, part: fn(&Cell) -> f32, from: f64, to: f64) -> f64 {
        let cells = self.threads.get(thread).map_or(&[][..], Vec::as_slice);
        let first = (from / self.cell_ns).max(0.0) as usize;
        let here = cells.iter().enumerate().skip(first);
        let here = here.take_while(|(at, _)| (*at as f64) * self.cell_ns < to);
        here.map(|(at, cell)| {
            let begin = at as f64 * self.cell_ns;
            let overlap = (begin + self.cell_ns).min(to) - begin.max(from);
            overlap.max(0.0) * f64::from(part(cell))
        })
        .sum()
    }
}

fn cells(row: &TimelineThread, cell_ns: f64) -> Vec<Cell> {
    let mut cells = vec![Cell::default(); CELLS];
    let mut most = vec![0.0_f64; CELLS];
    for segment in &row.segments {
        let (begin, end) = (segment.begin_ns as f64, segment.end_ns as f64);
        let first = (begin / cell_ns) as usize;
        for (at, cell) in cells.iter_mut().enumerate().skip(first) {
            let start = at as f64 * cell_ns;
            if start >= end {
                break;
            }
            let overlap = ((start + cell_ns).min(end) - start.max(begin)).max(0.0);
            cell.useful += (overlap * share(segment, State::Compute) / cell_ns) as f32;
            cell.mpi += (overlap * share(segment, State::Communication) / cell_ns) as f32;
            if overlap > most[at] {
                most[at] = overlap;
                cell.state = Some(segment.state);
                cell.is_serial = segment.region == 0 && segment.state == State::Compute;
            }
        }
    }
    cells
}

fn share(segment: &Segment, state: State) -> f64 {
    let share = segment.mix.iter().find(|(its, _)| *its == state);
    share.map_or(0.0, |(_, share)| f64::from(*share))
}
