//! What tasks did over time, in cells: for pictures, not for sums.

use crate::facts::Window;
use crate::source::Source;
use fathomp_paging::{Cause, MarkKind, State, TaskId};
use rayon::prelude::*;
use serde::Serialize;

/// Regions that are kept: the longest. Shorter ones could not be drawn.
const REGIONS_MAX: usize = 4_000;
/// Marks that are read of a task to find its regions.
const MARKS_MAX: usize = 1 << 22;

/// States of tasks over time, and the regions that ran meanwhile.
///
/// Moments are as in [`Analysis`](crate::Analysis).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lanes {
    /// Begin of the first cell.
    pub from_ns: u64,
    /// End of the last.
    pub to_ns: u64,
    /// Length of a cell.
    pub cell_ns: u64,
    /// The tasks that were asked for.
    pub tasks: Vec<Lane>,
    /// Names of regions.
    pub names: Vec<String>,
    /// Regions of the first task that has any, by their begin; where one runs within
    /// another, the outer is cut.
    pub regions: Vec<RegionSpan>,
    /// Regions that were too short or too many.
    pub regions_left_out: u64,
}

/// A task over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lane {
    /// Which.
    pub task: TaskId,
    /// Its stretches, by time: cells in which it did the same. Where nothing was
    /// recorded, there is none.
    pub stretches: Vec<Stretch>,
}

/// Cells in which a task did the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// Begin.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
    /// Part of the recorded time in each state, in percent, in the order of
    /// [`State::ALL`]; they add up to 100.
    pub percent: [u8; State::COUNT],
}

/// An execution of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RegionSpan {
    /// Its name's place in [`Lanes::names`].
    pub name: usize,
    /// Begin.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
}

impl Lanes {
    /// Reads the states of the tasks at `places` in `cells` cells over the window, which
    /// counts from `origin` by the recording's clock.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn read<S: Source>(
        source: &S,
        origin: u64,
        window: &Window,
        places: &[usize],
        cells: usize,
    ) -> Result<Self, S::Error> {
        let cells = (cells.max(1) as u64).min(window.ns().max(1));
        let cell_ns = window.ns().div_ceil(cells).max(1);
        let frame = Frame {
            origin,
            from: origin.saturating_add(window.from_ns),
            to: origin.saturating_add(window.to_ns),
            cell_ns,
            cells: window.ns().div_ceil(cell_ns).max(1) as usize,
        };
        let tasks: Result<Vec<Lane>, S::Error> = places
            .par_iter()
            .filter(|place| **place < source.tasks().len())
            .map(|place| frame.lane(source, *place))
            .collect();
        let mut lanes = Self {
            from_ns: window.from_ns,
            to_ns: window.to_ns,
            cell_ns,
            tasks: tasks?,
            ..Self::default()
        };
        for place in 0..source.tasks().len() {
            if frame.regions(source, place, &mut lanes)? {
                break;
            }
        }
        Ok(lanes)
    }

    /// The name of the region that ran at a moment; none if none is known.
    #[must_use]
    pub fn region_at(&self, at_ns: u64) -> Option<&str> {
        let after = self.regions.partition_point(|span| span.from_ns <= at_ns);
        let span = self.regions[..after].last()?;
        let name = self.names.get(span.name).filter(|_| at_ns < span.to_ns)?;
        (!name.is_empty()).then_some(name)
    }
}

/// The cells, by the recording's clock.
#[derive(Clone, Copy, Debug)]
struct Frame {
    origin: u64,
    from: u64,
    to: u64,
    cell_ns: u64,
    cells: usize,
}

impl Frame {
    fn lane<S: Source>(&self, source: &S, place: usize) -> Result<Lane, S::Error> {
        let mut time = vec![[0_u64; State::COUNT]; self.cells];
        source.visit(place, |interval| {
            if interval.cause == Cause::UNSEEN {
                return;
            }
            let (mut at, end) = (interval.begin.max(self.from), interval.end.min(self.to));
            while at < end {
                let cell = ((at - self.from) / self.cell_ns) as usize;
                let Some(sums) = time.get_mut(cell) else {
                    break;
                };
                let until = end.min(self.cell_begin(cell + 1)).max(at + 1);
                let sum = &mut sums[interval.state.index()];
                *sum = sum.saturating_add(until - at);
                at = until;
            }
        })?;
        let mut stretches: Vec<Stretch> = Vec::new();
        for (cell, sums) in time.iter().enumerate() {
            let Some(percent) = percents(sums) else {
                continue;
            };
            let from_ns = self.cell_begin(cell) - self.origin;
            let to_ns = self.cell_begin(cell + 1).min(self.to) - self.origin;
            match stretches.last_mut() {
                Some(last) if last.to_ns == from_ns && last.percent == percent => {
                    last.to_ns = to_ns;
                }
                _ => stretches.push(Stretch {
                    from_ns,
                    to_ns,
                    percent,
                }),
            }
        }
        let task = source.tasks()[place].id;
        Ok(Lane { task, stretches })
    }

    /// When a cell begins, by the recording's clock.
    fn cell_begin(&self, cell: usize) -> u64 {
        let after = (cell as u64).saturating_mul(self.cell_ns);
        self.from.saturating_add(after)
    }

    /// Finds the regions of a task; whether it has any.
    fn regions<S: Source>(
        &self,
        source: &S,
        place: usize,
        lanes: &mut Lanes,
    ) -> Result<bool, S::Error> {
        // Open regions, the innermost last: number of the name and when it began or went on.
        let mut open: Vec<(u32, u64)> = Vec::new();
        let mut found: Vec<(u32, u64, u64)> = Vec::new();
        let mut seen = 0_usize;
        source.marks(place, |mark| {
            seen += 1;
            if seen > MARKS_MAX {
                return;
            }
            match mark.kind {
                MarkKind::RegionBegin => {
                    if let Some((name, since)) = open.last() {
                        found.push((*name, *since, mark.at));
                    }
                    open.push((mark.name, mark.at));
                }
                MarkKind::RegionEnd => {
                    if let Some((name, since)) = open.pop() {
                        found.push((name, since, mark.at));
                    }
                    if let Some((_, since)) = open.last_mut() {
                        *since = mark.at;
                    }
                }
                MarkKind::Barrier | MarkKind::Phase => {}
            }
        })?;
        // Those that still ran when recording ended.
        if let Some((name, since)) = open.last() {
            found.push((*name, *since, self.to));
        }
        if found.is_empty() {
            return Ok(false);
        }
        found.retain_mut(|(_, from, to)| {
            *from = (*from).max(self.from);
            *to = (*to).min(self.to);
            from < to
        });
        if found.len() > REGIONS_MAX {
            lanes.regions_left_out = (found.len() - REGIONS_MAX) as u64;
            found.sort_by_key(|(_, from, to)| std::cmp::Reverse(to - from));
            found.truncate(REGIONS_MAX);
        }
        found.sort_by_key(|(_, from, _)| *from);
        let mut numbers = std::collections::BTreeMap::new();
        for (number, from, to) in found {
            let name = *numbers.entry(number).or_insert_with(|| {
                lanes
                    .names
                    .push(source.name(place, number).unwrap_or_default());
                lanes.names.len() - 1
            });
            lanes.regions.push(RegionSpan {
                name,
                from_ns: from - self.origin,
                to_ns: to - self.origin,
            });
        }
        Ok(true)
    }
}

/// Shares of a sum that add up to 100; none of nothing.
fn percents(sums: &[u64; State::COUNT]) -> Option<[u8; State::COUNT]> {
    let total: u128 = sums.iter().map(|ns| u128::from(*ns)).sum();
    if total == 0 {
        return None;
    }
    let mut percents = [0_u8; State::COUNT];
    let mut before = 0_u128;
    let mut given = 0_u8;
    for (percent, ns) in percents.iter_mut().zip(sums) {
        before += u128::from(*ns);
        // Rounded sums, so that they end at 100.
        let until = ((before * 100 + total / 2) / total) as u8;
        *percent = until - given;
        given = until;
    }
    Some(percents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Synthetic, interval};
    use fathomp_paging::{Activity, Counter, Mark};

    fn window(to_ns: u64) -> Window {
        Window {
            from_ns: 0,
            to_ns,
            bin_ns: 1,
            bins: to_ns as usize,
            is_whole: true,
        }
    }

    #[test]
    fn equal_cells_are_one_stretch_and_shares_add_up() {
        let compute = State::active(Activity::Compute);
        let io = State::active(Activity::Io);
        let mut made = Synthetic::new(1, 1_000);
        made.memory.intervals[0] = vec![
            interval(100, 400, compute, Counter::IoCalls, 0),
            interval(400, 433, io, Counter::IoCalls, 1),
            interval(433, 500, compute, Counter::IoCalls, 0),
            interval(700, 1_100, io, Counter::IoCalls, 1),
        ];
        let lanes = Lanes::read(&made.memory, 100, &window(1_000), &[0, 7], 10).unwrap();
        let [lane] = lanes.tasks.as_slice() else {
            panic!("one task, not {}", lanes.tasks.len());
        };
        let spans: Vec<_> = lane
            .stretches
            .iter()
            .map(|one| (one.from_ns, one.to_ns, one.percent[0], one.percent[2]))
            .collect();
        assert_eq!(
            spans,
            [(0, 300, 100, 0), (300, 400, 67, 33), (600, 1_000, 0, 100)]
        );
    }

    #[test]
    fn inner_regions_cut_outer_ones() {
        let mut made = Synthetic::new(2, 1_000);
        made.memory.names = ["", "outer", "inner"].map(str::to_owned).to_vec();
        let mark = |at, kind, name| Mark { at, kind, name };
        made.memory.marks[1] = vec![
            mark(100, MarkKind::RegionBegin, 1),
            mark(300, MarkKind::RegionBegin, 2),
            mark(400, MarkKind::RegionEnd, 2),
            mark(600, MarkKind::RegionEnd, 1),
            mark(700, MarkKind::RegionEnd, 1),
            mark(900, MarkKind::RegionBegin, 2),
        ];
        let lanes = Lanes::read(&made.memory, 0, &window(1_000), &[], 10).unwrap();
        let names = [50, 100, 299, 300, 399, 400, 599, 600, 950].map(|at| lanes.region_at(at));
        let (outer, inner) = (Some("outer"), Some("inner"));
        assert_eq!(
            names,
            [None, outer, outer, inner, inner, outer, outer, None, inner]
        );
    }

    #[test]
    fn shares_are_rounded_to_a_hundred() {
        for sums in [
            [1, 1, 1, 0, 0, 0],
            [u64::MAX; 6],
            [0, 0, 0, 0, 0, 1],
            [995, 1, 1, 1, 1, 1],
        ] {
            let sum: u32 = percents(&sums)
                .unwrap()
                .iter()
                .map(|one| u32::from(*one))
                .sum();
            assert_eq!(sum, 100);
        }
        assert_eq!(percents(&[0; 6]), None);
    }
}
