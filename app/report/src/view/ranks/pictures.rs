//! Pictures of all ranks, drawn by the script: threads over time, efficiencies by phase, and messages
//! by sender and receiver.

use crate::view::colours::{self, LegendEntry, SERIAL_LEGEND};
use fathomp_analysis::{RankLine, RankPhase, Ranks, State, Stretch, states_of};
use serde::Serialize;

/// Stretches that the page holds; of ranks beyond that, only the first thread is drawn.
const STRETCHES_MAX: usize = 60_000;

/// All pictures of a program's ranks.
#[derive(Debug, Serialize)]
pub(crate) struct Pictures {
    begin: u64,
    end: u64,
    states: Vec<&'static str>,
    names: Vec<&'static str>,
    ranks: Vec<Line>,
    /// Begin, end, and percent: OpenMP, communication, load balance.
    phases: Vec<(u64, u64, u32, u32, u32)>,
    matrix: Matrix,
}

#[derive(Debug, Serialize)]
struct Line {
    rank: u32,
    /// Begin, end, no region, state.
    threads: Vec<Vec<(u64, u64, u32, usize)>>,
}

#[derive(Debug, Serialize)]
struct Matrix {
    numbers: Vec<u32>,
    /// Row, column, messages, bytes, waits.
    cells: Vec<(usize, usize, u64, u64, u64)>,
}

impl Pictures {
    pub(super) fn of(all: &Ranks) -> Self {
        let stretches = |line: &RankLine| line.threads.iter().map(Vec::len).sum::<usize>();
        let mut room = STRETCHES_MAX.saturating_sub(
            all.lines
                .iter()
                .map(|line| line.threads.first().map_or(0, Vec::len))
                .sum(),
        );
        let ranks: Vec<Line> = all
            .lines
            .iter()
            .map(|line| {
                let shown = match stretches(line) <= room {
                    true => line.threads.len(),
                    false => 1,
                };
                room = room.saturating_sub(if shown > 1 { stretches(line) } else { 0 });
                let threads = line.threads.iter().take(shown);
                Line {
                    rank: line.rank,
                    threads: threads
                        .map(|all| all.iter().map(segment).collect())
                        .collect(),
                }
            })
            .collect();
        let ends = all.lines.iter().flat_map(|line| &line.threads).flatten();
        let (states, names) = colours::colours();
        Self {
            begin: 0,
            end: ends.map(|one| one.end_ns).max().unwrap_or(0),
            states,
            names,
            ranks,
            phases: all.phases.iter().map(phase).collect(),
            matrix: matrix(all),
        }
    }
}

fn segment(one: &Stretch) -> (u64, u64, u32, usize) {
    let state = colours::colour(one.state, one.is_serial);
    (one.begin_ns, one.end_ns, 0, state)
}

fn phase(one: &RankPhase) -> (u64, u64, u32, u32, u32) {
    let percent = |part: f64| (part * 100.0).round() as u32;
    let efficiency = &one.efficiency;
    (
        one.begin_ns,
        one.end_ns,
        percent(efficiency.openmp),
        percent(efficiency.mpi_communication),
        percent(efficiency.mpi_balance),
    )
}

fn matrix(all: &Ranks) -> Matrix {
    let numbers: Vec<u32> = all.ranks.iter().map(|one| one.rank).collect();
    let place = |number: u32| numbers.binary_search(&number).ok();
    let cells = all.messages.iter().filter_map(|one| {
        let (row, column) = (place(one.from)?, place(one.to)?);
        Some((row, column, one.count, one.bytes, one.waited_ns))
    });
    Matrix {
        cells: cells.collect(),
        numbers,
    }
}

/// The legend of threads over time.
pub(super) fn legend(all: &Ranks) -> Vec<LegendEntry> {
    let mut legend = colours::legend([&states_of(&all.lines)]);
    let is_serial = |one: &Stretch| one.is_serial && one.state == State::Compute;
    if all
        .lines
        .iter()
        .flat_map(|line| &line.threads)
        .flatten()
        .any(is_serial)
    {
        legend.push(SERIAL_LEGEND);
    }
    legend
}
