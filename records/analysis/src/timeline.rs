//! Threads over time in a bounded number of segments, however long the run.
//!
//! A thread with few pieces is drawn exactly. One with many is divided into
//! cells of equal length; a cell holds how its time divides among states and
//! which region had most of it, and like neighbours are joined. Waits that
//! were recorded one by one are placed where they happened; the rest of a
//! region's states is spread evenly over the rest of its time, and merged
//! records over the whole span they stand for.

use crate::facts::Times;
use crate::facts::{Segment, Timeline, TimelineThread};
use crate::sums::{relative, to_times};
use crate::time_accounting::pieces::{self, Piece};
use crate::time_accounting::{ByPlace, TimeAccount};
use fathomp_trace::state::{PerState, State};
use fathomp_types::Ticks;

/// How much the timeline may hold.
#[derive(Clone, Copy, Debug)]
pub struct TimelineBudget {
    /// Segments, all threads together (about: every thread gets at least 50).
    pub segments: usize,
    /// Threads; those that were in regions longest are kept.
    pub threads: usize,
}

impl Default for TimelineBudget {
    fn default() -> Self {
        Self {
            segments: 16_000,
            threads: 256,
        }
    }
}

type Mix = PerState<f64>;

/// Neighbouring cells are joined if no state differs by more than this.
const ALIKE: f64 = 0.05;

/// Builds the timeline. `position` translates entries of the site table to
/// indices of regions.
pub(crate) fn build(
    accounts: &[TimeAccount<'_>],
    offsets_ns: &[u64],
    wall_ns: u64,
    position: &[Option<usize>],
    budget: TimelineBudget,
) -> Timeline {
    let mut rows: Vec<(usize, usize)> = accounts
        .iter()
        .enumerate()
        .flat_map(|(process, account)| {
            (0..account.lives.len()).map(move |thread| (process, thread))
        })
        .collect();
    let omitted = rows.len().saturating_sub(budget.threads.max(1));
    if omitted > 0 {
        let busy = |&(process, thread): &(usize, usize)| {
            let parts = accounts[process].of_thread(thread);
            parts.iter().map(|part| part.length).sum::<Ticks>()
        };
        rows.sort_by_key(|row| (std::cmp::Reverse(busy(row)), *row));
        rows.truncate(budget.threads.max(1));
        rows.sort_unstable();
    }
    let cells = (budget.segments / rows.len().max(1)).clamp(50, 4000);
    let cell_ns = (wall_ns as f64 / cells as f64).max(1.0);
    let threads = rows
        .into_iter()
        .map(|(process, thread)| TimelineThread {
            process,
            thread: accounts[process].process.threads[thread].id.0,
            segments: Row {
                account: &accounts[process],
                thread,
                offset_ns: offsets_ns[process],
                position,
                cells,
                cell_ns,
            }
            .segments(),
        })
        .collect();
    Timeline {
        begin_ns: 0,
        end_ns: wall_ns,
        cell_ns: cell_ns.round() as u64,
        threads,
        threads_omitted: omitted as u32,
    }
}

struct Row<'a, 'b> {
    account: &'a TimeAccount<'b>,
    thread: usize,
    offset_ns: u64,
    position: &'a [Option<usize>],
    cells: usize,
    cell_ns: f64,
}

/// What is in a cell, in nanoseconds.
#[derive(Clone, Debug, Default)]
struct Cell {
    mix: Mix,
    /// Time by region.
    regions: Vec<(usize, f64)>,
}

impl Row<'_, '_> {
    fn segments(&self) -> Vec<Segment> {
        let cut = pieces::cut(self.account, self.thread);
        let pieces = pieces::with_waits(self.account, self.thread, &cut);
        let densities = self.densities(&pieces);
        let merged = self
            .account
            .of_thread(self.thread)
            .iter()
            .any(crate::time_accounting::Part::merged);
        if !merged && pieces.len() <= self.cells {
            self.exact(&pieces, &densities)
        } else {
            self.raster(&pieces, &densities)
        }
    }

    /// Mix of states in the pieces whose state is unknown, per part.
    fn densities(&self, pieces: &[Piece]) -> ByPlace<Mix> {
        let mut known = ByPlace::<PerState<Ticks>>::new(self.account, self.thread);
        for piece in pieces {
            if let Some(state) = piece.state {
                known.of_mut(piece.part)[state] += piece.length();
            }
        }
        let mut densities = ByPlace::<Mix>::new(self.account, self.thread);
        for part in known.places() {
            let all = match part {
                Some(part) => self.account.parts[part].states,
                None => self.account.gaps[self.thread].states,
            };
            let known = known.of(part);
            let mut rest = Mix::default();
            for state in State::ALL {
                rest[state] = all[state].since(known[state]).0 as f64;
            }
            *densities.of_mut(part) = normalised(rest, self.usual(part));
        }
        densities
    }

    /// What a stretch is if nothing else is known about it.
    fn usual(&self, part: Option<usize>) -> State {
        match part {
            None if !self.account.lives[self.thread].encountering => State::Idle,
            _ => State::Compute,
        }
    }

    fn mix_of(&self, piece: &Piece, densities: &ByPlace<Mix>) -> Mix {
        let mut mix = Mix::default();
        match piece.state {
            Some(state) => mix[state] = 1.0,
            None => mix = *densities.of(piece.part),
        }
        mix
    }

    fn region_of(&self, part: Option<usize>) -> usize {
        part.and_then(|part| {
            let entry = self.account.parts[part].region;
            self.position.get(entry).copied().flatten()
        })
        .unwrap_or(0)
    }

    fn moment(&self, at: Ticks) -> u64 {
        relative(&self.account.process.clock, self.account.begin, at).saturating_add(self.offset_ns)
    }

    fn exact(&self, pieces: &[Piece], densities: &ByPlace<Mix>) -> Vec<Segment> {
        let mut joined = Joiner::default();
        for piece in pieces {
            let (begin, end) = (self.moment(piece.begin), self.moment(piece.end));
            if end > begin {
                let mix = self.mix_of(piece, densities);
                joined.push(begin, end, self.region_of(piece.part), mix, 1e-6);
            }
        }
        joined.finish()
    }

    fn raster(&self, pieces: &[Piece], densities: &ByPlace<Mix>) -> Vec<Segment> {
        let mut cells = vec![Cell::default(); self.cells + 1];
        for piece in pieces {
            let (begin, end) = (self.moment(piece.begin), self.moment(piece.end));
            let mix = self.mix_of(piece, densities);
            let region = self.region_of(piece.part);
            self.each_cell(begin, end, |cell, ns| cells[cell].add(region, &mix, ns));
        }
        for part in self.account.of_thread(self.thread) {
            if !part.merged() {
                continue;
            }
            let (begin, end) = (self.moment(part.begin()), self.moment(part.record.end));
            let clock = &self.account.process.clock;
            let times: Times = to_times(&part.states, clock);
            let mut mix = Mix::default();
            for (state, ns) in times.iter() {
                mix[state] = ns as f64;
            }
            let mix = normalised(mix, State::Compute);
            let density = times.total_ns() as f64 / (end.saturating_sub(begin)).max(1) as f64;
            let region = self
                .position
                .get(part.region)
                .copied()
                .flatten()
                .unwrap_or(0);
            let usual = self.usual(None);
            self.each_cell(begin, end, |cell, ns| {
                let cell = &mut cells[cell];
                let room = cell.give_way(usual, ns * density.min(1.0));
                cell.add(region, &mix, room);
            });
        }
        let life = &self.account.lives[self.thread];
        let (begin, end) = (self.moment(life.begin), self.moment(life.end));
        let mut joined = Joiner::default();
        for (index, cell) in cells.iter().enumerate() {
            let from = ((index as f64 * self.cell_ns) as u64).max(begin);
            let to = (((index + 1) as f64 * self.cell_ns) as u64).min(end);
            if to <= from {
                continue;
            }
            let mix = normalised(cell.mix, self.usual(None));
            joined.push(from, to, cell.region(), mix, ALIKE);
        }
        joined.finish()
    }

    /// Calls `visit` with every cell between two moments and the time in it.
    fn each_cell(&self, begin: u64, end: u64, mut visit: impl FnMut(usize, f64)) {
        if end <= begin {
            return;
        }
        let cell_at = |at: u64| ((at as f64 / self.cell_ns) as usize).min(self.cells);
        for cell in cell_at(begin)..=cell_at(end) {
            let from = (cell as f64 * self.cell_ns).max(begin as f64);
            let to = ((cell + 1) as f64 * self.cell_ns).min(end as f64);
            if to > from {
                visit(cell, to - from);
            }
        }
    }
}

impl Cell {
    fn add(&mut self, region: usize, mix: &Mix, ns: f64) {
        for state in State::ALL {
            self.mix[state] += mix[state] * ns;
        }
        match self.regions.iter_mut().find(|(known, _)| *known == region) {
            Some((_, time)) => *time += ns,
            None => self.regions.push((region, ns)),
        }
    }

    /// Makes room for up to `ns` where nothing but `usual` outside regions is
    /// known; returns how much room there was.
    fn give_way(&mut self, usual: State, ns: f64) -> f64 {
        let outside = self.regions.iter_mut().find(|(region, _)| *region == 0);
        let Some((_, time)) = outside else {
            return 0.0;
        };
        let room = ns.min(*time).min(self.mix[usual]);
        *time -= room;
        self.mix[usual] -= room;
        room
    }

    fn region(&self) -> usize {
        let mut best = (0, 0.0);
        for &(region, time) in &self.regions {
            if time > best.1 {
                best = (region, time);
            }
        }
        best.0
    }
}

/// `mix` as fractions of its sum; all `usual` if it is empty.
fn normalised(mut mix: Mix, usual: State) -> Mix {
    let sum: f64 = mix.0.iter().sum();
    if sum > 0.0 {
        for value in &mut mix.0 {
            *value /= sum;
        }
    } else {
        mix = Mix::default();
        mix[usual] = 1.0;
    }
    mix
}

/// Joins neighbours that look alike.
#[derive(Default)]
struct Joiner {
    done: Vec<Segment>,
    open: Option<(u64, u64, usize, Mix)>,
}

impl Joiner {
    fn push(&mut self, begin: u64, end: u64, region: usize, mix: Mix, alike: f64) {
        if let Some((from, to, known, old)) = &mut self.open {
            let same = *to == begin
                && *known == region
                && State::ALL
                    .into_iter()
                    .all(|state| (old[state] - mix[state]).abs() <= alike);
            if same {
                let (a, b) = ((*to - *from) as f64, (end - begin) as f64);
                for state in State::ALL {
                    old[state] = (old[state] * a + mix[state] * b) / (a + b);
                }
                *to = end;
                return;
            }
        }
        self.close();
        self.open = Some((begin, end, region, mix));
    }

    fn close(&mut self) {
        let Some((begin_ns, end_ns, region, mix)) = self.open.take() else {
            return;
        };
        let mut parts: Vec<(State, f32)> = State::ALL
            .into_iter()
            .map(|state| (state, mix[state] as f32))
            .filter(|(_, fraction)| *fraction > 0.001)
            .collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let state = parts.first().map_or(State::Compute, |(state, _)| *state);
        self.done.push(Segment {
            begin_ns,
            end_ns,
            region,
            state,
            mix: parts,
        });
    }

    fn finish(mut self) -> Vec<Segment> {
        self.close();
        self.done
    }
}
