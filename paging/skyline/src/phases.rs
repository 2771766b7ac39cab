//! Logical time: phases between the barriers that tasks pass.

use crate::facts::{Phases, Problem, ProblemKind};
use crate::source::Source;
use fathomp_paging::{Mark, MarkKind, Task, TaskKind};
use std::collections::BTreeMap;

/// Phases that are told apart: more cost memory and help nobody; a part of the recording
/// has fewer.
const PHASES_MAX: usize = 1 << 17;
/// Phases times tasks.
const CELLS_MAX: usize = 1 << 25;
/// Moments of barriers that are kept, of all tasks: 32 MiB. Tasks beyond that get the
/// times of the task of reference.
const MOMENTS_MAX: usize = 1 << 22;

/// The barriers of all tasks, by the recording's clock.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    /// Of each task, those in the window; none if they were too many to keep.
    own: Vec<Option<Vec<u64>>>,
    /// Place of the task of reference; none if there are no phases.
    reference: Option<usize>,
}

/// The marks that end phases: barriers, or where there are none, phases that the
/// program's author named.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    barriers: u64,
    named: u64,
}

impl Barriers {
    /// Reads the marks between two moments.
    pub(crate) fn read<S: Source>(
        source: &S,
        from: u64,
        to: u64,
        problems: &mut Vec<Problem>,
    ) -> Result<Self, S::Error> {
        let tasks = source.tasks().len();
        let mut seen = Seen::default();
        let mut barriers = Vec::with_capacity(tasks);
        let mut named = Vec::with_capacity(tasks);
        let mut kept = 0;
        for task in 0..tasks {
            let mut own = [Some(Vec::new()), Some(Vec::new())];
            source.marks(task, |mark| {
                let which = match mark.kind {
                    MarkKind::Barrier => 0,
                    MarkKind::Phase => 1,
                    MarkKind::RegionBegin | MarkKind::RegionEnd => return,
                };
                if mark.at <= from || mark.at >= to {
                    return;
                }
                if which == 0 {
                    seen.barriers += 1;
                } else {
                    seen.named += 1;
                }
                if kept >= MOMENTS_MAX {
                    own[which] = None;
                } else if let Some(moments) = &mut own[which] {
                    moments.push(mark.at);
                    kept += 1;
                }
            })?;
            let [of_barriers, of_named] = own;
            barriers.push(of_barriers);
            named.push(of_named);
        }
        let mut own = if seen.barriers > 0 { barriers } else { named };
        for moments in own.iter_mut().flatten() {
            // Clocks may jump; phases may not.
            moments.sort_unstable();
            moments.shrink_to_fit();
        }
        let reference = reference(&own);
        let phases = reference
            .and_then(|place| own[place].as_ref())
            .map_or(0, |moments| moments.len() + 1);
        if phases > PHASES_MAX || phases.saturating_mul(tasks) > CELLS_MAX {
            problems.push(Problem {
                kind: ProblemKind::PhasesBorrowed,
                sentence: format!(
                    "There are {} phases between barriers, too many for logical time; look at a \
                     part of the recording.",
                    crate::words::count(phases as u64)
                ),
            });
            return Ok(Self::default());
        }
        Ok(Self { own, reference })
    }

    /// When the phases of a task end; the last ends at `to`. None without phases.
    pub(crate) fn ends_of(&self, place: usize, to: u64) -> Option<Vec<u64>> {
        let reference = self.of(self.reference?)?;
        let own = self
            .of(place)
            .filter(|moments| moments.len() == reference.len())
            .unwrap_or(reference);
        Some(own.iter().copied().chain([to]).collect())
    }

    fn of(&self, place: usize) -> Option<&[u64]> {
        self.own.get(place)?.as_deref()
    }

    /// What the analysis says of phases.
    pub(crate) fn facts<S: Source>(
        &self,
        source: &S,
        tasks: &[Task],
        origin: u64,
        to: u64,
    ) -> Option<Phases> {
        let place = self.reference?;
        let moments = self.of(place)?;
        // What lives shortly, or is no thread, passes no barriers of the program.
        let life = |task: &Task| task.end.saturating_sub(task.begin);
        let longest = tasks.iter().map(life).max().unwrap_or(0);
        let (mut tasks_own, mut tasks_borrowed) = (0, 0);
        for (task, own) in tasks.iter().zip(&self.own) {
            if own.as_ref().is_some_and(|own| own.len() == moments.len()) {
                tasks_own += 1;
            } else if task.kind == TaskKind::Thread && life(task) >= longest / 2 {
                tasks_borrowed += 1;
            }
        }
        let ends_ns = moments.iter().chain([&to]);
        Some(Phases {
            ends_ns: ends_ns.map(|at| at.saturating_sub(origin)).collect(),
            barriers: names(source, place, moments),
            reference: tasks.get(place)?.id,
            tasks_own,
            tasks_borrowed,
        })
    }
}

/// The first of the tasks that passed the same number of barriers as most others did; of
/// equally many, of those that passed more.
fn reference(own: &[Option<Vec<u64>>]) -> Option<usize> {
    let mut groups: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (place, moments) in own.iter().enumerate() {
        let Some(moments) = moments.as_ref().filter(|moments| !moments.is_empty()) else {
            continue;
        };
        groups.entry(moments.len()).or_insert((0, place)).0 += 1;
    }
    let largest = groups
        .into_iter()
        .max_by_key(|(barriers, (tasks, _))| (*tasks, *barriers));
    largest.map(|(_, (_, place))| place)
}

/// Names of a task's barriers; empty where there is none.
fn names<S: Source>(source: &S, place: usize, moments: &[u64]) -> Vec<String> {
    let mut numbers: BTreeMap<u64, u32> = BTreeMap::new();
    let read = source.marks(place, |mark: &Mark| {
        if matches!(mark.kind, MarkKind::Barrier | MarkKind::Phase) {
            numbers.insert(mark.at, mark.name);
        }
    });
    let mut known: BTreeMap<u32, String> = BTreeMap::new();
    moments
        .iter()
        .map(|at| match (&read, numbers.get(at)) {
            (Ok(()), Some(number)) => known
                .entry(*number)
                .or_insert_with(|| source.name(place, *number).unwrap_or_default())
                .clone(),
            _ => String::new(),
        })
        .collect()
}
