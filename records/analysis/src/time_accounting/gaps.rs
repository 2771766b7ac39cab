//! Life of a thread, and what it did outside regions.

use super::parts::Part;
use super::states::{take, total};
use fathomp_trace::dsm::DsmCounts;
use fathomp_trace::model::Process;
use fathomp_trace::record::Record;
use fathomp_trace::state::{PerState, State};
use fathomp_types::{SiteId, Ticks};
use std::ops::Range;

/// From when to when a thread lived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    /// First moment.
    pub(crate) begin: Ticks,
    /// Last moment.
    pub(crate) end: Ticks,
    /// It encounters outermost regions; its time outside regions is serial.
    pub(crate) encountering: bool,
    /// The first thread of its process.
    pub(crate) first: bool,
}

/// A thread's time outside regions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gap {
    /// Its length.
    pub(crate) length: Ticks,
    /// The same per state.
    pub(crate) states: PerState<Ticks>,
    /// Stretches of it, as far as regions were recorded one by one.
    pub(crate) stretches: Vec<(Ticks, Ticks)>,
    /// Tasks created and run outside regions.
    pub(crate) tasks_created: u64,
    /// See `tasks_created`.
    pub(crate) tasks_run: u64,
    /// Sharing memory outside regions.
    pub(crate) dsm: DsmCounts,
}

/// First and last moment of a process: as recorded, widened to hold every
/// record, because a thread may say something before the recorder is set up.
pub(crate) fn process_span(process: &Process, parts: &[Part<'_>]) -> (Ticks, Ticks) {
    let begin = parts
        .iter()
        .map(|part| part.from)
        .chain(process.threads.iter().map(|thread| thread.begin))
        .filter(|begin| begin.0 > 0)
        .fold(process.begin, Ord::min);
    let end = parts
        .iter()
        .map(|part| part.to)
        .chain(process.threads.iter().map(|thread| thread.end))
        .chain(process.end)
        .fold(process.begin, Ord::max);
    (begin, end)
}

/// Lives and gaps of all threads, by index.
pub(crate) fn lives_and_gaps(
    process: &Process,
    parts: &mut [Part<'_>],
    by_thread: &[Range<usize>],
    begin: Ticks,
    end: Ticks,
) -> (Vec<Life>, Vec<Gap>) {
    let first = process
        .threads
        .iter()
        .enumerate()
        .min_by_key(|(_, thread)| (thread.id, thread.begin))
        .map(|(index, _)| index);
    let mut lives = Vec::with_capacity(by_thread.len());
    let mut gaps = Vec::with_capacity(by_thread.len());
    for (index, range) in by_thread.iter().enumerate() {
        let parts = &mut parts[range.clone()];
        let life = life(process, index, parts, first == Some(index), (begin, end));
        fit_merged(parts, life.end.since(life.begin));
        gaps.push(gap(process, index, parts, &life));
        lives.push(life);
    }
    (lives, gaps)
}

fn life(
    process: &Process,
    index: usize,
    parts: &[Part<'_>],
    first: bool,
    (begin, end): (Ticks, Ticks),
) -> Life {
    let thread = &process.threads[index];
    let outermost = || {
        parts
            .iter()
            .any(|part| part.encountered() && part.record.level <= 1)
    };
    let serial = || {
        thread
            .records
            .iter()
            .any(|record| matches!(record, Record::Instance(i) if i.site == SiteId::SERIAL))
    };
    if first {
        return Life {
            begin,
            end,
            encountering: true,
            first,
        };
    }
    Life {
        begin: parts
            .iter()
            .map(|part| part.from)
            .fold(thread.begin, Ord::min)
            .max(begin),
        end: parts
            .iter()
            .map(|part| part.to)
            .fold(thread.end.max(thread.begin), Ord::max)
            .min(end),
        // A member of the pool may leave a serial record too: its idle time.
        encountering: outermost() || (parts.is_empty() && serial()),
        first,
    }
}

/// The waits of merged parts are estimates: they give way where a thread is
/// charged more than its life.
fn fit_merged(parts: &mut [Part<'_>], life: Ticks) {
    let charged: Ticks = parts
        .iter()
        .filter(|part| part.outer.is_none())
        .map(|part| part.length)
        .sum();
    let mut excess = charged - life;
    for part in parts {
        if part.outer.is_some() || !part.merged() {
            continue;
        }
        let cut = excess.min(part.states[State::ImplicitBarrier]);
        part.states[State::ImplicitBarrier] = part.states[State::ImplicitBarrier] - cut;
        part.length = part.length - cut;
        excess = excess - cut;
    }
}

fn gap(process: &Process, index: usize, parts: &[Part<'_>], life: &Life) -> Gap {
    let mut gap = Gap::default();
    let mut reached = life.begin;
    let mut charged = Ticks(0);
    for part in parts.iter().filter(|part| part.outer.is_none()) {
        charged += part.length;
        if part.merged() {
            continue;
        }
        if part.from > reached {
            gap.stretches.push((reached, part.from));
        }
        reached = reached.max(part.to);
    }
    if life.end > reached {
        gap.stretches.push((reached, life.end));
    }
    gap.length = life.end.since(life.begin) - charged;
    let rest = if life.encountering {
        State::Compute
    } else {
        State::Idle
    };
    for record in &process.threads[index].records {
        let Record::Instance(instance) = record else {
            continue;
        };
        if instance.site != SiteId::SERIAL {
            continue;
        }
        gap.tasks_created = gap.tasks_created.saturating_add(instance.tasks_created);
        gap.tasks_run = gap.tasks_run.saturating_add(instance.tasks_run);
        gap.dsm += &instance.dsm_counts();
        for state in State::ALL {
            if state != State::Compute {
                gap.states[state] += instance.states[state];
            }
        }
    }
    let waited = total(&gap.states);
    if waited > gap.length {
        let excess = waited - gap.length;
        take(&mut gap.states, excess);
    }
    let waited = total(&gap.states);
    gap.states[rest] += gap.length - waited;
    gap
}
