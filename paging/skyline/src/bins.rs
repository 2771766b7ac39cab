//! A recording, read once and kept as counts per bin and per phase.

mod flaws;
mod read;

use crate::facts::{Phases, Problem, TaskFacts, Window};
use crate::packed::Packed;
use crate::settings::{Selection, Settings};
use crate::source::Source;
use fathomp_paging::{Counter, State, StateSet, TaskKind};
use rayon::prelude::*;

/// Number of series that a task can have: counters times states.
pub(crate) const SLOTS: usize = Counter::COUNT * State::COUNT;

/// The series of a counter in a state.
pub(crate) const fn slot(counter: Counter, state: State) -> usize {
    counter.index() * State::COUNT + state.index()
}

/// A counter of a task in one state, over time.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) slot: u8,
    /// Its counts, and intervals that held any.
    pub(crate) total: u64,
    pub(crate) intervals: u64,
    /// Counts in intervals so long that they say little of when.
    pub(crate) vague: u64,
    /// Per bin.
    pub(crate) bins: Packed,
    /// Per phase, if there are any.
    pub(crate) phases: Packed,
}

/// A recording as counts per task, counter, state and bin: everything that analyses need,
/// in few bytes. [`analyse`](crate::analyse) makes an [`Analysis`](crate::Analysis) of it;
/// what that does not hold, such as the bins of single tasks, is found here.
#[derive(Clone, Debug)]
pub struct Bins {
    pub(crate) origin: u64,
    pub(crate) window: Window,
    pub(crate) tasks: Vec<TaskFacts>,
    /// By task; in the order of their slots.
    pub(crate) series: Vec<Vec<Series>>,
    pub(crate) phases: Option<Phases>,
    pub(crate) problems: Vec<Problem>,
}

impl Bins {
    /// Reads a recording: every interval once, every mark once or twice.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn read<S: Source>(source: &S, settings: &Settings) -> Result<Self, S::Error> {
        read::read(source, settings)
    }

    /// The zero of all moments, by the recording's clock.
    #[must_use]
    pub const fn origin_ns(&self) -> u64 {
        self.origin
    }

    /// The part of the recording that was read.
    #[must_use]
    pub const fn window(&self) -> &Window {
        &self.window
    }

    /// The tasks.
    #[must_use]
    pub fn tasks(&self) -> &[TaskFacts] {
        &self.tasks
    }

    /// Counts of a task per bin of the window; empty if there is no such task.
    #[must_use]
    pub fn of_task(&self, task: usize, selection: Selection) -> Vec<u64> {
        let Some(series) = self.series.get(task) else {
            return Vec::new();
        };
        let mut sums = vec![0; self.window.bins];
        for one in series.iter().filter(|one| one.is_in(selection)) {
            one.bins.add_to(&mut sums);
        }
        sums
    }

    /// Counts of a task per phase; empty if there are no phases or no such task.
    #[must_use]
    pub fn of_task_in_phases(&self, task: usize, selection: Selection) -> Vec<u64> {
        let (Some(phases), Some(series)) = (&self.phases, self.series.get(task)) else {
            return Vec::new();
        };
        let mut sums = vec![0; phases.count()];
        for one in series.iter().filter(|one| one.is_in(selection)) {
            one.phases.add_to(&mut sums);
        }
        sums
    }

    /// The cumulative profile: counts of all tasks per bin. Sums are of integers, so that
    /// they are exact in any order (and stop at the largest number).
    #[must_use]
    pub fn of_all(&self, selection: Selection) -> Vec<u64> {
        let tasks: Vec<_> = (0..self.tasks.len()).collect();
        self.of_tasks(&tasks, selection)
    }

    /// The same of some tasks.
    #[must_use]
    pub fn of_tasks(&self, tasks: &[usize], selection: Selection) -> Vec<u64> {
        self.sum(tasks, selection, self.window.bins, |series| &series.bins)
    }

    /// Counts of all tasks per phase; empty if there are no phases.
    #[must_use]
    pub fn of_all_in_phases(&self, selection: Selection) -> Vec<u64> {
        let Some(phases) = &self.phases else {
            return Vec::new();
        };
        let tasks: Vec<_> = (0..self.tasks.len()).collect();
        self.sum(&tasks, selection, phases.count(), |series| &series.phases)
    }

    fn sum(
        &self,
        tasks: &[usize],
        selection: Selection,
        steps: usize,
        of: impl Fn(&Series) -> &Packed + Sync,
    ) -> Vec<u64> {
        let zero = || vec![0_u64; steps];
        tasks
            .par_iter()
            .with_min_len(8)
            .fold(zero, |mut sums, task| {
                let series = self.series.get(*task).into_iter().flatten();
                for one in series.filter(|one| one.is_in(selection)) {
                    of(one).add_to(&mut sums);
                }
                sums
            })
            .reduce(zero, |mut one, other| {
                for (sum, more) in one.iter_mut().zip(other) {
                    *sum = sum.saturating_add(more);
                }
                one
            })
    }

    /// Counts of a task, in all bins.
    pub(crate) fn total(&self, task: usize, selection: Selection) -> u64 {
        let series = self.series.get(task).into_iter().flatten();
        series
            .filter(|one| one.is_in(selection))
            .fold(0, |sum, one| sum.saturating_add(one.total))
    }

    /// Intervals in which a selection counted anything, and the part of its counts that
    /// lies in intervals so long that they say little of when.
    pub(crate) fn knowledge(&self, selection: Selection) -> (u64, f64) {
        let (mut intervals, mut vague, mut total) = (0_u64, 0.0, 0.0);
        let series = self.series.iter().flatten();
        for one in series.filter(|one| one.is_in(selection)) {
            intervals = intervals.saturating_add(one.intervals);
            vague += one.vague as f64;
            total += one.total as f64;
        }
        (intervals, if total > 0.0 { vague / total } else { 0.0 })
    }

    /// Tasks that are threads and counted something.
    pub(crate) fn threads_that_count(&self, selection: Selection) -> Vec<usize> {
        (0..self.tasks.len())
            .filter(|&task| {
                self.tasks[task].kind == TaskKind::Thread && self.total(task, selection) > 0
            })
            .collect()
    }

    /// A counter's total and intervals by state, and whether a sum overflowed.
    pub(crate) fn by_state(
        &self,
        counter: Counter,
    ) -> ([u64; State::COUNT], [u64; State::COUNT], bool) {
        let mut totals = [0_u64; State::COUNT];
        let mut intervals = [0_u64; State::COUNT];
        let mut all = 0_u64;
        let mut saturated = false;
        for one in self.series.iter().flatten() {
            let (of, state) = one.what();
            if of != counter.index() {
                continue;
            }
            let (sum, over) = totals[state].overflowing_add(one.total);
            totals[state] = if over { u64::MAX } else { sum };
            intervals[state] = intervals[state].saturating_add(one.intervals);
            saturated |= over || one.total == u64::MAX || all.checked_add(one.total).is_none();
            all = all.saturating_add(one.total);
        }
        (totals, intervals, saturated)
    }
}

impl Series {
    /// Numbers of its counter and state.
    fn what(&self) -> (usize, usize) {
        let slot = usize::from(self.slot);
        (slot / State::COUNT, slot % State::COUNT)
    }

    fn is_in(&self, selection: Selection) -> bool {
        let (counter, state) = self.what();
        counter == selection.counter.index()
            && State::from_index(state).is_some_and(|state| selection.states.contains(state))
    }
}

/// The states in which a counter is looked at unless something else is asked for: all,
/// then activities and single states where they differ from what came before.
pub(crate) fn usual_states(totals: &[u64; State::COUNT]) -> Vec<StateSet> {
    let counts = |states: StateSet| states.iter().any(|state| totals[state.index()] > 0);
    let kept = |states: StateSet| {
        states
            .iter()
            .filter(|state| totals[state.index()] > 0)
            .collect::<StateSet>()
    };
    let activities = fathomp_paging::Activity::ALL.map(|activity| {
        let is_in = |state: &State| state.activity == activity;
        State::ALL.into_iter().filter(is_in).collect::<StateSet>()
    });
    let single = State::ALL.map(|state| StateSet::NONE.with(state));
    let mut seen: Vec<StateSet> = Vec::new();
    let mut chosen = Vec::new();
    for states in std::iter::once(StateSet::ALL)
        .chain(activities)
        .chain(single)
    {
        if counts(states) && !seen.contains(&kept(states)) {
            seen.push(kept(states));
            chosen.push(states);
        }
    }
    chosen
}
