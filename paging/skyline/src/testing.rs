//! Synthetic recordings with shapes that are known.

use crate::source::Memory;
use fathomp_paging::{
    Activity, Cause, Counter, Counts, Ending, Interval, Mark, MarkKind, State, Task, TaskId,
    TaskKind,
};

/// A recording that is being made up.
#[derive(Clone, Debug)]
pub struct Synthetic {
    /// What is made up so far.
    pub memory: Memory,
}

/// An interval with one counter.
#[must_use]
pub fn interval(begin: u64, end: u64, state: State, counter: Counter, count: u64) -> Interval {
    let mut counts = Counts::ZERO;
    counts[counter] = count;
    Interval {
        begin,
        end,
        state,
        cause: Cause::NONE,
        counts,
        merged: 1,
    }
}

impl Synthetic {
    /// `tasks` threads, one per rank, that live from 0 to `end_ns` and do nothing.
    #[must_use]
    pub fn new(tasks: u32, end_ns: u64) -> Self {
        let task = |number: u32| Task {
            id: TaskId(number),
            kind: TaskKind::Thread,
            process: 100 + number,
            parent: 0,
            os_id: 100 + number,
            program: "program".to_owned(),
            rank: Some(number),
            node: None,
            openmp_thread: None,
            host: "host".to_owned(),
            begin: 0,
            end: end_ns,
            ending: Ending::Exit,
        };
        Self {
            memory: Memory {
                tasks: (0..tasks).map(task).collect(),
                intervals: vec![Vec::new(); tasks as usize],
                marks: vec![Vec::new(); tasks as usize],
                names: vec![String::new(), "solver.c:12".to_owned()],
            },
        }
    }

    /// Gives a task counts at moments, which must rise, and lets it live to its end.
    pub fn counts(
        &mut self,
        task: usize,
        activity: Activity,
        counter: Counter,
        at: impl IntoIterator<Item = (u64, u64)>,
    ) {
        for (moment, count) in at {
            self.stay(task, activity, counter, moment, count);
        }
        self.finish(task);
    }

    /// Gives a task a short stay that ends at a moment and holds counts, so that they are
    /// where they are said to be; until then it does the same without counting.
    pub fn stay(
        &mut self,
        task: usize,
        activity: Activity,
        counter: Counter,
        moment: u64,
        count: u64,
    ) {
        let state = State::active(activity);
        let intervals = &mut self.memory.intervals[task];
        let before = intervals.last().map_or(0, |last| last.end);
        let begin = moment.saturating_sub(1_000).max(before);
        if begin > before {
            intervals.push(interval(before, begin, state, counter, 0));
        }
        intervals.push(interval(begin, moment.max(begin), state, counter, count));
    }

    /// Lets a task do the same as before until its end.
    pub fn finish(&mut self, task: usize) {
        let end = self.memory.tasks[task].end;
        let intervals = &mut self.memory.intervals[task];
        let compute = State::active(Activity::Compute);
        let (before, state) = intervals
            .last()
            .map_or((0, compute), |last| (last.end, last.state));
        if before < end {
            intervals.push(interval(before, end, state, Counter::MinorFaults, 0));
        }
    }

    /// Marks barriers of a task.
    pub fn barriers(&mut self, task: usize, at: impl IntoIterator<Item = u64>) {
        self.memory.marks[task].extend(at.into_iter().map(|at| Mark {
            at,
            kind: MarkKind::Barrier,
            name: 1,
        }));
    }
}
