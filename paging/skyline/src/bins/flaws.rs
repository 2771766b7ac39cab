//! What was strange about a recording, in sentences.

use crate::facts::{Phases, Problem, ProblemKind, TaskFacts};
use crate::words;
use fathomp_paging::TaskKind;
use fathomp_types::units;

/// What was strange about a task's record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecordFlaws {
    pub(super) jumps: u64,
    pub(super) largest_jump_ns: u64,
    pub(super) outside_counts: u64,
    pub(super) saturated: bool,
}

/// Says what was strange about tasks' records.
pub(super) fn complain(tasks: &[TaskFacts], flaws: &[RecordFlaws], problems: &mut Vec<Problem>) {
    let mut say = |kind, sentence| problems.push(Problem { kind, sentence });
    let jumps: u64 = flaws.iter().map(|one| one.jumps).sum();
    if jumps > 0 {
        let largest = flaws
            .iter()
            .map(|one| one.largest_jump_ns)
            .max()
            .unwrap_or(0);
        let which = flaws.iter().zip(tasks).find(|(one, _)| one.jumps > 0);
        say(
            ProblemKind::ClockJumps,
            format!(
                "Times jump back {}, first those of {}, by up to {}; what happened then is \
                 shown where its own times put it.",
                words::times(jumps),
                which.map_or("a task", |(_, task)| task.label.as_str()),
                words::ns(largest)
            ),
        );
    }
    let outside = flaws
        .iter()
        .fold(0, |sum: u64, one| sum.saturating_add(one.outside_counts));
    if outside > 0 {
        say(
            ProblemKind::OutsideLife,
            format!(
                "{} counts lie before or after the lives of their tasks, as the recording has \
                 these; they are counted all the same.",
                words::count(outside)
            ),
        );
    }
    if flaws.iter().any(|one| one.saturated) {
        say(
            ProblemKind::Saturated,
            "Counts of a task are too large for 64 bits: they are shown as the largest number, \
             and the recording is most likely damaged."
                .to_owned(),
        );
    }
    // Of a task without any intervals, none were to be recorded.
    let is_recorded = |task: &&TaskFacts| task.kind == TaskKind::Thread && task.intervals > 0;
    let recorded = || tasks.iter().filter(is_recorded);
    let gaps: f64 = recorded().map(|task| task.unrecorded_ns as f64).sum();
    let lives = gaps
        + recorded()
            .map(|task| task.recorded_ns() as f64)
            .sum::<f64>();
    if gaps > 0.01 * lives {
        say(
            ProblemKind::Gaps,
            format!(
                "For {} of the tasks' lives nothing was recorded.",
                units::percent(gaps / lives)
            ),
        );
    }
    let read: u64 = tasks.iter().map(|task| task.intervals).sum();
    let merged = tasks.iter().fold(0, |sum: u64, task| {
        sum.saturating_add(task.intervals_merged)
    });
    if merged > read {
        say(
            ProblemKind::Merged,
            format!(
                "The recording reached its limit, so {} intervals were merged into {}: totals \
                 are exact, but times less so.",
                words::count(merged),
                words::count(read)
            ),
        );
    }
}

/// Says which tasks have the phases of others.
pub(super) fn complain_of_phases(phases: Option<&Phases>, problems: &mut Vec<Problem>) {
    let Some(phases) = phases.filter(|phases| phases.tasks_borrowed > 0) else {
        return;
    };
    problems.push(Problem {
        kind: ProblemKind::PhasesBorrowed,
        sentence: format!(
            "{} passed other barriers, or none, than the {} that passed the same {}; their \
             phases end when those of the others do.",
            words::tasks(phases.tasks_borrowed),
            words::tasks(phases.tasks_own),
            phases.count() - 1
        ),
    });
}
