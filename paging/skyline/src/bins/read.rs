//! Reads a recording into bins.

use super::flaws::{RecordFlaws, complain, complain_of_phases};
use super::{Bins, SLOTS, Series, slot};
use crate::facts::{Problem, ProblemKind, TaskFacts, Window};
use crate::packed::Packed;
use crate::phases::Barriers;
use crate::settings::Settings;
use crate::source::Source;
use crate::spread::{Edges, Grid, Outside, Spread, Steps};
use crate::words;
use fathomp_paging::{Cause, Counter, Interval, State, Task};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// An interval longer than this part of the window says little of when it counted; one
/// without length has times that are not to be believed.
const VAGUE: u64 = 30;

/// Reads everything.
pub(super) fn read<S: Source>(source: &S, settings: &Settings) -> Result<Bins, S::Error> {
    let tasks = source.tasks();
    let mut problems = Vec::new();
    let (origin, end) = life_of_all(tasks);
    let (window, outside) = window(origin, end, settings, &mut problems);
    let grid = Grid::new(origin.saturating_add(window.from_ns), &window);
    let barriers = Barriers::read(source, grid.from(), grid.to(), &mut problems)?;
    let reading = Reading {
        origin,
        grid,
        outside,
        barriers: &barriers,
    };
    let read: Vec<(TaskFacts, Vec<Series>, RecordFlaws)> = tasks
        .par_iter()
        .enumerate()
        .map_init(Scratch::new, |scratch, (place, task)| {
            reading.task(source, place, task, scratch)
        })
        .collect::<Result<_, S::Error>>()?;
    let mut facts = Vec::with_capacity(read.len());
    let mut series = Vec::with_capacity(read.len());
    let mut flaws = Vec::with_capacity(read.len());
    for (fact, one, problem) in read {
        facts.push(fact);
        series.push(one);
        flaws.push(problem);
    }
    if tasks.is_empty() {
        problems.push(Problem {
            kind: ProblemKind::Nothing,
            sentence: "The recording holds no tasks, so there is nothing to analyse.".to_owned(),
        });
    }
    name_hosts(&mut facts);
    complain(&facts, &flaws, &mut problems);
    let phases = barriers.facts(source, tasks, origin, grid.to());
    complain_of_phases(phases.as_ref(), &mut problems);
    Ok(Bins {
        origin,
        window,
        tasks: facts,
        series,
        phases,
        problems,
    })
}

/// Of tasks of several hosts, says on which each was.
fn name_hosts(tasks: &mut [TaskFacts]) {
    let mut named = tasks.iter().map(|task| &task.host);
    let Some(first) = named.find(|host| !host.is_empty()).cloned() else {
        return;
    };
    let is_other = |task: &TaskFacts| !task.host.is_empty() && task.host != first;
    if tasks.iter().any(is_other) {
        for task in tasks.iter_mut().filter(|task| !task.host.is_empty()) {
            task.label = format!("{} on {}", task.label, task.host);
        }
    }
}

/// Begin of the first task and end of the last.
fn life_of_all(tasks: &[Task]) -> (u64, u64) {
    let begin = tasks.iter().map(|task| task.begin).min().unwrap_or(0);
    let end = tasks.iter().map(|task| task.end).max().unwrap_or(begin);
    (begin, end.max(begin))
}

/// The window that was asked for, cut to the recording, in bins of whole nanoseconds.
fn window(
    origin: u64,
    end: u64,
    settings: &Settings,
    problems: &mut Vec<Problem>,
) -> (Window, Outside) {
    let length = end - origin;
    let (mut from, mut to) = (
        settings.from_ns,
        settings.to_ns.unwrap_or(length).min(length),
    );
    if from > 0 && from >= to {
        problems.push(Problem {
            kind: ProblemKind::WindowOutside,
            sentence: format!(
                "The window from {} on holds nothing of the recording, which lasts {}, so all \
                 of it is shown.",
                words::ns(from),
                words::ns(length)
            ),
        });
        (from, to) = (0, length);
    }
    let span = (to - from).max(1);
    let bin_ns = span.div_ceil(settings.bins() as u64);
    let bins = span.div_ceil(bin_ns);
    let window = Window {
        from_ns: from,
        to_ns: from.saturating_add(bins.saturating_mul(bin_ns)),
        bin_ns,
        bins: bins as usize,
        is_whole: from == 0 && to == length,
    };
    let outside = Outside {
        keeps_earlier: from == 0,
        keeps_later: to == length,
    };
    (window, outside)
}

/// Room for a task's series, used again for the next task.
struct Scratch {
    bins: Vec<Vec<u64>>,
    phases: Vec<Vec<u64>>,
    totals: [u64; SLOTS],
    intervals: [u64; SLOTS],
    vague: [u64; SLOTS],
    used: Vec<usize>,
    packing: Vec<u8>,
}

impl Scratch {
    fn new() -> Self {
        Self {
            bins: vec![Vec::new(); SLOTS],
            phases: vec![Vec::new(); SLOTS],
            totals: [0; SLOTS],
            intervals: [0; SLOTS],
            vague: [0; SLOTS],
            used: Vec::new(),
            packing: Vec::new(),
        }
    }

    /// Makes room for a series on first use.
    fn open(&mut self, slot: usize, bins: usize, phases: usize) {
        self.bins[slot].resize(bins, 0);
        self.phases[slot].resize(phases, 0);
        self.used.push(slot);
    }

    /// Packs what was gathered, and is empty again.
    fn close(&mut self) -> Vec<Series> {
        self.used.sort_unstable();
        let mut series = Vec::with_capacity(self.used.len());
        for &slot in &self.used {
            if self.totals[slot] > 0 {
                series.push(Series {
                    slot: slot as u8,
                    total: self.totals[slot],
                    intervals: self.intervals[slot],
                    vague: self.vague[slot],
                    bins: Packed::new(&self.bins[slot], &mut self.packing),
                    phases: Packed::new(&self.phases[slot], &mut self.packing),
                });
            }
            self.bins[slot].fill(0);
            self.phases[slot].fill(0);
            self.totals[slot] = 0;
            self.intervals[slot] = 0;
            self.vague[slot] = 0;
        }
        self.used.clear();
        series
    }
}

/// What all tasks are read by.
struct Reading<'a> {
    origin: u64,
    grid: Grid,
    outside: Outside,
    barriers: &'a Barriers,
}

impl Reading<'_> {
    fn task<S: Source>(
        &self,
        source: &S,
        place: usize,
        task: &Task,
        scratch: &mut Scratch,
    ) -> Result<(TaskFacts, Vec<Series>, RecordFlaws), S::Error> {
        let ends = self.barriers.ends_of(place, self.grid.to());
        let mut one = OneTask {
            grid: self.grid,
            phases: ends.as_deref().map(|ends| Edges {
                from: self.grid.from(),
                ends,
            }),
            outside: self.outside,
            life: (task.begin, task.end.max(task.begin)),
            seen: None,
            states_ns: [0; State::COUNT],
            intervals: 0,
            merged: 0,
            last_end: 0,
            flaws: RecordFlaws::default(),
            scratch,
        };
        source.visit(place, |interval| one.take(interval))?;
        Ok(one.finish(task, self.origin))
    }
}

/// A task that is being read.
struct OneTask<'a> {
    grid: Grid,
    phases: Option<Edges<'a>>,
    outside: Outside,
    life: (u64, u64),
    seen: Option<(u64, u64)>,
    states_ns: [u64; State::COUNT],
    intervals: u64,
    merged: u64,
    last_end: u64,
    flaws: RecordFlaws,
    scratch: &'a mut Scratch,
}

impl OneTask<'_> {
    fn take(&mut self, interval: &Interval) {
        let (begin, end) = (interval.begin, interval.end.max(interval.begin));
        let back = (self.last_end.saturating_sub(begin)).max(begin - interval.end.min(begin));
        if back > 0 {
            self.flaws.jumps += 1;
            self.flaws.largest_jump_ns = self.flaws.largest_jump_ns.max(back);
        }
        self.last_end = self.last_end.max(end);
        let spread = Spread::new(&self.grid, begin, end, self.outside);
        let inside_ns = spread.inside_ns(&self.grid);
        if !spread.is_inside() {
            return;
        }
        self.intervals += 1;
        self.merged = self.merged.saturating_add(interval.merged.max(1));
        if interval.cause != Cause::UNSEEN {
            let state_ns = &mut self.states_ns[interval.state.index()];
            *state_ns = state_ns.saturating_add(inside_ns);
        }
        self.seen = Some(match self.seen {
            None => (begin, end),
            Some((first, last)) => (first.min(begin), last.max(end)),
        });
        let is_outside_life = end < self.life.0 || begin > self.life.1;
        let is_vague = end == begin || inside_ns > (self.grid.to() - self.grid.from()) / VAGUE;
        let only = spread.only(&self.grid);
        let in_phases = self
            .phases
            .map(|axis| (axis, Spread::new(&axis, begin, end, self.outside)));
        for (counter, count) in interval.counts.nonzero() {
            if is_outside_life {
                self.flaws.outside_counts = self.flaws.outside_counts.saturating_add(count);
            }
            let slot = slot(counter, interval.state);
            let room = &mut *self.scratch;
            if room.intervals[slot] == 0 {
                let phases = self.phases.map_or(0, |axis| axis.last() + 1);
                room.open(slot, self.grid.last() + 1, phases);
            }
            room.intervals[slot] += 1;
            let before = room.totals[slot];
            let (bins, total) = (&mut room.bins[slot], &mut room.totals[slot]);
            let saturated = &mut self.flaws.saturated;
            let mut add = |bin: usize, n: u64| {
                bins[bin] = bins[bin].saturating_add(n);
                let (sum, over) = total.overflowing_add(n);
                *total = if over { u64::MAX } else { sum };
                *saturated |= over;
            };
            match only {
                Some(bin) => add(bin, count),
                None => spread.share(&self.grid, count, add),
            }
            if is_vague {
                let more = room.totals[slot] - before;
                room.vague[slot] = room.vague[slot].saturating_add(more);
            }
            if let Some((axis, spread)) = &in_phases {
                let phases = &mut room.phases[slot];
                let add = |phase: usize, n| phases[phase] = phases[phase].saturating_add(n);
                spread.share(axis, count, add);
            }
        }
    }

    fn finish(self, task: &Task, origin: u64) -> (TaskFacts, Vec<Series>, RecordFlaws) {
        let series = self.scratch.close();
        let mut totals = BTreeMap::new();
        for one in &series {
            if let Some(counter) = Counter::from_index(one.what().0) {
                let total: &mut u64 = totals.entry(counter).or_default();
                *total = total.saturating_add(one.total);
            }
        }
        // Bins of its life, or of what was seen of it if that is more.
        let (begin, end) = match self.seen {
            Some((first, last)) => (self.life.0.min(first), self.life.1.max(last)),
            None => self.life,
        };
        let (from, to) = (begin.max(self.grid.from()), end.min(self.grid.to()));
        let lives = from < to || (from == to && self.seen.is_some());
        let first_bin = self.grid.step_of(from);
        let bins = if lives {
            self.grid.step_of(to.saturating_sub(1).max(from)) + 1 - first_bin
        } else {
            0
        };
        let recorded = self
            .states_ns
            .iter()
            .fold(0, |sum: u64, ns| sum.saturating_add(*ns));
        let facts = TaskFacts {
            id: task.id,
            label: task.label(),
            kind: task.kind,
            process: task.process,
            rank: task.rank,
            node: task.node,
            openmp_thread: task.openmp_thread,
            host: task.host.clone(),
            begin_ns: task.begin.saturating_sub(origin),
            end_ns: task.end.max(task.begin).saturating_sub(origin),
            ending: task.ending,
            first_bin,
            bins,
            intervals: self.intervals,
            intervals_merged: self.merged,
            states_ns: self.states_ns,
            unrecorded_ns: to.saturating_sub(from).saturating_sub(recorded),
            totals,
        };
        (facts, series, self.flaws)
    }
}
